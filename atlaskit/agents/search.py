"""`ask`: sets a run of a question about a video up, and returns its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from atlaskit.agents.budget import Budget, Meter, check_budget
from atlaskit.agents.dispatch import Dispatcher
from atlaskit.agents.event_log import EventLog
from atlaskit.agents.loop import Run, Stop
from atlaskit.agents.master import Master, cited_cells, prediction
from atlaskit.agents.scouts.registry import resolve_scouts
from atlaskit.agents.scouts.sight import Sight
from atlaskit.agents.scouts.survey import Survey
from atlaskit.agents.settings import Named, Search, fit_for, recorded_fit, resolve_search
from atlaskit.agents.strategies import strategy_name
from atlaskit.agents.suitability import warn_if_unsuitable
from atlaskit.agents.thrift import recorded_thrift, resolve_thrift
from atlaskit.agents.worker import Worker
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.question import Kind, Question, Span, as_question
from atlaskit.environment.render import Sheet
from atlaskit.errors import check_whole
from atlaskit.models.cached import Cached
from atlaskit.models.call_log import CallLog
from atlaskit.models.named import as_model
from atlaskit.models.presets import Preset, cell_for, preset_for
from atlaskit.models.protocol import Model, Reply
from atlaskit.runs.archive import save_manifest
from atlaskit.runs.events import Event, interval_s, view_data
from atlaskit.runs.observer import RunObserver
from atlaskit.runs.result import Result, Spent
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.records import remember_video
from atlaskit.video.video import Video


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
            serves on this machine ("nano", a hub id, a folder), or an address and a name.
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

    Warns:
        ModelWarning: If the model is nano, and the video is no AtlasWorld, or the answer may have
            several intervals.

    Raises:
        InputError: If an argument breaks a rule.
        Unreachable: If the model never answers. A model that fails later costs steps; the result
            says so. Or if no embedder answers that a scout asks.
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
    asked = as_question(question, choices, kind)
    store = cache or default_cache()
    vlm = as_model(vlm, store, is_replay=replay)
    settings = resolve_search(search, vlm)
    check_whole("workers", workers)
    check_budget(budget)
    video = as_video(video, store)
    warn_if_unsuitable(vlm.name, preset_for(vlm), video, asked)
    watched = store.watched()
    model = CallLog(Cached(vlm, watched, sample=settings.sample, replay=replay))
    remember_video(video, watched)
    atlas = _atlas(video, vlm, settings, subtitles, within, watched)
    meter = Meter(budget)  # its clock starts here: opening the video is not part of the run
    observer = RunObserver(video, store, show, on_event)

    def sight_of(search_task: str) -> Sight:
        return Sight(video, asked, search_task, watched, subtitles, replay, meter.deadline_s, meter.cancel)

    survey = Survey(resolve_scouts(settings.scouts), not preset_for(vlm).words, sight_of)
    run = _new_run(atlas, model, asked, settings, workers, meter, observer, survey)
    recorded = _recorded(run, vlm, within)
    with observer:
        result = observer.result = _result_of(run, recorded, model, frames_before=video.frames_decoded)
        save_manifest(result.trace, watched)
    return result


def _atlas(video: Video, vlm: Model, settings: Search, subtitles: bool, within: Span | None, cache: Cache) -> Atlas:
    """Return the environment of a video; raise InputError for settings it cannot have."""
    fit, patch = fit_for(vlm, settings.fit)
    return Atlas(
        video,
        settings.k or Preset.k,
        cell_for(vlm, settings.cell),
        settings.max_depth,
        fit,
        subtitles=subtitles,
        sampling=settings.sampling,
        cells=settings.cells,
        cache=cache,
        patch=patch,
        within=within,
        between=settings.second_look if isinstance(settings.second_look, str) else None,
    )


def _new_run(
    atlas: Atlas,
    model: CallLog,
    question: Question,
    settings: Search,
    workers: int,
    meter: Meter,
    observer: RunObserver,
    survey: Survey,
) -> Run:
    """Set the master and the workers up."""
    thrift = resolve_thrift(settings.thrift)
    worker = Worker(atlas, model, question, observer.on_event, thrift, survey)
    # Samples of several votes, in all runs with as many votes, are different ones.
    votes_from = settings.sample * (settings.votes - 1)
    return Run(
        master=Master(atlas, model, question, meter.deadline_s, meter.cancel, votes_from, thrift),
        dispatcher=Dispatcher(worker.explore, settings.threads or workers, meter.cancel),
        settings=settings.with_plateau(atlas.rules.max_depth),
        workers=workers,
        meter=meter,
        log=EventLog(observer.on_event),
        survey=survey,
    )


def _recorded(run: Run, vlm: Model, within: Span | None) -> dict[str, Any]:
    """Return the settings of a run as its trace and its result hold them."""
    atlas, search = run.master.atlas, run.settings
    return {
        "method": "video-rlm",
        "model": vlm.name,
        "parameters": dict(vlm.parameters),
        "sample": search.sample,
        "video": atlas.video.fingerprint,
        "k": atlas.k,
        "cell": atlas.cell,
        **recorded_fit(atlas.fit, atlas.patch),
        "max_depth": atlas.rules.max_depth,
        "subtitles": atlas.subtitles,
        **({} if within is None else {"within": interval_s(atlas.root)}),
        "sampling": search.sampling,
        "cells": search.cells,
        **recorded_thrift(run.master.thrift),
        "traversal": "auto" if run.strategy is None else strategy_name(run.strategy),
        "workers": run.workers,
        **{name: getattr(search, name) for name in ("steps", "plateau", "min_rounds", "max_rounds", "look_ahead")},
        **{name: value for name, value in search.changed().items() if name in ("second_look", "votes")},
        **run.survey.recorded(),
        "budget": run.meter.budget.recorded(),
    }


def _result_of(run: Run, settings: dict[str, Any], model: CallLog, frames_before: int) -> Result:
    """Search, decide, and return the result.

    Args:
        run: The run, before its first call.
        settings: The settings of the run.
        model: The model, with the log of its calls.
        frames_before: How many frames of the video had been decoded before the run.
    """
    question = run.master.question
    run.log.add(Event("start", data={"question": question.to_json(), "settings": settings}))
    stop = run.explore()
    decision = run.decide()
    if decision is not None and not len(run.state.scratchpad):
        _cite(run, decision)
    calls = run.meter.total.calls
    run.log.add(Event("stop", data={"stop": stop, "rounds": run.rounds, "calls": calls}))
    return _result(run, stop, decision, settings, model, frames_before)


def _cite(run: Run, decision: Reply) -> None:
    """Make evidence of the root cells that a decision without evidence rests on."""
    state, master = run.state, run.master
    state.scratchpad = master.cite(cited_cells(decision.answer), state.dead_zones, state.scratchpad)
    data = {
        "view": view_data(run.observe_root()),
        "interval_s": interval_s(master.atlas.root),
        "found": [item.to_json() for item in state.scratchpad],
    }
    run.log.add(Event("cite", data=data))


def _result(
    run: Run, stop: Stop, decision: Reply | None, settings: dict[str, Any], model: CallLog, frames_before: int
) -> Result:
    question, atlas, state = run.master.question, run.master.atlas, run.state
    charges = run.meter.by_role
    return Result(
        question=question,
        prediction=None if decision is None else prediction(question, decision.answer),
        reasoning="" if decision is None else decision.answer.reasoning,
        evidence=state.scratchpad,
        dead_zones=state.dead_zones,
        stop=stop,
        failure=run.failure,
        rounds=run.rounds,
        usage={role: charge.usage for role, charge in charges.items()},
        settings=settings,
        trace=Trace(tuple(run.log.events)),
        sheet=Sheet(atlas.video, state.scratchpad, atlas.cell, atlas.fit, atlas.cache, atlas.patch),
        calls=tuple(model.calls),
        spent=Spent(
            calls=sum(charge.paid.calls for charge in charges.values()),
            tokens=sum(charge.paid.tokens for charge in charges.values()),
            frames_decoded=atlas.video.frames_decoded - frames_before,
            seconds=run.meter.seconds,
        ),
    )
