"""The one question that is asked when a file is opened: can its container's account be believed?

The account is which pictures there are, shown when, and from which packets they can be decoded. If
it can, frames are read in place; if not, the file is played once, and what comes out is the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, dropwhile, islice, pairwise
from pathlib import Path

from av.container import InputContainer
from av.video.stream import VideoStream

from atlaskit.video.readers.boxes import has_several_descriptions, is_fragmented
from atlaskit.video.readers.clock import LONGEST_STEP_S
from atlaskit.video.readers.codecs import Codec, VideoPacket, new_context, packet_of, parameters_of
from atlaskit.video.readers.container import (
    DECODE_ERRORS,
    Distrust,
    codec_of,
    container_kind,
    discard_others,
    tick_length,
)
from atlaskit.video.readers.elements import check_elements

LIVE = {"mpegts", "flv"}
"""Kinds that are recorded live: their clock may restart. So may that of a fragmented MP4."""
HEAD, PROVED = 48, 24
"""Packets at the start of a file that are looked at, and that are decoded if these are odd."""
SHORT_S = 2
"""A pass that takes less shows no bar."""
MPEG_WRAP = 1 << 33
"""The clock of a transport stream starts anew at this tick."""
INTRA = {1, 5, 7}
"""FFmpeg's numbers of the types of pictures that refer to no other: I, SI, BI."""


def check_account(container: InputContainer, stream: VideoStream, path: Path, head: Sequence[VideoPacket]) -> None:
    """Raise Distrust unless a file, of which `head` are the first packets, is believed."""
    kind = container_kind(container)
    if kind not in LIVE | {"mov", "matroska"}:
        raise Distrust("is in a format whose index is not relied on")
    if stream.codec_context.pix_fmt == "pal8":
        raise Distrust("does not tell which palettes its pictures have")
    if kind == "mov" and has_several_descriptions(path):
        raise Distrust("changes its codec in the middle")
    if kind == "matroska":
        check_elements(path)
    _check_head(head, stream)


def head_of(container: InputContainer, stream: VideoStream) -> list[VideoPacket]:
    """Return the first packets of a file just opened."""
    head: list[VideoPacket] = []
    with suppress(*DECODE_ERRORS):
        head.extend(packet for packet in islice(container.demux(stream), HEAD) if packet.size)
    return head


def is_live(container: InputContainer, path: Path) -> bool:
    """Tell whether a file is of a kind that is recorded live, so that its clock may restart."""
    kind = container_kind(container)
    return kind in LIVE or (kind == "mov" and is_fragmented(path))


def _check_head(head: Sequence[VideoPacket], stream: VideoStream) -> None:
    """Check the first packets of a file; what is odd about them, by decoding them."""
    codec, context = codec_of(stream), stream.codec_context
    shown = [packet for packet in head if not packet.is_discard]
    times = [packet.pts for packet in shown if packet.pts is not None]
    if head and not head[0].is_keyframe:
        raise Distrust("begins between keyframes, or marks none")
    if len(times) < len(shown):
        raise Distrust("does not give the time of each picture")
    if len(set(times)) < len(times) and codec.name not in ("vp8", "vp9", "av1"):
        raise Distrust("gives one time to several pictures")
    # Pictures that refer to later ones are stored in another order; and few are keyframes.
    are_in_order = all(before < after for before, after in pairwise(times))
    keys = sum(packet.is_keyframe for packet in head)
    if (are_in_order and context.has_b_frames) or (2 * keys > len(head) > 1 and not context.codec.intra_only):
        _check_decoded(head[:PROVED], codec)


def _check_decoded(head: Sequence[VideoPacket], codec: Codec) -> None:
    """Decode packets in order and compare with their times and marks."""
    context, pictures = new_context(codec, 1), []
    for number, packet in enumerate([*head, None]):
        copy = None if packet is None else packet_of(bytes(packet), codec)
        if copy is not None:
            copy.pts = number
        with suppress(*DECODE_ERRORS):
            pictures += [(frame.pts, frame.pict_type) for frame in context.decode(copy) if frame.pts is not None]
    times = [head[number].pts or 0 for number, _ in pictures]
    if times != sorted(times):
        raise Distrust("gives its pictures other times than those at which they are shown")
    if any(head[number].is_keyframe and kind not in INTRA for number, kind in pictures):
        raise Distrust("marks pictures as keyframes that are none")


def check_keyframe(container: InputContainer, stream: VideoStream, ticks: int) -> None:
    """Raise Distrust if the keyframe before some time is a picture that others must complete.

    An H.264 stream may have no keyframes but its first, and be refreshed bit by bit instead: then
    it marks where a decoder may begin to recover.
    """
    codec, given = codec_of(stream), list[VideoPacket]()
    if codec.name != "h264":
        return
    with suppress(*DECODE_ERRORS):  # whether the file is damaged there is another question
        container.seek(ticks, stream=stream)
        packets = dropwhile(lambda packet: not packet.is_keyframe, container.demux(stream))
        for several in (islice(packets, 1), islice(packets, PROVED)):  # mostly the first is enough
            given.extend(packet_of(bytes(packet), codec) for packet in several if packet.size)
            context, pictures = new_context(codec, 1), dict[int | None, int]()
            for number, packet in enumerate([*given, None]):
                if packet is not None:
                    packet.pts = number
                pictures |= {frame.pts: frame.pict_type for frame in context.decode(packet)}
            if pictures.get(0) in INTRA:
                return
        if pictures:
            raise Distrust("marks pictures as keyframes that are none")


def check_clock(container: InputContainer, stream: VideoStream) -> None:
    """Raise Distrust at the first packet of a file just opened that is damaged or out of order."""
    from tqdm import tqdm  # here, so that `import atlaskit` stays light

    discard_others(container, stream)
    longest, wraps = LONGEST_STEP_S / tick_length(stream), container_kind(container) == "mpegts"
    packets = (packet for packet in container.demux(stream) if packet.size)
    last: int | None = None
    codec, parameters = codec_of(stream), set[bytes]()
    told = f"{Path(container.name).name}: its clock is read, once"
    try:
        with tqdm(total=container.size, unit="B", unit_scale=True, desc=told, delay=SHORT_S) as bar:
            head = list(islice(packets, HEAD))
            _check_head(head, stream)
            for packet in chain(head, packets):
                bar.update((packet.pos or bar.n) - bar.n)
                at = packet.dts if packet.dts is not None else packet.pts
                if packet.is_corrupt or packet.pts is None or at is None:
                    raise Distrust("has packets that are damaged, or that give no time")
                if packet.is_keyframe and (shape := parameters_of(packet, codec)):
                    parameters.add(shape)
                    if len(parameters) > 1:
                        raise Distrust("changes the shape of its pictures")
                if (last is not None and not 0 <= at - last <= longest) or (wraps and not 0 <= at < MPEG_WRAP):
                    raise Distrust("has a clock that starts anew or jumps")
                last = at
            bar.update(bar.total - bar.n)  # what follows need not be read
    except DECODE_ERRORS as error:
        raise Distrust("cannot be read to its end") from error
