"""Shots: where the picture changes, and the one frame that a person would want to see of a cell.

First the container is read: keyframes off the regular beat, and packets much larger than those
around them, are where the encoder saw a change; where the size of packets changes its level, there
may be one (`marks_of`). Then a bounded number of frames is looked at as thumbnails. This drops
changes that are none, finds those that the container does not tell, and ranks each place by how
little of the film around it looks alike (`find_shots`). The rank of a place does not depend on any
grid, so a cell shows the highest place in it, and dividing a cell loses none that it showed
(`Shots.moment`). All of it is cached by the content of the video (`shots_of`).
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from atlaskit.caching.cache import Cache, Transient
from atlaskit.caching.keys import Kind, canonical_json
from atlaskit.errors import FrameError
from atlaskit.progress import bar as progress_bar
from atlaskit.video.readers import FrameOrError, Packets, Pixels, Size

MOST_LOOKS = 1280
"""The most frames of a video that are looked at: twenty for each cell of a root grid with K = 8."""
MOST_REPEATS = 4
"""Where a playlist repeats files, so many times more places are compared than frames looked at."""
DENSEST_S = 0.5
"""Frames that are looked at for no reason are so far apart, however short a video is."""
MOST_PLAYED = 128
"""The most of these that are no keyframes, so that the film from the keyframe before is played:
that costs twice as much as a root grid of midpoints."""
CHEAP_PX = 64 * 1920 * 1080
"""Pixels that are looked at where the container tells: as many as a root grid of keyframes has at
1080p, which so costs twice the time."""
FEWEST_LOOKS = 96
"""As many frames are looked at, however large they are: with fewer, an insert of a film of 90
minutes is missed."""
CHEAP_PLAYED = 1 / 32
"""Where the container tells, this share of its frames may be no keyframes."""
CERTAIN = 4.0
"""How strong a change is that is certain, beside the logarithms of `Marks.changes`."""
LOOKS_AT_ONCE = 64
"""Frames that are decoded between two steps of the bar."""
THUMBNAIL = (24, 18)
"""(width, height) in pixels of the frames that are compared."""
BLANK_LEVELS = 8
"""A thumbnail whose pixels differ by no more than this, of 255, is blank: a fade, a black frame.
It differs from everything and shows nothing."""
BRIEF_S = 1.5
"""Seconds below which a shot counts less: a white flash is unlike all, and tells nothing."""
SAME_LEVELS = 1.0
"""Mean difference of two thumbnails, of 255, up to which they show the same, without a cut. Two
slides of a lecture differ by 1.5 and more, the grain of one by 0.15."""
OTHER_LEVELS = 20.0
"""Mean difference from which two frames that were only looked at may have a cut between them."""
FLASH_S = 0.3
"""A shot that is shorter is a flash or a flicker, and no shot."""
FEWEST_MARKS = 3
"""A container tells where cuts are if so many keyframes lie off its beat."""
LONG_GOP_SHARE = 1 / 96
"""Where keyframes lie further apart than this share of a video in half of it, all frames between
them may be looked at: playing all of it costs no more than a few grids of midpoints then."""
AROUND = 128
"""How many frames before and after it a frame is compared with."""
DOUBLINGS = 3
"""Over so many lengths of film, each twice the one before, it is averaged how unlike a place is."""
SHORTEST_S = 4.0
"""The shortest of these lengths."""
LONGEST_ENTRY = 4_000_000
"""Bytes of a cache entry that is read; a film of ten hours, cut thrice a second, has a third."""
LATEST_S = 1.0
"""A shot is shown in its middle, or so many seconds after its keyframe, which costs less."""


class Film(Protocol):
    """What is asked of a video here."""

    name: str
    size: Size
    fingerprint: str
    duration_s: float

    def marks(self) -> Marks:
        """Return what the container tells."""

    def locate(self, time_s: float) -> tuple[Any, float]:
        """Return the file that has the frame at a time, and the second in that file."""

    def try_frames(self, times_s: Sequence[float], size: Size) -> list[FrameOrError]:
        """Return the frame at each time, or why it cannot be read."""


class Marks(NamedTuple):
    """What a container tells of a video without decoding anything."""

    cuts_s: list[float]
    """Where the encoder saw the picture change."""
    keyframes_s: list[float] | None
    """Times of all keyframes; None if every frame costs the same."""
    is_telling: bool
    """Whether its keyframes follow the picture, not only a beat."""
    changes: list[tuple[float, float]] = []  # noqa: RUF012 - a tuple has no default of its own
    """Where the size of its packets changes its level, and by how much."""
    distinct_s: float = np.inf
    """Length of the film in it that differs, if that is less than all: a playlist may repeat a
    file, of which the same frames are looked at once."""


@dataclass(frozen=True)
class Shots:
    """The shots of a video, and which places in it are unlike the rest."""

    cuts_s: tuple[float, ...]
    """Where one shot ends and the next begins, in order."""
    places_s: tuple[float, ...] = ()
    """Times of the frames that may stand for a cell, in order."""
    ranks: tuple[float, ...] = ()
    """How unlike the film around it each place is, in levels of 255."""
    _by_place: dict[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_place", dict(zip(self.places_s, self.ranks, strict=True)))

    def moment(self, start_s: float, end_s: float) -> float | None:
        """Return the place with the highest rank in `[start_s, end_s)`; None if it holds none.

        Of equal ranks the earlier one. A place that stands for a cell stands for the part that has
        it, however the cell is divided.
        """
        inside_s = self.places_s[
            bisect_left(self.places_s, start_s) : bisect_left(self.places_s, end_s)
        ]
        return max(inside_s, key=lambda place_s: self._by_place[place_s], default=None)

    def around(self, shown_s: float) -> tuple[float, ...]:
        """Return the cuts right before and right after a time, as far as there are any."""
        after = bisect_right(self.cuts_s, shown_s)
        return self.cuts_s[max(0, after - 1) : after + 1]

    def unshown(
        self, start_s: float, end_s: float, shown_s: float
    ) -> tuple[tuple[float, float], ...]:
        """Return the shots inside an interval, from cut to cut, but the one that is shown."""
        inside_s = self._inside(start_s, end_s)
        return tuple((a, b) for a, b in pairwise(inside_s) if not a <= shown_s < b)

    def hidden(self, start_s: float, end_s: float, shown_s: float) -> tuple[float, ...]:
        """Return the cuts inside an interval but those around the shot that is shown."""
        edges_s = self.around(shown_s)
        return tuple(cut_s for cut_s in self._inside(start_s, end_s) if cut_s not in edges_s)

    def _inside(self, start_s: float, end_s: float) -> tuple[float, ...]:
        """Return the cuts inside an interval, without its ends."""
        return self.cuts_s[bisect_right(self.cuts_s, start_s) : bisect_left(self.cuts_s, end_s)]


def _are_shots(_: str, entry: bytes) -> bool:
    return parse_shots(entry) is not None


SHOTS = Kind("shots", 3, _are_shots)
"""The cuts of a video, and the places in it that are unlike the rest. Left out: nothing."""


def parse_shots(entry: bytes) -> Shots | None:
    """Return the shots in a cache entry, or None if it holds anything else."""
    if len(entry) > LONGEST_ENTRY:
        return None
    try:
        found = json.loads(entry)
        lists = [
            [float(value) for value in found[name]] for name in ("cuts_s", "places_s", "ranks")
        ]
        shots = Shots(*map(tuple, lists))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    is_sorted = all(
        sorted(times_s) == times_s and not {np.inf, -np.inf} & {*times_s} for times_s in lists[:2]
    )
    if is_sorted and all(value == value for values in lists for value in values):
        return shots
    return None


def shots_of(video: Film, cache: Cache) -> Shots:
    """Return the shots of a video, from a cache or by looking for them.

    Raises:
        FrameError: A frame could not be read this time.
    """

    def find() -> bytes:
        shots = find_shots(video)
        entry = {"cuts_s": shots.cuts_s, "places_s": shots.places_s, "ranks": shots.ranks}
        found = canonical_json(entry).encode()
        is_other = any(video.locate(place_s)[0].is_stand_in for place_s in shots.places_s)
        if is_other:
            return Transient(found)
        return found

    entry = cache.remember(
        SHOTS.key(video=video.fingerprint), find, fits=lambda entry: _are_shots("", entry)
    )
    shots = parse_shots(entry)
    assert shots is not None
    return shots


# --- what the container tells

BEAT_SHARE = 0.6
"""Share of the gaps between keyframes that are equal where they follow a beat."""
REACH = 40
"""Packets before and after one that it is compared with: more than two pyramids of B-frames."""
SUDDEN_FACTOR = 2.5
"""A packet that is larger than those around it by more begins another picture."""
LEVEL_S = 0.8
"""Length of film over which the size of packets is averaged."""
LEVEL_FACTOR = 2.5
"""Their size changes its level by so much or more."""
BLOCK = 1 << 14
"""Windows that are looked at together."""


def marks_of(packets: Packets) -> Marks:
    """Return where a container marks changes: keyframes off its beat, packets that stick out."""
    keyframes_s = packets.times_s[packets.are_keyframes]
    every_s = [float(at) for at in keyframes_s]
    if len(keyframes_s) < 2 or len(keyframes_s) > len(packets.times_s) / 2:
        return Marks([], every_s, False)
    gaps_s = np.diff(keyframes_s)
    values, counts = np.unique(np.round(gaps_s, 1), return_counts=True)
    beat_s = float(
        values[counts.argmax()] if counts.max() > BEAT_SHARE * len(gaps_s) else gaps_s.max()
    )
    off_beat_s = keyframes_s[1:][gaps_s < beat_s - max(0.15, 0.02 * beat_s)]
    excess = _excess(packets)
    sudden_s = packets.times_s[
        (excess > SUDDEN_FACTOR) & (packets.sizes > 0.3 * _key_sizes(packets))
    ]
    cuts_s = sorted({*map(float, off_beat_s), *map(float, sudden_s)})
    return Marks(cuts_s, every_s, len(off_beat_s) >= FEWEST_MARKS, _changes(packets, excess))


def _excess(packets: Packets) -> NDArray[np.float32]:
    """Return by what factor each packet between keyframes is larger than those around it."""
    sizes = np.where(packets.are_keyframes, 0, packets.sizes).astype(np.float32)
    # Of those around a packet, a few may be changes too.
    windows = np.pad(sizes, REACH)
    usual = _over_windows(
        windows, 2 * REACH + 1, lambda windows: np.partition(windows, -4, axis=1)[:, -4]
    )
    return np.asarray(sizes / np.maximum(usual, 1), np.float32)


def _key_sizes(packets: Packets) -> NDArray[np.float64]:
    """Return how large the keyframes around each packet are."""
    keys = np.flatnonzero(packets.are_keyframes)
    return np.interp(np.arange(len(packets.sizes)), keys, packets.sizes[keys])


def _changes(packets: Packets, excess: NDArray[np.float32]) -> list[tuple[float, float]]:
    """Return where packets become larger or smaller for long, and by how much, as a logarithm.

    A packet that is larger than all around it counts too.
    """
    times_s = packets.times_s
    between = np.flatnonzero(~packets.are_keyframes)
    levels = np.interp(
        np.arange(len(times_s)), between, np.log(packets.sizes[between] + 1.0)
    ).astype(np.float32)
    width = max(3, round(LEVEL_S * len(times_s) / max(times_s[-1] - times_s[0], LEVEL_S)))
    medians = _over_windows(
        np.pad(levels, width, mode="edge"), width, lambda windows: np.median(windows, axis=1)
    )
    steps = np.abs(medians[width : width + len(levels)] - medians[: len(levels)])
    steps += np.log(np.maximum(excess, 1))
    highest = _over_windows(
        np.pad(steps, width), 2 * width + 1, lambda windows: windows.max(axis=1)
    )
    found = np.flatnonzero((steps == highest) & (steps > np.log(LEVEL_FACTOR)))
    found = found[np.diff(found, prepend=-width) >= width]  # of several that are equal, the first
    return [(float(times_s[number]), float(steps[number])) for number in found]


def _over_windows(
    values: NDArray[np.float32],
    width: int,
    reduce: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> NDArray[np.float32]:
    """Return one value for each window of so many values; of some windows at a time."""
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    return np.concatenate(
        [reduce(windows[at : at + BLOCK]) for at in range(0, len(windows), BLOCK)]
    )


# --- what the frames tell


class _Piece(NamedTuple):
    """A stretch without a cut inside, of which one frame is looked at."""

    start_s: float
    end_s: float
    look_s: float
    """Time of the frame that is looked at."""
    shown_s: float
    """Time of the frame that may be shown."""


def find_shots(video: Film) -> Shots:
    """Look for the shots of a video; at most MOST_LOOKS frames of it are decoded, and those before.

    Raises:
        FrameError: A frame could not be read this time.
    """
    marks = video.marks()
    repeats = min(MOST_REPEATS, video.duration_s / marks.distinct_s)
    if repeats >= 2:  # then most looks cost nothing
        marks = marks._replace(is_telling=False)
    most = int(MOST_LOOKS * max(1, repeats))
    most_played = MOST_PLAYED
    if marks.is_telling:
        width, height = video.size
        most = max(FEWEST_LOOKS, min(most, CHEAP_PX // (width * height)))
        most_played = int(most * CHEAP_PLAYED)
    cuts_s = _apart(marks.cuts_s, video.duration_s)
    most_changes = min(most // 2, max(0, most - len(cuts_s)))
    changes = sorted(marks.changes, key=lambda change: -change[1])[:most_changes]
    strengths = dict(changes) | dict.fromkeys(cuts_s, CERTAIN)
    edges_s = [0.0, *_apart(sorted(strengths), video.duration_s), video.duration_s]
    pieces = _pieces(marks, edges_s, strengths, most, most_played)

    seen = _look_once(video, [piece.look_s for piece in pieces])
    pieces = [piece for piece in pieces if piece.look_s in seen]
    if not pieces:
        return Shots(tuple(cuts_s))

    pixels = np.array([seen[piece.look_s].ravel() for piece in pieces], np.float32)
    ranks = _ranks(pieces, pixels, video.duration_s)
    cuts_s = _cuts(cuts_s, pieces, pixels, marks.is_telling)
    bounds_s = [0.0, *cuts_s, video.duration_s]
    places = dict[float, float]()
    for piece, rank in zip(pieces, ranks, strict=True):
        if rank > SAME_LEVELS and not _is_blank(seen[piece.look_s]):
            places[piece.shown_s] = round(rank * _weight(piece.look_s, bounds_s), 2)
    in_order = sorted(places)
    return Shots(tuple(cuts_s), tuple(in_order), tuple(places[place_s] for place_s in in_order))


def _weight(time_s: float, bounds_s: Sequence[float]) -> float:
    """Return by how much the rank of a frame counts: less if its shot is too brief to be seen."""
    after = min(max(1, bisect_right(bounds_s, time_s)), len(bounds_s) - 1)
    return min(1.0, (bounds_s[after] - bounds_s[after - 1]) / BRIEF_S) ** 2


def _apart(times_s: Sequence[float], duration_s: float) -> list[float]:
    """Return those of sorted times that are no flash after another, nor at an end of the video."""
    kept_s = [0.0]
    for time_s in times_s:
        if kept_s[-1] + FLASH_S <= time_s <= duration_s - FLASH_S:
            kept_s.append(time_s)
    return kept_s[1:]


def _pieces(
    marks: Marks,
    edges_s: list[float],
    strengths: Mapping[float, float],
    most: int,
    most_played: int,
) -> list[_Piece]:
    """Return the stretches of which one frame each is looked at, in order.

    Args:
        marks: What the container tells.
        edges_s: Where stretches begin and end.
        strengths: How strong a change each edge is but the start and the end of the video.
        most: The most frames that are looked at.
        most_played: The most of these that are no keyframes.
    """
    duration_s = edges_s[-1]
    stretches = list(pairwise(edges_s))
    if len(stretches) > most:
        stretches = _shortest(stretches, most, duration_s)
    longest_s = np.inf
    if not marks.is_telling and len(stretches) < most:
        longest_s = max(DENSEST_S, duration_s / (most - len(stretches)))
    gops_s = np.diff([0.0, *(marks.keyframes_s or ()), duration_s])
    has_long_gops = gops_s[gops_s > LONG_GOP_SHARE * duration_s].sum() > duration_s / 2

    pieces = []
    played: list[tuple[float, _Piece]] = []
    for start_s, end_s in stretches:
        count = max(1, int((end_s - start_s) // longest_s))
        bounds_s = [start_s + number / count * (end_s - start_s) for number in range(count)] + [
            end_s
        ]
        for first_s, last_s in pairwise(bounds_s):
            middle_s = (first_s + last_s) / 2
            # Where a change begins is not known to the frame.
            unsure_s = FLASH_S if count == 1 and not marks.is_telling else 0.0
            look_s = _nearest(
                marks.keyframes_s, min(middle_s, first_s + unsure_s), last_s, middle_s
            )
            if look_s is not None:
                shown_s = look_s
                if (
                    look_s < first_s + (last_s - first_s) / 5
                ):  # not a shot's first frame, which may be half a change
                    shown_s = min(middle_s, look_s + LATEST_S)
                pieces.append(_Piece(first_s, last_s, look_s, shown_s))
            elif has_long_gops:
                pieces.append(_Piece(first_s, last_s, middle_s, middle_s))
            elif count == 1:
                weight = strengths.get(start_s, CERTAIN) + strengths.get(end_s, CERTAIN)
                played.append((weight, _Piece(first_s, last_s, middle_s, middle_s)))
    played.sort(key=lambda piece: -piece[0])
    return sorted([*pieces, *(piece for _, piece in played[:most_played])])


def _shortest(
    stretches: list[tuple[float, float]], most: int, duration_s: float
) -> list[tuple[float, float]]:
    """Return the shortest stretch that begins in each of so many equal parts of a video."""
    shortest = dict[int, tuple[float, float]]()
    for start_s, end_s in stretches:
        part = int(start_s / duration_s * most)
        known_s = shortest.get(part, (0.0, np.inf))
        if end_s - start_s < known_s[1] - known_s[0]:
            shortest[part] = (start_s, end_s)
    return list(shortest.values())


def _nearest(
    keyframes_s: list[float] | None, start_s: float, end_s: float, middle_s: float
) -> float | None:
    """Return the keyframe of a stretch that is nearest its middle, or None if it has none."""
    if keyframes_s is None:
        return middle_s
    inside_s = keyframes_s[
        bisect_left(keyframes_s, start_s - 1e-6) : bisect_left(keyframes_s, end_s)
    ]
    return min(inside_s, key=lambda time_s: abs(time_s - middle_s), default=None)


def _look_once(video: Film, times_s: list[float]) -> dict[float, Pixels]:
    """Return the thumbnail of each time that can be decoded; of equal frames, one is looked at."""
    first_of = dict[tuple[int, float], float]()
    equal_s = dict[float, float]()
    for time_s in times_s:
        part, within_s = video.locate(time_s)
        equal_s[time_s] = first_of.setdefault((id(part), round(within_s, 6)), time_s)
    seen = _look(video, list(first_of.values()))
    return {time_s: seen[first_s] for time_s, first_s in equal_s.items() if first_s in seen}


def _look(video: Film, times_s: list[float]) -> dict[float, Pixels]:
    """Return the thumbnail of each time that can be decoded; with a bar after two seconds."""
    seen: dict[float, Pixels] = {}
    with progress_bar(
        total=len(times_s), desc=f"Looks at {video.name}", unit="frame", delay=2, leave=False
    ) as bar:
        for first in range(0, len(times_s), LOOKS_AT_ONCE):
            some_s = times_s[first : first + LOOKS_AT_ONCE]
            for time_s, frame in zip(some_s, video.try_frames(some_s, THUMBNAIL), strict=True):
                if not isinstance(frame, FrameError):
                    seen[time_s] = frame
                elif not frame.is_lasting:
                    raise frame
            bar.update(len(some_s))
    return seen


def _ranks(pieces: list[_Piece], pixels: NDArray[np.float32], duration_s: float) -> list[float]:
    """Return how unlike the film around it each piece is, averaged over lengths of film.

    For a length of film it is the least difference that so much film around the piece, with itself,
    does not exceed. So what is long, or comes often, is unlike nothing, and what is short and looks
    like nothing else ranks highest, whatever the length of a cell.
    """
    lengths_s = np.array([piece.end_s - piece.start_s for piece in pieces])
    wanted_s = max(SHORTEST_S, duration_s / MOST_LOOKS) * 2.0 ** np.arange(DOUBLINGS)
    ranks = []
    room = np.empty_like(
        pixels[: 2 * AROUND + 1]
    )  # one for all: to get memory anew takes longer than to compare
    for index in range(len(pieces)):
        near = slice(max(0, index - AROUND), index + AROUND + 1)
        unlike = room[: len(pixels[near])]
        np.subtract(pixels[near], pixels[index], out=unlike)
        differences = np.abs(unlike, out=unlike).mean(axis=1)
        order = np.argsort(differences, kind="stable")
        covered_s = np.cumsum(lengths_s[near][order])
        reached = np.minimum(np.searchsorted(covered_s, wanted_s, side="right"), len(order) - 1)
        ranks.append(float(differences[order][reached].mean()))
    return ranks


def _cuts(
    cuts_s: list[float], pieces: list[_Piece], pixels: NDArray[np.float32], is_telling: bool
) -> list[float]:
    """Return the container's cuts between unlike frames, and the cuts that only frames tell."""
    changed = np.diff(pixels.reshape(len(pixels), -1, 3), axis=0)
    steps = np.abs(changed).mean(axis=(1, 2))
    # What only becomes lighter or darker as a whole is a fade, a flash or a flicker.
    patterns = np.abs(changed - changed.mean(axis=1, keepdims=True)).mean(axis=(1, 2))
    starts_s = [piece.start_s for piece in pieces]
    kept_s = list[float]()
    for cut_s in cuts_s:
        after = bisect_left(starts_s, cut_s)
        is_between = (
            0 < after < len(pieces) and pieces[after].start_s == cut_s == pieces[after - 1].end_s
        )
        if not is_between or patterns[after - 1] > SAME_LEVELS:
            kept_s.append(cut_s)
    if is_telling:
        return kept_s
    for number, step in enumerate(steps):
        usual = float(np.median(steps[max(0, number - 8) : number + 9]))
        piece = pieces[number]
        following = pieces[number + 1]
        is_known = any(piece.look_s < cut_s <= following.look_s for cut_s in cuts_s)
        if step > max(OTHER_LEVELS, 3 * usual) and not is_known:
            kept_s.append(
                following.start_s if following.start_s == piece.end_s else following.look_s
            )
    return sorted(kept_s)


def _is_blank(thumbnail: Pixels) -> bool:
    levels = thumbnail.reshape(-1, thumbnail.shape[-1]).astype(np.int32)
    return bool((levels.max(axis=0) - levels.min(axis=0)).max() <= BLANK_LEVELS)
