"""The oracle's replies to the calls that methods share: frames, captions, records, stills, text."""

from __future__ import annotations

from typing import Any

from atlaskit.agents.prompts import GlanceCall
from atlaskit.agents.schemas import LONGEST_TEXT
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.methods.baselines import CaptionCall, FramesCall
from atlaskit.methods.native import NativeCall
from atlaskit.methods.records import ClipCall, StillCall
from atlaskit.methods.run import EvidenceCall, TextCall
from atlasworld.oracle.perception import Perception, Replies, decision_reply, describe
from atlasworld.timeline import WorldEvent

MAX_CITED_CELLS = 8
"""Number of cells that a decision about one view cites for each event."""
MAX_SUBJECTS = 8
"""Subjects in the record of a clip."""


def glance_reply(perception: Perception, call: GlanceCall) -> dict[str, Any]:
    """Return the answer that one view gives."""
    view = call.observation.view
    cells = call.observation.legal["add_to_scratchpad"]
    recognised = perception.recognised(
        call.question, view, cells, perception.targets(call.question)
    )
    found = {id: of_event[:MAX_CITED_CELLS] for id, of_event in recognised.items()}
    return decision_reply(perception, call.question, found, can_cite=bool(cells))


def frames_reply(perception: Perception, call: FramesCall) -> dict[str, Any]:
    """Return the answer that several views of sampled frames give."""
    targets = perception.targets(call.question)
    found: dict[str, list[int]] = {}
    for view in call.views:
        found |= perception.recognised(call.question, view, range(view.grid.size), targets)
    return decision_reply(perception, call.question, found, can_cite=False)


def native_reply(perception: Perception, call: NativeCall) -> dict[str, Any]:
    """Return the answer that the frames of a video give."""
    shown = {
        event.id
        for time_s in call.clip.times_s
        if (event := perception.world.script.event_at(time_s))
    }
    whole = (0.0, call.duration_s)
    found: dict[str, list[int]] = {
        event.id: []
        for event in perception.targets(call.question)
        if event.id in shown
        and not perception.chances.misses(call.question, "miss", event.id, *whole)
    }
    return decision_reply(perception, call.question, found, can_cite=False)


def caption_reply(perception: Perception, call: CaptionCall) -> dict[str, Any]:
    """Return a caption of the events that a view shows, without knowledge of the question."""
    sentences = [f"{describe(event)}." for event in noticed_events(perception, call.view)]
    return {"caption": " ".join(sentences)[:LONGEST_TEXT] or "Nothing but scenery."}


def clip_reply(perception: Perception, call: ClipCall) -> dict[str, Any]:
    """Return the record of a clip, without knowledge of the question."""
    noticed = noticed_events(perception, call.view)[:MAX_SUBJECTS]
    sentences = [f"{describe(event)}." for event in noticed]
    scenes = dict.fromkeys(
        perception.world.script.scene_at(moment).name for moment in call.view.moments
    )
    return {
        "caption": " ".join([f"The scene is {', then '.join(scenes)}.", *sentences])[:LONGEST_TEXT],
        "subjects": [{"name": event.shape, "appearance": event.colour} for event in noticed],
        "on_screen_text": " ".join(event.caption for event in noticed if event.caption)[
            :LONGEST_TEXT
        ],
    }


def still_reply(perception: Perception, call: StillCall) -> dict[str, Any]:
    """Return a caption of one frame, without knowledge of the question."""
    script = perception.world.script
    time_s = call.frame.time_s
    sentences = [f"The scene is {script.scene_at(time_s).name}."]
    event = script.event_at(time_s)
    if event is not None and not perception.chances.misses(None, "miss", event.id, time_s):
        shows_text = f" The text on screen is {event.caption}." if event.caption else ""
        sentences.append(f"{describe(event)}.{shows_text}")
    return {"caption": " ".join(sentences)[:LONGEST_TEXT]}


def noticed_events(perception: Perception, view: View) -> list[WorldEvent]:
    """Return the events that a view shows and that are not overlooked, in order of time."""
    grid = view.grid
    script = perception.world.script
    visible = {event.id: event for moment in view.moments if (event := script.event_at(moment))}
    return [
        event
        for event in visible.values()
        if not perception.chances.misses(None, "miss", event.id, grid.start_s, grid.end_s)
    ]


def text_reply(perception: Perception, call: TextCall) -> dict[str, Any]:
    """Return the answer that captions, and subtitles that do not mislead, give."""
    return decision_reply(
        perception, call.question, words_found(perception, call.question, call.text), can_cite=False
    )


def words_found(perception: Perception, question: Question, text: str) -> dict[str, list[Any]]:
    """Return the wanted events that a text describes or that its lines speak of, by id."""
    lines = perception.world.script.lines
    spoken = {line.event for line in lines if line.text in text and not line.misleading}
    return {e.id: [] for e in perception.targets(question) if describe(e) in text or e.id in spoken}


def evidence_reply(perception: Perception, call: EvidenceCall) -> dict[str, Any]:
    """Return the answer that notes and frames of some moments give."""
    found = words_found(perception, call.question, call.text)
    targets = perception.targets(call.question)
    for view in call.views:
        found |= perception.recognised(call.question, view, range(view.grid.size), targets)
    return decision_reply(perception, call.question, found, can_cite=False)


REPLIES: Replies = {
    GlanceCall: glance_reply,
    FramesCall: frames_reply,
    NativeCall: native_reply,
    CaptionCall: caption_reply,
    TextCall: text_reply,
    ClipCall: clip_reply,
    EvidenceCall: evidence_reply,
    StillCall: still_reply,
}
