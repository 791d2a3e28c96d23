"""Evaluations: one row a question, also for failures; independent of parallelism; paid once."""

import json
import os
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pandas as pd
import pytest
from support.asking import OF_THE_RUN, evaluate
from support.datasets import ConstantModel
from support.model_doubles import Counting, Failing

import atlaskit as ak
import atlasworld as aw
from atlaskit.benchmarks.case import Case
from atlaskit.caching.cache import Cache
from atlaskit.errors import AtlasError, InputError, VideoError
from atlaskit.evaluation import tables
from atlaskit.evaluation.rows import COUNTS
from atlaskit.evaluation.runner import EvaluationStopped
from atlaskit.models.protocol import CallControl, Refused, Reply, Request, ServerError
from atlaskit.video.video import Video

SMALL = {"cell": 32}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, ...]:
    worlds = [
        aw.world(seed, 300, questions=6, size=(160, 90), directory=tmp_path_factory.mktemp("w")) for seed in (1, 2)
    ]
    return tuple(case for world in worlds for case in world.cases(drawn=True))


def test_a_perfect_oracle_is_right_and_each_question_has_a_row(cases: tuple[Case, ...], cache: Cache) -> None:
    table = evaluate(cases, vlm=aw.Oracle, cache=cache, progress=False, **SMALL)
    assert table["id"].tolist() == [case.question.id for case in cases]
    assert table["video"].nunique() == 2 and set(table["seed"]) == {1, 2}
    assert table["right"].all() and (table["score"] >= 0.5).all()
    assert (table["calls"] == table["master_calls"] + table["worker_calls"]).all()
    assert (table["tokens"] == table["prompt_tokens"] + table["completion_tokens"]).all()
    assert table["estimated"].all() and (table["failure"] == "").all()
    assert (table["coverage"] > 0).all() and (table["depth"] >= 1).any()


def test_a_repeated_evaluation_costs_nothing_and_gives_the_same_rows(cases: tuple[Case, ...], cache: Cache) -> None:
    tables = [
        evaluate(cases, vlm=partial(aw.Oracle, miss=0.3), parallel=parallel, cache=cache, progress=False, **SMALL)
        for parallel in (3, 1)
    ]
    assert tables[0]["calls_paid"].sum() > 0 and tables[1]["calls_paid"].sum() == 0
    assert tables[1]["frames_decoded"].sum() == 0
    pd.testing.assert_frame_equal(*(table.drop(columns=OF_THE_RUN) for table in tables))


def test_a_question_that_fails_has_a_row_and_counts_as_wrong(cases: tuple[Case, ...], cache: Cache) -> None:
    def missing() -> Video:
        raise VideoError("film.mp4 is not there.")

    broken = replace(cases[1], opened=missing)
    table = evaluate([cases[0], broken], vlm=aw.Oracle, cache=cache, progress=False, **SMALL)
    assert table["right"].tolist() == [True, False] and table["score"].tolist()[1] == 0
    assert table["failure"].tolist() == ["", "film.mp4 is not there."] and table["stop"].tolist()[1] == "failed"
    assert table.loc[1, list(COUNTS)].tolist() == [0] * len(COUNTS)


def test_an_interrupt_stops_all_model_calls(cases: tuple[Case, ...], cache: Cache) -> None:
    calls, before = list[str](), list[int]()

    class Slow(aw.Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            calls.append(request.step)
            if len(calls) == 20:
                before.append(len(calls))
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            return super().complete(request, **control)

    with pytest.raises(KeyboardInterrupt):
        evaluate(cases, vlm=Slow, parallel=2, workers=2, cache=cache, progress=False, **SMALL)
    assert len(calls) - before[0] <= 2 * 3 * 2, "only calls that ran, or began while the main thread woke up"
    later = len(calls)
    time.sleep(0.2)
    assert len(calls) == later
    assert evaluate(cases, vlm=aw.Oracle, cache=cache, progress=False, **SMALL)["right"].all()


@pytest.mark.parametrize("name", ["rows.csv", "deep/rows.parquet"])
def test_a_saved_table_loads_with_its_settings(
    name: str, cases: tuple[Case, ...], cache: Cache, tmp_path: Path
) -> None:
    table = evaluate(cases, vlm=partial(aw.Oracle, miss=0.2), cache=cache, progress=False, **SMALL)
    tables.save(table, tmp_path / name)
    again = tables.load(tmp_path / name)
    pd.testing.assert_frame_equal(again, table, check_dtype=False)
    assert again.attrs == table.attrs and again.attrs["settings"] == SMALL
    assert again.attrs["parameters"]["miss"] == 0.2 and again.attrs["run"]["versions"]["atlaskit"]


def test_rows_say_choices_truth_and_answer_in_words(cases: tuple[Case, ...], cache: Cache, tmp_path: Path) -> None:
    tally = ak.Question("How many hearts?", kind="count", answer=2, id="tally")
    asked = (*cases[:3], replace(cases[0], question=tally))
    table = evaluate(asked, "blind", vlm=ConstantModel(1), cache=cache, progress=False)
    for case, row in zip(asked[:3], table.to_dict("records"), strict=False):
        question = case.question
        letters = "ABCDEFGH"
        assert row["choices"] == " | ".join(f"{letters[n]}: {text}" for n, text in enumerate(question.choices))
        assert row["truth"] == f"{letters[question.answer]}: {question.choices[question.answer]}"  # type: ignore[index]
        assert row["answer"] == f"B: {question.choices[1]}"
    assert table.loc[3, ["choices", "truth", "answer"]].tolist() == ["", "2", "1"]
    tables.save(table[3:], tmp_path / "rows.csv")  # only numbers, which must stay text
    assert tables.load(tmp_path / "rows.csv")[["truth", "answer"]].to_numpy().tolist() == [["2", "1"]]


def test_invalid_tables_are_input_errors(tmp_path: Path, cases: tuple[Case, ...], cache: Cache) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    for wrong in ("a.csv", "none.parquet"):
        with pytest.raises(InputError, match="is not a saved evaluation"):
            tables.load(tmp_path / wrong)
    table = evaluate(cases[:1], "blind", vlm=aw.Oracle, cache=cache, progress=False)
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        tables.save(table, tmp_path / "rows.xlsx")


def test_traces_are_saved_in_a_folder_and_named_in_the_table(
    cases: tuple[Case, ...], cache: Cache, in_tmp: Path
) -> None:
    def missing() -> Video:
        raise VideoError("film.mp4 is not there.")

    odd_id = replace(cases[0], question=replace(cases[0].question, id="../../\x00<b>" + "w" * 300))
    selected = [odd_id, cases[1], replace(cases[2], opened=missing)]
    plain = evaluate(selected, vlm=aw.Oracle, cache=cache, progress=False, **SMALL)
    assert "trace" not in plain and plain["question"].tolist() == [case.question.text for case in selected]
    table = evaluate(selected, vlm=aw.Oracle, cache=cache, progress=False, traces="saved/runs", **SMALL)
    assert table["calls_paid"].iloc[:2].sum() == 0, "replies come from the cache"
    assert table["trace"].tolist()[2] == "" and len(list((in_tmp / "saved" / "runs").iterdir())) == 2
    for case, path in zip(selected[:2], table["trace"].tolist()[:2], strict=True):
        assert Path(path).parent == in_tmp / "saved" / "runs"
        result = json.loads(Path(path).read_text(encoding="utf-8"))
        assert result["question"]["id"] == case.question.id and result["trace"]
    tables.save(table, "rows.csv")
    read = tables.load("rows.csv")
    assert read["trace"].tolist() == table["trace"].tolist()
    assert read["prediction"].tolist() == table["prediction"].tolist() and read["prediction"].tolist()[2] is None
    (in_tmp / "file").touch()
    with pytest.raises(InputError, match=r"file cannot be a folder for traces: [^\n]+\.$"):
        evaluate(selected, vlm=aw.Oracle, cache=cache, progress=False, traces="file", **SMALL)


def refusing(world: Any, status: int, kind: type[Refused | ServerError]) -> Failing:
    """Return an oracle whose endpoint answers one question, and refuses all others."""
    answered = list[str]()

    def error(request: Any, number: int) -> AtlasError | None:
        answered.append(request.facts.question.id)
        if answered[-1] == answered[0]:
            return None
        refusal = kind(f"m at http://h/v1 returned HTTP {status}: request {number}.")
        refusal.status = status
        return refusal

    return Failing(aw.Oracle(world), error)


@pytest.mark.parametrize(("status", "error"), [(401, Refused), (0, ServerError)], ids=str)
def test_an_evaluation_stops_where_every_question_is_refused(
    cases: tuple[Case, ...], cache: Cache, status: int, error: type[Refused | ServerError]
) -> None:
    own = [case for case in cases if case.world is cases[0].world]
    blind = partial(evaluate, own, "blind", parallel=1, cache=cache, progress=False)
    with pytest.raises(EvaluationStopped, match="3 questions in a row that failed alike .m at http") as stopped:
        blind(vlm=refusing(cases[0].world, status, error))
    table = stopped.value.table
    assert len(table) == 4 < len(own) and table["prediction"].notna().sum() == 1
    assert f"4 of {len(own)} questions were tried" in str(stopped.value) and "\n" not in str(stopped.value)
    mended = Counting(aw.Oracle(cases[0].world))
    whole = blind(vlm=mended)
    assert len(whole) == len(own) and (whole["failure"] == "").all()
    assert len(mended.calls) == len(own) - 1, "the answered question is not asked again"
    assert "refusal" not in table and "refusal" not in whole


def test_other_failures_stop_no_evaluation(cases: tuple[Case, ...], cache: Cache) -> None:
    own = [case for case in cases if case.world is cases[0].world]
    model = refusing(cases[0].world, 500, Refused)
    table = evaluate(own, "blind", vlm=model, parallel=2, cache=cache, progress=False)
    assert len(table) == len(own) and (table["failure"] != "").sum() == len(own) - 1


def test_a_setting_that_no_question_can_have_stops_the_evaluation(cases: tuple[Case, ...], cache: Cache) -> None:
    """Otherwise each of a thousand questions would fail, one by one, for the same mistake."""
    with pytest.raises(EvaluationStopped, match=r"failed alike \(workers is a whole number, at least 1; got 0\)"):
        evaluate(cases, vlm=aw.Oracle, workers=0, parallel=1, cache=cache, progress=False)
