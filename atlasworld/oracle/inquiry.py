"""What the oracle makes of texts for a question; what a controller's workers answer (closer looks,
notes, reading), and what controllers go by.

A worker knows what its call shows, and what it is asked only if it is asked one of the world's
questions in the question's own words. A controller goes by the words of its question, by what it
was told, and by the sheets that it sees; it does not know where anything is.
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
from atlasworld.oracle.perception import Perception, Replies, describe
from atlasworld.timeline import WorldEvent

ABOUT_MANY = ("how many times", "appears first", "summarise")
"""Words of questions whose answer no single moment holds."""
CLIPS_BESIDE = 12
"""Clips after an object, or before it, among which to look for the next one."""


def is_about_many(question: Question) -> bool:
    """Return whether a question's words say that moments must be counted, ordered or summed up."""
    return any(words in question.text.lower() for words in ABOUT_MANY)


def bearing_rows(
    perception: Perception, question: Question, rows: Mapping[int, str]
) -> dict[int, str]:
    """Return the rows that hold a wanted event, or the scene or line asked about, by number."""
    script = perception.world.script
    scenes = {
        scene.name
        for scene in script.scenes
        if f"the {scene.place} scene at {scene.light}" in question.text
    }
    named = scenes | {line.text for line in script.lines if line.text in question.text}
    # In ten hours there are thousands of rows and of lines; most rows hold nothing wanted.
    has_wanted = bool(words_found(perception, question, "\n".join(rows.values())))
    return {
        number: row
        for number, row in rows.items()
        if any(words in row for words in named)
        or (has_wanted and words_found(perception, question, row))
    }


def described_in(perception: Perception, text: str) -> list[WorldEvent]:
    """Return the events that a text describes, in order of time."""
    return [event for event in perception.world.script.events if describe(event) in text]


def seen_in(
    perception: Perception, question: Question, views: Iterable[View]
) -> dict[str, list[Any]]:
    """Return the events that views show and that pass for wanted ones, by id."""
    seen: dict[str, list[Any]] = {}
    for view in views:
        seen |= perception.recognised(
            question, view, range(view.grid.size), perception.targets(question)
        )
    return seen


def seen_on(perception: Perception, question: Question, sheet: Sheet) -> dict[str, list[str]]:
    """Return the labels of single frames that show what passes for a wanted event, by its id."""
    seen: dict[str, list[str]] = {}
    wanted = {event.id for event in perception.targets(question)}
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


def told(perception: Perception, ids: Iterable[str]) -> str:
    """Return events by id as sentences, in order of time."""
    wanted = set(ids)
    return " ".join(
        f"{describe(event)}." for event in perception.world.script.events if event.id in wanted
    )


def browse_reply(perception: Perception, call: BrowseCall) -> dict[str, Any]:
    """Return what the captions of many clips tell about a question."""
    question = _asked(perception, call.query)
    ids = words_found(perception, question, call.captions) if question else {}
    return {"answer": _told(perception, question, ids), "found": bool(ids)}


def inspect_reply(perception: Perception, call: InspectCall) -> dict[str, Any]:
    """Return what the frames of some stretches tell about a question."""
    question = _asked(perception, call.query)
    ids = seen(perception, question, call.views) if question else {}
    grade = {"found": bool(ids)} if call.tells == "found" else {"confidence": 0.9 if ids else 0.1}
    return {"answer": _told(perception, question, ids), **grade}


def snapshot_reply(perception: Perception, call: SnapshotCall) -> dict[str, Any]:
    """Return a sentence on what sheets show, without knowledge of the question.

    One sentence holds no more than a few events, spread over those that are noticed.
    """
    events = list(
        {
            event.id: event for view in call.views for event in noticed_events(perception, view)
        }.values()
    )
    if events:
        some = [events[number * len(events) // MAX_SUBJECTS] for number in range(MAX_SUBJECTS)]
    else:
        some = []
    named = dict.fromkeys(describe(event) for event in some)
    return {
        "caption": f"{', then '.join(named)}."[:LONGEST_TEXT] if named else "Nothing but scenery."
    }


def seen(
    perception: Perception, question: Question, views: Sequence[View]
) -> dict[str, list[float]]:
    """Return the times in seconds of frames that show what the oracle takes for wanted events, by
    the event's id.
    """
    times_s: dict[str, list[float]] = {}
    for view in views:
        recognised = perception.recognised(
            question, view, range(view.grid.size), perception.targets(question)
        )
        for id, cells in recognised.items():
            times_s.setdefault(id, []).extend(view.moments[cell] for cell in cells)
    return times_s


def in_words(perception: Perception, question: Question, ids: Sequence[str]) -> str:
    """Return a description of events in order of time; one that was mistaken for a wanted one is
    described as that.
    """
    targets = {event.id: event for event in perception.targets(question)}
    wanted = next(iter(targets.values()))
    events = sorted({targets.get(id, wanted) for id in ids}, key=lambda event: event.start_s)
    return "; ".join(map(describe, events))[:LONGEST_TEXT]


def is_settled(perception: Perception, question: Question, found: Sequence[str]) -> bool:
    """Return whether found events settle a question that a moment answers.

    That is the deciding event, and beside which object it is where the question says so.
    """
    targets: list[WorldEvent] = perception.targets(question)
    needed = targets[:2] if "appears right " in question.text else targets[:1]
    return all(event.id in found for event in needed)


def beside_of(question: Question, clip: int) -> list[int]:
    """Return the clips after one, or before it, nearest first, if the question asks so."""
    side = next(
        (side for side in ("after", "before") if f"appears right {side} " in question.text), ""
    )
    if side:
        return [clip + step * (1 if side == "after" else -1) for step in range(1, CLIPS_BESIDE + 1)]
    return []


def gives_up(perception: Perception, call: ControllerCall) -> bool:
    """Return whether the oracle wrongly believes that it knows enough."""
    return bool(call.turns) and perception.chances.confuses(
        call.question, "finish", call.method, len(call.turns)
    )


def action(thought: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Return a turn."""
    return {"thought": thought[:LONGEST_TEXT], "action": {"action": name, **arguments}}


def _asked(perception: Perception, asked: str) -> Question | None:
    """Return the world's question whose text somebody asks, or None."""
    return max(
        (question for question in perception.world.questions if question.text in asked),
        key=lambda question: len(question.text),
        default=None,
    )


def _told(perception: Perception, question: Question | None, ids: dict[str, Any]) -> str:
    if question and ids:
        return in_words(perception, question, list(ids))
    return "Nothing of that kind."


REPLIES: Replies = {
    InspectCall: inspect_reply,
    BrowseCall: browse_reply,
    SnapshotCall: snapshot_reply,
}
