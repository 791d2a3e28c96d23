"""The agents' memory: the scratchpad of evidence (M+) and the dead zones (M−) (paper §3.1).

Both are immutable values: `add` returns a new one, so that states can be stored, compared and
replayed. This module knows nothing of pixels: the image of an evidence item is, by definition, the
frame at its timestamp.
"""

from __future__ import annotations

import math
import string
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlaskit.environment.question import Span
from atlaskit.errors import InputError

MAX_SHEET_ITEMS = 256
"""Maximum number of evidence frames on one sheet."""


@dataclass(frozen=True)
class Evidence:
    """One item of M+: (image, subtitle, timestamp, confidence, description) (paper §3.1).

    The image is the frame at `timestamp_s`, the representative frame of a cell. The agent named the
    cell while it was visible; it cannot name a time.

    Raises:
        InputError: The confidence lies outside [0, 1], or the timestamp outside the cell.
    """

    __pydantic_config__ = {"extra": "forbid", "strict": True}  # noqa: RUF012  # for reading traces
    timestamp_s: float
    start_s: float
    """Start of the cell in seconds."""
    end_s: float
    """End of the cell in seconds, exclusive."""
    description: str
    confidence: float
    """The agent's confidence, in [0, 1]."""
    subtitle: str = ""
    """Text of the subtitle lines during the cell."""
    label: str = ""
    """Label on the sheet (A, B, …); the scratchpad assigns it when it adds the item."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise InputError(f"A confidence lies in [0, 1]; got {self.confidence}.")
        if not 0.0 <= self.start_s <= self.timestamp_s <= self.end_s:
            raise InputError(
                f"The timestamp of evidence, {self.timestamp_s} s, lies outside its cell, "
                f"[{self.start_s}, {self.end_s}) s."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as values that JSON can hold."""
        return vars(self).copy()


@dataclass(frozen=True)
class Scratchpad:
    """M+, the visual scratchpad: labelled evidence in the order in which it was added (paper §3.1).

    Iteration yields the items, `len` counts them, and `scratchpad["A"]` is the item with label A.
    """

    items: tuple[Evidence, ...] = ()
    labelled: int = 0
    """Number of labels ever assigned, so that the label of an erased item is not reused."""

    def add(self, found: Iterable[Evidence]) -> Scratchpad:
        """Return the scratchpad with more items, each under the next free label.

        Items with equal timestamps show the same frame and become one item: it keeps the position
        and the label of the first, and the description of the most confident.
        """
        items = list(self.items)
        labelled = self.labelled
        positions = {item.timestamp_s: position for position, item in enumerate(items)}
        for item in found:
            position = positions.get(item.timestamp_s)
            if position is None:
                positions[item.timestamp_s] = len(items)
                items.append(replace(item, label=label_of(labelled)))
                labelled += 1
            elif item.confidence > items[position].confidence:
                items[position] = replace(item, label=items[position].label)
        return Scratchpad(tuple(items), labelled)

    def erase(self, labels: Iterable[str]) -> Scratchpad:
        """Return the scratchpad without the items of these labels. Unknown labels are ignored."""
        erased = set(labels)
        return replace(self, items=tuple(i for i in self.items if i.label not in erased))

    def within(self, start_s: float, end_s: float) -> Scratchpad:
        """Return the scratchpad of the items whose timestamp lies in `[start_s, end_s)`."""
        return replace(self, items=tuple(i for i in self.items if start_s <= i.timestamp_s < end_s))

    def surest(self, count: int) -> Scratchpad:
        """Return the scratchpad of the most confident items, in the order in which they were added.

        Args:
            count: Maximum number of items. Of equally confident items the newer one is preferred.
        """
        if len(self.items) <= count:
            return self
        positions = sorted(
            range(len(self.items)), key=lambda index: (-self.items[index].confidence, -index)
        )
        surest = map(self.items.__getitem__, sorted(positions[:count]))
        return replace(self, items=tuple(surest))

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the items, in their order."""
        return tuple(item.label for item in self.items)

    @property
    def times_s(self) -> tuple[float, ...]:
        """Timestamps of the items in seconds, in their order."""
        return tuple(item.timestamp_s for item in self.items)

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, label: str) -> Evidence:
        for item in self.items:
            if item.label == label:
                return item
        known = ", ".join(self.labels) or "none"
        raise InputError(f"There is no evidence [{label}]; the scratchpad has {known}.")


@dataclass(frozen=True)
class Gap:
    """A part of the searched interval without evidence: before, between or after the items."""

    start_s: float
    end_s: float
    """End in seconds, exclusive."""
    after: str = ""
    """Label of the item that precedes the gap; empty at the start of the searched interval."""
    before: str = ""
    """Label of the item that follows the gap; empty at the end of the searched interval."""


def gaps(scratchpad: Scratchpad, zones: DeadZones, within: Span) -> tuple[Gap, ...]:
    """Return the gaps between items of evidence, without dead zones, in order of time (paper §3.2).

    Missing evidence often lies in a gap: between two events, before the first or after the last. A
    dead zone inside a gap splits it.

    Args:
        scratchpad: The evidence.
        zones: The dead zones.
        within: The interval that is searched; all evidence lies in it.
    """
    starts = [(within[0], "")]
    ends = list[tuple[float, str]]()
    for item in sorted(scratchpad, key=lambda item: item.timestamp_s):
        ends.append((item.start_s, item.label))
        starts.append((item.end_s, item.label))
    ends.append((within[1], ""))
    found = list[Gap]()
    for (start_s, after), (end_s, before) in zip(starts, ends, strict=True):
        if start_s < end_s:
            for a, b in zones.outside(start_s, end_s):
                found.append(Gap(a, b, after, before))
    return tuple(found)


def label_of(number: int) -> str:
    """Return the label with this number, counted from 0: A … Z, AA, AB …"""
    label = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        label = string.ascii_uppercase[digit] + label
    return label


@dataclass(frozen=True)
class DeadZones:
    """M−: intervals that were explored without findings (paper §3.1)."""

    intervals: tuple[Span, ...] = ()
    """Sorted intervals `[start_s, end_s)` in seconds; they neither touch nor overlap."""

    def add(self, start_s: float, end_s: float) -> DeadZones:
        """Return the dead zones with `[start_s, end_s)` added.

        Raises:
            InputError: The interval is empty or starts before 0 s.
        """
        return self.add_all([(start_s, end_s)])

    def add_all(self, spans: Iterable[Sequence[float]]) -> DeadZones:
        """Return the dead zones with several intervals `[start_s, end_s)` added; see `add`."""
        intervals = list(self.intervals)
        for start_s, end_s in sorted(map(tuple, spans)):
            if not 0.0 <= start_s < end_s:
                raise InputError(
                    f"[{start_s}, {end_s}) s is not an interval: it must start at 0 s or later "
                    "and end after its start."
                )
            first = bisect_left(intervals, start_s, key=lambda span: span[1])
            last = bisect_right(intervals, end_s, key=lambda span: span[0])
            touching = [(start_s, end_s), *intervals[first:last]]
            union_start_s = min(span[0] for span in touching)
            union_end_s = max(span[1] for span in touching)
            intervals[first:last] = [(union_start_s, union_end_s)]
        return DeadZones(tuple(intervals))

    def without_all(self, spans: Iterable[Span]) -> DeadZones:
        """Return the dead zones without some intervals, which are open again."""
        zones = self
        for start_s, end_s in spans:
            parts = zones.within(0.0, start_s).intervals + zones.within(end_s, math.inf).intervals
            zones = DeadZones(parts)
        return zones

    def covers(self, start_s: float, end_s: float) -> bool:
        """Return whether one dead zone covers all of `[start_s, end_s)`."""
        last = self._last_starting_by(start_s)
        return last is not None and end_s <= last[1]

    def within(self, start_s: float, end_s: float) -> DeadZones:
        """Return the dead zones, clipped to `[start_s, end_s)`."""
        first = bisect_right(self.intervals, start_s, key=lambda span: span[1])
        last = bisect_left(self.intervals, end_s, key=lambda span: span[0])
        clipped = list[Span]()
        for a, b in self.intervals[first:last]:
            part = (max(a, start_s), min(b, end_s))
            if part[0] < part[1]:
                clipped.append(part)
        return DeadZones(tuple(clipped))

    def outside(self, start_s: float, end_s: float) -> tuple[Span, ...]:
        """Return the parts of `[start_s, end_s)` that no dead zone covers, in order of time."""
        dead = self.within(start_s, end_s).intervals
        open_starts = [start_s, *(b for _, b in dead)]
        open_ends = [*(a for a, _ in dead), end_s]
        return tuple((a, b) for a, b in zip(open_starts, open_ends, strict=True) if a < b)

    def contain(self, time_s: float) -> bool:
        """Return whether a time in seconds lies in a dead zone."""
        last = self._last_starting_by(time_s)
        return last is not None and time_s < last[1]

    def _last_starting_by(self, time_s: float) -> Span | None:
        """Return the last interval that starts at or before a time."""
        position = bisect_right(self.intervals, (time_s, math.inf))
        return self.intervals[position - 1] if position else None

    def coverage(self, start_s: float, end_s: float) -> float:
        """Return the fraction of `[start_s, end_s)` that is dead, in [0, 1].

        Raises:
            InputError: The interval is empty.
        """
        if end_s <= start_s:
            raise InputError(
                f"[{start_s}, {end_s}) s is not an interval: it must end after its start."
            )
        dead_s = sum(b - a for a, b in self.within(start_s, end_s).intervals)
        return min(1.0, dead_s / (end_s - start_s))


FINE_ENOUGH = 1.25
"""Parts shown at up to this multiple of a step count as seen at the step, since another look would
show hardly anything new."""


@dataclass(frozen=True)
class Seen:
    """The parts of the video that were shown, and how finely.

    Each moment has the finest step in seconds at which frames around it were shown.
    """

    parts: tuple[tuple[float, float, float], ...] = ()
    """(start_s, end_s, step_s), in order of time; they do not overlap."""

    def add(self, start_s: float, end_s: float, step_s: float) -> Seen:
        """Return the record with `[start_s, end_s)` shown at a step; finer parts are unchanged."""
        first = bisect_right(self.parts, start_s, key=lambda part: part[1])
        last = bisect_left(self.parts, end_s, key=lambda part: part[0])
        parts = list[tuple[float, float, float]]()
        finer = list[Span]()
        for a, b, step in self.parts[first:last]:
            if step <= step_s:
                finer.append((a, b))
                parts.append((a, b, step))
                continue
            if a < start_s:
                parts.append((a, min(b, start_s), step))
            if end_s < b:
                parts.append((max(a, end_s), b, step))
        for a, b in DeadZones().add_all(finer).outside(start_s, end_s):
            parts.append((a, b, step_s))
        before = self.parts[:first]
        after = self.parts[last:]
        # The parts on both sides of the interval may join with new ones.
        changed = _joined([*before[-1:], *sorted(parts), *after[:1]])
        return Seen((*before[:-1], *changed, *after[1:]))

    def at(self, step_s: float) -> DeadZones:
        """Return the intervals seen at a step or finer; DeadZones serves as a set of intervals."""
        limit_s = FINE_ENOUGH * step_s
        return DeadZones().add_all((a, b) for a, b, step in self.parts if step <= limit_s)

    def unseen(self, start_s: float, end_s: float, step_s: float) -> tuple[Span, ...]:
        """Return the parts of `[start_s, end_s)` that were not seen at a step or finer."""
        return self.at(step_s).outside(start_s, end_s)


def _joined(parts: Iterable[tuple[float, float, float]]) -> Iterator[tuple[float, float, float]]:
    """Yield parts in order of time, with those joined that touch and have the same step."""
    last: tuple[float, float, float] | None = None
    for start_s, end_s, step_s in parts:
        if last is not None and last[1] == start_s and last[2] == step_s:
            last = (last[0], end_s, step_s)
            continue
        if last is not None:
            yield last
        last = (start_s, end_s, step_s)
    if last is not None:
        yield last
