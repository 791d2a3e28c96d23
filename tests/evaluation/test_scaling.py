"""Workers against the clock: what is counted, what is kept, and the arithmetic of it. No test looks at the clock."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pandas as pd
import pytest
from support.model_doubles import Counting, Flaky

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.case import Case
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation import scaling
from atlaskit.evaluation.scaling import (
    Delayed,
    TimedCall,
    amdahl,
    by_workers,
    conclusions,
    delayed,
    processor,
    serial_s,
    speedup,
)
from atlaskit.models.cached import reply_key
from atlaskit.models.presets import is_nano
from atlaskit.models.protocol import CallControl, Reply, Request

SMALL: dict[str, Any] = {"cell": 32, "progress": False}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> World:
    return atlasworld(1, 300, questions=3, size=(160, 90), directory=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def cases(asked: World) -> tuple[Case, ...]:
    return asked.cases(drawn=True)


def measured(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a table of by_workers, of what is told of each row and what is usual."""
    usual = {"id": "q", "score": 1.0, "calls": 10, "rounds": 2, "worker_calls": 4, "worker_seconds": 8.0}
    given = [{"seconds": 10.0, "serial_seconds": 2.0, **usual, **row} for row in rows]
    return pd.DataFrame(
        [{"normalised_seconds": row["seconds"], "video": f"v{n}", **row} for n, row in enumerate(given)]
    )


def test_a_row_for_each_question_and_number_of_workers(cases: tuple[Case, ...], asked: World, cache: Cache) -> None:
    model = Counting(ak.Oracle(asked, miss=0.3))
    table = by_workers(cases, vlm=model, workers=(3, 1, 3), cache=cache, **SMALL)
    assert table["workers"].tolist() == [1, 3] * len(cases)
    assert table["id"].tolist() == [case.question.id for case in cases for _ in range(2)]
    assert set(table["video"]) == {asked.name}
    assert len(model.calls) == 2 * table["calls"].sum(), "each asked twice, by calls that are really made"
    assert (table["frames_decoded"] == 0).all(), "what was drawn the first time is not drawn while the clock runs"
    for row in table.to_dict("records"):
        case = next(case for case in cases if case.question.id == row["id"])
        result = ak.ask(case.opened(), case.question, vlm=model, workers=row["workers"], cell=32, cache=Cache(None))
        assert (row["calls"], row["tokens"]) == (result.spent.calls, result.spent.tokens)
        assert (row["score"], row["right"]) == (case.question.score(result.prediction), result.is_right)
        assert (row["rounds"], row["stop"]) == (result.rounds, result.stop)
        assert row["worker_calls"] == sum(call.role == "worker" for call in result.calls)
        assert 0 < row["serial_seconds"] <= row["seconds"]
    assert table.attrs == {"models": [model.name], "settings": {"cell": 32}, "processor": processor()}


def test_a_second_time_nothing_is_asked_and_all_is_the_same(
    cases: tuple[Case, ...], asked: World, cache: Cache
) -> None:
    model, how = Counting(ak.Oracle(asked)), {"workers": [1, 2], "budget": ak.Budget(calls=30), **SMALL}
    first = by_workers(cases, vlm=model, cache=cache, **how)
    calls = len(model.calls)
    again = by_workers(cases, vlm=model, cache=cache, **how)
    assert calls > 0 and len(model.calls) == calls
    pd.testing.assert_frame_equal(again, first, check_exact=True)
    wider = by_workers(cases, vlm=model, cache=cache, **{**how, "workers": [1, 2, 4]})
    assert len(model.calls) == calls + 2 * wider.loc[wider["workers"] == 4, "calls"].sum()
    pd.testing.assert_frame_equal(
        wider[wider["workers"] < 4].reset_index(drop=True), first, check_exact=True, check_like=True
    )
    for other in ({"steps": 5}, {"budget": ak.Budget(calls=20)}, {"refresh": True}):
        calls = len(model.calls)
        anew = by_workers(cases, vlm=model, cache=cache, **{**how, **other})
        assert len(model.calls) == calls + 2 * anew["calls"].sum(), other


def test_replies_are_neither_taken_from_the_cache_nor_put_there(
    cases: tuple[Case, ...], asked: World, cache: Cache
) -> None:
    kept = ak.ask(cases[0].opened(), cases[0].question, vlm=ak.Oracle(asked), workers=1, cell=32, cache=cache)
    before = cache.stats()["reply"]
    table = by_workers(cases[:1], vlm=ak.Oracle(asked), workers=[1], cache=cache, **SMALL)
    assert table.loc[0, "calls"] == kept.total.calls > 0
    assert cache.stats()["reply"] == before


def test_a_run_in_which_a_call_failed_is_told_and_not_kept(cases: tuple[Case, ...], asked: World, cache: Cache) -> None:
    model = Counting(Flaky(ak.Oracle(asked), 0.4, seed=2))
    first = by_workers(cases, vlm=model, workers=[2], cache=cache, **SMALL)
    calls = len(model.calls)
    by_workers(cases, vlm=model, workers=[2], cache=cache, **SMALL)
    assert model.model.failed > 0 and len(model.calls) > calls and len(first) == len(cases)


def test_what_a_stranger_left_in_the_cache_is_measured_anew(
    cases: tuple[Case, ...], asked: World, cache: Cache
) -> None:
    first = by_workers(cases[:1], vlm=ak.Oracle(asked), workers=[1], cache=cache, **SMALL)
    (key,) = [entry.key for entry in cache.entries() if entry.key.startswith("timing:")]
    for strange in (
        [],
        {"score": 1.0},
        {**cache.get_json(key), "seconds": "9"},
        {**cache.get_json(key), "seconds": -1},
    ):
        cache.put_json(key, strange)
        model = Counting(ak.Oracle(asked))
        again = by_workers(cases[:1], vlm=model, workers=[1], cache=cache, **SMALL)
        assert model.calls and again.loc[0, "calls"] == first.loc[0, "calls"]


def test_equal_workload_is_that_of_the_fewest_workers(cases: tuple[Case, ...], asked: World, cache: Cache) -> None:
    table = by_workers(cases, vlm=ak.Oracle(asked, miss=0.4), workers=[2, 5], cache=cache, **SMALL)
    for _, rows in table.groupby("id"):
        few, many = rows.to_dict("records")
        assert few["normalised_seconds"] == few["seconds"]
        assert many["normalised_seconds"] == pytest.approx(many["seconds"] * few["calls"] / many["calls"])
    assert table.groupby("id")["calls"].nunique().max() > 1, "otherwise nothing is normalised"


def test_serial_is_what_no_workers_call_covers() -> None:
    calls = [
        TimedCall("master", 0.0, 1.0),
        TimedCall("worker", 1.0, 3.0),
        TimedCall("worker", 2.0, 4.0),
        TimedCall("master", 1.5, 4.5),  # beside the workers, and half a second longer
        TimedCall("worker", 6.0, 7.0),
        TimedCall("worker", 6.5, 6.5),
        TimedCall("master", 7.0, 9.0),
    ]
    assert serial_s(calls, 10.0) == pytest.approx(10.0 - 3.0 - 1.0)
    assert serial_s(reversed(calls), 10.0) == serial_s(calls, 10.0)
    assert serial_s([], 10.0) == serial_s(calls[:1], 10.0) == 10.0


def test_the_speed_up_is_held_against_amdahls_bound() -> None:
    table = measured(
        {"workers": 1, "seconds": 10.0, "serial_seconds": 2.0, "worker_calls": 8, "worker_seconds": 8.0},
        {"workers": 1, "seconds": 30.0, "serial_seconds": 6.0, "worker_calls": 24, "worker_seconds": 24.0, "calls": 30},
        {"workers": 4, "seconds": 6.0, "serial_seconds": 2.0, "worker_calls": 8, "worker_seconds": 8.0},
        {
            "workers": 4,
            "seconds": 10.0,
            "serial_seconds": 2.0,
            "worker_calls": 24,
            "worker_seconds": 16.0,
            "score": 0.0,
        },
    )
    told = speedup(table)
    assert list(told.columns) == scaling.COLUMNS and told["workers"].tolist() == [1, 4]
    assert told["normalised_seconds"].tolist() == [20.0, 8.0] and told["speedup"].tolist() == [1.0, 2.5]
    assert told["serial_share"].tolist() == [0.2, 0.25]
    assert told["bound"].tolist() == [1.0, pytest.approx(1 / (0.2 + 0.8 / 4))]
    assert told["busy"].tolist() == [1.0, 2.0] and told["call_seconds"].tolist() == [1.0, 0.75]
    assert told["calls"].tolist() == [20.0, 10.0] and told["score"].tolist() == [1.0, 0.5]
    assert (told["low"] <= told["normalised_seconds"]).all() and (told["normalised_seconds"] <= told["high"]).all()


def test_the_bound_counts_from_the_fewest_workers() -> None:
    assert amdahl(0.0, 7.0) == 7.0 and amdahl(1.0, 7.0) == 1.0 and amdahl(0.5, 1.0) == 1.0
    told = speedup(measured(*({"workers": workers, "seconds": 4.0, "serial_seconds": 1.0} for workers in (3, 6))))
    assert told["bound"].tolist() == [1.0, pytest.approx(1 / (0.25 + 0.75 / 2))]


def test_models_are_told_apart_in_their_order() -> None:
    rows = measured(*({"workers": workers, "seconds": 8.0 / workers} for workers in (1, 2)))
    both = pd.concat([rows.assign(model="b"), rows.assign(model="a", normalised_seconds=5.0)])
    told = speedup(both)
    assert told["model"].tolist() == ["b", "b", "a", "a"] and told["speedup"].tolist() == [1.0, 2.0, 1.0, 1.0]
    assert [sentence.split(":")[0] for sentence in conclusions(both)] == ["b", "a"]


def test_a_saturated_server_is_said_to_be() -> None:
    one = {"workers": 1, "seconds": 10.0, "serial_seconds": 2.0, "worker_calls": 8, "worker_seconds": 8.0}
    quick = {**one, "workers": 4, "seconds": 4.0}  # four at once, each as quick as before
    saturated = {**quick, "seconds": 10.0, "worker_seconds": 32.0}  # four at once, each four times as slow
    idle = {**one, "workers": 4}  # one at once, whatever was asked for
    fewer = {**quick, "seconds": 2.0, "serial_seconds": 0.5, "rounds": 1}  # better than the same search divided
    said = [conclusions(measured(one, other))[0] for other in (quick, saturated, idle, fewer)]
    assert "saturated" not in said[0] and "4 workers are 2.50 times as fast as 1 at equal workload" in said[0]
    assert said[1].endswith("take 4.0 times as long: this server is saturated by 1.") and "1.00 times" in said[1]
    assert said[3].endswith("is 2.50, which is of the same search: they take 1.0 rounds, not 2.0.")
    assert said[2].endswith("only 1.0 of their calls are under way at once.")


def test_a_delayed_model_answers_the_same_under_another_name(cases: tuple[Case, ...], asked: World) -> None:
    oracle = ak.Oracle(asked, miss=0.2, seed=3)
    slow = Delayed(oracle, 0.002)
    assert slow.name != oracle.name and slow.parameters == {**oracle.parameters, "latency_s": 0.002}
    assert slow.name != Delayed(oracle, 0.004).name
    seen = list[Request]()

    class Noting(Counting):
        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            seen.append(request)
            return super().complete(request, **control)

    video, question = cases[0].opened(), cases[0].question
    plain = ak.ask(video, question, vlm=oracle, cell=32, cache=Cache(None))
    late = ak.ask(video, question, vlm=Noting(slow), cell=32, cache=Cache(None))
    assert list(plain.trace)[1:] == list(late.trace)[1:], "all but the first, which names the model"
    assert plain.prediction == late.prediction and plain.usage == late.usage
    assert not {reply_key(oracle, request) for request in seen} & {reply_key(slow, request) for request in seen}
    assert all(call.transit.wall_s > 0 for call in late.calls), "it tells what it took, as a server's client does"


def test_nobody_waits_for_a_late_answer_that_nobody_wants(asked: World, cases: tuple[Case, ...]) -> None:
    seen = list[Request]()

    class Noting(ak.Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            seen.append(request)
            return super().complete(request, **control)

    ak.ask(cases[0].opened(), cases[0].question, vlm=Noting(asked), cell=32, cache=Cache(None))
    over = threading.Event()
    over.set()
    reply = Delayed(ak.Oracle(asked), 3600.0).complete(seen[0], cancel=over)
    assert reply.answer


def test_the_delay_goes_round_models_and_what_makes_them(asked: World, cases: tuple[Case, ...], cache: Cache) -> None:
    oracle = ak.Oracle(asked, miss=0.1)
    given = [delayed(oracle, 0.001), delayed(partial(ak.Oracle, miss=0.1), 0.001)]
    assert isinstance(given[0], Delayed)
    made = given[1](asked)  # type: ignore[operator]
    assert (made.name, made.parameters) == (given[0].name, given[0].parameters)
    assert delayed(ak.Oracle, 0.001)(asked).parameters["miss"] == 0.0  # type: ignore[operator]
    tables = [by_workers(cases, vlm=vlm, workers=[1, 2], cache=cache, **SMALL) for vlm in given]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    named = Counting(oracle)
    named.name = "nano@0123"
    assert is_nano(Delayed(named, 0.1).name), "which knows its own grid, however late it answers"


def test_only_the_time_depends_on_the_workers_pace(cases: tuple[Case, ...], asked: World) -> None:
    tables = [
        by_workers(
            cases, vlm=Delayed(ak.Oracle(asked, miss=0.3), latency_s), workers=[1, 4], cache=Cache(None), **SMALL
        )
        for latency_s in (0.0, 0.003)
    ]
    clocks = [name for name in tables[0].columns if name.endswith("seconds")]
    pd.testing.assert_frame_equal(*(table.drop(columns=clocks) for table in tables))


def test_what_cannot_be_measured_is_one_sentence(cases: tuple[Case, ...], in_tmp: Path) -> None:
    unknown = replace(cases[0], question=replace(cases[0].question, answer=None))
    given: list[tuple[Any, dict[str, Any], str]] = [
        ([], {}, "no questions to ask"),
        ([unknown], {}, "is not known, so it cannot be scored"),
        ([replace(cases[0], world=None)], {}, "works only on AtlasWorld"),
        (cases, {"workers": []}, "one or more whole numbers"),
        (cases, {"workers": 4}, "one or more whole numbers"),
        (cases, {"workers": "1,3"}, "one or more whole numbers"),
        (cases, {"workers": [1, 0]}, "Each number of workers is a whole number, at least 1"),
        (cases, {"workers": [1, 2.0]}, "Each number of workers is a whole number"),
        (cases, {"workers": [True]}, "Each number of workers is a whole number"),
        (cases, {"celll": 3}, "no setting 'celll'; it has .*cell"),
        (cases, {"on_event": print}, "no setting 'on_event'"),
    ]
    for asked_of, settings, sentence in given:
        with pytest.raises(InputError, match=sentence) as caught:
            by_workers(asked_of, vlm=ak.Oracle, progress=False, **settings)
        assert "\n" not in str(caught.value)
    assert list(in_tmp.iterdir()) == [], "before anything is made"


def test_a_replay_measures_nothing(cases: tuple[Case, ...]) -> None:
    cache, how = Cache(None), {"vlm": ak.Oracle, "workers": [2], "progress": False}
    with pytest.raises(InputError, match="with 2 workers was not measured on this machine"):
        by_workers(cases[:1], cache=cache, replay=True, **how)
    measured = by_workers(cases[:1], cache=cache, **how)
    pd.testing.assert_frame_equal(by_workers(cases[:1], cache=cache, replay=True, **how), measured)


@pytest.mark.parametrize("latency_s", [-0.1, float("inf"), float("nan"), "1", True, None])
def test_a_delay_is_a_number_of_seconds(latency_s: Any, asked: World) -> None:
    with pytest.raises(InputError, match="number of seconds"):
        Delayed(ak.Oracle(asked), latency_s)


def test_a_table_that_is_none_is_one_sentence() -> None:
    for rows in (pd.DataFrame({"workers": [1]}), measured({"workers": 1}).drop(columns="worker_seconds")):
        with pytest.raises(InputError, match="lacks the column"):
            speedup(rows)
    with pytest.raises(InputError, match="has no rows"):
        speedup(measured({"workers": 1})[:0])
