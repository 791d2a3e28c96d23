"""Several videos, one after the other, as one."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

from atlaskit.errors import FrameError, InputError
from atlaskit.video.readers import TIME_STEP_S, Pixels
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import Lines, Video, _boxed, playlist_fingerprint, read_frames, read_lines


class Playlist(Video):
    """Videos one after the other, as one. Nothing is copied or written; a video may appear many times.

    It is as large as its largest parts; the picture of a smaller or differently shaped one is centred on grey.
    """

    def __init__(self, parts: Sequence[Video], subtitles: Subtitles | None = None) -> None:
        if not parts:
            raise InputError("A playlist needs at least one video.")
        self.parts = tuple(parts)
        *self._starts, end = accumulate((Fraction(part.duration_s) for part in parts), initial=Fraction(0))
        self.duration_s, self.fps = float(end), max(part.fps for part in parts)
        self.size = (max(part.size[0] for part in parts), max(part.size[1] for part in parts))
        names = f"{self.parts[0].name} … {self.parts[-1].name}" if len(parts) > 1 else self.parts[0].name
        self.name = f"playlist of {len(parts)} ({names})"
        self.fingerprint = playlist_fingerprint([part.fingerprint for part in parts])
        if subtitles is None:
            shifted = (
                part.subtitles.shifted(float(start), float(start) + part.duration_s)
                for start, part in zip(self._starts, self.parts, strict=True)
            )
            subtitles = Subtitles.merged(list(shifted))
        self.subtitles = subtitles

    @property
    def frames_decoded(self) -> int:
        """How many frames were decoded of its parts, also for other playlists that share them."""
        return sum(part.frames_decoded for part in {id(part): part for part in self.parts}.values())

    def locate(self, time_s: float) -> tuple[Video, float]:
        """Return the part that has the frame at a time, and the second in it."""
        place, within_s = self._locate(time_s)
        return self.parts[place].locate(within_s)

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Return, for each time, the frame shown then, on a ground of `size` (w, h), or the error in its place."""
        times, (width, height) = self.asked(times_s, size)
        located = [self.locate(time_s) for time_s in times]
        inner = []
        for part, _ in located:
            scale = min(self.size[0] / part.size[0], self.size[1] / part.size[1])
            shown = (part.size[0] * scale / self.size[0] * width, part.size[1] * scale / self.size[1] * height)
            inner.append((max(1, round(shown[0])), max(1, round(shown[1]))))
        frames = read_frames([(part, local_s, fitted) for (part, local_s), fitted in zip(located, inner, strict=True)])
        return [frame if isinstance(frame, FrameError) else _boxed(frame, width, height) for frame in frames]

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe at or before a time, and of the next if it is before `until_s`.

        The first frame of each part is one.
        """
        place, within_s = self._locate(time_s)
        start, part = self._starts[place], self.parts[place]
        before_s, after_s = part.keyframes_around(within_s, float(Fraction(until_s) - start))
        if after_s is not None:
            return float(start + Fraction(before_s)), float(start + Fraction(after_s))
        following = float(self._starts[place + 1]) if place + 1 < len(self.parts) else self.duration_s
        return float(start + Fraction(before_s)), following if following < until_s else None

    def _locate(self, time_s: float) -> tuple[int, float]:
        """Return which part has the frame at a time, and the second in it: its own start, however that was rounded,
        belongs to a part, and its end does not."""
        self.check_time(time_s)
        place = bisect_right(self._starts, Fraction(time_s) + Fraction(TIME_STEP_S)) - 1
        within_s = max(0.0, float(Fraction(time_s) - self._starts[place]))
        return place, min(within_s, math.nextafter(self.parts[place].duration_s, 0))


Source = str | Path | Video


Opener = Callable[[str | Path, Lines, int], Video]
"""From a path, its subtitles, and its place in a list, to a video."""


def playlist_of(sources: Sequence[Source], subtitles: Lines | Sequence[Lines], opener: Opener) -> Playlist:
    """Return the playlist of some videos, each opened once, with subtitles for each or for the whole."""
    if isinstance(subtitles, Sequence) and not isinstance(subtitles, str):
        lines: list[Lines] = list(subtitles)
        if len(lines) != len(sources):
            raise InputError(f"{len(sources)} videos take as many subtitle files (or None), got {len(lines)}.")
        whole = None
    else:
        each, whole = ("embedded", None) if subtitles == "embedded" else (None, subtitles)
        lines = [None if isinstance(source, Video) else each for source in sources]
    opened: dict[tuple[str, str], Video] = {}
    parts: list[Video] = []
    for place, (source, own) in enumerate(zip(sources, lines, strict=True)):
        if isinstance(source, Video):
            check_is_closed(source, own)
            parts.append(source)
            continue
        key = (str(source), str(own) if isinstance(own, (str, Path)) else str(id(own)))
        opened[key] = opened.get(key) or opener(source, own, place)
        parts.append(opened[key])
    playlist = Playlist(parts)
    return playlist if whole is None else Playlist(parts, read_lines(whole, playlist.duration_s))


def check_is_closed(video: Video, subtitles: object) -> None:
    """Raise InputError when subtitles are given for a video that is open already."""
    if subtitles is not None:
        raise InputError(f"{video.name} is open already: give its subtitles when you open it.")


def paths_of(source: str | Path | Sequence[Source]) -> list[str | Path]:
    """Return the paths among some sources, without the videos that are open already."""
    sources = [source] if isinstance(source, (str, Path)) else source
    return [path for path in sources if not isinstance(path, Video)]
