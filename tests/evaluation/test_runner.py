"""Evaluations: a row a question, whatever happens to it, the same however it is run, and paid once."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Unpack

import pandas as pd
import pytest

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.case import Case
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, VideoError
from atlaskit.evaluation import tables
from atlaskit.evaluation.runner import COUNTS, OF_THE_RUN, evaluate
from atlaskit.models.protocol import CallControl, Reply, Request

SMALL = {"cell": 32}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, ...]:
    worlds = [
        atlasworld(seed, 300, questions=6, size=(160, 90), directory=tmp_path_factory.mktemp("w")) for seed in (1, 2)
    ]
    return tuple(case for world in worlds for case in world.cases(drawn=True))


def test_a_perfect_oracle_is_right_and_each_question_is_a_row(cases: tuple[Case, ...], cache: Cache) -> None:
    table = evaluate(cases, vlm=ak.Oracle, cache=cache, progress=False, **SMALL)
    assert table["id"].tolist() == [case.question.id for case in cases]
    assert table["video"].nunique() == 2 and set(table["seed"]) == {1, 2}
    assert table["right"].all() and (table["score"] >= 0.5).all()
    assert (table["calls"] == table["master_calls"] + table["worker_calls"]).all()
    assert (table["tokens"] == table["prompt_tokens"] + table["completion_tokens"]).all()
    assert table["estimated"].all() and (table["failure"] == "").all()
    assert (table["coverage"] > 0).all() and (table["depth"] >= 1).any()


def test_again_it_costs_nothing_and_says_the_same(cases: tuple[Case, ...], cache: Cache) -> None:
    tables = [
        evaluate(cases, vlm=partial(ak.Oracle, miss=0.3), parallel=parallel, cache=cache, progress=False, **SMALL)
        for parallel in (3, 1)
    ]
    assert tables[0]["calls_paid"].sum() > 0 and tables[1]["calls_paid"].sum() == 0
    assert tables[1]["frames_decoded"].sum() == 0
    pd.testing.assert_frame_equal(*(table.drop(columns=OF_THE_RUN) for table in tables))


def test_what_was_cut_short_goes_on(cases: tuple[Case, ...], cache: Cache) -> None:
    first = evaluate(cases[:5], vlm=ak.Oracle, cache=cache, progress=False, **SMALL)
    whole = evaluate(cases, vlm=ak.Oracle, cache=cache, progress=False, **SMALL)
    assert first["calls_paid"].gt(0).all()
    assert whole["calls_paid"].iloc[:5].sum() == 0 and whole["calls_paid"].iloc[5:].gt(0).all()


@pytest.mark.parametrize("method", ["uniform", "composite", "blind", "subtitles"])
def test_a_baseline_gives_the_same_columns(method: str, cases: tuple[Case, ...], cache: Cache) -> None:
    given = {"uniform": {"size": 32, "frames": 16}, "composite": SMALL}.get(method, {})
    table = evaluate(cases[:2], method, vlm=ak.Oracle, cache=cache, progress=False, **given)
    searched = evaluate(cases[:2], vlm=ak.Oracle, cache=cache, progress=False, **SMALL)
    assert list(table.columns) == list(searched.columns)
    assert set(table["method"]) == {method} and (table["calls"] == 1).all() and (table["depth"] == 0).all()


def test_a_question_that_fails_is_a_row_and_wrong(cases: tuple[Case, ...], cache: Cache) -> None:
    def missing() -> ak.benchmarks.atlasworld:  # type: ignore[valid-type]
        raise VideoError("film.mp4 is not there.")

    broken = replace(cases[1], opened=missing)
    table = evaluate([cases[0], broken], vlm=ak.Oracle, cache=cache, progress=False, **SMALL)
    assert table["right"].tolist() == [True, False] and table["score"].tolist()[1] == 0
    assert table["failure"].tolist() == ["", "film.mp4 is not there."] and table["stop"].tolist()[1] == "failed"
    assert table.loc[1, list(COUNTS)].tolist() == [0] * len(COUNTS)


def test_what_cannot_be_evaluated_is_one_sentence(cases: tuple[Case, ...], in_tmp: Path) -> None:
    unknown = replace(cases[0], question=replace(cases[0].question, answer=None))
    for given, sentence in [
        (([],), "no questions to ask"),
        (([unknown],), "is not known, so it cannot be scored"),
        ((cases, "guess"), "A method is video-rlm"),
        (([replace(cases[0], world=None)],), "works only on AtlasWorld"),
    ]:
        with pytest.raises(InputError, match=sentence):
            evaluate(*given, vlm=ak.Oracle, progress=False)  # type: ignore[arg-type]


def test_after_an_interrupt_nothing_more_is_asked(cases: tuple[Case, ...], cache: Cache) -> None:
    asked, before = list[str](), list[int]()

    class Slow(ak.Oracle):
        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            asked.append(request.step)
            if len(asked) == 20:
                before.append(len(asked))
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
            return super().complete(request, **control)

    with pytest.raises(KeyboardInterrupt):
        evaluate(cases, vlm=Slow, parallel=2, workers=2, cache=cache, progress=False, **SMALL)
    assert len(asked) - before[0] <= 2 * 3 * 2, "what was under way, or began while the main thread woke up"
    later = len(asked)
    time.sleep(0.2)
    assert len(asked) == later
    assert evaluate(cases, vlm=ak.Oracle, cache=cache, progress=False, **SMALL)["right"].all()


def test_a_film_is_evaluated_as_well_as_what_is_drawn(film: World, cache: Cache) -> None:
    table = evaluate(film.cases()[:2], vlm=ak.Oracle, cache=cache, progress=False, **SMALL)
    assert len(table) == 2 and table["duration_s"].eq(120).all()


@pytest.mark.parametrize("name", ["rows.csv", "deep/rows.parquet"])
def test_a_table_comes_back_with_its_settings(name: str, cases: tuple[Case, ...], cache: Cache, tmp_path: Path) -> None:
    table = evaluate(cases, vlm=partial(ak.Oracle, miss=0.2), cache=cache, progress=False, **SMALL)
    tables.save(table, tmp_path / name)
    again = tables.load(tmp_path / name)
    pd.testing.assert_frame_equal(again, table, check_dtype=False)
    assert again.attrs == table.attrs and again.attrs["settings"] == SMALL
    assert again.attrs["parameters"]["miss"] == 0.2 and again.attrs["versions"]["atlaskit"]


def test_a_table_is_told_as_samples_of_lmms_eval(cases: tuple[Case, ...], cache: Cache) -> None:
    table = evaluate(cases, vlm=ak.Oracle, cache=cache, progress=False, **SMALL)
    told = tables.samples(table, cases)
    assert [each["doc"]["id"] for each in told] == table["id"].tolist()
    choices = [each for each in told if each["doc"]["kind"] == "choice"]
    assert choices and all(each["filtered_resps"] == [each["target"]] for each in choices)
    json.dumps(told)
    with pytest.raises(InputError, match="not the questions of these rows"):
        tables.samples(table, cases[::-1])


def test_what_is_no_table_is_one_sentence(tmp_path: Path, cases: tuple[Case, ...], cache: Cache) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    for wrong in ("a.csv", "none.parquet"):
        with pytest.raises(InputError, match="no evaluation that was saved here"):
            tables.load(tmp_path / wrong)
    table = evaluate(cases[:1], "blind", vlm=ak.Oracle, cache=cache, progress=False)
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        tables.save(table, tmp_path / "rows.xlsx")


def test_only_who_navigates_stands_ten_hours(tmp_path: Path) -> None:
    """The shape of the paper's Table 2, by an oracle that misses one event in ten: the same questions in ten minutes
    and in ten hours. Sampling loses them, one grid too; captions outgrow their context; navigation does not."""
    means = {}
    for length_s in (600, 36_000):
        small = {"questions": 10, "clip_s": 60, "size": (128, 72), "directory": tmp_path}
        worlds = [atlasworld(seed, length_s, **small) for seed in (0, 1)]
        cases, cache = [case for world in worlds for case in world.cases(drawn=True)], Cache(None)
        for method in ("video-rlm", "uniform", "composite", "captions"):
            vlm = partial(ak.Oracle, miss=0.1, confuse=0.05)
            rows = evaluate(cases, method, vlm=vlm, cache=cache, progress=False)
            means[method, length_s] = rows["score"].mean()
    fallen = {method: means[method, 600] - means[method, 36_000] for method, length_s in means if length_s == 600}
    assert fallen["video-rlm"] < 0.1 and fallen["uniform"] > 0.3 and fallen["composite"] > 0.15, means
    others = [means[method, 36_000] for method in ("uniform", "composite", "captions")]
    assert means["video-rlm", 36_000] > max(others), means


def test_traces_are_kept_in_a_folder_and_named_in_the_table(
    cases: tuple[Case, ...], cache: Cache, in_tmp: Path
) -> None:
    def missing() -> ak.benchmarks.atlasworld:  # type: ignore[valid-type]
        raise VideoError("film.mp4 is not there.")

    strange = replace(cases[0], question=replace(cases[0].question, id="../../\x00<b>" + "w" * 300))
    asked = [strange, cases[1], replace(cases[2], opened=missing)]
    plain = evaluate(asked, vlm=ak.Oracle, cache=cache, progress=False, **SMALL)
    assert "trace" not in plain and plain["question"].tolist() == [case.question.text for case in asked]
    table = evaluate(asked, vlm=ak.Oracle, cache=cache, progress=False, traces="kept/runs", **SMALL)
    assert table["calls_paid"].iloc[:2].sum() == 0, "without asking again"
    assert table["trace"].tolist()[2] == "" and len(list((in_tmp / "kept" / "runs").iterdir())) == 2
    for case, path in zip(asked[:2], table["trace"].tolist()[:2], strict=True):
        assert Path(path).parent == in_tmp / "kept" / "runs"
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
        assert saved["question"]["id"] == case.question.id and saved["trace"]
    tables.save(table, "rows.csv")
    read = tables.load("rows.csv")
    assert read["trace"].tolist() == table["trace"].tolist()
    assert read["prediction"].tolist() == table["prediction"].tolist() and read["prediction"].tolist()[2] is None
    (in_tmp / "file").touch()
    with pytest.raises(InputError, match=r"file cannot be a folder for traces: [^\n]+\.$"):
        evaluate(asked, vlm=ak.Oracle, cache=cache, progress=False, traces="file", **SMALL)
