"""Summaries of events, each one line of text; the text is of unknown origin and not escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from atlaskit.runs.events import Event
from atlaskit.viz.html.phrases import MAX_LISTED, counted, span_text, spans_text, value_text

MAX_HINTS = 6
"""Most hints of a scout that are listed, the highest scores first."""


def event_summary(event: Event) -> str:
    """Return a one-line summary of an event; empty for an unknown kind.

    Never raises: data that does not have the form of its kind is quoted as it is.
    """
    try:
        return SUMMARIES[event.kind](event.data or {}) if event.kind in SUMMARIES else ""
    except Exception:
        return f"malformed {event.kind!r}: {event.data!r}"


def _labels(items: Sequence[Any]) -> str:
    return _listed([f"[{item['label']}]" for item in items]) or "no evidence"


def _listed(texts: Sequence[str], between: str = ", ", most: int = MAX_LISTED) -> str:
    """Return the first texts, and how many more there are."""
    more = [f"and {len(texts) - most:,} more"] if len(texts) > most else []
    return between.join([*texts[:most], *more])


def _step(data: dict[str, Any]) -> str:
    action = data["action"]
    cells = [action["cell"]] if action.get("cell") is not None else action.get("cells") or []
    direction = f" {action['direction']}" if action.get("direction") else ""
    of_cells = f" cell {_listed(list(map(str, cells)))}" if cells else ""
    if data["problem"]:
        outcome = f"; rejected: {data['problem']}"
    else:
        outcome = f"; found {_labels(data['found'])}" if data["found"] else ""
    return f"{span_text(data['interval_s'])}: {action['name']}{direction}{of_cells}{outcome}"


def _scout(data: dict[str, Any]) -> str:
    best = sorted(data["hints"], key=lambda hint: -hint["score"])
    hints = _listed([f"cell {hint['cell']} ({hint['score']:.2g}) {hint['reason']}" for hint in best], "; ", MAX_HINTS)
    return (
        f"{data['scout']} named {counted(len(data['hints']), 'cell')}: {hints or data['note'] or 'nothing stands out'}"
    )


def _probe(data: dict[str, Any]) -> str:
    best = sorted(data["scores"].items(), key=lambda scored: -scored[1])
    scores = _listed([f"{cell} ({score:.2g})" for cell, score in best])
    return f"scored {counted(len(best), 'cell')}: {scores}"


def _review(data: dict[str, Any]) -> str:
    conclusion = "sufficient" if data["sufficient"] else "continue"
    erased = f"; erased {_listed(list(map(str, data['erased'])))}" if data["erased"] else ""
    return f"{conclusion}{erased}: {data['reasoning']}"


def _report(data: dict[str, Any]) -> str:
    dead = f"; dead zones {spans_text(data['dead_s'], 3)}" if data["dead_s"] else ""
    return f"{span_text(data['interval_s'])}: {data['stop']}; added {_labels(data['kept'])}{dead}"


def _decision(data: dict[str, Any]) -> str:
    answer = data["answer"]
    if "answer" in answer:
        words = answer["answer"]
    else:
        words = spans_text([(each["start_s"], each["end_s"]) for each in answer.get("intervals", [answer])])
    return f"answered {words}: {answer.get('reasoning', '')}"


def _turn(data: dict[str, Any]) -> str:
    spans = f" ({spans_text(data['intervals_s'])})" if data["intervals_s"] else ""
    return f"{data['step']}{spans}: {value_text(data['answer'])}"


def _stop(data: dict[str, Any]) -> str:
    return f"{data['stop']}, after {counted(data['rounds'], 'round')} and {counted(data['calls'], 'call')}"


SUMMARIES: dict[str, Callable[[dict[str, Any]], str]] = {
    "start": lambda data: str(data["question"]["text"]),
    "task": lambda data: f"{data['traversal']}: {data['search_task']}",
    "scout": _scout,
    "probe": _probe,
    "assign": lambda data: f"workers explore {spans_text([each['interval_s'] for each in data['sorties']])}",
    "step": _step,
    "report": _report,
    "review": _review,
    "reopen": lambda data: f"{counted(len(data['paths']), 'region')} opened again, between the frames that were seen",
    "vote": lambda data: f"a vote: {_decision(data)}",
    "decision": _decision,
    "cite": lambda data: f"cited {_labels(data['found'])}",
    "caption": lambda data: f"{span_text(data['interval_s'])}: {data['caption']}",
    "turn": _turn,
    "failure": lambda data: f"{data['step']} failed: {data['reason']}",
    "stop": _stop,
}
"""The function that summarizes the data of each kind of event."""
