"""The oracle as the controller of a method: each method has a policy of its own.

* `dvd` browses for a question about many moments. Where that is not enough, and for any other
  question, it searches, then inspects clips.
* `videoarm` looks at the whole video, then at its halves and their halves. It looks closely as soon
  as it sees something wanted.
* `worldmm` has its policy in the module of that name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    is_scene_of,
    is_settled,
    notes_of,
    seen,
)
from atlasworld.oracle.perception import Perception, Replies, describe

FOUND = re.compile(r"best first: ([\d, ]+)\.")
"""The clips that the search of `dvd` has found, in the text of its outcome."""
ROW = re.compile(r"^Clip (\d+) \(.*$", re.MULTILINE)
"""The record of one clip in an outcome of `dvd`."""
AT_ONCE = 4
"""The most clips that one close look takes."""
MOST_LOOKS = 4
"""Inspections after which the oracle gives up."""
Range = tuple[int, int]
"""The first and the last clip of a range."""
FINE_S = 1.5
"""A range is halved only if the frames of its snapshot are more than this many seconds apart."""
QUOTED = re.compile("“(.+)”")
"""A spoken line that a question quotes."""
TOO_MUCH = re.compile(r"Name at most (\d+)%")
"""The limit of `videoarm`'s transcripts, in the outcome of a request for more."""


def dvd_turn(perception: Perception, call: ControllerCall) -> dict[str, Any]:
    """Return the next action, by the question's words and the outcomes so far."""
    question = call.question
    notes = notes_of(call)
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
    descriptions = [question.text]
    if question.choices:
        descriptions.append(" ".join([question.text, *question.choices]))
    searches = taken.count(SEARCH)
    if searches < len(descriptions):
        description = descriptions[searches]
        return action("Which clips speak of it?", SEARCH, description=description, k=MOST_FOUND)
    clips = _clips_to_inspect(perception, call, notes)
    if clips and taken.count(INSPECT) < MOST_LOOKS:
        ranges = [{"first": clip, "last": clip} for clip in clips]
        return action("The records leave it open.", INSPECT, question=question.text, ranges=ranges)
    return action("Nothing more can be found.", FINISH)


def _clips_to_inspect(perception: Perception, call: ControllerCall, notes: str) -> list[int]:
    """Return a few clips to inspect next.

    First come the clips that show an object that the question names, each with the clips beside it,
    then those that searches found.
    """
    # In a question about a neighbour, the second target is the object that the question names.
    named = list(map(describe, perception.targets(call.question)[1:]))
    clips = list[int]()
    for row in ROW.finditer(notes):
        if any(description in row[0] for description in named):
            clip = int(row[1])
            clips += [clip, *beside_of(call.question, clip)]
    for found in FOUND.findall(notes):
        clips += map(int, found.split(", "))
    done = set[int]()
    for turn in call.turns:
        for each in turn.action["action"].get("ranges", ()):
            done.update(range(each["first"], each["last"] + 1))
    within = set(range(call.clips)) - done
    return [clip for clip in dict.fromkeys(clips) if clip in within][:AT_ONCE]


def videoarm_turn(perception: Perception, call: ControllerCall) -> dict[str, Any]:
    """Return the next action, by the question's words, the outcomes and the sheets of frames."""
    question = call.question
    views = call.visible
    shown = seen(perception, question, views)
    if shown:
        thought = f"I see: {in_words(perception, question, list(shown))}."
    else:
        thought = "I see nothing of it."
    notes = "\n".join(f"{turn.action['thought']}\n{turn.outcome.text}" for turn in call.turns)
    found = [*words_found(perception, question, notes), *shown]
    analysed = _ranges(call, ANALYZE)
    if gives_up(perception, call):
        return action("That should be enough.", FINISH)
    if not is_about_many(question):
        closer = next(_not_within(analysed, _suspected(perception, call, shown, notes)), None)
        if closer is not None:
            return action(thought, ANALYZE, range=_ends(closer), question=question.text)
        if is_settled(perception, question, found):
            return action(thought, FINISH)
        beside = next(_not_within(analysed, _beside(call, shown)), None)
        if beside is not None:
            return action(thought, ANALYZE, range=_ends(beside), question=question.text)
        unheard = _range_to_hear(call)
        if unheard is not None:
            return action(thought, TRANSCRIPT, ranges=[_ends(unheard)])
    snapped = _ranges(call, SNAP)
    part = next((part for part in _parts(call) if part not in snapped), None)
    if part is None:
        return action(thought, FINISH)
    return action(thought, SNAP, ranges=[_ends(part)], frames=MOST_FRAMES)


def _ends(part: Range) -> dict[str, int]:
    return {"first": part[0], "last": part[1]}


def _ranges(call: ControllerCall, tool: str) -> list[Range]:
    """Return the ranges that earlier turns passed to a tool, in order."""
    ranges = list[Range]()
    for turn in call.turns:
        taken = turn.action["action"]
        if taken["action"] == tool:
            for each in taken.get("ranges") or [taken["range"]]:
                ranges.append((each["first"], each["last"]))
    return ranges


def _suspected(
    perception: Perception, call: ControllerCall, shown: Mapping[str, Sequence[float]], notes: str
) -> Iterator[Range]:
    """Yield the ranges of clips to look at closely.

    First come the clips in which the question's words are spoken, then those in which the sheets
    show a wanted event. If none is shown, the clips of the scene that the question names follow.
    """
    quoted = QUOTED.search(call.question.text)
    if quoted:
        spoken = re.finditer(rf"^Clip (\d+): .*{re.escape(quoted[1])}", notes, re.MULTILINE)
        for row in spoken:
            yield _around(int(row[1]), call.clips)
    for times_s in shown.values():
        yield _around(_clip_at(call, times_s[len(times_s) // 2]), call.clips)
    if shown:
        return
    stretch: list[int] = []
    for view in call.visible:
        for moment in view.moments:
            if is_scene_of(call.question, perception.world.script.scene_at(moment)):
                stretch.append(_clip_at(call, moment))
            elif stretch:
                yield stretch[0], stretch[-1]
                stretch = []
    if stretch:
        yield stretch[0], stretch[-1]


def _beside(call: ControllerCall, shown: Mapping[str, Sequence[float]]) -> Iterator[Range]:
    """Yield ranges after or before an object on the sheets, if the question asks about them."""
    for times_s in shown.values():
        clips = beside_of(call.question, _clip_at(call, times_s[-1]))
        for start in range(0, len(clips), AT_ONCE):
            group = sorted(clips[start : start + AT_ONCE])
            if group[0] < call.clips and group[-1] >= 0:
                yield max(0, group[0]), min(call.clips - 1, group[-1])


def _clip_at(call: ControllerCall, time_s: float) -> int:
    """Return the clip at a time, as if all clips were equally long; the last may be shorter."""
    return min(int(time_s / call.duration_s * call.clips), call.clips - 1)


def _around(clip: int, clips: int) -> Range:
    """Return the range of a clip and its two neighbours, in a video of so many clips."""
    return max(0, clip - 1), min(clips - 1, clip + 1)


def _not_within(done: Sequence[Range], ranges: Iterable[Range]) -> Iterator[Range]:
    """Yield the ranges that no earlier range contains."""
    for first, last in ranges:
        if not any(start <= first and last <= end for start, end in done):
            yield first, last


def _range_to_hear(call: ControllerCall) -> Range | None:
    """Return the next range to transcribe.

    It is None if the question quotes no line, if there are no transcripts, or if all was heard. The
    first request is for the whole video. If that is too much, it is split into parts.
    """
    if not QUOTED.search(call.question.text) or all(tool.name != TRANSCRIPT for tool in call.tools):
        return None
    whole = (0, call.clips - 1)
    heard = [turn for turn in call.turns if turn.action["action"]["action"] == TRANSCRIPT]
    if not heard:
        return whole
    too_much = TOO_MUCH.search(heard[0].outcome.text)
    if not too_much:
        return None
    # A tenth more parts than the limit requires, since speech is uneven.
    count = min(call.clips, math.ceil(110 / max(1, int(too_much[1]))))
    parts = list(_split(whole, count))
    return parts[len(heard) - 1] if len(heard) <= count else None


def _parts(call: ControllerCall) -> Iterator[Range]:
    """Yield the whole video, its halves, their halves and so on, as long as FINE_S allows."""
    level: list[Range] = [(0, call.clips - 1)]
    while level:
        yield from level
        halves = list[Range]()
        for first, last in level:
            seconds = (last - first + 1) / call.clips * call.duration_s
            if first < last and seconds / MOST_FRAMES > FINE_S:
                halves += _split((first, last), 2)
        level = halves


def _split(part: Range, count: int) -> Iterator[Range]:
    """Yield equal parts of a range."""
    first = part[0]
    length = part[1] - part[0] + 1
    for number in range(count):
        yield first + number * length // count, first + (number + 1) * length // count - 1


POLICIES: dict[str, Callable[[Perception, ControllerCall], dict[str, Any]]] = {
    "dvd": dvd_turn,
    "videoarm": videoarm_turn,
    "worldmm": worldmm.turn_reply,
}
"""The function that chooses the next action of a method, by the method's name."""


def controller_reply(perception: Perception, call: ControllerCall) -> dict[str, Any]:
    """Return the next turn of a controller; raise InputError for a method that has no policy."""
    if call.method not in POLICIES:
        raise InputError(
            f"The oracle controls {', '.join(POLICIES)} alone; got {call.method!r:.80}."
        )
    return POLICIES[call.method](perception, call)


REPLIES: Replies = {ControllerCall: controller_reply}
