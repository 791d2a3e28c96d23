"""Promise: times by the number of workers are measured, cached and compared as the docs say."""

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.asking import ask, by_workers
from support.model_doubles import Counting

import atlaskit as ak
import atlasworld as aw
from atlaskit.benchmarks.case import Case
from atlaskit.evaluation.scaling import conclusions, processor, speedup
from atlaskit.runs.archive import export, import_

SMALL: dict[str, Any] = {"cell": 32, "progress": False}


@pytest.fixture(scope="module")
def oracle_world(tmp_path_factory: pytest.TempPathFactory) -> aw.World:
    return aw.world(1, 120, questions=3, size=(160, 90), directory=tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def cases(oracle_world: aw.World) -> tuple[Case, ...]:
    return oracle_world.cases(drawn=True)


def test_each_question_and_number_of_workers_is_measured_once(
    cases: tuple[Case, ...], oracle_world: aw.World, cache: ak.Cache
) -> None:
    model = Counting(aw.Oracle(oracle_world))
    run = partial(by_workers, cases[:2], vlm=model, cache=cache, **SMALL)
    options: dict[str, Any] = {"workers": [2, 1, 2], "budget": ak.Budget(calls=30)}
    first = run(**options)
    assert first[["id", "workers"]].to_numpy().tolist() == [[case.question.id, n] for case in cases[:2] for n in (1, 2)]
    calls = len(model.calls)
    assert calls == 2 * first["calls"].sum() > 0, "each question runs twice, with calls that are really made"
    assert (first["frames_decoded"] == 0).all(), "no image is rendered while the clock runs"
    assert first["serial_seconds"].between(0, first["seconds"], inclusive="right").all()
    again = run(**options)
    assert calls == len(model.calls)
    pd.testing.assert_frame_equal(again, first, check_exact=True)
    for other in ({"workers": [4]}, {"steps": 5}, {"refresh": True}):
        calls = len(model.calls)
        anew = run(**{**options, **other})
        assert len(model.calls) == calls + 2 * anew["calls"].sum(), other
    case = cases[0]
    row = first.iloc[0]
    result = ask(
        case.opened(), case.question, vlm=model, workers=1, budget=ak.Budget(calls=30), cell=32, cache=ak.Cache(None)
    )
    assert (row["calls"], row["tokens"]) == (result.spent.calls, result.spent.tokens)
    assert (row["right"], row["rounds"], row["stop"]) == (result.is_right, result.rounds, result.stop)


def test_the_speed_up_is_reported_with_amdahls_bound() -> None:
    columns = ("workers", "seconds", "serial_seconds", "worker_calls", "worker_seconds", "calls", "score")
    rows = [(1, 10.0, 2.0, 8, 8.0, 10, 1), (1, 30.0, 6.0, 24, 24.0, 30, 1), (4, 6.0, 2.0, 8, 8.0, 10, 1)]
    table = pd.DataFrame([*rows, (4, 10.0, 2.0, 24, 16.0, 10, 0)], columns=columns)
    gains = speedup(table.assign(normalised_seconds=table["seconds"], video=["v0", "v1", "v2", "v3"], rounds=2))
    assert gains["workers"].tolist() == [1, 4]
    assert gains["normalised_seconds"].tolist() == [20.0, 8.0] and gains["speedup"].tolist() == [1.0, 2.5]
    assert gains["serial_share"].tolist() == [0.2, 0.25]
    assert gains["bound"].tolist() == [1.0, pytest.approx(1 / (0.2 + 0.8 / 4))]
    assert gains["busy"].tolist() == [1.0, 2.0] and gains["call_seconds"].tolist() == [1.0, 0.75]
    assert gains["calls"].tolist() == [20.0, 10.0] and gains["score"].tolist() == [1.0, 0.5]
    one = table.assign(normalised_seconds=1.0, video="v", rounds=2)[:2]
    assert conclusions(one) == ["The search: measured with workers=1 alone, so there is no speed-up to tell."]
    assert (gains["low"] <= gains["normalised_seconds"]).all() and (gains["normalised_seconds"] <= gains["high"]).all()


def test_a_measurement_of_another_processor_is_replayed_only(
    cases: tuple[Case, ...], oracle_world: aw.World, cache: ak.Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Counting(aw.Oracle(oracle_world))
    options = {"workers": [1], "cache": cache, **SMALL}
    monkeypatch.setattr(ak.scaling, "processor", lambda: "another processor")
    there = by_workers(cases[:1], vlm=model, **options)
    monkeypatch.undo()
    calls = len(model.calls)
    export(tmp_path / "timings.jsonl.xz", made_since_s=0.0, cache=cache)
    options["cache"] = elsewhere = ak.Cache(tmp_path / "elsewhere")
    import_(tmp_path / "timings.jsonl.xz", cache=elsewhere)
    pd.testing.assert_frame_equal(by_workers(cases[:1], vlm=model, replay=True, **options), there, check_exact=True)
    assert len(model.calls) == calls and there["processor"].tolist() == ["another processor"]
    here = by_workers(cases[:1], vlm=model, **options)
    assert len(model.calls) > calls and here["processor"].tolist() == [processor()]
