"""What the walkthrough shows beside the steps: answer, choices, evidence with links, regions.

The values are plain JSON; text in them is one line, and only shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from atlaskit.environment.grid import clock
from atlaskit.environment.memory import Evidence
from atlaskit.runs.coverage import coverage_of
from atlaskit.runs.events import Look, Plan
from atlaskit.runs.result import rests_on
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.walk.findings import FindingSteps
from atlaskit.viz.walk.pictures import Pictures
from atlaskit.viz.walk.regions import regions
from atlaskit.viz.walk.schedule import places
from atlaskit.viz.walk.settings import setting_rows
from atlaskit.viz.walk.source import RunSource
from atlaskit.viz.walk.steps import MAX_STEPS
from atlaskit.viz.walk.truth import moments_of, truth_rows

MAX_EVIDENCE = 400
"""Most evidence frames in the list."""


def summarize(run: RunSource, found: Pictures, max_steps: int = MAX_STEPS) -> dict[str, Any]:
    """Return the summary of a run; `count` is the number of its events that are shown as steps."""
    count = min(len(run.trace), max_steps)
    omitted = len(run.trace) - count
    findings = FindingSteps(run.trace)
    evidence = sorted(run.evidence, key=lambda item: item.timestamp_s)
    truth = truth_rows(run, findings)
    notes = [plain_text(f"Images are missing: {found.problem}", 600)] if found.problem else []
    if "caution" in run.settings:
        notes.insert(0, plain_text(str(run.settings["caution"]), 600))
    if run.within is not None and run.trace.of(Plan):
        notes.append(f"Seen: {coverage_of(run.trace, run.within, dict(run.settings))}.")
    if omitted:
        notes.append(f"The last {omitted:,} events are not shown.")
    if run.answer is not None and not run.evidence:
        notes.append(f"Evidence: {rests_on(run.settings.get('method'))}.")
    if len(evidence) > MAX_EVIDENCE:
        notes.append(f"The last {len(evidence) - MAX_EVIDENCE:,} frames of evidence are not listed.")
    return {
        "count": count,
        "name": plain_text(_name(run.settings), 200),
        "question": plain_text("" if run.question is None else run.question.text, 2_000),
        "answer": plain_text(run.answer_line, 2_000),
        "notes": notes,
        "evidence": [_link(item, findings.of(item.timestamp_s), count) for item in evidence[:MAX_EVIDENCE]],
        "moments": [list(moment) for moment in moments_of(run)],
        "found": [(text, step if step is not None and step < count else None) for text, step in truth],
        "settings": setting_rows(run.settings),
        "k": run.k,
        "within": None if run.within is None else list(run.within),
        "scope": f"whole {run.scope}",
        "end": max(islice(places(run.trace), count), default=0) + 1,
        "regions": regions(run),
        "looks": bool(run.trace.of(Look)),
        "map": found.map,
        "sheet": found.sheet,
    }


def _name(settings: Mapping[str, Any]) -> str:
    """Return the method and model of a run, and the model's parameters."""
    parts = [str(settings[name]) for name in ("method", "model") if settings.get(name)]
    parameters = settings.get("parameters")
    parts += [f"{name} {value}" for name, value in parameters.items()] if isinstance(parameters, dict) else []
    return " · ".join(parts) or "unknown method"


def _link(item: Evidence, step: int | None, count: int) -> tuple[str, int | None]:
    """Return a line of text for an item of evidence, and the step that found it if it is shown."""
    text = plain_text(f"[{item.label}] {clock(item.timestamp_s)} {item.description}", 160)
    return text, step if step is not None and step < count else None
