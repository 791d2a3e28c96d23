"""The oracle's replies to the calls of the baselines: frames, captions, text."""

from __future__ import annotations

from typing import Any

from atlaskit.agents.prompts import CaptionCall, FramesCall, GlanceCall, TextCall
from atlaskit.agents.schemas import LONGEST_TEXT
from atlaskit.benchmarks.atlasworld.oracle.answers import decision_reply
from atlaskit.benchmarks.atlasworld.oracle.perception import Perception, describe

MAX_CITED_CELLS = 8
"""Number of cells that a decision about one view cites for each event."""


def glance_reply(perception: Perception, call: GlanceCall) -> dict[str, Any]:
    """Return the answer that one view gives."""
    view, cells = call.observation.view, call.observation.legal.add
    recognised = perception.recognised(call.question, view, cells, perception.targets(call.question))
    found = {id: of_event[:MAX_CITED_CELLS] for id, of_event in recognised.items()}
    return decision_reply(perception, call.question, found, can_cite=bool(cells))


def frames_reply(perception: Perception, call: FramesCall) -> dict[str, Any]:
    """Return the answer that several views of sampled frames give."""
    targets = perception.targets(call.question)
    found: dict[str, list[int]] = {}
    for view in call.views:
        found |= perception.recognised(call.question, view, range(view.grid.size), targets)
    return decision_reply(perception, call.question, found, can_cite=False)


def caption_reply(perception: Perception, call: CaptionCall) -> dict[str, Any]:
    """Return a caption of the events that a view shows, without knowledge of the question."""
    grid, script = call.view.grid, perception.world.script
    visible = {event.id: event for moment in call.view.moments if (event := script.event_at(moment))}
    sentences = [
        f"{describe(event)}."
        for event in visible.values()
        if not perception.chances.misses(None, "miss", event.id, grid.start_s, grid.end_s)
    ]
    return {"caption": " ".join(sentences)[:LONGEST_TEXT] or "Nothing but scenery."}


def text_reply(perception: Perception, call: TextCall) -> dict[str, Any]:
    """Return the answer that captions, and subtitles that do not mislead, give."""
    lines = perception.world.script.lines
    spoken = {line.event for line in lines if line.text in call.text and not line.misleading}
    targets = perception.targets(call.question)
    found = {e.id: list[Any]() for e in targets if describe(e) in call.text or e.id in spoken}
    return decision_reply(perception, call.question, found, can_cite=False)
