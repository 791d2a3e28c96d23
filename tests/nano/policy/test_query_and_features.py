"""What the policy without language reads from words and frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.policy import PerfectEyes, one_hot

from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from nano.policy.features import Memory
from nano.policy.query import Query
from nano.policy.task import SIZE, PolicyEnv

SEEDS, DURATION_S = range(5), 240.0
WORLDS = [atlasworld(seed, DURATION_S, size=(128, 72)) for seed in SEEDS]
SHOWN_AT_ONCE = ("S2O", "S2A", "OCR", "T2O")
"""Categories whose answer one frame shows."""


@pytest.fixture(scope="module")
def env() -> PolicyEnv:
    return PolicyEnv(SEEDS, PerfectEyes(SEEDS, DURATION_S), duration_s=DURATION_S)


@pytest.mark.parametrize("category", SHOWN_AT_ONCE)
def test_the_frame_of_the_evidence_supports_the_true_choice_alone(category: str) -> None:
    asked = [(world, each) for world in WORLDS for each in world.questions if each.category == category]
    assert len(asked) >= 10
    for world, question in asked:
        query = Query.of(question)
        ((start_s, end_s), *_) = question.positions_s
        lines = [line for line in world.drawn.subtitles.between(0, DURATION_S) if line.text == query.goal.line]
        at_s = (max(start_s, lines[0].start_s) + min(end_s, lines[0].end_s)) / 2 if lines else (start_s + end_s) / 2
        shown = one_hot(world.script, [at_s])
        assert query.target(shown, np.ones(1, np.float32)) == 1
        assert np.flatnonzero(query.support(shown)[0]).tolist() == [question.answer]


def test_a_frame_elsewhere_is_not_what_is_asked_for() -> None:
    for world in WORLDS:
        for question in world.questions:
            if question.category == "WHEN":
                start_s, end_s = question.positions_s[0]
                shown = one_hot(world.script, [start_s - 0.1, end_s + 0.1])
                assert Query.of(question).target(shown, np.ones(2, np.float32)).tolist() == [0, 0]


def test_another_wording_is_refused() -> None:
    with pytest.raises(InputError, match=r"only AtlasWorld's own questions; got 'Who wins"):
        Query.of(Question("Who wins?", ("a", "b"), answer=0))


def test_features_are_bounded_and_follow_from_no_truth(env: PolicyEnv) -> None:
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


def test_features_tell_what_the_agent_did(env: PolicyEnv) -> None:
    first = env.begin(0, 0)
    opened, *_ = env.step(3)
    back, *_ = env.step(96)
    assert not np.array_equal(first, opened)
    rows = (back - first)[: 16 * 28].reshape(16, 28)
    assert rows[3, 17] == 1 and not rows[[0, 1, 2, 4], 17].any(), "the cell that was opened is marked"


def test_memory_takes_each_grid_once_and_in_order_of_time(env: PolicyEnv) -> None:
    env.begin(1, 2)
    for action in (9, 96, 2, 96, 9):
        env.step(action)
    memory: Memory = env.memory
    assert len(memory.times_s) == len(set(memory.times_s)) == 3 * 16
    assert (np.diff(memory.times_s) > 0).all()
    assert len(memory.target) == len(memory.support) == 48
