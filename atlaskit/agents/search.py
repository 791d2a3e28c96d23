"""`ask`: checks the options, runs a search on a question about a video, and returns its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from atlaskit.agents.budget import Budget, Meter, check_budget
from atlaskit.agents.dispatch import Dispatcher
from atlaskit.agents.event_log import EventLog
from atlaskit.agents.loop import Search, Stop
from atlaskit.agents.master import Master, cited_cells, prediction
from atlaskit.agents.options import CacheMode, GridSettings, Refinements, SearchLimits, fit_for, recorded_fit
from atlaskit.agents.scouts.registry import resolve_scouts
from atlaskit.agents.scouts.sight import Scout, Sight
from atlaskit.agents.scouts.survey import Survey
from atlaskit.agents.strategies import Strategy, resolve_strategy, strategy_name
from atlaskit.agents.suitability import warn_if_unsuitable
from atlaskit.agents.thrift import Measure, recorded_thrift, resolve_thrift
from atlaskit.agents.votes import check_votes
from atlaskit.agents.worker import Worker
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.observation import Cells
from atlaskit.environment.question import Kind, Question, Span, as_question
from atlaskit.environment.render import Sheet
from atlaskit.environment.tiles import Fit
from atlaskit.errors import check_whole
from atlaskit.models.call_log import CallLog
from atlaskit.models.named import as_model
from atlaskit.models.presets import preset_for
from atlaskit.models.protocol import Model, Reply
from atlaskit.runs.archive import save_manifest
from atlaskit.runs.events import Event, interval_s, view_data
from atlaskit.runs.observer import RunObserver
from atlaskit.runs.result import Result, Spent
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.records import remember_video
from atlaskit.video.video import Sampling, Video


def ask(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    kind: Kind | None = None,
    several: bool = False,
    workers: int = 4,
    traversal: Literal["auto", "dfs", "bfs", "beam"] | Strategy = "auto",
    steps: int | None = None,
    plateau: int | None = None,
    min_rounds: int = 1,
    max_rounds: int | None = None,
    look_ahead: bool = True,
    max_depth: int | Literal["auto"] = "auto",
    budget: Budget = Budget(calls=200),
    k: int | None = None,
    cell: int | None = None,
    fit: Fit | None = None,
    subtitles: bool = True,
    within: Span | None = None,
    sampling: Sampling = "midpoint",
    second_look: bool | Sampling = False,
    votes: int = 1,
    cells: Cells = "compact",
    thrift: Sequence[Measure] | Literal["all"] = (),
    scouts: Sequence[str | Scout] = (),
    threads: int | None = None,
    sample: int = 0,
    refresh: bool = False,
    replay: bool = False,
    cache: Cache | None = None,
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
        several: Whether a question of kind "when" asks for one or more intervals, not for exactly
            one. A `Question` says so itself.
        workers: The most regions explored in a round.
        traversal: Which regions are explored, and how: "dfs", "bfs", "beam", a function of the form
            that `strategies` describes, or "auto", for the master's choice from the question alone.
        steps: The most calls of a worker in its region. None: what suits the model (12).
        plateau: A visit ends after so many steps in a row without new evidence. None: what suits
            the model, or else half of the steps but enough to reach the deepest level.
        min_rounds: Rounds before the evidence may count as sufficient.
        max_rounds: The most rounds; None for no limit.
        look_ahead: Whether the next probe runs beside the workers, where the budget allows it. This
            saves time, and wastes a call if no further round follows.
        max_depth: How deep workers may go, from 0 (the root grid alone) to D_max; "auto" is the
            first depth whose cells are shorter than a second.
        budget: Limits on calls, tokens and seconds.
        k: A grid has k×k cells. None: what suits the model (8; 4 for nano).
        cell: Width and height of a cell in pixels. None: what suits the model (320; 128 for nano).
        fit: How a frame fills its cell. "native": the cell has the video's shape, with `cell` as
            its longer side, rounded to the model's image tokens. "contain": a square cell, the
            frame on a grey ground. "stretch": a square cell, filled by the stretched frame. None:
            what suits the model ("native"; "contain" for nano).
        subtitles: Whether agents get the video's subtitles.
        within: The interval [start_s, end_s) in seconds to search; None for the whole video. Times
            count from the start of the video all the same.
        sampling: Which frame stands for a cell.
        second_look: Whether a search that has explored everything without finding enough opens the
            regions again, between the frames that it saw (half a cell later), while the budget
            lasts. What is ruled out a second time stays so. A name of a sampling, as "salient",
            looks again with these frames.
        votes: The most decisions that are asked for; the answer of the majority counts. Above 1 the
            model needs a temperature.
        cells: How prompts describe the cells: "compact", or one by one ("full", as in the paper).
        thrift: Measures that spend fewer tokens on the same sight, by name: "steps", "review",
            "probe", "evidence"; or "all". How the search works describes them. nano, which was
            taught fixed prompts, can have "probe".
        scouts: What says, without the model, where to look first: "words" (what is said shares
            words with the question), "change" (much changes there), `scouts.likeness(embedder)`, or
            functions of the form that `ak.scouts` describes. Their hints are told in prompts,
            except to nano, and rank regions; they are never evidence.
        threads: Workers that run at the same time; None for all of a round. The result does not
            depend on it.
        sample: Number of the sample, if a model with a temperature is asked several times; each
            number has replies of its own in the cache.
        refresh: Call the model even if the cache has a reply, and replace that reply.
        replay: Never call the model; use the cache alone.
        cache: Where replies and views are stored; None for the default cache.
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
    asked = as_question(question, choices, kind, several)
    store = cache or default_cache()
    vlm = as_model(vlm, store, is_replay=replay)
    preset = preset_for(vlm)
    steps = preset.steps if steps is None else steps
    plateau = preset.plateau if plateau is None and steps == preset.steps else plateau
    limits = SearchLimits(workers, steps, plateau, min_rounds, max_rounds, bool(look_ahead))
    k, cell = preset.k if k is None else k, preset.cell if cell is None else cell
    fit, patch = fit_for(vlm, fit)
    refinements = Refinements(second_look, votes)
    check_votes(vlm, votes)
    saved = resolve_thrift(thrift, vlm)
    grids = GridSettings(
        k, cell, max_depth, fit, subtitles, sampling, cells, patch, saved, within, refinements.sampling_between
    )
    mode = CacheMode(sample, refresh, replay)
    chosen = resolve_scouts(scouts)
    check_whole("threads", workers if threads is None else threads)
    check_budget(budget)
    strategy = resolve_strategy(traversal)
    video = as_video(video, store)
    warn_if_unsuitable(vlm.name, preset, video, asked)
    observer, at_once = RunObserver(video, store, show, on_event), threads or workers
    return _answer(
        video, asked, vlm, limits, refinements, grids, mode, store, strategy, chosen, budget, at_once, observer
    )


def _answer(
    video: Video,
    question: Question,
    vlm: Model,
    limits: SearchLimits,
    refinements: Refinements,
    grids: GridSettings,
    mode: CacheMode,
    store: Cache,
    strategy: Strategy | None,
    scouts: Mapping[str, Scout],
    budget: Budget,
    threads: int,
    observer: RunObserver,
) -> Result:
    """Set the master and the workers up, run the search, and record which entries it used."""
    watched = store.watched()
    model = CallLog(mode.open(vlm, watched))
    remember_video(video, watched)
    atlas = grids.open(video, watched)
    meter = Meter(budget)  # its clock starts here: opening the video is not part of the run

    def sight_of(search_task: str) -> Sight:
        return Sight(
            video, question, search_task, watched, grids.subtitles, mode.replay, meter.deadline_s, meter.cancel
        )

    survey = Survey(scouts, preset_for(vlm).reads_hints, sight_of)
    worker = Worker(atlas, model, question, observer.on_event, grids.thrift, survey)
    search = Search(
        # Samples of several votes, in all runs with as many votes, are different ones.
        master=Master(
            atlas,
            model,
            question,
            meter.deadline_s,
            meter.cancel,
            mode.sample * (refinements.votes - 1),
            grids.thrift,
        ),
        dispatcher=Dispatcher(worker.explore, threads, meter.cancel),
        limits=limits.with_plateau(atlas.rules.max_depth),
        refinements=refinements,
        strategy=strategy,
        meter=meter,
        log=EventLog(observer.on_event),
        survey=survey,
    )
    settings = _settings(search, vlm, grids, mode)
    with observer:
        result = observer.result = _run(search, settings, model, frames_before=video.frames_decoded)
        save_manifest(result.trace, watched)
    return result


def _settings(search: Search, vlm: Model, grids: GridSettings, mode: CacheMode) -> dict[str, Any]:
    """Return the settings of a run as its trace and its result hold them."""
    atlas = search.master.atlas
    return {
        "method": "video-rlm",
        "model": vlm.name,
        "parameters": dict(vlm.parameters),
        "sample": mode.sample,
        "video": atlas.video.fingerprint,
        "k": grids.k,
        "cell": grids.cell,
        **recorded_fit(grids.fit, grids.patch),
        "max_depth": atlas.rules.max_depth,
        "subtitles": grids.subtitles,
        **({} if grids.within is None else {"within": interval_s(atlas.root)}),
        "sampling": grids.sampling,
        "cells": grids.cells,
        **recorded_thrift(grids.thrift),
        "traversal": "auto" if search.strategy is None else strategy_name(search.strategy),
        **vars(search.limits),
        **search.refinements.recorded(),
        **search.survey.recorded(),
        "budget": search.meter.budget.recorded(),
    }


def _run(search: Search, settings: dict[str, Any], model: CallLog, frames_before: int) -> Result:
    """Search, decide, and return the result.

    Args:
        search: The search, before its first call.
        settings: The settings of the run.
        model: The model, with the log of its calls.
        frames_before: How many frames of the video had been decoded before the run.
    """
    question = search.master.question
    search.log.add(Event("start", data={"question": question.to_json(), "settings": settings}))
    stop = search.run()
    decision = search.decide()
    if decision is not None and not len(search.state.scratchpad):
        _cite(search, decision)
    calls = search.meter.total.calls
    search.log.add(Event("stop", data={"stop": stop, "rounds": search.rounds, "calls": calls}))
    return _result(search, stop, decision, settings, model, frames_before)


def _cite(search: Search, decision: Reply) -> None:
    """Make evidence of the root cells that a decision without evidence rests on."""
    state, master = search.state, search.master
    state.scratchpad = master.cite(cited_cells(decision.answer), state.dead_zones, state.scratchpad)
    data = {
        "view": view_data(search.observe_root()),
        "interval_s": interval_s(master.atlas.root),
        "found": [item.to_json() for item in state.scratchpad],
    }
    search.log.add(Event("cite", data=data))


def _result(
    search: Search, stop: Stop, decision: Reply | None, settings: dict[str, Any], model: CallLog, frames_before: int
) -> Result:
    question, atlas, state = search.master.question, search.master.atlas, search.state
    charges = search.meter.by_role
    return Result(
        question=question,
        prediction=None if decision is None else prediction(question, decision.answer),
        reasoning="" if decision is None else decision.answer.reasoning,
        evidence=state.scratchpad,
        dead_zones=state.dead_zones,
        stop=stop,
        failure=search.failure,
        rounds=search.rounds,
        usage={role: charge.usage for role, charge in charges.items()},
        settings=settings,
        trace=Trace(tuple(search.log.events)),
        sheet=Sheet(atlas.video, state.scratchpad, atlas.cell, atlas.fit, atlas.cache, atlas.patch),
        calls=tuple(model.calls),
        spent=Spent(
            calls=sum(charge.paid.calls for charge in charges.values()),
            tokens=sum(charge.paid.tokens for charge in charges.values()),
            frames_decoded=atlas.video.frames_decoded - frames_before,
            seconds=search.meter.seconds,
        ),
    )
