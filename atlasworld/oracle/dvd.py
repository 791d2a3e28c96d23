"""The oracle as controller of `dvd`: browse for the whole, else search, then inspect."""

from __future__ import annotations

import re
from typing import Any

from atlaskit.methods.controller import FINISH, ControllerCall
from atlaskit.methods.dvd import BROWSE, INSPECT, MOST_FOUND, SEARCH
from atlasworld.oracle.baselines import words_found
from atlasworld.oracle.inquiry import action, beside_of, gives_up, is_settled, needs_all
from atlasworld.oracle.perception import Perception, describe

FOUND = re.compile(r"best first: ([\d, ]+)\.")
ROW = re.compile(r"^Clip (\d+) \(.*$", re.MULTILINE)
AT_ONCE = 4
"""Clips that are inspected at once."""
MOST_LOOKS = 4
"""Inspections before it gives up."""


def dvd_turn(perception: Perception, call: ControllerCall) -> dict[str, Any]:
    """Return the next action, by the question's words and what was told so far."""
    question, notes = call.question, "\n".join(turn.outcome.text for turn in call.turns)
    taken = [turn.action["action"]["action"] for turn in call.turns]
    found = list(words_found(perception, question, notes))
    if gives_up(perception, call):
        return action("That should be enough.", FINISH)
    if needs_all(question):
        if BROWSE not in taken:
            return action("This is about more than one moment.", BROWSE, query=question.text)
        if found:
            return action("The archive tells.", FINISH)
    elif is_settled(perception, question, found):
        return action("This settles it.", FINISH)
    descriptions = list(dict.fromkeys([question.text, " ".join([question.text, *question.choices])]))
    if (searches := taken.count(SEARCH)) < len(descriptions):
        return action("Which clips speak of it?", SEARCH, description=descriptions[searches], k=MOST_FOUND)
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
    legal = [clip for clip in dict.fromkeys([*beside, *best]) if clip not in done and 0 <= clip < call.clips]
    return legal[:AT_ONCE]
