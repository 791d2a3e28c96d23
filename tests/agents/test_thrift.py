"""Fewer tokens for the same sight: what each measure of `thrift` leaves out, and what not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask
from support.invariants import check_books, check_grounded, check_memory, check_search
from support.model_doubles import Babbler, Flaky, Overruled, Slow
from support.searches import CHOICE, RecordingOracle, of_category, search, search_small, text_of
from support.stand_ins import Flat

from atlaskit.agents.budget import Budget
from atlaskit.agents.prompts.worker import MAY_FINISH
from atlaskit.agents.settings import MEASURES, Search, resolve_search
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.benchmarks.atlasworld.questions import WRITERS
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.models.protocol import Request, json_schema
from atlaskit.runs import replay
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace


def outcome(result: Result) -> tuple[Any, ...]:
    """Return what a run found and answered, without what it cost."""
    return result.prediction, result.evidence.items, result.dead_zones, result.rounds, result.stop


def of_step(requests: Sequence[Request], step: str) -> list[Request]:
    return [request for request in requests if request.step == step]


class TestTheOption:
    def test_it_is_not_recorded_when_it_is_off(self, long_world: World, shared_cache: Cache) -> None:
        question = of_category(long_world, "S2A")
        off, empty = (search(long_world, question, shared_cache, **given) for given in ({}, {"thrift": ()}))
        assert "thrift" not in off.settings and off.to_json() == empty.to_json()
        assert "then" not in set(json.dumps(off.trace.to_json()).split('"'))
        on = search(long_world, question, shared_cache, thrift=("probe", "steps", "probe"))
        assert on.settings["thrift"] == ["steps", "probe"], "each once, in the order of the registry"

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
    @pytest.mark.long
    @pytest.mark.parametrize("category", ["SSS", "O3O", "OCR", "WHEN", "TALLY"])
    def test_an_oracle_finds_and_answers_the_same(self, long_world: World, shared_cache: Cache, category: str) -> None:
        for rate in (0.0, 0.4):
            oracle, question = Oracle(long_world, rate, rate), of_category(long_world, category)
            off, on = (
                search(long_world, question, shared_cache, oracle, thrift=thrift, max_rounds=4, budget=Budget())
                for thrift in ((), ("steps",))
            )
            assert outcome(on) == outcome(off)
            assert on.total.calls <= off.total.calls and on.total.image_tokens <= off.total.image_tokens

    @pytest.mark.family
    @pytest.mark.parametrize("traversal", ["dfs", "bfs", "beam", "auto"])
    @pytest.mark.parametrize("category", WRITERS)
    def test_all_of_it_answers_every_category(
        self, long_world: World, shared_cache: Cache, category: str, traversal: str
    ) -> None:
        question = of_category(long_world, category)
        off, on = (
            search(long_world, question, shared_cache, thrift=thrift, traversal=traversal) for thrift in ((), MEASURES)
        )
        assert on.is_right and question.score(on.prediction) >= 0.99
        assert on.total.tokens < off.total.tokens
        for check in (check_grounded, check_memory, check_search):
            check(on)

    @pytest.mark.long
    @settings(max_examples=12)
    @given(
        seed=st.integers(0, 10**6),
        measures=st.sets(st.sampled_from(MEASURES), min_size=1),
        workers=st.integers(1, 6),
        rate=st.sampled_from([0.0, 0.3]),
        traversal=st.sampled_from(["auto", "dfs", "bfs"]),
    )
    def test_promises_hold_whatever_a_model_answers(
        self, small_world: World, seed: int, measures: set[str], workers: int, rate: float, traversal: str
    ) -> None:
        """Promises 4, 7, 8, 9 and 10."""
        budget, given_ = Budget(calls=50), {"workers": workers, "traversal": traversal, "max_depth": 3, "steps": 5}
        babbler = Flaky(Babbler(seed), rate, seed, ("step", "review", "probe"))
        cache = Cache(None)
        runs = [
            search_small(small_world, CHOICE, model, each, thrift=sorted(measures), budget=budget, **given_)
            for model, each in ((babbler, cache), (Slow(babbler, seed), Cache(None)), (babbler, cache))
        ]
        assert len({result.to_json() for result in runs}) == 1
        assert not runs[2].spent.calls or rate, "a replay makes no call"
        check_grounded(runs[0])
        check_books(runs[0], budget, workers=workers)
        check_memory(runs[0])
        check_search(runs[0])
        drawn = [each.picture.key for each in replay.pictures(runs[0].trace, small_world.drawn, cache)]
        assert len(drawn) >= len(runs[0].trace.of("step"))


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

    def test_the_worker_is_told_and_the_cells_are_the_same(self, long_world: World, cache: Cache) -> None:
        oracle, question = RecordingOracle(long_world), of_category(long_world, "SSS")
        search(long_world, question, cache, oracle, thrift=("steps",), traversal="bfs")
        sparing = of_step(oracle.requests, "step")[0]
        oracle.requests.clear()
        search(long_world, question, cache, oracle, traversal="bfs")
        plain = of_step(oracle.requests, "step")[0]
        assert MAY_FINISH in text_of(sparing) and MAY_FINISH not in text_of(plain)
        ours, theirs = (json_schema(request.schema)["$defs"] for request in (sparing, plain))
        for name in ("AddToScratchpad", "MarkPromising"):
            assert ours[name]["properties"].pop("finished") == {"title": "Finished", "type": "boolean"}
            ours[name]["required"].remove("finished")
        assert ours == theirs

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


def test_a_stranger_trace_cannot_name_cells_or_frames_that_are_not_there(small_world: World, cache: Cache) -> None:
    oracle = Oracle(small_world, 0.6, 0.6)
    result = search_small(small_world, small_world.questions[0], oracle, cache, thrift=MEASURES, max_rounds=5)
    drawn = {shown.what for shown in replay.pictures(result.trace, small_world.drawn, cache)}
    assert drawn >= {"view", "sheet"}
    for kind, part, wrong, message in (
        ("probe", "view", {"dead": (99,)}, "cell"),
        ("probe", "view", {"dead": (1,)}, "differs from the one"),
        ("review", "sheet", {"labels": ("ZZ",)}, "its sheet shows the evidence 'ZZ'"),
    ):
        events = list(result.trace)
        place = next(index for index, event in enumerate(events) if event.kind == kind)
        events[place] = replace(events[place], **{part: replace(getattr(events[place], part), **wrong)})
        with pytest.raises(InputError, match=message):
            list(replay.pictures(Trace(tuple(events)), small_world.drawn, cache))
