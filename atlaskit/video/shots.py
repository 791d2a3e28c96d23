"""Shots: where the picture changes, and which frame of a cell is the most informative.

First the container is read (`marks_of`). An encoder marks a change of the picture by a keyframe
before the regular interval between keyframes has passed, or by a packet that is much larger than
those around it. Where the average size of packets changes, the picture may change too.

Then a limited number of frames is examined as thumbnails (`find_shots`). This removes false changes
and finds changes that the container does not mark. A *place* is the time of a frame that may
represent a cell; its rank says how different it is from the film around it. Ranks do not depend on
a grid: a cell shows its place of the highest rank, and when the cell is divided, one of its parts
still shows this place (`Shots.moment`). The result is cached by the content of the video
(`shots_of`).
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
"""The most frames of a video that are examined: twenty for each cell of a root grid with K = 8."""
MOST_REPEATS = 4
"""If a playlist repeats files, equal frames are examined once, so up to this many times MOST_LOOKS
frames are compared."""
DENSEST_S = 0.5
"""Examined frames are at least this far apart where the container marks no change."""
MOST_PLAYED = 128
"""The most examined frames that are no keyframes: to reach one, the decoder must play all frames
from the keyframe on. This many cost twice as much as a root grid of midpoints."""
CHEAP_PX = 64 * 1920 * 1080
"""The most pixels that are examined if the container marks cuts: as many as a root grid of
keyframes has at 1080p."""
FEWEST_LOOKS = 96
"""At least this many frames may be examined, however large they are. With fewer, an insert in a
film of 90 minutes is missed."""
CHEAP_PLAYED = 1 / 32
"""If the container marks cuts, at most this share of the examined frames are no keyframes."""
CERTAIN = 4.0
"""The strength of a certain cut, on the scale of `Marks.changes`."""
LOOKS_AT_ONCE = 64
"""Frames that are decoded between two updates of the progress bar."""
THUMBNAIL = (24, 18)
"""(width, height) in pixels of the frames that are compared."""
BLANK_LEVELS = 8
"""A thumbnail is blank if its pixels differ by at most this much, of 255. A fade or a black frame
differs from everything and shows nothing."""
BRIEF_S = 1.5
"""Shorter shots have a lower rank: a white flash differs from everything, and shows nothing."""
SAME_LEVELS = 1.0
"""Two thumbnails show the same if their mean difference, of 255, is at most this. Two slides of a
lecture differ by 1.5 and more, two frames of one slide with grain by 0.15."""
OTHER_LEVELS = 20.0
"""Two examined frames may have a cut between them if their mean difference is at least this."""
FLASH_S = 0.3
"""A shorter shot is a flash or a flicker, and is ignored."""
FEWEST_MARKS = 3
"""A container marks cuts if at least this many keyframes come before the regular interval has
passed."""
LONG_GOP_SHARE = 1 / 96
"""A gap between keyframes is long if it exceeds this share of the video. If long gaps make up more
than half of the video, any of its frames may be examined: decoding the whole video costs no more
than a few grids of midpoints."""
AROUND = 128
"""A frame is compared with this many examined frames before it, and as many after it."""
DOUBLINGS = 3
"""A rank is the average over this many lengths of film, each twice as long as the one before."""
SHORTEST_S = 4.0
"""The shortest of these lengths is at least this long."""
LONGEST_ENTRY = 4_000_000
"""Larger cache entries, in bytes, are not read. The entry of a film of ten hours with three cuts a
second has a third of this."""
LATEST_S = 1.0
"""A shot is shown in its middle, or this many seconds after its keyframe if that comes earlier, as
fewer frames must be decoded then."""


class Film(Protocol):
    """The part of a video's interface that is used here."""

    name: str
    size: Size
    fingerprint: str
    duration_s: float

    def marks(self) -> Marks:
        """Return the cuts and keyframes that the container marks."""

    def locate(self, time_s: float) -> tuple[Any, float]:
        """Return the file that has the frame at a time, and the second in that file."""

    def try_frames(self, times_s: Sequence[float], size: Size) -> list[FrameOrError]:
        """Return the frame at each time, or its error."""


class Marks(NamedTuple):
    """The cuts and keyframes of a video that its container marks."""

    cuts_s: list[float]
    """Where the encoder detected a change of the picture."""
    keyframes_s: list[float] | None
    """Times of all keyframes; None if every frame costs the same."""
    marks_cuts: bool
    """Whether keyframes follow the picture, and not only a regular interval."""
    changes: list[tuple[float, float]] = []  # noqa: RUF012 - a tuple has no default of its own
    """Where the average size of packets changes, and by how much, as a logarithm."""
    distinct_s: float = np.inf
    """Seconds of film without the repeats of files in a playlist; infinite for a single file."""


@dataclass(frozen=True)
class Shots:
    """The shots of a video, and the places in it that differ from the film around them."""

    cuts_s: tuple[float, ...]
    """Where one shot ends and the next begins, in order."""
    places_s: tuple[float, ...] = ()
    """Times of the frames that may represent a cell, in order."""
    ranks: tuple[float, ...] = ()
    """How different from the film around it each place is, in levels of 255."""
    _by_place: dict[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_place", dict(zip(self.places_s, self.ranks, strict=True)))

    def moment(self, start_s: float, end_s: float) -> float | None:
        """Return the place with the highest rank in `[start_s, end_s)`; None if it holds none.

        Of places with equal ranks, the earliest is returned. It also represents the part that
        contains it when the interval is divided.
        """
        inside_s = self.places_s[
            bisect_left(self.places_s, start_s) : bisect_left(self.places_s, end_s)
        ]
        return max(inside_s, key=lambda place_s: self._by_place[place_s], default=None)

    def around(self, shown_s: float) -> tuple[float, ...]:
        """Return the last cut before a time and the first one after it, if there are any."""
        after = bisect_right(self.cuts_s, shown_s)
        return self.cuts_s[max(0, after - 1) : after + 1]

    def unshown(
        self, start_s: float, end_s: float, shown_s: float
    ) -> tuple[tuple[float, float], ...]:
        """Return the whole shots, (start, end), inside an interval, without the shown one."""
        shots_s = pairwise(self._inside(start_s, end_s))
        return tuple(shot_s for shot_s in shots_s if not shot_s[0] <= shown_s < shot_s[1])

    def hidden(self, start_s: float, end_s: float, shown_s: float) -> tuple[float, ...]:
        """Return the cuts inside an interval, without those around the shown shot."""
        edges_s = self.around(shown_s)
        return tuple(cut_s for cut_s in self._inside(start_s, end_s) if cut_s not in edges_s)

    def _inside(self, start_s: float, end_s: float) -> tuple[float, ...]:
        """Return the cuts inside an interval, without its ends."""
        return self.cuts_s[bisect_right(self.cuts_s, start_s) : bisect_left(self.cuts_s, end_s)]


def _are_shots(_: str, entry: bytes) -> bool:
    return parse_shots(entry) is not None


SHOTS = Kind("shots", 3, _are_shots)
"""The cuts of a video, and the places that differ from the film around them."""


def parse_shots(entry: bytes) -> Shots | None:
    """Return the shots in a cache entry, or None if it holds anything else."""
    if len(entry) > LONGEST_ENTRY:
        return None
    try:
        found = json.loads(entry)
        columns = [tuple(map(float, found[name])) for name in ("cuts_s", "places_s", "ranks")]
        shots = Shots(*columns)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    for times_s in (shots.cuts_s, shots.places_s):
        if list(times_s) != sorted(times_s) or not np.isfinite(times_s).all():
            return None
    if np.isnan(shots.ranks).any():
        return None
    return shots


def shots_of(video: Film, cache: Cache) -> Shots:
    """Return the shots of a video, from a cache or by examining its frames.

    Raises:
        FrameError: A frame could not be read this time.
    """

    def find() -> bytes:
        shots = find_shots(video)
        entry = {"cuts_s": shots.cuts_s, "places_s": shots.places_s, "ranks": shots.ranks}
        found = canonical_json(entry).encode()
        if any(video.locate(place_s)[0].is_stand_in for place_s in shots.places_s):
            return Transient(found)  # the shots of a stand-in are not those of the video
        return found

    entry = cache.remember(
        SHOTS.key(video=video.fingerprint), find, fits=lambda entry: _are_shots("", entry)
    )
    shots = parse_shots(entry)
    assert shots is not None
    return shots


# --- the container

REGULAR_SHARE = 0.6
"""If a larger share of the gaps between keyframes is equal, their length is the regular
interval."""
REACH = 40
"""A packet is compared with this many packets before and after it: two pyramids of B-frames."""
SUDDEN_FACTOR = 2.5
"""A packet that is larger than those around it by more than this factor marks a change."""
LEVEL_S = 0.8
"""Length of film over which the size of packets is averaged."""
LEVEL_FACTOR = 2.5
"""The average size changes if it grows or shrinks by at least this factor."""
BLOCK = 1 << 14
"""Windows that are computed at once, to bound the memory."""


def marks_of(packets: Packets) -> Marks:
    """Return the keyframes of a stream, and the changes that early keyframes and sizes mark."""
    keyframes_s = packets.times_s[packets.are_keyframes]
    every_s = list(map(float, keyframes_s))
    if len(keyframes_s) < 2 or len(keyframes_s) > len(packets.times_s) / 2:
        return Marks([], every_s, False)  # such keyframes say nothing about the picture
    gaps_s = np.diff(keyframes_s)
    values, counts = np.unique(np.round(gaps_s, 1), return_counts=True)
    regular_s = float(gaps_s.max())
    if counts.max() > REGULAR_SHARE * len(gaps_s):
        regular_s = float(values[counts.argmax()])
    early_s = keyframes_s[1:][gaps_s < regular_s - max(0.15, 0.02 * regular_s)]
    excess = _excess(packets)
    # After a change, a packet holds a new picture, and so is not tiny beside a keyframe.
    is_sudden = (excess > SUDDEN_FACTOR) & (packets.sizes > 0.3 * _key_sizes(packets))
    cuts_s = sorted({*map(float, early_s), *map(float, packets.times_s[is_sudden])})
    return Marks(
        cuts_s,
        every_s,
        marks_cuts=len(early_s) >= FEWEST_MARKS,
        changes=_changes(packets, excess),
    )


def _excess(packets: Packets) -> NDArray[np.float32]:
    """Return the size of each packet over the usual size around it; 0 for a keyframe."""
    sizes = np.where(packets.are_keyframes, 0, packets.sizes).astype(np.float32)
    # A few packets around it may mark changes too, so the fourth largest counts as usual.
    windows = np.pad(sizes, REACH)
    usual = _over_windows(
        windows, 2 * REACH + 1, lambda windows: np.partition(windows, -4, axis=1)[:, -4]
    )
    return np.asarray(sizes / np.maximum(usual, 1), np.float32)


def _key_sizes(packets: Packets) -> NDArray[np.float64]:
    """Return the size of the keyframes around each packet, interpolated between them."""
    keys = np.flatnonzero(packets.are_keyframes)
    return np.interp(np.arange(len(packets.sizes)), keys, packets.sizes[keys])


def _changes(packets: Packets, excess: NDArray[np.float32]) -> list[tuple[float, float]]:
    """Return where packets become larger or smaller for some time, and the logarithm of the factor.

    A single packet that is larger than those around it adds the logarithm of its own factor.
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
    found = found[np.diff(found, prepend=-width) >= width]  # the first of several equal steps
    return [(float(times_s[number]), float(steps[number])) for number in found]


def _over_windows(
    values: NDArray[np.float32],
    width: int,
    reduce: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> NDArray[np.float32]:
    """Return one value for each window of `width` values."""
    windows = np.lib.stride_tricks.sliding_window_view(values, width)
    return np.concatenate(
        [reduce(windows[at : at + BLOCK]) for at in range(0, len(windows), BLOCK)]
    )


# --- the frames


class _Piece(NamedTuple):
    """A piece of film without a marked change inside, of which one frame is examined."""

    start_s: float
    end_s: float
    look_s: float
    """Time of the frame that is examined."""
    shown_s: float
    """Time of the frame that may be shown."""


def find_shots(video: Film) -> Shots:
    """Return the shots of a video. At most MOST_LOOKS of its frames are examined.

    Raises:
        FrameError: A frame could not be read this time.
    """
    marks = video.marks()
    repeats = min(MOST_REPEATS, video.duration_s / marks.distinct_s)
    if repeats >= 2:  # most frames repeat others and cost nothing, so many can be compared
        marks = marks._replace(marks_cuts=False)
    most = int(MOST_LOOKS * max(1, repeats))
    most_played = MOST_PLAYED
    if marks.marks_cuts:
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
    cuts_s = _cuts(cuts_s, pieces, pixels, marks.marks_cuts)
    bounds_s = [0.0, *cuts_s, video.duration_s]
    places = dict[float, float]()
    for piece, rank in zip(pieces, ranks, strict=True):
        if rank > SAME_LEVELS and not _is_blank(seen[piece.look_s]):
            places[piece.shown_s] = round(rank * _weight(piece.look_s, bounds_s), 2)
    in_order = sorted(places)
    return Shots(tuple(cuts_s), tuple(in_order), tuple(places[place_s] for place_s in in_order))


def _weight(time_s: float, bounds_s: Sequence[float]) -> float:
    """Return the factor of a frame's rank: less than 1 if its shot is shorter than BRIEF_S."""
    after = min(max(1, bisect_right(bounds_s, time_s)), len(bounds_s) - 1)
    return min(1.0, (bounds_s[after] - bounds_s[after - 1]) / BRIEF_S) ** 2


def _apart(times_s: Sequence[float], duration_s: float) -> list[float]:
    """Return sorted times without those within FLASH_S of an earlier one or an end of the video."""
    apart_s = [0.0]
    for time_s in times_s:
        if apart_s[-1] + FLASH_S <= time_s <= duration_s - FLASH_S:
            apart_s.append(time_s)
    return apart_s[1:]


def _pieces(
    marks: Marks,
    edges_s: list[float],
    strengths: Mapping[float, float],
    most: int,
    most_played: int,
) -> list[_Piece]:
    """Return the pieces of film of which one frame each is examined, in order.

    Args:
        marks: The cuts and keyframes that the container marks.
        edges_s: The marked changes, between the start and the end of the video.
        strengths: The strength of each marked change.
        most: The most frames that are examined.
        most_played: The most of these that are no keyframes.
    """
    duration_s = edges_s[-1]
    stretches = list(pairwise(edges_s))
    if len(stretches) > most:
        stretches = _shortest(stretches, most, duration_s)
    longest_s = np.inf
    if not marks.marks_cuts and len(stretches) < most:
        longest_s = max(DENSEST_S, duration_s / (most - len(stretches)))
    has_long_gops = _has_long_gops(marks, duration_s)
    pieces = []
    played: list[tuple[float, _Piece]] = []
    for start_s, end_s in stretches:
        count = max(1, int((end_s - start_s) // longest_s))
        bounds_s = [start_s + number / count * (end_s - start_s) for number in range(count)]
        bounds_s.append(end_s)
        for first_s, last_s in pairwise(bounds_s):
            middle_s = (first_s + last_s) / 2
            # At which frame exactly a change happens is not known: look a little later.
            unsure_s = FLASH_S if count == 1 and not marks.marks_cuts else 0.0
            from_s = min(middle_s, first_s + unsure_s)
            look_s = _nearest(marks.keyframes_s, from_s, last_s, middle_s)
            if look_s is not None:
                shown_s = look_s
                if look_s < first_s + (last_s - first_s) / 5:
                    # The first frame of a shot may be in the middle of a change.
                    shown_s = min(middle_s, look_s + LATEST_S)
                pieces.append(_Piece(first_s, last_s, look_s, shown_s))
            elif has_long_gops:
                pieces.append(_Piece(first_s, last_s, middle_s, middle_s))
            elif count == 1:  # a whole stretch: parts of one that have no keyframe are left out
                # The ends of the video are no marked changes, and count as certain cuts.
                weight = strengths.get(start_s, CERTAIN) + strengths.get(end_s, CERTAIN)
                played.append((weight, _Piece(first_s, last_s, middle_s, middle_s)))
    played.sort(key=lambda piece: -piece[0])
    return sorted([*pieces, *(piece for _, piece in played[:most_played])])


def _has_long_gops(marks: Marks, duration_s: float) -> bool:
    """Return whether long gaps between keyframes make up most of a video: see LONG_GOP_SHARE."""
    gaps_s = np.diff([0.0, *(marks.keyframes_s or ()), duration_s])
    return bool(gaps_s[gaps_s > LONG_GOP_SHARE * duration_s].sum() > duration_s / 2)


def _shortest(
    stretches: list[tuple[float, float]], most: int, duration_s: float
) -> list[tuple[float, float]]:
    """Return, of each of `most` equal parts of a video, the shortest stretch that begins in it."""
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
    """Return the keyframe of a stretch that is nearest its middle; None if it has no keyframe."""
    if keyframes_s is None:  # every frame costs the same
        return middle_s
    inside_s = keyframes_s[
        bisect_left(keyframes_s, start_s - 1e-6) : bisect_left(keyframes_s, end_s)
    ]
    return min(inside_s, key=lambda time_s: abs(time_s - middle_s), default=None)


def _look_once(video: Film, times_s: list[float]) -> dict[float, Pixels]:
    """Return the thumbnail of each time that can be decoded. Equal frames are decoded once."""
    first_of = dict[tuple[int, float], float]()
    equal_s = dict[float, float]()
    for time_s in times_s:
        part, within_s = video.locate(time_s)
        equal_s[time_s] = first_of.setdefault((id(part), round(within_s, 6)), time_s)
    seen = _look(video, list(first_of.values()))
    return {time_s: seen[first_s] for time_s, first_s in equal_s.items() if first_s in seen}


def _look(video: Film, times_s: list[float]) -> dict[float, Pixels]:
    """Return the thumbnail of each time that can be decoded; show a bar after two seconds."""
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
    """Return how different each piece is from the film around it, averaged over lengths of film.

    For a length L, this is the smallest difference such that the pieces around it that differ from
    it by no more, itself included, last L seconds together. So a shot that is long or repeated has
    a low rank, and a short shot that resembles no other has a high one.
    """
    lengths_s = np.array([piece.end_s - piece.start_s for piece in pieces])
    wanted_s = max(SHORTEST_S, duration_s / MOST_LOOKS) * 2.0 ** np.arange(DOUBLINGS)
    ranks = []
    # All pieces share one buffer, since allocating memory takes longer than comparing.
    buffer = np.empty_like(pixels[: 2 * AROUND + 1])
    for index in range(len(pieces)):
        near = slice(max(0, index - AROUND), index + AROUND + 1)
        unlike = buffer[: len(pixels[near])]
        np.subtract(pixels[near], pixels[index], out=unlike)
        differences = np.abs(unlike, out=unlike).mean(axis=1)
        order = np.argsort(differences, kind="stable")
        covered_s = np.cumsum(lengths_s[near][order])
        reached = np.minimum(np.searchsorted(covered_s, wanted_s, side="right"), len(order) - 1)
        ranks.append(float(differences[order][reached].mean()))
    return ranks


def _cuts(
    cuts_s: list[float], pieces: list[_Piece], pixels: NDArray[np.float32], marks_cuts: bool
) -> list[float]:
    """Return the container's cuts, without false ones, and the cuts that only the frames show.

    A cut is false if the frames before and after it show the same. If the container marks cuts, no
    others are added.
    """
    changed = np.diff(pixels.reshape(len(pixels), -1, 3), axis=0)
    steps = np.abs(changed).mean(axis=(1, 2))
    # A picture that only becomes lighter or darker as a whole is a fade, a flash or a flicker.
    patterns = np.abs(changed - changed.mean(axis=1, keepdims=True)).mean(axis=(1, 2))
    starts_s = [piece.start_s for piece in pieces]
    true_s = list[float]()
    for cut_s in cuts_s:
        after = bisect_left(starts_s, cut_s)
        is_inner = 0 < after < len(pieces)
        is_between = is_inner and pieces[after].start_s == cut_s == pieces[after - 1].end_s
        if not is_between or patterns[after - 1] > SAME_LEVELS:
            true_s.append(cut_s)
    if marks_cuts:
        return true_s
    for number, step in enumerate(steps):
        usual = float(np.median(steps[max(0, number - 8) : number + 9]))
        piece = pieces[number]
        following = pieces[number + 1]
        is_known = any(piece.look_s < cut_s <= following.look_s for cut_s in cuts_s)
        if step > max(OTHER_LEVELS, 3 * usual) and not is_known:
            is_adjacent = following.start_s == piece.end_s
            true_s.append(following.start_s if is_adjacent else following.look_s)
    return sorted(true_s)


def _is_blank(thumbnail: Pixels) -> bool:
    levels = thumbnail.reshape(-1, thumbnail.shape[-1]).astype(np.int32)
    return bool((levels.max(axis=0) - levels.min(axis=0)).max() <= BLANK_LEVELS)
