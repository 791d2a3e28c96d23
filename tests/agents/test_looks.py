"""Promises 4, 7 and 10 for the search by looks, with a model that sees, and with nonsense."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agents.eye import Eye
from hypothesis import given
from hypothesis import strategies as st
from support.invariants import check_all
from support.model_doubles import Babbler, Counting
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
SMALL = replace(BY_LOOKS, k=4)


def looks(world: World, eye: Any, question: Question = WHEN, search: Any = BY_LOOKS, **options: Any) -> Result:
    """Ask a question about a drawn world."""
    result = ak.ask(world.drawn, question, vlm=eye, search=search, cache=Cache(None), **options)
    check_all(result, options.get("budget"), workers=options.get("workers", 4))
    return result


def shown_s(result: Result) -> list[Span]:
    """Return the stretches that looks showed, in order."""
    return [span for look in result.trace.of("look") for span in look.intervals_s]


@given(st.floats(0, 590), st.floats(4.2, 30))
def test_an_eye_finds_both_ends_of_what_lasts_as_long_as_it_said(world: World, start_s: float, length_s: float) -> None:
    start_s = min(start_s, 600.0 - length_s)
    result = looks(world, Eye([(start_s, start_s + length_s)]))
    assert result.stop == "sufficient" and result.total.calls <= 9
    assert result.interval == pytest.approx((start_s, start_s + length_s), abs=0.2)


def test_a_named_stretch_is_covered_in_the_next_round_exactly(world: World) -> None:
    result = looks(world, Eye([(500, 510)], first=((100.0, 190.0), (300.0, 310.0), (600.0, 590.0))))
    (plan,) = result.trace.of("plan")
    assert plan.wanted_s[:3] == ((100.0, 190.0), (300.0, 310.0), (590.0, 600.0))
    covered = DeadZones().add_all(result.trace.of("look")[0].intervals_s)
    assert all(covered.covers(*span) for span in plan.wanted_s[:3])
    assert covered.coverage(0, 600) == pytest.approx(sum(b - a for a, b in plan.wanted_s) / 600, abs=0.02)


def test_what_was_seen_so_finely_is_not_shown_again_and_the_review_is_told(world: World) -> None:
    def name_again(request: Request, answer: dict[str, Any]) -> None:
        if request.step == "review" and len(eye.requests) < 12:
            answer["conclusion"] = {"action": "look", "look": [{"start_s": 100.0, "end_s": 356.0}]}

    eye = Eye([], settled_by="all", change=name_again)
    result = looks(world, eye)
    told = [request for request in eye.requests if request.step in ("review", "decision")][1]
    assert told.facts.unfollowed[0].reason == "seen"  # type: ignore[attr-defined]
    assert result.stop == "explored" and result.prediction is not None


def test_a_long_stretch_is_shown_on_one_sheet_and_if_it_is_named_again_at_the_step_of_the_search(world: World) -> None:
    def name_again(request: Request, answer: dict[str, Any]) -> None:
        if request.step == "look" and len(request.facts.sheets) == 1:  # type: ignore[attr-defined]
            answer["look"] = [{"start_s": 100.0, "end_s": 400.0}]

    eye = Eye([], first=((100.0, 400.0),), change=name_again)
    spans = shown_s(looks(world, eye, search=SMALL, workers=1))
    assert spans[0] == (100.0, 400.0) and spans[1][0] == 0.0, "a round of one look does not suffice: the sweep does"
    spans = shown_s(looks(world, eye, search=SMALL, workers=2))
    assert spans[:6] == [(100.0, 400.0), *((start_s, start_s + 60.0) for start_s in range(100, 400, 60))]


def test_a_question_about_all_moments_goes_through_the_whole(world: World) -> None:
    eye = Eye([(30.0, 35.0), (300.0, 306.0), (577.0, 582.0)], settled_by="all")
    result = looks(world, eye, COUNT, workers=1)
    assert result.prediction == 3 and result.explored == 1.0 and not result.dead_zones.contain(302.0)
    last = text_of([request for request in eye.requests if request.step == "look"][-1])
    assert "Notes of those who looked" in last and "frames show it." in last, "every call is told what is known"
    assert " s: it" in last, "the frames that are kept, each described as 'it'"
    assert "Seen before: everything, at steps of 4 s or finer." in last
    absent = looks(world, Eye([], settled_by="all"), COUNT)
    assert absent.prediction == 0 and absent.dead_zones.coverage(0, 600) == 1.0


@pytest.mark.parametrize("k", [4, 8])
def test_calls_grow_with_the_duration_over_the_grain(long_world: World, k: int) -> None:
    for within_s, lasts_s in [(3_600, 20), (7_200, 20), (3_600, 10)]:
        eye = Eye([], lasts_s=lasts_s, settled_by="all")
        result = looks(long_world, eye, COUNT, replace(BY_LOOKS, k=k), within=(0.0, within_s))
        sheets = within_s / lasts_s / k**2
        assert result.total.calls == pytest.approx(sheets / SHEETS + 2, abs=1.01)


def test_the_budget_decides_the_step_where_it_is_too_small(long_world: World) -> None:
    result = looks(long_world, Eye([], settled_by="all"), COUNT, budget=ak.Budget(calls=20))
    assert result.total.calls <= 20 and result.explored == pytest.approx(1.0, abs=0.02), "coarse, but everywhere"
    assert result.dead_zones.intervals == (), "so coarse a look rules nothing out"


def test_the_first_is_sought_from_the_start_and_the_last_from_the_end(world: World) -> None:
    def first_shown(settled_by: str) -> Span:
        return shown_s(looks(world, Eye([(90.0, 95.0), (521.0, 526.0)], settled_by=settled_by), workers=1))[0]

    assert first_shown("first")[0] == 0.0 and first_shown("last")[1] == 600.0


def test_all_is_gone_through_more_finely_where_nothing_was_found(world: World) -> None:
    """The plan thinks that it lasts longer than it does; the review wants to look on."""
    result = looks(world, Eye([(331.3, 334.2)], lasts_s=9.0, is_stubborn=True))
    assert result.stop == "sufficient" and result.interval == pytest.approx((331.3, 334.2), abs=0.2)


@pytest.mark.parametrize(("limit", "is_whole"), [(1, True), (99, False)])
def test_a_failed_look_is_made_again_and_then_left_out(world: World, limit: int, is_whole: bool) -> None:
    failed = 0

    def fail(request: Request, answer: dict[str, Any]) -> None:
        nonlocal failed
        grids = [sheet.view.grid for sheet in getattr(request.facts, "sheets", ())]
        if any(grid.start_s <= 400 < grid.end_s for grid in grids) and failed < limit:
            failed += 1
            raise BadReply("no JSON", Usage(calls=1, prompt_tokens=100))

    eye = Eye([(30.0, 35.0)], settled_by="all", change=fail)
    result = looks(world, eye, COUNT, SMALL, workers=1)
    assert result.prediction == 1, "the evidence found elsewhere is kept"
    assert (result.explored == 1.0) == is_whole and failed == min(limit, MOST_FAILURES)


@pytest.mark.parametrize(
    ("failing_s", "options", "why"),
    [
        ((0, 600), {}, "too many of its calls failed."),
        ((390, 410), {}, "all was seen, except stretches at which calls failed."),
        ((0, 0), {"search": replace(SMALL, max_rounds=1)}, "its rounds are used up."),
        ((0, 0), {"budget": ak.Budget(calls=5)}, "its budget is used up."),
    ],
)
def test_the_last_prompt_says_why_it_is_the_last(world: World, failing_s: Span, options: Any, why: str) -> None:
    def fail(request: Request, answer: dict[str, Any]) -> None:
        shown = [sheet.view.grid for sheet in getattr(request.facts, "sheets", ())]
        if any(grid.start_s < failing_s[1] and failing_s[0] < grid.end_s for grid in shown):
            raise BadReply("no JSON", Usage(calls=1, prompt_tokens=100))

    eye = Eye([], settled_by="all", change=fail)
    looks(world, eye, **{"search": SMALL, "workers": 1, **options})
    assert f"The search is over: {why} Judge" in text_of(eye.requests[-1])


def test_looks_show_fewer_sheets_once_so_many_were_refused(world: World) -> None:
    shown = list[int]()

    def refuse(request: Request, answer: dict[str, Any]) -> None:
        if request.step == "look":
            shown.append(len(request.facts.sheets))  # type: ignore[attr-defined]
            if shown[-1] > 1:
                raise Refused("at most one image", Usage(calls=1, prompt_tokens=1))

    eye = Eye([(30.0, 35.0)], settled_by="all", change=refuse)
    result = looks(world, eye, COUNT, SMALL, workers=1)
    assert shown[:2] == [4, 2] and set(shown[2:]) == {1} and result.explored == 1.0 and result.prediction == 1


@pytest.mark.parametrize("is_hasty", [False, True])
def test_not_there_is_an_answer_once_all_was_seen(world: World, is_hasty: bool) -> None:
    result = looks(world, Eye([], first=((20.0, 30.0),), is_hasty=is_hasty))
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
def test_nothing_outside_of_what_is_searched_is_shown(world: World, seed: int, calls: int, workers: int) -> None:
    budget = ak.Budget(calls=calls)
    result = looks(world, Babbler(seed), within=(200.0, 330.0), budget=budget, workers=workers)
    assert all(200 <= a < b <= 330 for a, b in shown_s(result))
    assert all(200 <= item.timestamp_s <= 330 for item in result.evidence)
    assert list(ak.replay.pictures(result.trace, world.drawn, result.sheet.cache))


def test_a_run_is_replayed_to_the_letter_and_walked_through(world: World, cache: Cache) -> None:
    first = ak.ask(world.drawn, WHEN, vlm=Eye([(330.0, 335.0)]), search=BY_LOOKS, cache=cache)
    again = ak.ask(world.drawn, WHEN, vlm=Eye([(330.0, 335.0)]), search=BY_LOOKS, cache=cache, replay=True)
    assert again.to_json() == first.to_json() and again.spent.calls == 0
    page = ak.walk.html(first)
    assert "frames show it." in page and "the search is planned" in page
    kinds = [shown.what for shown in ak.replay.pictures(first.trace, world.drawn, cache)]
    sheets = sum(len(look.views) for look in first.trace.of("look"))
    assert kinds.count("view") == sheets + 3, "beside the sheets: plan, review and decision"


def test_a_review_that_answers_is_the_decision_and_cannot_erase_what_it_rests_on(world: World) -> None:
    def erase_support(request: Request, answer: dict[str, Any]) -> None:
        conclusion = answer.get("conclusion", {})
        if conclusion.get("action") == "answer":
            answer["erase"] = conclusion["supporting"][:8]

    result = looks(world, Eye([(330.0, 335.0)], change=erase_support))
    (decision,) = result.trace.of("decision")
    assert decision.usage == Usage() and result.total.calls == len(result.calls)
    (review,) = result.trace.of("review")
    assert review.erased == () and set(review.conclusion["supporting"]) <= set(result.evidence.labels)


def longest(node: Any, kinds: dict[str, Any]) -> int:
    """Return the characters of the longest value that fits a JSON Schema."""
    if "$ref" in node:
        return longest(kinds[node["$ref"].rpartition("/")[2]], kinds)
    if "anyOf" in node:
        return max(longest(each, kinds) for each in node["anyOf"])
    if "enum" in node or "const" in node:
        return max(len(json.dumps(value)) for value in node.get("enum", [node.get("const")]))
    match node["type"]:
        case "object":
            return sum(len(name) + 6 + longest(each, kinds) for name, each in node["properties"].items()) + 2
        case "array":
            return int(node["maxItems"]) * (longest(node["items"], kinds) + 2) + 2
        case "string":
            return int(node["maxLength"]) + 2
    return len("12345.678")


@pytest.mark.parametrize(("kind", "choices"), [("choice", ("a", "b", "c", "d")), ("when", ()), ("count", ())])
def test_the_longest_reply_fits_the_tokens_that_it_may_have(world: World, kind: Any, choices: tuple[str, ...]) -> None:
    """At two characters a token: English has four, Chinese one or two, and few replies are full."""
    model = Counting(Babbler(3))
    looks(world, model, Question("What is it?", choices, kind), budget=ak.Budget(calls=8))
    assert set(model.calls) >= {"plan", "look"}
    for request in model.requests:
        schema = json_schema(request.schema)
        assert longest(schema, schema.get("$defs", {})) < 2 * request.max_tokens


def test_a_follow_up_knows_what_was_learned_before_and_its_trace_says_so(world: World, tmp_path: Path) -> None:
    first = looks(world, Eye([(100.0, 110.0)]))
    first.save(tmp_path / "first.json")
    other = Question("And when is the other shown?", kind="when")
    eye = Eye([(200.0, 205.0)])
    result = looks(world, eye, other, after=str(tmp_path / "first.json"))
    for told in map(text_of, eye.requests):
        assert "Learned when this was asked before" in told and "When is it shown?" in told
        assert "Notes of those who looked" in told
    assert "When is it shown?" in result.settings["after"] and "after" not in first.settings
    assert result.interval is not None and abs(result.interval[0] - 200.0) < 0.2
    again = looks(world, Eye([(200.0, 205.0)]), after=[first, result])
    assert again.settings["after"].count("Learned when") == 2


def test_only_runs_about_the_same_video_are_taken_and_only_by_looks(world: World, long_world: World) -> None:
    first = looks(world, Eye([(100.0, 110.0)]))
    with pytest.raises(InputError, match="one of them is about another"):
        looks(long_world, Eye([]), after=first)
    with pytest.raises(InputError, match="Only a search by looks"):
        looks(world, Eye([]), after=first, search="paper")
