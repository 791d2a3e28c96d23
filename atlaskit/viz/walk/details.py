"""The texts of a step's panel in the walkthrough: title, request, reply, changes of memory."""

from __future__ import annotations

from collections.abc import Iterator

from atlaskit.environment.memory import DeadZones
from atlaskit.environment.notation import clock
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.runs.events import (
    AssignData,
    CaptionData,
    CiteData,
    DecisionData,
    EventData,
    EvidenceData,
    FailureData,
    HintData,
    ProbeData,
    ReopenData,
    ReportData,
    ReviewData,
    ScoutData,
    StartData,
    StepData,
    TaskData,
    TurnData,
    VoteData,
)
from atlaskit.runs.replay import memories
from atlaskit.runs.result import rests_on, verdict
from atlaskit.viz.html.phrases import counted, percent, spans_text, value_text
from atlaskit.viz.html.reprs.result import cited_frames
from atlaskit.viz.walk.findings import FindingSteps
from atlaskit.viz.walk.phrasing import STOP_WORDS
from atlaskit.viz.walk.source import RunSource, start_of

MAX_ROWS = 64
"""Most rows of one part of a step, and most labels in one row."""

Row = tuple[str, str, int | None]
"""Name, text, and the index of the step that the row links to."""

EVENT_TITLES = {
    "start": "the run starts",
    "task": "the search task is set",
    "scout": "a scout says where to look first",
    "probe": "cells of the root grid are scored",
    "assign": "workers are assigned regions",
    "step": "a worker takes a step",
    "report": "a worker reports",
    "review": "the evidence is reviewed",
    "reopen": "the search looks again",
    "vote": "the master votes",
    "decision": "the question is answered",
    "cite": "the frames that the answer cites become evidence",
    "caption": "a clip is captioned",
    "turn": "a method makes a call",
    "failure": "a call fails",
    "stop": "the run ends",
}
"""What happens in an event, by its kind."""


def request_text(data: EventData | None, task: str) -> str:
    """Return what a call asks the model for, in a sentence: a trace does not hold the prompt.

    Args:
        data: The event that the call led to.
        task: The search task of the run.
    """
    match data:
        case TaskData():
            return "State the search task, and choose a traversal."
        case ProbeData(offered=offered):
            return f"Score these {counted(len(offered), 'cell')} of the root grid. Search task: {task}"
        case StepData(interval_s=span, depth=depth):
            return f"Explore {spans_text([span])} (depth {depth}) and choose an action. Search task: {task}"
        case ReviewData(sheet=sheet):
            frames = counted(len(sheet.labels), "frame")
            return f"Judge whether the evidence ({frames}) suffices, what to erase, and where to look next."
        case VoteData():
            return "Answer the question, as one vote of several."
        case DecisionData(sheet=sheet):
            return f"Answer the question{' from the evidence frames' if sheet else ''}."
        case CaptionData(interval_s=span):
            return f"Describe what happens in {spans_text([span])}."
        case TurnData(step=step, intervals_s=spans, told=told):
            where = f" about {spans_text(spans)}" if spans else ""
            return " ".join(filter(None, [f"{step.capitalize()}{where}.", told]))
        case FailureData(step=step):
            return f"The call that failed: {EVENT_TITLES.get(step, step)}."
    return ""


def reply_rows(data: EventData | None, question: Question | None = None) -> Iterator[Row]:
    """Yield what an event records, field by field: choices, reasoning, findings, judgements.

    Args:
        data: The data of the event.
        question: The question of the run, whose choices an answer names by number.
    """
    match data:
        case StartData():
            choices = data.question.get("choices")
            yield "choices", "; ".join(map(str, choices)) if isinstance(choices, list) else "", None
        case AssignData(sorties=assignments):
            for number, each in enumerate(assignments):
                text = f"{spans_text([each.interval_s])}, {each.traversal}, at most {counted(each.calls, 'call')}"
                again = ", between the frames that were seen" if each.shift else ""
                yield f"worker {number}", text + again, None
        case StepData():
            yield "thought", data.thought, None
            yield from (("found", _item_text(item), None) for item in data.found)
            yield "marked", f"{counted(len(data.marked), 'region')} as promising" if data.marked else "", None
            yield "hints", _hints_text(data.hints), None
            yield "then", "the worker leaves its region" if data.then else "", None
        case ReportData(stop=stop, is_open=is_open):
            yield "it ended because", STOP_WORDS[stop], None
            yield "region", "not explored to the end" if is_open else "explored to the end", None
        case ReopenData(paths=paths):
            yield "opened again", _paths_text(paths), None
        case ScoutData(scout=scout, hints=hints, note=note):
            yield f"hints of {scout}", _hints_text(hints) or note, None
        case ProbeData():
            yield "reasoning", data.reasoning, None
            yield "meanwhile", "workers explore: the next round is scored ahead" if data.ahead else "", None
        case ReviewData():
            yield "reasoning", data.reasoning, None
            for judged in data.choices:
                sides = (cited_frames(judged.get(side)) or "none" for side in ("supporting", "contradicting"))
                yield f"choice {judged.get('choice')}", "supporting: {}; contradicting: {}".format(*sides), None
            yield "sufficient", "yes" if data.sufficient else "no", None
            yield "to look at next", _paths_text(data.queued), None
        case TurnData(answer=answer):
            yield from ((name.replace("_", " "), value_text(value), None) for name, value in answer.items())
        case DecisionData(answer=answer) | VoteData(answer=answer):
            chosen = answer.get("answer")
            if question is not None and type(chosen) is int and 0 <= chosen < len(question.choices):
                yield "answered", question.choices[chosen], None
            yield "reasoning", str(answer.get("reasoning") or ""), None
            yield "cited evidence", cited_frames(answer.get("supporting")), None
    yield "model's reasoning", getattr(data, "reasoning_text", ""), None
    yield "answered by another model", getattr(data, "answered_by", ""), None


def memory_changes(data: EventData | None, findings: FindingSteps) -> Iterator[Row]:
    """Yield what an event adds to M+ and M−, and what it erases."""
    if isinstance(data, ReportData | CiteData):
        for item in data.kept if isinstance(data, ReportData) else data.found:
            yield "M+ added", _item_text(item), findings.of(item.timestamp_s)
    if isinstance(data, ReviewData):
        yield from (("M+ erased", f"[{label}]", findings.of_label(label)) for label in data.erased)
    if isinstance(data, ReportData | ReviewData) and data.dead_s:
        yield "M− added", spans_text(data.dead_s), None
    if isinstance(data, ReopenData):
        yield "M− removed", f"{counted(len(data.paths), 'region')} that had been ruled out", None


def ending_rows(run: RunSource) -> list[Row]:
    """Return how a run ended: answer and truth in words, and the evidence or what it rests on."""
    start = start_of(run.trace)
    in_time = sorted(run.evidence, key=lambda item: item.timestamp_s)[:MAX_ROWS]
    labels = ", ".join(f"[{item.label}] {clock(item.timestamp_s)}" for item in in_time)
    nothing = "none" if run.answer is None else rests_on(start.settings.get("method") if start else None)
    return [
        ("answer", f"{'none' if run.answer is None else run.answer}{verdict(run.is_right)}", None),
        ("truth", run.truth, None),
        ("evidence", labels or nothing, None),
    ]


def memory_totals(run: RunSource) -> Iterator[tuple[Row, Row]]:
    """Yield what M+ and M− hold after each event, up to one that contradicts those before it."""
    try:
        for scratchpad, dead_zones in memories(run.trace):
            labels = ", ".join(f"[{label}]" for label in scratchpad.labels[:MAX_ROWS])
            more = f" and {len(scratchpad) - MAX_ROWS} more" if len(scratchpad) > MAX_ROWS else ""
            covered = _covered_text(dead_zones, run)
            yield ("M+ total", f"{labels}{more}" or "empty", None), ("M− total", covered, None)
    except InputError:
        return


def _covered_text(dead_zones: DeadZones, run: RunSource) -> str:
    if run.within is not None:
        return f"{percent(dead_zones.coverage(*run.within))} of the {run.scope}"
    return f"{sum(end_s - start_s for start_s, end_s in dead_zones.intervals):,.1f} s"


def _paths_text(paths: list[list[int]]) -> str:
    """Return regions by the cells that lead to them: "cell 3; cell 14 of cell 2"."""
    named = [" of ".join(f"cell {cell}" for cell in reversed(path)) or "the whole video" for path in paths[:MAX_ROWS]]
    return "; ".join(named)


def _hints_text(hints: list[HintData]) -> str:
    return "; ".join(f"cell {hint.cell} ({hint.score:.2g}): {hint.reason}" for hint in hints[:MAX_ROWS])


def _item_text(item: EvidenceData) -> str:
    subtitle = f" – subtitle: {item.subtitle}" if item.subtitle else ""
    return (
        f"[{item.label}] {clock(item.timestamp_s)} {item.description} (confidence {percent(item.confidence)}){subtitle}"
    )
