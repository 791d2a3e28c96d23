"""The parts of the policy without language that need PyTorch: eyes, network, training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.environment.tiles import read_tiles
from atlasworld.nano.model import WEIGHTS
from nano.policy import Recipe, learn
from nano.policy.eyes import Eyes
from nano.teacher.labels import VALUES, content_at, encode

pytestmark = pytest.mark.rl
TINY = Recipe(steps=2048, worlds=2, trials=4, tests=4, points=1, seeds="selection")


@pytest.fixture(scope="module")
def eyes() -> Eyes:
    torch.set_num_threads(1)
    return Eyes()


def test_the_eyes_see_what_the_script_says(eyes: Eyes) -> None:
    world, at_s = aw.world(7, 240.0, size=(128, 72)), list(np.linspace(1, 239, 96))
    tiles, _ = read_tiles(world.drawn, at_s, (128, 128), "contain", Cache(None))
    shown = eyes.read([tile for tile in tiles if tile is not None])
    truth = np.array([encode(content_at(world.script, time_s)) for time_s in at_s])
    parts = np.split(shown, np.cumsum([len(values) for values in VALUES.values()])[:-1], axis=1)
    right = [float((part.argmax(1) == truth[:, column]).mean()) for column, part in enumerate(parts)]
    assert all(np.allclose(part.sum(1), 1, atol=1e-4) for part in parts)
    assert min(right[:4]) >= 0.98 and right[4] >= 0.9, right


def test_the_eyes_compute_what_idefics3_computes(eyes: Eyes) -> None:
    transformers = pytest.importorskip("transformers")
    model = transformers.Idefics3ForConditionalGeneration.from_pretrained(WEIGHTS, dtype=torch.float32)
    pixels = torch.rand(3, 128, 128, 3, generator=torch.Generator().manual_seed(0)) * 2 - 1
    with torch.inference_mode():
        seen = model.model.vision_model(pixel_values=pixels.permute(0, 3, 1, 2)).last_hidden_state
        expected = model.model.connector(seen).squeeze(1)
        assert torch.allclose(eyes._tokens(pixels), expected, atol=1e-3)


def test_what_was_learned_once_is_kept_and_a_seed_repeats_it(tmp_path: Path) -> None:
    first = learn(TINY, (3,), folder=tmp_path / "one", progress=False)
    assert set(first.test["policy"]) == {"random", "likeness", "greedy (an oracle)", "zero-shot", "learned"}
    assert first.curve.groupby("policy")["trained"].max()["learned"] == 2048 and first.cpu_s > 0
    pd.testing.assert_frame_equal(learn(TINY, (3,), folder=tmp_path / "one", replay=True).test, first.test)
    again = learn(TINY, (3,), folder=tmp_path / "other", progress=False)
    pd.testing.assert_frame_equal(again.test, first.test)
    pd.testing.assert_frame_equal(again.curve, first.curve)
