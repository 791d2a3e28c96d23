"""Promises 4, 7 and 10 for the search by looks, with a model that sees, and with nonsense."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agents.eye import Eye
from hypothesis import given
from hypothesis import strategies as st
from support.invariants import check_all
from support.model_doubles import Babbler
from support.searches import text_of

import atlaskit as ak
from atlaskit.agents.looking import MOST_FAILURES, SHEETS
from atlaskit.caching.cache import Cache
from atlaskit.environment.memory import DeadZones
from atlaskit.environment.question import ABSENT, Question, Span
from atlaskit.errors import InputError
from atlaskit.models.protocol import BadReply, Refused, Request, Usage, json_schema
from atlaskit.runs.result import Result
from atlasworld import World

WHEN = Question("When is it shown?", kind="when")
COUNT = Question("How often is it shown?", kind="count")
BY_LOOKS = ak.Search(traversal="looks", cell=32)


def looks(world: World, eye: Any, question: Question = WHEN, **options: Any) -> Result:
    """Ask a question about a drawn world."""
    search = options.pop("search", BY_LOOKS)
    result = ak.ask(world.drawn, question, vlm=eye, search=search, cache=ak.Cache(None), **options)
    check_all(result, options.get("budget"), workers=options.get("workers", 4))
    return result


def shown_s(result: Result) -> list[Span]:
    """Return the stretches that looks showed, in order."""
    return [span for look in result.trace.of("look") for span in look.intervals_s]


@given(st.floats(0, 590), st.floats(4.2, 30))
def test_an_eye_finds_both_ends_of_what_lasts_as_long_as_it_said(world: World, start_s: float, length_s: float) -> None:
    end_s = min(start_s + length_s, 600.0)
    if end_s - start_s < 4.2:
        return
    result = looks(world, Eye([(start_s, end_s)]))
    assert result.interval is not None
    assert result.stop == "sufficient" and abs(result.interval[0] - start_s) < 0.2
    assert abs(result.interval[1] - end_s) < 0.2 and result.total.calls <= 9


def test_a_named_stretch_is_covered_in_the_next_round_exactly(world: World) -> None:
    eye = Eye([(500, 510)])
    eye.first = (100.0, 190.0), (300.0, 310.0), (600.0, 590.0)
    result = looks(world, eye)
    (plan,) = result.trace.of("plan")
    assert plan.wanted_s[:3] == ((100.0, 190.0), (300.0, 310.0), (590.0, 600.0))
    first = result.trace.of("look")[0]
    covered = DeadZones().add_all(first.intervals_s)
    assert all(covered.covers(*span) for span in plan.wanted_s[:3])
    assert covered.coverage(0, 600) == pytest.approx(sum(b - a for a, b in plan.wanted_s) / 600, abs=0.02)


def test_what_was_seen_so_finely_is_not_shown_again_and_the_review_is_told(world: World) -> None:
    eye = Eye([], settled_by="all")

    def name_again(request: Request, answer: dict[str, Any]) -> None:
        if request.step == "review" and len(eye.requests) < 12:
            span = {"start_s": 100.0, "end_s": 356.0}
            answer["conclusion"] = {"action": "look", "look": [span]}

    eye.change = name_again
    result = looks(world, eye)
    told = [request for request in eye.requests if request.step in ("review", "decision")][1:]
    assert told and all(each.facts.unfollowed[0].reason == "seen" for each in told[:1])
    assert result.stop == "explored" and result.prediction is not None


def test_a_question_about_all_moments_goes_through_the_whole(world: World) -> None:
    truth = [(30.0, 35.0), (300.0, 306.0), (577.0, 582.0)]
    result = looks(world, Eye(truth, settled_by="all"), COUNT)
    assert result.prediction == 3 and result.explored == 1.0
    assert not ak.replay.memory(result.trace).dead_zones.contain(302.0)
    absent = looks(world, Eye([], settled_by="all"), COUNT)
    assert absent.prediction == 0 and absent.dead_zones.coverage(0, 600) == 1.0


@pytest.mark.parametrize("k", [4, 8])
def test_calls_grow_with_the_duration_over_the_grain(long_world: World, k: int) -> None:
    def calls(within_s: float, lasts_s: float) -> int:
        eye, search = Eye([], lasts_s=lasts_s, settled_by="all"), ak.Search(traversal="looks", cell=32, k=k)
        return looks(long_world, eye, COUNT, search=search, within=(0.0, within_s)).total.calls

    for within_s, lasts_s in [(3_600, 20), (7_200, 20), (3_600, 10)]:
        sheets = within_s / lasts_s / k**2
        assert calls(within_s, lasts_s) == pytest.approx(sheets / SHEETS + 2, abs=1.01)


def test_the_budget_decides_the_step_where_it_is_too_small(long_world: World) -> None:
    result = looks(long_world, Eye([], settled_by="all"), COUNT, budget=ak.Budget(calls=20))
    assert result.total.calls <= 20 and result.explored == pytest.approx(1.0, abs=0.02), "coarse, but everywhere"
    assert result.dead_zones.intervals == (), "so coarse a look rules nothing out"


@pytest.mark.parametrize("settled_by", ["first", "last"])
def test_the_first_is_sought_from_the_start_and_the_last_from_the_end(world: World, settled_by: str) -> None:
    result = looks(world, Eye([(90.0, 95.0), (521.0, 526.0)], settled_by=settled_by), workers=1)
    assert (shown_s(result)[0][0] == 0.0) == (settled_by == "first") or result.rounds == 1


def test_all_is_gone_through_more_finely_where_nothing_was_found(world: World) -> None:
    """The plan thinks that it lasts longer than it does; the review wants to look on."""
    eye = Eye([(331.3, 334.2)], lasts_s=9.0)
    eye.is_stubborn = True
    result = looks(world, eye)
    assert result.interval is not None and result.stop == "sufficient"
    assert result.interval[0] == pytest.approx(331.3, abs=0.2) and result.interval[1] == pytest.approx(334.2, abs=0.2)


def test_a_failed_look_is_made_again_and_one_that_always_fails_is_left_out(world: World) -> None:
    failed: list[tuple[Span, ...]] = []

    def fail(request: Request, answer: dict[str, Any]) -> None:
        spans = tuple((each.view.grid.start_s, each.view.grid.end_s) for each in getattr(request.facts, "sheets", ()))
        if any(a <= 400 < b for a, b in spans) and len(failed) < limit:
            failed.append(spans)
            raise BadReply("no JSON", Usage(calls=1, prompt_tokens=100))

    for limit, is_whole in ((1, True), (99, False)):
        failed.clear()
        eye = Eye([(30.0, 35.0)], settled_by="all")
        eye.change = fail
        result = looks(world, eye, COUNT, workers=1, search=ak.Search(traversal="looks", cell=32, k=4))
        assert result.prediction == 1, "the evidence found elsewhere is kept"
        assert (result.explored == 1.0) == is_whole and len(failed) == min(limit, MOST_FAILURES)


def test_looks_show_fewer_sheets_once_so_many_were_refused(world: World) -> None:
    eye = Eye([(30.0, 35.0)], settled_by="all")

    def refuse(request: Request, answer: dict[str, Any]) -> None:
        if len(getattr(request.facts, "sheets", ())) > 1:
            raise Refused("at most one image", Usage(calls=1, prompt_tokens=1))

    eye.change = refuse
    result = looks(world, eye, COUNT, workers=1, search=ak.Search(traversal="looks", cell=32, k=4))
    shown = [len(request.facts.sheets) for request in _only(eye.requests, "look")]
    assert shown[:2] == [4, 2] and set(shown[2:]) == {1} and result.explored == 1.0 and result.prediction == 1


@pytest.mark.parametrize("is_hasty", [False, True])
def test_not_there_is_an_answer_once_all_was_seen(world: World, is_hasty: bool) -> None:
    eye = Eye([], settled_by="one")
    eye.is_hasty = is_hasty
    eye.first = ((20.0, 30.0),)
    result = looks(world, eye)
    assert result.prediction == ABSENT and result.answer_in_words == "not there" and not result.without_evidence
    assert result.coverage.is_complete and result.coverage.share(4.0) == 1.0 and result.explored == 1.0
    assert (result.coverage.shortest_event_s or 9) <= 4.0 * 1.25 and "anything that lasts" in result.coverage.text
    assert replace(WHEN, answer=ABSENT).is_right(result.prediction) and "not there" in str(result)
    assert ak.walk.html(result).count("not there") and "10:00.0 of 10:00.0 at 4 s" in ak.walk.html(result)


def test_not_found_is_another_word_where_not_all_was_seen(long_world: World) -> None:
    result = looks(long_world, Eye([]), budget=ak.Budget(calls=12))
    assert result.prediction == ABSENT and result.answer_in_words == "not found"
    assert not result.coverage.is_complete and result.coverage.share(4.0) < 1
    assert "longest stretch not seen so finely" in str(result)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 5))
def test_budgets_are_hard_and_nonsense_does_no_harm(world: World, seed: int, calls: int, workers: int) -> None:
    looks(world, Babbler(seed), budget=ak.Budget(calls=calls), workers=workers)


@given(st.integers(0, 10**6))
def test_nothing_outside_of_what_is_searched_is_shown(world: World, seed: int) -> None:
    result = looks(world, Babbler(seed), within=(200.0, 330.0), budget=ak.Budget(calls=12))
    assert all(200 <= a < b <= 330 for a, b in shown_s(result))
    assert all(200 <= item.timestamp_s <= 330 for item in result.evidence)


def test_a_run_is_replayed_to_the_letter_and_walked_through(world: World, cache: Cache) -> None:
    def run(**options: Any) -> Result:
        return ak.ask(world.drawn, WHEN, vlm=Eye([(330.0, 335.0)]), search=BY_LOOKS, cache=cache, **options)

    first = run()
    again = run(replay=True)
    assert again.to_json() == first.to_json() and again.spent.calls == 0
    page = ak.walk.html(first)
    assert "frames show it." in page and "the search is planned" in page
    kinds = [shown.what for shown in ak.replay.pictures(first.trace, world.drawn, cache)]
    sheets = sum(len(look.views) for look in first.trace.of("look"))
    assert kinds.count("view") == sheets + 3, "beside the sheets: plan, review and decision"


def test_a_review_that_answers_is_the_decision(world: World) -> None:
    result = looks(world, Eye([(330.0, 335.0)]))
    (decision,) = result.trace.of("decision")
    assert decision.usage == Usage() and result.total.calls == len(result.calls)


def _only(requests: Sequence[Request], step: str) -> list[Request]:
    return [request for request in requests if request.step == step]


def test_a_review_cannot_erase_what_its_answer_rests_on(world: World) -> None:
    eye = Eye([(330.0, 335.0)])

    def erase_support(request: Request, answer: dict[str, Any]) -> None:
        conclusion = answer.get("conclusion", {})
        if conclusion.get("action") == "answer":
            answer["erase"] = conclusion["supporting"][:8]

    eye.change = erase_support
    result = looks(world, eye)
    (review,) = result.trace.of("review")
    assert review.erased == () and set(review.conclusion["supporting"]) <= set(result.evidence.labels)


def test_every_call_is_told_what_is_known(world: World) -> None:
    eye = Eye([(100.0, 106.0), (400.0, 406.0)], settled_by="all")
    looks(world, eye, COUNT, workers=1)
    *_, last = _only(eye.requests, "look")
    text = text_of(last)
    assert "Notes of those who looked" in text and "frames show it." in text
    assert "[A] 101.56 s: it" in text and "Seen before: everything, at steps of 4 s or finer." in text


def longest(node: Any, kinds: dict[str, Any]) -> int:
    """Return the characters of the longest value that fits a JSON Schema."""
    if "$ref" in node:
        return longest(kinds[node["$ref"].rpartition("/")[2]], kinds)
    if "anyOf" in node:
        return max(longest(each, kinds) for each in node["anyOf"])
    if "enum" in node or "const" in node:
        values = node.get("enum", [node.get("const")])
        return max(len(json.dumps(value)) for value in values)
    match node["type"]:
        case "object":
            return sum(len(name) + 6 + longest(each, kinds) for name, each in node["properties"].items()) + 2
        case "array":
            return int(node["maxItems"]) * (longest(node["items"], kinds) + 2) + 2
        case "string":
            return int(node["maxLength"]) + 2
    return len("12345.678")


@pytest.mark.parametrize("kind", ["choice", "when", "count"])
def test_the_longest_reply_fits_the_tokens_that_it_may_have(world: World, kind: str) -> None:
    """At two characters a token: English has four, Chinese one or two, and few replies are full."""
    choices = {"choices": ("a", "b", "c", "d")} if kind == "choice" else {}
    requests = list[Request]()

    class Listener(Babbler):
        def complete(self, request: Request, **control: Any) -> Any:
            requests.append(request)
            return super().complete(request, **control)

    looks(world, Listener(3), Question("What is it?", kind=kind, **choices), budget=ak.Budget(calls=8))
    assert {request.step for request in requests} >= {"plan", "look"}
    for request in requests:
        schema = json_schema(request.schema)
        assert longest(schema, schema.get("$defs", {})) < 2 * request.max_tokens


def test_a_follow_up_knows_what_was_learned_before_and_its_trace_says_so(world: World, tmp_path: Path) -> None:
    first = looks(world, Eye([(100.0, 110.0)]))
    first.save(tmp_path / "first.json")
    eye = Eye([(200.0, 205.0)])
    alone = looks(world, Eye([(200.0, 205.0)]))
    result = looks(
        world, eye, Question("And when is the other shown?", kind="when"), after=str(tmp_path / "first.json")
    )
    for request in eye.requests:
        told = text_of(request)
        assert "Learned when this was asked before" in told and "When is it shown?" in told
        assert "Notes of those who looked" in told
    assert "When is it shown?" in result.settings["after"] and "after" not in alone.settings
    assert result.interval is not None and abs(result.interval[0] - 200.0) < 0.2
    again = looks(world, Eye([(200.0, 205.0)]), after=[first, result])
    assert again.settings["after"].count("Learned when") == 2


def test_only_runs_about_the_same_video_are_taken_and_only_by_looks(world: World, long_world: World) -> None:
    first = looks(world, Eye([(100.0, 110.0)]))
    with pytest.raises(InputError, match="one of them is about another"):
        looks(long_world, Eye([]), after=first)
    with pytest.raises(InputError, match="Only a search by looks"):
        looks(world, Eye([]), after=first, search="paper")
