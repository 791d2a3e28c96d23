"""Sound is cut at pauses, and what is silent is told apart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

import numpy as np
import pytest

from atlaskit.video.sound import RATE, Block, Chunk, cut_at_pauses


def noise(seconds: float, level: float = 3000.0, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(round(seconds * RATE)) * level).astype(np.int16)


def blocks(samples: np.ndarray, first: int = 0) -> Iterator[Block]:
    """Yield some sound in blocks of 0.7 s."""
    size = round(0.7 * RATE)
    for start in range(0, len(samples), size):
        yield Block(first + start, samples[start : start + size])


def chunks(*parts: np.ndarray) -> list[Chunk]:
    return list(cut_at_pauses(blocks(np.concatenate(parts))))


@pytest.mark.parametrize("background", [0.0, 30.0, 300.0])
def test_a_chunk_ends_in_a_pause_whatever_noise_is_behind_the_speech(background: float) -> None:
    speech = [noise(7, seed=seed) for seed in range(9)]
    pause = noise(0.6, background, seed=9) if background else np.zeros(round(0.6 * RATE), np.int16)
    found = chunks(*(part for each in speech for part in (each, pause)))
    inner = [7 + 7.6 * number for number in range(9)]
    for chunk in found[:-1]:
        assert any(start <= chunk.end_s <= start + 0.6 for start in inner), chunk.end_s
        assert 15 <= chunk.end_s - chunk.start_s <= 30


def test_without_a_pause_it_ends_at_the_quietest_place_of_its_second_half() -> None:
    first = chunks(noise(24), noise(0.5, 1500.0, seed=3), noise(20, seed=2))[0]
    assert 24.0 <= first.end_s <= 24.5


def test_a_long_silence_is_a_chunk_of_its_own_and_quiet_speech_is_none() -> None:
    silence = np.zeros(20 * RATE, np.int16)
    quiet = noise(5, 60.0)  # 55 dB below full scale
    found = chunks(silence, quiet, silence, noise(5, seed=1))
    assert [chunk.is_silent for chunk in found] == [True, False, True, False]
    assert [round(chunk.end_s, 2) for chunk in found] == [19.7, 25.3, 44.7, 50.0]


def test_sound_after_a_hole_begins_a_chunk_of_its_own() -> None:
    first, second = noise(3), noise(4, seed=1)
    found = list(cut_at_pauses([*blocks(first), *blocks(second, first=100 * RATE)]))
    assert [(chunk.start_s, chunk.end_s) for chunk in found] == [(0.0, 3.0), (100.0, 104.0)]


def test_only_one_chunk_is_kept_in_memory() -> None:
    given = list[int]()

    def endless() -> Iterator[Block]:
        for second in count():
            given.append(second)
            yield Block(second * RATE, noise(1, seed=second))

    for chunk in islice(cut_at_pauses(endless()), 5):
        assert len(given) * RATE - chunk.first <= 32 * RATE
