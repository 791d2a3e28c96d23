"""The environment of the policy without language, and the rules it is compared with."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from support.policy import PerfectEyes

from atlaskit.benchmarks.atlasworld.seeds import seeds
from atlaskit.gym import KINDS
from nano.policy.query import Floats
from nano.policy.recipe import CHOSEN_BY, FIRST_WORLD, Recipe
from nano.policy.task import CLOSE_LOOKS, PolicyEnv
from nano.policy.trials import play

SEEDS, DURATION_S = range(16), 240.0
EYES = PerfectEyes(SEEDS, DURATION_S)


def make() -> PolicyEnv:
    return PolicyEnv(SEEDS, EYES, duration_s=DURATION_S, step_cost=0.01)


@pytest.mark.filterwarnings("ignore")  # what it warns of is the same for AtlasEnv
def test_gymnasium_accepts_the_environment() -> None:
    check_env(make(), skip_render_check=True)


def test_the_policy_may_choose_legal_actions_but_no_close_looks() -> None:
    env, rng = make(), np.random.default_rng(1)
    env.begin(2, 0)
    while not env.episode.is_over:
        mask = env.action_masks()
        allowed = {env.encode(action) for action in env.legal_actions()}
        chosen = set(np.flatnonzero(mask).tolist())
        assert chosen < allowed
        assert {KINDS[env.decode(n)["kind"]] for n in allowed - chosen} == set(CLOSE_LOOKS)
        *_, info = env.step(int(rng.choice(sorted(chosen))))
        assert info["illegal"] == ""


def test_episodes_played_together_are_those_played_alone() -> None:
    def first(seen: Floats, masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.array([int(np.flatnonzero(mask)[len(mask) % 7]) for mask in masks])

    together = play(make, SEEDS[:6], first)
    assert together == [play(make, [seed], first)[0] for seed in SEEDS[:6]]
    assert all(row["steps"] == len(row["actions"].split("; ")) for row in together)


def test_worlds_of_training_trials_and_tests_are_apart() -> None:
    recipe = Recipe()
    ranges = [set(recipe.training_worlds), set(recipe.trial_worlds), set(recipe.test_worlds)]
    assert sum(map(len, ranges)) == len(set.union(*ranges)) == recipe.worlds + recipe.trials + recipe.tests
    assert recipe.training_worlds[0] == seeds("development")[FIRST_WORLD]
    assert set(recipe.trial_worlds) <= set(seeds(CHOSEN_BY)) and set(recipe.test_worlds) <= set(seeds("test"))
