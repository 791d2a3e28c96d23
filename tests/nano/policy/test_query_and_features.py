"""What the policy without language reads from words and frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.policy import PerfectEyes, one_hot

from atlaskit.benchmarks.atlasworld import atlasworld
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
