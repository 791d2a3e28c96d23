"""The Gymnasium environments and `AtlasEpisode`: turns, masks, rewards, tasks and policies."""

import copy
import doctest
import json
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
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.question import Question
from atlaskit.errors import FrameError, InputError
from atlaskit.evaluation.intervals import interval
from atlaskit.gym import CELL_KINDS, KINDS, TASKS, AtlasEnv, AtlasEpisode, Coverage, DiscreteAtlasEnv, Reward, as_action
from atlasworld import World
from atlasworld.clip import DrawnVideo
from examples.pixel_policies import ScanPolicy, named_colour
from examples.policies import greedy_policy, random_policy, rollout, trials

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
    ("not known", {"question": UNKNOWN}),
    ("needs 13 answers", {"question": Question("How many?", kind="count", answer=12)}),
    ("nothing to cover", {"question": Question("What?", kind="open", answer="x"), "reward": Coverage()}),
    ("or neither", {"question": UNKNOWN, "video": None}),
    ("its own lines", {"subtitles": "lines.srt"}),
    ("max_steps", {"max_steps": 0}),
    ("render_mode", {"render_mode": "human"}),
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
    with pytest.raises(InputError, match="most_kept is a whole number, at least 1; got 0"):
        Coverage(0)


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
        ((2, 9, 14), 1.0),
        ((2, 9, 3), 2 / 3),  # a frame of nothing takes a place
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
    assert keep(summary_of(world, shared_cache, 2, 2, 9, most_kept=1), 2).score == 1, "also for two events in one frame"
    episode = summary_of(world, shared_cache, 2, 9, most_kept=2)
    assert "Keep at most 2 frames." in episode.observe().words
    assert not any(action["action"] == "answer" for action in episode.observe().actions)
    episode.act({"action": "add_to_scratchpad", "cell": 2})
    assert {"action": "add_to_scratchpad", "cell": 9} in episode.observe().actions
    full = episode.act({"action": "add_to_scratchpad", "cell": 3})
    assert not any(action["action"] == "add_to_scratchpad" for action in full.actions)
    assert "At most 2 frames may be kept." in episode.act({"action": "add_to_scratchpad", "cell": 9}).words
    assert len(episode.state.scratchpad) == 2
    env = env_of(world, shared_cache, question=events_of(world, 2, 9), reward=Coverage(1), step_cost=0.25, k=4)
    add = env.encode(as_action("add_to_scratchpad", 9))
    assert env.action_masks()[add]
    info = do(env, "add_to_scratchpad", 2)[-1]
    assert not env.action_masks()[add] and not info["cell_mask"][6].any() and info["kind_mask"][7]
    assert "At most 1 frames" in env.step(add)[-1]["illegal"]
    assert do(env, "finished")[1:3] == (0.75, True)


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


def test_a_scan_sees_pixels_and_not_the_truth(world: World, shared_cache: Cache) -> None:
    """What it does depends neither on the answer nor on the evidence of the question."""
    ways = []
    for answer in ((10.0, 20.0), (500.0, 520.0)):
        question = Question("When is the red heart on screen?", kind="when", answer=answer)
        env = AtlasEnv(world.drawn, question, k=4, cell=16, max_steps=128, cache=shared_cache)
        rollout(env, ScanPolicy(named_colour))
        ways.append((env.steps, env.prediction))
    assert ways[0] == ways[1] and ways[0][0] > 32


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
REPLIES = ANYTHING | st.fixed_dictionaries(
    {"action": st.sampled_from(["expand", "zoom", "add_to_scratchpad", "finished", "answer", "fly"]) | ANYTHING},
    optional={"cell": st.integers(-2, 5) | ANYTHING, "answer": ANYTHING, "description": ANYTHING},
)


def episode_of(world: World, cache: Cache, question: str | Question = "choice", **options: Any) -> AtlasEpisode:
    limits = {name: options.pop(name) for name in ("max_steps", "step_cost") if name in options}
    atlas = Atlas(world.drawn, **{"k": 2, "cell": 32, "cache": cache, **options})
    return AtlasEpisode(atlas, of_kind(world, question) if isinstance(question, str) else question, **limits)


def test_a_turn_has_the_sheet_the_words_and_every_legal_action(world: World, shared_cache: Cache) -> None:
    episode = episode_of(world, shared_cache, max_steps=7)
    image, words, actions = episode.observe()
    assert image.size == (64, 32)
    assert episode.question.text in words and "Steps left: 7." in words and "expand 0–3" in words
    assert all(f"  {index}: {choice}" in words for index, choice in enumerate(episode.question.choices))
    assert all(json.dumps(line.text, ensure_ascii=False) in words for line in episode.observation.subtitles[:60])
    assert json.loads(json.dumps(actions)) == actions
    for action in actions:  # and each of them is legal
        attempt = episode.copy()
        attempt.act(action)
        assert attempt.illegal_actions == 0, action
    assert episode.steps == 0  # a copy goes its own way


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ({"action": "fly"}, "'fly' is no action; the actions are expand, "),
        ({"action": "expand"}, "expand names a cell by its number; got None."),
        ({"action": "expand", "cell": 9}, "Expand cannot take cell 9 here; the cells it can take: 0, 1, 2, 3."),
        ({"action": "backtrack"}, "Backtrack() is not legal here"),
        ({"action": "finished"}, "only an answer ends the search"),
        ({"action": "add_to_scratchpad", "cell": 1, "description": 3}, "description of evidence is text; got 3."),
        ({"action": "answer", "answer": 77}, "must be the index of one of"),
        ({"action": "answer", "answer": "a colour nobody named"}, "'a colour nobody named' is the text of no choice."),
    ],
)
def test_an_illegal_action_is_told_and_changes_nothing(
    world: World, shared_cache: Cache, action: dict[str, Any], problem: str
) -> None:
    episode = episode_of(world, shared_cache, step_cost=0.1)
    before = episode.state
    turn = episode.act(action)
    assert turn.words.startswith("That was not possible: ") and problem in turn.words.splitlines()[0]
    assert episode.state == before and turn.actions and episode.steps == episode.illegal_actions == 1
    assert episode.reward == -0.1
    assert not episode.act({"action": "zoom", "cell": 0}).words.startswith("That")


@settings(max_examples=60)
@given(st.lists(REPLIES, max_size=6))
def test_no_reply_of_a_model_raises(world: World, shared_cache: Cache, replies: list[Any]) -> None:
    episode = episode_of(world, shared_cache, max_steps=5)
    for reply in replies:
        if isinstance(reply, dict):
            episode.act(reply)
        else:
            episode.answer(reply)
        json.dumps(episode.observe().actions)
    assert episode.steps <= 5 and 0 <= episode.score <= 1


def test_the_reward_is_the_score_minus_the_cost_of_the_steps(world: World, shared_cache: Cache) -> None:
    start = episode_of(world, shared_cache, step_cost=0.02)
    right, wrong = start.copy(), start.copy()
    right.act({"action": "zoom", "cell": 0})
    end = right.answer(start.question.answer)
    assert end.actions == [] and end.words.endswith("The episode is over.")
    assert right.reward == pytest.approx(1 - 0.04) and right.prediction == start.question.answer
    wrong.answer((int(start.question.answer) + 1) % 4)  # type: ignore[arg-type]
    assert wrong.reward == -0.02
    assert start.reward == 0 and start.score == 0


def test_each_kind_of_question_is_answered(world: World, shared_cache: Cache) -> None:
    for question, right, wrong in (
        (of_kind(world, "when"), list(of_kind(world, "when").answer), "soon"),  # type: ignore[arg-type]
        (world.several[0], [list(span) for span in world.several[0].answer], [0, 10**400]),  # type: ignore[union-attr]
        (Question("How many?", kind="count", answer=3), 3, -1),
        (Question("Who?", kind="open", answer="a red fox"), "a red fox", 4),
        (Question("What happens?", kind="summary", answer="It rains."), "It rains.", None),
    ):
        episode = episode_of(world, shared_cache, question)
        episode.answer(wrong)
        assert episode.illegal_actions == 1 and not episode.is_over, question
        episode.answer(right)
        assert episode.score == 1, question


def test_measures_tell_where_the_evidence_lies(world: World, shared_cache: Cache) -> None:
    start = episode_of(world, shared_cache).state.grid.cells
    spans = ((start[0].start_s, start[0].end_s), (start[3].start_s, start[3].end_s))
    question = Question("Which?", ("a", "b"), answer=0, positions_s=spans)
    episode = episode_of(world, shared_cache, question)
    assert episode.measures().evidence_precision is None and episode.measures().evidence_recall == 0
    for cell in (0, 1):
        episode.act({"action": "add_to_scratchpad", "cell": cell})
    measures = episode.measures()
    assert (measures.evidence, measures.evidence_precision, measures.evidence_recall) == (2, 0.5, 0.5)
    unknown = episode_of(world, shared_cache, Question("Which?", ("a", "b"), answer=0)).measures()
    assert unknown.evidence_precision is None and unknown.evidence_recall is None
