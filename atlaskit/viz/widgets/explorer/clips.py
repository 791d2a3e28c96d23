"""`make_clip`: a few seconds of a video as a silent WebM, made when somebody wants to see it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from atlaskit.caching.cache import Cache, Transient
from atlaskit.caching.keys import Kind, microseconds
from atlaskit.environment.image import unreadable_tile
from atlaskit.environment.question import Span
from atlaskit.errors import FrameError, InputError
from atlaskit.runs.narrate import span_text
from atlaskit.video.readers import Pixels
from atlaskit.video.video import Video

SHORTEST_S, LONGEST_S = 2.0, 10.0
"""Length of a clip: a shorter one is over before one sees it; a longer one takes long to make."""
LONGEST_SIDE_PX = 480
MAX_FPS = 15
BIT_RATE = 1_000_000
MAX_BYTES = 4_000_000
CODECS = ("libvpx", "libvpx-vp9")
"""The encoders that make what every browser plays: VP8, which is faster to make, and VP9."""
CLIP = Kind("clip", 1, is_image=True)
"""A few seconds as a film. Left out: the encoder and its version."""
WEBM = b"\x1a\x45\xdf\xa3"
"""How a WebM starts."""


@dataclass(frozen=True)
class Clip:
    """A few seconds of a video, silent; made when it is first read, and then cached."""

    video: Video
    start_s: float
    end_s: float
    cache: Cache = field(compare=False)

    @property
    def fps(self) -> float:
        """Frames per second: those of the video, unless these are many."""
        return min(self.video.fps, MAX_FPS)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels: even, as the encoders need it, and at most the video's."""
        scale = min(1.0, LONGEST_SIDE_PX / max(self.video.size))
        width, height = (max(16, 2 * round(side * scale / 2)) for side in self.video.size)
        return width, height

    @property
    def key(self) -> str:
        """Hash of everything that the clip is made of."""
        span_us = [microseconds(self.start_s), microseconds(self.end_s)]
        return CLIP.key(video=self.video.fingerprint, span_us=span_us, size=self.size, fps=self.fps)

    def webm(self) -> bytes:
        """Return the clip as WebM; a frame that cannot be decoded is hatched, as in a grid.

        Raises:
            InputError: PyAV has no encoder for it, or it would be too large.
        """
        return self.cache.remember(self.key, self._encode, fits=lambda entry: entry.startswith(WEBM))

    def _encode(self) -> bytes:
        count = max(1, round((self.end_s - self.start_s) * self.fps))
        times_s = [self.start_s + index * (self.end_s - self.start_s) / count for index in range(count)]
        frames = self.video.try_frames(times_s, self.size)
        unreadable = np.asarray(unreadable_tile(self.size))
        webm = encode_webm([unreadable if isinstance(frame, FrameError) else frame for frame in frames], self.fps)
        if len(webm) > MAX_BYTES:
            raise InputError(f"A clip has at most {MAX_BYTES:,} bytes; this one has {len(webm):,}. Open a finer cell.")
        is_passing = any(isinstance(frame, FrameError) and not frame.is_lasting for frame in frames)
        is_stand_in = any(self.video.locate(time_s)[0].is_stand_in for time_s in (times_s[0], times_s[-1]))
        return Transient(webm) if is_passing or is_stand_in else webm


def make_clip(video: Video, span_s: Span, around_s: float, cache: Cache) -> tuple[Clip, str]:
    """Return the clip of an interval, and a sentence that says what it shows of it.

    Args:
        video: The video.
        span_s: The interval, of which at most LONGEST_S are shown. One shorter than SHORTEST_S is
            shown with what is before and after it.
        around_s: The second in it around which a longer one is cut.
        cache: Where clips are cached.
    """
    length_s = span_s[1] - span_s[0]
    shown_s = min(max(length_s, SHORTEST_S), LONGEST_S, video.duration_s)
    centre_s = around_s if length_s > shown_s else (span_s[0] + span_s[1]) / 2
    lowest_s, highest_s = (span_s[0], span_s[1]) if length_s > shown_s else (0.0, video.duration_s)
    start_s = max(lowest_s, min(centre_s - shown_s / 2, highest_s - shown_s))
    end_s = min(start_s + shown_s, video.duration_s)
    limit = f"; a clip has at most {LONGEST_S:g} s" if length_s > shown_s else ""
    words = f"Plays {span_text((start_s, end_s))}, without sound{limit}."
    return Clip(video, start_s, end_s, cache), words


def encode_webm(frames: Sequence[Pixels], fps: float) -> bytes:
    """Return frames of one even size as WebM without sound.

    Raises:
        InputError: PyAV has no encoder for it.
    """
    import av
    from av.video.reformatter import Colorspace
    from av.video.stream import VideoStream

    buffer = io.BytesIO()
    with av.open(buffer, "w", format="webm") as container:
        stream = container.add_stream(_encoder(), rate=Fraction(fps).limit_denominator(60_000))
        assert isinstance(stream, VideoStream)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt, stream.bit_rate = "yuv420p", BIT_RATE
        stream.options = {"deadline": "realtime", "cpu-used": "8"}
        stream.thread_count = 1  # threads of libvpx wait in a loop: on a busy machine they take 20 times as long
        stream.codec_context.colorspace = Colorspace.ITU601
        for number, frame in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(frame, format="rgb24").reformat(format="yuv420p")
            picture.pts = number
            container.mux(stream.encode(picture))
        container.mux(stream.encode())
    return buffer.getvalue()


def _encoder() -> str:
    """Return the first encoder of `CODECS` that PyAV has."""
    import av

    for name in CODECS:
        try:
            return str(av.Codec(name, "w").name)
        except ValueError:  # PyAV was built without it
            continue
    raise InputError(f"A clip needs the encoder {' or '.join(CODECS)}; PyAV here has neither. Install PyAV from PyPI.")
