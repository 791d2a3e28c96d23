"""When a video file's first frame is shown, when its last ends, and how much of it is there. Nothing is decoded."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from av.container import InputContainer
from av.video.stream import VideoStream

from atlaskit.errors import VideoError
from atlaskit.video.readers.container import BROKEN, frame_length, kind_of, tick_of


def first_shown(container: InputContainer, stream: VideoStream) -> tuple[int, int]:
    """Return the showing time of the first frame, and how much earlier it is decoded, in ticks.

    It is that of the first keyframe's packet, or, where a file was cut between keyframes and begins with packets
    that are decoded and not shown, the earliest of the others before the next keyframe. Raises VideoError where
    there is none, and what PyAV raises where the file cannot be read.
    """
    shown, delay = None, 0
    for packet in container.demux(stream):
        if packet.pts is None:
            continue
        if packet.dts is not None:
            delay = packet.pts - packet.dts
        if packet.is_keyframe and (shown is not None or not packet.is_discard):
            return packet.pts if shown is None else shown, delay
        if not packet.is_discard:
            shown = packet.pts if shown is None else min(shown, packet.pts)
    if shown is None:
        raise VideoError(f"{container.name} holds no video frame: is the file whole?")
    return shown, delay


def length_of(container: InputContainer, stream: VideoStream, origin_ticks: int) -> tuple[Fraction, Fraction]:
    """Return when the video ends, and when the part of it that can be read ends, in seconds from its first frame.

    Costs one seek where the container can seek, a pass over the packets where it cannot.
    """
    tick = tick_of(stream)
    start = Fraction(container.start_time or 0, 1_000_000)
    declared = (stream.duration or 0) * tick
    if kind_of(container) == "avi":  # FFmpeg shortens that to what is there, and keeps the count
        declared = stream.frames * frame_length(stream)
    length = max(Fraction(container.duration or 0, 1_000_000), declared)
    # Some formats count the length from the first frame, some from zero: the lesser of the two is what is promised.
    promised = length + min(start, Fraction(0))
    origin, slack = origin_ticks * tick, 1 + promised / 100
    # Frames are shown in another order than they lie in the file: two seconds cover the last one.
    ends = _ends_after(container, stream, max(length + start - 2, origin))
    if ends is None or promised - max(ends) > slack:
        ends = _ends_after(container, stream, _last_readable(container, stream, origin, promised))
    readable = ends[0] - origin if ends else Fraction(0)
    if ends is None or promised - max(ends) > slack:  # truncated: every stream stops before the end
        return max(declared or promised - max(origin, Fraction(0)), readable), readable
    return readable, readable


def _last_readable(container: InputContainer, stream: VideoStream, low: Fraction, high: Fraction) -> Fraction:
    """Return a time shortly before the last packet that can be read, by halving."""
    while high - low > 1:
        middle = (low + high) / 2
        is_there = _ends_after(container, stream, middle, packets=1) is not None
        low, high = (middle, high) if is_there else (low, middle)
    return max(low - 1, Fraction(0))


def _ends_after(
    container: InputContainer, stream: VideoStream, start: Fraction, packets: int = 0
) -> tuple[Fraction, Fraction] | None:
    """Return the end of the last video packet and of the last packet at all, read from the keyframe at `start`;
    with `packets`, of the first so many video packets. Damage on the way ends it: what was read until there counts."""
    video_end = any_end = None
    seen = 0
    with suppress(*BROKEN):
        container.seek(int(start / tick_of(stream)), stream=stream, backward=True)
        for packet in container.demux():
            if packet.pts is None or packet.time_base is None or packet.is_corrupt:
                continue
            own = packet.stream is stream
            length = packet.duration * packet.time_base if packet.duration else frame_length(stream) if own else 0
            end = packet.pts * packet.time_base + length
            if own:
                video_end = end if video_end is None else max(video_end, end)
                seen += 1
            any_end = end if any_end is None else max(any_end, end)
            if seen == packets != 0:
                break
    return None if video_end is None or any_end is None else (video_end, any_end)
