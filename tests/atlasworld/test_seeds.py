"""The ranges of seeds: none overlaps another, and nano trains on development seeds alone."""

from itertools import combinations

import pytest

import atlasworld as aw
from atlaskit.errors import InputError
from atlasworld.ranges import DEVELOPMENT, RANGES, SELECTION, TEST
from nano.data import shards
from nano.teacher.labels import TRAINING_SEED


def test_no_seed_is_in_two_ranges() -> None:
    assert [
        pair for pair in combinations(RANGES.values(), 2) if max(p.start for p in pair) < min(p.stop for p in pair)
    ] == []


def test_ranges_are_found_by_name() -> None:
    assert [aw.seeds(name) for name in RANGES] == [DEVELOPMENT, SELECTION, TEST]
    with pytest.raises(InputError, match="seeds must be development, selection, test; got 'train'"):
        aw.seeds("train")


def test_nano_trains_on_development_seeds_alone() -> None:
    last_shard = shards.WORLDS // shards.WORLDS_PER_SHARD
    firsts = (TRAINING_SEED, shards._FIRST_FRAME_SEED)
    assert all(first in DEVELOPMENT for first in firsts)
    assert all(set(shards._seeds(first, last_shard)) <= set(DEVELOPMENT) for first in firsts)
