"""The oracle's replies to calls that several methods make: about frames, captions, stills, text."""

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
from atlasworld.oracle.perception import Perception, Replies, decision_reply, describe, described
from atlasworld.timeline import WorldEvent, names_of

MAX_CITED_CELLS = 8
"""The most cells that a decision about one view cites for each event."""
MAX_SUBJECTS = 8
"""The most subjects in the record of a clip."""


def glance_reply(perception: Perception, call: GlanceCall) -> dict[str, Any]:
    """Return the answer that one view gives."""
    view = call.observation.view
    cells = call.observation.legal["add_to_scratchpad"]
    targets = perception.targets(call.question)
    recognised = perception.recognised(call.question, view, cells, targets)
    for event_cells in recognised.values():
        del event_cells[MAX_CITED_CELLS:]
    return decision_reply(perception, call.question, recognised, can_cite=bool(cells))


def frames_reply(perception: Perception, call: FramesCall) -> dict[str, Any]:
    """Return the answer that several views of sampled frames give."""
    targets = perception.targets(call.question)
    found: dict[str, list[int]] = {}
    for view in call.views:
        found |= perception.recognised(call.question, view, range(view.grid.size), targets)
    return decision_reply(perception, call.question, found, can_cite=False)


def native_reply(perception: Perception, call: NativeCall) -> dict[str, Any]:
    """Return the answer that the frames of a video give."""
    shown = list(map(perception.world.script.event_at, call.clip.times_s))
    found = dict[str, list[int]]()
    chances = perception.chances
    for event in perception.targets(call.question):
        is_missed = chances.misses(call.question, "miss", event.id, 0.0, call.duration_s)
        if event in shown and not is_missed:
            found[event.id] = []
    return decision_reply(perception, call.question, found, can_cite=False)


def caption_reply(perception: Perception, call: CaptionCall) -> dict[str, Any]:
    """Return a caption of the events that a view shows, without knowledge of the question."""
    sentences = described(noticed_events(perception, call.view))
    return {"caption": " ".join(sentences)[:LONGEST_TEXT] or "Nothing but scenery."}


def clip_reply(perception: Perception, call: ClipCall) -> dict[str, Any]:
    """Return the record of a clip, without knowledge of the question."""
    noticed = noticed_events(perception, call.view)[:MAX_SUBJECTS]
    caption = " ".join([scenes_shown(perception, call.view), *described(noticed)])
    subjects = list[dict[str, str]]()
    texts = list[str]()
    for event in noticed:
        subjects.append({"name": event.shape, "appearance": event.colour})
        if event.caption:
            texts.append(event.caption)
    return {
        "caption": caption[:LONGEST_TEXT],
        "subjects": subjects,
        "on_screen_text": " ".join(texts)[:LONGEST_TEXT],
    }


def still_reply(perception: Perception, call: StillCall) -> dict[str, Any]:
    """Return a caption of one frame, without knowledge of the question."""
    script = perception.world.script
    time_s = call.frame.time_s
    sentences = [f"The scene is {script.scene_at(time_s).name}."]
    event = script.event_at(time_s)
    if event is not None and not perception.chances.misses(None, "miss", event.id, time_s):
        sentences.append(f"{describe(event)}.")
        if event.caption:
            sentences.append(f"The text on screen is {event.caption}.")
    return {"caption": " ".join(sentences)[:LONGEST_TEXT]}


def scenes_shown(perception: Perception, view: View) -> str:
    """Return a sentence that names the scenes that a view shows, in order of time."""
    scenes = map(perception.world.script.scene_at, view.moments)
    return f"The scene is {', then '.join(dict.fromkeys(names_of(scenes)))}."


def noticed_events(perception: Perception, view: View) -> list[WorldEvent]:
    """Return the events that a view shows and that are not overlooked, in order of time."""
    grid = view.grid
    noticed = dict[str, WorldEvent]()
    for moment in view.moments:
        event = perception.world.script.event_at(moment)
        if event is None or event.id in noticed:
            continue
        if not perception.chances.misses(None, "miss", event.id, grid.start_s, grid.end_s):
            noticed[event.id] = event
    return list(noticed.values())


def text_reply(perception: Perception, call: TextCall) -> dict[str, Any]:
    """Return the answer that captions and subtitles give; misleading lines are ignored."""
    found = words_found(perception, call.question, call.text)
    return decision_reply(perception, call.question, found, can_cite=False)


def words_found(perception: Perception, question: Question, text: str) -> dict[str, list[Any]]:
    """Return the ids of the wanted events that a text mentions, each with no cells to cite.

    A text mentions an event if it holds the event's description, or a true spoken line about it.
    """
    lines = perception.world.script.lines
    spoken = {line.event for line in lines if line.text in text and not line.misleading}
    found = dict[str, list[Any]]()
    for event in perception.targets(question):
        if describe(event) in text or event.id in spoken:
            found[event.id] = []
    return found


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
