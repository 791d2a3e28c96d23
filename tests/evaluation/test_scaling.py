"""Speed-ups by the number of workers: measurements, their cache, and the arithmetic.

No test depends on how long anything takes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import pandas as pd
import pytest
from support.asking import ask, by_workers
from support.model_doubles import Counting

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.case import Case
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation import scaling, speedups
from atlaskit.evaluation.latency import Delayed
from atlaskit.evaluation.scaling import processor, serial_s
from atlaskit.evaluation.speedups import amdahl, conclusions, speedup
from atlaskit.models.cached import reply_key
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.runs.archive import export, import_

SMALL: dict[str, Any] = {"cell": 32, "progress": False}


@pytest.fixture(scope="module")
def oracle_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return atlasworld(1, 300, questions=3, size=(160, 90), directory=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def cases(oracle_world: World) -> tuple[Case, ...]:
    return oracle_world.cases(drawn=True)


def measured(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a table as by_workers measures it; columns that a row leaves out get defaults."""
    defaults = {"id": "q", "score": 1.0, "calls": 10, "rounds": 2, "worker_calls": 4, "worker_seconds": 8.0}
    filled = [{"seconds": 10.0, "serial_seconds": 2.0, **defaults, **row} for row in rows]
    return pd.DataFrame(
        [{"normalised_seconds": row["seconds"], "video": f"v{n}", **row} for n, row in enumerate(filled)]
    )


@pytest.mark.long
def test_a_row_for_each_question_and_number_of_workers(
    cases: tuple[Case, ...], oracle_world: World, cache: Cache
) -> None:
    model = Counting(ak.Oracle(oracle_world, miss=0.3))
    table = by_workers(cases, vlm=model, workers=(3, 1, 3), cache=cache, **SMALL)
    assert table["workers"].tolist() == [1, 3] * len(cases)
    assert table["id"].tolist() == [case.question.id for case in cases for _ in range(2)]
    assert set(table["video"]) == {oracle_world.name}
    assert len(model.calls) == 2 * table["calls"].sum(), "each question runs twice, with calls that are really made"
    assert (table["frames_decoded"] == 0).all(), (
        "images rendered in the first run are not rendered while the clock runs"
    )
    for row in table.to_dict("records"):
        case = next(case for case in cases if case.question.id == row["id"])
        result = ask(case.opened(), case.question, vlm=model, workers=row["workers"], cell=32, cache=Cache(None))
        assert (row["calls"], row["tokens"]) == (result.spent.calls, result.spent.tokens)
        assert (row["score"], row["right"]) == (case.question.score(result.prediction), result.is_right)
        assert (row["rounds"], row["stop"]) == (result.rounds, result.stop)
        assert row["worker_calls"] == sum(call.role == "worker" for call in result.calls)
        assert 0 < row["serial_seconds"] <= row["seconds"]
    assert table.attrs == {"models": [model.name], "settings": {"cell": 32}}
    assert set(table["processor"]) == {processor()}


def test_a_repeated_measurement_makes_no_call_and_is_the_same(
    cases: tuple[Case, ...], oracle_world: World, cache: Cache
) -> None:
    model, options = Counting(ak.Oracle(oracle_world)), {"workers": [1, 2], "budget": ak.Budget(calls=30), **SMALL}
    first = by_workers(cases, vlm=model, cache=cache, **options)
    calls = len(model.calls)
    again = by_workers(cases, vlm=model, cache=cache, **options)
    assert calls > 0 and len(model.calls) == calls
    pd.testing.assert_frame_equal(again, first, check_exact=True)
    wider = by_workers(cases, vlm=model, cache=cache, **{**options, "workers": [1, 2, 4]})
    assert len(model.calls) == calls + 2 * wider.loc[wider["workers"] == 4, "calls"].sum()
    pd.testing.assert_frame_equal(
        wider[wider["workers"] < 4].reset_index(drop=True), first, check_exact=True, check_like=True
    )
    for other in ({"steps": 5}, {"budget": ak.Budget(calls=20)}, {"refresh": True}):
        calls = len(model.calls)
        anew = by_workers(cases, vlm=model, cache=cache, **{**options, **other})
        assert len(model.calls) == calls + 2 * anew["calls"].sum(), other


def test_replies_are_neither_taken_from_the_cache_nor_stored_there(
    cases: tuple[Case, ...], oracle_world: World, cache: Cache
) -> None:
    result = ask(cases[0].opened(), cases[0].question, vlm=ak.Oracle(oracle_world), workers=1, cell=32, cache=cache)
    before = cache.stats()["reply"]
    table = by_workers(cases[:1], vlm=ak.Oracle(oracle_world), workers=[1], cache=cache, **SMALL)
    assert table.loc[0, "calls"] == result.total.calls > 0
    assert cache.stats()["reply"] == before


def test_an_invalid_cache_entry_is_measured_again(cases: tuple[Case, ...], oracle_world: World, cache: Cache) -> None:
    first = by_workers(cases[:1], vlm=ak.Oracle(oracle_world), workers=[1], cache=cache, **SMALL)
    (key,) = [entry.key for entry in cache.entries() if entry.key.startswith("timing:")]
    for invalid in (
        [],
        {"score": 1.0},
        {**cache.get_json(key), "seconds": "9"},
        {**cache.get_json(key), "seconds": -1},
    ):
        cache.put_json(key, invalid)
        model = Counting(ak.Oracle(oracle_world))
        again = by_workers(cases[:1], vlm=model, workers=[1], cache=cache, **SMALL)
        assert model.calls and again.loc[0, "calls"] == first.loc[0, "calls"]


class Timed(NamedTuple):
    """What of a call tells when it ran."""

    role: str
    began_s: float
    ended_s: float


def test_serial_seconds_are_those_without_a_workers_call() -> None:
    calls: Any = [
        Timed("master", 0.0, 1.0),
        Timed("worker", 1.0, 3.0),
        Timed("worker", 2.0, 4.0),
        Timed("master", 1.5, 4.5),  # overlaps the workers and ends half a second later
        Timed("worker", 6.0, 7.0),
        Timed("worker", 6.5, 6.5),
        Timed("master", 7.0, 9.0),
    ]
    assert serial_s(calls, 10.0) == pytest.approx(10.0 - 3.0 - 1.0)
    assert serial_s(reversed(calls), 10.0) == serial_s(calls, 10.0)
    assert serial_s([], 10.0) == serial_s(calls[:1], 10.0) == 10.0


def test_the_speed_up_is_reported_with_amdahls_bound() -> None:
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
    gains = speedup(table)
    assert list(gains.columns) == speedups.COLUMNS and gains["workers"].tolist() == [1, 4]
    assert gains["normalised_seconds"].tolist() == [20.0, 8.0] and gains["speedup"].tolist() == [1.0, 2.5]
    assert gains["serial_share"].tolist() == [0.2, 0.25]
    assert gains["bound"].tolist() == [1.0, pytest.approx(1 / (0.2 + 0.8 / 4))]
    assert gains["busy"].tolist() == [1.0, 2.0] and gains["call_seconds"].tolist() == [1.0, 0.75]
    assert gains["calls"].tolist() == [20.0, 10.0] and gains["score"].tolist() == [1.0, 0.5]
    assert (gains["low"] <= gains["normalised_seconds"]).all() and (gains["normalised_seconds"] <= gains["high"]).all()


def test_the_bound_counts_from_the_fewest_workers() -> None:
    assert amdahl(0.0, 7.0) == 7.0 and amdahl(1.0, 7.0) == 1.0 and amdahl(0.5, 1.0) == 1.0
    gains = speedup(measured(*({"workers": workers, "seconds": 4.0, "serial_seconds": 1.0} for workers in (3, 6))))
    assert gains["bound"].tolist() == [1.0, pytest.approx(1 / (0.25 + 0.75 / 2))]


def test_the_conclusions_name_a_saturated_server() -> None:
    one = {"workers": 1, "seconds": 10.0, "serial_seconds": 2.0, "worker_calls": 8, "worker_seconds": 8.0}
    quick = {**one, "workers": 4, "seconds": 4.0}  # four calls in parallel, each as fast as before
    saturated = {**quick, "seconds": 10.0, "worker_seconds": 32.0}  # four calls in parallel, each four times as slow
    idle = {**one, "workers": 4}  # one call at a time, although four workers are allowed
    fewer = {**quick, "seconds": 2.0, "serial_seconds": 0.5, "rounds": 1}  # more than dividing the same search can gain
    sentences = [conclusions(measured(one, other))[0] for other in (quick, saturated, idle, fewer)]
    assert "saturated" not in sentences[0] and "4 workers are 2.50 times as fast as 1 at equal workload" in sentences[0]
    assert (
        sentences[1].endswith("take 4.0 times as long: this server is already saturated at 1.")
        and "1.00 times" in sentences[1]
    )
    assert sentences[3].endswith("is 2.50, which assumes the same search: they take 1.0 rounds, not 2.0.")
    assert sentences[2].endswith("only 1.0 of their calls run in parallel.")


def test_a_delayed_model_gives_the_same_replies_under_another_name(
    cases: tuple[Case, ...], oracle_world: World
) -> None:
    oracle = ak.Oracle(oracle_world, miss=0.2, seed=3)
    slow = Delayed(oracle, 0.002)
    assert slow.name != oracle.name and slow.parameters == {**oracle.parameters, "latency_s": 0.002}
    assert slow.name != Delayed(oracle, 0.004).name
    seen = list[Request]()

    class Recording(Counting):
        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            seen.append(request)
            return super().complete(request, **control)

    video, question = cases[0].opened(), cases[0].question
    plain = ask(video, question, vlm=oracle, cell=32, cache=Cache(None))
    late = ask(video, question, vlm=Recording(slow), cell=32, cache=Cache(None))
    assert list(plain.trace)[1:] == list(late.trace)[1:], "all events but the first, which names the model"
    assert plain.prediction == late.prediction and plain.usage == late.usage
    assert not {reply_key(oracle, request) for request in seen} & {reply_key(slow, request) for request in seen}
    assert all(call.wall_s > 0 for call in late.calls), "it reports the duration, as a server's client does"


def test_invalid_measurements_are_input_errors(cases: tuple[Case, ...], in_tmp: Path) -> None:
    unknown = replace(cases[0], question=replace(cases[0].question, answer=None))
    invalid: list[tuple[Any, dict[str, Any], str]] = [
        ([], {}, "no questions to ask"),
        ([unknown], {}, "is not known, so it cannot be scored"),
        ([replace(cases[0], world=None)], {}, "works only on AtlasWorld"),
        (cases, {"workers": []}, "one or more whole numbers"),
        (cases, {"workers": 4}, "one or more whole numbers"),
        (cases, {"workers": "1,3"}, "one or more whole numbers"),
        (cases, {"workers": [1, 0]}, "Each number of workers is a whole number, at least 1"),
        (cases, {"workers": [1, 2.0]}, "Each number of workers is a whole number"),
        (cases, {"workers": [True]}, "Each number of workers is a whole number"),
        (cases, {"celll": 3}, "no setting 'celll'; it has .*search"),
        (cases, {"on_event": print}, "no setting 'on_event'"),
    ]
    for selected, settings, sentence in invalid:
        with pytest.raises(InputError, match=sentence) as caught:
            by_workers(selected, vlm=ak.Oracle, progress=False, **settings)
        assert "\n" not in str(caught.value)
    assert list(in_tmp.iterdir()) == [], "nothing is written before the check"


def test_a_measurement_of_another_processor_is_replayed_only(
    cases: tuple[Case, ...], oracle_world: World, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, options = Counting(ak.Oracle(oracle_world)), {"workers": [1], "cache": cache, **SMALL}
    monkeypatch.setattr(scaling, "processor", lambda: "another processor")
    there = by_workers(cases[:1], vlm=model, **options)
    monkeypatch.undo()
    calls = len(model.calls)
    export(tmp_path / "timings.jsonl.xz", made_since_s=0.0, cache=cache)
    options["cache"] = elsewhere = Cache(tmp_path / "elsewhere")
    import_(tmp_path / "timings.jsonl.xz", cache=elsewhere)
    pd.testing.assert_frame_equal(by_workers(cases[:1], vlm=model, replay=True, **options), there, check_exact=True)
    assert len(model.calls) == calls and there["processor"].tolist() == ["another processor"]
    here = by_workers(cases[:1], vlm=model, **options)
    assert len(model.calls) > calls and here["processor"].tolist() == [processor()]


def test_a_replay_makes_no_measurement(cases: tuple[Case, ...]) -> None:
    cache, options = Cache(None), {"vlm": ak.Oracle, "workers": [2], "progress": False}
    with pytest.raises(InputError, match="no measurement of .* with 2 workers"):
        by_workers(cases[:1], cache=cache, replay=True, **options)
    measured = by_workers(cases[:1], cache=cache, **options)
    pd.testing.assert_frame_equal(by_workers(cases[:1], cache=cache, replay=True, **options), measured)


@pytest.mark.parametrize("latency_s", [-0.1, float("inf"), float("nan"), "1", True, None])
def test_a_delay_is_a_number_of_seconds(latency_s: Any, oracle_world: World) -> None:
    with pytest.raises(InputError, match="must be a number of seconds"):
        Delayed(ak.Oracle(oracle_world), latency_s)


def test_a_table_without_rows_or_columns_is_an_input_error() -> None:
    for rows in (pd.DataFrame({"workers": [1]}), measured({"workers": 1}).drop(columns="worker_seconds")):
        with pytest.raises(InputError, match="lacks the column"):
            speedup(rows)
    with pytest.raises(InputError, match="has no rows"):
        speedup(measured({"workers": 1})[:0])
