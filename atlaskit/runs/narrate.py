"""The narrator: an event in words, for walkthrough, log, terminal and reprs.

`TITLES` names the kind of event, and `agent` names who acts. `summary` describes the event in one
line, `request` states the model's task, and `details` lists the recorded fields. The text quotes
videos, subtitles and models: it is of unknown origin, and not escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from atlaskit.environment.actions import ACTIONS
from atlaskit.environment.grid import clock, interval
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question
from atlaskit.runs.events import (
    ActionRecord,
    Assign,
    Call,
    Cite,
    Decision,
    Event,
    Failure,
    HintRecord,
    Look,
    Path,
    Plan,
    Probe,
    Report,
    Review,
    Scout,
    Start,
    Step,
    Stop,
    Task,
    Turn,
    Vote,
)

MAX_LISTED = 12
"""The most items of an enumeration in a sentence."""
MAX_HINTS = 6
"""The most hints of a scout in a line, highest scores first."""
MAX_ROWS = 64
"""The most rows of one kind, and the most frames, regions or hints in one row."""

TITLES: dict[str, str] = {
    "start": "the run starts",
    "task": "the search task is set",
    "scout": "a scout says where to look first",
    "plan": "the search is planned",
    "look": "a worker looks at stretches of the video",
    "probe": "cells of the root grid are scored",
    "assign": "workers are assigned regions",
    "step": "a worker takes a step",
    "report": "a worker reports",
    "review": "the evidence is reviewed",
    "vote": "the master votes",
    "decision": "the question is answered",
    "cite": "the frames that the answer cites become evidence",
    "turn": "a method makes a call",
    "failure": "a call fails",
    "stop": "the run ends",
}
"""The title of an event, by its kind."""

SETTLED = {
    "one": "one such moment",
    "first": "the first such moment",
    "last": "the last such moment",
    "all": "all such moments",
}
"""The moments that determine the answer, by the `settled_by` of a plan."""

STOPS = {
    "finished": "it was done",
    "plateau": "it found nothing more (plateau)",
    "steps": "it had no steps left",
    "budget": "the budget was used up",
    "failed": "its calls failed",
}
"""Why a worker's visit ended, by the stop of its report."""


def agent(event: Event) -> str:
    """Return who acts in an event: the run, a scout, the master or a worker."""
    if event.worker is not None:
        return f"Worker {event.worker}"
    if isinstance(event, Scout):
        return "Scout"
    return "The run" if isinstance(event, Start | Assign | Stop) else "Master"


def action_text(action: ActionRecord) -> str:
    """Return an action in words, with its cells: "opens cell 5"."""
    cells = action.all_cells
    noun = "cell" if len(cells) == 1 else "cells"
    named = f"{noun} {', '.join(map(str, cells[:MAX_LISTED]))}"
    if len(cells) > MAX_LISTED:
        named += f" and {len(cells) - MAX_LISTED} more"
    kinds = [kind for kind in ACTIONS.values() if kind.type.__name__ == action.name]
    for kind in kinds:  # two kinds are called Investigate, one for each direction
        if kind.given in ({}, {"direction": action.direction}):
            return kind.phrase.format(cells=named)
    return f"{kinds[0].verb} of {named}"  # the record lacks the direction


def action_verb(name: str) -> str:
    """Return the action of a name in words, without cells, for filters: "opens a cell"."""
    return next(kind.verb for kind in ACTIONS.values() if kind.type.__name__ == name)


def summary(event: Event) -> str:
    """Return an event in one line."""
    match event:
        case Start(question=question):
            return str(question.get("text", ""))
        case Task(traversal=traversal, search_task=task):
            return f"{traversal}: {task}"
        case Scout(scout=scout, hints=hints, note=note):
            best = sorted(hints, key=lambda hint: -hint.score)
            named = [f"cell {hint.cell} ({hint.score:.2g}) {hint.reason}" for hint in best]
            words = _listed(named, "; ", MAX_HINTS) or note or "nothing stands out"
            return f"{scout} named {counted(len(hints), 'cell')}: {words}"
        case Probe(scores=scores):
            ranked = sorted(scores.items(), key=lambda scored: -scored[1])
            words = _listed([f"{cell} ({score:.2g})" for cell, score in ranked])
            return f"scored {counted(len(ranked), 'cell')}: {words}"
        case Plan(search_task=task, lasts_s=lasts_s, found=found, wanted_s=wanted_s):
            words = f"steps of {lasts_s:.3g} s; found {_labels(found)}"
            if wanted_s:
                words += f"; first {spans_text(wanted_s)}"
            return f"{words}: {task}"
        case Look(intervals_s=spans, note=note, found=found, wanted_s=wanted_s):
            frames = counted(len(found), "frame") if found else "nothing"
            words = f"{spans_text(spans)}: kept {frames}"
            if wanted_s:
                words += f"; next {spans_text(wanted_s)}"
            return f"{words}: {note}"
        case Assign(sorties=sorties):
            stretches = list(chain.from_iterable(sortie.spans_s for sortie in sorties))
            return f"workers explore {spans_text(stretches)}"
        case Step(action=action):
            words = f"{span_text(event.interval_s)}: {action.name}"
            if action.direction:
                words += f" {action.direction}"
            if action.all_cells:
                words += f" cell {_listed(list(map(str, action.all_cells)))}"
            if event.problem:
                return f"{words}; rejected: {event.problem}"
            return f"{words}; found {_labels(event.found)}" if event.found else words
        case Report(interval_s=span, stop=stop, kept=evidence, dead_s=dead_s):
            words = f"{span_text(span)}: {stop}; added {_labels(evidence)}"
            return f"{words}; dead zones {spans_text(dead_s, 3)}" if dead_s else words
        case Review(erased=erased, reasoning=reasoning):
            words = "sufficient" if event.sufficient else "continue"
            if erased:
                words += f"; erased {_listed(erased)}"
            return f"{words}: {reasoning}"
        case Decision(answer=answer):
            return _answer_text(answer)
        case Vote(answer=answer):
            return f"a vote: {_answer_text(answer)}"
        case Cite(found=found):
            return f"cited {_labels(found)}"
        case Turn(step=step, intervals_s=spans, answer=answer):
            words = f"{step} ({spans_text(spans)})" if spans else step
            return f"{words}: {value_text(answer)}"
        case Failure(step=step, reason=reason):
            return f"{step} failed: {reason}"
        case Stop(stop=limit, rounds=rounds, calls=calls):
            return f"{limit}, after {counted(rounds, 'round')} and {counted(calls, 'call')}"
    return ""


def request(event: Event, task: str) -> str:
    """Return in a sentence what a call asks the model for; a trace holds no whole prompts.

    Args:
        event: The event that the call led to.
        task: The search task of the run.
    """
    match event:
        case Task():
            return "State the search task, and choose a traversal."
        case Plan():
            return (
                "Look at the whole, and say what to look for, how long it lasts, and where to "
                "look first."
            )
        case Look(intervals_s=spans):
            return (
                f"Look at {spans_text(spans)}: keep evidence, note what matters. Search task: "
                f"{task}"
            )
        case Probe(offered=offered):
            return (
                f"Score these {counted(len(offered), 'cell')} of the root grid. Search task: {task}"
            )
        case Step(interval_s=span, depth=depth):
            return (
                f"Explore {span_text(span)} (depth {depth}) and choose an action. Search task: "
                f"{task}"
            )
        case Review(sheet=sheet):
            frames = counted(len(sheet.labels) if sheet else 0, "frame")
            return (
                f"Judge whether the evidence ({frames}) suffices, what to erase, and where to "
                "look next."
            )
        case Vote():
            return "Answer the question, as one vote of several."
        case Decision(sheet=None):
            return "Answer the question."
        case Decision():
            return "Answer the question from the evidence frames."
        case Turn(step=step, intervals_s=spans, told=told):
            where = f" about {spans_text(spans)}" if spans else ""
            return " ".join(filter(None, [f"{step.capitalize()}{where}.", told]))
        case Failure(step=step):
            return f"The call that failed: {TITLES.get(step, step)}."
    return ""


def details(event: Event, question: Question | None = None) -> Iterator[tuple[str, str]]:
    """Yield what an event records beyond its summary, by name; some texts may be empty.

    Args:
        event: The event.
        question: The question of the run, whose choices an answer names by number.
    """
    match event:
        case Start():
            choices = event.question.get("choices")
            yield "choices", "; ".join(map(str, choices)) if isinstance(choices, list) else ""
        case Assign(sorties=sorties):
            for number, each in enumerate(sorties):
                manner = "one look" if each.stretches_s else each.traversal
                words = f"{spans_text(each.spans_s)}, {manner}"
                words += f", at most {counted(each.calls, 'call')}"
                if each.shift:
                    words += ", between the frames that were seen"
                yield f"worker {number}", words
        case Step():
            yield "thought", event.thought
            for item in event.found:
                yield "found", item_text(item)
            marked = counted(len(event.marked), "region")
            yield "marked", f"{marked} as promising" if event.marked else ""
            yield "hints", _hints_text(event.hints)
        case Plan():
            yield "reasoning", event.reasoning
            yield "settled by", SETTLED[event.settled_by]
            for item in event.found:
                yield "found", item_text(item)
            yield "to look at next", _wanted_text(event.wanted_s)
        case Look():
            yield "a frame every", f"{max(event.steps_s):.3g} s or finer"
            for item in event.found:
                yield "found", item_text(item)
            yield "to look at next", _wanted_text(event.wanted_s)
        case Report():
            yield "it ended because", STOPS[event.stop]
            yield "region", "not explored to the end" if event.is_open else "explored to the end"
        case Scout():
            yield f"hints of {event.scout}", _hints_text(event.hints) or event.note
        case Probe():
            yield "reasoning", event.reasoning
            ahead = "workers explore: the next round is scored ahead"
            yield "meanwhile", ahead if event.ahead else ""
        case Review():
            yield "reasoning", event.reasoning
            for judged in event.choices:
                supporting = cited_frames(judged.get("supporting")) or "none"
                contradicting = cited_frames(judged.get("contradicting")) or "none"
                words = f"supporting: {supporting}; contradicting: {contradicting}"
                yield f"choice {judged.get('choice')}", words
            yield "sufficient", "yes" if event.sufficient else "no"
            yield "to look at next", _paths_text(event.queued)
            yield "to look at next", _wanted_text(event.wanted_s)
        case Turn():
            for name, value in event.answer.items():
                yield name.replace("_", " "), value_text(value)
        case Decision(answer=answer) | Vote(answer=answer):
            chosen = answer.get("answer")
            if question is not None and type(chosen) is int and 0 <= chosen < len(question.choices):
                yield "answered", question.choices[chosen]
            yield "reasoning", str(answer.get("reasoning") or "")
            yield "cited evidence", cited_frames(answer.get("supporting"))
    if isinstance(event, Call):
        yield "model's reasoning", event.reasoning_text
        yield "answered by another model", event.answered_by


def cited_frames(cited: Any) -> str:
    """Return the frames that a model cites: labels, or cells where it judged by the root grid."""
    if not isinstance(cited, list):
        return ""
    frames = [f"cell {each}" if isinstance(each, int) else str(each) for each in cited[:MAX_ROWS]]
    return ", ".join(frames)


def cited_labels(answer: dict[str, Any]) -> list[str]:
    """Return the labels of the evidence that a decision cites for its answer or for its choice."""
    weighed = answer.get("weighed")
    judged = [answer]
    if isinstance(weighed, list):
        for each in weighed:
            if isinstance(each, dict) and each.get("choice") == answer.get("answer"):
                judged.append(each)
    labels = list[str]()
    for each in judged:
        cited = each.get("supporting")
        if isinstance(cited, list):
            labels += [label for label in cited if isinstance(label, str)]
    return labels


def item_text(item: Evidence) -> str:
    """Return an item of evidence in words."""
    words = f"{clock(item.timestamp_s)} {item.description} (confidence {percent(item.confidence)})"
    if item.label:
        words = f"[{item.label}] {words}"
    if item.subtitle:
        words += f" – subtitle: {item.subtitle}"
    return words


def counted(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural: 1 frame, 1,200 frames."""
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    """Return a share in [0, 1] in whole percent: 38 %."""
    return f"{100 * share:.0f} %"


def span_text(span: Sequence[float]) -> str:
    """Return the interval [start, end), in seconds, as clock times."""
    return interval(span[0], span[1])


def spans_text(spans: Sequence[Sequence[float]], max_listed: int = MAX_LISTED) -> str:
    """Return intervals in seconds as clock times: the first ones, and how many more there are."""
    return _listed([span_text(span) for span in spans], most=max_listed) or "nothing"


def _wanted_text(spans: Sequence[Sequence[float]]) -> str:
    """Return the stretches to be seen next; "" for none."""
    return spans_text(spans, MAX_ROWS) if spans else ""


def value_text(value: Any, longest: int = 300) -> str:
    """Return a value of a model's answer: a text as it is, else JSON, cut if it is long.

    Args:
        value: The value.
        longest: Characters after which the text is cut.
    """
    text = value
    if not isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else f"{text[:longest]}…"


def _listed(texts: Sequence[str], between: str = ", ", most: int = MAX_LISTED) -> str:
    """Return the first texts, and how many more there are."""
    shown = list(texts[:most])
    if len(texts) > most:
        shown.append(f"and {len(texts) - most:,} more")
    return between.join(shown)


def _labels(items: Sequence[Evidence]) -> str:
    return _listed([f"[{item.label}]" for item in items]) or "no evidence"


def _answer_text(answer: dict[str, Any]) -> str:
    if answer.get("absent") is True:
        return f"answered that it is not there: {answer.get('reasoning', '')}"
    if "answer" in answer:
        given = answer["answer"]
    else:  # a list of intervals, or an answer that is one interval itself
        given = answer.get("intervals", [answer])
    words = given
    if isinstance(given, list):
        try:
            words = spans_text([(each["start_s"], each["end_s"]) for each in given])
        except (KeyError, TypeError):  # a trace from elsewhere may hold any answer
            words = value_text(given)
    return f"answered {words}: {answer.get('reasoning', '')}"


def _paths_text(paths: Sequence[Path]) -> str:
    """Return regions by the cells that lead to them: "cell 3; cell 14 of cell 2"."""
    named = list[str]()
    for path in paths[:MAX_ROWS]:
        cells = [f"cell {cell}" for cell in reversed(path)]
        named.append(" of ".join(cells) or "the whole video")
    return "; ".join(named)


def _hints_text(hints: Sequence[HintRecord]) -> str:
    shown = hints[:MAX_ROWS]
    return "; ".join(f"cell {hint.cell} ({hint.score:.2g}): {hint.reason}" for hint in shown)
