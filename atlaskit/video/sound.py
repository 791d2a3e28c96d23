"""The sound of a video file, decoded in one pass to 16 kHz mono and cut into chunks.

* Chunks: `Block`, `Chunk`, `cut_at_pauses`. Sound is *silent* if nothing can be heard in it, so
  that it needs no speech model. It is measured by its mean power over 20 ms, in decibels relative
  to full scale (dBFS).
* Times: `SoundTimer`. The clock of a recording may restart or jump in the middle. Such a place is a
  *joint*; where it is, and by how much the clock jumps, is found in the times of the pictures
  (`PyAVReader.joints`). Small errors in the times of the sound are corrected.
* Tracks: `Sound` chooses a sound track and decodes it.
"""

from __future__ import annotations

import io
import warnings
import wave
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from atlaskit.errors import DamagedVideo, InputError, VideoError, check_whole, printable, reason
from atlaskit.video.tracks import Track, is_exact_language, same_language, tracks_of

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.packet import Packet

RATE = 16_000
"""Samples per second. Speech models are trained on this rate."""
LONGEST_S = 30.0
"""Longest chunk in seconds, the input of Whisper."""
FRAME = RATE // 50
"""Samples in a frame of 20 ms, over which the power is averaged."""
SILENT_DB = -60.0
"""Sound that is never louder is silent."""
LONG_SILENCE_S = 4.0
"""A silence of at least this length becomes a chunk of its own, since speech models invent words in
silence."""
MARGIN_S = 0.3
"""Silence that stays with the sound before and after it."""
QUIET_S = 0.3
"""Length of the quiet place at which a chunk ends."""

Samples = NDArray[np.int16]
"""Mono sound at `RATE`, (n,)."""


class Block(NamedTuple):
    """A piece of decoded sound."""

    first: int
    """Number of its first sample, counted from the start of the file's clock."""
    samples: Samples


class Chunk(NamedTuple):
    """A piece of the sound that is transcribed in one request."""

    first: int
    """Number of its first sample, counted from the start of the file's clock."""
    samples: Samples
    is_silent: bool
    """Whether it is so quiet that there is nothing to transcribe."""

    @property
    def start_s(self) -> float:
        """When it starts, in seconds of the file's clock."""
        return self.first / RATE

    @property
    def end_s(self) -> float:
        """When it ends, in seconds of the file's clock."""
        return (self.first + len(self.samples)) / RATE

    def wav(self) -> bytes:
        """Return the chunk as a WAV file of at least half a second: some endpoints refuse less."""
        data = io.BytesIO()
        with wave.open(data, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            # RATE bytes are half a second, since a sample has two bytes.
            file.writeframes(self.samples.astype("<i2").tobytes().ljust(RATE, b"\0"))
        return data.getvalue()


def cut_at_pauses(blocks: Iterable[Block], longest_s: float = LONGEST_S) -> Iterator[Chunk]:
    """Cut sound into chunks, which together hold each sample of all blocks once and in order.

    A chunk ends at the quietest place of its second half, which is a pause if there is one. A long
    silence becomes a chunk of its own. A chunk also ends if there is a gap before the next block.

    Args:
        blocks: The sound in order. Only the chunk that is being filled is kept in memory.
        longest_s: Longest chunk in seconds, at least one.
    """
    longest = int(longest_s * RATE)
    first = 0
    parts = list[Samples]()
    count = 0
    for block in chain(blocks, [None]):
        is_end = count > 0 and (block is None or block.first != first + count)
        # Before the end, a chunk is cut only if more sound than fits into one has been read, so
        # that sound just as long as a chunk is not divided.
        enough = 1 if is_end else longest + FRAME
        while count >= enough:
            samples = np.concatenate(parts)
            cut, is_silent = _cut(samples, longest)
            yield Chunk(first, samples[:cut], is_silent)
            first += cut
            parts = [samples[cut:]]
            count -= cut
        if block is not None:
            if count == 0:
                first = block.first
                parts = []
            parts.append(block.samples)
            count += len(block.samples)


def _cut(samples: Samples, longest: int) -> tuple[int, bool]:
    """Return the length of the first chunk in samples, and whether it is silent."""
    levels = _levels(samples[:longest])
    is_silent = levels <= SILENT_DB
    if is_silent.all():
        return min(len(samples), longest), True
    margin = round(MARGIN_S * RATE / FRAME)
    least = round(LONG_SILENCE_S * RATE / FRAME)
    silences = [(start, end) for start, end in _runs(is_silent) if end - start >= least]
    if silences:
        start, end = silences[0]
        if start == 0:
            return (end - margin) * FRAME, True
        return (start + margin) * FRAME, False
    if len(samples) <= longest:
        return len(samples), False
    return _quietest(levels) * FRAME, False


def _quietest(levels: NDArray[np.float64]) -> int:
    """Return the frame to cut at: the middle of the quietest QUIET_S in the second half."""
    width = round(QUIET_S * RATE / FRAME)
    begin = len(levels) // 2
    power = np.convolve(10 ** (levels[begin:] / 10), np.ones(width), "valid")
    return begin + int(np.argmin(power)) + width // 2


def _levels(samples: Samples) -> NDArray[np.float64]:
    """Return the mean power of each frame in dBFS; the last frame may be shorter."""
    whole = len(samples) // FRAME * FRAME
    power = np.square(samples[:whole].astype(np.float64)).reshape(-1, FRAME).mean(axis=1)
    if whole < len(samples):
        power = np.append(power, np.square(samples[whole:].astype(np.float64)).mean())
    levels: NDArray[np.float64] = 10 * np.log10(np.maximum(power, 1e-3) / 32768**2)
    return levels


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the (start, end) of each run of true flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


TOLERANCE_S = 0.1
"""A smaller error of a time is ignored: the sound continues without a break."""
OVERLAP_S = 0.5
"""A frame that overlaps the sound before it by at most this is dropped. If the time goes back
further, the clock has restarted."""
NEAR_BYTES = 8_000_000
"""In the file, the sound has its joint within this many bytes of the joint of the pictures."""


class SoundTimer:
    """Gives each frame of a sound track its time, in the order of the file.

    Attributes:
        end_s: When the frame placed last ends; None before the first one.
    """

    def __init__(self, joints: Sequence[tuple[int, float]], limit_s: float) -> None:
        """Begin a track.

        Args:
            joints: Pairs (byte, seconds): these seconds are added to all times of packets from this
                byte of the file on, until the next joint.
            limit_s: The end of the video in the container's time. A time beyond it is wrong.
        """
        self.end_s: float | None = None
        self._joints = list(joints)
        self._limit_s = limit_s
        self._shift_s = 0.0  # the seconds of the last joint that was passed
        self._lag_s = 0.0  # further seconds that are added, so that the sound has no breaks

    def place(self, at_s: float | None, length_s: float, byte: int | None) -> float | None:
        """Return the start of a frame as if there were no joints; None if it repeats past sound.

        Args:
            at_s: Its start in the container's time, which the file gives; None if that is unknown.
            length_s: Its length.
            byte: The place of its packet in the file; None if that is unknown.
        """
        start_s = self._start(at_s, byte)
        if start_s is not None:
            self.end_s = start_s + length_s
        return start_s

    def _start(self, at_s: float | None, byte: int | None) -> float | None:
        """Return what `place` returns, and pass joints on the way."""
        expected_s = self.end_s
        if at_s is None:
            return expected_s or 0.0
        if expected_s is None:
            return at_s
        if self._pass_joint(at_s, expected_s, byte):
            # If the sound before the joint lasts longer than its pictures, the sound after it is
            # delayed.
            self._lag_s = max(0.0, expected_s - at_s - self._shift_s)
        start_s = at_s + self._shift_s + self._lag_s
        error_s = start_s - expected_s
        if abs(error_s) <= TOLERANCE_S:
            return expected_s
        if error_s < -OVERLAP_S or (error_s > 0 and start_s > self._limit_s):
            # The clock has restarted, or jumped beyond the end of the video: go on without a break.
            self._lag_s -= error_s
            return expected_s
        if error_s > 0:  # a gap
            return start_s
        return None

    def _pass_joint(self, at_s: float, expected_s: float, byte: int | None) -> bool:
        """Pass each joint after which a frame's time fits better; return whether there was one."""
        passed = False
        while self._joints and byte is not None and byte >= self._joints[0][0] - NEAR_BYTES:
            now_s = abs(at_s + self._shift_s + self._lag_s - expected_s)
            then_s = abs(at_s + self._joints[0][1] - expected_s)
            if now_s <= TOLERANCE_S or then_s >= now_s:
                break
            self._shift_s = self._joints.pop(0)[1]
            self._lag_s = 0.0
            passed = True
        return passed


LONGEST_FILL_S = 10.0
"""A gap of at most this length is filled with silence. A longer one separates two blocks."""


@dataclass(frozen=True)
class Sound:
    """One sound track of a video file.

    Times are seconds of the file's clock. Second 0 is the start of the earliest stream, as in a
    subtitle file.
    """

    path: Path
    start_s: float
    """The container's time of second 0."""
    lead_s: float
    """Second at which the first frame of the video is shown."""
    duration_s: float
    """Length of the video in seconds, from its first frame on."""
    joints: Sequence[tuple[int, float]] = ()
    """See `PyAVReader.joints`."""
    number: int | None = None
    """Number of the track among the sound tracks, from 0; None to choose by language."""
    language: str | None = None
    """Language of the wanted track; None for the default track."""

    def track(self) -> Track:
        """Return the track with `number`, else the best one in `language`, else the default one.

        `language` is ignored if there is a single track, or if no track has a language.

        Raises:
            VideoError: The file has no sound, or one that cannot be decoded.
            InputError: There is no such track.
        """
        with self._opened() as container:
            return self._chosen(container)

    def _chosen(self, container: InputContainer) -> Track:
        tracks = tracks_of(container.streams.audio)
        if not tracks:
            raise VideoError(f"{self.path} has no sound: there is nothing to transcribe.")
        listed = f"{self.path} has the sound tracks {'; '.join(map(str, tracks))}"
        candidates = tracks
        has_languages = len(tracks) > 1 and any(track.language for track in tracks)
        if self.number is not None:
            check_whole("audio_track", self.number, least=0)
            candidates = tracks[self.number : self.number + 1]
            if not candidates:
                raise InputError(f"There is no audio_track {self.number}: {listed}.")
        elif self.language is not None and has_languages:
            candidates = [track for track in tracks if same_language(self.language, track.language)]
            if not candidates:
                wanted = printable(self.language, 40)
                raise InputError(
                    f"No sound track is in {wanted!r}: {listed}. Choose one by audio_track."
                )
        track = min(
            candidates,
            key=lambda track: (
                track.is_aside,
                not is_exact_language(self.language, track.language),
                not track.is_default,
                track.number,
            ),
        )
        if track.codec == "unknown":
            raise VideoError(
                f"The sound track {track} of {self.path} has a codec that this build of FFmpeg "
                "cannot decode."
            )
        return track

    def chunks(self) -> Iterator[Chunk]:
        """Yield the whole sound in chunks; see `cut_at_pauses` and `blocks`."""
        return cut_at_pauses(self.blocks())

    def blocks(self) -> Iterator[Block]:
        """Decode the track from its start to its end.

        The blocks do not overlap. Packets that are missing or cannot be decoded become silence, so
        that the following sound keeps its time.

        Raises:
            VideoError: The file has no sound, or one that cannot be decoded.
            InputError: There is no such track.

        Warns:
            DamagedVideo: Some of the sound cannot be decoded.
        """
        with self._opened() as container:
            track = self._chosen(container)
            stream = container.streams.audio[track.number]
            # The sound may last a second longer than the pictures.
            timer = SoundTimer(self.joints, self.start_s + self.lead_s + self.duration_s + 1)
            writer = _BlockWriter(self.start_s)
            damage: list[str] = []
            for frame, byte in _frames(container, stream, damage):
                if frame.pts is not None and frame.time_base:
                    at_s = float(frame.pts * frame.time_base)
                else:
                    at_s = None
                start_s = timer.place(at_s, frame.samples / frame.sample_rate, byte)
                if start_s is not None:
                    yield from writer.write(frame, start_s)
            yield from writer.flush()
            if damage and not writer.count:
                raise VideoError(
                    f"The sound track {track} of {self.path} cannot be decoded ({damage[0]})."
                )
            if damage:
                warnings.warn(
                    f"{len(damage)} packets of the sound of {self.path} cannot be decoded "
                    f"({damage[0]}): there is silence in their place.",
                    DamagedVideo,
                    stacklevel=3,
                )

    def _opened(self) -> InputContainer:
        # Imported here, so that `import atlaskit` stays light.
        from atlaskit.video.readers.container import open_container

        container, _ = open_container(self.path, is_known=True)
        if not container.streams.audio:  # the sound of a live recording may begin late
            container.close()
            container, _ = open_container(self.path, is_long_probe=True, is_known=True)
        return container


def _frames(
    container: InputContainer, stream: AudioStream, damage: list[str]
) -> Iterator[tuple[AudioFrame, int | None]]:
    """Decode a stream packet by packet, and yield each frame with the byte of its packet.

    If a packet cannot be decoded, the reason is added to `damage`, and the next one is decoded.
    """
    from atlaskit.video.readers.container import (
        DECODE_ERRORS,
        discard_others,
        is_transient,
        packets_of,
    )

    discard_others(container, stream)
    packets: Iterator[Packet[AudioStream]] = packets_of(container, stream)
    try:
        for packet in packets:
            try:
                for frame in packet.decode():
                    if frame.samples and frame.sample_rate:
                        yield frame, packet.pos
            except DECODE_ERRORS as error:
                damage.append(reason(error))
    except DECODE_ERRORS as error:
        if is_transient(error):
            name = container.name.removeprefix("file:")
            raise VideoError(
                f"The sound of {name} cannot be read ({reason(error)}): try again."
            ) from error
        damage.append(reason(error))


class _BlockWriter:
    """Resamples frames and makes blocks of them, with silence in short gaps.

    Attributes:
        count: Number of samples in all blocks so far.
    """

    def __init__(self, zero_s: float) -> None:
        """Begin a track, given the container's time of the sample with the number 0."""
        self._zero_s = zero_s
        self._next: int | None = None  # the number of the next sample
        self._setup: tuple[str, str, int] | None = None  # None if the resampler holds nothing
        self._heard_s = 0.0  # the end of the last frame, in the container's time
        self.count = 0

    def write(self, frame: AudioFrame, start_s: float) -> Iterator[Block]:
        """Yield the blocks of a frame that starts at `start_s` in the container's time."""
        import av

        setup = (frame.format.name, frame.layout.name, frame.sample_rate)
        if self._next is None or setup != self._setup or abs(start_s - self._heard_s) > 1e-6:
            yield from self.flush()
            yield from self._move_to(round((start_s - self._zero_s) * RATE))
            self._setup = setup
            self._resampler = av.AudioResampler("s16", "mono", RATE)
        self._heard_s = start_s + frame.samples / frame.sample_rate
        frame.pts = None
        yield from self._blocks(frame)

    def flush(self) -> Iterator[Block]:
        """Yield the samples that the resampler still holds."""
        if self._setup is not None:
            self._setup = None
            yield from self._blocks(None)

    def _move_to(self, first: int) -> Iterator[Block]:
        """Go to the sample number `first`: fill a short gap with silence, and leave a long one."""
        first = max(first, 0, self._next or 0)
        if self._next is not None and 0 < first - self._next <= LONGEST_FILL_S * RATE:
            yield self._block(np.zeros(first - self._next, np.int16))
        self._next = first

    def _blocks(self, frame: AudioFrame | None) -> Iterator[Block]:
        """Resample a frame, or with None what the resampler still holds."""
        for part in self._resampler.resample(frame):
            if part.samples:
                yield self._block(np.asarray(part.to_ndarray(), np.int16).reshape(-1))

    def _block(self, samples: Samples) -> Block:
        block = Block(self._next or 0, samples)
        self._next = block.first + len(samples)
        self.count += len(samples)
        return block
