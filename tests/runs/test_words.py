"""Promise: every display words an answer alike, and marks an answer without evidence."""

import json
from dataclasses import replace
from typing import Any

import pytest
from support.model_doubles import Babbler, Overruled
from support.stand_ins import checked_html

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Question
from atlaskit.evaluation.baselines import METHODS
from atlaskit.runs.events import Decision, Report
from atlaskit.runs.result import WITHOUT_EVIDENCE, Result, choices_in_words, in_words, verdict
from atlaskit.runs.trace import Trace
from atlaskit.viz.walk.pictures import Pictures
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.walk.steps import summarize
from atlasworld import World

CAR = Question("Which car?", ("the blue car", "the red car"), answer=0)


def test_a_choice_has_its_letter_and_anything_else_is_as_it_is() -> None:
    assert in_words(CAR, 1) == "B: the red car" and in_words(CAR, None) == ""
    assert choices_in_words(CAR) == "A: the blue car | B: the red car"
    assert in_words(CAR, "the red car") == "the red car", "a prediction may be a choice's text"
    many = Question("Which?", tuple(map(str, range(28))))
    assert in_words(many, 25) == "Z: 25" and in_words(many, 27) == "AB: 27"
    assert in_words(Question("How many?", kind="count"), 1) == "1"
    assert in_words(Question("When?", kind="when"), (1.0, 2.5)) == "0:01.0–0:02.5"
    assert in_words(Question("When?", kind="when"), ((61.0, 61.5), (4.0, 5.0))) == "1:01.000–1:01.500, 0:04.0–0:05.0"
    assert choices_in_words(Question("How many?", kind="count")) == ""


def test_a_verdict_names_the_truth_of_a_wrong_answer() -> None:
    assert [verdict(known, "A: blue") for known in (None, True, False)] == [
        "",
        ", which is right",
        ", which is wrong (truth: A: blue)",
    ]
    assert verdict(True, has_evidence=False) == f", which is right {WITHOUT_EVIDENCE}"
    assert WITHOUT_EVIDENCE.isascii() and "without evidence" in WITHOUT_EVIDENCE


def shown(result: Result) -> tuple[str, str, str]:
    """Return what print, the page in a notebook, and the walkthrough say."""
    walk = summarize(open_run(result), Pictures())
    return str(result), checked_html(result).text, f"{walk['answer']} {walk['notes']}"


def without_evidence(result: Result, choice: int | None) -> Result:
    """Return a run that collected no evidence and chose otherwise; None has no decision."""
    events = [replace(each, kept=()) if isinstance(each, Report) else each for each in result.trace]
    decided = [replace(each, answer={"answer": choice}) if isinstance(each, Decision) else each for each in events]
    trace = Trace(tuple(each for each in decided if choice is not None or not isinstance(each, Decision)))
    sheet = replace(result.sheet, scratchpad=Scratchpad())
    return replace(result, prediction=choice, evidence=Scratchpad(), sheet=sheet, trace=trace)


def test_every_display_says_answer_and_truth_and_marks_missing_evidence(answered: Result) -> None:
    assert isinstance(answered.prediction, int) and len(answered.evidence)
    right, wrong_choice = answered.answer_in_words, (answered.prediction + 1) % len(answered.question.choices)
    bare, none = without_evidence(answered, wrong_choice), without_evidence(answered, None)
    assert right[1:3] == ": " and none.answer_in_words == ""
    for kept, wrong, undecided in zip(shown(answered), shown(bare), shown(none), strict=True):
        assert right in kept and WITHOUT_EVIDENCE not in kept + undecided
        for part in (bare.answer_in_words, right, WITHOUT_EVIDENCE):
            assert part in wrong, part


@pytest.mark.parametrize("method", ["video-rlm", "uniform", "composite"])
def test_an_answer_without_evidence_says_so(method: str, world: World, shared_cache: Cache) -> None:
    nothing: Any = Overruled(
        Babbler(4),
        decision=lambda request, answer: {
            name: [] if name == "supporting" else value for name, value in answer.items()
        },
    )
    options = {"search": ak.Search(max_depth=0)} if method == "video-rlm" else {}
    result = METHODS[method](world.drawn, "What happens?", vlm=nothing, cache=shared_cache, **options)
    assert result.prediction is not None and not len(result.evidence)
    told = result.without_evidence
    assert told and all(told in text for text in shown(result))
    assert json.loads(result.to_json())["without_evidence"] == told
