"""What the oracle makes of texts for a question: what they describe, whether they bear on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from atlaskit.environment.question import Question
from atlaskit.environment.render import Sheet, View
from atlasworld.oracle.baselines import words_found
from atlasworld.oracle.perception import Perception, describe
from atlasworld.timeline import WorldEvent

ABOUT_MANY = ("how many times", "which appears first", "summarise")
"""Words of questions whose answer no single moment holds."""


def is_about_many(question: Question) -> bool:
    """Return whether a question's words say that moments must be counted, ordered or summed up."""
    return any(words in question.text.lower() for words in ABOUT_MANY)


def bearing_rows(perception: Perception, question: Question, rows: Mapping[int, str]) -> dict[int, str]:
    """Return the rows that hold a wanted event, or the scene or line asked about, by number."""
    script = perception.world.script
    scenes = {scene.name for scene in script.scenes if f"the {scene.place} scene at {scene.light}" in question.text}
    named = scenes | {line.text for line in script.lines if line.text in question.text}
    # In ten hours there are thousands of rows and of lines; most rows hold nothing wanted.
    has_wanted = bool(words_found(perception, question, "\n".join(rows.values())))
    return {
        number: row
        for number, row in rows.items()
        if any(words in row for words in named) or (has_wanted and words_found(perception, question, row))
    }


def described_in(perception: Perception, text: str) -> list[WorldEvent]:
    """Return the events that a text describes, in order of time."""
    return [event for event in perception.world.script.events if describe(event) in text]


def seen_in(perception: Perception, question: Question, views: Iterable[View]) -> dict[str, list[Any]]:
    """Return the events that views show and that pass for wanted ones, by id."""
    seen: dict[str, list[Any]] = {}
    for view in views:
        seen |= perception.recognised(question, view, range(view.grid.size), perception.targets(question))
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
    return " ".join(f"{describe(event)}." for event in perception.world.script.events if event.id in wanted)
