"""The policy without language: its environment, and what is kept of a trained one."""

from __future__ import annotations

from pathlib import Path

import pytest

from nano.policy import Recipe, learn, summary
from nano.policy.kept import Episodes, Kept

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
def kept(tmp_path: Path) -> Path:
    """A folder with a result for the rules and for two seeds of the training."""
    rules = [episodes("random", 0, 0.0), episodes("likeness", 0, 0.4)]
    Kept(curve=rules, test=rules, cpu_s=0.0).write(tmp_path / "kept", RECIPE.parts())
    for seed in (0, 1):
        curve = [episodes("zero-shot", 0, 0.0), episodes("learned", 5, 0.3), episodes("learned", 10, 0.6)]
        Kept(curve=curve, test=[curve[0], curve[-1]], cpu_s=60.0).write(tmp_path / "kept", RECIPE.parts(seed))
    return tmp_path / "kept"


def test_a_kept_result_is_read_and_not_made_again(kept: Path) -> None:
    learned = learn(RECIPE, (0, 1), folder=kept)
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


@pytest.mark.long
def test_the_policy_that_ships_is_above_random_and_above_the_rule(tmp_path: Path) -> None:
    learned = learn(folder=tmp_path, replay=True)
    table = summary(learned.test).set_index("policy")
    assert learned.recipe.seeds == "test" and table.loc["learned", "n"] == 600
    for other in ("random", "zero-shot", "likeness"):
        assert table.loc["learned", "reward_low"] > table.loc[other, "reward_high"], other
    assert table.loc["learned", "reward_high"] < table.loc["greedy (an oracle)", "reward_low"]
