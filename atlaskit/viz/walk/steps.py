"""A run in plain JSON, for its page: each event as a step, and a summary of the run.

    steps                                   request, reply, memory, cost of each event
    summarize                               answer, notes, evidence with links, regions
    setting_rows                            the settings of a run under names that people understand

Each text is one line (`html.markup.plain_text`). The page can filter the steps by agent, action,
region and evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from atlaskit.environment.grid import clock
from atlaskit.environment.memory import Evidence
from atlaskit.environment.places import moment_in_words
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
    value_text,
)
from atlaskit.runs.result import why_unsupported
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.walk.pictures import Pictures
from atlaskit.viz.walk.places import (
    FindingSteps,
    grid_of,
    merged_in,
    moments_of,
    path_of,
    places,
    regions,
    truth_rows,
)
from atlaskit.viz.walk.source import RunSource

Row = tuple[str, str, int | None]
"""Name, text, and the index of the step that the row links to; None for no link."""

MAX_STEPS = 2_000
"""The most steps in a page."""
MAX_CHARS = 4_000
"""The most characters of one text."""
MIN_CHARS = 200
"""No text is cut to fewer characters than this."""
TOTAL_CHARS = 400_000
"""Most characters of one text, times the number of steps: texts are shorter in a longer run."""
FEW_ROWS = 4
"""The rows of a step with more rows than this are cut shorter, so that its size stays bounded."""

# What a step can do to the memory, in the words of the page's filter.
FINDS = "finds evidence"
CHANGES_EVIDENCE = "changes the evidence"
ADDS_DEAD_ZONE = "rules out time"
MAX_SPANS = 512
"""The most intervals of one kind that a step hands to the map."""


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
    for index, (event, place) in enumerate(
        zip(trace.events[:max_steps], places(trace), strict=False)
    ):
        reply = list[Row]()
        if isinstance(event, Stop):
            reply.append(("result", run.answer_line, None))
        for name, text in [("summary", summary(event)), *details(event, run.question)]:
            reply.append((name, text, None))
        older = ""
        if isinstance(event, Probe) and event.ahead:
            # A probe made ahead did not yet know the reports that precede it in the trace.
            older = "before the workers of this round reported"
        yield {
            "round": event.round,
            "who": agent(event),
            **_action(event),
            "path": path_of(event),
            "place": place,  # where it begins on the axis of `places`
            "tokens": event.usage.tokens if isinstance(event, Call | Failure) else 0,
            "spans": _rounded(_spans(event)),
            "older": older,
            "change": _change(event),
            "touches": _memory_tags(event, findings),
            "asked": plain_text(request(event, task), max_chars),
            "said": _bounded(reply, max_chars),
            "memory": _bounded([*memory_changes(event, findings)], max_chars),
            "cost": _cost(event),
            "saw": found.by_event[index],
        }


def _action(event: Event) -> dict[str, str]:
    """Return what happens in a step in words, and the name and words for the page's filter."""
    if not isinstance(event, Step):
        return dict.fromkeys(("what", "does", "verb"), TITLES[event.kind])
    action = event.action
    return {
        "what": action_text(action),
        "does": action.name,
        "verb": f"{action_verb(action.name)} ({action.name})",
    }


def _spans(event: Event) -> Sequence[Sequence[float]]:
    """Return the intervals of the video that an event is about, in seconds."""
    match event:
        case Step() | Report() | Cite():
            return [event.interval_s]
        case Turn(intervals_s=spans) | Look(intervals_s=spans):
            return spans
        case Assign(sorties=sorties):
            assigned = list[Sequence[float]]()
            for sortie in sorties:
                assigned += sortie.spans_s
            return assigned
    return []


def _change(event: Event) -> dict[str, Any]:
    """Return what an event changes on the map: evidence, dead zones, and who is sent where."""
    added = merged_in(event)[:MAX_SPANS]
    change: dict[str, Any] = {
        "add": [(plain_text(item.label, 8), round(item.timestamp_s, 3)) for item in added]
    }
    if isinstance(event, Review):
        change["erase"] = [plain_text(label, 8) for label in event.erased]
    if isinstance(event, Report | Review):
        change["dead"] = _rounded(event.dead_s)
        change["alive"] = _rounded(event.alive_s)
    if isinstance(event, Look):
        change["seen"] = _rounded(event.intervals_s)
    if isinstance(event, Assign):
        sent = list[tuple[float, float, str]]()
        for number, sortie in enumerate(event.sorties[:MAX_SPANS]):
            for start_s, end_s in sortie.spans_s:
                sent.append((round(start_s, 3), round(end_s, 3), str(number)))
        change["sent"] = sent
    return {name: value for name, value in change.items() if value}


def _rounded(spans: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Return at most MAX_SPANS intervals, in seconds rounded to milliseconds."""
    return [(round(start_s, 3), round(end_s, 3)) for start_s, end_s in spans[:MAX_SPANS]]


def _search_task(run: RunSource) -> str:
    """Return the search task that the Master set; the question if there is none."""
    for event in run.trace:
        if isinstance(event, Task | Plan):
            return event.search_task
    return "" if run.question is None else run.question.text


def _memory_tags(event: Event, findings: FindingSteps) -> list[str]:
    """Return the tags by which the page filters a step.

    They are the names of its changes to the memory, and the labels of the evidence it is about.
    """
    found = event.found if isinstance(event, Step | Cite | Plan | Look) else ()
    added = merged_in(event)
    erased = event.erased if isinstance(event, Review) else ()
    changes = {
        FINDS: found,
        CHANGES_EVIDENCE: added or erased,
        ADDS_DEAD_ZONE: isinstance(event, Report | Review) and event.dead_s,
    }
    labels = list[str]()
    for claim in found:
        labels += findings.labels_at(claim.timestamp_s)
    for item in added:
        labels.append(item.label)
    labels += erased
    if isinstance(event, Decision):
        labels += cited_labels(event.answer)
    known = [label for label in dict.fromkeys(labels) if findings.of_label(label) is not None]
    tags = [name for name, applies in changes.items() if applies]
    for label in known[:MAX_ROWS]:
        tags.append(f"[{plain_text(label, 8)}]")
    return tags


def _bounded(rows: Sequence[Row], max_chars: int) -> list[Row]:
    """Return the rows that have a text, cut in length and in number."""
    row_chars = max(MIN_CHARS, max_chars * FEW_ROWS // max(FEW_ROWS, len(rows)))
    shown = list[Row]()
    for name, text, step in rows[:MAX_ROWS]:
        if text:
            shown.append((plain_text(name, 80), plain_text(text, row_chars), step))
    if len(rows) > MAX_ROWS:
        shown.append(("", f"{len(rows) - MAX_ROWS:,} more are not shown.", None))
    return shown


def _cost(event: Event) -> str:
    """Return the calls and tokens of an event in words; "" if it made no call."""
    if not isinstance(event, Call | Failure):
        return ""
    usage = event.usage
    prompt = f"{usage.prompt_tokens:,} prompt tokens"
    if usage.estimated:
        prompt = f"about {prompt}"
    kinds = f"{usage.image_tokens:,} of images, {usage.cached_tokens:,} cached"
    thought = ""
    if usage.reasoning_tokens:
        thought = f" ({usage.reasoning_tokens:,} of them for its thought)"
    completion = f"{usage.completion_tokens:,} completion tokens{thought}"
    return f"{counted(usage.calls, 'call')}, {prompt} ({kinds}), {completion}"


def memory_changes(event: Event, findings: FindingSteps) -> Iterator[Row]:
    """Yield what an event adds to M+ and M−, and what it erases."""
    for item in merged_in(event):
        yield "evidence added", item_text(item), findings.of(item.timestamp_s)
    if isinstance(event, Review):
        for label in event.erased:
            yield "evidence erased", f"[{label}]", findings.of_label(label)
    if isinstance(event, Report | Review) and event.dead_s:
        yield "ruled out now", spans_text(event.dead_s), None


NAMES = {
    "k": "cells in a row and in a column (k)",
    "cell": "longer side of a cell in pixels (cell)",
    "fit": "how a frame fills its cell (fit)",
    "patch": "side of an image token in pixels (patch)",
    "cells": "cells that are drawn (cells)",
    "sampling": "frame that stands for a cell (sampling)",
    "max_depth": "deepest grid (max_depth)",
    "traversal": "order of the search (traversal)",
    "steps": "most steps of a worker in one visit (steps)",
    "plateau": "steps without a finding after which a worker stops (plateau)",
    "look_ahead": "the next round is scored while workers explore (look_ahead)",
    "scouts": "scouts that say where to look first",
    "votes": "votes on the answer",
}
"""Plain names of settings, in the order in which they are shown. Other settings follow under their
own names."""
MAX_SETTINGS = 64


def setting_rows(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the settings of a run as names and texts.

    Args:
        settings: The settings that the trace of the run begins with.
    """
    first = [name for name in NAMES if name in settings]
    rows = list[tuple[str, str]]()
    for name in [*first, *sorted(settings.keys() - NAMES.keys())][:MAX_SETTINGS]:
        title = NAMES.get(name, name.replace("_", " "))
        rows.append((plain_text(title, 80), _text(settings[name])))
    return rows


def _text(value: Any) -> str:
    """Return a value in words. Parts of a mapping that are not set are left out."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        parts = list[str]()
        for name, part in value.items():
            if part is not None:
                parts.append(f"{str(name).replace('_', ' ')} {_text(part)}")
        return plain_text(", ".join(sorted(parts)) or "none", 600)
    if isinstance(value, list):
        return plain_text(", ".join(map(_text, value)) or "none", 600)
    return plain_text("none" if value is None else value_text(value), 600)


MAX_EVIDENCE = 400
"""The most frames of evidence in the list."""


def summarize(run: RunSource, found: Pictures, max_steps: int = MAX_STEPS) -> dict[str, Any]:
    """Return the summary of a run as plain JSON.

    Args:
        run: The run.
        found: Its images.
        max_steps: The most steps that are shown; `count` in the result is their number.
    """
    count = min(len(run.trace), max_steps)
    omitted = len(run.trace) - count
    findings = FindingSteps(run.trace)
    evidence = sorted(run.evidence, key=lambda item: item.timestamp_s)
    links = []
    for item in evidence[:MAX_EVIDENCE]:
        links.append(_link(item, run.video, findings.of(item.timestamp_s), count))
    truth = [(text, _shown_step(step, count)) for text, step in truth_rows(run, findings)]
    notes = list[str]()
    if "caution" in run.settings:
        notes.append(plain_text(str(run.settings["caution"]), 600))
    if found.problem:
        notes.append(plain_text(f"Images are missing: {found.problem}", 600))
    if run.coverage is not None and run.trace.of(Plan):
        notes.append(f"Seen: {run.coverage}.")
    if omitted:
        notes.append(f"The last {omitted:,} events are not shown.")
    if run.answer is not None and not run.evidence:
        notes.append(f"Evidence: {why_unsupported(run.settings.get('method'))}.")
    if len(evidence) > MAX_EVIDENCE:
        notes.append(
            f"The last {len(evidence) - MAX_EVIDENCE:,} frames of evidence are not listed."
        )
    root = grid_of((), run)
    edges = {}
    if root is not None and root.is_uneven:
        edges = {"edges": list(root.edges)}  # of the cells of the map, in seconds
    return {
        **edges,
        "count": count,
        "name": plain_text(_name(run.settings), 200),
        "question": plain_text("" if run.question is None else run.question.text, 2_000),
        "answer": plain_text(run.answer_line, 2_000),
        "notes": notes,
        "evidence": links,
        "moments": list(map(list, moments_of(run))),
        "found": truth,  # what became of the moments
        "settings": setting_rows(run.settings),
        "k": run.k,
        "within": None if run.within is None else list(run.within),
        "scope": f"whole {run.scope}",
        "end": max(islice(places(run.trace), count), default=0) + 1,  # of the axis of `places`
        "regions": regions(run),
        "looks": bool(run.trace.of(Look)),
        "map": found.map,
        "sheet": found.sheet,
    }


def _name(settings: Mapping[str, Any]) -> str:
    """Return the method and model of a run, and the model's parameters."""
    parts = [str(settings[name]) for name in ("method", "model") if settings.get(name)]
    parameters = settings.get("parameters")
    if isinstance(parameters, dict):
        for name, value in parameters.items():
            parts.append(f"{name} {value}")
    return " · ".join(parts) or "unknown method"


def _link(
    item: Evidence, video: Video | None, step: int | None, count: int
) -> tuple[str, int | None]:
    """Return a line about an item of evidence, and the step that found it; None if not shown."""
    where = clock(item.timestamp_s)
    if video is not None:
        where = moment_in_words(video, item.timestamp_s)
    text = plain_text(f"[{item.label}] {where} {item.description}", 160)
    return text, _shown_step(step, count)


def _shown_step(step: int | None, count: int) -> int | None:
    """Return a step if it is among the `count` that are shown, else None."""
    if step is not None and step < count:
        return step
    return None
