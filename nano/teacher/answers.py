"""The teacher's JSON replies: scores of a probe, action of a step, review, decision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from atlaskit.environment.mdp import LegalSet
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question
from atlasworld.nano.schemas import MOST_ITEMS
from nano.teacher.goal import Goal, describe
from nano.teacher.judge_evidence import NUMBERS, judge_evidence
from nano.teacher.labels import CellContent
from nano.teacher.scan import Scan

_TIME_RE = re.compile(r'("(?:start_s|end_s)":)([\d.e+-]+)')


def to_json(answer: BaseModel) -> str:
    """Return an answer as JSON, with times as prompts write them, so that nano can copy them."""
    return _TIME_RE.sub(lambda match: f"{match[1]}{float(match[2]):.2f}", answer.model_dump_json())


def answer_probe(scan: Scan, top: int) -> dict[str, Any]:
    """Return the `top` best cells to search: hits first, later cells before earlier ones.

    Later cells come first because each sign in the thought links to the one before it. The list is
    empty if no cell stands out.
    """
    cells = [(cell, 0.9) for cell in reversed(scan.hits)] + [
        (cell, 0.6) for cell in reversed(scan.candidates)
    ]
    return {
        "reasoning": scan.thought,
        "top": [{"cell": cell, "score": score} for cell, score in cells[:top]],
    }


def choose_action(
    scan: Scan, contents: Sequence[CellContent | None], legal: LegalSet, is_new_view: bool
) -> dict[str, Any]:
    """Return the action that follows from a scan.

    In a new view the teacher first adds the hits to the scratchpad. Then it expands the candidates
    one by one, later cells first, and leaves the view when none is left.
    """
    hits = [cell for cell in reversed(scan.hits) if cell in legal["add_to_scratchpad"]]
    if is_new_view and hits:
        items = [
            {"cell": cell, "description": describe(content), "confidence": 0.9}
            for cell in hits[:MOST_ITEMS]
            if (content := contents[cell]) is not None
        ]
        return {"action": "add_to_scratchpad", "items": items}
    candidates = [cell for cell in reversed(scan.candidates) if cell in legal["expand"]]
    if candidates:
        return {"action": "expand", "cell": candidates[0]}
    return {"action": "backtrack" if "backtrack" in legal else "finished"}


def answer_review(
    question: Question, goal: Goal, evidence: Sequence[Evidence], open_cells: Sequence[int]
) -> dict[str, Any]:
    """Return the review: a judgement of each choice, and whether to continue."""
    judgement = judge_evidence(goal, question, evidence)
    answer: dict[str, Any] = {"reasoning": judgement.reasoning, "erase": []}
    if question.choices:
        answer["choices"] = [
            {
                "choice": choice,
                "supporting": judgement.supporting if choice == judgement.choice else [],
                "contradicting": [],
                "sufficient": judgement.suffices and choice == judgement.choice,
            }
            for choice in range(len(question.choices))
        ]
    if judgement.suffices:
        conclusion: dict[str, Any] = {
            "action": "final_decision",
            "looked_for_to_contradict": "Another.",
            "supporting": judgement.supporting,
        }
    else:
        conclusion = {
            "action": "continue",
            **({"explore": []} if open_cells else {}),
            "intervals": [],
        }
    return {**answer, "conclusion": conclusion}


def answer_decision(
    question: Question,
    goal: Goal,
    evidence: Sequence[Evidence],
    *,
    labelled: bool,
    by_cell: bool = False,
) -> dict[str, Any]:
    """Return the answer to the question by the evidence.

    Args:
        question: The question to answer.
        goal: What the question looks for.
        evidence: The evidence, in the order in which it was found.
        labelled: Whether the schema asks for the labels of the supporting evidence.
        by_cell: Whether these labels are cells, which the answer names by number.
    """
    judgement = judge_evidence(goal, question, evidence)
    reasoning, words = judgement.reasoning, judgement.answer
    supporting: list[Any] = (
        [int(label) for label in judgement.supporting] if by_cell else list(judgement.supporting)
    )
    cited = {"supporting": supporting} if labelled else {}
    if question.kind == "choice":
        choice = judgement.choice or 0
        weighed = [
            {
                "choice": choice,
                **({"supporting": supporting, "contradicting": []} if labelled else {}),
            }
        ]
        return {"reasoning": reasoning, "weighed": weighed, "answer": choice}
    if question.kind == "when":
        start_s, end_s = judgement.span_s or (0.0, 1.0)
        interval = {"start_s": round(start_s, 2), "end_s": round(end_s, 2)}
        return {
            "reasoning": reasoning,
            **cited,
            **({"intervals": [interval]} if question.several else interval),
        }
    answer: Any = (
        NUMBERS.index(words or "zero") if question.kind == "count" else (words or "Nothing.")
    )
    return {"reasoning": reasoning, **cited, "answer": answer}
