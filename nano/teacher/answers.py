"""The teacher's replies to each kind of call: a probe, a step, a review and a decision.

Each function returns the JSON object that the call's schema asks for.
"""

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
    """Return an answer as JSON; times have two decimals as in prompts, so nano can copy them."""
    return _TIME_RE.sub(lambda match: f"{match[1]}{float(match[2]):.2f}", answer.model_dump_json())


def answer_probe(scan: Scan, top: int) -> dict[str, Any]:
    """Return the `top` best cells to search: hits before candidates, later cells before earlier.

    Later cells come first because each sign in the thought links to the previous one. The list is
    empty if no cell stands out.
    """
    ranked = [{"cell": cell, "score": 0.9} for cell in reversed(scan.hits)]
    ranked += [{"cell": cell, "score": 0.6} for cell in reversed(scan.candidates)]
    return {"reasoning": scan.thought, "top": ranked[:top]}


def choose_action(
    scan: Scan, contents: Sequence[CellContent | None], legal: LegalSet, is_new_view: bool
) -> dict[str, Any]:
    """Return the action that follows from a scan.

    In a new view, the teacher first adds the hits to the scratchpad. Then it expands the candidates
    one by one, later cells first, and leaves the view when no candidate is left.
    """
    hits = [cell for cell in reversed(scan.hits) if cell in legal["add_to_scratchpad"]]
    if is_new_view and hits:
        shown = [(cell, contents[cell]) for cell in hits[:MOST_ITEMS]]
        items = [
            {"cell": cell, "description": describe(content), "confidence": 0.9}
            for cell, content in shown
            if content is not None
        ]
        return {"action": "add_to_scratchpad", "items": items}
    candidates = [cell for cell in reversed(scan.candidates) if cell in legal["expand"]]
    if candidates:
        return {"action": "expand", "cell": candidates[0]}
    return {"action": "backtrack" if "backtrack" in legal else "finished"}


def answer_review(
    question: Question, goal: Goal, evidence: Sequence[Evidence], open_cells: Sequence[int]
) -> dict[str, Any]:
    """Return the review: a judgement of each choice, and whether to continue the search."""
    judgement = judge_evidence(goal, question, evidence)
    review: dict[str, Any] = {"reasoning": judgement.reasoning, "erase": []}
    if question.choices:
        review["choices"] = []
        for choice in range(len(question.choices)):
            is_answer = choice == judgement.choice
            review["choices"].append(
                {
                    "choice": choice,
                    "supporting": judgement.supporting if is_answer else [],
                    "contradicting": [],
                    "sufficient": judgement.suffices and is_answer,
                }
            )
    if judgement.suffices:
        review["conclusion"] = {
            "action": "final_decision",
            "looked_for_to_contradict": "Another.",
            "supporting": judgement.supporting,
        }
    else:
        review["conclusion"] = {"action": "continue", "intervals": []}
        if open_cells:  # without open cells, the schema has no field `explore`
            review["conclusion"]["explore"] = []
    return review


def answer_decision(
    question: Question,
    goal: Goal,
    evidence: Sequence[Evidence],
    *,
    labelled: bool,
    by_cell: bool = False,
) -> dict[str, Any]:
    """Return the answer to the question that the evidence supports.

    Args:
        question: The question to answer.
        goal: What the question looks for.
        evidence: The evidence, in the order in which it was found.
        labelled: Whether the schema asks for the labels of the supporting evidence.
        by_cell: Whether these labels are the numbers of cells, which the schema wants as integers.
    """
    judgement = judge_evidence(goal, question, evidence)
    supporting: list[Any] = list(judgement.supporting)
    if by_cell:
        supporting = [int(label) for label in supporting]
    decision: dict[str, Any] = {"reasoning": judgement.reasoning}
    if question.kind == "choice":
        choice = judgement.choice or 0
        weighed: dict[str, Any] = {"choice": choice}
        if labelled:
            weighed |= {"supporting": supporting, "contradicting": []}
        return {**decision, "weighed": [weighed], "answer": choice}
    if labelled:
        decision["supporting"] = supporting
    if question.kind == "when":
        start_s, end_s = judgement.span_s or (0.0, 1.0)
        interval = {"start_s": round(start_s, 2), "end_s": round(end_s, 2)}
        return {**decision, "intervals": [interval]} if question.several else decision | interval
    if question.kind == "count":
        return {**decision, "answer": NUMBERS.index(judgement.answer or "zero")}
    return {**decision, "answer": judgement.answer or "Nothing."}
