"""Promise: displays word an answer alike, mark one without evidence, and say what was seen."""

import json
from dataclasses import replace
from typing import Any

import pytest
from support.asking import ask
from support.model_doubles import Babbler, Overruled
from support.stand_ins import checked_html

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.environment.memory import Scratchpad, Seen
from atlaskit.environment.question import Question
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.protocol import Request
from atlaskit.runs.coverage import Coverage
from atlaskit.runs.events import Decision
from atlaskit.runs.result import WITHOUT_EVIDENCE, Result, choices_in_words, in_words
from atlaskit.runs.trace import Trace
from atlaskit.viz.walk.pictures import Pictures
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.walk.steps import summarize
from atlasworld import Oracle, World


@pytest.mark.parametrize(
    ("parts", "share", "step_s", "shortest_s", "words"),
    [
        ((), 0.0, None, None, "nothing was seen as sheets"),
        (((0.0, 60.0, 2.0),), 1.0, 2.0, 2.0, "1:00.0 of 1:00.0 at 2 s or finer; anything that lasts 2 s"),
        (((0.0, 30.0, 2.0), (30.0, 60.0, 9.0)), 0.5, 9.0, 18.0, "longest stretch not seen so finely: 30 s from 0:30.0"),
    ],
)
def test_it_says_what_cannot_be_missed(
    parts: tuple[Any, ...], share: float, step_s: float | None, shortest_s: float | None, words: str
) -> None:
    coverage = Coverage((0.0, 60.0), Seen(parts), goal_s=2.0, is_even=False)
    assert coverage.share(2.0) == share and coverage.step_s == step_s
    assert coverage.shortest_event_s == shortest_s and words in str(coverage)
    assert coverage.is_complete == (share == 1.0)
    assert [tuple(part) for part in coverage.to_json()["parts"]] == list(parts)


def test_the_tree_is_covered_by_its_sheets(film: World, cache: Cache) -> None:
    result = ask(film.video, film.questions[0], vlm=Oracle(film), cache=cache, cell=32)
    coverage = result.coverage
    assert coverage.share(120 / 64) == 1.0 and coverage.goal_s is None and not coverage.is_complete
    finest = min((step.interval_s[1] - step.interval_s[0]) / 64 for step in result.trace.of("step"))
    assert min(step for _, _, step in coverage.seen.parts) == pytest.approx(finest)
    assert result.to_dict()["coverage"]["parts"] == [list(part) for part in coverage.seen.parts]


CAR = Question("Which car?", ("the blue car", "the red car"), answer=0)


def test_a_choice_has_its_letter_and_anything_else_is_as_it_is() -> None:
    assert in_words(CAR, 1) == "B: the red car" and in_words(CAR, None) == ""
    assert choices_in_words(CAR) == "A: the blue car | B: the red car"
    assert in_words(CAR, "the red car") == "the red car", "a prediction may be a choice's text"
    assert in_words(Question("Which?", tuple(map(str, range(28)))), 27) == "AB: 27"
    assert in_words(Question("How many?", kind="count"), 1) == "1"
    when = Question("When?", kind="when")
    assert in_words(when, ((61.0, 61.5), (4.0, 5.0))) == "1:01.000–1:01.500, 0:04.0–0:05.0"


def shown(result: Result) -> tuple[str, str, str]:
    """Return what print, the page in a notebook, and the walkthrough say."""
    walk = summarize(open_run(result), Pictures())
    return str(result), checked_html(result).text, f"{walk['answer']} {walk['notes']}"


def test_every_display_says_answer_and_truth_and_marks_missing_evidence(answered: Result) -> None:
    assert isinstance(answered.prediction, int) and len(answered.evidence)
    other = (answered.prediction + 1) % len(answered.question.choices)
    nothing: dict[str, Any] = {"evidence": Scratchpad(), "sheet": replace(answered.sheet, scratchpad=Scratchpad())}
    decided, undecided = list[Any](), list[Any]()
    for event in answered.trace:
        kept = replace(event, kept=()) if hasattr(event, "kept") else event
        decided.append(replace(kept, answer={"answer": other}) if isinstance(kept, Decision) else kept)
        undecided += [] if isinstance(kept, Decision) else [kept]
    bare = replace(answered, prediction=other, trace=Trace(tuple(decided)), **nothing)
    none = replace(answered, prediction=None, trace=Trace(tuple(undecided)), **nothing)
    right = answered.answer_in_words
    for well, wrong, silent in zip(shown(answered), shown(bare), shown(none), strict=True):
        assert right in well and WITHOUT_EVIDENCE not in well + silent
        for part in ("truth", bare.answer_in_words, right, WITHOUT_EVIDENCE):
            assert part in wrong, part


@pytest.mark.parametrize(
    ("method", "options"), [("video-rlm", {"search": ak.Search(max_depth=0)}), ("uniform", {}), ("composite", {})]
)
def test_it_says_that_evidence_lacks(method: str, options: dict[str, Any], world: World, shared_cache: Cache) -> None:
    def cite_nothing(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        return {name: [] if name == "supporting" else value for name, value in answer.items()}

    model = Overruled(Babbler(4), decision=cite_nothing)
    result = METHODS[method](world.drawn, "What happens?", vlm=model, cache=shared_cache, **options)
    assert result.prediction is not None and not len(result.evidence)
    told = result.without_evidence
    assert told and all(told in text for text in shown(result))
    assert json.loads(result.to_json())["without_evidence"] == told
