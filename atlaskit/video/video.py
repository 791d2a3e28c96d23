"""`Video`: the interface of every video: its duration, frame rate, size, frames and subtitles.

`frame(t)` is the frame that a player shows at second t when it plays the video from its start.
Second 0 is the first frame. Files are decoded by their readers. This module knows nothing about
grids or agents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.errors import FrameError, InputError, VideoError
from atlaskit.video.readers import CORES, FrameOrError, Pixels, Size
from atlaskit.video.shots import Marks, Shots, shots_of
from atlaskit.video.sound import Sound
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.tracks import Track

if TYPE_CHECKING:
    from PIL.Image import Image


Sampling = Literal["midpoint", "keyframe", "shots"]
"""Which frame represents an interval: see `Video.moment`."""
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)

LARGEST_SIDE_PX = 16384
"""The largest width and height of a requested frame, unless it is the video's own size."""
LARGEST_OWN_SIDE_PX = 65_500
"""The largest width and height of a video, as of a JPEG."""


class Video(ABC):
    """A video: its facts, and its frames at any time. Several threads may use it at once.

    Attributes:
        name: A short name for people.
        duration_s: Length in seconds.
        fps: Frames per second, on average.
        size: (width, height) in pixels as the video is shown: upright and with square pixels.
        fingerprint: A hash of the content: equal for equal videos, wherever their files are.
        subtitles: All subtitle lines of the video.
        lead_s: Seconds of the container's time before the first frame. The times of a subtitle file
            count from the start of the container.
    """

    name: str
    duration_s: float
    fps: float
    size: Size
    fingerprint: str
    subtitles: Subtitles
    lead_s: float = 0.0
    is_drawn: ClassVar[bool] = False
    """Whether its frames are drawn on demand, so that none can fail."""
    is_stand_in: ClassVar[bool] = False
    """Whether it stands in for the video that has its fingerprint, with frames that may differ."""

    _cache: Cache | None = None

    @property
    def cache(self) -> Cache:
        """The cache with which the video was opened, or the default one."""
        return self._cache or default_cache()

    @property
    def frames_decoded(self) -> int:
        """Number of frames decoded so far, including those on the way to a requested frame."""
        return 0

    @property
    def decoding_s(self) -> float:
        """Seconds spent on decoding so far, summed over all threads."""
        return 0.0

    @property
    def subtitle_tracks(self) -> list[Track]:
        """The subtitle tracks inside the video's file, with number, language and title."""
        return []

    @abstractmethod
    def try_frames(self, times_s: Sequence[float], size: Size | None = None) -> list[FrameOrError]:
        """Return the frame shown at each time, scaled to `size` (w, h), or its error."""

    def frames(self, times_s: Sequence[float], size: Size | None = None) -> Pixels:
        """Return the frames shown at several times.

        Args:
            times_s: Seconds in `[0, duration_s)`, in any order.
            size: (width, height) to scale the frames to; None for the video's own size.

        Returns:
            An array of uint8, (n, height, width, 3), RGB, in the order of `times_s`.

        Raises:
            InputError: A time is outside the video, or the size is not one.
            FrameError: A frame cannot be decoded.
        """
        times, (width, height) = self.check_request(times_s, size)
        frames = []
        for frame in self.try_frames(times, (width, height)):
            if isinstance(frame, FrameError):
                raise frame
            frames.append(frame)
        if frames:
            return np.stack(frames)
        return np.empty((0, height, width, 3), np.uint8)

    def frame(self, time_s: float) -> Image:
        """Return the frame shown at a time, at full size.

        Raises:
            InputError: The time is outside the video.
            FrameError: The frame cannot be decoded.
        """
        from PIL import Image

        return Image.fromarray(self.frames([time_s])[0])

    def keyframes_around(self, time_s: float, until_s: float) -> tuple[float, float | None]:
        """Return the times of the last keyframe up to `time_s` and of the next before `until_s`.

        The second value is None if there is no such keyframe. Nothing is decoded. A video whose
        frames all cost the same treats every time as a keyframe.
        """
        return time_s, None

    def marks(self) -> Marks:
        """Return the cuts and keyframes that the container marks. Nothing is decoded."""
        return Marks([], None, False)

    def frame_times(self) -> NDArray[np.float64] | None:
        """Return the second at which each frame appears, in order; None if all last equally long.

        The file is read if the video has one. Nothing is decoded.

        Raises:
            VideoError: The file is missing, or cannot be read.
        """
        return None

    @property
    def shots(self) -> Shots:
        """The cuts of the video, and the places that differ from the film around them.

        If `cache` does not have them, a limited number of frames is examined (`find_shots`).
        """
        return shots_of(self, self.cache)

    def shots_in(self, intervals: Sequence[tuple[float, float]], cache: Cache) -> Shots:
        """Return the shots from which `moments` chooses the frames of intervals.

        These are the shots of the whole video. A collection examines only films that the frames of
        the intervals come from.

        Raises:
            FrameError: A frame could not be read this time.
        """
        return shots_of(self, cache)

    def moment(self, start_s: float, end_s: float, sampling: Sampling = "midpoint") -> float:
        """Return the second whose frame represents the interval `[start_s, end_s)`.

        Args:
            start_s: Start of the interval.
            end_s: End of the interval, not part of it.
            sampling: "midpoint" takes the midpoint (paper §3.1). "keyframe" takes the keyframe
                nearest the midpoint, or the midpoint if the interval holds no keyframe: many times
                cheaper, and up to half a group of pictures away. "shots" takes, of the shots in the
                interval, the one that differs most from the film around it; where nothing differs,
                it does as "keyframe".

        Raises:
            InputError: `sampling` is none of these.
            FrameError: The keyframes of the file cannot be searched, or a frame could not be read
                this time. With "shots", frames that can never be decoded are skipped.
        """
        return self.moments([(start_s, end_s)], sampling)[0]

    def moments(
        self,
        intervals: Sequence[tuple[float, float]],
        sampling: Sampling = "midpoint",
        cache: Cache | None = None,
    ) -> list[float]:
        """Return the second whose frame represents each interval: see `moment`.

        Args:
            intervals: (start, end) of each, in seconds.
            sampling: The rule. Only "shots" decodes frames, once for each video: see `shots`.
            cache: Where the shots are cached; None for the video's `cache`.

        Raises:
            InputError: `sampling` is unknown.
            FrameError: As for `moment`.
        """
        if sampling not in SAMPLINGS:
            raise InputError(f"sampling is one of {', '.join(SAMPLINGS)}; got {sampling!r}.")
        if sampling == "midpoint":
            return [(start_s + end_s) / 2 for start_s, end_s in intervals]
        shots = Shots(())
        if sampling == "shots":
            shots = shots_of(self, cache or self.cache)
        found_s = []
        for start_s, end_s in intervals:
            place_s = shots.moment(start_s, end_s)
            found_s.append(self._keyframe_in(start_s, end_s) if place_s is None else place_s)
        return found_s

    def _keyframe_in(self, start_s: float, end_s: float) -> float:
        """Return the keyframe of an interval nearest its middle; the middle if it holds none."""
        middle_s = (start_s + end_s) / 2
        before_s, after_s = self.keyframes_around(middle_s, end_s)
        inside_s = [before_s] if start_s <= before_s < end_s else []
        if after_s is not None and start_s <= after_s < end_s:
            inside_s.append(after_s)
        return min(inside_s, key=lambda time_s: abs(time_s - middle_s), default=middle_s)

    def open_sound(self, audio_track: int | None = None, language: str | None = None) -> Sound:
        """Return one of the sound tracks of the video's file. Nothing is decoded yet.

        Args:
            audio_track: The number of the track among the sound tracks, from 0; None to choose by
                language.
            language: The language of the wanted track, as an ISO 639 code or an English name; None
                for the track that the file marks as the default one.

        Raises:
            VideoError: The video is not one file, or has no sound.
            InputError: There is no such track.
        """
        raise VideoError(
            f"{self.name} is not a video file with sound: there is nothing to transcribe."
        )

    def locate(self, time_s: float) -> tuple[Video, float]:
        """Return the video whose file has the frame at a time, and the second in that video.

        The video is this one, or a part of this playlist.
        """
        return self, time_s

    def check_request(
        self, times_s: Sequence[float], size: Size | None
    ) -> tuple[list[float], Size]:
        """Return the times and the size (w, h) of a request for frames, validated.

        Raises:
            InputError: A time is outside the video, or the size is not one.
        """
        try:
            width, height = map(int, size or self.size)
        except (TypeError, ValueError) as error:
            raise InputError(f"A size is (width, height) in pixels; got {size!r:.80}.") from error
        try:
            times = list(map(float, times_s))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"Times are numbers of seconds, such as 65.0 for 1:05; got {times_s!r:.80}."
            ) from error
        is_own = (width, height) == self.size
        if not is_own and not (1 <= width <= LARGEST_SIDE_PX and 1 <= height <= LARGEST_SIDE_PX):
            raise InputError(
                f"A frame must be 1 to {LARGEST_SIDE_PX} pixels wide and high; got {size}."
            )
        for time_s in times:
            self.check_time(time_s)
        return times, (width, height)

    def check_time(self, time_s: float) -> None:
        """Raise InputError for a time that is outside the video."""
        if not 0 <= time_s < self.duration_s:
            raise InputError(
                f"{time_s} s is not in {self.name}, which runs from 0 to {self.duration_s:.3f} s."
            )

    def __repr__(self) -> str:
        width, height = self.size
        return (
            f"<{self.name}: {self.duration_s:.1f} s, {width}×{height}, {self.fps:g} fps, "
            f"{len(self.subtitles)} lines>"
        )


def read_frames(
    requests: Sequence[tuple[Video, float, Size]],
) -> list[FrameOrError]:
    """Return the frame of each (video, second, size), or its error; files are read in parallel."""
    groups: dict[tuple[int, Size], list[int]] = {}
    for index, (video, _, size) in enumerate(requests):
        groups.setdefault((id(video), size), []).append(index)

    def read(indices: list[int]) -> list[FrameOrError]:
        video, _, size = requests[indices[0]]
        return video.try_frames([requests[index][1] for index in indices], size)

    found = dict[int, FrameOrError]()
    with ThreadPoolExecutor(CORES, thread_name_prefix="atlaskit-parts") as pool:
        parts = pool.map(read, groups.values()) if len(groups) > 1 else map(read, groups.values())
        for indices, frames in zip(groups.values(), parts, strict=True):
            found |= zip(indices, frames, strict=True)
    return [found[index] for index in range(len(requests))]
