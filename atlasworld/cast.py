"""`Cast`: the objects, places, captions and spoken lines that a script may use, and their texts.

The texts and their order are frozen: the same seed must always give the same script.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from atlasworld.timeline import COLOURS, LIGHTS, PLACES, SHAPES

MIN_UNSEEN_OBJECTS = 4
"""Smallest number of a cast's objects that never appear; they serve as wrong choices."""

CAPTION_WORDS: tuple[str, ...] = (
    "HARBOR", "LANTERN", "COMPASS", "VELVET", "MARBLE", "THUNDER", "ORCHID", "FALCON", "GRANITE",
    "WHISPER", "CINDER", "MANDOLIN", "CARAVAN", "ANCHOR", "PEPPER", "TIMBER", "SADDLE", "RIBBON",
    "PUZZLE", "BEACON", "WALNUT", "TEMPLE", "MIRROR", "PILGRIM", "BASKET", "DRAGON", "FEATHER",
    "GALAXY", "HAMMER", "ISLAND", "JACKET", "KETTLE", "LADDER", "MAGNET", "NECTAR", "OYSTER",
    "PARROT", "QUARTZ", "ROCKET", "TROLLEY", "TUNNEL", "UMBRELLA", "VIOLIN", "WAGON", "YARROW",
    "ZEPHYR", "ALMANAC", "BAMBOO", "CANDLE", "DOLPHIN", "ECLIPSE", "FIDDLE", "GINGER", "HICKORY",
    "IGLOO", "JUNIPER", "KERNEL", "LOTUS", "MOSAIC", "NUTMEG", "OTTER", "PEBBLE", "RADISH",
    "SPARROW", "TEAPOT", "VOYAGE", "WILLOW",
)  # fmt: skip

EVENT_LINES: tuple[str, ...] = (
    "And there goes {object}, right on time.", "Look closely, {object} has just come in.",
    "Now that is what I call {object}.", "You can clearly see {object} from here.",
    "I did not expect {object} in a place like this.", "Everyone here is talking about {object}.",
    "Hold the camera still, please: {object}!", "They told us to wait for {object}, so we did.",
    "My notes for this part only say {object}.", "Here comes {object}, as promised.",
    "If you blink you will miss {object}.", "What a pleasant surprise, {object}.",
    "Somebody must have let {object} loose.", "The next guest is {object}, ladies and gentlemen.",
    "For a moment we have {object} all to ourselves.",
    "Write this down: {object}, at this very second.", "We travelled a long way to film {object}.",
    "Quiet now, or you will frighten off {object}.", "Oh, would you look at that, {object}.",
    "Not many people have seen {object} out here.", "I will say it once, this is {object}.",
    "The locals have a song about {object}.", "Is it just me, or is that {object}?",
    "Our guide points ahead and whispers: {object}.",
)  # fmt: skip
"""Templates of spoken lines about an event."""
PLACE_LINES: dict[str, tuple[str, ...]] = {
    "snow": ("Fresh snow as far as the eye can see.", "Wrap up warm, the wind is bitter up here."),
    "desert": ("Nothing but dunes and more dunes.", "The sand shifts a little every day."),
    "sea": ("Listen to those waves.", "The tide is on our side today."),
    "forest": ("The air smells of pine and moss.", "Paths in this forest are easy to lose."),
    "city": ("The city never quite goes to sleep.", "So many windows, so many lives."),
    "meadow": ("The grass is soft and full of crickets.", "A gentle breeze runs over the hills."),
    "space": ("It is very quiet up here.", "No wind, no weather, only distance."),
    "canyon": (
        "The river took its time to carve all this.",
        "Every wall here throws back an echo.",
    ),
}
"""Spoken lines that fit one place."""
CALM_LINES: tuple[str, ...] = (
    "Let us stay here for a little while.",
    "I could watch this view all day long.",
    "We are making good progress.",
    "Take a deep breath and enjoy it.",
)
"""Spoken lines that fit any place and mention no event."""


@dataclass(frozen=True)
class Cast:
    """What a script is drawn from: everything that exists, or a part of it.

    Attributes:
        objects: (colour, shape) pairs.
        settings: (place, light) pairs; every place has the same number of lights.
        words: First words of captions.
        event_lines: Templates of spoken lines about an event.
    """

    objects: tuple[tuple[str, str], ...] = tuple(product(COLOURS, SHAPES))
    settings: tuple[tuple[str, str], ...] = tuple(product(PLACES, LIGHTS))
    words: tuple[str, ...] = CAPTION_WORDS
    event_lines: tuple[str, ...] = EVENT_LINES

    @property
    def max_events(self) -> int:
        """Largest number of events in a script, so that some objects never appear."""
        return len(self.objects) - MIN_UNSEEN_OBJECTS

    def without(self, other: Cast) -> Cast:
        """Return the part of this cast that `other` does not contain."""
        return Cast(
            _without(self.objects, other.objects),
            _without(self.settings, other.settings),
            _without(self.words, other.words),
            _without(self.event_lines, other.event_lines),
        )


_Item = TypeVar("_Item", str, tuple[str, str])


def _without(items: tuple[_Item, ...], others: tuple[_Item, ...]) -> tuple[_Item, ...]:
    return tuple(item for item in items if item not in others)


EVERYTHING = Cast()
OBJECT_NAMES = tuple(map(" ".join, EVERYTHING.objects))
"""The name of every object that exists."""
