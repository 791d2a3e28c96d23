"""The Gymnasium environments: their contract, masks, reward and reference policies."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import ROOT
from support.stand_ins import Flat

from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.atlasworld.clip import DrawnVideo
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.environment.scoring import temporal_iou
from atlaskit.errors import FrameError, InputError
from atlaskit.evaluation.intervals import interval
from atlaskit.gym import CELL_KINDS, KINDS, AtlasEnv, DiscreteAtlasEnv, as_action
from examples.policies import greedy_policy, random_policy, rollout

WORLDS = int(os.environ.get("ATLASKIT_WORLDS", "6"))
"""Worlds on which policies are tested; ATLASKIT_WORLDS=20 gives the documented figures."""
IDS = ("Atlas-v0", "AtlasDiscrete-v0")
UNUSUAL = st.sampled_from(
    [None, "zoom", 2**70, -(2**70), 1.5, np.nan, (1,), np.zeros(3), np.int64(3), np.array(2), True]
)
ANY_ACTION = UNUSUAL | st.fixed_dictionaries({key: st.integers(-3, 20) | UNUSUAL for key in ("kind", "cell", "answer")})
ANY_ACTION |= st.sampled_from([{}, {"kind": 0}, {**as_action("zoom"), "when": 0}])
SAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/reinforcement-learning.md").read_text(), re.DOTALL)


def of_kind(world: World, kind: str) -> Question:
    return next(question for question in world.questions if question.kind == kind)


def env_of(world: World, cache: Cache, kind: str = "choice", **settings: Any) -> DiscreteAtlasEnv:
    return DiscreteAtlasEnv(world.drawn, of_kind(world, kind), **{"k": 2, "cell": 16, "cache": cache, **settings})


def reset(env: DiscreteAtlasEnv) -> DiscreteAtlasEnv:
    env.reset(seed=0)
    return env


def do(env: AtlasEnv, kind: str, cell: int = 0, answer: int = 0) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    return env.step(env.encode(as_action(kind, cell, answer)))


def snapshot(env: AtlasEnv) -> tuple[Any, ...]:
    return env.state, env.observation.view.key, env.prediction


def normalised(action: Any) -> dict[str, int]:
    """Return an action of the space with 0 for the entries that its kind ignores."""
    kind = KINDS[action["kind"]]
    return as_action(kind, int(action["cell"] * (kind in CELL_KINDS)), int(action["answer"] * (kind == "finished")))


class Damaged(DrawnVideo):
    """A drawn world whose second quarter cannot be decoded."""

    is_drawn = False

    def __init__(self, world: World) -> None:
        super().__init__(world.script)
        self.fingerprint += "-damaged"

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Any]:
        frames = super().try_frames(times_s, size)
        is_bad = [self.duration_s / 4 <= time_s < self.duration_s / 2 for time_s in times_s]
        return [FrameError("damaged") if bad else frame for bad, frame in zip(is_bad, frames, strict=True)]


@pytest.mark.parametrize(("size", "expected"), [((320, 180), (144, 256)), ((180, 320), (256, 144))])
def test_native_cells_give_the_observation_the_shape_of_the_video(
    size: tuple[int, int], expected: tuple[int, int]
) -> None:
    question = Question("How many?", kind="count", answer=1)
    env = gymnasium.make(
        "atlaskit.gym:Atlas-v0", video=Flat(size), question=question, k=4, fit="native", patch=4, cache=Cache(None)
    )
    assert env.observation_space.shape == (*expected, 3)
    picture, _ = env.reset(seed=0)
    assert env.observation_space.contains(picture) and np.abs(picture.astype(int) - (200, 60, 60)).max() < 20
    for action in (as_action("zoom", 3), as_action("investigate_after", 3)):
        assert env.observation_space.contains(env.step(action)[0])


def test_without_gymnasium_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import atlaskit; import atlaskit.gym"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: atlaskit.gym needs gymnasium" in done.stderr
    assert done.stderr.strip().endswith("-m pip install 'gymnasium>=1.0'")


@pytest.mark.parametrize("traversal", ["dfs", "bfs"])
@pytest.mark.parametrize("id", IDS)
def test_the_environment_checker_finds_no_fault(id: str, traversal: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(id, duration_s=60, k=2, traversal=traversal, render_mode="rgb_array").unwrapped)


def test_drawn_worlds_write_nothing_to_disk(in_tmp: Path) -> None:
    env = gymnasium.make("Atlas-v0", duration_s=60, k=2)
    rng = np.random.default_rng(0)
    rollout(env, lambda env: random_policy(env, rng), seed=0)
    assert list(in_tmp.iterdir()) == [] and repr(env.unwrapped.atlas)


def test_vector_environment_with_drawn_worlds() -> None:
    envs = gymnasium.make_vec("atlaskit.gym:AtlasDiscrete-v0", 2, "async", duration_s=60, k=2)
    try:
        pictures, info = envs.reset(seed=4)
        assert pictures.shape == (2, 128, 128, 3) and not np.array_equal(*pictures)
        assert info["cell_mask"].shape == (2, 8, 4) and len(set(info["question"])) == 2
        for _ in range(20):
            masks = envs.call("action_masks")
            legal = [envs.single_action_space.sample(mask.astype(np.int8)) for mask in masks]
            _, rewards, ends, cuts, info = envs.step(np.array(legal))
            assert not any(info["illegal"]) and not (ends & cuts).any() and ((rewards >= 0) & (rewards <= 1)).all()
            assert info["interval_s"].shape == (2, 2) and all(isinstance(found, tuple) for found in info["evidence"])
    finally:
        envs.close()


def test_vector_environment_with_one_file(film: World, tmp_path: Path) -> None:
    settings = {"video": film.video.path, "question": film.questions[0], "cache": tmp_path / "cache", "k": 2}
    envs = gymnasium.make_vec("atlaskit.gym:Atlas-v0", 2, "async", **settings)  # a path can be pickled
    try:
        pictures, info = envs.reset(seed=0)
        assert np.array_equal(*pictures) and list(info["question"]) == [film.questions[0].text] * 2
        pictures, _, _, _, info = envs.step({"kind": np.array([0, 1]), "cell": np.array([3, 0]), "answer": [0, 0]})
        assert list(info["depth"]) == [1, 0] and list(map(bool, info["illegal"])) == [False, True]
    finally:
        envs.close()


@pytest.mark.parametrize("id", IDS)
def test_episodes_depend_on_the_seed_alone(id: str) -> None:
    def play() -> list[Any]:
        env, rng = gymnasium.make(id, duration_s=60, k=2), np.random.default_rng(3)
        seen: list[Any] = [env.reset(seed=11), env.reset(), env.reset(seed=7)]
        for _ in range(12):
            seen.append(env.step(random_policy(env, rng)))
            if seen[-1][2] or seen[-1][3]:
                break
        return seen

    first, second = play(), play()
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one[0], other[0]) and one[1:-1] == other[1:-1]
        assert repr(one[-1]) == repr(other[-1])
    assert first[0][1]["question"] != first[1][1]["question"]


def test_a_given_task_is_the_same_at_every_reset(world: World, shared_cache: Cache) -> None:
    env = reset(env_of(world, shared_cache, k=4))
    first, info = env.reset()
    do(env, "expand", 3)
    do(env, "add_to_scratchpad", 3)
    again, info_again = env.reset()
    assert np.array_equal(first, again) and repr(info) == repr(info_again)
    assert info["question"] == env.question.text and info["choices"] == env.question.choices
    assert [line[2] for line in info["subtitles"]] == [line.text for line in world.script.lines]


@pytest.mark.long
@given(st.data())
def test_illegal_actions_cost_a_step_and_change_nothing(world: World, shared_cache: Cache, data: st.DataObject) -> None:
    video = data.draw(st.sampled_from([world.drawn, Damaged(world)]))
    traversal = data.draw(st.sampled_from(["dfs", "bfs"]))
    settings = {"k": 2, "cell": 16, "max_depth": 3, "cache": shared_cache, "traversal": traversal}
    env = AtlasEnv(video, world.questions[0], max_steps=6, **settings)
    _, info = env.reset()
    is_over, steps = False, 0
    while not is_over:
        legal = env.legal_actions()
        action, before = data.draw(ANY_ACTION | st.sampled_from(legal)), snapshot(env)
        _, reward, terminated, truncated, info = env.step(action)
        is_over, steps = terminated or truncated, steps + 1
        assert env.steps == steps and not (terminated and truncated)
        if info["illegal"]:
            assert snapshot(env) == before and reward == 0 and not terminated
        else:
            assert normalised(action) in legal
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(as_action("finished"))
    assert env.legal_actions() == [] and not info["kind_mask"].any()


@pytest.mark.long
@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["dfs", "bfs"]), st.sampled_from(["choice", "when"]))
def test_the_masks_match_the_legal_set(
    world: World, shared_cache: Cache, seed: int, damaged: bool, traversal: str, kind: str
) -> None:
    video = Damaged(world) if damaged else world.drawn
    look = {"k": 2, "cell": 16, "max_depth": 4, "cache": shared_cache}
    env = reset(DiscreteAtlasEnv(video, of_kind(world, kind), traversal=traversal, max_steps=6, **look))
    rng, is_over, info = np.random.default_rng(seed), False, env.reset()[1]
    while not is_over:
        mask = env.action_masks()
        assert mask.shape == (6 * 4 + 1 + 8,)
        for number, is_legal in enumerate(mask):
            action = env.decode(number)
            kind, cell, answer = KINDS[action["kind"]], action["cell"], action["answer"]
            is_masked_in = info["kind_mask"][action["kind"]]
            is_masked_in = is_masked_in and (kind not in CELL_KINDS or info["cell_mask"][action["kind"], cell])
            is_masked_in = is_masked_in and (kind != "finished" or info["answer_mask"][answer])
            assert bool(is_masked_in) == is_legal
            assert bool(copy.copy(env).step(number)[-1]["illegal"]) == (not is_legal), number
        before = env.state
        action = env.decode(number := random_policy(env, rng))
        _, _, terminated, truncated, info = env.step(number)
        is_over = terminated or truncated
        if KINDS[action["kind"]] == "add_to_scratchpad":  # promise 4: evidence is grounded
            cell = before.grid.cells[action["cell"]]
            assert info["evidence"][-1] == cell.midpoint_s and cell.index not in before.dead_cells
        elif not is_over:
            assert env.state.scratchpad == before.scratchpad


def test_an_unreadable_cell_can_be_expanded_but_is_no_evidence() -> None:
    world = atlasworld(1, 60, size=(128, 72))
    env = reset(DiscreteAtlasEnv(Damaged(world), of_kind(world, "choice"), k=2, cell=16))
    info = env.reset()[1]
    masks = dict(zip(KINDS, info["cell_mask"].tolist(), strict=True))
    assert masks["expand"] == [1, 1, 1, 1] and masks["zoom"] == masks["add_to_scratchpad"] == [1, 0, 1, 1]
    assert "unreadable" in do(env, "zoom", 1)[-1]["illegal"] and env.steps == 1


def test_numbers_and_dictionaries_encode_the_same_actions(world: World, shared_cache: Cache) -> None:
    env = reset(env_of(world, shared_cache, k=4))
    assert env.action_space.n == 6 * 16 + 1 + 8
    numbers = range(int(env.action_space.n))
    assert [env.encode(env.decode(number)) for number in numbers] == list(numbers)
    assert env.decode(6 * 16) == as_action("backtrack") and env.decode(6 * 16 + 3) == as_action("finished", answer=2)
    plain = AtlasEnv(world.drawn, of_kind(world, "choice"), cache=shared_cache)
    assert all(env.decode(number) in plain.action_space for number in numbers)
    assert env.unwrapped is env and isinstance(env, AtlasEnv)
    assert "not in the action space, Discrete(105)" in env.step(105)[-1]["illegal"]


def test_zoom_and_investigate_fill_the_observation(world: World, shared_cache: Cache) -> None:
    env = reset(env_of(world, shared_cache, k=4, cell=64, render_mode="rgb_array"))
    grid = env.render()
    zoomed = do(env, "zoom", 5)[0]
    assert np.array_equal(zoomed, env.render()) and zoomed.shape == grid.shape == (256, 256, 3)
    assert (zoomed[0] == 128).all() and (zoomed[-1] == 128).all()  # 16:9 in a square, on mid-grey
    frame = world.drawn.frame(env.state.grid.cells[5].midpoint_s).resize((256, 144))
    assert np.abs(zoomed[56:200].astype(int) - np.asarray(frame)).mean() < 6
    scan = do(env, "investigate_after", 5)[0]
    assert not np.array_equal(scan, zoomed) and not np.array_equal(scan, grid)
    unchanged, *_, info = do(env, "backtrack")
    assert info["illegal"] and np.array_equal(unchanged, scan)
    assert not np.array_equal(do(env, "expand", 5)[0], grid)
    assert np.array_equal(do(env, "backtrack")[0], grid)


def test_an_episode_without_pixels_differs_in_the_pixels_alone(world: World, shared_cache: Cache) -> None:
    """What a policy looks at is drawn all the same, and so is what is rendered."""
    settings: dict[str, Any] = {"k": 4, "cell": 32, "cache": shared_cache, "render_mode": "rgb_array"}
    drawn, black = (AtlasEnv(world.drawn, world.questions[0], pixels=each, **settings) for each in (True, False))
    ended = False
    for env in (drawn, black):
        env.reset()
    while not ended:
        seen, unseen = (env.step(greedy_policy(env)) for env in (drawn, black))
        assert black.observation_space.contains(unseen[0]) and not unseen[0].any() and seen[0].any()
        assert seen[1:4] == unseen[1:4] and seen[4]["evidence"] == unseen[4]["evidence"]
        np.testing.assert_array_equal(black.render(), seen[0])
        ended = seen[2] or seen[3]


def test_the_reward_is_the_score_minus_step_costs(world: World, shared_cache: Cache) -> None:
    env = reset(env_of(world, shared_cache, step_cost=0.01))
    truth = int(env.question.answer)  # type: ignore[call-overload]
    assert do(env, "zoom", answer=truth)[1:4] == (-0.01, False, False) and env.prediction is None
    assert do(env, "finished", answer=4)[1:4] == (-0.01, False, False)  # the four choices are 0 to 3
    assert do(env, "finished", answer=truth)[1:4] == (0.99, True, False)
    reset(env)
    assert do(env, "finished", answer=(truth + 1) % 4)[1:4] == (-0.01, True, False)


def test_a_count_question_is_answered_by_a_number(world: World, shared_cache: Cache) -> None:
    question = Question("How many?", kind="count", answer=0)
    for answer, reward in ((0, 1.0), (5, 0.0)):
        env = AtlasEnv(world.drawn, question, k=2, cache=shared_cache)
        env.reset()
        assert do(env, "finished", answer=answer)[1] == reward
    assert rollout(env, greedy_policy) == (1.0, 1)


def test_a_when_question_is_answered_by_the_evidence(world: World, shared_cache: Cache) -> None:
    env = reset(env_of(world, shared_cache, "when", k=4))
    assert do(env, "finished", answer=6)[1:4] == (0.0, True, False) and env.prediction is None
    reset(env)
    do(env, "add_to_scratchpad", 9)
    do(env, "add_to_scratchpad", 2)
    cells = env.state.grid.cells
    reward = do(env, "finished")[1]
    assert env.prediction == (cells[2].start_s, cells[9].end_s)
    assert reward == temporal_iou(env.question.answer, env.prediction)  # type: ignore[arg-type]


def test_a_question_of_several_intervals_is_answered_by_the_cells(world: World, shared_cache: Cache) -> None:
    (question,) = world.several
    env = reset(DiscreteAtlasEnv(world.drawn, question, k=4, cell=16, cache=shared_cache))
    assert env.reset()[1]["several"] is True and env.prediction is None
    for cell in (9, 2, 10):
        do(env, "add_to_scratchpad", cell)
    cells = env.state.grid.cells
    reward = do(env, "finished")[1]
    assert env.prediction == ((cells[2].start_s, cells[2].end_s), (cells[9].start_s, cells[10].end_s))
    assert reward == question.score(env.prediction)
    assert do(reset(env), "finished")[1:3] == (0.0, True) and env.prediction is None


@pytest.mark.parametrize("traversal", ["dfs", "bfs"])
def test_the_greedy_policy_covers_several_intervals(world: World, shared_cache: Cache, traversal: str) -> None:
    env = AtlasEnv(world.drawn, world.several[0], k=4, cell=16, traversal=traversal, max_steps=80, cache=shared_cache)
    score, steps = rollout(env, greedy_policy)
    assert score > 0.7 and steps < 80
    assert len(env.prediction) == 3  # type: ignore[arg-type]


def test_an_episode_is_truncated_unless_its_last_step_answers(world: World, shared_cache: Cache) -> None:
    env = reset(env_of(world, shared_cache, max_steps=3))
    assert [do(env, kind)[2:4] for kind in ("zoom", "backtrack", "zoom")] == [(False, False)] * 2 + [(False, True)]
    reset(env)
    assert [do(env, kind)[2:4] for kind in ("zoom", "zoom", "finished")] == [(False, False)] * 2 + [(True, False)]


def test_breadth_first_visits_regions_in_the_order_they_were_marked(world: World, shared_cache: Cache) -> None:
    env = reset(env_of(world, shared_cache, k=4, max_depth=2, traversal="bfs"))
    assert do(env, "expand", 3)[-1]["illegal"]
    for cell, is_again in ((9, False), (3, False), (10, False), (9, True)):
        assert bool(do(env, "mark_promising", cell)[-1]["illegal"]) == is_again
    paths, dead = [], []
    do(env, "add_to_scratchpad", 0)
    while not env.state.finished:
        _, _, _, _, info = do(env, "finished")
        paths.append(env.state.grid.path)
        dead.append(env.state.dead_zones.intervals)
        if env.state.grid.path == (3,):
            do(env, "mark_promising", 15)  # so this region does not become dead
        if env.state.grid.path == (10,):
            do(env, "add_to_scratchpad", 0)
    nine = env.atlas.root.cells[9]
    assert paths == [(9,), (3,), (10,), (3, 15), (3, 15)]
    assert dead == [()] + [((nine.start_s, nine.end_s),)] * 4
    assert len(info["evidence"]) == 2


def test_a_region_without_evidence_becomes_black(world: World, shared_cache: Cache) -> None:
    env = reset(env_of(world, shared_cache, k=4, cell=24, traversal="bfs"))
    for cell in (3, 4):
        do(env, "mark_promising", cell)
    do(env, "finished")
    assert env.state.dead_zones.intervals == ()  # the root has marked cells
    do(env, "finished")
    assert env.state.grid.path == (4,)
    scan = do(env, "investigate_before", 0)[0]  # the end of region 3
    assert scan.max() < 3


def test_invalid_tasks_raise_input_errors(world: World, shared_cache: Cache, tmp_path: Path) -> None:
    video, choice = world.drawn, of_kind(world, "choice")
    many = Question("Which?", tuple(map(str, range(12))), answer=11)
    assert AtlasEnv(video, many, cache=shared_cache).action_space["answer"].n == 12
    assert do(reset(DiscreteAtlasEnv(video, many, cache=tmp_path)), "finished", answer=11)[1] == 1.0
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("in words", {"video": video, "question": Question("Why?", kind="open", answer="so")}),
        ("in words", {"video": video, "question": Question("What of it?", kind="summary", answer="so")}),
        ("not known", {"video": video, "question": Question("Which?", ("a", "b"))}),
        ("needs 13 answers", {"video": video, "question": Question("How many?", kind="count", answer=12)}),
        ("needs 4 answers", {"n_answers": 3}),
        ("or neither", {"video": video}),
        ("or neither", {"question": choice}),
        ("its own lines", {"subtitles": "lines.srt"}),
        ("max_steps", {"max_steps": 0}),
        ("n_answers", {"n_answers": 0}),
        ("render_mode", {"render_mode": "human"}),
        ("traversal", {"traversal": "best"}),
        ("max_depth", {"max_depth": 9}),
        ("2×2", {"k": 1}),
        ("16 pixels", {"cell": 8}),
    ]
    for message, arguments in wrong:
        with pytest.raises(InputError, match=message):
            AtlasEnv(**arguments)
    with pytest.raises(InputError, match="AtlasEnv"):
        greedy_policy(gymnasium.make("CartPole-v1"))


@pytest.mark.long
def test_policies_on_drawn_worlds(tmp_path: Path) -> None:
    cache, rng = Cache(tmp_path / "cache"), np.random.default_rng(0)
    env = DiscreteAtlasEnv(k=8, cell=16, cache=cache)
    greedy_runs, random_runs, kinds = [], [], []
    for seed in range(WORLDS):
        greedy_runs.append(rollout(env, greedy_policy, seed))
        kinds.append(env.question.kind)
        random_runs.append(rollout(env, lambda env: random_policy(env, rng), seed))
    worlds = [str(seed) for seed in range(WORLDS)]
    for name, runs in (("greedy", greedy_runs), ("random", random_runs)):
        (score, low, high), steps = interval([run[0] for run in runs], worlds), np.mean([run[1] for run in runs])
        print(f"\n{name}: reward {score:.3f} ({low:.3f} to {high:.3f}) in {steps:.1f} steps, {len(runs)} tasks", end="")
    assert all(run[0] == 1.0 for kind, run in zip(kinds, greedy_runs, strict=True) if kind == "choice")
    assert all(run[0] >= 0.5 for kind, run in zip(kinds, greedy_runs, strict=True) if kind == "when")
    assert np.mean(random_runs, axis=0)[0] < 0.5


@pytest.mark.long
def test_the_greedy_policy_on_when_questions(shared_cache: Cache) -> None:
    scores, worlds = [], []
    for seed in range(-(-WORLDS // 3)):  # each world has three when-questions
        world = atlasworld(seed, 600, size=(128, 72))
        for question in (question for question in world.questions if question.kind == "when"):
            scores.append(rollout(AtlasEnv(world.drawn, question, k=8, cell=16, cache=shared_cache), greedy_policy)[0])
            worlds.append(str(seed))
    score, low, high = interval(scores, worlds)
    print(
        f"\ngreedy: tIoU {score:.3f} ({low:.3f} to {high:.3f}), worst {min(scores):.3f}, {len(scores)} questions",
        end="",
    )
    assert len(scores) >= WORLDS and min(scores) >= 0.5


def test_the_greedy_policy_does_not_use_coarse_cells_as_intervals(world: World, shared_cache: Cache) -> None:
    root = env_of(world, shared_cache).atlas.root
    start_s = root.cells[1].midpoint_s  # this cell shows a frame of the interval, but is 30 times as long
    question = Question("When?", kind="when", answer=(start_s, start_s + 5.0))
    score, _ = rollout(AtlasEnv(world.drawn, question, k=2, cell=16, cache=shared_cache), greedy_policy)
    assert score > 0.8


@pytest.mark.parametrize("traversal", ["dfs", "bfs"])
def test_the_greedy_policy_works_with_both_traversals(world: World, shared_cache: Cache, traversal: str) -> None:
    for question in world.questions[:8]:
        env = AtlasEnv(world.drawn, question, k=4, cell=16, traversal=traversal, cache=shared_cache)
        score, _ = rollout(env, greedy_policy)
        assert score == 1.0 if question.kind == "choice" else score >= 0.5
        goals = question.positions_s if question.kind == "choice" else ()
        assert all(env.state.scratchpad.within(*goal) for goal in goals)


@pytest.mark.family
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.splitlines()[0])
def test_the_code_in_the_docs_runs(sample: str, in_tmp: Path) -> None:
    exec(sample, {"__name__": "sample"})
