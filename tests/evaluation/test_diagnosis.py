"""Promise: each failure mode is a rule, on a run whose truth is known."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from support.asking import ask, evaluate, failures

import atlaskit as ak
import atlasworld as aw
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.errors import InputError
from atlaskit.evaluation.diagnosis import COLUMNS, MODES, MOST_SHOWN, Diagnosis, diagnose, table


@pytest.fixture(scope="module")
def world() -> aw.World:
    return aw.world(3, 600, size=(160, 90), questions=24)


@pytest.fixture(scope="module")
def cache() -> ak.Cache:
    return ak.Cache(None)


def run(world: aw.World, cache: ak.Cache, question: ak.Question) -> ak.Result:
    result = ask(world.drawn, question, vlm=aw.Oracle(world), cache=cache)
    assert result.is_right and len(result.evidence)
    return result


@pytest.fixture(scope="module")
def right(world: aw.World, cache: ak.Cache) -> ak.Result:
    """A run with a right answer, about an object in a scene."""
    return run(world, cache, next(question for question in world.questions if question.category == "S2O"))


def test_a_right_answer_has_no_failure_mode_and_a_diagnosis_needs_the_truth(right: ak.Result, cache: ak.Cache) -> None:
    assert diagnose(right, cache) == Diagnosis((), (), (), False, False, "")
    assert str(diagnose(right, cache)) == "right: all moments that matter were kept"
    unknown: list[tuple[dict[str, Any], str]] = [
        ({"answer": None}, "what the answer is"),
        ({"positions_s": ()}, "where the answer is"),
    ]
    for changes, message in unknown:
        with pytest.raises(InputError, match=message):
            diagnose(replace(right, question=replace(right.question, **changes)), cache)


def test_each_mode_is_a_rule(right: ak.Result, cache: ak.Cache) -> None:
    positions, answer = right.question.positions_s, right.question.answer
    assert isinstance(answer, int) and not any(start_s <= 0.5 < end_s for start_s, end_s in positions)
    wrong = replace(right, prediction=(answer + 1) % len(right.question.choices))
    no_evidence, elsewhere = Scratchpad(), Scratchpad().add([Evidence(0.5, 0.0, 1.0, "something", 0.9)])
    without_views = ak.Trace(right.trace.events[:1])
    cases = {
        "no answer": replace(right, prediction=None),
        "judgement": wrong,
        "premature sufficiency": replace(wrong, evidence=no_evidence, stop="sufficient"),
        "perception": replace(wrong, evidence=no_evidence, stop="explored"),
        "navigation": replace(wrong, evidence=no_evidence, stop="explored", trace=without_views),
    }
    found = {mode: diagnose(result, cache) for mode, result in cases.items()}
    assert {mode: each.mode for mode, each in found.items()} == {mode: mode for mode in cases}
    assert set(cases) | {"text latching"} == set(MODES)
    assert found["perception"].overlooked == positions and found["perception"].unseen == ()
    assert found["navigation"].unseen == positions and found["navigation"].overlooked == ()
    mistaken = diagnose(replace(wrong, evidence=elsewhere, stop="sufficient"), cache)
    assert (mistaken.mode, mistaken.mistaken, mistaken.premature) == ("perception", ("A",), True)


def test_the_answer_of_a_misleading_subtitle_is_text_latching(world: aw.World, cache: ak.Cache) -> None:
    question = next(question for question in world.questions if question.misleading_subtitle)
    result = run(world, cache, question)
    spoken = " ".join(line.text for span in question.positions_s for line in world.drawn.subtitles.between(*span))
    modes = {}
    for number, choice in enumerate(question.choices):
        if number != question.answer:
            thing = choice.removeprefix("an ").removeprefix("a ")
            modes[thing] = diagnose(replace(result, prediction=number), cache).mode
    misled = next(thing for thing in modes if thing in spoken.casefold())
    assert modes.pop(misled) == "text latching"
    assert set(modes.values()) == {"judgement"}


@pytest.mark.long
def test_failures_match_the_evaluation_and_make_no_further_call(world: aw.World, cache: ak.Cache) -> None:
    cases = world.cases(drawn=True)[::2]
    weak = partial(aw.Oracle, miss=0.4, confuse=0.4)
    rows = evaluate(cases, vlm=weak, cache=cache, progress=False)
    found = failures(cases, vlm=weak, cache=cache)
    failed = table({"weak": found, "perfect": failures(cases, vlm=aw.Oracle, cache=cache)})
    assert sorted(failed["id"]) == sorted(rows.loc[~rows["right"], "id"]) and len(failed) >= 2
    assert sum(failure.result.spent.calls for failure in found) == 0
    assert set(failed["who"]) == {"weak"} and set(failed["mode"]) <= set(MODES)
    assert list(failed.columns) == list(table({}).columns) == list(COLUMNS)
    for failure in found:
        kept, whole = failure.kept.scratchpad.labels, failure.result.sheet.scratchpad.labels
        assert len(kept) <= MOST_SHOWN and list(kept) == [each for each in whole if each in kept]
        assert len(failure.truth.scratchpad) == len(set(failure.result.question.positions_s))
