"""Asking a question about a video: `ask` puts agents, budget and rounds together, and makes the result of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from inspect import signature
from typing import Any, Literal

from atlaskit.agents.budget import Budget, Meter
from atlaskit.agents.loop import Limits, Search, name_of
from atlaskit.agents.master import Master, prediction
from atlaskit.agents.strategies import NAMES, STRATEGIES, Strategy
from atlaskit.agents.worker import Worker
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.atlas import Atlas, Cells
from atlaskit.environment.question import Kind, Question, as_question
from atlaskit.environment.render import Fit, Sheet
from atlaskit.errors import InputError, check_whole
from atlaskit.models.cached import Cached
from atlaskit.models.call_log import CallLog
from atlaskit.models.presets import preset_for
from atlaskit.models.protocol import Model
from atlaskit.runs.archive import save_manifest
from atlaskit.runs.events import Event, interval_s, view_data
from atlaskit.runs.observer import RunObserver
from atlaskit.runs.result import Result, Spent
from atlaskit.runs.trace import Trace
from atlaskit.video.offline import keep
from atlaskit.video.video import Sampling, Video


def ask(
    video: Video,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model,
    kind: Kind | None = None,
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
    fit: Fit = "contain",
    subtitles: bool = True,
    sampling: Sampling = "midpoint",
    cells: Cells = "compact",
    threads: int | None = None,
    sample: int = 0,
    refresh: bool = False,
    replay: bool = False,
    cache: Cache | None = None,
    on_event: Callable[[Event], None] | None = None,
    show: bool = False,
) -> Result:
    """Ask a question about a video, by Video-RLM: a Master sends workers through the map and answers from frames.

    With `choices` the answer is one of them, without it is some words, unless `kind` says otherwise: "when", "count" or
    "summary" (see `Question`).

    A sheet has `k`×`k` cells of `cell` pixels. These, `steps` and `plateau`, where they are not given, are what suits
    the model: 8×8 cells of 320 px and 12 steps for any, and what it was taught with for nano.

    `workers` regions are explored in a round, in at most `steps` calls each; `plateau` steps in a row without new
    evidence end a visit (if not given, half of the steps, and enough to go all the way down). `traversal` says how:
    "dfs", "bfs", "beam", any function of `strategies`' form, or "auto" for the Master's choice by the question's words.
    The evidence is not found sufficient before `min_rounds`. With `look_ahead` the next round's probe is made while the
    workers are under way, where neither calls nor tokens are short: that saves time, and costs a call where the round
    turns out to be the last.

    `threads` workers run at once (all of a round, if not given); the result does not depend on it. `on_event` is called
    with each event as it happens, from the thread it happens in. With `show` the run is drawn while it happens: in a
    notebook as the map with what was found so far, which the result itself takes the place of, and in a terminal as a
    line on stderr that goes away. The result does not depend on that either (frames that only the drawing decoded count
    among `result.spent`, which is not part of it).

    Every reply is kept in `cache` as it comes, so a run that was killed goes on where it was, and one that was finished
    costs nothing. `sample` numbers several runs that a model with a temperature may answer differently, each with
    replies of its own; `refresh` asks again and keeps the new replies; with `replay`, nothing is asked at all.

    Raises InputError for what cannot be asked, Unreachable when the model does not answer at all, and Unrecorded where
    a replay needs a reply that is not kept; a model that fails later costs steps, and the result says so.
    """
    asked = as_question(question, choices, kind)
    suits = preset_for(vlm)
    k, cell = suits.k if k is None else k, suits.cell if cell is None else cell
    steps = suits.steps if steps is None else steps
    plateau = suits.plateau if plateau is None and steps == suits.steps else plateau
    check_whole("workers", workers)
    check_whole("steps", steps)
    check_whole("threads", workers if threads is None else threads)
    if not isinstance(budget, Budget):
        raise InputError(f"budget is an ak.Budget, for instance ak.Budget(calls=200); got {budget!r:.80}.")
    strategy = _strategy(traversal)
    kept = cache or default_cache()
    cache = kept.watched()
    model = CallLog(Cached(vlm, cache, sample=sample, refresh=refresh, replay=replay))
    keep(video, cache)
    atlas = Atlas(video, k, cell, max_depth, fit, subtitles=subtitles, sampling=sampling, cells=cells, cache=cache)
    watch = RunObserver(video, kept, show, on_event)
    meter = Meter(budget)
    if plateau is None:
        plateau = min(steps - 1, max(steps // 2, atlas.rules.max_depth + 1))
    limits = Limits(workers, steps, plateau, min_rounds, max_rounds, bool(look_ahead))
    search = Search(
        master=Master(atlas, model, asked, meter.deadline_s, meter.cancel),
        explore=Worker(atlas, model, asked, watch.on_event).explore,
        meter=meter,
        limits=limits,
        strategy=strategy,
        threads=threads or workers,
        emit=watch.on_event,
    )
    settings = {
        "method": "video-rlm",
        "model": vlm.name,
        "parameters": dict(vlm.parameters),
        "sample": sample,
        "video": video.fingerprint,
        "k": k,
        "cell": cell,
        "fit": fit,
        "max_depth": atlas.rules.max_depth,
        "subtitles": subtitles,
        "sampling": sampling,
        "cells": cells,
        "traversal": "auto" if strategy is None else name_of(strategy),
        **vars(limits),
        "budget": asdict(budget),
    }
    with watch:
        result = watch.result = _run(search, settings, model, decoded=video.frames_decoded)
        save_manifest(result.trace, cache)
    return result


def _run(search: Search, settings: dict[str, Any], ledger: CallLog, decoded: int) -> Result:
    """Search, decide, and put together what was found; `decoded` frames had been decoded before."""
    question, atlas = search.master.question, search.master.atlas
    search.log(Event("start", data={"question": question.to_json(), "settings": settings}))
    stop = search.run()
    decision = search.decide()
    evidence = search.scratchpad
    if decision is not None and not len(evidence):
        evidence = search.master.cite(_cited(decision.answer), search.dead_zones, evidence)
        found = {
            "view": view_data(search.look()),
            "interval_s": interval_s(atlas.root),
            "found": [item.to_json() for item in evidence],
        }
        search.log(Event("cite", data=found))
    search.log(Event("stop", data={"stop": stop, "rounds": search.rounds, "calls": search.meter.total.calls}))
    bills = search.meter.by_role
    return Result(
        question=question,
        prediction=None if decision is None else prediction(question, decision.answer),
        reasoning="" if decision is None else decision.answer.reasoning,
        evidence=evidence,
        dead_zones=search.dead_zones,
        stop=stop,
        failure=search.failure,
        rounds=search.rounds,
        usage={role: bill.usage for role, bill in bills.items()},
        settings=settings,
        trace=Trace(tuple(search.events)),
        sheet=Sheet(atlas.video, evidence, atlas.cell, atlas.fit, atlas.cache),
        calls=tuple(ledger.calls),
        spent=Spent(
            calls=sum(bill.paid.calls for bill in bills.values()),
            tokens=sum(bill.paid.tokens for bill in bills.values()),
            frames_decoded=atlas.video.frames_decoded - decoded,
            seconds=search.meter.seconds,
        ),
    )


def _cited(answer: Any) -> list[int]:
    """Return the cells a decision from the root grid rests on."""
    judged = [weighed for weighed in getattr(answer, "weighed", ()) if weighed.choice == answer.answer] or [answer]
    return [cell for each in judged for cell in getattr(each, "supporting", ())]


def _strategy(traversal: str | Strategy) -> Strategy | None:
    """Return the strategy that is meant, None for the Master's choice; raise InputError for what is none."""
    if isinstance(traversal, str) and traversal in NAMES:
        return STRATEGIES.get(traversal)
    if callable(traversal):
        try:
            signature(traversal).bind(None, workers=1, steps=1)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"A strategy is called as strategy(frontier, workers=…, steps=…), which {traversal!r:.80} cannot be "
                f"({error}); a beam is ak.strategies.beam(width)."
            ) from error
        return traversal
    names = ", ".join(map(repr, NAMES))
    raise InputError(f"traversal is {names}, or a function of the form that strategies have; got {traversal!r:.80}.")
