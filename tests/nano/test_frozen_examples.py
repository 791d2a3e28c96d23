"""Nano's training data must not change: the shipped weights were trained on these bytes."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from atlaskit.benchmarks.atlasworld import atlasworld
from nano.data import synthetic
from nano.data.trajectories import lessons
from nano.teacher.labels import TRAINING_SEED

EXAMPLES = {
    "reading": [
        "7865e7809254669073849bc4",
        "2b26ddc2980a7f0d93c2d6bf",
        "cff66b1ade21edc331927cfb",
        "56b57dd94d0d4d4c4f6fc538",
    ],
    "searching": [
        "a71561bf5c1e70f2c04febdd",
        "96f0604d051d2a8ad42b7aec",
        "fdea6667bb07eee67b71a9da",
        "496c6fb76fd5a122c5bc701f",
    ],
    "judging": [
        "fecc8b38431c47791888a772",
        "86512ac8bba7e31d4d0fece4",
        "9419cc1783e27c13fed94aaf",
        "cd30cc9c01510fca50bd24de",
    ],
    "hearing": [
        "8e5ab0f4bf7450442e5370f7",
        "d6c944aa46cacd2d32d7e66a",
        "6174fc3382aab822b7938e5b",
        "46f6434ed42c5a87ab64d408",
    ],
    "straying": [
        "e6f9443e8eba4faebd17c6fe",
        "ee70b897668f39f1d9ad92c9",
        "2c09931f964b1b1e8b75b848",
        "cfc6c2a4265e7761f95ce316",
    ],
    "overhearing": [
        "01fe2fe30ee59d73ef2e4750",
        "0b94f3274b5bf878206b63f0",
        "bcdb047de237b404378abb76",
        "b8cc357e8f5d0c7d9b9243af",
    ],
}
"""By kind of synthetic example: first digits of the SHA-256 for the seeds 0, 1, 2 and 3."""
LESSONS = "1ba715cd2cc350a52ffeea8b"
"""The same of the searches of one training world, all in one."""


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:24]


@pytest.mark.parametrize("kind", EXAMPLES)
def test_synthetic_examples_are_those_that_taught_the_weights(kind: str) -> None:
    draw = getattr(synthetic, kind)
    assert [digest(draw(random.Random(seed))) for seed in range(4)] == EXAMPLES[kind]


@pytest.mark.long
def test_trajectories_are_those_that_taught_the_weights(tmp_path: Path) -> None:
    world = atlasworld(TRAINING_SEED, 600, questions=6, size=(320, 180), directory=tmp_path)
    found = [digest(lesson) for lesson in lessons(world, slip=0.1, seed=1, subtitles=True)]
    assert digest(found) == LESSONS
