"""What is kept of a trained policy, how it is read again, and its figure and table."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.paths import ROOT

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kind_of
from atlaskit.errors import InputError
from atlaskit.nano.policy import Recipe, learn, summary
from atlaskit.nano.policy.kept import Episodes, Kept
from atlaskit.nano.policy.learning import LEARNED
from atlaskit.runs import archive
from atlaskit.viz import plots

RECIPE = Recipe(steps=10, trials=12, tests=12, seeds="selection")


def episodes(policy: str, trained: int, reward: float) -> Episodes:
    rows = [
        {
            "world": world,
            "question": "What colour is it?",
            "category": "S2A",
            "reward": reward + 0.1 * (world % 2),
            "score": 1.0,
            "right": world % 3 > 0,
            "steps": 2,
            "actions": "expand 3; answer 1",
        }
        for world in range(12)
    ]
    return Episodes.of(policy, trained, rows)


@pytest.fixture
def kept(cache: Cache) -> Cache:
    """A cache with a result for the rules and for two seeds of the training."""
    rules = [episodes("random", 0, 0.0), episodes("likeness", 0, 0.4)]
    cache.put_json(LEARNED.key(recipe=RECIPE.parts()), Kept(curve=rules, test=rules, cpu_s=0.0).model_dump())
    for seed in (0, 1):
        curve = [episodes("zero-shot", 0, 0.0), episodes("learned", 5, 0.3), episodes("learned", 10, 0.6)]
        result = Kept(curve=curve, test=[curve[0], curve[-1]], cpu_s=60.0)
        cache.put_json(LEARNED.key(recipe=RECIPE.parts(seed)), result.model_dump())
    return cache


def test_a_kept_result_is_read_and_not_made_again(kept: Cache) -> None:
    learned = learn(RECIPE, (0, 1), cache=kept)
    assert learned.cpu_s == 120
    assert learned.test.groupby(["policy", "seed"], sort=False).size().to_dict() == {
        ("random", ""): 12,
        ("likeness", ""): 12,
        ("zero-shot", "0"): 12,
        ("learned", "0"): 12,
        ("zero-shot", "1"): 12,
        ("learned", "1"): 12,
    }
    assert sorted(learned.curve["trained"].unique()) == [0, 5, 10]


def test_worlds_are_what_an_interval_resamples(kept: Cache) -> None:
    test = learn(RECIPE, (0, 1), cache=kept, replay=True).test
    both, one = summary(test), summary(test, ["policy", "seed"])
    of_both, of_one = (
        both.set_index("policy").loc["learned"],
        one[one["seed"] == "1"].set_index("policy").loc["learned"],
    )
    assert (of_both["n"], of_one["n"]) == (24, 12)
    names = ["reward", "reward_low", "reward_high", "right_low"]
    assert of_both[names].tolist() == pytest.approx(of_one[names].tolist()), "a second seed adds no worlds"
    assert of_both["reward_low"] < 0.65 < of_both["reward_high"]


def test_a_replay_without_a_result_says_what_to_do(cache: Cache, kept: Cache) -> None:
    with pytest.raises(InputError, match="holds no result of this recipe, and a replay makes none; run it first"):
        learn(Recipe(steps=11), cache=kept, replay=True)
    with pytest.raises(InputError, match="one seed or more"):
        learn(RECIPE, (), cache=kept)


@pytest.mark.parametrize("lacking", ["torch", "sb3_contrib", "gymnasium"])
def test_a_missing_library_is_one_sentence(lacking: str, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("atlaskit.gym", "atlaskit.nano.policy"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, lacking, None)
    with pytest.raises(ImportError, match="sb3-contrib>=2.7,<3"):
        learn(RECIPE, cache=cache)


@pytest.mark.parametrize(
    "change",
    [{"reward": ["<b>"]}, {"reward": [math.inf]}, {"steps": [-1]}, {"more": [1]}, {"world": [1, 2]}],
    ids=["text", "infinite", "negative", "unknown column", "of another length"],
)
def test_an_entry_from_elsewhere_is_checked(change: dict[str, Any], cache: Cache) -> None:
    result = Kept(curve=[], test=[episodes("learned", 5, 0.5)], cpu_s=1.0).model_dump()
    assert Kept.parse(result) is not None
    result["test"][0] = {**result["test"][0], **change}
    assert Kept.parse(result) is None
    assert Kept.parse(None) is None and Kept.parse([]) is None


def test_a_recording_has_the_results_alone(kept: Cache, tmp_path: Path) -> None:
    learned = learn(RECIPE, (0, 1), cache=kept)
    counts = archive.export(tmp_path / "made.zip", made_since_s=0, cache=kept)
    assert counts == {"learned": 3}
    elsewhere = Cache(tmp_path / "elsewhere")
    archive.import_(tmp_path / "made.zip", cache=elsewhere)
    again = learn(RECIPE, (0, 1), cache=elsewhere, replay=True)
    pd.testing.assert_frame_equal(again.test, learned.test)
    assert {kind_of(LEARNED.key(recipe=RECIPE.parts()))} == {"learned"}


def test_the_policy_that_ships_is_above_random_and_above_the_rule(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for recording in (ROOT / "recordings").glob("*.zip"):
        archive.import_(recording, cache=cache)
    learned = learn(cache=cache, replay=True)
    table = summary(learned.test).set_index("policy")
    assert learned.recipe.seeds == "test" and table.loc["learned", "n"] == 600
    for other in ("random", "zero-shot", "likeness"):
        assert table.loc["learned", "reward_low"] > table.loc[other, "reward_high"], other
    assert table.loc["learned", "reward_high"] < table.loc["greedy (an oracle)", "reward_low"]


def test_the_figure_has_a_line_for_each_seed_and_rule(kept: Cache) -> None:
    curve = learn(RECIPE, (0, 1), cache=kept).curve
    first = plots.reward_curves(curve)
    axes = first.figure.axes
    assert [ax.get_ylabel() for ax in axes] == ["mean reward", "share right", "steps of an episode"]
    names = ["learned, seed 0", "learned, seed 1", "random", "likeness"]
    assert [text.get_text() for text in first.figure.legends[0].get_texts()] == names
    assert first.get_lines()[0].get_ydata().tolist() == pytest.approx([0.05, 0.35, 0.65])
    assert np.ptp(first.get_lines()[2].get_ydata()) == 0
    assert "n = 12 questions a point" in (first.get_title() or first.get_title(loc="left"))
    with pytest.raises(InputError, match="steps"):
        plots.reward_curves(curve.drop(columns="steps"))
    with pytest.raises(InputError, match="no rows"):
        plots.reward_curves(curve[:0])
