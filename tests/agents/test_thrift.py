"""Fewer tokens for the same sight: what each measure of `thrift` leaves out, and what not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.asking import ask
from support.invariants import check_grounded, check_memory, check_search
from support.model_doubles import Babbler, Flaky, Overruled
from support.searches import CHOICE, RecordingOracle, of_category, search, search_small
from support.stand_ins import Flat

from atlaskit.agents.settings import MEASURES, Search, resolve_search
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.benchmarks.atlasworld.questions import WRITERS
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.models.protocol import Request


def of_step(requests: Sequence[Request], step: str) -> list[Request]:
    return [request for request in requests if request.step == step]


class TestTheOption:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (("steps", "nothing"), "steps, probe; got 'nothing'"),
            ("steps", "a tuple of names; got 'steps'"),
            (7, "a tuple of names; got 7"),
            ((["steps"],), "got \\['steps'\\]"),
        ],
    )
    def test_a_wrong_name_is_one_sentence(self, given: Any, message: str, cache: Cache) -> None:
        with pytest.raises(InputError, match=message):
            ask(Flat(), CHOICE, vlm=Babbler(), cache=cache, thrift=given)

    def test_a_model_of_fixed_prompts_refuses_what_changes_them(self) -> None:
        model = Babbler()
        model.name = "nano@1f0c"
        with pytest.raises(InputError, match='nano@1f0c was taught prompts with .* without thrift "steps"'):
            resolve_search(Search(thrift=("steps", "probe")), model)
        assert resolve_search(Search(thrift=("probe",)), model).thrift == ("probe",)


class TestTheSameSight:
    @pytest.mark.family
    @pytest.mark.parametrize("category", WRITERS)
    def test_all_of_it_answers_every_category(self, long_world: World, shared_cache: Cache, category: str) -> None:
        question = of_category(long_world, category)
        off, on = (search(long_world, question, shared_cache, thrift=thrift) for thrift in ((), MEASURES))
        assert on.is_right and question.score(on.prediction) >= 0.99
        assert on.total.tokens < off.total.tokens
        for check in (check_grounded, check_memory, check_search):
            check(on)


class TestSteps:
    def test_the_reply_that_finds_it_ends_the_visit(self, long_world: World, shared_cache: Cache) -> None:
        oracle, question = RecordingOracle(long_world), of_category(long_world, "S2A")
        off, on = (
            search(long_world, question, shared_cache, oracle, thrift=thrift, traversal="dfs")
            for thrift in ((), ("steps",))
        )
        ending = [event for event in on.trace.of("step") if event.then]
        assert ending and all(event.then == "finished" for event in ending)
        assert {event.action.name for event in ending} == {"AddToScratchpad"}
        assert on.total.calls + len(ending) == off.total.calls
        assert [event.stop for event in on.trace.of("report")] == [event.stop for event in off.trace.of("report")]

    def test_an_impossible_action_does_not_end_the_visit(self, cache: Cache) -> None:
        """The frame cannot be decoded, so the worker goes on, though it said that it would not."""

        def add(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
            item = {"cell": 0, "description": "a thing", "confidence": 0.5}
            return {"thought": "", "action": {"action": "add_to_scratchpad", "items": [item], "finished": True}}

        first = Overruled(
            Babbler(1), probe=lambda request, answer: {**answer, "top": [{"cell": 0, "score": 1}]}, step=add
        )
        given_ = {"workers": 1, "k": 2, "cell": 64, "max_rounds": 1, "steps": 3, "thrift": ("steps",)}
        for broken, stop in (((0.0, 4.0), "plateau"), ((8.0, 9.0), "finished")):
            result = ask(Flat(broken=broken), CHOICE, vlm=first, cache=cache, **given_)
            (report,) = result.trace.of("report")
            assert report.stop == stop
            assert all(bool(event.problem) == (not event.then) for event in result.trace.of("step"))


class TestProbe:
    def test_a_score_is_used_before_the_master_is_asked_again(self, long_world: World, shared_cache: Cache) -> None:
        oracle, question = Oracle(long_world, 0.5, seed=2), of_category(long_world, "SSS")
        off, on = (
            search(long_world, question, shared_cache, oracle, thrift=thrift, max_rounds=6, traversal="dfs")
            for thrift in ((), ("probe",))
        )
        assert any(event.ahead for event in off.trace.of("probe"))
        assert not any(event.ahead for event in on.trace.of("probe"))
        assert on.rounds > 2 and len(on.trace.of("probe")) < on.rounds
        check_search(on)

    def test_cells_that_all_score_nothing_are_scored_again(self, world: World, cache: Cache) -> None:
        nothing = Overruled(Babbler(3), probe=lambda request, answer: {**answer, "top": []})
        given_ = {"workers": 2, "min_rounds": 3, "max_rounds": 3, "thrift": ("probe",)}
        result = search_small(world, CHOICE, nothing, cache, **given_)
        assert len(result.trace.of("probe")) == result.rounds == 3

    def test_a_failed_probe_is_repeated(self, world: World, cache: Cache) -> None:
        model = Flaky(Babbler(3), 1.0, 3, ("probe",))
        result = search_small(world, CHOICE, model, cache, workers=2, max_rounds=2, min_rounds=2, thrift=("probe",))
        assert [event.step for event in result.trace.of("failure")][:2] == ["probe", "probe"]
