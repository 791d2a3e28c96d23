"""The teacher: answers the calls of a search with perfect eyes, and by what is shown alone.

Unlike the oracle, which knows where everything is, it knows no more than the frames of the cells before it, the words
of the prompt, and what kind of films these are. So all that it does can be learnt by looking. It thinks before it acts:
its thought goes over the cells one by one, and the action follows from the thought.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Unpack

from pydantic import BaseModel

from atlaskit.agents.prompts import DecisionCall, GlanceCall, ProbeCall, ReviewCall, StepCall, TaskCall
from atlaskit.agents.schemas import MOST_ITEMS
from atlaskit.agents.verbalize import listed_lines
from atlaskit.benchmarks.atlasworld.generator import LONGEST_S
from atlaskit.benchmarks.atlasworld.oracle import estimated_usage
from atlaskit.benchmarks.atlasworld.timeline import Script
from atlaskit.environment.atlas import Observation
from atlaskit.environment.mdp import LegalSet
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question
from atlaskit.models.presets import NANO
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.nano.teacher.goal import Goal, goal_of, texts_by_cell, told
from atlaskit.nano.teacher.judge_evidence import NUMBERS, weigh
from atlaskit.nano.teacher.labels import CellContent, sight_at
from atlaskit.nano.teacher.scan import Scan, scan_view

SETTINGS = asdict(NANO)
"""Of `ask`: what the teacher is used to, and with it nano."""

_TIME = re.compile(r'("(?:start_s|end_s)":)([\d.e+-]+)')


class Expert:
    """Answers every call about the worlds of one script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.name = f"expert:{script.name}"
        self.parameters: Mapping[str, Any] = {"version": 2}

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request."""
        valid = request.schema.model_validate(self.answer(request.facts))
        text = spelt(valid)
        return Reply(valid, text, estimated_usage(request, text))

    def answer(self, call: Any) -> dict[str, Any]:
        """Answer a call, as the JSON object that its schema asks for."""
        quest = goal_of(call.question.text)
        assert quest is not None, call.question.text
        match call:
            case TaskCall():
                return {"search_task": quest.task, **({"traversal": "dfs"} if call.chooses_traversal else {})}
            case ProbeCall():
                return self._probe(call, quest)
            case StepCall():
                return self._step(call, quest)
            case ReviewCall():
                return review(call.question, quest, list(call.sheet.scratchpad), call.open_cells)
            case DecisionCall():
                return decide(call.question, quest, list(call.sheet.scratchpad), labelled=True)
            case GlanceCall():
                return self._glance(call, quest)
        raise AssertionError(call)

    def sights(self, seen: Observation) -> list[CellContent | None]:
        """Return what each cell of a view shows; None for a black one."""
        view = seen.view
        return [
            None if index in view.dead else sight_at(self.script, moment) for index, moment in enumerate(view.moments)
        ]

    def scan(self, quest: Goal, seen: Observation, opened: Collection[int] = (), *, lists: bool = False) -> Scan:
        """Go over the cells of a view, with what is said in them."""
        said = texts_by_cell(listed_lines(seen))
        is_long, cell_s = self.script.duration_s > LONGEST_S, seen.view.grid.resolution_s
        return scan_view(quest, self.sights(seen), said, cell_s=cell_s, is_long=is_long, opened=opened, lists=lists)

    def _probe(self, call: ProbeCall, quest: Goal) -> dict[str, Any]:
        return probe(self.scan(quest, call.observation, call.closed, lists=True), call.top)

    def _step(self, call: StepCall, quest: Goal) -> dict[str, Any]:
        seen = call.observation
        first = len(call.conversation) <= 2  # the view is new; otherwise it was gone over already
        swept = self.scan(quest, seen, call.opened)
        action = act(swept, self.sights(seen), seen.legal, first)
        return {"thought": swept.thought if first else "Go on.", "action": action}

    def _glance(self, call: GlanceCall, quest: Goal) -> dict[str, Any]:
        sights, cells = self.sights(call.observation), call.observation.view.cells
        found = [
            Evidence(cell.midpoint_s, cell.start_s, cell.end_s, told(sight), 0.5, label=str(cell.index))
            for cell, sight in zip(cells, sights, strict=True)
            if sight is not None and quest.wants(sight) and cell.index in call.observation.legal.add
        ]
        return decide(call.question, quest, found, labelled=bool(call.observation.legal.add), by_cell=True)


def spelt(answer: BaseModel) -> str:
    """Spell an answer as JSON, its times with two decimals each, as prompts have them: so they can be copied."""
    return _TIME.sub(lambda found: f"{found[1]}{float(found[2]):.2f}", answer.model_dump_json())


def probe(swept: Scan, top: int) -> dict[str, Any]:
    """Return the cells to search that follow from a sweep of those that are open: best first, and of two that are as
    good the later, since from there a link leads to the other; none where nothing stands out."""
    found = [(cell, 0.9) for cell in reversed(swept.keep)] + [(cell, 0.6) for cell in reversed(swept.near)]
    return {"reasoning": swept.thought, "top": [{"cell": cell, "score": score} for cell, score in found[:top]]}


def act(swept: Scan, sights: Sequence[CellContent | None], legal: LegalSet, first: bool) -> dict[str, Any]:
    """Return the action that follows from a sweep, the last first: keep what is wanted, in a view that is new; then
    open the cells where it may lie, one after another."""
    keep = [cell for cell in reversed(swept.keep) if cell in legal.add]
    if first and keep:
        items = [
            {"cell": cell, "description": told(sight), "confidence": 0.9}
            for cell in keep[:MOST_ITEMS]
            if (sight := sights[cell]) is not None
        ]
        return {"action": "add_to_scratchpad", "items": items}
    near = [cell for cell in reversed(swept.near) if cell in legal.expand]
    if near:
        return {"action": "expand", "cell": near[0]}
    return {"action": "backtrack" if legal.backtrack else "finished"}


def review(question: Question, quest: Goal, found: Sequence[Evidence], open_cells: Sequence[int]) -> dict[str, Any]:
    """Return the answer to a review of some evidence."""
    weighed = weigh(quest, question, found)
    answer: dict[str, Any] = {"reasoning": weighed.told, "erase": []}
    if question.choices:
        answer["choices"] = [
            {
                "choice": other,
                "supporting": weighed.proof if other == weighed.choice else [],
                "contradicting": [],
                "sufficient": weighed.suffices and other == weighed.choice,
            }
            for other in range(len(question.choices))
        ]
    if weighed.suffices:
        conclusion: dict[str, Any] = {
            "action": "final_decision",
            "looked_for_to_contradict": "Another.",
            "supporting": weighed.proof,
        }
    else:
        conclusion = {"action": "continue", **({"explore": []} if open_cells else {}), "intervals": []}
    return {**answer, "conclusion": conclusion}


def decide(
    question: Question, quest: Goal, found: Sequence[Evidence], *, labelled: bool, by_cell: bool = False
) -> dict[str, Any]:
    """Return the final answer by some evidence, which is cited by its labels, or by the cells that these are."""
    weighed = weigh(quest, question, found)
    told, words = weighed.told, weighed.words
    proof: list[Any] = [int(label) for label in weighed.proof] if by_cell else list(weighed.proof)
    cited = {"supporting": proof} if labelled else {}
    if question.kind == "choice":
        choice = weighed.choice or 0
        judged = [{"choice": choice, **({"supporting": proof, "contradicting": []} if labelled else {})}]
        return {"reasoning": told, "weighed": judged, "answer": choice}
    if question.kind == "when":
        start_s, end_s = weighed.span_s or (0.0, 1.0)
        return {"reasoning": told, **cited, "start_s": round(start_s, 2), "end_s": round(end_s, 2)}
    answer: Any = NUMBERS.index(words or "zero") if question.kind == "count" else (words or "Nothing.")
    return {"reasoning": told, **cited, "answer": answer}
