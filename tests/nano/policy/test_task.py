"""The policy without language: what it reads, its environment, and what it learned."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import atlasworld as aw
from atlaskit.environment.atlas import Observation
from atlaskit.gym import KINDS
from atlasworld.ranges import seeds
from atlasworld.timeline import Script
from nano.policy import learn, summary
from nano.policy.query import Floats, Query
from nano.policy.recipe import CHOSEN_BY, FIRST_WORLD, Recipe
from nano.policy.task import CLOSE_LOOKS, SIZE, PolicyEnv
from nano.teacher.labels import VALUES, content_at, encode


def one_hot(script: Script, times_s: list[float]) -> Floats:
    """Return what perfect eyes would see at some seconds, (times, values)."""
    codes = [encode(content_at(script, time_s)) for time_s in times_s]
    parts = [
        np.eye(len(values))[list(column)]
        for values, column in zip(VALUES.values(), zip(*codes, strict=True), strict=True)
    ]
    return np.concatenate([part.astype(np.float32) for part in parts], axis=1)


SEEDS = range(16)
DURATION_S = 240.0
WORLDS = [aw.world(seed, DURATION_S, size=(128, 72)) for seed in SEEDS]
SCRIPTS = {world.drawn.fingerprint: world.script for world in WORLDS}


def eyes(observation: Observation) -> Floats:
    """Read a grid without an error."""
    view = observation.view
    return one_hot(SCRIPTS[view.video.fingerprint], list(view.moments))


SHOWN_AT_ONCE = ("S2O", "S2A", "OCR", "T2O")
"""Categories whose answer one frame shows."""


@pytest.mark.parametrize("category", SHOWN_AT_ONCE)
def test_the_frame_of_the_evidence_supports_the_true_choice_alone(category: str) -> None:
    asked = [(world, each) for world in WORLDS[:5] for each in world.questions if each.category == category]
    assert len(asked) >= 10
    for world, question in asked:
        query = Query.of(question)
        ((start_s, end_s), *_) = question.positions_s
        lines = [line for line in world.drawn.subtitles.between(0, DURATION_S) if line.text == query.goal.line]
        at_s = (max(start_s, lines[0].start_s) + min(end_s, lines[0].end_s)) / 2 if lines else (start_s + end_s) / 2
        shown = one_hot(world.script, [at_s])
        assert query.target(shown, np.ones(1, np.float32)) == 1
        assert np.flatnonzero(query.support(shown)[0]).tolist() == [question.answer]


def test_features_are_bounded_and_follow_from_no_truth() -> None:
    env = PolicyEnv(SEEDS[:5], eyes, duration_s=DURATION_S)
    rng = np.random.default_rng(0)
    for number in range(24):
        seen = env.begin(0, number)
        if env.question.kind == "choice":
            lie = 0 if env.question.answer != 0 else 1
            env.episode.question = replace(env.question, answer=lie, positions_s=())
            assert np.array_equal(env._pixels(), seen), "features depend on the true answer"
        while not env.episode.is_over:
            assert seen.shape == (SIZE,) and np.abs(seen).max() <= 1 and np.isfinite(seen).all()
            seen, *_ = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))


def make() -> PolicyEnv:
    return PolicyEnv(SEEDS, eyes, duration_s=DURATION_S, step_cost=0.01)


@pytest.mark.filterwarnings("ignore")  # what it warns of is the same for AtlasEnv
def test_gymnasium_accepts_the_environment() -> None:
    check_env(make(), skip_render_check=True)


def test_the_policy_may_choose_legal_actions_but_no_close_looks() -> None:
    env = make()
    rng = np.random.default_rng(1)
    env.begin(2, 0)
    while not env.episode.is_over:
        mask = env.action_masks()
        allowed = {env.encode(action) for action in env.legal_actions()}
        chosen = set(np.flatnonzero(mask).tolist())
        assert chosen < allowed
        assert {KINDS[env.decode(n)["kind"]] for n in allowed - chosen} == set(CLOSE_LOOKS)
        *_, info = env.step(int(rng.choice(sorted(chosen))))
        assert info["illegal"] == ""


def test_worlds_of_training_trials_and_tests_are_apart() -> None:
    recipe = Recipe()
    ranges = [set(recipe.training_worlds), set(recipe.trial_worlds), set(recipe.test_worlds)]
    assert sum(map(len, ranges)) == len(set.union(*ranges)) == recipe.worlds + recipe.trials + recipe.tests
    assert recipe.training_worlds[0] == seeds("development")[FIRST_WORLD]
    assert set(recipe.trial_worlds) <= set(seeds(CHOSEN_BY)) and set(recipe.test_worlds) <= set(seeds("test"))


@pytest.mark.long
def test_the_policy_that_ships_is_above_random_and_above_the_rule(tmp_path: Path) -> None:
    learned = learn(folder=tmp_path, replay=True)
    table = summary(learned.test).set_index("policy")
    assert learned.recipe.seeds == "test" and table.loc["learned", "n"] == 600
    for other in ("random", "zero-shot", "likeness"):
        assert table.loc["learned", "reward_low"] > table.loc[other, "reward_high"], other
    assert table.loc["learned", "reward_high"] < table.loc["greedy (an oracle)", "reward_low"]
