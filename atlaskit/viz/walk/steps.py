"""Each event as a step of the walkthrough in plain JSON: request, reply, memory, cost.

The values are plain JSON. Text in them is one line (`html.markup.plain_text`) and only shown; the
rest is what steps are filtered by: agent, action, region, and evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from atlaskit.runs.events import (
    AssignData,
    CaptionData,
    CiteData,
    DecisionData,
    Event,
    EventData,
    ReopenData,
    ReportData,
    ReviewData,
    StepData,
    StopData,
    TaskData,
    TurnData,
    UsageData,
)
from atlaskit.viz.html.event_summaries import event_summary
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.html.phrases import counted
from atlaskit.viz.walk.details import (
    EVENT_TITLES,
    MAX_ROWS,
    Row,
    ending_rows,
    memory_changes,
    memory_totals,
    reply_rows,
    request_text,
)
from atlaskit.viz.walk.findings import FindingSteps
from atlaskit.viz.walk.lateness import older_than
from atlaskit.viz.walk.phrasing import action_text, action_verb, labels_cited_by
from atlaskit.viz.walk.regions import path_of
from atlaskit.viz.walk.schedule import schedule
from atlaskit.viz.walk.source import RunSource, data_or_none

MAX_STEPS = 2_000
MAX_CHARS, MIN_CHARS, TOTAL_CHARS = 4_000, 200, 400_000
"""Characters of one text at most and at least, and of all steps, which share them."""
FEW_ROWS = 4
"""A step with more rows has shorter ones, so that its size stays bounded."""

FINDS, CHANGES_EVIDENCE, ADDS_DEAD_ZONE = "finds evidence", "changes the evidence (M+)", "rules out time (M−)"
"""What a step can do to the memory, as a filter names it."""
MAX_SPANS = 512
"""Most intervals of one kind that a step hands to the map."""


def steps(run: RunSource, max_steps: int = MAX_STEPS) -> Iterator[dict[str, Any]]:
    """Yield the first `max_steps` events of a run as steps, each a dictionary of plain JSON."""
    trace = run.trace
    max_chars = max(MIN_CHARS, min(MAX_CHARS, TOTAL_CHARS // max(1, len(trace))))
    findings, totals = FindingSteps(trace), memory_totals(run)
    task, times, older = _search_task(run), schedule(run).times, older_than(run)
    for index, (event, (start, end)) in enumerate(zip(trace.events[:max_steps], times, strict=False)):
        data = data_or_none(event)
        title = plain_text(EVENT_TITLES.get(event.kind, event.kind), 80)
        ending = ending_rows(run) if isinstance(data, StopData) else []
        yield {
            "round": event.round,
            "who": _agent(event),
            **_action(data, title),
            "path": path_of(data),
            "time": [round(start, 3), round(end, 3)],
            "tokens": _tokens(data),
            "spans": _rounded(_spans(data)),
            "older": older.get(index, ""),
            "change": _change(data),
            "touches": _memory_tags(data, findings),
            "asked": plain_text(request_text(data, task), max_chars),
            "said": _bounded(
                [*ending, ("summary", event_summary(event), None), *reply_rows(data, run.question)], max_chars
            ),
            "memory": _bounded([*memory_changes(data, findings), *next(totals, ())], max_chars),
            "cost": _cost(data),
        }


def _action(data: EventData | None, title: str) -> dict[str, str]:
    """Return what happens in a step in words, and the name and words that a filter has for it."""
    if not isinstance(data, StepData):
        return {"what": title, "does": title, "verb": title}
    action = data.action
    return {"what": action_text(action), "does": action.name, "verb": f"{action_verb(action.name)} ({action.name})"}


def _spans(data: EventData | None) -> Sequence[Sequence[float]]:
    """Return the intervals of the video that an event is about, in seconds."""
    match data:
        case StepData() | ReportData() | CiteData() | CaptionData():
            return [data.interval_s]
        case TurnData(intervals_s=spans):
            return spans
        case AssignData(sorties=assignments):
            return [each.interval_s for each in assignments]
    return []


def _change(data: EventData | None) -> dict[str, Any]:
    """Return what an event changes on the map: evidence, dead zones, and who is sent where."""
    change: dict[str, Any] = {}
    if isinstance(data, ReportData | CiteData):
        added = data.kept if isinstance(data, ReportData) else data.found
        change["add"] = [(plain_text(item.label, 8), round(item.timestamp_s, 3)) for item in added[:MAX_SPANS]]
    if isinstance(data, ReviewData):
        change["erase"] = [plain_text(label, 8) for label in data.erased]
    if isinstance(data, ReportData | ReviewData):
        change["dead"] = _rounded(data.dead_s)
    if isinstance(data, ReopenData):
        change["stays"] = _rounded(data.dead_zones_s)
    if isinstance(data, AssignData):
        change["sent"] = [
            (*_rounded([each.interval_s])[0], str(number)) for number, each in enumerate(data.sorties[:MAX_SPANS])
        ]
    return {name: value for name, value in change.items() if value or name == "stays"}


def _rounded(spans: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    return [(round(start_s, 3), round(end_s, 3)) for start_s, end_s in spans[:MAX_SPANS]]


def _tokens(data: EventData | None) -> int:
    usage = getattr(data, "usage", None)
    return usage.prompt_tokens + usage.completion_tokens if isinstance(usage, UsageData) else 0


def _search_task(run: RunSource) -> str:
    """Return the search task of a run; the question where the Master set none."""
    question = "" if run.question is None else run.question.text
    tasks = map(data_or_none, run.trace.of("task"))
    return next((data.search_task for data in tasks if isinstance(data, TaskData)), question)


def _memory_tags(data: EventData | None, findings: FindingSteps) -> list[str]:
    """Return the changes of memory, by name, and the evidence that an event is about, by label."""
    found = data.found if isinstance(data, StepData | CiteData) else []
    added = data.kept if isinstance(data, ReportData) else []
    erased = data.erased if isinstance(data, ReviewData) else []
    changes = {
        FINDS: found,
        CHANGES_EVIDENCE: added or erased or isinstance(data, CiteData),
        ADDS_DEAD_ZONE: isinstance(data, ReportData | ReviewData) and data.dead_s,
    }
    labels = [label for item in found for label in findings.labels_at(item.timestamp_s)]
    labels += [item.label for item in added] + erased
    if isinstance(data, DecisionData):
        labels += labels_cited_by(data.answer)
    known = [label for label in dict.fromkeys(labels) if findings.of_label(label) is not None][:MAX_ROWS]
    return [name for name, applies in changes.items() if applies] + [f"[{plain_text(label, 8)}]" for label in known]


def _agent(event: Event) -> str:
    if event.worker is not None:
        return f"Worker {event.worker}"
    if event.kind == "scout":
        return "Scout"
    return "The run" if event.kind in ("start", "assign", "stop") else "Master"


def _bounded(rows: Sequence[Row], max_chars: int) -> list[Row]:
    """Return the rows that have a text, cut in length and in number."""
    row_chars = max(MIN_CHARS, max_chars * FEW_ROWS // max(FEW_ROWS, len(rows)))
    shown = [(plain_text(name, 80), plain_text(text, row_chars), step) for name, text, step in rows[:MAX_ROWS] if text]
    return [*shown, ("", f"{len(rows) - MAX_ROWS:,} more are not shown.", None)] if len(rows) > MAX_ROWS else shown


def _cost(data: EventData | None) -> str:
    usage = getattr(data, "usage", None)
    if not isinstance(usage, UsageData):
        return ""
    about = "about " if usage.estimated else ""
    prompt = f"{about}{usage.prompt_tokens:,} prompt tokens"
    details = f"{usage.image_tokens:,} of images, {usage.cached_tokens:,} cached"
    thought = f" ({usage.reasoning_tokens:,} of them for its thought)" if usage.reasoning_tokens else ""
    completion = f"{usage.completion_tokens:,} completion tokens{thought}"
    return f"{counted(usage.calls, 'call')}, {prompt} ({details}), {completion}"
