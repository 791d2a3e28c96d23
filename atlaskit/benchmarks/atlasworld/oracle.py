"""A reference policy that knows a world's script: it answers the very requests a model gets, without looking.

It stands in for a model where the environment and the search are to be tested apart from a model's eyes: what the
perfect oracle (`miss=0, confuse=0`) still gets wrong is the environment's fault. It keeps to what a model may do:
it names only cells that are offered, and calls evidence only what the frame of a cell shows. Where to search, and how
long an event lasts, it knows. Its token counts are estimates, and marked as such.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from atlaskit.agents.prompts import (
    CaptionCall,
    DecisionCall,
    FramesCall,
    GlanceCall,
    ProbeCall,
    ReviewCall,
    StepCall,
    TaskCall,
    TextCall,
)
from atlaskit.agents.schemas import LONGEST_TEXT, MOST_CITED, MOST_INTERVALS, MOST_ITEMS
from atlaskit.benchmarks.atlasworld.questions import summary_of
from atlaskit.benchmarks.atlasworld.timeline import WorldEvent
from atlaskit.benchmarks.atlasworld.world import World
from atlaskit.caching.keys import canonical_json
from atlaskit.environment.actions import Expand
from atlaskit.environment.grid import Cell
from atlaskit.environment.mdp import State
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Answered, Question
from atlaskit.environment.render import View
from atlaskit.errors import InputError
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.models.usage import CHARACTERS_A_TOKEN, Usage

COUNTS = ("COUNT", "TALLY")
FLOW = ("first", "summarise")
"""Words of a question about an order or a course of events: it is searched breadth-first."""
PIXELS_A_TOKEN = 32 * 32


class Oracle:
    """Answers every call of a search about one world.

    `miss` is the chance that it overlooks a wanted event in a view that shows it, or a region that holds it; `confuse`
    the chance that it takes another event for the wanted one, believes to have what it lacks, chooses the other
    traversal, or decides wrongly. Both are drawn from `seed` and from what is looked at, never from the order of calls,
    so that the same run gives the same answers.
    """

    def __init__(self, world: World, miss: float = 0.0, confuse: float = 0.0, seed: int = 0) -> None:
        """Take a world and the two rates; raise InputError for a rate outside [0, 1]."""
        for name, rate in (("miss", miss), ("confuse", confuse)):
            if not 0.0 <= rate <= 1.0:
                raise InputError(f"{name} is a rate in [0, 1], got {rate}.")
        self.world, self.miss, self.confuse, self.seed = world, miss, confuse, seed
        self.name = f"oracle:{world.name}"
        self.parameters: Mapping[str, Any] = {"miss": miss, "confuse": confuse, "seed": seed}

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request from the script; raise InputError for a question that is not the world's."""
        if request.sample:  # has a seed of its own, as with an endpoint
            sampled = Oracle(self.world, self.miss, self.confuse, self.seed + request.sample)
            return sampled.complete(replace(request, sample=0))
        match request.facts:
            case TaskCall() as call:
                answer = self._task(call)
            case ProbeCall() as call:
                answer = self._probe(call)
            case StepCall() as call:
                answer = self._step(call)
            case ReviewCall() as call:
                answer = self._review(call)
            case DecisionCall() as call:
                answer = self._decide(call)
            case GlanceCall() as call:
                answer = self._glance(call)
            case FramesCall() as call:
                answer = self._look_over(call)
            case CaptionCall() as call:
                answer = self._caption(call)
            case TextCall() as call:
                answer = self._read(call)
            case other:
                raise InputError(f"The oracle does not know this call: {type(other).__name__}.")
        valid = request.schema.model_validate(answer)
        text = valid.model_dump_json()  # in the schema's order, as a model would write it
        return Reply(valid, text, estimated_usage(request, text))

    def _task(self, call: TaskCall) -> dict[str, Any]:
        names = sorted({event.name for event in self._targets(call.question)})
        task = {"search_task": f"Find every moment that shows: {', '.join(names)}."}
        if not call.chooses_traversal:
            return task
        is_flow = any(words in call.question.text.lower() for words in FLOW)
        mistaken = self._draw(call.question, "traversal") < self.confuse
        return {**task, "traversal": "bfs" if is_flow != mistaken else "dfs"}

    def _probe(self, call: ProbeCall) -> dict[str, Any]:
        cells = [call.observation.view.cells[index] for index in call.open_cells]
        missing = self._missing(call.question, call.scratchpad)
        grid = call.observation.view.grid
        scores = {
            cell.index: 0.5 + 0.5 * max(shares)
            for cell in cells
            if (
                shares := [
                    _share(e, cell) for e in missing if _share(e, cell) and not self._misses(call.question, e, cell)
                ]
            )
        }
        # Nothing recognised: search on somewhere, as a model would that has no clue.
        blind = sorted(call.open_cells, key=lambda index: self._draw(call.question, "blind", grid.end_s, index))
        scores = scores or dict.fromkeys(blind[: call.top], 0.1)
        best = sorted(scores, key=lambda index: (-scores[index], index))[: call.top]
        return {
            "reasoning": f"{len(missing)} of the wanted events are not in the evidence yet.",
            "top": [{"cell": index, "score": round(scores[index], 3)} for index in best],
        }

    def _step(self, call: StepCall) -> dict[str, Any]:
        state, legal = call.observation.state, call.observation.legal
        missing = self._missing(call.question, state.scratchpad)
        cells = state.grid.cells
        action: dict[str, Any]
        shown = self._shown(call.question, call.observation.view, legal.add, missing, state.scratchpad)
        hidden = [event for event in missing if event.id not in shown]
        marked = self._mark(state, legal.mark, hidden)
        if marked:  # first, since a scan has few steps
            action = {"action": "mark_promising", "cells": marked}
            return {"thought": "It must lie within these cells.", "action": action}
        if shown:
            look = self._closer_look(call, next(iter(shown.values())))
            action = self._keep(call.question, shown, missing[0])
            return look or {"thought": "This is what I was sent for.", "action": action}
        tried = {action.cell for action in call.actions if isinstance(action, Expand)}
        inside = {
            index: max(_share(event, cells[index]) for event in hidden)
            for index in legal.expand
            if index not in tried and any(_share(event, cells[index]) for event in hidden)
        }
        if inside:
            best = max(inside, key=lambda index: (inside[index], -index))
            return {"thought": "It must lie within this cell.", "action": {"action": "expand", "cell": best}}
        region = state.region
        if legal.backtrack and any(e.start_s < region.end_s and region.start_s < e.end_s for e in missing):
            return {"thought": "Not here.", "action": {"action": "backtrack"}}
        return {"thought": "Nothing more to find here.", "action": {"action": "finished"}}

    def _mark(self, state: State, legal: Iterable[int], hidden: Iterable[WorldEvent]) -> list[int]:
        """Return, for each event that is hidden in a view and not marked yet, the cell in which most of it lies."""
        cells = [state.grid.cells[index] for index in legal]
        unmarked = [e for e in hidden if not any(e.start_s < g.end_s and g.start_s < e.end_s for g in state.marked)]
        held = [max(cells, key=lambda cell: (_share(e, cell), -cell.index)) for e in unmarked if _lies_in(e, cells)]
        return list(dict.fromkeys(cell.index for cell in held))[:MOST_ITEMS]

    def _keep(self, question: Question, shown: dict[str, list[int]], wanted: WorldEvent) -> dict[str, Any]:
        """Keep one frame an event; for a when-question, those at its two ends. A mistaken one is taken for `wanted`."""
        picked = {
            id: [cells[0], cells[-1]] if question.kind == "when" else [cells[len(cells) // 2]]
            for id, cells in shown.items()
        }
        targets = {event.id: event for event in self._targets(question)}
        items = [
            {"cell": cell, "description": _told(event), "confidence": 0.9}
            for event, cells in ((targets.get(id, wanted), cells) for id, cells in picked.items())
            for cell in dict.fromkeys(cells)
        ]
        return {"action": "add_to_scratchpad", "items": items[:MOST_ITEMS]}

    def _closer_look(self, call: StepCall, cells: list[int]) -> dict[str, Any] | None:
        """Read text at full size, and look beside an anchor, once, before keeping it."""
        done = {type(action).__name__ for action in call.actions}
        middle, legal = cells[len(cells) // 2], call.observation.legal
        if call.question.category == "OCR" and "Zoom" not in done:
            return {"thought": "I need to read this.", "action": {"action": "zoom", "cell": middle}}
        side = "before" if "right before" in call.question.text else "after"
        beside = legal.investigate_before if side == "before" else legal.investigate_after
        if call.question.category == "O3O" and "Investigate" not in done and middle in beside:
            action = {"action": "investigate", "direction": side, "cell": middle}
            return {"thought": f"What comes {side} this?", "action": action}
        return None

    def _review(self, call: ReviewCall) -> dict[str, Any]:
        pad, targets = call.sheet.scratchpad, self._targets(call.question)
        missing = self._missing(call.question, pad)
        supporting = [item.label for item in pad if any(_holds(event, item.timestamp_s) for event in targets)]
        believed = [event for event in missing if self._draw(call.question, "review", event.id) < self.confuse]
        suffices, named = len(believed) == len(missing), (supporting or list(pad.labels))[:MOST_CITED]
        answer: dict[str, Any] = {
            "reasoning": f"{len(missing)} of {len(targets)} wanted events are still to be found.",
            "erase": [] if self.confuse else [label for label in pad.labels if label not in supporting][:MOST_ITEMS],
        }
        if call.question.choices:
            choice = self._answered(call.question, self._found(call.question, pad))
            answer["choices"] = [
                {"choice": other, "supporting": [], "contradicting": named, "sufficient": False}
                if other != choice
                else {"choice": choice, "supporting": named, "contradicting": [], "sufficient": suffices}
                for other in range(len(call.question.choices))
            ]
        return {**answer, "conclusion": self._conclude(call, suffices, named, missing)}

    def _conclude(
        self, call: ReviewCall, suffices: bool, supporting: list[str], missing: list[WorldEvent]
    ) -> dict[str, Any]:
        if suffices:
            looked = "A frame of another object at the time of one that is wanted."
            return {"action": "final_decision", "looked_for_to_contradict": looked, "supporting": supporting}
        go_on: dict[str, Any] = {"action": "continue", "intervals": self._between(call, missing)}
        if call.open_cells:
            cells = [call.observation.view.cells[index] for index in call.open_cells]
            go_on["explore"] = self._worthwhile(call.question, cells, missing)[:MOST_ITEMS]
        return go_on

    def _worthwhile(self, question: Question, cells: Iterable[Cell], missing: list[WorldEvent]) -> list[int]:
        """Return the cells in which something wanted lies, as this oracle sees it."""
        return [c.index for c in cells if any(_share(e, c) and not self._misses(question, e, c) for e in missing)]

    def _between(self, call: ReviewCall, missing: list[WorldEvent]) -> list[dict[str, float]]:
        """Return the gaps in the evidence, shorter than a cell, in which something wanted lies."""
        within_s = call.observation.view.grid.resolution_s
        return [
            {"start_s": gap.start_s, "end_s": gap.end_s}
            for gap in call.gaps
            if gap.end_s - gap.start_s <= within_s
            and any(gap.start_s < event.end_s and event.start_s < gap.end_s for event in missing)
        ][:MOST_INTERVALS]

    def _decide(self, call: DecisionCall) -> dict[str, Any]:
        return self._verdict(call.question, self._found(call.question, call.sheet.scratchpad))

    def _found(self, question: Question, pad: Scratchpad) -> dict[str, list[Any]]:
        """Return the labels of the frames that show each wanted event, in order of time."""
        events = sorted(self._targets(question), key=lambda event: event.start_s)
        found = {event.id: [item.label for item in pad if _holds(event, item.timestamp_s)] for event in events}
        return {id: labels for id, labels in found.items() if labels}

    def _glance(self, call: GlanceCall) -> dict[str, Any]:
        view, cells = call.observation.view, call.observation.legal.add
        shown = self._shown(call.question, view, cells, self._targets(call.question))
        return self._verdict(call.question, {id: cells[:8] for id, cells in shown.items()}, bool(cells))

    def _look_over(self, call: FramesCall) -> dict[str, Any]:
        found: dict[str, list[int]] = {}
        for view in call.views:
            found |= self._shown(call.question, view, range(view.grid.size), self._targets(call.question))
        return self._verdict(call.question, found, can_cite=False)

    def _caption(self, call: CaptionCall) -> dict[str, Any]:
        """Tell what the frames show, without knowing what will be asked."""
        grid, moments = call.view.grid, call.view.moments
        seen = {event.id: event for moment in moments if (event := self.world.script.event_at(moment))}
        told = [
            f"{_told(event)}."
            for event in seen.values()
            if self._draw(None, "miss", event.id, grid.start_s, grid.end_s) >= self.miss
        ]
        return {"caption": " ".join(told)[:LONGEST_TEXT] or "Nothing but scenery."}

    def _read(self, call: TextCall) -> dict[str, Any]:
        """Answer from what captions and honest subtitles say of the wanted events."""
        said = {line.event for line in self.world.script.lines if line.text in call.text and not line.misleading}
        targets = self._targets(call.question)
        found = {e.id: list[Any]() for e in targets if _told(e) in call.text or e.id in said}
        return self._verdict(call.question, found, can_cite=False)

    def _verdict(self, question: Question, found: Mapping[str, list[Any]], can_cite: bool = True) -> dict[str, Any]:
        """Answer, citing the frames of the events that were found, if there are frames to cite."""
        cited = [frame for frames in found.values() for frame in frames][:MOST_CITED]
        reasoning = f"{len(found)} of {len(self._targets(question))} wanted events are in the evidence."
        answer = self._answered(question, found)
        supporting = {"supporting": cited} if can_cite else {}
        if isinstance(answer, tuple):
            return {"reasoning": reasoning, **supporting, "start_s": answer[0], "end_s": answer[1]}
        if question.kind != "choice":
            return {"reasoning": reasoning, **supporting, "answer": answer}
        contradicting = {"contradicting": list[Any]()} if can_cite else {}
        weighed = [{"choice": answer, **supporting, **contradicting}]
        return {"reasoning": reasoning, "weighed": weighed, "answer": answer}

    def _answered(self, question: Question, found: Mapping[str, Any]) -> Answered:
        """Answer from the events that were found: the truth if they settle it, else what they tell, or a guess."""
        truth, targets = self._truth(question), self._targets(question)
        names = [event.name for event in sorted(targets, key=lambda event: event.start_s) if event.id in found]
        is_right = self._draw(question, "decide") >= self.confuse
        if question.kind == "summary":
            return summary_of(names if is_right else reversed(names)) if names else "Nothing appears."
        if is_right and truth.category in COUNTS:
            return self._one_of(question, str(len(found))) if question.choices else len(found)
        if is_right and targets[0].id in found:
            return self._right(question, truth)
        if truth.category == "SSS" and names and question.choices:
            return next(i for i, choice in enumerate(question.choices) if choice.endswith(names[0]))
        return self._guess(question)

    def _right(self, question: Question, truth: Question) -> Answered:
        """Return the true answer in the form in which it is asked for, with other choices, or without."""
        if truth.kind == "choice" and question.kind != "choice":
            truth = truth.without_choices()
        assert truth.answer is not None
        return question.choices.index(truth.in_words(truth.answer)) if question.choices else truth.answer

    def _guess(self, question: Question) -> Answered:
        """Return an answer drawn from the seed."""
        draw = self._draw(question, "guess")
        if question.kind == "when":
            start_s = draw * self.world.script.duration_s * 0.9
            return start_s, start_s + 2.0
        if question.kind == "choice":
            return int(draw * len(question.choices))
        return int(draw * 5) if question.kind == "count" else "I cannot tell."

    def _one_of(self, question: Question, words: str) -> Answered:
        """Return the choice of these words, a guess where there is none."""
        return question.choices.index(words) if words in question.choices else self._guess(question)

    def _shown(
        self,
        question: Question,
        view: View,
        cells: Iterable[int],
        missing: list[WorldEvent],
        kept: Scratchpad = Scratchpad(),
    ) -> dict[str, list[int]]:
        """Return the events that the frames of these cells show and this oracle takes for wanted ones, and their cells.

        One that was mistaken for a wanted one before, and kept, is not looked at again.
        """
        shown: dict[str, list[int]] = {}
        grid, moments, targets = view.grid, view.moments, self._targets(question)
        for cell in cells:
            event = self.world.script.event_at(moments[cell])
            if event is None or not missing or any(_holds(event, item.timestamp_s) for item in kept):
                continue
            mistaken = event not in targets
            draw = self._draw(question, "confuse" if mistaken else "miss", event.id, grid.start_s, grid.end_s)
            if (mistaken and draw < self.confuse) or (event in missing and draw >= self.miss):
                shown.setdefault(event.id, []).append(cell)
        return shown

    def _misses(self, question: Question, event: WorldEvent, cell: Cell) -> bool:
        return self._draw(question, "miss region", event.id, cell.start_s, cell.end_s) < self.miss

    def _missing(self, question: Question, pad: Scratchpad) -> list[WorldEvent]:
        """Return the wanted events that no frame in the scratchpad shows."""
        return [e for e in self._targets(question) if not any(_holds(e, item.timestamp_s) for item in pad)]

    def _targets(self, question: Question) -> list[WorldEvent]:
        return self.world.targets(self._truth(question))

    def _truth(self, question: Question) -> Question:
        return self.world.question(question.text)

    def _draw(self, question: Question | None, *what: Any) -> float:
        """Return a number in [0, 1) that depends on the seed and on what is decided, and on nothing else."""
        text = canonical_json([self.seed, self.world.name, question.text if question else None, *what])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def _told(event: WorldEvent) -> str:
    return f"{event.name} is on screen ({event.id})"


def _share(event: WorldEvent, cell: Cell) -> float:
    """Return the part of an event that lies in a cell, in [0, 1]."""
    overlap = min(event.end_s, cell.end_s) - max(event.start_s, cell.start_s)
    return max(0.0, overlap) / (event.end_s - event.start_s)


def _lies_in(event: WorldEvent, cells: Iterable[Cell]) -> bool:
    return any(_share(event, cell) for cell in cells)


def _holds(event: WorldEvent, time_s: float) -> bool:
    return event.start_s <= time_s < event.end_s


def estimated_usage(request: Request, text: str) -> Usage:
    """Return what the call would cost a model of the usual kind: 4 characters or 32×32 pixels a token."""
    characters, pixels = 0, 0
    for part in (part for message in request.messages for part in message.parts):
        if isinstance(part, str):
            characters += len(part)
        else:
            pixels += part.size[0] * part.size[1]
    images = pixels // PIXELS_A_TOKEN
    return Usage(
        calls=1,
        prompt_tokens=characters // CHARACTERS_A_TOKEN + images,
        image_tokens=images,
        completion_tokens=max(1, len(text) // CHARACTERS_A_TOKEN),
        estimated=True,
    )
