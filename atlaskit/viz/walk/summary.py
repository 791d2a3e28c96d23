"""What is told of a run beside its steps: the answer, the evidence with the steps that found it, the regions visited.

All of it is plain JSON values, and text that is only shown.
"""

from __future__ import annotations

from typing import Any

from atlaskit.environment.memory import Evidence
from atlaskit.environment.notation import clock
from atlaskit.runs.result import verdict
from atlaskit.viz.html.markup import told
from atlaskit.viz.walk.regions import regions
from atlaskit.viz.walk.source import RunSource, start_of
from atlaskit.viz.walk.steps import MOST_STEPS, FindingSteps

MOST_EVIDENCE = 400


def head(run: RunSource, most_steps: int = MOST_STEPS) -> dict[str, Any]:
    """Return what is told of a run; `count` says how many of its events are steps to walk through."""
    count = min(len(run.trace), most_steps)
    left_out = len(run.trace) - count
    finders = FindingSteps(run.trace)
    notes = [f"The last {left_out:,} events are not shown."] if left_out else []
    if len(run.evidence) > MOST_EVIDENCE:
        notes.append(f"The last {len(run.evidence) - MOST_EVIDENCE:,} frames of evidence are not listed.")
    return {
        "count": count,
        "name": told(_name(run), 200),
        "question": told("" if run.question is None else run.question.text, 2_000),
        "answer": told(_answer(run), 2_000),
        "notes": notes,
        "evidence": [_found(item, finders.of(item.timestamp_s), count) for item in run.evidence[:MOST_EVIDENCE]],
        "regions": regions(run),
    }


def _name(run: RunSource) -> str:
    """Return by what a run was made: its method, its model, and what that was given."""
    start = start_of(run.trace)
    settings = {} if start is None else start.settings
    said = [str(settings[name]) for name in ("method", "model") if settings.get(name)]
    given = settings.get("parameters")
    said += [f"{name} {value}" for name, value in given.items()] if isinstance(given, dict) else []
    return " · ".join(said) or "of an unknown method"


def _answer(run: RunSource) -> str:
    stopped = f"; stopped by: {run.stop}" if run.stop else ""
    if run.answer is None:
        return f"No answer could be had{stopped}."
    return f"Answer: {run.answer}{verdict(run.is_right)}{stopped}"


def _found(item: Evidence, place: int | None, count: int) -> tuple[str, int | None]:
    """Return an item of evidence in words, and the step that found it, if that is among those that are shown."""
    words = told(f"[{item.label}] {clock(item.timestamp_s)} {item.description}", 160)
    return words, place if place is not None and place < count else None
