"""`ask`: answers a question about a video in one run, and returns the result."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from atlaskit.agents.budget import Budget, check_budget
from atlaskit.agents.looking import Looking
from atlaskit.agents.loop import Loop
from atlaskit.agents.master import Master
from atlaskit.agents.prompts.looks import Note, kept_text, notes_text
from atlaskit.agents.run import Run
from atlaskit.agents.scouts import Sight, Survey, resolve_scouts
from atlaskit.agents.settings import Named, Search, fit_for, recorded_fit, resolve_search
from atlaskit.agents.strategies import LOOKS, resolve_strategy, strategy_name
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.question import Kind, Question, Span
from atlaskit.errors import InputError, check_flags, check_whole, printable
from atlaskit.models.names import Preset, cell_for, preset_of
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import as_model
from atlaskit.runs.events import Event, Look, Start
from atlaskit.runs.replay import memory
from atlaskit.runs.result import Result, trace_of
from atlaskit.runs.result import Run as AnyRun
from atlaskit.runs.trace import Trace
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.video import Video

MOST_RUNS = 8
"""The most earlier runs whose findings are quoted; of more, the last ones count."""
LONGEST_QUESTION = 300
"""Characters that are quoted of the question of an earlier run; the rest is cut off."""


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

    The model plays a master, which sees the whole video as one sheet and chooses where to look, and
    workers, which look at parts of it and keep frames as evidence. The master answers from these
    frames.

    Every reply is cached at once. A run that was killed continues where it stopped when it is
    started again. Repeating a finished run makes no model calls.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model that plays the master and the workers, or its name: a hub id or a folder,
            which vLLM serves on this machine, or an address and a name.
        kind: The form of the answer: "when", "count" or "summary"; None for a choice or, without
            `choices`, words. `Question(…, kind="when", several=True)` asks for several intervals.
        search: How the video is searched: "best" (the settings that measured best, as far as the
            model can use them), "paper", or settings of your own, `ak.Search(…)`.
        budget: Limits on calls, tokens and seconds.
        workers: The most regions explored in a round.
        within: The interval [start_s, end_s) in seconds to search; None for the whole video. Times
            in the result still count from the start of the video.
        subtitles: Whether agents get the video's subtitles.
        cache: Where replies and views are stored; None for the default cache. With
            `cache.refreshing()` the model is asked again, and its replies replace the stored ones.
        replay: Whether only the cache may answer: the model is never called.
        on_event: Called with each event as it happens, from the thread in which it happens.
        show: Whether to draw the run while it happens: in a notebook as a map, in a terminal as one
            line. The result does not depend on it, except for the decoded frames in `result.spent`.
        after: Earlier runs about the same video, whose evidence and notes this question may use, so
            that a follow-up costs less. Only a search by looks, such as "best", takes them. Do not
            use it in benchmarks.

    Warns:
        ModelWarning: The model was not trained for such a video or question.

    Raises:
        InputError: An argument breaks a rule.
        Unreachable: The model never answers. If it fails later, steps are lost, and the result says
            so.
        Unrecorded: A replay needs a reply that is not in the cache.

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
    check_flags(subtitles=subtitles, replay=replay, show=show)
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
            k=settings.k or Preset.k,
            cell=cell_for(vlm, settings.cell),
            max_depth=settings.max_depth,
            fit=fit,
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

        survey = Survey(
            scouts=resolve_scouts(settings.scouts),
            is_in_prompts=preset_of(vlm).words is None,
            sight_of=sight_of,
        )
        recorded = _recorded_settings(settings, atlas, workers, survey)
        earlier = earlier_text(after, run.video) if after else ""
        if earlier and not is_by_looks:
            raise InputError('Only a search by looks takes after: use search="best".')
        if earlier:
            recorded["after"] = earlier
        if within is not None:
            recorded["within"] = [atlas.root.start_s, atlas.root.end_s]
        run.begin("video-rlm", recorded)
        master = Master(run)
        if is_by_looks:
            looking = Looking(master, atlas, settings, workers, survey=survey, earlier=earlier)
            return looking.answer()
        return Loop(master, atlas, settings, workers, survey=survey).answer()


def _recorded_settings(
    search: Search, atlas: Atlas, workers: int, survey: Survey
) -> dict[str, Any]:
    """Return the settings of a search as its trace and result record them."""
    strategy = resolve_strategy(search.traversal)
    recorded = {
        "k": atlas.k,
        "cell": atlas.cell,
        **recorded_fit(atlas.look),
        "max_depth": atlas.rules.max_depth,
        "subtitles": atlas.subtitles,
        "sampling": search.sampling,
        "cells": search.cells,
    }
    if search.traversal == LOOKS:
        recorded["labels"] = atlas.labels
    recorded |= {
        "traversal": search.traversal if strategy is None else strategy_name(strategy),
        "workers": workers,
        "steps": search.steps,
        "plateau": search.plateau,
        "min_rounds": search.min_rounds,
        "max_rounds": search.max_rounds,
        "look_ahead": search.look_ahead,
    }
    changed = search.changed()
    for name in ("votes", "min_span_s"):
        if name in changed:
            recorded[name] = changed[name]
    recorded |= survey.recorded()
    if atlas.root.edges:
        recorded["edges_s"] = list(atlas.root.edges)
    return recorded


def earlier_text(runs: AnyRun | Sequence[AnyRun], video: Video) -> str:
    """Return the findings of earlier runs about a video, as text for prompts.

    The findings are the questions, the evidence and the notes of looks. With them, the plan of a
    later question can name a place that an earlier look noted. No part of the video counts as seen
    because of them, since another question needs another look.

    Args:
        runs: Results, traces or saved files, oldest first; or one of these. () gives "".
        video: The video of the next question.

    Raises:
        InputError: A run is about another video, or a file is not a saved run.
    """
    is_one = isinstance(runs, str | Result | Trace) or not isinstance(runs, Sequence)
    given: Sequence[Any] = [runs] if is_one else list(runs)  # type: ignore[arg-type]
    rows = list[str]()
    for trace in [trace_of(run) for run in given][-MOST_RUNS:]:
        start = next(iter(trace.of(Start)), None)
        if start is None or start.settings.get("video") != video.fingerprint:
            raise InputError(
                f"after takes runs about the same video, {video.name}: one of them is about "
                "another."
            )
        text = printable(str(start.question.get("text", "")), LONGEST_QUESTION)
        rows.append(f"Learned when this was asked before: {json.dumps(text, ensure_ascii=False)}")
        evidence = memory(trace).scratchpad
        if len(evidence):
            rows.append(kept_text(evidence))
        notes = list[Note]()
        for look in trace.of(Look):
            note = Note(look.intervals_s, max(look.steps_s), look.note, bool(look.found))
            notes.append(note)
        if notes:
            rows.append(notes_text(notes))
    return "\n".join(rows)
