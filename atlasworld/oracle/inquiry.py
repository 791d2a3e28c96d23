"""The oracle's replies as a controller's worker, which inspects frames and reads captions.

A controller is a model that calls tools; its workers carry them out. A worker knows only what its
call shows, and recognises a question only if the query contains the text of one of the world's
questions. A controller knows only its question, the outcomes so far and the sheets that it sees,
not where anything is.

The replies to several methods share the other functions here: which events a text describes, and
which events views show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from atlaskit.agents.schemas import LONGEST_TEXT
from atlaskit.environment.question import Question
from atlaskit.environment.render import Sheet, View
from atlaskit.methods.controller import ControllerCall, InspectCall
from atlaskit.methods.dvd import BrowseCall
from atlaskit.methods.videoarm import SnapshotCall
from atlasworld.oracle.baselines import MAX_SUBJECTS, noticed_events, words_found
from atlasworld.oracle.perception import Perception, Replies, describe, described
from atlasworld.timeline import Scene, WorldEvent, by_id

ABOUT_MANY = ("how many times", "appears first", "summarise")
"""Words of questions that no single moment answers."""
CLIPS_BESIDE = 12
"""Clips to search after, or before, the clip of an object for the next object."""


def is_about_many(question: Question) -> bool:
    """Return whether a question asks to count, order or summarise moments, by its words."""
    return any(words in question.text.lower() for words in ABOUT_MANY)


def bearing_rows(
    perception: Perception, question: Question, rows: Mapping[int, str]
) -> dict[int, str]:
    """Return the rows that bear on a question, by number.

    They describe a wanted event, or contain the scene or the spoken line that the question names.
    """
    script = perception.world.script
    named = {scene.name for scene in script.scenes if is_scene_of(question, scene)}
    named |= {line.text for line in script.lines if line.text in question.text}
    # Ten hours have thousands of rows. If all of them together describe no wanted event, they need
    # not be read one by one.
    has_wanted = bool(words_found(perception, question, "\n".join(rows.values())))
    bearing = dict[int, str]()
    for number, row in rows.items():
        is_named = any(words in row for words in named)
        if is_named or (has_wanted and words_found(perception, question, row)):
            bearing[number] = row
    return bearing


def is_scene_of(question: Question, scene: Scene) -> bool:
    """Return whether a question names a scene."""
    return f"the {scene.place} scene at {scene.light}" in question.text


def described_in(perception: Perception, text: str) -> list[WorldEvent]:
    """Return the events that a text describes, in order of time."""
    return [event for event in perception.world.script.events if describe(event) in text]


def seen_in(
    perception: Perception, question: Question, views: Iterable[View]
) -> dict[str, list[Any]]:
    """Return the events in views that the oracle takes for wanted ones: cells by event id.

    The cells are those of the last view that shows the event.
    """
    seen: dict[str, list[Any]] = {}
    targets = perception.targets(question)
    for view in views:
        seen |= perception.recognised(question, view, range(view.grid.size), targets)
    return seen


def seen_on(perception: Perception, question: Question, sheet: Sheet) -> dict[str, list[str]]:
    """Return the events in evidence that the oracle takes for wanted ones: labels by event id."""
    seen: dict[str, list[str]] = {}
    wanted = by_id(perception.targets(question))
    for item in sheet.scratchpad:
        event = perception.world.script.event_at(item.timestamp_s)
        if event is None:
            continue
        if event.id in wanted:
            is_seen = not perception.chances.misses(question, "miss", event.id, item.timestamp_s)
        else:
            is_seen = perception.chances.confuses(question, "confuse", event.id, item.timestamp_s)
        if is_seen:
            seen.setdefault(event.id, []).append(item.label)
    return seen


def sentences(perception: Perception, ids: Iterable[str]) -> str:
    """Return events by id as sentences, in order of time."""
    return " ".join(described(in_order(perception, ids)))


def in_order(perception: Perception, ids: Iterable[str]) -> list[WorldEvent]:
    """Return events by id, in order of time."""
    wanted = set(ids)
    return [event for event in perception.world.script.events if event.id in wanted]


def browse_reply(perception: Perception, call: BrowseCall) -> dict[str, Any]:
    """Return the answer that the captions of many clips give to a question."""
    question = _question_in(perception, call.query)
    ids = words_found(perception, question, call.captions) if question else {}
    return {"answer": _answer(perception, question, ids), "found": bool(ids)}


def inspect_reply(perception: Perception, call: InspectCall) -> dict[str, Any]:
    """Return the answer that the frames of some stretches give to a question."""
    question = _question_in(perception, call.query)
    ids = seen(perception, question, call.views) if question else {}
    answer = _answer(perception, question, ids)
    if call.judgement == "found":
        return {"answer": answer, "found": bool(ids)}
    return {"answer": answer, "confidence": 0.9 if ids else 0.1}


def snapshot_reply(perception: Perception, call: SnapshotCall) -> dict[str, Any]:
    """Return a sentence on what sheets show, without knowledge of the question.

    The sentence names at most MAX_SUBJECTS of the noticed events, evenly spread over them.
    """
    noticed = dict[str, WorldEvent]()
    for view in call.views:
        noticed |= by_id(noticed_events(perception, view))
    events = list(noticed.values())
    if not events:
        return {"caption": "Nothing but scenery."}
    some = [events[number * len(events) // MAX_SUBJECTS] for number in range(MAX_SUBJECTS)]
    named = dict.fromkeys(map(describe, some))
    return {"caption": f"{', then '.join(named)}."[:LONGEST_TEXT]}


def seen(
    perception: Perception, question: Question, views: Sequence[View]
) -> dict[str, list[float]]:
    """Return the events in views that the oracle takes for wanted ones: seconds by event id."""
    times_s: dict[str, list[float]] = {}
    targets = perception.targets(question)
    for view in views:
        recognised = perception.recognised(question, view, range(view.grid.size), targets)
        for id, cells in recognised.items():
            for cell in cells:
                times_s.setdefault(id, []).append(view.moments[cell])
    return times_s


def in_words(perception: Perception, question: Question, ids: Sequence[str]) -> str:
    """Return a description of events, in order of time.

    An event that was mistaken for a wanted one is described as the wanted one. If the question asks
    about something that the world lacks, there is no wanted event to describe.
    """
    targets = by_id(perception.targets(question))
    if not targets:
        return "what is wanted"
    wanted = next(iter(targets.values()))
    events = sorted({targets.get(id, wanted) for id in ids}, key=lambda event: event.start_s)
    return "; ".join(map(describe, events))[:LONGEST_TEXT]


def is_settled(perception: Perception, question: Question, found: Sequence[str]) -> bool:
    """Return whether the found events suffice to answer a question that one moment answers.

    They must include the deciding event, and its neighbour if the question names one.
    """
    targets: list[WorldEvent] = perception.targets(question)
    needed = targets[:2] if "appears right " in question.text else targets[:1]
    return by_id(needed).keys() <= set(found)


def beside_of(question: Question, clip: int) -> list[int]:
    """Return the clips after or before a clip, as the question asks, nearest first; else []."""
    if "appears right after " in question.text:
        return list(range(clip + 1, clip + CLIPS_BESIDE + 1))
    if "appears right before " in question.text:
        return list(range(clip - 1, clip - CLIPS_BESIDE - 1, -1))
    return []


def gives_up(perception: Perception, call: ControllerCall) -> bool:
    """Return whether the oracle wrongly believes that it knows enough."""
    return bool(call.turns) and perception.chances.confuses(
        call.question, "finish", call.method, len(call.turns)
    )


def notes_of(call: ControllerCall) -> str:
    """Return the outcomes of all turns so far, one after the other."""
    return "\n".join(turn.outcome.text for turn in call.turns)


def action(thought: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Return a controller's turn: a thought and an action with its arguments."""
    return {"thought": thought[:LONGEST_TEXT], "action": {"action": name, **arguments}}


def _question_in(perception: Perception, query: str) -> Question | None:
    """Return the world's question whose text a query contains, or None."""
    contained = [question for question in perception.world.questions if question.text in query]
    return max(contained, key=lambda question: len(question.text), default=None)


def _answer(perception: Perception, question: Question | None, ids: dict[str, Any]) -> str:
    if question and ids:
        return in_words(perception, question, list(ids))
    return "Nothing of that kind."


REPLIES: Replies = {
    InspectCall: inspect_reply,
    BrowseCall: browse_reply,
    SnapshotCall: snapshot_reply,
}
