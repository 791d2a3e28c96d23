"""What the agents remember: evidence found (M+) and time ruled out (M−), as in the paper's §3.1.

Both are values: adding returns a new one, so a state of the environment can be kept, compared and replayed.
Knows nothing of pixels: the image of an evidence item is, by definition, the frame at its timestamp.
"""

from __future__ import annotations

import math
import string
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlaskit.environment.question import Span
from atlaskit.errors import InputError


@dataclass(frozen=True)
class Evidence:
    """One item of M+: (image, subtitle, timestamp, confidence, description).

    The image is the frame at `timestamp_s`, the representative frame of the cell `[start_s, end_s)` that the
    agent named while it was visible; an agent names cells, never times.
    """

    timestamp_s: float
    start_s: float
    end_s: float
    description: str
    confidence: float
    subtitle: str = ""
    label: str = ""
    """The letters burned into the scratchpad's image; given when the item enters the Master's scratchpad."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise InputError(f"A confidence lies in [0, 1], got {self.confidence}.")
        if not 0.0 <= self.start_s <= self.timestamp_s <= self.end_s:
            raise InputError(
                f"Evidence at {self.timestamp_s} s lies outside its cell, [{self.start_s}, {self.end_s}) s."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the item as plain JSON values."""
        return vars(self).copy()


@dataclass(frozen=True)
class Scratchpad:
    """M+, the visual scratchpad: evidence in the order it was found, each item under a label that never changes."""

    items: tuple[Evidence, ...] = ()
    labelled: int = 0
    """How many labels were ever given, so that an erased label is not used again."""

    def add(self, found: Iterable[Evidence]) -> Scratchpad:
        """Return the scratchpad with the items added and labelled.

        Two items at one timestamp are one frame: the first keeps its place and label, the more confident
        description wins.
        """
        items, labelled = list(self.items), self.labelled
        places = {item.timestamp_s: place for place, item in enumerate(items)}
        for item in found:
            place = places.get(item.timestamp_s)
            if place is None:
                places[item.timestamp_s] = len(items)
                items.append(replace(item, label=label_of(labelled)))
                labelled += 1
            elif item.confidence > items[place].confidence:
                items[place] = replace(item, label=items[place].label)
        return Scratchpad(tuple(items), labelled)

    def erase(self, labels: Iterable[str]) -> Scratchpad:
        """Return the scratchpad without the labelled items; a label that is not there is ignored."""
        gone = set(labels)
        return Scratchpad(tuple(item for item in self.items if item.label not in gone), self.labelled)

    def within(self, start_s: float, end_s: float) -> Scratchpad:
        """Return the items whose frame lies in `[start_s, end_s)`."""
        return Scratchpad(tuple(i for i in self.items if start_s <= i.timestamp_s < end_s), self.labelled)

    def surest(self, count: int) -> Scratchpad:
        """Return the `count` items of the highest confidence, the newer of equals, in the order they were found in."""
        if len(self.items) <= count:
            return self
        best = sorted(range(len(self.items)), key=lambda place: (-self.items[place].confidence, -place))[:count]
        return Scratchpad(tuple(self.items[place] for place in sorted(best)), self.labelled)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in use."""
        return tuple(item.label for item in self.items)

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, label: str) -> Evidence:
        for item in self.items:
            if item.label == label:
                return item
        raise InputError(f"There is no evidence [{label}]; there is {', '.join(self.labels) or 'none'}.")


@dataclass(frozen=True)
class Gap:
    """Time between two frames of evidence that follow one another, or from the video's start or to its end."""

    start_s: float
    end_s: float
    after: str = ""
    """Label of the evidence before it; empty at the video's start."""
    before: str = ""
    """Label of the evidence behind it; empty at the video's end."""


def gaps(scratchpad: Scratchpad, zones: DeadZones, duration_s: float) -> tuple[Gap, ...]:
    """Return what is not ruled out of the gaps between evidence anchors, in order of time (paper §3.2).

    What is next to look at often lies there: between two events, or before the first and after the last. A gap that is
    ruled out in part is several.
    """
    anchors = sorted(scratchpad, key=lambda item: item.timestamp_s)
    edges = [(0.0, ""), *((item.end_s, item.label) for item in anchors)]
    nexts = [*((item.start_s, item.label) for item in anchors), (duration_s, "")]
    return tuple(
        Gap(start_s, end_s, after, before)
        for (a, after), (b, before) in zip(edges, nexts, strict=True)
        if a < b
        for start_s, end_s in zones.outside(a, b)
    )


def label_of(number: int) -> str:
    """Return the label of the item with this number: A … Z, AA, AB …"""
    label = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        label = string.ascii_uppercase[letter] + label
    return label


@dataclass(frozen=True)
class DeadZones:
    """M−: the time that was explored and holds nothing, as sorted intervals that neither touch nor overlap."""

    intervals: tuple[Span, ...] = ()

    def add(self, start_s: float, end_s: float) -> DeadZones:
        """Return the zones with `[start_s, end_s)` ruled out too."""
        if not 0.0 <= start_s < end_s:
            raise InputError(f"[{start_s}, {end_s}) s is not an interval of time.")
        apart = [span for span in self.intervals if span[1] < start_s or end_s < span[0]]
        touching = [span for span in self.intervals if span not in apart]
        merged = (min([start_s, *(a for a, _ in touching)]), max([end_s, *(b for _, b in touching)]))
        return DeadZones(tuple(sorted([*apart, merged])))

    def add_all(self, spans: Iterable[Sequence[float]]) -> DeadZones:
        """Return the zones with several intervals ruled out too."""
        zones = self
        for start_s, end_s in spans:
            zones = zones.add(start_s, end_s)
        return zones

    def covers(self, start_s: float, end_s: float) -> bool:
        """Tell whether all of `[start_s, end_s)` is ruled out."""
        last = self._last(start_s)
        return last is not None and end_s <= last[1]

    def within(self, start_s: float, end_s: float) -> DeadZones:
        """Return the part of the zones that lies in `[start_s, end_s)`."""
        clipped = ((max(a, start_s), min(b, end_s)) for a, b in self.intervals)
        return DeadZones(tuple((a, b) for a, b in clipped if a < b))

    def outside(self, start_s: float, end_s: float) -> tuple[Span, ...]:
        """Return the parts of `[start_s, end_s)` that the zones leave open, in order."""
        edges = [start_s, *(edge for span in self.within(start_s, end_s).intervals for edge in span), end_s]
        return tuple((a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b)

    def hold(self, time_s: float) -> bool:
        """Tell whether a moment is ruled out."""
        last = self._last(time_s)
        return last is not None and time_s < last[1]

    def _last(self, time_s: float) -> Span | None:
        """Return the last interval that begins at a time or before."""
        place = bisect_right(self.intervals, (time_s, math.inf))
        return self.intervals[place - 1] if place else None

    def coverage(self, start_s: float, end_s: float) -> float:
        """Return the fraction of `[start_s, end_s)` that is ruled out, in [0, 1]."""
        if end_s <= start_s:
            raise InputError(f"[{start_s}, {end_s}) s is not an interval of time.")
        return min(1.0, sum(b - a for a, b in self.within(start_s, end_s).intervals) / (end_s - start_s))


MOST_SHOWN = 256
"""Frames of evidence on one sheet."""
