"""The Gymnasium environments: contract, masks, rewards, tasks and reference policies."""

import copy
import doctest
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

import atlaskit as ak
import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import AddToScratchpad, Claim
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Answered, Question
from atlaskit.errors import FrameError, InputError
from atlaskit.evaluation.intervals import interval
from atlaskit.gym import CELL_KINDS, KINDS, TASKS, AtlasEnv, AtlasEpisode, Coverage, DiscreteAtlasEnv, Reward, as_action
from atlasworld import World
from atlasworld.clip import DrawnVideo
from examples.pixel_policies import ScanPolicy, named_colour, rarest
from examples.policies import greedy_policy, random_policy, rollout, trials, uniform_policy

SAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/reinforcement-learning.md").read_text(), re.DOTALL)


def of_kind(world: World, kind: str) -> Question:
    return next(question for question in world.questions if question.kind == kind)


def env_of(world: World, cache: Cache, kind: str = "choice", **settings: Any) -> DiscreteAtlasEnv:
    """Return an environment of one task, after a reset."""
    question = settings.pop("question", None) or of_kind(world, kind)
    env = DiscreteAtlasEnv(world.drawn, question, **{"k": 2, "cell": 16, "cache": cache, **settings})
    env.reset(seed=0)
    return env


def do(env: AtlasEnv, kind: str, cell: int = 0, answer: int = 0) -> tuple[Any, float, bool, bool, dict[str, Any]]:
    return env.step(env.encode(as_action(kind, cell, answer)))


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


def test_without_gymnasium_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import atlaskit; import atlaskit.gym"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: atlaskit.gym needs gymnasium" in done.stderr
    assert done.stderr.strip().endswith("-m pip install 'gymnasium>=1.0'")


@pytest.mark.parametrize(("id", "traversal"), [("Atlas-v0", "dfs"), ("AtlasDiscrete-v0", "bfs")])
def test_the_environment_checker_finds_no_fault(id: str, traversal: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(id, duration_s=60, k=2, traversal=traversal, render_mode="rgb_array").unwrapped)


def test_vector_environment_with_drawn_worlds() -> None:
    spawned = {"context": "spawn"}
    envs = gymnasium.make_vec("atlaskit.gym:AtlasDiscrete-v0", 2, "async", spawned, duration_s=60, k=2)
    try:
        pictures, info = envs.reset(seed=4)
        assert pictures.shape == (2, 128, 128, 3) and not np.array_equal(*pictures)
        assert info["cell_mask"].shape == (2, 8, 4) and len(set(info["question"])) == 2
        for _ in range(5):
            masks = envs.call("action_masks")
            legal = [envs.single_action_space.sample(mask.astype(np.int8)) for mask in masks]
            _, rewards, ends, cuts, info = envs.step(np.array(legal))
            assert not any(info["illegal"]) and not (ends & cuts).any() and ((rewards >= 0) & (rewards <= 1)).all()
            assert info["interval_s"].shape == (2, 2) and all(isinstance(found, tuple) for found in info["evidence"])
    finally:
        envs.close()


def test_episodes_depend_on_the_seed_alone() -> None:
    def play() -> list[Any]:
        env, rng = gymnasium.make("AtlasDiscrete-v0", duration_s=60, k=2), np.random.default_rng(3)
        seen: list[Any] = [env.reset(seed=11), env.reset(), env.reset(seed=7)]
        while not (len(seen) > 3 and (seen[-1][2] or seen[-1][3])):
            seen.append(env.step(random_policy(env, rng)))
        return seen

    first, second = play(), play()
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one[0], other[0]) and repr(one[1:]) == repr(other[1:])
    assert first[0][1]["question"] != first[1][1]["question"]


def test_a_given_task_is_the_same_at_every_reset(world: World, shared_cache: Cache) -> None:
    env = env_of(world, shared_cache, k=4)
    first, info = env.reset()
    do(env, "expand", 3)
    do(env, "add_to_scratchpad", 3)
    again, info_again = env.reset()
    assert np.array_equal(first, again) and repr(info) == repr(info_again)
    assert info["question"] == env.question.text and info["choices"] == env.question.choices
    assert [line[2] for line in info["subtitles"]] == [line.text for line in world.script.lines]


@pytest.mark.long
@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["dfs", "bfs"]), st.sampled_from(["choice", "when"]))
def test_the_masks_match_the_legal_set(
    world: World, shared_cache: Cache, seed: int, damaged: bool, traversal: str, kind: str
) -> None:
    video = Damaged(world) if damaged else world.drawn
    look = {"k": 2, "cell": 16, "max_depth": 4, "cache": shared_cache}
    env = DiscreteAtlasEnv(video, of_kind(world, kind), traversal=traversal, max_steps=6, **look)
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
    world = aw.world(1, 60, size=(128, 72))
    env = DiscreteAtlasEnv(Damaged(world), of_kind(world, "choice"), k=2, cell=16)
    info = env.reset()[1]
    masks = dict(zip(KINDS, info["cell_mask"].tolist(), strict=True))
    assert masks["expand"] == [1, 1, 1, 1] and masks["zoom"] == masks["add_to_scratchpad"] == [1, 0, 1, 1]
    assert "unreadable" in do(env, "zoom", 1)[-1]["illegal"] and env.steps == 1


def test_a_when_question_is_answered_by_the_evidence(world: World, shared_cache: Cache) -> None:
    """One interval spans all of it; of several, cells that touch are one."""
    (several,) = world.several
    for question in (of_kind(world, "when"), several):
        env = env_of(world, shared_cache, question=question, k=4)
        assert do(env, "finished", answer=6)[1:4] == (0.0, True, False) and env.prediction is None
        assert env.reset()[1]["several"] is (question is several)
        for cell in (9, 2, 10):
            do(env, "add_to_scratchpad", cell)
        cells = env.state.grid.cells
        reward = do(env, "finished")[1]
        first, last = (cells[2].start_s, cells[2].end_s), (cells[9].start_s, cells[10].end_s)
        assert env.prediction == ((first, last) if question is several else (first[0], last[1]))
        assert reward == question.score(env.prediction)


def test_an_episode_is_truncated_unless_its_last_step_answers(world: World, shared_cache: Cache) -> None:
    env = env_of(world, shared_cache, max_steps=3)
    assert [do(env, kind)[2:4] for kind in ("zoom", "backtrack", "zoom")] == [(False, False)] * 2 + [(False, True)]
    env.reset()
    assert [do(env, kind)[2:4] for kind in ("zoom", "zoom", "finished")] == [(False, False)] * 2 + [(True, False)]


def test_a_region_without_evidence_becomes_black(world: World, shared_cache: Cache) -> None:
    env = env_of(world, shared_cache, k=4, cell=24, traversal="bfs")
    for cell in (3, 4):
        do(env, "mark_promising", cell)
    do(env, "finished")
    assert env.state.dead_zones.intervals == ()  # the root has marked cells
    do(env, "finished")
    assert env.state.grid.path == (4,)
    scan = do(env, "investigate_before", 0)[0]  # the end of region 3
    assert scan.max() < 3


UNKNOWN = Question("Which?", ("a", "b"))
WRONG: list[tuple[str, dict[str, Any]]] = [
    ("in words", {"question": Question("Why?", kind="open", answer="so")}),
    ("in words", {"question": Question("What of it?", kind="summary", answer="so")}),
    ("not known", {"question": UNKNOWN}),
    ("needs 13 answers", {"question": Question("How many?", kind="count", answer=12)}),
    ("nothing to cover", {"question": Question("What?", kind="open", answer="x"), "reward": Coverage()}),
    ("or neither", {"question": UNKNOWN, "video": None}),
    ("or neither", {"question": None}),
    ("needs 4 answers", {"n_answers": 3}),
    ("its own lines", {"subtitles": "lines.srt"}),
    ("max_steps", {"max_steps": 0}),
    ("render_mode", {"render_mode": "human"}),
    ("traversal", {"traversal": "best"}),
    ("2×2", {"k": 1}),
    ("task must be answer, grounding, summary, anomaly; got 'dance'", {"task": "dance"}),
]
"""What is wrong with arguments of an environment; a question comes with a video."""


@pytest.mark.parametrize(("message", "arguments"), WRONG)
def test_invalid_tasks_are_refused(world: World, shared_cache: Cache, message: str, arguments: dict[str, Any]) -> None:
    video = {"video": world.drawn} if "question" in arguments else {}
    with pytest.raises(InputError, match=message):
        AtlasEnv(**{"cache": shared_cache, **video, **arguments})


def test_what_else_is_refused(world: World, shared_cache: Cache) -> None:
    many = Question("Which?", tuple(map(str, range(12))), answer=11)
    env = env_of(world, shared_cache, question=many)
    assert do(env, "finished", answer=11)[1] == 1.0, "there are as many answers as choices"
    with pytest.raises(InputError, match="not known, so there is no reward"):
        AtlasEpisode(Atlas(world.drawn, k=2, cell=32, cache=shared_cache), UNKNOWN)
    with pytest.raises(InputError, match="AtlasEnv"):
        greedy_policy(gymnasium.make("CartPole-v1"))
    with pytest.raises(InputError, match="most_kept is a whole number, at least 1; got 0"):
        Coverage(0)
    with pytest.raises(InputError, match="no question of kind count"):
        trials({"summary": {"uniform": uniform_policy}}, [1], kinds=("count",), duration_s=60)
    with pytest.raises(InputError, match="traversal='dfs'"):
        ScanPolicy(rarest)(env_of(world, shared_cache, traversal="bfs"))


@pytest.mark.family
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.splitlines()[0])
def test_the_code_in_the_docs_runs(sample: str, in_tmp: Path) -> None:
    exec(sample, {"__name__": "sample"})


@pytest.mark.long
def test_policies_on_drawn_worlds(tmp_path: Path) -> None:
    """ATLASKIT_WORLDS=20 prints the documented figures."""
    env, rng = DiscreteAtlasEnv(k=8, cell=16, cache=Cache(tmp_path / "cache")), np.random.default_rng(0)
    worlds = [str(seed) for seed in range(int(os.environ.get("ATLASKIT_WORLDS", "6")))]
    runs: dict[str, list[Any]] = {"greedy": [], "random": []}
    for seed in map(int, worlds):
        runs["greedy"].append(rollout(env, greedy_policy, seed))
        assert runs["greedy"][-1][0] >= {"choice": 1.0, "when": 0.5}[env.question.kind]
        runs["random"].append(rollout(env, lambda env: random_policy(env, rng), seed))
    for name, each in runs.items():
        (score, low, high), steps = interval([run[0] for run in each], worlds), np.mean([run[1] for run in each])
        print(f"\n{name}: reward {score:.3f} ({low:.3f} to {high:.3f}) in {steps:.1f} steps, {len(each)} tasks", end="")
    assert np.mean(runs["random"], axis=0)[0] < 0.5


def events_of(world: World, *numbers: int) -> Question:
    cells = Atlas(world.drawn, k=4).root.cells
    spans = tuple((cells[number].midpoint_s - 1, cells[number].midpoint_s + 1) for number in numbers)
    return Question("Keep what happens.", kind="when", answer=spans, several=True)


def summary_of(world: World, cache: Cache, *numbers: int, most_kept: int | None = 3) -> AtlasEpisode:
    atlas = Atlas(world.drawn, k=4, cell=16, cache=cache)
    return AtlasEpisode(atlas, events_of(world, *numbers), reward=Coverage(most_kept))


def keep(episode: AtlasEpisode, *cells: int) -> AtlasEpisode:
    for cell in cells:
        episode.act({"action": "add_to_scratchpad", "cell": cell})
    episode.act({"action": "finished"})
    return episode


@pytest.mark.parametrize(
    ("kept", "score"),
    [
        ((), 0.0),
        ((2,), 1 / 3),
        ((2, 9, 14), 1.0),
        ((2, 9, 3), 2 / 3),  # a frame of nothing takes a place
        ((2, 3, 4), 1 / 3),
        ((9, 9, 9), 1 / 3),  # one frame, kept three times, is one frame
    ],
)
def test_coverage_is_the_share_of_the_events_that_the_places_allow(
    world: World, shared_cache: Cache, kept: tuple[int, ...], score: float
) -> None:
    episode = keep(summary_of(world, shared_cache, 2, 9, 12, 14), *kept)
    assert episode.is_over and episode.score == pytest.approx(score) and episode.prediction is None
    assert episode.measures().evidence == len(set(kept))


def test_no_more_frames_than_allowed_can_be_kept(world: World, shared_cache: Cache) -> None:
    episode = summary_of(world, shared_cache, 2, 9, most_kept=2)
    assert "Keep at most 2 frames." in episode.observe().words
    assert not any(action["action"] == "answer" for action in episode.observe().actions)
    assert "answer" not in episode.observe().words.split("Possible now:")[1]
    episode.act({"action": "add_to_scratchpad", "cell": 2})
    assert {"action": "add_to_scratchpad", "cell": 9} in episode.observe().actions
    full = episode.act({"action": "add_to_scratchpad", "cell": 3})
    assert not any(action["action"] == "add_to_scratchpad" for action in full.actions)
    assert "At most 2 frames may be kept." in episode.act({"action": "add_to_scratchpad", "cell": 9}).words
    assert len(episode.state.scratchpad) == 2
    three_at_once = AddToScratchpad(tuple(Claim(cell, "") for cell in (1, 2, 3)))
    assert summary_of(world, shared_cache, 2, most_kept=2).act(three_at_once).words.startswith("That was not possible")
    env = env_of(world, shared_cache, question=events_of(world, 2, 9), reward=Coverage(1), k=4)
    add = env.encode(as_action("add_to_scratchpad", 9))
    assert env.action_masks()[add]
    info = do(env, "add_to_scratchpad", 2)[-1]
    assert not env.action_masks()[add] and not info["cell_mask"][6].any() and info["kind_mask"][7]
    assert "At most 1 frames" in env.step(add)[-1]["illegal"]
    assert do(env, "finished")[1:3] == (1.0, True)


def test_a_reward_of_ones_own(world: World, shared_cache: Cache) -> None:
    class Sparing(Reward):
        def score(self, question: Question, kept: Scratchpad, prediction: Answered | None) -> float:
            return question.score(prediction) / max(1, len(kept))

    env = env_of(world, shared_cache, reward=Sparing())
    for cell in (0, 1):
        do(env, "add_to_scratchpad", cell)
    assert do(env, "finished", answer=int(env.question.answer))[1] == 0.5  # type: ignore[call-overload]


@pytest.mark.parametrize("shown", [Reward, Coverage, ScanPolicy, trials, AtlasEpisode])
def test_the_examples_run(shown: Any, world: World, in_tmp: Path) -> None:
    question = of_kind(world, "choice") if shown is AtlasEpisode else world.several[0]
    names = {"ak": ak, "AtlasEpisode": AtlasEpisode, "video": world.drawn, "question": question}
    example = doctest.DocTestParser().get_doctest(str(shown.__doc__), names, "shown", None, None)
    assert example.examples and not doctest.DocTestRunner(verbose=False).run(example).failed


def test_tasks_ask_what_they_say() -> None:
    by_task = {task: [AtlasEpisode.drawn(3, task=task, question=n, cell=32) for n in range(4)] for task in TASKS}
    assert by_task["answer"][0].question.category == "S2O"
    assert {episode.question.kind for episode in by_task["grounding"]} == {"when"}
    assert any(episode.question.several for episode in by_task["grounding"])
    summary = by_task["summary"][0]
    assert summary.rewarded == Coverage() and len(summary.question.evidence_s) > 20
    anomaly = by_task["anomaly"]
    assert [episode.question.kind for episode in anomaly] == ["choice", "when"] * 2
    assert len({id(episode.atlas.video) for episode in anomaly}) == 1
    assert AtlasEpisode.drawn(3, task="summary", reward=Coverage(2), cell=32).rewarded.most_kept == 2


def test_a_scan_sees_pixels_and_not_the_truth(world: World, shared_cache: Cache) -> None:
    """What it does depends neither on the answer nor on the evidence of the question."""
    ways = []
    for answer in ((10.0, 20.0), (500.0, 520.0)):
        question = Question("When is the red heart on screen?", kind="when", answer=answer)
        env = AtlasEnv(world.drawn, question, k=4, cell=16, max_steps=128, cache=shared_cache)
        rollout(env, ScanPolicy(named_colour))
        ways.append((env.steps, env.prediction))
    assert ways[0] == ways[1] and ways[0][0] > 32
