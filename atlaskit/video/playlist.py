"""`Playlist`: several videos, one after another, as one video with shifted times and lines."""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from atlaskit.errors import FrameError, InputError
from atlaskit.video.names import playlist_fingerprint
from atlaskit.video.readers import TIME_STEP_S, FrameOrError, Size, letterboxed
from atlaskit.video.shots import Marks
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import Video, read_frames

VideoSource: TypeAlias = "str | os.PathLike[str] | Video"
"""A video file, or a video that is open."""
AnyVideo: TypeAlias = "VideoSource | Sequence[VideoSource]"
"""A video, or a list of videos that play one after the other."""


class Playlist(Video):
    """Videos played one after the other, as one video.

    Nothing is copied or written, and a video may appear many times. The playlist is as wide and as
    high as its largest parts; smaller frames are enlarged to fit, and centred on grey if their
    shape differs.

    Args:
        parts: The videos, in order.
        subtitles: The lines of the whole playlist; None to join the lines of its parts.

    Raises:
        InputError: `parts` is empty.
    """

    def __init__(self, parts: Sequence[Video], subtitles: Subtitles | None = None) -> None:
        if not parts:
            raise InputError("A playlist needs at least one video.")
        self.parts = tuple(parts)
        lengths = [Fraction(part.duration_s) for part in parts]
        bounds = list(accumulate(lengths, initial=Fraction(0)))
        self._part_starts = bounds[:-1]
        self.duration_s = float(bounds[-1])
        self.fps = max(part.fps for part in parts)
        widths, heights = zip(*(part.size for part in parts), strict=True)
        self.size = (max(widths), max(heights))
        if len(parts) > 1:
            names = f"{self.parts[0].name} … {self.parts[-1].name}"
        else:
            names = self.parts[0].name
        self.name = f"playlist of {len(parts)} ({names})"
        self.fingerprint = playlist_fingerprint([part.fingerprint for part in parts])
        if subtitles is None:
            shifted = []
            for start_s, part in zip(self.starts_s, self.parts, strict=True):
                shifted.append(part.subtitles.shifted(start_s, start_s + part.duration_s))
            subtitles = Subtitles.merged(shifted)
        self.subtitles = subtitles
        self._cache = self.parts[0]._cache

    @property
    def _videos(self) -> list[Video]:
        """The distinct videos among the parts."""
        return list({id(part): part for part in self.parts}.values())

    @property
    def frames_decoded(self) -> int:
        """Number of frames of the parts decoded so far, also through other playlists."""
        return sum(video.frames_decoded for video in self._videos)

    @property
    def decoding_s(self) -> float:
        """Seconds spent on decoding the parts so far, also through other playlists."""
        return sum(video.decoding_s for video in self._videos)

    @property
    def starts_s(self) -> tuple[float, ...]:
        """The second at which each part starts."""
        return tuple(map(float, self._part_starts))

    def locate(self, time_s: float) -> tuple[Video, float]:
        """Return the file that has the frame at a time, and the second in that file."""
        index, within_s = self._locate(time_s)
        return self.parts[index].locate(within_s)

    def try_frames(self, times_s: Sequence[float], size: Size | None = None) -> list[FrameOrError]:
        """Return the frame shown at each time, centred on `size` (w, h), or its error."""
        times, (width, height) = self.check_request(times_s, size)
        requests = []
        for part, within_s in map(self.locate, times):
            scale = min(self.size[0] / part.size[0], self.size[1] / part.size[1])
            fitted_width = round(part.size[0] * scale / self.size[0] * width)
            fitted_height = round(part.size[1] * scale / self.size[1] * height)
            requests.append((part, within_s, (max(1, fitted_width), max(1, fitted_height))))
        frames = []
        for frame in read_frames(requests):
            if not isinstance(frame, FrameError):
                frame = letterboxed(frame, (width, height))
            frames.append(frame)
        return frames

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe up to `time_s` and of the next before `until_s`.

        The first frame of each part is a keyframe.
        """
        index, within_s = self._locate(time_s)
        start = self._part_starts[index]
        part = self.parts[index]
        before_s, after_s = part.keyframes_around(within_s, float(Fraction(until_s) - start))
        last_s = float(start + Fraction(before_s))
        if after_s is not None:
            return last_s, float(start + Fraction(after_s))
        if index + 1 < len(self.parts):
            next_start_s = float(self._part_starts[index + 1])
            if next_start_s < until_s:
                return last_s, next_start_s
        return last_s, None

    def marks(self) -> Marks:
        """Return the cuts and keyframes of all parts. There is a cut between two parts."""
        of_part = dict[int, Marks]()
        cuts_s: list[float] = []
        keyframes_s: list[float] = []
        changes: list[tuple[float, float]] = []
        for part, start in zip(self.parts, self._part_starts, strict=True):
            if id(part) not in of_part:
                of_part[id(part)] = part.marks()
            marks = of_part[id(part)]
            start_s = float(start)
            cuts_s += [start_s, *(start_s + cut_s for cut_s in marks.cuts_s)]
            for change_s, strength in marks.changes:
                changes.append((start_s + change_s, strength))
            inner_s = marks.keyframes_s
            if inner_s is None:  # every frame of this part costs the same: take one a second
                inner_s = np.arange(0.0, part.duration_s, 1.0).tolist()
            keyframes_s += [start_s + time_s for time_s in inner_s if time_s < part.duration_s]
        cost_the_same = all(marks.keyframes_s is None for marks in of_part.values())
        return Marks(
            cuts_s[1:],
            None if cost_the_same else keyframes_s,
            marks_cuts=all(marks.marks_cuts for marks in of_part.values()),
            changes=changes,
            distinct_s=sum(video.duration_s for video in self._videos),
        )

    def _locate(self, time_s: float) -> tuple[int, float]:
        """Return the index of the part that has the frame at a time, and the second in that part.

        A part includes its start, also after rounding to a float, and excludes its end.
        """
        self.check_time(time_s)
        index = bisect_right(self._part_starts, Fraction(time_s) + Fraction(TIME_STEP_S)) - 1
        within_s = max(0.0, float(Fraction(time_s) - self._part_starts[index]))
        return index, min(within_s, math.nextafter(self.parts[index].duration_s, 0))
