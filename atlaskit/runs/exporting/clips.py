"""`make_clip`: a part of a video as a film with its sound, to play in a page or to send on.

`write_clips` writes the stretches of an export as films.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.caching.cache import Cache, Transient
from atlaskit.caching.files import write_whole
from atlaskit.caching.keys import Kind, microseconds
from atlaskit.environment.grid import interval
from atlaskit.environment.image import unreadable_tile
from atlaskit.environment.question import Span
from atlaskit.errors import FrameError, InputError, VideoError, printable, reason
from atlaskit.runs.exporting.editing import parts_of
from atlaskit.runs.exporting.passages import Passage
from atlaskit.video.readers import Pixels
from atlaskit.video.video import Video

SHORTEST_S = 2.0
"""The least length of a clip, in seconds; a shorter one would be over too soon to be recognised."""
BATCH = 40
"""Frames that are decoded at once; this bounds the memory that a long clip takes."""
RATE = 48_000
"""Samples of a clip's sound per second."""
GAP = RATE // 10
"""Gaps of fewer samples are ignored, since the times in files are rounded."""
CLIP = Kind("clip", 2, is_image=True)
"""A part of a video as a film. The key leaves out the encoders and their versions."""
Samples = NDArray[np.int16]
"""Stereo sound at `RATE`, (n, 2)."""


class Form(NamedTuple):
    """How a clip is made."""

    longest_s: float
    longest_side_px: int
    max_fps: int
    encoders: tuple[str, ...]
    """The video encoders, the best one first."""
    options: dict[str, object]
    """The options of the video encoder."""
    sound: str
    """The encoder of sound."""


# A single thread: several threads of libvpx busy-wait, and take 20 times as long under load.
VPX: dict[str, object] = {"deadline": "realtime", "cpu-used": "8", "b": "1000000", "threads": "1"}
FORMS = {
    # VP8, which is fast to make, and VP9 play in every browser; H.264 in players and messengers.
    "webm": Form(
        longest_s=10,
        longest_side_px=640,
        max_fps=15,
        encoders=("libvpx", "libvpx-vp9"),
        options=VPX,
        sound="libopus",
    ),
    "mp4": Form(
        longest_s=120,
        longest_side_px=1280,
        max_fps=30,
        encoders=("libx264", "libopenh264"),
        options={"preset": "veryfast", "crf": "23"},
        sound="aac",
    ),
}
"""The forms of a clip: one to play in the page, and one to send on."""


@dataclass(frozen=True)
class Clip:
    """A part of a video; it is made when it is first read, and then cached."""

    video: Video
    start_s: float
    end_s: float
    cache: Cache = field(compare=False)
    form: str = "webm"
    """A name of FORMS."""

    @property
    def fps(self) -> float:
        """Frames per second: those of the video, or `max_fps` if it has more."""
        return min(self.video.fps, FORMS[self.form].max_fps)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels: the video's, within the form's limit, even, at least 16."""
        scale = min(1.0, FORMS[self.form].longest_side_px / max(self.video.size))
        width, height = (max(16, 2 * round(side * scale / 2)) for side in self.video.size)
        return width, height

    @property
    def key(self) -> str:
        """Hash of everything that the clip is made of."""
        span_us = [microseconds(self.start_s), microseconds(self.end_s)]
        return CLIP.key(
            video=self.video.fingerprint,
            span_us=span_us,
            size=self.size,
            fps=self.fps,
            form=self.form,
        )

    def film(self) -> bytes:
        """Return the clip as a film; a frame that cannot be decoded is hatched, as in a grid.

        Raises:
            InputError: PyAV has no encoder for the clip's form.
        """
        return self.cache.remember(self.key, self._encode)

    def _encode(self) -> bytes:
        length_s = self.end_s - self.start_s
        count = max(1, round(length_s * self.fps))
        times_s = [self.start_s + index * length_s / count for index in range(count)]
        files = [self.video.locate(time_s)[0] for time_s in (times_s[0], times_s[-1])]
        is_transient = any(file.is_stand_in for file in files)  # if so, the film is not cached
        unreadable = np.asarray(unreadable_tile(self.size))

        def frames() -> Iterator[Pixels]:
            nonlocal is_transient
            for first in range(0, count, BATCH):
                for frame in self.video.try_frames(times_s[first : first + BATCH], self.size):
                    is_transient |= isinstance(frame, FrameError) and not frame.is_lasting
                    yield unreadable if isinstance(frame, FrameError) else frame

        film = _film(frames(), self, _sound(self.video, (self.start_s, self.end_s)))
        return Transient(film) if is_transient else film


def make_clip(
    video: Video, span_s: Span, around_s: float, cache: Cache, form: str = "webm"
) -> tuple[Clip, str]:
    """Return the clip of an interval, and a caption that says which part of it is shown.

    Args:
        video: The video.
        span_s: The interval. One shorter than SHORTEST_S is shown with the seconds before and after
            it.
        around_s: The time around which the clip is cut if the form does not allow the whole
            interval.
        cache: Where clips are cached.
        form: A name of FORMS.
    """
    lowest_s, highest_s = span_s
    length_s = highest_s - lowest_s
    longest_s = FORMS[form].longest_s
    shown_s = min(max(length_s, SHORTEST_S), longest_s, video.duration_s)
    limit = f"; it has at most {longest_s:g} s"
    if length_s <= shown_s:  # the whole interval fits, so the clip may reach beyond it
        around_s = (lowest_s + highest_s) / 2
        lowest_s = 0.0
        highest_s = video.duration_s
        limit = ""
    start_s = max(lowest_s, min(around_s - shown_s / 2, highest_s - shown_s))
    end_s = min(start_s + shown_s, video.duration_s)
    return Clip(video, start_s, end_s, cache, form), f"{interval(start_s, end_s)}{limit}"


def write_clips(
    passages: Sequence[Passage],
    folder: str | os.PathLike[str],
    videos: Mapping[str, Video],
    cache: Cache | None = None,
) -> list[Path]:
    """Write each stretch as a film with its sound, cut to the frame, and return the files.

    A stretch shorter than two seconds is shown with the seconds around it. Of one longer than two
    minutes, only the two minutes in its middle are shown. A stretch ends with its video.

    Args:
        passages: The stretches; answers in words, which are about no stretch, are left out.
        folder: Where the films are written, each as "003 evidence A a fox 12.480.mp4".
        videos: The videos, by name.
        cache: Where films are cached; by default that of the video.

    Raises:
        InputError: A video is not among `videos`, a stretch lies after its end, a film cannot be
            made, or a file cannot be written.
    """
    target = Path(folder)
    paths = list[Path]()
    stretches = [each for each in passages if not each.is_whole]
    for number, passage in enumerate(stretches, start=1):
        video = videos.get(passage.video)
        if video is None:
            raise InputError(
                f"Clips are cut from the video, and {passage.video or 'it'!r:.80} is not given: "
                "pass videos=."
            )
        if passage.start_s > video.duration_s + SHORTEST_S:  # a little less is a rounded time
            raise InputError(
                f"{passage.start_s:.1f} s is after the end of {printable(video.name, 80)}, which "
                f"lasts {video.duration_s:.1f} s: is it the right video?"
            )
        start_s = min(passage.start_s, video.duration_s)
        # A moment gets a length, but nothing reaches beyond the video.
        end_s = min(video.duration_s, max(passage.end_s, start_s + 0.001))
        clip, _ = make_clip(
            video,
            (start_s, end_s),
            (start_s + end_s) / 2,
            cache or video.cache,
            "mp4",
        )
        words = re.sub(r"[^\w.-]+", " ", f"{passage.kind} {passage.label} {passage.text}")
        words = words.strip()[:60].strip()
        path = target / f"{number:03} {words} {clip.start_s:.3f}.mp4"
        try:
            target.mkdir(parents=True, exist_ok=True)
            write_whole(path, clip.film())
        except OSError as error:
            raise InputError(
                f"{printable(str(path), 200)} cannot be written: {reason(error)}."
            ) from error
        paths.append(path)
    return paths


def has_sound(film: bytes) -> bool:
    """Return whether a film has a track of sound."""
    import av

    with av.open(io.BytesIO(film)) as container:
        return bool(container.streams.audio)


def _film(frames: Iterable[Pixels], clip: Clip, sound: Samples | None) -> bytes:
    """Return frames and sound as a film.

    Raises:
        InputError: PyAV has no encoder for the clip's form.
    """
    import av
    from av.audio.stream import AudioStream
    from av.video.reformatter import Colorspace
    from av.video.stream import VideoStream

    form = FORMS[clip.form]
    buffer = io.BytesIO()
    frames_per_s = max(1, round(clip.fps))
    with av.open(buffer, "w", format=clip.form) as container:
        stream = container.add_stream(
            _encoder(form.encoders), rate=Fraction(clip.fps).limit_denominator(60_000)
        )
        assert isinstance(stream, VideoStream)
        stream.width, stream.height = clip.size
        stream.pix_fmt = "yuv420p"
        stream.options = form.options.copy()
        # The matrix with which `reformat` makes YUV of RGB below.
        stream.codec_context.colorspace = Colorspace.ITU601
        sound_stream = None if sound is None else container.add_stream(form.sound, rate=RATE)
        assert sound_stream is None or isinstance(sound_stream, AudioStream)

        def write_sound(first: int, last: int | None) -> None:
            """Write the samples `[first, last)`; None means to the end."""
            if sound_stream is not None and sound is not None and len(sound[first:last]):
                samples = av.AudioFrame.from_ndarray(
                    sound[first:last].reshape(1, -1), format="s16", layout="stereo"
                )
                samples.sample_rate = RATE
                samples.pts = first
                container.mux(sound_stream.encode(samples))

        number = -1
        for number, frame in enumerate(frames):
            if number % frames_per_s == 0:  # the next second of sound, then its pictures
                second = number // frames_per_s
                write_sound(second * RATE, (second + 1) * RATE)
            picture = av.VideoFrame.from_ndarray(frame, format="rgb24").reformat(format="yuv420p")
            picture.pts = number
            container.mux(stream.encode(picture))
        write_sound((number // frames_per_s + 1) * RATE, None)
        container.mux(stream.encode())
        container.mux([] if sound_stream is None else sound_stream.encode())
    return buffer.getvalue()


def _encoder(names: tuple[str, ...]) -> str:
    """Return the first encoder that PyAV has."""
    import av

    for name in names:
        try:
            return str(av.Codec(name, "w").name)
        except ValueError:  # PyAV was built without it
            continue
    raise InputError(
        f"A clip needs the encoder {' or '.join(names)}; PyAV here has neither. Install PyAV from "
        "PyPI."
    )


def _sound(video: Video, span_s: Span) -> Samples | None:
    """Return the sound of an interval, silent where a file has none; None if no file has sound."""
    sound = np.zeros((round((span_s[1] - span_s[0]) * RATE), 2), np.int16)
    first = 0
    is_audible = False
    for part, start_s, end_s in parts_of(video, *span_s):
        last = first + round((end_s - start_s) * RATE)
        with suppress(VideoError):  # no sound, or none that can be sought
            _decode_sound(part, start_s, sound[first:last])
            is_audible = True
        first = last
    return sound if is_audible else None


def _decode_sound(part: Video, start_s: float, sound: Samples) -> None:
    """Fill an array with the sound of a file from `start_s` on, as far as it can be decoded.

    Raises:
        VideoError: The file has no sound, or its clock jumps, so that its sound has to be decoded
            from the start.
    """
    import av

    from atlaskit.video.readers.container import DECODE_ERRORS, discard_others, open_container

    source = part.open_sound()
    if source.joints:
        raise VideoError(f"The clock of {part.name} jumps.")
    origin_s = source.start_s + source.lead_s + start_s
    position = 0  # of the next sample in the array; negative before its start
    container, _ = open_container(source.path, is_known=True)
    with container, suppress(*DECODE_ERRORS):
        stream = container.streams.audio[source.track().number]
        resampler = av.AudioResampler("s16", "stereo", RATE)
        discard_others(container, stream)
        # Decoders need some sound before the first sample that is kept.
        container.seek(round(max(0.0, origin_s - 1) * av.time_base))
        for frame in container.decode(stream):
            start = round(((frame.time or 0.0) - origin_s) * RATE)
            if start >= len(sound):
                break
            if abs(start - position) >= GAP:
                position = start
            frame.pts = None
            for piece in resampler.resample(frame):
                samples = piece.to_ndarray().reshape(-1, 2)
                if position + len(samples) > 0:
                    target = sound[max(0, position) :]
                    wanted = samples[max(0, -position) :][: len(target)]
                    target[: len(wanted)] = wanted
                position += len(samples)
