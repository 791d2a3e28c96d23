"""Finds out what the times of a file's packets mean: whether it can be read in place."""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from itertools import islice
from pathlib import Path

from av.container import InputContainer
from av.video.stream import VideoStream

from atlaskit.video.readers.bitstream import PACKED_BY, vop_type
from atlaskit.video.readers.boxes import is_fragmented
from atlaskit.video.readers.container import DECODE_ERRORS, container_kind, discard_others, tick_length
from atlaskit.video.readers.elements import is_appended
from atlaskit.video.readers.timeline import LONGEST_STEP_S

RAW = {
    *("mpegvideo", "m4v", "h261", "h263", "h264", "hevc", "vvc", "evc", "obu", "dirac", "vc1", "cavsvideo"),
    *("avs2", "avs3", "mjpeg", "dnxhd", "apv", "rawvideo"),
}
"""FFmpeg's names of formats that hold a stream and nothing else: no index, and most no times."""
LIVE = {"mpegts", "flv", "ogg"}
"""Kinds that are recorded live: their clock may restart. So may that of a fragmented MP4."""
REORDERING = {"h264", "hevc"}
"""Codecs whose frames may be shown in another order than they are decoded in."""
SAMPLED_PACKETS = 200
"""Packets at the start of a file that show whether its times go back."""
SHORT_S, BAR_PACKETS = 2, 4096
"""A pass that takes less shows no bar; the bar moves every so many packets."""
MPEG_WRAP = 1 << 33
"""The clock of a transport stream starts anew at this tick."""


class Times(Enum):
    """What the times of a file's packets mean."""

    GIVEN = "given"
    """Each packet tells when its frame is shown."""
    DECODED = "decoded"
    """A packet tells at most when it is decoded; H.264 and HEVC tell the rest in the bit stream."""
    SHOWN = "shown"
    """Each packet tells when its frame is shown, and FFmpeg guesses when it is decoded."""
    SWAPPED = "swapped"
    """Each packet tells when its frame is shown, and FFmpeg takes that for when it is decoded."""
    PACKED = "packed"
    """MPEG-4 pictures in the order of decoding, two of them in some packets (DivX, Xvid)."""
    PACED = "paced"
    """MPEG-1 and MPEG-2 pictures in the order of decoding, of which not all have a time."""


def times_of(container: InputContainer, stream: VideoStream, path: Path) -> Times | None:
    """Return what the times of a file just opened mean; None if it can be read in place.

    Reads nothing of most files. Some packets of those with MPEG-4, and all of those that were
    recorded live, up to the first break of their clock.
    """
    kind, codec = container_kind(container), stream.codec_context
    if kind in RAW or kind == "mpeg":
        if codec.name in ("mpeg1video", "mpeg2video"):
            return Times.PACED
        is_reordered = codec.name in REORDERING and (kind in REORDERING or codec.has_b_frames)
        return Times.DECODED if is_reordered else Times.GIVEN
    if codec.name == "mpeg4" and _is_packed(container, stream):
        return Times.PACKED
    if kind in ("avi", "asf") and codec.name in (*REORDERING, "mpeg4") and codec.has_b_frames:
        if kind == "asf" and clock_breaks(container, stream, most=SAMPLED_PACKETS):
            return Times.SWAPPED
        return Times.DECODED if codec.name in REORDERING else None
    if kind == "matroska" and is_appended(path):
        return Times.SHOWN
    return Times.GIVEN if is_live(container, path) and clock_breaks(container, stream) else None


def is_live(container: InputContainer, path: Path) -> bool:
    """Tell whether a file is of a kind that is recorded live, so that its clock may restart."""
    kind = container_kind(container)
    return kind in LIVE or (kind == "mov" and is_fragmented(path))


def _is_packed(container: InputContainer, stream: VideoStream) -> bool:
    """Tell whether MPEG-4 pictures are packed, or stored with times that ignore their B-frames."""
    with suppress(*DECODE_ERRORS):
        packets = [packet for packet in islice(container.demux(stream), SAMPLED_PACKETS) if packet.size]
        start = (stream.codec_context.extradata or b"") + b"".join(map(bytes, packets[:1]))
        if PACKED_BY.search(start):
            return True
        times = [packet.pts for packet in packets if packet.pts is not None]
        return times == sorted(times) and any(vop_type(bytes(packet)) == "B" for packet in packets)
    return False


def clock_breaks(container: InputContainer, stream: VideoStream, most: int | None = None) -> bool:
    """Tell whether the decoding times of a file just opened go back, jump, or wrap.

    Reads the packets of the video stream up to the first such place, or the first `most` of them.
    """
    from tqdm import tqdm  # here, so that `import atlaskit` stays light

    discard_others(container, stream)
    longest = LONGEST_STEP_S / tick_length(stream)
    name = Path(container.name).name
    bar = tqdm(total=container.size, unit="B", unit_scale=True, desc=f"{name}: its clock is read, once", delay=SHORT_S)
    wraps = container_kind(container) == "mpegts"
    last: int | None = None
    breaks = False
    with bar, suppress(*DECODE_ERRORS):
        for number, packet in enumerate(islice(container.demux(stream), most)):
            if number % BAR_PACKETS == 0 and packet.pos is not None:
                bar.update(packet.pos - bar.n)
            at = packet.dts if packet.dts is not None else packet.pts
            if at is None:
                continue
            if (last is not None and not 0 <= at - last <= longest) or (wraps and not 0 <= at < MPEG_WRAP):
                breaks = True
                break
            last = at
        if bar.total is not None:  # what follows need not be read
            bar.update(bar.total - bar.n)
    return breaks
