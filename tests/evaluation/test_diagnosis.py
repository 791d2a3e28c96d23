"""Why answers are wrong: each rule on a run whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.evaluation.diagnosis import COLUMNS, MODES, SHOWN, Diagnosis, diagnose, failures, table
from atlaskit.evaluation.runner import evaluate
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace


@pytest.fixture(scope="module")
def world() -> World:
    return atlasworld(3, 600, size=(160, 90), questions=24)


@pytest.fixture(scope="module")
def cache() -> Cache:
    return Cache(None)


def run(world: World, cache: Cache, question: Question) -> Result:
    result = ask(world.drawn, question, vlm=Oracle(world), cache=cache)
    assert result.is_right and len(result.evidence)
    return result


@pytest.fixture(scope="module")
def right(world: World, cache: Cache) -> Result:
    """A run that went well, about an object in a scene."""
    return run(world, cache, next(question for question in world.questions if question.category == "S2O"))


def wrongly(result: Result) -> Result:
    """The same run with another answer."""
    assert isinstance(result.question.answer, int)
    return replace(result, prediction=(result.question.answer + 1) % len(result.question.choices))


def elsewhere(result: Result) -> Scratchpad:
    """Evidence from before and after all places at which the answer lies."""
    assert not any(start_s <= 0.5 < end_s for start_s, end_s in result.question.positions_s)
    return Scratchpad().add([Evidence(0.5, 0.0, 1.0, "something", 0.9)])


def test_nothing_went_wrong(right: Result, cache: Cache) -> None:
    assert diagnose(right, cache) == Diagnosis((), (), (), False, False, "")


def test_each_mode_is_a_rule(right: Result, cache: Cache) -> None:
    places = right.question.positions_s
    wrong, nothing = wrongly(right), Scratchpad()
    unseen = Trace(right.trace.events[:1])
    cases = {
        "no answer": replace(right, prediction=None),
        "judgement": wrong,
        "premature sufficiency": replace(wrong, evidence=nothing, stop="sufficient"),
        "perception": replace(wrong, evidence=nothing, stop="explored"),
        "navigation": replace(wrong, evidence=nothing, stop="explored", trace=unseen),
    }
    found = {mode: diagnose(result, cache) for mode, result in cases.items()}
    assert {mode: each.mode for mode, each in found.items()} == {mode: mode for mode in cases}
    assert set(cases) | {"text latching"} == set(MODES)
    assert found["perception"].overlooked == places and found["perception"].unseen == ()
    assert found["navigation"].unseen == places and found["navigation"].overlooked == ()
    mistaken = diagnose(replace(wrong, evidence=elsewhere(right), stop="sufficient"), cache)
    assert (mistaken.mode, mistaken.mistaken) == ("perception", ("A",)), "it kept what is none: that comes first"
    assert mistaken.premature


def test_who_believes_the_subtitle_is_latched_to_it(world: World, cache: Cache) -> None:
    question = next(question for question in world.questions if question.misleading_subtitle)
    result = run(world, cache, question)
    said = " ".join(line.text for span in question.positions_s for line in world.drawn.subtitles.between(*span))
    modes = {}
    for number, choice in enumerate(question.choices):
        if number != question.answer:
            modes[choice.removeprefix("an ").removeprefix("a ")] = diagnose(
                replace(result, prediction=number), cache
            ).mode
    lie = next(words for words in modes if words in said.casefold())
    assert modes.pop(lie) == "text latching"
    assert set(modes.values()) == {"judgement"}


def test_failures_are_those_of_the_evaluation_and_cost_nothing_more(world: World, cache: Cache) -> None:
    cases = world.cases(drawn=True)
    eyes = partial(Oracle, miss=0.4, confuse=0.4)
    rows = evaluate(cases, vlm=eyes, cache=cache, progress=False)
    found = failures(cases, vlm=eyes, cache=cache)
    told = table({"weak": found, "perfect": failures(cases, vlm=Oracle, cache=cache)})
    assert sorted(told["id"]) == sorted(rows.loc[~rows["right"], "id"]) and len(told) >= 2
    assert sum(failure.result.spent.calls for failure in found) == 0
    assert set(told["who"]) == {"weak"} and set(told["mode"]) <= set(MODES)
    assert list(told.columns) == list(table({}).columns) == list(COLUMNS)
    for failure in found:
        assert len(failure.kept.scratchpad) <= SHOWN
        assert len(failure.truth.scratchpad) == len(set(failure.result.question.positions_s))


def test_what_is_not_known_cannot_be_judged(right: Result, cache: Cache) -> None:
    for unknown, what in (({"answer": None}, "what the answer is"), ({"positions_s": ()}, "where the answer is")):
        with pytest.raises(InputError, match=what):
            diagnose(replace(right, question=replace(right.question, **unknown)), cache)  # type: ignore[arg-type]
