"""`Sound`: one sound track of a video file, decoded to 16 kHz mono in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from atlaskit.errors import DamagedVideo, InputError, VideoError, check_whole, printable, reason
from atlaskit.video.languages import same_language
from atlaskit.video.sound.chunks import RATE, Block, Chunk, Samples, cut_at_pauses
from atlaskit.video.sound.placement import Placement
from atlaskit.video.tracks import Track, tracks_of

if TYPE_CHECKING:
    from av.audio.frame import AudioFrame
    from av.audio.stream import AudioStream
    from av.container import InputContainer

LONGEST_FILL_S = 10.0
"""A shorter gap is filled with silence; a longer one lies between two blocks."""


@dataclass(frozen=True)
class Sound:
    """One sound track of a video file.

    Its seconds are those of the file's clock: 0 is where the earliest stream starts, and a subtitle
    file counts from there.
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
    """Which of the sound tracks, from 0; None for the best one."""
    language: str | None = None
    """Of several tracks, the one in this language."""

    def track(self) -> Track:
        """Return the track with the number, else the best in the language, else the default one.

        A language only chooses: if there is a single track, or no track gives its language, the
        default one is taken.

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
        if self.number is not None:
            check_whole("audio_track", self.number, least=0)
            candidates = tracks[self.number : self.number + 1]
            if not candidates:
                raise InputError(f"There is no audio_track {self.number}: {listed}.")
        elif self.language is not None and len(tracks) > 1 and any(track.language for track in tracks):
            candidates = [track for track in tracks if same_language(self.language, track.language)]
            if not candidates:
                wanted = printable(self.language, 40)
                raise InputError(f"No sound track is in {wanted!r}: {listed}. Choose one by audio_track.")
        track = min(candidates, key=lambda track: (track.is_aside, not track.is_default, track.number))
        if track.codec == "unknown":
            raise VideoError(
                f"The sound track {track} of {self.path} has a codec that this build of FFmpeg cannot decode."
            )
        return track

    def chunks(self) -> Iterator[Chunk]:
        """Yield the whole sound in chunks; see `cut_at_pauses` and `blocks`."""
        return cut_at_pauses(self.blocks())

    def blocks(self) -> Iterator[Block]:
        """Decode the track from its start to its end.

        The blocks do not overlap. Where packets are missing or cannot be decoded, there is silence,
        so that what follows keeps its time.

        Raises:
            VideoError: The file has no sound, or one that cannot be decoded.
            InputError: There is no such track.

        Warns:
            DamagedVideo: Some of the sound cannot be decoded.
        """
        with self._opened() as container:
            track = self._chosen(container)
            stream = container.streams.audio[track.number]
            timer = Placement(self.joints, self.start_s + self.lead_s + self.duration_s + 1)
            writer = _BlockWriter(self.start_s)
            damage: list[str] = []
            for frame, byte in _frames(container, stream, damage):
                at_s = float(frame.pts * frame.time_base) if frame.pts is not None and frame.time_base else None
                start_s = timer.place(at_s, frame.samples / frame.sample_rate, byte)
                if start_s is not None:
                    yield from writer.write(frame, start_s)
            yield from writer.flush()
            if damage and not writer.count:
                raise VideoError(f"The sound track {track} of {self.path} cannot be decoded ({damage[0]}).")
            if damage:
                warnings.warn(
                    f"{len(damage)} packets of the sound of {self.path} cannot be decoded ({damage[0]}): "
                    f"there is silence in their place.",
                    DamagedVideo,
                    stacklevel=3,
                )

    def _opened(self) -> InputContainer:
        from atlaskit.video.readers.container import open_container  # here, so that `import atlaskit` stays light

        container, _ = open_container(self.path, is_known=True)
        if not container.streams.audio:  # in a live recording, it may begin late
            container.close()
            container, _ = open_container(self.path, is_long_probe=True, is_known=True)
        return container


def _frames(
    container: InputContainer, stream: AudioStream, damage: list[str]
) -> Iterator[tuple[AudioFrame, int | None]]:
    """Decode a stream packet by packet, and yield each frame with the byte of its packet.

    A packet that cannot be decoded costs no other; why is added to `damage`.
    """
    from atlaskit.video.readers.container import DECODE_ERRORS, discard_others, is_transient

    discard_others(container, stream)
    try:
        for packet in container.demux(stream):
            try:
                for frame in packet.decode():
                    if frame.samples and frame.sample_rate:
                        yield frame, packet.pos
            except DECODE_ERRORS as error:
                damage.append(reason(error))
    except DECODE_ERRORS as error:
        if is_transient(error):
            name = container.name.removeprefix("file:")
            raise VideoError(f"The sound of {name} cannot be read ({reason(error)}): try again.") from error
        damage.append(reason(error))


class _BlockWriter:
    """Resamples frames and makes blocks of them, with silence in short gaps.

    Attributes:
        count: Number of samples so far.
    """

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s
        self._next: int | None = None
        self._setup: tuple[str, str, int] | None = None
        self._heard_s = 0.0
        self.count = 0

    def write(self, frame: AudioFrame, start_s: float) -> Iterator[Block]:
        """Yield the blocks that a frame starting at `start_s` of the container's time completes."""
        import av

        setup = frame.format.name, frame.layout.name, frame.sample_rate
        if self._next is None or setup != self._setup or abs(start_s - self._heard_s) > 1e-6:
            yield from self.flush()
            yield from self._move_to(round((start_s - self._start_s) * RATE))
            self._setup = setup
            self._resampler = av.AudioResampler("s16", "mono", RATE)
        self._heard_s = start_s + frame.samples / frame.sample_rate
        frame.pts = None
        yield from self._blocks(frame)

    def flush(self) -> Iterator[Block]:
        """Yield what the resampler still holds."""
        if self._setup is not None:
            self._setup = None
            yield from self._blocks(None)

    def _move_to(self, first: int) -> Iterator[Block]:
        """Continue at a sample: fill a short gap with silence, and leave a long one."""
        first = max(first, 0, self._next or 0)
        if self._next is not None and 0 < first - self._next <= LONGEST_FILL_S * RATE:
            yield self._block(np.zeros(first - self._next, np.int16))
        self._next = first

    def _blocks(self, frame: AudioFrame | None) -> Iterator[Block]:
        for part in self._resampler.resample(frame):
            if part.samples:
                yield self._block(np.asarray(part.to_ndarray(), np.int16).reshape(-1))

    def _block(self, samples: Samples) -> Block:
        block = Block(self._next or 0, samples)
        self._next = block.first + len(samples)
        self.count += len(samples)
        return block
