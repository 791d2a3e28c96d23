"""Shots: where the picture changes, and the one frame that a person would want to see of a cell.

First the container is read: keyframes off the regular beat, and packets much larger than those
around them, are where the encoder saw a change (`marks_of`). Then a bounded number of frames is
looked at as thumbnails. This drops changes that are none, finds those that the container does not
tell, and ranks each place by how little of the film around it looks alike (`find_shots`). The rank
of a place does not depend on any grid, so a cell shows the highest place in it, and dividing a cell
loses none that it showed (`Shots.moment`). All of it is cached by the content of the video
(`shots_of`).
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from atlaskit.caching.cache import Cache, Transient
from atlaskit.caching.keys import Kind, canonical_json
from atlaskit.errors import FrameError
from atlaskit.video.readers import Packets, Pixels

MOST_LOOKS = 640
"""The most frames of a video that are looked at: ten for each cell of a root grid with K = 8."""
LOOKS_AT_ONCE = 64
"""Frames that are decoded between two steps of the bar."""
THUMBNAIL = (24, 18)
"""(width, height) in pixels of the frames that are compared."""
BLANK_LEVELS = 8
"""A thumbnail whose pixels differ by no more than this, of 255, is blank: a fade, a black frame.
It differs from everything and shows nothing."""
SAME_LEVELS = 6.0
"""Mean difference of two thumbnails, of 255, up to which they show the same, without a cut."""
OTHER_LEVELS = 20.0
"""Mean difference from which two frames that were only looked at may have a cut between them."""
FLASH_S = 0.3
"""A shot that is shorter is a flash or a flicker, and no shot."""
FEWEST_MARKS = 3
"""A container tells where cuts are if so many keyframes lie off its beat."""
LONG_GOP_SHARE = 1 / 96
"""Where keyframes lie further apart than this share of a video, frames between them are looked at:
playing all of it then costs no more than a few grids of midpoints."""
AROUND_S = 300.0
"""How far around a place the film is compared with it."""
DOUBLINGS = 5
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

    @property
    def fingerprint(self) -> str:
        """Hash of the video's content."""

    @property
    def duration_s(self) -> float:
        """Duration in seconds."""

    def marks(self) -> Marks:
        """Return what the container tells."""

    def locate(self, time_s: float) -> tuple[Any, float]:
        """Return the file that has the frame at a time, and the second in that file."""

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int]) -> list[Pixels | FrameError]:
        """Return the frame at each time, or why it cannot be read."""


class Marks(NamedTuple):
    """What a container tells of a video without decoding anything."""

    cuts_s: list[float]
    """Where the encoder saw the picture change."""
    keyframes_s: list[float] | None
    """Times of all keyframes; None if every frame costs the same."""
    is_telling: bool
    """Whether its keyframes follow the picture, not only a beat."""


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
        inside_s = self.places_s[bisect_left(self.places_s, start_s) : bisect_left(self.places_s, end_s)]
        return max(inside_s, key=lambda place_s: self._by_place[place_s], default=None)

    def around(self, shown_s: float) -> tuple[float, ...]:
        """Return the cuts right before and right after a time, as far as there are any."""
        after = bisect_right(self.cuts_s, shown_s)
        return self.cuts_s[max(0, after - 1) : after + 1]

    def hidden(self, start_s: float, end_s: float, shown_s: float) -> tuple[float, ...]:
        """Return the cuts in `[start_s, end_s)` but those around the shot that is shown."""
        edges_s = self.around(shown_s)
        inside_s = self.cuts_s[bisect_left(self.cuts_s, start_s) : bisect_left(self.cuts_s, end_s)]
        return tuple(cut_s for cut_s in inside_s if cut_s not in edges_s)


def _are_shots(_: str, entry: bytes) -> bool:
    return parse_shots(entry) is not None


SHOTS = Kind("shots", 1, _are_shots)
"""The cuts of a video, and the places in it that are unlike the rest. Left out: nothing."""


def parse_shots(entry: bytes) -> Shots | None:
    """Return the shots in a cache entry, or None if it holds anything else."""
    if len(entry) > LONGEST_ENTRY:
        return None
    try:
        found = json.loads(entry)
        lists = [[float(value) for value in found[name]] for name in ("cuts_s", "places_s", "ranks")]
        shots = Shots(*map(tuple, lists))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    is_sorted = all(sorted(times_s) == times_s and not {np.inf, -np.inf} & {*times_s} for times_s in lists[:2])
    return shots if is_sorted and all(value == value for values in lists for value in values) else None


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
        return Transient(found) if is_other else found

    entry = cache.remember(SHOTS.key(video=video.fingerprint), find, fits=lambda entry: _are_shots("", entry))
    shots = parse_shots(entry)
    assert shots is not None
    return shots


# --- what the container tells


def marks_of(packets: Packets) -> Marks:
    """Return where a container marks changes: keyframes off its beat, packets that stick out."""
    times_s = packets.times_s
    keyframes_s = times_s[packets.are_keyframes]
    if len(keyframes_s) < 2 or len(keyframes_s) > len(times_s) / 2:
        return Marks(_sudden(packets), [float(at) for at in keyframes_s], False)
    gaps_s = np.diff(keyframes_s)
    rounded = np.round(gaps_s, 1)
    values, counts = np.unique(rounded, return_counts=True)
    usual_s = values[counts.argmax()] if counts.max() > 0.6 * len(gaps_s) else gaps_s.max()
    slack_s = max(0.15, 0.02 * float(usual_s))
    off_beat_s = keyframes_s[1:][gaps_s < usual_s - slack_s]
    cuts_s = sorted({*map(float, off_beat_s), *_sudden(packets)})
    return Marks(cuts_s, [float(at) for at in keyframes_s], len(off_beat_s) >= FEWEST_MARKS)


def _sudden(packets: Packets, reach: int = 12) -> list[float]:
    """Return the times of packets between keyframes that are much larger than those around them."""
    sizes, are_keyframes = packets.sizes.astype(np.float64), packets.are_keyframes
    if are_keyframes.sum() > len(sizes) / 2 or len(sizes) < 3 * reach:
        return []
    usual = np.where(are_keyframes, np.nan, sizes)
    padded = np.pad(usual, reach, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1)
    order = np.sort(np.where(np.isnan(windows), -1.0, windows), axis=1)
    second = order[:, -2]
    key_sizes = np.interp(np.arange(len(sizes)), np.flatnonzero(are_keyframes), sizes[are_keyframes])
    is_sudden = ~are_keyframes & (sizes > 2.5 * second) & (sizes > 0.3 * key_sizes)
    return [float(at) for at in packets.times_s[is_sudden]]


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
    edges_s = [0.0]
    for cut_s in marks.cuts_s:
        if edges_s[-1] + FLASH_S <= cut_s <= video.duration_s - FLASH_S:
            edges_s.append(cut_s)
    edges_s.append(video.duration_s)
    pieces = _pieces(marks, edges_s, video.duration_s)
    seen = _look(video, [piece.look_s for piece in pieces])
    pieces = [piece for piece in pieces if piece.look_s in seen]
    if not pieces:
        return Shots(tuple(edges_s[1:-1]))
    pixels = np.array([seen[piece.look_s].ravel() for piece in pieces], np.float32)
    ranks = _ranks(pieces, pixels, video.duration_s)
    are_blank = [_is_blank(seen[piece.look_s]) for piece in pieces]
    places = {
        piece.shown_s: round(float(rank), 2)
        for piece, rank, is_blank in zip(pieces, ranks, are_blank, strict=True)
        if rank > SAME_LEVELS and not is_blank
    }
    cuts_s = _cuts(edges_s, pieces, pixels, marks.is_telling)
    return Shots(tuple(cuts_s), tuple(sorted(places)), tuple(places[place_s] for place_s in sorted(places)))


def _pieces(marks: Marks, edges_s: list[float], duration_s: float) -> list[_Piece]:
    """Return the stretches of which one frame each is looked at, in order."""
    shots = list(pairwise(edges_s))
    if len(shots) > MOST_LOOKS:  # those at even places
        starts_s = edges_s[:-1]
        wanted = {bisect_right(starts_s, (n + 0.5) / MOST_LOOKS * duration_s) - 1 for n in range(MOST_LOOKS)}
        shots = [shots[index] for index in sorted(wanted)]
    keyframes_s = marks.keyframes_s
    longest_s = np.inf
    if not marks.is_telling and len(shots) < MOST_LOOKS:
        longest_s = duration_s / (MOST_LOOKS - len(shots))
    gop_s = 0.0
    if keyframes_s is not None:
        gop_s = max(np.diff([*keyframes_s, duration_s]), default=duration_s)
    pieces = []
    for start_s, end_s in shots:
        count = max(1, int((end_s - start_s) // longest_s))
        bounds_s = [start_s + number / count * (end_s - start_s) for number in range(count)] + [end_s]
        for first_s, last_s in pairwise(bounds_s):
            middle_s = (first_s + last_s) / 2
            look_s = _nearest(keyframes_s, first_s, last_s, middle_s)
            if look_s is None and (count == 1 or gop_s > LONG_GOP_SHARE * duration_s):
                look_s = middle_s
            if look_s is None:
                continue
            shown_s = look_s
            if look_s < first_s + (last_s - first_s) / 5:  # not a shot's first frame, which may be half a change
                shown_s = min(middle_s, look_s + LATEST_S)
            pieces.append(_Piece(first_s, last_s, look_s, shown_s))
    return pieces


def _nearest(keyframes_s: list[float] | None, start_s: float, end_s: float, middle_s: float) -> float | None:
    """Return the keyframe of a stretch that is nearest its middle, or None if it has none."""
    if keyframes_s is None:
        return middle_s
    inside_s = keyframes_s[bisect_left(keyframes_s, start_s - 1e-6) : bisect_left(keyframes_s, end_s)]
    return min(inside_s, key=lambda time_s: abs(time_s - middle_s), default=None)


def _look(video: Film, times_s: list[float]) -> dict[float, Pixels]:
    """Return the thumbnail of each time that can be decoded; with a bar after two seconds."""
    from tqdm.auto import tqdm

    seen: dict[float, Pixels] = {}
    with tqdm(total=len(times_s), desc=f"Looks at {video.name}", unit="frame", delay=2, leave=False) as bar:
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
    looks_s = np.array([piece.look_s for piece in pieces])
    lengths_s = np.array([piece.end_s - piece.start_s for piece in pieces])
    shortest_s = max(SHORTEST_S, duration_s / MOST_LOOKS)
    wanted_s = shortest_s * 2.0 ** np.arange(DOUBLINGS)
    around_s = max(AROUND_S, 32 * duration_s / MOST_LOOKS)
    ranks = []
    room = np.empty_like(pixels)  # one for all: to get megabytes anew for each frame takes longer than to compare
    for index, at_s in enumerate(looks_s):
        first, last = np.searchsorted(looks_s, [at_s - around_s, at_s + around_s])
        near = slice(int(first), max(int(last), index + 1))
        unlike = room[: near.stop - near.start]
        np.subtract(pixels[near], pixels[index], out=unlike)
        differences = np.abs(unlike, out=unlike).mean(axis=1)
        order = np.argsort(differences, kind="stable")
        covered_s = np.cumsum(lengths_s[near][order])
        reached = np.minimum(np.searchsorted(covered_s, wanted_s, side="right"), len(order) - 1)
        ranks.append(float(differences[order][reached].mean()))
    return ranks


def _cuts(edges_s: list[float], pieces: list[_Piece], pixels: NDArray[np.float32], is_telling: bool) -> list[float]:
    """Return the container's cuts between unlike frames, and the cuts that only frames tell."""
    steps = np.abs(np.diff(pixels, axis=0)).mean(axis=1)
    starts_s, cuts_s = [piece.start_s for piece in pieces], list[float]()
    for cut_s in edges_s[1:-1]:
        after = bisect_left(starts_s, cut_s)
        is_between = 0 < after < len(pieces) and pieces[after].start_s == cut_s == pieces[after - 1].end_s
        if not is_between or steps[after - 1] > SAME_LEVELS:
            cuts_s.append(cut_s)
    if is_telling:
        return cuts_s
    known = {*edges_s}
    for number, step in enumerate(steps):
        usual = float(np.median(steps[max(0, number - 8) : number + 9]))
        is_known = any(pieces[number].look_s < cut_s <= pieces[number + 1].look_s for cut_s in known)
        if step > max(OTHER_LEVELS, 3 * usual) and not is_known:
            cuts_s.append(pieces[number + 1].look_s)
    return sorted(cuts_s)


def _is_blank(thumbnail: Pixels) -> bool:
    levels = thumbnail.reshape(-1, thumbnail.shape[-1]).astype(np.int32)
    return bool((levels.max(axis=0) - levels.min(axis=0)).max() <= BLANK_LEVELS)
