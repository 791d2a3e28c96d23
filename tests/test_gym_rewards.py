"""Other rewards on the same environment: tasks, coverage, policies, and their trials."""

from __future__ import annotations

import doctest
import hashlib
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.benchmarks.atlasworld.anomaly import odd_event
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import AddToScratchpad, Claim
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Answered, Question
from atlaskit.errors import InputError
from atlaskit.gym import TASKS, AtlasEnv, AtlasEpisode, Coverage, DiscreteAtlasEnv, Reward, as_action
from examples.pixel_policies import ScanPolicy, most_changed, named_colour, rarest
from examples.policies import Policy, greedy_policy, random_policy, rollout, trials, uniform_policy

IDS = ("Atlas-v0", "AtlasDiscrete-v0")
DEFAULT = "af2e203ae53e6985"
"""Hash of two episodes of the default task, as they were before tasks had names."""
SEEDS = ak.benchmarks.seeds("development")[2_000:2_006]


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


def test_the_default_task_is_byte_for_byte_as_before() -> None:
    digest, rng = hashlib.sha256(), np.random.default_rng(3)
    for id in IDS:
        env = gymnasium.make(f"atlaskit.gym:{id}", duration_s=60, k=2, max_steps=6)
        picture, info = env.reset(seed=11)
        for _ in range(6):
            digest.update(picture.tobytes())
            digest.update(repr(info).encode())
            picture, reward, terminated, truncated, info = env.step(random_policy(env, rng))
            digest.update(repr((reward, terminated, truncated)).encode())
            if terminated or truncated:
                break
    turn = AtlasEpisode.drawn(5, duration_s=60, k=2, cell=32).observe()
    digest.update(repr((turn.words, turn.actions)).encode())
    assert digest.hexdigest()[:16] == DEFAULT


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("id", IDS)
def test_each_task_is_a_proper_environment(id: str, task: str) -> None:
    check_env(gymnasium.make(f"atlaskit.gym:{id}", task=task, duration_s=120, k=2).unwrapped)


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


def test_with_fewer_events_than_places_all_events_are_enough(world: World, shared_cache: Cache) -> None:
    assert keep(summary_of(world, shared_cache, 2, 9), 2, 9).score == 1
    assert keep(summary_of(world, shared_cache, 2, 9, most_kept=None), 2, *range(3, 9)).score == 0.5


def test_two_frames_of_one_event_count_once(world: World, shared_cache: Cache) -> None:
    cells = Atlas(world.drawn, k=4).root.cells
    question = Question("Keep it.", ("a", "b"), positions_s=((0.0, cells[2].end_s), (cells[5].start_s, cells[5].end_s)))
    atlas = Atlas(world.drawn, k=4, cell=16, cache=shared_cache)
    assert keep(AtlasEpisode(atlas, question, reward=Coverage(2)), 0, 1).score == 0.5
    assert keep(AtlasEpisode(atlas, question, reward=Coverage(2)), 1, 5).score == 1


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


def test_the_masks_know_the_limit(world: World, shared_cache: Cache) -> None:
    question = events_of(world, 2, 9)
    env = DiscreteAtlasEnv(world.drawn, question, reward=Coverage(1), k=4, cell=16, cache=shared_cache)
    env.reset()
    add = env.encode(as_action("add_to_scratchpad", 9))
    assert env.action_masks()[add]
    info = env.step(env.encode(as_action("add_to_scratchpad", 2)))[-1]
    assert not env.action_masks()[add] and not info["cell_mask"][6].any() and info["kind_mask"][7]
    assert "At most 1 frames" in env.step(add)[-1]["illegal"]
    assert env.step(env.encode(as_action("finished")))[1:3] == (1.0, True)


def test_an_answer_is_refused_where_none_is_scored(world: World, shared_cache: Cache) -> None:
    episode = summary_of(world, shared_cache, 2)
    assert "end with finished" in episode.answer((1.0, 2.0)).words.splitlines()[0]
    assert not episode.is_over and episode.illegal_actions == 1


def test_a_reward_of_ones_own(world: World, shared_cache: Cache) -> None:
    class Sparing(Reward):
        def score(self, question: Question, kept: Scratchpad, prediction: Answered | None) -> float:
            return question.score(prediction) / max(1, len(kept))

    env = AtlasEnv(world.drawn, world.questions[0], reward=Sparing(), k=2, cell=16, cache=shared_cache)
    env.reset()
    for cell in (0, 1):
        env.step(as_action("add_to_scratchpad", cell))
    truth = int(world.questions[0].answer)  # type: ignore[call-overload]
    assert env.step(as_action("finished", answer=truth))[1] == 0.5


@pytest.mark.parametrize("shown", [Reward, Coverage, ScanPolicy, trials])
def test_the_examples_run(shown: Any, world: World) -> None:
    names = {"ak": ak, "video": world.drawn, "question": world.several[0]}
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


BASELINES: dict[str, tuple[Policy, float]] = {
    "grounding": (ScanPolicy(named_colour), 0.85),
    "summary": (ScanPolicy(most_changed), 0.99),
    "anomaly": (ScanPolicy(rarest), 0.85),
}


@pytest.mark.long
@pytest.mark.parametrize("task", BASELINES)
def test_policies_on_each_task(task: str) -> None:
    baseline, least = BASELINES[task]
    by_chance = partial(random_policy, rng=np.random.default_rng(0))
    policies = {"random": by_chance, "baseline": baseline, "greedy": greedy_policy, "uniform": uniform_policy}
    rows = trials({task: policies}, SEEDS, kinds=("when",), k=4, cell=16, max_steps=128)
    means = rows.groupby("policy")["score"].mean()
    print(f"\n{task}: {means.round(3).to_dict()}, {len(SEEDS)} episodes each", end="")
    assert len(rows) == 4 * len(SEEDS) and means["greedy"] >= least and means["random"] < 0.2
    if task == "summary":
        assert means["random"] < means["uniform"] < means["baseline"] < means["greedy"]
    table = ak.statistics.accuracy(rows, by=["task", "policy"])
    assert (table["low"] <= table["mean"]).all()


def test_a_scan_sees_pixels_and_not_the_truth(world: World, shared_cache: Cache) -> None:
    """What it does depends neither on the answer nor on the evidence of the question."""
    ways = []
    for answer in ((10.0, 20.0), (500.0, 520.0)):
        question = Question("When is the red heart on screen?", kind="when", answer=answer)
        env = AtlasEnv(world.drawn, question, k=4, cell=16, max_steps=128, cache=shared_cache)
        rollout(env, ScanPolicy(named_colour))
        ways.append((env.steps, env.prediction))
    assert ways[0] == ways[1] and ways[0][0] > 32


def test_named_colour_finds_a_patch_of_its_colour() -> None:
    frames = np.full((20, 18, 32, 3), 90, np.uint8)
    frames[::2, 0], frames[::2, :, 0], frames[::2, -1], frames[::2, :, -1] = 98, 98, 98, 98  # no margin
    frames[7:9, 4:10, 5:15] = (222, 30, 44)
    frames[3, 4:10, 5:15] = (24, 158, 62)
    assert named_colour(Question("When is the red star on screen?", kind="when"), frames, 9) == [7, 8]
    assert named_colour(Question("When is the green star on screen?", kind="when"), frames, 9) == [3]
    assert named_colour(Question("When does it rain?", kind="when"), frames, 9) == ()
    assert most_changed(Question("What?", kind="when"), frames, 1)[0] in (3, 7, 8)


def test_a_choice_among_one_frame_works() -> None:
    frames = np.zeros((1, 4, 4, 3), np.uint8)
    question = Question("When is the red star on screen?", kind="when")
    assert list(named_colour(question, frames, 1)) == list(rarest(question, frames, 1)) == []
    assert list(most_changed(question, frames, 1)) == [0]


def test_trials_of_an_anomaly_are_about_the_odd_object() -> None:
    rows = trials({"anomaly": {"greedy": greedy_policy}}, SEEDS[:2], kinds=("when",), k=4, cell=16)
    for seed, truth in zip(rows["seed"], rows["truth"], strict=True):
        odd = odd_event(ak.benchmarks.atlasworld(seed, 600, anomaly=True).script)
        assert truth == ((odd.start_s, odd.end_s),)


def test_wrong_arguments_raise_input_errors(world: World, shared_cache: Cache) -> None:
    with pytest.raises(InputError, match="task must be answer, grounding, summary, anomaly; got 'dance'"):
        AtlasEnv(task="dance")
    with pytest.raises(InputError, match="nothing to cover"):
        AtlasEnv(world.drawn, Question("What?", kind="open", answer="x"), reward=Coverage(), cache=shared_cache)
    with pytest.raises(InputError, match="most_kept is a whole number, at least 1; got 0"):
        Coverage(0)
    with pytest.raises(InputError, match="no question of kind count"):
        trials({"summary": {"uniform": uniform_policy}}, [1], kinds=("count",), duration_s=60)
    env = AtlasEnv(world.drawn, world.questions[0], traversal="bfs", k=2, cell=16, cache=shared_cache)
    env.reset()
    with pytest.raises(InputError, match="traversal='dfs'"):
        ScanPolicy(rarest)(env)
