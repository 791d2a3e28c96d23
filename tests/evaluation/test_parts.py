"""Promise: an evaluation in parts, under a total or asked again gives the table of the whole."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.answering import answering
from support.asking import OF_THE_RUN, evaluate

import atlaskit as ak
import atlasworld as aw
from atlaskit.benchmarks.case import Benchmark, Case
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation.card import card_text
from atlaskit.evaluation.costs import Spending, estimate
from atlaskit.evaluation.runner import EvaluationStopped
from atlaskit.evaluation.tables import SHARD, failed, merged, shard, with_retried
from atlaskit.models.protocol import CallControl, Reply, Request, Usage

SMALL = {"cell": 32}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    home = tmp_path_factory.mktemp("w")
    worlds = [aw.world(seed, 60, questions=3, size=(160, 90), directory=home) for seed in (1, 2, 3)]
    return Benchmark("three", tuple(case for world in worlds for case in world.cases(drawn=True)))


def run(cases: Sequence[Case], cache: Cache, **more: object) -> pd.DataFrame:
    model = partial(aw.Oracle, miss=0.2)
    return evaluate(cases, **{"vlm": model, "cache": cache, "progress": False, **SMALL, **more})  # type: ignore[arg-type]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls of each reply that any oracle generates."""
    calls = list[int]()
    complete = aw.Oracle.complete

    def counted(self: aw.Oracle, request: Request, **control: Unpack[CallControl]) -> Reply:
        reply = complete(self, request, **control)
        calls.append(reply.usage.calls)
        return reply

    monkeypatch.setattr(aw.Oracle, "complete", counted)
    return calls


class TestTotal:
    """A total, and what a card says was paid, are of all runs, however often one is interrupted."""

    @pytest.mark.parametrize("limit", ["calls", "tokens", "usd"])
    def test_a_total_ends_with_a_table_and_more_goes_on(self, limit: str, bench: Benchmark, cache: Cache) -> None:
        prices = ak.Prices(prompt=1000, completion=1000)
        whole = run(bench, Cache(None), prices=prices)
        half = float(whole[limit].sum() / 2)
        total = ak.Budget(usd=half, prices=prices) if limit == "usd" else ak.Budget(**{limit: int(half)})  # type: ignore[arg-type]
        with pytest.raises(EvaluationStopped, match="is reached") as stopped:
            run(bench, cache, parallel=2, prices=prices, total=total)
        table = stopped.value.table
        assert 0 < len(table) < len(bench) and (table["failure"] == "").all()
        assert table[limit].sum() <= half + 2 * whole[limit].max(), "the questions in flight may exceed it"
        rest = run(bench, cache, prices=prices, total=ak.Budget(calls=10**6))
        assert (rest.loc[rest["id"].isin(table["id"]), "calls_paid"] == 0).all(), "no reply is paid for twice"
        pd.testing.assert_frame_equal(rest.drop(columns=OF_THE_RUN), whole.drop(columns=OF_THE_RUN))

    def test_what_a_video_shares_counts_once(self) -> None:
        spending = Spending(ak.Budget(calls=20))
        for question, reached in enumerate(("", "", "20 calls")):  # 8 + 4, + 4, + 4 calls
            spending.settle(question, Usage(calls=12), Usage(calls=8), "film")
            assert spending.reached == reached

    def test_a_total_holds_over_all_runs_of_a_line(self, bench: Benchmark, cache: Cache, made: list[int]) -> None:
        rows = list[int]()
        for _ in range(5):
            with pytest.raises(EvaluationStopped, match="The total of 4 calls is reached") as stopped:
                run(bench, cache, parallel=2, total=ak.Budget(calls=4))
            rows.append(len(stopped.value.table))
        assert 4 <= sum(made) <= 4 + 2, "two questions are in flight"
        assert rows == [rows[0]] + [rows[1]] * 4 and rows[1] >= rows[0], "no row is lost again"
        whole = run(bench, cache, total=ak.Budget(calls=900))
        assert len(whole) == len(bench) and whole.attrs["run"]["paid in all runs"]["calls"] == sum(made)
        assert whole["calls"].sum() == sum(made), "nothing is paid twice"


class TestShards:
    def test_shards_that_do_not_belong_together_are_told(self, bench: Benchmark, cache: Cache) -> None:
        parts = {}
        for number, k in ((1, 4), (2, 8), (3, 4)):
            part, where = shard(bench, number, 3)
            parts[number] = run(part, cache, k=k)
            parts[number].attrs[SHARD] = where
        half = parts[2].copy()
        half.attrs[SHARD] = {**half.attrs[SHARD], "of": 2}
        for given_, words in (
            ({"1": parts[1], "2": parts[2]}, "Of 3 shards, these are missing: 3"),
            ({"1": parts[1], "2": parts[2], "3": parts[3]}, "different settings: settings k is 4 and 8"),
            ({"rows": run(part, cache)}, "without --shard"),
            ({"1": parts[1], "2": half}, "1 is one of 3 shards and 2 one of 2: join tables"),
        ):
            with pytest.raises(InputError, match=words):
                merged(given_)

    @settings(deadline=None)
    @given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.integers(1, 7))
    def test_each_question_is_in_one_shard_and_each_video_too(self, videos: list[int], of: int) -> None:
        cases = tuple(
            Case(ak.Question("?", ("a", "b"), id=str(n)), str(video), pytest.fail)  # type: ignore[arg-type]
            for n, video in enumerate(videos)
        )
        whole = Benchmark("x", cases)
        found = list[Case]()
        videos_left = set(map(str, videos))
        for number in range(1, min(of, len(videos_left)) + 1):
            part, card = shard(whole, number, of)
            found += part
            assert [whole[place] for place in card["places"]] == list(part)
            own = {case.video for case in part}
            assert own <= videos_left, "no other shard has its videos"
            videos_left -= own
        assert sorted(case.question.id for case in found) == sorted(case.question.id for case in cases)


def test_only_what_failed_is_asked_again(bench: Benchmark, cache: Cache) -> None:
    one = bench.cases[4]
    broken = replace(one, opened=lambda: (_ for _ in ()).throw(ak.AtlasError("The film is not there.")))
    first = run([*bench.cases[:4], broken, *bench.cases[5:]], cache)
    again = failed(first, bench, "video-rlm")
    assert again == [one]
    with pytest.raises(InputError, match="different settings: settings k is None and 4"):
        with_retried(first, {"video-rlm": run(again, cache, k=4)})
    table = with_retried(first, {"video-rlm": run(again, cache)})
    whole = run(bench, cache).drop(columns=OF_THE_RUN)
    pd.testing.assert_frame_equal(table.drop(columns=OF_THE_RUN), whole, check_dtype=False)
    table = with_retried(table, {"video-rlm": run(again, cache)})
    assert len(table.attrs["asked again"]) == 2, "each run is on the card"
    table.attrs[SHARD] = {"number": 1, "of": 1, "places": [*range(len(table))], "whole": table.attrs["asked"]}
    assert merged({"all": table}).attrs["asked again"] == table.attrs["asked again"]


def test_an_estimate_counts_a_video_once_and_scales_with_questions() -> None:
    amounts = {"calls": [30, 40, 50], "tokens": [300, 400, 500], "video_calls": [20, 30, 40]}
    amounts |= {"video_tokens": [200, 300, 400], "calls_paid": [30, 0, 50], "seconds": [360, 1, 360]}
    found = estimate(pd.DataFrame({"video": [*"abc"], **amounts}), questions=100, videos=50, parallel=4)
    found = found.set_index("amount")
    assert found.loc["calls", "in all"] == 100 * 10 + 50 * 30
    assert found.loc["tokens", "a question"] == 100 + 300 / 2
    assert found.loc["hours", "in all"] == pytest.approx(100 * 360 / 3600 / 4), "a cached question tells no time"
    assert (found["low"] <= found["in all"]).all() and (found["in all"] <= found["high"]).all()


def test_a_card_says_all_that_moves_a_score(bench: Benchmark, cache: Cache) -> None:
    card = run(bench, cache).attrs
    assert card["settings"] == SMALL and card["settings in full"]["k"] == 8 and card["parameters"]["miss"] == 0.2
    assert card["asked"]["questions"] == 9 and card["asked"]["videos"] == 3 and card["asked"]["dataset"] == "three"
    assert card["run"]["prompts"] and card["run"]["versions"]["atlaskit"] and json.dumps(card)
    told = card_text(card)
    assert "settings in full k: 8" in told and "asked questions: 9" in told


def test_a_card_names_the_server_that_was_paid(bench: Benchmark, cache: Cache) -> None:
    with answering() as address:
        first, again = (
            evaluate(bench[:2], "blind", vlm=ak.VLM(address, "any-vlm"), cache=cache, progress=False) for _ in range(2)
        )
    expected = {"address": address, "model": "any-vlm", "dialect": "hosted"}
    assert first["calls_paid"].sum() == 2 and first.attrs["run"]["servers"] == [expected]
    assert again.attrs["run"]["servers"] == [], "the cache answered"
