"""Each event as a step of the walkthrough in plain JSON: request, reply, memory, cost.

The values are plain JSON. Text in them is one line (`html.markup.plain_text`) and only shown; the
rest is what steps are filtered by: agent, action, region, and evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from atlaskit.runs.events import (
    Assign,
    Call,
    Cite,
    Decision,
    Event,
    Failure,
    Look,
    Plan,
    Probe,
    Reopen,
    Report,
    Review,
    Step,
    Stop,
    Task,
    Turn,
)
from atlaskit.runs.narrate import (
    MAX_ROWS,
    TITLES,
    action_text,
    action_verb,
    agent,
    cited_labels,
    counted,
    details,
    item_text,
    request,
    spans_text,
    summary,
)
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.walk.findings import FindingSteps, merged_in
from atlaskit.viz.walk.pictures import Pictures
from atlaskit.viz.walk.regions import path_of
from atlaskit.viz.walk.schedule import places
from atlaskit.viz.walk.source import RunSource

Row = tuple[str, str, int | None]
"""Name, text, and the index of the step that the row links to."""

MAX_STEPS = 2_000
MAX_CHARS, MIN_CHARS, TOTAL_CHARS = 4_000, 200, 400_000
"""Characters of one text at most and at least, and of all steps, which share them."""
FEW_ROWS = 4
"""A step with more rows has shorter ones, so that its size stays bounded."""

FINDS, CHANGES_EVIDENCE, ADDS_DEAD_ZONE = "finds evidence", "changes the evidence", "rules out time"
"""What a step can do to the memory, as a filter names it."""
MAX_SPANS = 512
"""Most intervals of one kind that a step hands to the map."""


def steps(run: RunSource, found: Pictures, max_steps: int = MAX_STEPS) -> Iterator[dict[str, Any]]:
    """Yield the first `max_steps` events of a run as steps, each a dictionary of plain JSON.

    Args:
        run: The run.
        found: Its images, which steps name by index.
        max_steps: The most steps.
    """
    trace = run.trace
    max_chars = max(MIN_CHARS, min(MAX_CHARS, TOTAL_CHARS // max(1, len(trace))))
    findings = FindingSteps(trace)
    task = _search_task(run)
    for index, (event, place) in enumerate(zip(trace.events[:max_steps], places(trace), strict=False)):
        ending = [("result", run.answer_line)] if isinstance(event, Stop) else []
        told = [*ending, ("summary", summary(event)), *details(event, run.question)]
        yield {
            "round": event.round,
            "who": agent(event),
            **_action(event),
            "path": path_of(event),
            "place": place,
            "tokens": event.usage.tokens if isinstance(event, Call | Failure) else 0,
            "spans": _rounded(_spans(event)),
            # The Master scores ahead what it saw before the reports that stand above in the trace.
            "older": "before the workers of this round reported" if isinstance(event, Probe) and event.ahead else "",
            "change": _change(event),
            "touches": _memory_tags(event, findings),
            "asked": plain_text(request(event, task), max_chars),
            "said": _bounded([(name, text, None) for name, text in told], max_chars),
            "memory": _bounded([*memory_changes(event, findings)], max_chars),
            "cost": _cost(event),
            "saw": found.by_event[index],
        }


def _action(event: Event) -> dict[str, str]:
    """Return what happens in a step in words, and the name and words that a filter has for it."""
    if not isinstance(event, Step):
        return dict.fromkeys(("what", "does", "verb"), TITLES[event.kind])
    action = event.action
    return {"what": action_text(action), "does": action.name, "verb": f"{action_verb(action.name)} ({action.name})"}


def _spans(event: Event) -> Sequence[Sequence[float]]:
    """Return the intervals of the video that an event is about, in seconds."""
    match event:
        case Step() | Report() | Cite():
            return [event.interval_s]
        case Turn(intervals_s=spans) | Look(intervals_s=spans):
            return spans
        case Assign(sorties=assignments):
            return [span for each in assignments for span in each.spans_s]
    return []


def _change(event: Event) -> dict[str, Any]:
    """Return what an event changes on the map: evidence, dead zones, and who is sent where."""
    added = merged_in(event)[:MAX_SPANS]
    change: dict[str, Any] = {"add": [(plain_text(item.label, 8), round(item.timestamp_s, 3)) for item in added]}
    if isinstance(event, Review):
        change["erase"] = [plain_text(label, 8) for label in event.erased]
    if isinstance(event, Report | Review):
        change["dead"] = _rounded(event.dead_s)
        change["alive"] = _rounded(event.alive_s)
    if isinstance(event, Look):
        change["seen"] = _rounded(event.intervals_s)
    if isinstance(event, Reopen):
        change["stays"] = _rounded(event.dead_zones_s)
    if isinstance(event, Assign):
        change["sent"] = [
            (*_rounded([span])[0], str(number))
            for number, each in enumerate(event.sorties[:MAX_SPANS])
            for span in each.spans_s
        ]
    return {name: value for name, value in change.items() if value or name == "stays"}


def _rounded(spans: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    return [(round(start_s, 3), round(end_s, 3)) for start_s, end_s in spans[:MAX_SPANS]]


def _search_task(run: RunSource) -> str:
    """Return the search task of a run; the question where the Master set none."""
    question = "" if run.question is None else run.question.text
    return next((event.search_task for event in run.trace if isinstance(event, Task | Plan)), question)


def _memory_tags(event: Event, findings: FindingSteps) -> list[str]:
    """Return the changes of memory, by name, and the evidence that an event is about, by label."""
    found = event.found if isinstance(event, Step | Cite | Plan | Look) else ()
    added = merged_in(event)
    erased = event.erased if isinstance(event, Review) else ()
    changes = {
        FINDS: found,
        CHANGES_EVIDENCE: added or erased,
        ADDS_DEAD_ZONE: isinstance(event, Report | Review) and event.dead_s,
    }
    labels = [label for item in found for label in findings.labels_at(item.timestamp_s)]
    labels += [*(item.label for item in added), *erased]
    if isinstance(event, Decision):
        labels += cited_labels(event.answer)
    known = [label for label in dict.fromkeys(labels) if findings.of_label(label) is not None][:MAX_ROWS]
    return [name for name, applies in changes.items() if applies] + [f"[{plain_text(label, 8)}]" for label in known]


def _bounded(rows: Sequence[Row], max_chars: int) -> list[Row]:
    """Return the rows that have a text, cut in length and in number."""
    row_chars = max(MIN_CHARS, max_chars * FEW_ROWS // max(FEW_ROWS, len(rows)))
    shown = [(plain_text(name, 80), plain_text(text, row_chars), step) for name, text, step in rows[:MAX_ROWS] if text]
    return [*shown, ("", f"{len(rows) - MAX_ROWS:,} more are not shown.", None)] if len(rows) > MAX_ROWS else shown


def _cost(event: Event) -> str:
    if not isinstance(event, Call | Failure):
        return ""
    usage = event.usage
    about = "about " if usage.estimated else ""
    prompt = f"{about}{usage.prompt_tokens:,} prompt tokens"
    details = f"{usage.image_tokens:,} of images, {usage.cached_tokens:,} cached"
    thought = f" ({usage.reasoning_tokens:,} of them for its thought)" if usage.reasoning_tokens else ""
    completion = f"{usage.completion_tokens:,} completion tokens{thought}"
    return f"{counted(usage.calls, 'call')}, {prompt} ({details}), {completion}"


def memory_changes(event: Event, findings: FindingSteps) -> Iterator[Row]:
    """Yield what an event adds to M+ and M−, and what it erases."""
    for item in merged_in(event):
        yield "evidence added", item_text(item), findings.of(item.timestamp_s)
    if isinstance(event, Review):
        yield from (("evidence erased", f"[{label}]", findings.of_label(label)) for label in event.erased)
    if isinstance(event, Report | Review) and event.dead_s:
        yield "ruled out now", spans_text(event.dead_s), None
    if isinstance(event, Reopen):
        yield "open again", f"{counted(len(event.paths), 'region')} that had been ruled out", None
