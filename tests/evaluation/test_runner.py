"""Promise: one row a question, whatever fails or is refused; any order; none is paid twice."""

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
from support.chat_requests import identity
from support.datasets import ConstantModel
from support.faults import Fault, fitting_answer, saying, sending
from support.loopback import loopback
from support.model_doubles import Counting, Failing

import atlaskit as ak
import atlasworld as aw
from atlaskit.benchmarks.case import Case
from atlaskit.caching.cache import Cache
from atlaskit.errors import AtlasError, VideoError
from atlaskit.evaluation import tables
from atlaskit.evaluation.rows import COUNTS
from atlaskit.evaluation.runner import EvaluationStopped
from atlaskit.models.protocol import CallControl, Refused, Reply, Request, ServerError
from atlaskit.video.video import Video

SMALL = {"cell": 32, "progress": False}
BLIND: dict[str, Any] = {"method": "blind", "progress": False}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, ...]:
    """Three questions about each of two worlds."""
    home = tmp_path_factory.mktemp("w")
    worlds = [aw.world(seed, 120, questions=3, size=(160, 90), directory=home) for seed in (1, 2)]
    return tuple(case for world in worlds for case in world.cases(drawn=True))


def broken(case: Case) -> Case:
    """Return a case whose video cannot be opened."""

    def missing() -> Video:
        raise VideoError("film.mp4 is not there.")

    return replace(case, opened=missing)


def test_each_question_has_a_row_and_a_repetition_costs_nothing(cases: tuple[Case, ...], cache: Cache) -> None:
    first, again = (
        evaluate(cases, vlm=partial(aw.Oracle, miss=0.3), parallel=parallel, cache=cache, **SMALL)
        for parallel in (3, 1)
    )
    assert first["calls_paid"].sum() > 0 and again["calls_paid"].sum() == 0 and again["frames_decoded"].sum() == 0
    pd.testing.assert_frame_equal(first.drop(columns=OF_THE_RUN), again.drop(columns=OF_THE_RUN))
    assert first["id"].tolist() == [case.question.id for case in cases] and set(first["seed"]) == {1, 2}
    assert (first["calls"] == first["master_calls"] + first["worker_calls"]).all()
    assert (first["tokens"] == first["prompt_tokens"] + first["completion_tokens"]).all()
    assert (first["failure"] == "").all() and (first["coverage"] > 0).all()


def test_a_question_that_fails_has_a_row_and_counts_as_wrong(cases: tuple[Case, ...], cache: Cache) -> None:
    table = evaluate([cases[0], broken(cases[1])], vlm=aw.Oracle, cache=cache, **SMALL)
    assert table["right"].tolist() == [True, False] and table["score"].tolist()[1] == 0
    assert table["failure"].tolist() == ["", "film.mp4 is not there."] and table["stop"].tolist()[1] == "failed"
    assert table.loc[1, list(COUNTS)].tolist() == [0] * len(COUNTS)
    unknown = replace(cases[1], question=replace(cases[1].question, answer=None))
    (row,) = evaluate([broken(unknown)], vlm=aw.Oracle, cache=cache, scored=False, **SMALL).to_dict("records")
    assert pd.isna(row["score"]) and not row["right"], "without a truth, nothing is wrong"


def test_rows_stay_in_order_if_the_last_questions_are_refused(cases: tuple[Case, ...], cache: Cache) -> None:
    def refused(request: Request, number: int) -> AtlasError:
        time.sleep(0.3 * (request.facts.question.id == cases[1].question.id))  # the last to finish
        refusal = Refused("m at http://h/v1 returned HTTP 401.")
        refusal.status = 401
        return refusal

    table = evaluate(cases[:3], vlm=lambda world: Failing(aw.Oracle(world), refused), cache=cache, **BLIND)
    assert table["id"].tolist() == [case.question.id for case in cases[:3]]


def test_an_interrupt_stops_all_model_calls(cases: tuple[Case, ...], cache: Cache) -> None:
    calls = list[str]()

    class Slow(aw.Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            calls.append(request.step)
            if len(calls) == 20:
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            return super().complete(request, **control)

    with pytest.raises(KeyboardInterrupt):
        evaluate(cases, vlm=Slow, parallel=2, workers=2, cache=cache, **SMALL)
    later = len(calls)
    time.sleep(0.2)
    assert len(calls) == later
    whole = evaluate(cases, vlm=aw.Oracle, cache=cache, **SMALL)
    assert whole["right"].all() and later < whole["calls"].sum() / 2, "most calls never began"


@pytest.mark.parametrize("name", ["rows.csv", "deep/rows.parquet"])
def test_rows_say_all_in_words_and_load_as_they_were_saved(
    name: str, cases: tuple[Case, ...], cache: Cache, tmp_path: Path
) -> None:
    tally = ak.Question("How many hearts?", kind="count", answer=2, id="tally")
    table = evaluate([cases[0], replace(cases[0], question=tally)], vlm=ConstantModel(1), cache=cache, **BLIND)
    question, row = cases[0].question, table.iloc[0]
    named = [f"{letter}: {text}" for letter, text in zip("ABCDEFGH", question.choices, strict=False)]
    assert isinstance(question.answer, int) and row["choices"] == " | ".join(named)
    assert (row["truth"], row["answer"]) == (named[question.answer], named[1])
    assert table.loc[1, ["choices", "truth", "answer"]].tolist() == ["", "2", "1"]
    for saved in (table, table[1:]):  # of the second, numbers alone must stay text
        tables.save(saved, tmp_path / name)
        again = tables.load(tmp_path / name)
        pd.testing.assert_frame_equal(again, saved.reset_index(drop=True), check_dtype=False)
        assert again.attrs == table.attrs
    assert again.attrs["run"]["versions"]["atlaskit"]


def test_traces_are_saved_in_a_folder_and_named_in_the_table(
    cases: tuple[Case, ...], cache: Cache, in_tmp: Path
) -> None:
    odd_id = replace(cases[0], question=replace(cases[0].question, id="../../\x00<b>" + "w" * 300))
    run = partial(evaluate, [odd_id, broken(cases[2])], vlm=aw.Oracle, cache=cache, **SMALL)
    assert "trace" not in run()
    table = run(traces="saved/runs")
    path, none = map(str, table["trace"])
    assert none == "" and list((in_tmp / "saved" / "runs").iterdir()) == [Path(path)]
    saved = json.loads(Path(path).read_text(encoding="utf-8"))
    assert saved["question"]["id"] == odd_id.question.id and saved["trace"]
    tables.save(table, "rows.csv")
    read = tables.load("rows.csv")
    assert read["trace"].tolist() == [path, ""]
    assert read["prediction"].tolist() == table["prediction"].tolist() and read["prediction"].tolist()[1] is None


def refusing(world: Any, status: int, kind: type[Refused | ServerError]) -> Failing:
    """Return an oracle whose endpoint answers one question, and refuses all others."""
    answered = list[str]()

    def error(request: Any, number: int) -> AtlasError | None:
        answered.append(request.facts.question.id)
        refusal = kind(f"m at http://h/v1 returned HTTP {status}: request {number}.")
        refusal.status = status
        return None if answered[-1] == answered[0] else refusal

    return Failing(aw.Oracle(world), error)


@pytest.mark.parametrize(("status", "error"), [(401, Refused), (0, ServerError)], ids=str)
def test_an_evaluation_stops_where_every_question_is_refused(
    cache: Cache, status: int, error: type[Refused | ServerError]
) -> None:
    world = aw.world(3, 120, questions=6, size=(160, 90))
    blind = partial(evaluate, world.cases(drawn=True), parallel=1, cache=cache, **BLIND)
    with pytest.raises(EvaluationStopped, match="3 questions in a row that failed alike .m at http") as stopped:
        blind(vlm=refusing(world, status, error))
    table = stopped.value.table
    assert len(table) == 4 and table["prediction"].notna().sum() == 1
    assert "4 of 6 questions were tried" in str(stopped.value) and "\n" not in str(stopped.value)
    mended = Counting(aw.Oracle(world))
    whole = blind(vlm=mended)
    assert len(whole) == 6 and (whole["failure"] == "").all() and "refusal" not in whole
    assert len(mended.calls) == 5, "the answered question is not asked again"
    other = blind(vlm=refusing(world, 500, Refused), cache=Cache(None))
    assert (other["failure"] != "").sum() == 5, "another failure stops no evaluation"


def test_a_setting_that_no_question_can_have_stops_the_evaluation(cases: tuple[Case, ...], cache: Cache) -> None:
    """Otherwise each of a thousand questions would fail, one by one, for the same mistake."""
    with pytest.raises(EvaluationStopped, match=r"failed alike \(workers is a whole number, at least 1; got 0\)"):
        evaluate(cases, vlm=aw.Oracle, workers=0, parallel=1, cache=cache, **SMALL)


def answered_table(folder: Path, answer: Any) -> pd.DataFrame:
    """Return the rows of two questions to a model whose endpoint answers so."""
    cases = aw.world(5, 120, questions=2, size=(160, 90)).cases(drawn=True)
    settings: dict[str, Any] = {"workers": 2, "budget": ak.Budget(calls=12), "cache": Cache(folder)}
    with loopback() as server:
        server.answer = answer
        return evaluate(cases, vlm=ak.VLM(server.url, "loop"), parallel=1, progress=False, **settings)


def test_a_lost_step_is_visible_in_its_row_and_asked_again(tmp_path: Path) -> None:
    lost = dict[str, str]()

    def losing(body: dict[str, Any]) -> Fault:
        """Fail one step of a worker, however often it is asked."""
        is_step = "AddToScratchpad" in str(body["response_format"])
        if is_step and lost.setdefault("step", identity(body)) == identity(body):
            return sending({"error": {"message": "The GPU fell off."}}, 500)
        return saying(fitting_answer(body))

    table = answered_table(tmp_path, losing)
    assert any("The GPU fell off" in reason for reason in table["failure"])
    assert not table["prediction"].isna().all(), "the question is answered all the same"
    again = answered_table(tmp_path, lambda body: saying(fitting_answer(body)))
    assert (again["failure"] == "").all()
