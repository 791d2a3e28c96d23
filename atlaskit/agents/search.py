"""`ask`: answers a question about a video by one run, and returns its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from atlaskit.agents.budget import Budget, check_budget
from atlaskit.agents.earlier import earlier_text
from atlaskit.agents.looking import Looking
from atlaskit.agents.loop import Loop
from atlaskit.agents.master import Master
from atlaskit.agents.run import Run
from atlaskit.agents.scouts import Sight, Survey, resolve_scouts
from atlaskit.agents.settings import Named, Search, fit_for, recorded_fit, resolve_search
from atlaskit.agents.strategies import LOOKS, resolve_strategy, strategy_name
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.question import Kind, Question, Span
from atlaskit.errors import InputError, check_whole
from atlaskit.models.names import Preset, cell_for, preset_of
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import as_model
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.runs.result import Run as AnyRun
from atlaskit.video.playlist import AnyVideo


def ask(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    kind: Kind | None = None,
    search: Search | Named = "best",
    budget: Budget = Budget(calls=200),
    workers: int = 4,
    within: Span | None = None,
    subtitles: bool = True,
    cache: Cache | None = None,
    replay: bool = False,
    on_event: Callable[[Event], None] | None = None,
    show: bool = False,
    after: AnyRun | Sequence[AnyRun] = (),
) -> Result:
    """Answer a question about a video by Video-RLM (paper §3.2).

    A master probes the root grid and sends workers to explore regions of the video; it answers from
    the frames that they put into the scratchpad.

    Every reply is cached at once. A run that was killed continues where it stopped when it is
    started again, and running a finished one again makes no model call.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model that plays the master and the workers; or the words that name it: what vLLM
            serves on this machine (a hub id, a folder), or an address and a name.
        kind: The form of the answer, if not that implied by `choices`: "when", "count", "summary".
            Ask for several intervals by `Question(…, kind="when", several=True)`.
        search: How it is searched: "best", what measured best, as far as the model can do it;
            "paper"; or settings of your own, `ak.Search(…)`.
        budget: Limits on calls, tokens and seconds.
        workers: The most regions explored in a round.
        within: The interval [start_s, end_s) in seconds to search; None for the whole video. Times
            count from the start of the video all the same.
        subtitles: Whether agents get the video's subtitles.
        cache: Where replies and views are stored; None for the default cache. With
            `cache.refreshing()` the model is asked anew, and its replies replace the stored ones.
        replay: Never call the model; use the cache alone.
        on_event: Called with each event as it happens, from the thread in which it happens.
        show: Draw the run while it happens: in a notebook as a map, in a terminal as one line. The
            result does not depend on it, but for the decoded frames counted in `result.spent`.
        after: Runs about the same video, whose evidence and notes this question may use: for a
            follow-up, which then costs what is new. Only a search by looks, as "best" is, takes
            them. Leave it out in benchmarks.

    Warns:
        ModelWarning: If the model was not taught such a video, or such a question.

    Raises:
        InputError: If an argument breaks a rule.
        Unreachable: If the model never answers. A model that fails later costs steps; the result
            says so.
        Unrecorded: If a replay needs a reply that is not in the cache.

    Examples:
        >>> result = ak.ask(video, question, vlm=vlm, budget=ak.Budget(calls=100))
        >>> result.question.text
        'Which of these objects appears in the space scene at dawn?'
        >>> result.answer
        'a yellow star'
        >>> again = ak.ask(video, question, vlm=vlm, budget=ak.Budget(calls=100))
        >>> again.spent.calls  # every reply came from the cache
        0
    """
    vlm = as_model(vlm, cache or default_cache(), is_replay=replay)
    settings = resolve_search(search, vlm)
    check_whole("workers", workers)
    check_budget(budget)
    run = Run(
        video,
        question,
        choices,
        vlm,
        kind=kind,
        budget=budget,
        sample=settings.sample,
        replay=replay,
        cache=cache,
        on_event=on_event,
        show=show,
    )
    with run:
        fit, patch = fit_for(vlm, settings.fit)
        is_by_looks = settings.traversal == LOOKS
        atlas = Atlas(
            run.video,
            settings.k or Preset.k,
            cell_for(vlm, settings.cell),
            settings.max_depth,
            fit,
            labels="seconds" if is_by_looks else "index",
            subtitles=subtitles,
            sampling=settings.sampling,
            cells=settings.cells,
            cache=run.cache,
            patch=patch,
            within=within,
            ruled=preset_of(vlm).ruled,
            min_span_s=settings.min_span_s,
        )
        settings = settings.with_plateau(atlas.rules.max_depth)

        def sight_of(search_task: str) -> Sight:
            return Sight(run.video, run.question, search_task, run.cache, subtitles)

        survey = Survey(resolve_scouts(settings.scouts), preset_of(vlm).words is None, sight_of)
        own = _settings_of(settings, atlas, workers, survey)
        earlier = earlier_text(after, run.video) if after else ""
        if earlier and not is_by_looks:
            raise InputError('Only a search by looks takes after: use search="best".')
        if earlier:
            own["after"] = earlier
        run.begin(
            "video-rlm",
            own if within is None else {**own, "within": [atlas.root.start_s, atlas.root.end_s]},
        )
        if not is_by_looks:
            return Loop(Master(run), atlas, settings, workers, survey).answer()
        return Looking(Master(run), atlas, settings, workers, survey, earlier).answer()


def _settings_of(search: Search, atlas: Atlas, workers: int, survey: Survey) -> dict[str, Any]:
    """Return the settings of a search as they are recorded in its trace and result."""
    strategy = resolve_strategy(search.traversal)
    return {
        "k": atlas.k,
        "cell": atlas.cell,
        **recorded_fit(atlas.look),
        "max_depth": atlas.rules.max_depth,
        "subtitles": atlas.subtitles,
        "sampling": search.sampling,
        "cells": search.cells,
        **({"labels": atlas.labels} if search.traversal == LOOKS else {}),
        "traversal": search.traversal if strategy is None else strategy_name(strategy),
        "workers": workers,
        **{
            name: getattr(search, name)
            for name in ("steps", "plateau", "min_rounds", "max_rounds", "look_ahead")
        },
        **{
            name: value
            for name, value in search.changed().items()
            if name in ("votes", "min_span_s")
        },
        **survey.recorded(),
        **({"edges_s": list(atlas.root.edges)} if atlas.root.edges else {}),
    }
