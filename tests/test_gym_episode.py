"""`AtlasEpisode`: turns, errors told as words, end, reward and measures."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.question import Question
from atlaskit.gym import AtlasEnv, AtlasEpisode, as_action
from atlasworld import World

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
REPLIES = ANYTHING | st.fixed_dictionaries(
    {"action": st.sampled_from(["expand", "zoom", "add_to_scratchpad", "finished", "answer", "fly"]) | ANYTHING},
    optional={"cell": st.integers(-2, 5) | ANYTHING, "answer": ANYTHING, "description": ANYTHING},
)


def of_kind(world: World, kind: str) -> Question:
    return next(question for question in world.questions if question.kind == kind)


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
        ({"action": "zoom", "cell": True}, "zoom names a cell by its number; got True."),
        ({"action": "expand", "cell": 9}, "Expand cannot take cell 9 here; the cells it can take: 0, 1, 2, 3."),
        ({"action": "backtrack"}, "Backtrack() is not legal here"),
        ({"action": "mark_promising", "cell": 1}, "MarkPromising cannot take cell 1 here"),
        ({"action": "finished"}, "only an answer ends the search"),
        ({"action": "add_to_scratchpad", "cell": 1, "description": 3}, "description of evidence is text; got 3."),
        ({"action": "add_to_scratchpad", "cell": 1, "confidence": 2}, "from 0 to 1; got 2."),
        ({"action": "answer"}, "An answer needs a value."),
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
        (world.several[0], [list(span) for span in world.several[0].answer], [1]),  # type: ignore[union-attr]
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


def test_the_environment_and_the_episode_have_the_same_rules(world: World, shared_cache: Cache) -> None:
    env = AtlasEnv(world.drawn, of_kind(world, "choice"), k=2, cell=32, step_cost=0.01, cache=shared_cache)
    env.reset()
    episode, reward = episode_of(world, shared_cache, step_cost=0.01), 0.0
    for kind, cell in (("expand", 2), ("zoom", 1), ("backtrack", 0), ("backtrack", 0), ("add_to_scratchpad", 0)):
        _, gained, *ends, info = env.step(as_action(kind, cell))
        episode.act({"action": kind, "cell": cell})
        assert (env.state, env.steps, info["illegal"]) == (episode.state, episode.steps, episode.problem)
        assert ends == [False, False]
        reward += gained
    truth = int(env.question.answer)  # type: ignore[call-overload]
    assert env.step(as_action("finished", answer=truth))[1:3] == (pytest.approx(0.99), True)
    episode.answer(truth)
    assert env.episode.measures() == episode.measures() and reward + 0.99 == pytest.approx(episode.reward)
