"""The oracle as the controller of a method: each method has a policy of its own.

* `dvd`: browse for the whole, else search, then inspect.
* `videoarm`: the whole, then its halves, then a close look.
* `worldmm`: see `worldmm.turn_reply`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from atlaskit.errors import InputError
from atlaskit.methods.controller import FINISH, ControllerCall
from atlaskit.methods.dvd import BROWSE, INSPECT, MOST_FOUND, SEARCH
from atlaskit.methods.videoarm import ANALYZE, MOST_FRAMES, SNAP, TRANSCRIPT
from atlasworld.oracle import worldmm
from atlasworld.oracle.baselines import words_found
from atlasworld.oracle.inquiry import (
    action,
    beside_of,
    gives_up,
    in_words,
    is_about_many,
    is_settled,
    seen,
)
from atlasworld.oracle.perception import Perception, Replies, describe

FOUND = re.compile(r"best first: ([\d, ]+)\.")
ROW = re.compile(r"^Clip (\d+) \(.*$", re.MULTILINE)
AT_ONCE = 4
"""Clips that are looked at together."""
MOST_LOOKS = 4
"""Inspections before it gives up."""
Range = tuple[int, int]
FINE_S = 1.5
"""Seconds between two frames of a snapshot below which it is not halved."""
QUOTED = re.compile("“(.+)”")
TOO_MUCH = re.compile(r"Name at most (\d+)%")


def dvd_turn(perception: Perception, call: ControllerCall) -> dict[str, Any]:
    """Return the next action, by the question's words and what was told so far."""
    question = call.question
    notes = "\n".join(turn.outcome.text for turn in call.turns)
    taken = [turn.action["action"]["action"] for turn in call.turns]
    found = list(words_found(perception, question, notes))
    if gives_up(perception, call):
        return action("That should be enough.", FINISH)
    if is_about_many(question):
        if BROWSE not in taken:
            return action("This is about more than one moment.", BROWSE, query=question.text)
        if found:
            return action("The archive tells.", FINISH)
    elif is_settled(perception, question, found):
        return action("This settles it.", FINISH)
    descriptions = list(
        dict.fromkeys([question.text, " ".join([question.text, *question.choices])])
    )
    if (searches := taken.count(SEARCH)) < len(descriptions):
        return action(
            "Which clips speak of it?", SEARCH, description=descriptions[searches], k=MOST_FOUND
        )
    if taken.count(INSPECT) < MOST_LOOKS and (clips := _to_inspect(perception, call, notes)):
        ranges = [{"first": clip, "last": clip} for clip in clips]
        return action("The records leave it open.", INSPECT, question=question.text, ranges=ranges)
    return action("Nothing more can be found.", FINISH)


def _to_inspect(perception: Perception, call: ControllerCall, notes: str) -> list[int]:
    """Return a few clips to look at next: those beside an object that was named, then the best."""
    named = [describe(event) for event in perception.targets(call.question)[1:]]
    beside = [
        clip
        for row in ROW.finditer(notes)
        if any(description in row[0] for description in named)
        for clip in (int(row[1]), *beside_of(call.question, int(row[1])))
    ]
    best = [int(clip) for listed in FOUND.findall(notes) for clip in listed.split(", ")]
    done = {
        clip
        for turn in call.turns
        for each in turn.action["action"].get("ranges", ())
        for clip in range(each["first"], each["last"] + 1)
    }
    legal = [
        clip
        for clip in dict.fromkeys([*beside, *best])
        if clip not in done and 0 <= clip < call.clips
    ]
    return legal[:AT_ONCE]


def videoarm_turn(perception: Perception, call: ControllerCall) -> dict[str, Any]:
    """Return the next action, by the question's words, what was told and what the sheets show."""
    question = call.question
    views = call.visible
    now = seen(perception, question, views)
    if now:
        thought = f"I see: {in_words(perception, question, list(now))}."
    else:
        thought = "I see nothing of it."
    notes = "\n".join(f"{turn.action['thought']}\n{turn.outcome.text}" for turn in call.turns)
    found = [*words_found(perception, question, notes), *now]
    analysed = [(each["first"], each["last"]) for each in _ranges(call, ANALYZE)]
    if gives_up(perception, call):
        return action("That should be enough.", FINISH)
    if not is_about_many(question):
        closer = next(_not_in(analysed, _suspected(perception, call, now, notes)), None)
        if closer is not None:
            asked = {"first": closer[0], "last": closer[1]}
            return action(thought, ANALYZE, range=asked, question=question.text)
        if is_settled(perception, question, found):
            return action(thought, FINISH)
        beside = next(_not_in(analysed, _beside(call, now)), None)
        if beside is not None:
            asked = {"first": beside[0], "last": beside[1]}
            return action(thought, ANALYZE, range=asked, question=question.text)
        if (part := _to_hear(call)) is not None:
            return action(thought, TRANSCRIPT, ranges=[{"first": part[0], "last": part[1]}])
    snapped = [(each["first"], each["last"]) for each in _ranges(call, SNAP)]
    part = next((part for part in _parts(call) if part not in snapped), None)
    if part is None:
        return action(thought, FINISH)
    return action(thought, SNAP, ranges=[{"first": part[0], "last": part[1]}], frames=MOST_FRAMES)


def _ranges(call: ControllerCall, tool: str) -> list[Mapping[str, int]]:
    """Return the ranges that were named to a tool, in order."""
    taken = (
        turn.action["action"] for turn in call.turns if turn.action["action"]["action"] == tool
    )
    return list(chain.from_iterable(each.get("ranges") or [each["range"]] for each in taken))


def _suspected(
    perception: Perception, call: ControllerCall, now: Mapping[str, Sequence[float]], notes: str
) -> Iterator[Range]:
    """Return the ranges of clips to look at closely.

    They are where the question's words were heard, and where the sheets show what is wanted; if
    they do not, where they show the scene that the question names.
    """
    if quoted := QUOTED.search(call.question.text):
        heard = re.finditer(rf"^Clip (\d+): .*{re.escape(quoted[1])}", notes, re.MULTILINE)
        yield from (_around(int(each[1]), call.clips) for each in heard)
    yield from (
        _around(_clip_at(call, times_s[len(times_s) // 2]), call.clips) for times_s in now.values()
    )
    if now:
        return
    moments = [moment for view in call.visible for moment in view.moments]
    stretch: list[int] = []
    for moment in moments:
        scene = perception.world.script.scene_at(moment)
        if f"the {scene.place} scene at {scene.light}" in call.question.text:
            stretch.append(_clip_at(call, moment))
        elif stretch:
            yield stretch[0], stretch[-1]
            stretch = []
    if stretch:
        yield stretch[0], stretch[-1]


def _beside(call: ControllerCall, now: Mapping[str, Sequence[float]]) -> Iterator[Range]:
    """Return ranges after an object that the sheets show, or before it, if the question asks so."""
    for times_s in now.values():
        clips = beside_of(call.question, _clip_at(call, times_s[-1]))
        for start in range(0, len(clips), AT_ONCE):
            some = sorted(clips[start : start + AT_ONCE])
            if some[0] < call.clips and some[-1] >= 0:
                yield max(0, some[0]), min(call.clips - 1, some[-1])


def _clip_at(call: ControllerCall, time_s: float) -> int:
    """Return the clip at a time, as far as equal clips tell; the last one may be shorter."""
    return min(int(time_s / call.duration_s * call.clips), call.clips - 1)


def _around(clip: int, clips: int) -> Range:
    return max(0, clip - 1), min(clips - 1, clip + 1)


def _not_in(done: Sequence[Range], ranges: Iterable[Range]) -> Iterator[Range]:
    """Return the ranges that no range before holds."""
    return ((a, b) for a, b in ranges if not any(first <= a and b <= last for first, last in done))


def _to_hear(call: ControllerCall) -> Range | None:
    """Return the next range whose words to hear; None if the question quotes none, or all was."""
    if not QUOTED.search(call.question.text) or all(tool.name != TRANSCRIPT for tool in call.tools):
        return None
    told = [
        turn.outcome.text for turn in call.turns if turn.action["action"]["action"] == TRANSCRIPT
    ]
    if not told:
        return 0, call.clips - 1
    if not (too_much := TOO_MUCH.search(told[0])):
        return None
    # A tenth is spared, since speech is uneven.
    parts = min(call.clips, math.ceil(110 / max(1, int(too_much[1]))))
    return list(_split((0, call.clips - 1), parts))[len(told) - 1] if len(told) <= parts else None


def _parts(call: ControllerCall) -> Iterator[Range]:
    """Return the whole video, its halves, their halves and so on, down to fine ones."""
    level: list[Range] = [(0, call.clips - 1)]
    while level:
        yield from level
        level = [
            half
            for part in level
            if part[0] < part[1]
            and (part[1] - part[0] + 1) / call.clips * call.duration_s / MOST_FRAMES > FINE_S
            for half in _split(part, 2)
        ]


def _split(part: Range, count: int) -> Iterator[Range]:
    """Return equal parts of a range."""
    first = part[0]
    length = part[1] - part[0] + 1
    for number in range(count):
        yield first + number * length // count, first + (number + 1) * length // count - 1


POLICIES: dict[str, Callable[[Perception, ControllerCall], dict[str, Any]]] = {
    "dvd": dvd_turn,
    "videoarm": videoarm_turn,
    "worldmm": worldmm.turn_reply,
}
"""The function that takes a method's turns, by the method's name."""


def controller_reply(perception: Perception, call: ControllerCall) -> dict[str, Any]:
    """Return the next turn of a controller; raise InputError for a method that has no policy."""
    if call.method not in POLICIES:
        raise InputError(
            f"The oracle controls {', '.join(POLICIES)} alone; got {call.method!r:.80}."
        )
    return POLICIES[call.method](perception, call)


REPLIES: Replies = {ControllerCall: controller_reply}
