"""Opening a video file: what is a video, which of its streams, how it is to be shown, and where it ends."""

from __future__ import annotations

import errno
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from atlaskit.errors import VideoError, reason
from atlaskit.video.readers import Pixels

BROKEN = (av.FFmpegError, OSError, ValueError, EOFError, MemoryError)
"""What PyAV raises where a file is damaged."""
NOT_VIDEO = {"tty", "image2", "bin", "xbin", "adf", "idf", "hls", "dash", "concat"}
"""FFmpeg's names of formats that are text, a still, or a list of other files."""
READ_TIMEOUT_S = 30.0
"""A file that gives nothing for this long is given up."""
PASSING = {errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOENT, errno.EACCES, errno.ESTALE, errno.ENODEV}
"""Errors of the machine, not of the file."""


def is_passing(error: BaseException) -> bool:
    """Whether an error lies in the machine and not in the file's content: trying again later may help."""
    if isinstance(error, (MemoryError, VideoError, av.error.ExitError)):  # gone or replaced; or out of time
        return True
    return isinstance(error, OSError) and error.errno in PASSING


def open_container(path: Path) -> tuple[InputContainer, VideoStream]:
    """Open a file and choose its video stream; raise VideoError for what is not a video."""
    # A hostile "video" may be a playlist of addresses: only plain files are read. Some AVI files say only when a
    # frame is decoded; with genpts, when it is shown is worked out from that.
    options = {"protocol_whitelist": "file", "fflags": "+genpts"}
    try:
        container = av.open(str(path), metadata_errors="replace", options=options, timeout=READ_TIMEOUT_S)
    except BROKEN as error:
        raise VideoError(f"{path} is not a video that can be read, or it is truncated ({reason(error)}).") from error
    if container.format.name in NOT_VIDEO or container.format.name.endswith("_pipe"):
        raise VideoError(f"{path} is not a video: it reads as {container.format.long_name or container.format.name}.")
    if container.format.name == "mpeg":
        raise VideoError(
            f"{path} is an MPEG program stream, which cannot be searched exactly: "
            f"make another file of it with `ffmpeg -i {path.name} -c copy {path.stem}.mkv`."
        )
    streams = [s for s in container.streams.video if not s.disposition & Disposition.attached_pic]
    if not streams:
        what = "only sound" if container.streams.audio else "no video"
        raise VideoError(f"{path} holds {what}: name a file with a picture in it.")
    best = container.streams.best("video")
    stream = best if isinstance(best, VideoStream) and best in streams else streams[0]
    if stream.codec_context is None:
        raise VideoError(f"{path} is coded in a way that this FFmpeg cannot decode.")
    return container, stream


def kind_of(container: InputContainer) -> str:
    """Return the family of a container's format: "mov", "matroska", "avi", "mpegts", …"""
    names = container.format.name.split(",")
    return "mov" if "mov" in names else names[0]


def tick_of(stream: VideoStream) -> Fraction:
    """Return the length of a tick of a stream's own clock, in seconds."""
    return Fraction(stream.time_base or Fraction(1, 1000))


def frame_length(stream: VideoStream) -> Fraction:
    """Return how long a frame is shown, on average, in seconds."""
    rate = stream.average_rate or stream.guessed_rate
    return 1 / Fraction(rate) if rate else Fraction(1, 25)


def scaled(scaler: VideoReformatter, frame: VideoFrame, size: tuple[int, int]) -> Pixels:
    """Return a frame as RGB pixels of a size (w, h): in the one way that all readers share."""
    return np.asarray(scaler.reformat(frame, *size, "rgb24", interpolation="AREA").to_ndarray(), np.uint8)


def shown_size(coded: tuple[int, int], aspect: Fraction | None, rotation: int) -> tuple[int, int]:
    """Return the size with square pixels and upright; no side gets smaller than it is coded."""
    width, height = coded
    aspect = Fraction(aspect) if aspect and Fraction(1, 20) < aspect < 20 else Fraction(1)
    if aspect > 1:
        width = round(width * aspect)
    else:
        height = round(height / aspect)
    return (height, width) if rotation in (90, 270) else (width, height)
