"""Small media files, encoded on the spot; each frame shows its index in machine-readable blocks."""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import av
import numpy as np

from atlaskit.video.tracks import open_media

SIZE = (320, 180)
BITS, CHECK_BITS = 10, 10


def numbered_frame(index: int, size: tuple[int, int] = SIZE) -> av.VideoFrame:
    """Return a frame with its index in a row of ten blocks (bright for 1), and ten check bits."""
    pixels = np.full((size[1], size[0], 3), 40, np.uint8)
    for block, bit in enumerate([*_bits(index, BITS), *_bits(_check(index), CHECK_BITS)]):
        if bit:
            top, left, height, width = _block(block, size)
            pixels[top : top + height, left : left + width] = 220
    return av.VideoFrame.from_ndarray(pixels, format="rgb24")


def frame_number(pixels: np.ndarray) -> int:
    """Return the index in a frame, or −1 if the blocks disagree with their check bits."""
    inner = pixels[_inner_halves((pixels.shape[1], pixels.shape[0]))]
    bits = [int(mean > 130) for mean in inner.mean((1, 2, 3))]
    index = sum(bit << place for place, bit in enumerate(bits[:BITS]))
    return index if bits[BITS:] == _bits(_check(index), CHECK_BITS) else -1


def _check(index: int) -> int:
    return (index * 389 + 613) % 1024


def _bits(number: int, count: int) -> list[int]:
    return [number >> place & 1 for place in range(count)]


def _block(block: int, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the top, left, height and width of a block."""
    row, column = divmod(block, BITS)
    height, width = size[1] // 3, size[0] // (BITS + 2)
    return size[1] // 9 + row * (height + size[1] // 12), width // 2 + column * (size[0] // BITS), height, width


@contextmanager
def usual_priority() -> Iterator[None]:
    """Restore this thread's priority on exit: as root, SVT-AV1 raises its caller to real-time."""
    if not hasattr(os, "sched_setscheduler"):  # not Linux
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def make_video(
    path: Path,
    codec: str = "libx264",
    frames: int = 240,
    fps: int = 25,
    starts_at: int = 0,
    *,
    size: tuple[int, int] = SIZE,
    pix_fmt: str = "yuv420p",
    gop: int = 50,
    times: Sequence[int] | None = None,
    aspect: Fraction | None = None,
    first: int = 0,
    format: str | None = None,
    sound_s: float = 0.0,
    sound_from_s: float = 0.0,
    cover: bool = False,
    container_options: dict[str, str] | None = None,
    **options: str,
) -> Path:
    """Encode frames numbered from `first` on; `times` are their presentation times, in frames."""
    muxing = {"movflags": "+faststart"} if path.suffix == ".mp4" else {}
    with usual_priority(), av.open(str(path), "w", format, options=muxing | (container_options or {})) as container:
        still = _add_cover(container) if cover else None
        stream = container.add_stream(codec, rate=fps)
        stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
        stream.codec_context.gop_size = gop
        # libvpx's speeds below zero are fixed; the others depend on the machine's load.
        speed = {"deadline": "realtime", "cpu-used": "-8"} if "vpx" in codec else {}
        stream.options = {**speed, **options}
        if aspect:
            stream.codec_context.sample_aspect_ratio = aspect
        codec_of_sound = "mp2" if container.format.name in ("mpeg", "vob") else "aac"
        sound = container.add_stream(codec_of_sound, rate=44100) if sound_s else None
        if still:
            container.mux(still)
        silence = _encode_silence(container, sound, sound_s, sound_from_s) if sound else iter(())
        ahead_s = 0.0
        for index in range(frames):
            frame = numbered_frame(first + index, size)
            frame.pts, frame.time_base = starts_at + (times[index] if times else index), Fraction(1, fps)
            container.mux(stream.encode(frame))
            while ahead_s < (times[index] if times else index) / fps:
                ahead_s = next(silence, math.inf)
        container.mux(stream.encode())
        for _ in silence:
            pass
    return path


def _add_cover(container: av.container.OutputContainer) -> av.Packet:
    stream = container.add_stream("mjpeg", rate=1)
    stream.width, stream.height, stream.pix_fmt = 64, 64, "yuvj420p"
    stream.disposition = av.stream.Disposition.attached_pic
    frame = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 90, np.uint8), format="rgb24")
    (packet,) = [*stream.encode(frame), *stream.encode()]
    return packet


def _encode_silence(
    container: av.container.OutputContainer, stream: av.AudioStream, seconds: float, from_s: float = 0.0
) -> Iterator[float]:
    """Write silence, and yield how many seconds of it there are after each block."""
    samples = stream.codec_context.frame_size or 1024
    mp2 = stream.codec_context.name == "mp2"
    for block in range(round(seconds * 44100 / samples)):
        silent = np.zeros((1, 2 * samples), np.int16) if mp2 else np.zeros((2, samples), np.float32)
        frame = av.AudioFrame.from_ndarray(silent, format="s16" if mp2 else "fltp", layout="stereo")
        frame.rate, frame.pts, frame.time_base = 44100, round(from_s * 44100) + block * samples, Fraction(1, 44100)
        container.mux(stream.encode(frame))
        yield (block + 1) * samples / 44100
    container.mux(stream.encode())


@lru_cache
def _inner_halves(size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of the inner half of each block, as one index into an image."""
    blocks = [_block(block, size) for block in range(BITS + CHECK_BITS)]
    rows = [np.arange(top + height // 4, top + height - height // 4) for top, _, height, _ in blocks]
    columns = [np.arange(left + width // 4, left + width - width // 4) for _, left, _, width in blocks]
    return np.stack(rows)[:, :, None], np.stack(columns).clip(max=size[0] - 1)[:, None, :]


def make_sound_file(path: Path) -> Path:
    """Make a file with an audio stream and no video."""
    with av.open(str(path), "w") as container:
        for _ in _encode_silence(container, container.add_stream("aac", rate=44100), 0.1):
            pass
    return path


def cut_video(whole: Path, path: Path, at_s: float, from_s: float) -> Path:
    """Copy the packets from `from_s` on, as `ffmpeg -ss … -c copy` does; show those from `at_s`."""
    with av.open(str(whole)) as source, av.open(str(path), "w") as target:
        stream = source.streams.video[0]
        copy = target.add_stream_from_template(stream)
        shift, first = round(at_s / stream.time_base), round(from_s / stream.time_base)
        for packet in source.demux(stream):
            if packet.dts is not None and packet.pts is not None and packet.pts >= first:
                packet.pts, packet.dts, packet.stream = packet.pts - shift, packet.dts - shift, copy
                target.mux(packet)
    return path


def played_frames(path: Path) -> list[tuple[float, int, np.ndarray]]:
    """Play a file from its start; return each frame's second, its index and its pixels."""
    with open_media(path, {}) as container:
        stream = max(container.streams.video, key=lambda stream: stream.codec_context.width)
        frames = [frame for frame in decoded(container, stream) if frame.pts is not None]
        start, tick = min((frame.pts for frame in frames), default=0), stream.time_base
        times = [float((frame.pts - start) * tick) for frame in frames]
        times.sort()  # AVI gives decoding times; the decoder returns frames in presentation order
        pixels = [_rgb(frame) for frame in frames]
        return [(time_s, frame_number(image), image) for time_s, image in zip(times, pixels, strict=True)]


def _rgb(frame: av.VideoFrame) -> np.ndarray:
    try:
        return frame.to_ndarray(format="rgb24")
    except (av.FFmpegError, OSError, ValueError):  # a size or pixel format that cannot be converted
        return np.zeros((frame.height, frame.width, 3), np.uint8)


def decoded(container: av.container.InputContainer, stream: av.VideoStream) -> Iterator[av.VideoFrame]:
    """Yield all frames; continue after damage, as players do."""
    packets = container.demux(stream)
    asked_again = 0
    while True:
        try:
            packet = next(packets)
        except StopIteration:
            return
        except BlockingIOError:  # of bytes that are no packets, FFmpeg says to try again
            asked_again += 1
            if asked_again > 100:
                return
            packets = container.demux(stream)
            continue
        except (av.FFmpegError, OSError, ValueError):
            packet = None
        with suppress(av.FFmpegError, OSError, ValueError):
            yield from stream.decode(packet)
        if packet is None:
            return


def frame_shown_at(played: Sequence[tuple[float, int, np.ndarray]], time_s: float) -> tuple[int, np.ndarray]:
    """Return the index and the pixels of the frame that a played video shows at a second."""
    shown = [frame for frame in played if frame[0] <= time_s + 1e-6] or played[:1] or [(0.0, -1, np.zeros((1, 1, 3)))]
    return shown[-1][1:]
