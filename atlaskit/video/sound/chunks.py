"""Cuts sound into chunks at pauses, as it is decoded.

What is *silent* is so quiet that nobody hears anything in it: it needs no speech model. It is
measured in decibels below full scale (dBFS) of the mean power of 20 ms.
"""

from __future__ import annotations

import io
import wave
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RATE = 16_000
"""Samples per second. Speech models are trained on this rate."""
LONGEST_S = 30.0
"""Longest chunk in seconds: what Whisper hears at once."""
FRAME = RATE // 50
"""Samples over which the power is measured: 20 ms."""
SILENT_DB = -60.0
"""What is never louder than this is silent."""
LONG_SILENCE_S = 4.0
"""A silence at least this long becomes a chunk of its own: speech models make words up in it."""
MARGIN_S = 0.3
"""Silence that stays with the sound on each side of it."""
QUIET_S = 0.3
"""Length of the quiet place that a chunk ends in."""

Samples = NDArray[np.int16]
"""Mono sound at `RATE`, (n,)."""


class Block(NamedTuple):
    """Some sound as it is decoded."""

    first: int
    """Number of its first sample, from the start of the file's clock."""
    samples: Samples


class Chunk(NamedTuple):
    """A piece of the sound that is transcribed at once."""

    first: int
    """Number of its first sample, from the start of the file's clock."""
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
            file.writeframes(self.samples.astype("<i2").tobytes().ljust(RATE, b"\0"))
        return data.getvalue()


def cut_at_pauses(blocks: Iterable[Block], longest_s: float = LONGEST_S) -> Iterator[Chunk]:
    """Cut sound into chunks; together they are all samples of all blocks, each once and in order.

    A chunk ends at the quietest place of its second half, which is a pause where there is one. A
    long silence becomes a chunk of its own. A chunk also ends where the next block does not follow
    on.

    Args:
        blocks: The sound in order. Only the chunk that is being filled is kept in memory.
        longest_s: Longest chunk in seconds, at least one.
    """
    longest = int(longest_s * RATE)
    first, parts, count = 0, list[Samples](), 0
    for block in chain(blocks, [None]):
        is_end = count > 0 and (block is None or block.first != first + count)
        # Of what goes on, a sound just as long as a chunk is not cut.
        while count >= (1 if is_end else longest + FRAME):
            samples = np.concatenate(parts)
            cut, is_silent = _cut(samples, longest)
            yield Chunk(first, samples[:cut], is_silent)
            first, parts, count = first + cut, [samples[cut:]], count - cut
        if block is not None:
            first, parts = (first, parts) if count else (block.first, [])
            parts.append(block.samples)
            count += len(block.samples)


def _cut(samples: Samples, longest: int) -> tuple[int, bool]:
    """Return where the first chunk of some sound ends, in samples, and whether it is silent."""
    levels = _levels(samples[:longest])
    is_silent = levels <= SILENT_DB
    if is_silent.all():
        return min(len(samples), longest), True
    margin, long = round(MARGIN_S * RATE / FRAME), round(LONG_SILENCE_S * RATE / FRAME)
    runs = [(start, end) for start, end in _runs(is_silent) if end - start >= long]
    if runs and runs[0][0] == 0:
        return (runs[0][1] - margin) * FRAME, True
    if runs:
        return (runs[0][0] + margin) * FRAME, False
    if len(samples) <= longest:
        return len(samples), False
    return _quietest(levels) * FRAME, False


def _quietest(levels: NDArray[np.float64]) -> int:
    """Return the frame to cut at: the middle of the quietest place of the second half."""
    width, begin = round(QUIET_S * RATE / FRAME), len(levels) // 2
    power = np.convolve(10 ** (levels[begin:] / 10), np.ones(width), "valid")
    return begin + int(np.argmin(power)) + width // 2


def _levels(samples: Samples) -> NDArray[np.float64]:
    """Return the power of each frame in dBFS; the last frame may be shorter."""
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
