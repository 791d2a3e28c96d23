"""A run's events in words: what each agent was asked and answered, what M+ and M− gained and lost by it, what it cost.

All of them are plain JSON values and one-line text that is only shown (`displays.markup.told`), besides what they can
be picked by: who acted, what was done, where, and which evidence it is about. Knows nothing of HTML, and nothing of
pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from atlaskit.environment.memory import DeadZones
from atlaskit.environment.notation import clock
from atlaskit.errors import InputError
from atlaskit.runs.events import (
    AssignData,
    CaptionData,
    CiteData,
    DecisionData,
    Event,
    EventData,
    EvidenceData,
    FailureData,
    ProbeData,
    ReportData,
    ReviewData,
    StartData,
    StepData,
    TaskData,
    UsageData,
)
from atlaskit.runs.replay import memories
from atlaskit.runs.trace import Trace
from atlaskit.viz.html import reprs
from atlaskit.viz.html.markup import told
from atlaskit.viz.walk.regions import path_of
from atlaskit.viz.walk.source import RunSource, form_in

MOST_STEPS = 2_000
MOST_LETTERS, FEWEST_LETTERS, ALL_LETTERS = 4_000, 200, 400_000
"""Of one text; it is shorter where there are many steps, or many rows in one, so that all of them stay bounded."""
MOST_ROWS, FEW_ROWS = 64, 4

FINDS, CHANGES_EVIDENCE, RULES_OUT = "finds evidence", "changes M+", "changes M−"
"""What a step can do to the memory."""

Row = tuple[str, str, int | None]
"""What it is, in words, and the step that it links to."""

WHAT = {
    "start": "the run begins",
    "task": "what to look for",
    "probe": "cells of the overview are scored",
    "assign": "workers are sent out",
    "step": "a worker looks",
    "report": "a worker comes back",
    "review": "the evidence is judged",
    "decision": "the question is answered",
    "cite": "what the answer rests on becomes evidence",
    "caption": "a clip is described",
    "failure": "a call fails",
    "stop": "the run ends",
}


class FindingSteps:
    """Which step of a trace found what."""

    def __init__(self, trace: Trace) -> None:
        self._places: dict[float, int] = {}
        self._times_s: dict[str, float] = {}
        for place, event in enumerate(trace):
            form = form_in(event)
            if isinstance(form, StepData | CiteData):
                for item in form.found:
                    self._places.setdefault(item.timestamp_s, place)
            if isinstance(form, ReportData | CiteData):
                kept = form.kept if isinstance(form, ReportData) else form.found
                self._times_s |= {item.label: item.timestamp_s for item in kept}

    def of(self, time_s: float | None) -> int | None:
        """Return the place of the event that first found the frame at a time; None if none did."""
        return None if time_s is None else self._places.get(time_s)

    def of_label(self, label: str) -> int | None:
        """Return the same of the frame that has a label in M+."""
        return self.of(self._times_s.get(label))

    def labels_at(self, time_s: float) -> list[str]:
        """Return the labels in M+, now or once, of the frame at a time."""
        return [label for label, its_time_s in self._times_s.items() if its_time_s == time_s]


def steps(run: RunSource, most_steps: int = MOST_STEPS) -> Iterator[dict[str, Any]]:
    """Yield what is told of each event of a run, of a very long one only of the first."""
    trace = run.trace
    most = max(FEWEST_LETTERS, min(MOST_LETTERS, ALL_LETTERS // max(1, len(trace))))
    finders, totals = FindingSteps(trace), _totals(run)
    asked = "" if run.question is None else run.question.text
    task = next((form.search_task for form in map(form_in, trace.of("task")) if isinstance(form, TaskData)), asked)
    for event in trace.events[:most_steps]:
        form = form_in(event)
        what = told(WHAT.get(event.kind, event.kind), 80)
        yield {
            "what": what,
            "round": event.round,
            "who": _who(event),
            "does": form.action.name if isinstance(form, StepData) else what,
            "path": path_of(form),
            "touches": _touches(form, finders),
            "asked": told(_asked(form, task), most),
            "said": _rows([("in short", reprs.in_short(event), None), *_said(form)], most),
            "memory": _rows([*_changes(form, finders), *next(totals, ())], most),
            "cost": _cost(form),
        }


def _touches(form: EventData | None, finders: FindingSteps) -> list[str]:
    """Return what of the memory an event is about: the changes it makes, by name, and frames of evidence, by label."""
    found = form.found if isinstance(form, StepData | CiteData) else []
    kept = form.kept if isinstance(form, ReportData) else []
    labels = [label for item in found for label in finders.labels_at(item.timestamp_s)]
    labels += [item.label for item in kept]
    if isinstance(form, ReviewData):
        labels += form.erased
    if isinstance(form, DecisionData) and isinstance(cited := form.answer.get("supporting"), list):
        labels += [label for label in cited if isinstance(label, str)]
    if isinstance(form, DecisionData) and isinstance(weighed := form.answer.get("weighed"), list):
        labels += [label for each in weighed for label in _cited_for(each, form.answer.get("answer"))]
    changes = {
        FINDS: found,
        CHANGES_EVIDENCE: kept or isinstance(form, CiteData) or (isinstance(form, ReviewData) and form.erased),
        RULES_OUT: isinstance(form, ReportData | ReviewData) and form.dead_s,
    }
    known = [label for label in dict.fromkeys(labels) if finders.of_label(label) is not None][:MOST_ROWS]
    return [name for name, is_so in changes.items() if is_so] + [f"[{told(label, 8)}]" for label in known]


def _cited_for(weighed: Any, answer: Any) -> list[str]:
    """Return what a decision names in support of the choice that it takes."""
    if not isinstance(weighed, dict) or weighed.get("choice") != answer:
        return []
    named = weighed.get("supporting")
    return [label for label in named if isinstance(label, str)] if isinstance(named, list) else []


def _who(event: Event) -> str:
    if event.worker is not None:
        return f"Worker {event.worker}"
    return "The run" if event.kind in ("start", "assign", "stop") else "Master"


def _rows(rows: Sequence[Row], most: int) -> list[Row]:
    """Return rows that are only shown: those that say something, and not too many of them."""
    each = max(FEWEST_LETTERS, most * FEW_ROWS // max(FEW_ROWS, len(rows)))
    shown = [(told(name, 80), told(words, each), step) for name, words, step in rows[:MOST_ROWS] if words]
    return [*shown, ("", f"{len(rows) - MOST_ROWS:,} more are not shown.", None)] if len(rows) > MOST_ROWS else shown


def _asked(form: EventData | None, task: str) -> str:
    """Return in short what a call was made for. The prompt's own words are not in a trace."""
    match form:
        case TaskData():
            return "Say what to look for, and how to go about it."
        case ProbeData(offered=offered):
            return f"Which of these {len(offered)} cells of the overview may hold it? Look for: {task}"
        case StepData(interval_s=span, depth=depth):
            return f"Look into {reprs.spans_told([span])} (depth {depth}), and choose an action. Look for: {task}"
        case ReviewData(sheet=sheet):
            return f"Do these {len(sheet.labels)} frames prove an answer? What is to be erased, and where to look next?"
        case DecisionData(sheet=sheet):
            return f"Answer the question{' from the frames of evidence' if sheet else ''}."
        case CaptionData(interval_s=span):
            return f"Describe what happens in {reprs.spans_told([span])}."
        case FailureData(step=step):
            return f"What {WHAT.get(step, step)!r} asks for."
    return ""


def _said(form: EventData | None) -> Iterator[Row]:
    match form:
        case StartData(settings=settings):
            yield from ((str(name), str(value), None) for name, value in settings.items())
        case AssignData(sorties=sorties):
            for number, sortie in enumerate(sorties):
                where = f"{reprs.spans_told([sortie.interval_s])}, {sortie.traversal}, at most {sortie.calls} calls"
                yield f"worker {number}", where, None
        case StepData():
            yield "thought", form.thought, None
            yield from (("found", _item(item), None) for item in form.found)
            yield "marked", f"{len(form.marked)} regions to look into later" if form.marked else "", None
        case ProbeData():
            yield "reasoning", form.reasoning, None
        case ReviewData():
            yield "reasoning", form.reasoning, None
            for judged in form.choices:
                sides = (reprs.named_in(judged.get(side)) or "nothing" for side in ("supporting", "contradicting"))
                yield f"choice {judged.get('choice')}", "for it: {}; against it: {}".format(*sides), None
            yield "sufficient", "yes" if form.sufficient else "no", None
        case DecisionData(answer=answer):
            yield "reasoning", str(answer.get("reasoning") or ""), None
            yield "rests on", reprs.named_in(answer.get("supporting")), None
    yield "thought aloud", getattr(form, "reasoning_text", ""), None


def _changes(form: EventData | None, finders: FindingSteps) -> Iterator[Row]:
    """Yield what M+ and M− gained and lost by an event."""
    if isinstance(form, ReportData | CiteData):
        for item in form.kept if isinstance(form, ReportData) else form.found:
            yield "M+ keeps", _item(item), finders.of(item.timestamp_s)
    if isinstance(form, ReviewData):
        yield from (("M+ loses", f"[{label}]", finders.of_label(label)) for label in form.erased)
    if isinstance(form, ReportData | ReviewData) and form.dead_s:
        yield "M− gains", reprs.spans_told(form.dead_s), None


def _totals(run: RunSource) -> Iterator[tuple[Row, Row]]:
    """Yield what was remembered after each event, as long as the trace goes together with itself."""
    try:
        for scratchpad, zones in memories(run.trace):
            labels = ", ".join(f"[{label}]" for label in scratchpad.labels[:MOST_ROWS])
            more = f" and {len(scratchpad) - MOST_ROWS} more" if len(scratchpad) > MOST_ROWS else ""
            yield ("M+ holds", f"{labels}{more}" or "empty", None), ("M− covers", _covered(zones, run.duration_s), None)
    except InputError:
        return


def _covered(zones: DeadZones, duration_s: float | None) -> str:
    if duration_s is not None:
        return f"{zones.coverage(0.0, duration_s):.0%} of the video"
    return f"{sum(end_s - start_s for start_s, end_s in zones.intervals):,.1f} s"


def _item(item: EvidenceData) -> str:
    said = f" – said: {item.subtitle}" if item.subtitle else ""
    return f"[{item.label}] {clock(item.timestamp_s)} {item.description} (sure to {item.confidence:.0%}){said}"


def _cost(form: EventData | None) -> str:
    usage = getattr(form, "usage", None)
    if not isinstance(usage, UsageData):
        return ""
    about = "about " if usage.estimated else ""
    calls = f"{usage.calls:,} call{'' if usage.calls == 1 else 's'}"
    read = f"{usage.prompt_tokens:,} tokens read ({usage.image_tokens:,} of images, {usage.cached_tokens:,} cached)"
    return f"{calls}, {about}{read}, {usage.completion_tokens:,} written"
