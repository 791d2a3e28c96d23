"""The oracle as the controller of a method: each method has a policy of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from atlaskit.errors import InputError
from atlaskit.methods.controller import ControllerCall
from atlasworld.oracle import worldmm
from atlasworld.oracle.dvd import dvd_turn
from atlasworld.oracle.perception import Perception, Replies
from atlasworld.oracle.videoarm import videoarm_turn

POLICIES: dict[str, Callable[[Perception, ControllerCall], dict[str, Any]]] = {
    "dvd": dvd_turn,
    "videoarm": videoarm_turn,
    "worldmm": worldmm.turn_reply,
}
"""The function that takes a method's turns, by the method's name."""


def controller_reply(perception: Perception, call: ControllerCall) -> dict[str, Any]:
    """Return the next turn of a controller; raise InputError for a method that has no policy."""
    if call.method not in POLICIES:
        raise InputError(f"The oracle controls {', '.join(POLICIES)} alone; got {call.method!r:.80}.")
    return POLICIES[call.method](perception, call)


REPLIES: Replies = {ControllerCall: controller_reply}
