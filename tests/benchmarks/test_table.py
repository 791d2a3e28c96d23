"""Promise: a spreadsheet of questions is a benchmark, and a wrong cell is named."""

import re
import warnings
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.datasets import ConstantModel, put

import atlaskit as ak
from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets.table import cases_of
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation import tables

HEAD = "video,question,A,B,C,answer,start,end"
ROWS = (
    "video;question;A;B;C;answer;start;end;category;level;;\r\n"
    "films/match.mp4;What colour?;red;blue;green;B;0:05;0:07,5;colour;1;;\r\n"
    'films\\match.mp4;"Who says ""now""?";Ann;Bob;;bob;;;who;2;;\r\n'
    "films/night walk;When does it rain?;;;;;1;4;when;1;;\r\n"
    ";;;;;;;;;;;\r\n"
    "films/match.mp4;How many balls?;;;;3;;;count;3;;\r\n"
    "films/match.mp4;Where is she?;;;;in the café;;;open;1;;\r\n"
    'films/match.mp4;When is it loud?;;;;"0:01 - 0:02; 4 to 6";;;when;1;;\r\n'
)


@pytest.fixture
def home(in_tmp: Path, tiny: Path) -> Path:
    """A folder with two films of 15 seconds, one of them with subtitles."""
    put(tiny, in_tmp / "films" / "match.mp4", in_tmp / "films" / "night walk.mp4")
    (in_tmp / "films" / "match.srt").write_text("1\n00:00:01,000 --> 00:00:03,000\nHello\n")
    return in_tmp


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_a_table_is_read_as_a_spreadsheet_saved_it(encoding: str, separator: str, home: Path) -> None:
    text = ROWS if separator == ";" else ROWS.replace("0:07,5", '"0:07,5"').replace(";", separator)
    text = text.replace(f"0:02{separator}", "0:02;")
    (home / "questions.csv").write_bytes(text.encode(encoding))
    with pytest.warns(UserWarning, match=r"subtitle files beside 1 of the videos are read"):
        bench = ak.benchmarks.table("questions.csv")
    questions = [case.question for case in bench]
    assert [(each.id, each.kind, each.answer, each.positions_s) for each in questions] == [
        ("match-2", "choice", 1, ((5.0, 7.5),)),
        ("match-3", "choice", 1, ()),
        ("night walk-4", "when", (1.0, 4.0), ()),
        ("match-6", "count", 3, ()),
        ("match-7", "open", "in the café", ()),
        ("match-8", "when", ((1.0, 2.0), (4.0, 6.0)), ()),
    ]
    assert questions[1].text == 'Who says "now"?' and questions[1].choices == ("Ann", "Bob")
    assert [case.video for case in bench][1:3] == ["films/match.mp4", "films/night walk.mp4"]
    assert [case.facts["level"] for case in bench] == [1, 2, 1, 3, 1, 1]
    assert [line.text for line in bench[0].opened().subtitles.lines] == ["Hello"]
    assert [case.facts["subtitles"] for case in bench] == [True, True, False, True, True, True]
    assert len(bench.where(level=1, category="when")) == 2


OK = "films/match.mp4,Q,red,blue,,A,,"
WRONG = {
    "films/mach.mp4,Q,red,blue,,A,,": r"row 2, column 'video': there is no file 'films/mach.mp4' in .*match.mp4",
    "https://youtu.be/x,Q,red,blue,,A,,": r"row 2, column 'video': .* is an address",
    ",Q,red,blue,,A,,": r"row 2, column 'video': it is empty",
    "films/match.mp4,Q,red,blue,,C,,": r"row 2, column 'answer': 'C' is none of its choices: .*, A to B",
    "films/match.mp4,Q,red,blue,,1,,": r"row 2, column 'answer': '1' .* from 0 or from 1",
    "films/match.mp4,Q,b,a,,A,,": r"row 2, column 'answer': 'A' is the letter of one choice and the text of another",
    "films/match.mp4,Q,red,,,A,,": r"row 2, column 'A': 'red' is the only choice",
    "films/match.mp4,Q,red,blue,,A,1:75,2": r"row 2, column 'start': '1:75' is not a time",
    "films/match.mp4,Q,red,blue,,A,5,": r"row 2, column 'end': it is empty, and start is not",
    "films/match.mp4,Q,red,blue,,A,5,3": r"row 2, column 'end': 3 is not after the start, 5",
    "films/match.mp4,Q,red,blue,,A,1:05,1:10": r"row 2, column 'end': 70 s is after the end of films/match.mp4",
    "films/match.mp4,Who, him?,red,blue,,A,,": r"row 2 has 9 cells, and the table 8 columns",
    'films/match.mp4,"Who" is it,red,blue,,A,,': r"row 2 is no row of a CSV .* quotation marks",
    f"{OK}\nfilms/match.mp4,Q,red,blue,,B,,": r"row 3, column 'answer': .*row 2 asks the same, with another answer",
    "films/match.mp4,Q,red,blue,,C,,\nfilms/match.mp4,P,red,blue,,D,,": r"row 2, .* \(one more row is wrong\.\)",
}


@pytest.mark.parametrize("row", WRONG)
def test_a_wrong_cell_is_named_with_its_row_and_column(row: str, home: Path) -> None:
    (home / "questions.csv").write_text(f"{HEAD}\n{row}\n")
    with pytest.raises(InputError, match=WRONG[row]):
        ak.benchmarks.table("questions.csv", subtitles=False)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("q.csv", HEAD, "has no questions: its first row names the columns"),
        ("q.csv", "films/match.mp4,Q,red\n" * 2, "has no column 'video'; it has films/match.mp4, Q, red"),
        ("q.csv", "video,question,question\na,b,c", "two columns are named 'question'"),
        ("q.csv", "id,video,question,answer,prediction,score\n1,a,b,c,1,1", "is a table of results"),
        ("q.csv", f"id,{HEAD}\n7,{OK}\n7,{OK.replace('Q', 'P')}", "row 3, column 'id': '7' is the id of q.csv, row 2"),
        ("q.xlsx", "", "is a workbook: save it as CSV"),
        ("other/q.csv", "", "no file"),
    ],
)
def test_a_table_that_is_none_of_questions_says_why(name: str, text: str, told: str, home: Path) -> None:
    (home / Path(name).name).write_text(text)
    with pytest.raises(InputError, match=re.escape(told)):
        ak.benchmarks.table(name, subtitles=False)


def test_bad_rows_can_be_left_out_and_equal_ones_are_asked_once(home: Path) -> None:
    (home / "questions.csv").write_text(f"{HEAD}\n{OK}\n{OK}\nfilms/no.mp4,P,red,blue,,A,,\n")
    with ak.benchmarks.skip_bad() as bad, pytest.warns(UserWarning, match="1 questions are listed twice"):
        bench = ak.benchmarks.table("questions.csv", subtitles=False)
    assert len(bench) == 1 and len(bad) == 1 and "row 4, column 'video'" in bad[0]


def test_a_table_opens_no_file_outside_its_folder(home: Path, tiny: Path, tmp_path_factory: Any) -> None:
    """A table may be somebody else's, as a card may."""
    other = tmp_path_factory.mktemp("other")
    put(tiny, other / "film.mp4")
    (home / "link.mp4").symlink_to(other / "film.mp4")
    for name in (str(other / "film.mp4"), "link.mp4"):
        (home / "questions.csv").write_text(f"{HEAD}\n{name},Q,red,blue,,A,,\n")
        with pytest.raises(InputError, match=r"row 2, column 'video': .*outside the folder .*--root FOLDER"):
            ak.benchmarks.table("questions.csv")
    (home / "questions.csv").write_text(f"{HEAD}\n{other}/film.mp4,Q,red,blue,,A,,\n")
    assert ak.benchmarks.table("questions.csv", root=other)[0].opened().duration_s == pytest.approx(15)


ONE_CELL = {"red | blue": 2, '["red", "a, b"]': 2, "A. red B. blue C. green": 3, "red; a, b": 2, "yes, no": 2}


@pytest.mark.parametrize("cell", ONE_CELL)
def test_choices_may_stand_in_one_cell(cell: str, home: Path) -> None:
    row = {"film": "films/match.mp4", "Question": "Q", "Options": cell, "Correct answer": "b"}
    assert len(ak.benchmarks.table([row], subtitles=False)[0].question.choices) == ONE_CELL[cell]


def test_rows_of_programs_have_types_of_their_own(home: Path) -> None:
    rows = {"video": ["films/match.mp4"] * 2, "question": ["a", "b"], "A": [3, 1], "B": [5, 2], "C": [7, None]}
    rows |= {"answer": ["C", "A"], "start": [timedelta(seconds=5), None], "end": [7.5, np.nan]}
    frame = pd.DataFrame({**rows, "level": [1, 2], "hard": [True, False], "share": [0.5, None], "who": ["x", None]})
    bench = ak.benchmarks.table(frame, subtitles=False)
    assert [case.question.choices for case in bench] == [("3", "5", "7"), ("1", "2")]
    assert bench[0].question.positions_s == ((5.0, 7.5),)
    facts = pd.DataFrame([case.facts for case in bench])
    kinds = {name: facts[name].dtype.kind for name in ("level", "hard", "share")}
    assert kinds == {"level": "i", "hard": "b", "share": "f"} and facts["who"].tolist() == ["x", ""]
    text = frame.drop(columns=["start", "end"])
    text.to_json("rows.jsonl", orient="records", lines=True)
    text.to_parquet("rows.parquet")
    for name in ("rows.jsonl", "rows.parquet"):
        assert [case.question.answer for case in ak.benchmarks.table(name, subtitles=False)] == [2, 0]


def test_a_frame_may_hold_arrays_and_repeat_its_index(home: Path) -> None:
    rows = {"video": "films/match.mp4", "question": ["a", "b"], "kind": ["choice", "when"], "answer": ["B", None]}
    spans = np.array([None, None])
    spans[:] = ["B", np.array([np.array([1.0, 2.0]), np.array([4.0, 5.0])])]
    frame = pd.DataFrame({**rows, "choices": [np.array(["x", "y"]), None], "answer": spans}, index=[0, 0])
    bench = ak.benchmarks.table(frame, subtitles=False)
    assert [case.question.answer for case in bench] == [1, ((1.0, 2.0), (4.0, 5.0))]
    assert [case.question.id for case in bench] == ["match-0", "match-1"]
    (row,) = ak.benchmarks.table([{**frame.iloc[0], "who": pd.NA}], subtitles=False)
    assert row.facts["who"] == ""


class TestEvaluate:
    """What `evaluate` takes, and what it says of the rest."""

    run = staticmethod(partial(ak.evaluate, method="blind", vlm=ConstantModel(1), progress=False))

    def test_it_takes_files_frames_rows_and_questions(self, home: Path) -> None:
        (home / "questions.csv").write_text(f"{HEAD},level\n{OK},1\n")
        row = {"video": "films/match.mp4", "question": "Q", "choices": ["red", "blue"], "answer": "B", "level": 1}
        question = ak.Question("Q", ("red", "blue"), answer=1)
        given: list[Any] = ["questions.csv", Path("questions.csv"), pd.DataFrame([row]), [row], row, iter([row])]
        for each in given:
            table = self.run(each, cache=Cache(None))
            assert table["prediction"].tolist() == [1] and table["level"].tolist() == [1]
            assert table["video"].tolist() == ["films/match.mp4"]
        for each in ([question], question):
            assert self.run(each, video="films/match.mp4", cache=Cache(None))["score"].tolist() == [1.0]
        bench = ak.benchmarks.table([row])
        assert isinstance(cases_of(bench), Benchmark) and cases_of(bench) is bench

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            (5, "Questions are a list of cases, rows or questions, or a table; got 5"),
            (["films/match.mp4"], "got str"),
            ([ak.Question("Q", ("a", "b"), answer=0)], "say which one with video="),
            ([{"question": "Q", "answer": "x"}], "no column 'video'"),
            ([{"video": "films/match.mp4", "question": "Q", "answer": "x", "score": 1}], "a column 'score'"),
        ],
    )
    def test_it_says_what_it_cannot_take(self, given: Any, told: str, home: Path) -> None:
        with pytest.raises(InputError, match=told):
            self.run(given)

    def test_questions_without_an_answer_are_asked_if_no_score_is_wanted(self, home: Path) -> None:
        rows = [{"video": "films/match.mp4", "question": "Who?", "A": "x", "B": "y"}]
        with pytest.raises(InputError, match="has no column 'answer'"):
            self.run(rows)
        table = self.run([*rows, {**rows[0], "question": "What?", "answer": "B"}], scored=False)
        assert table["prediction"].tolist() == [1, 1] and table["score"].notna().tolist() == [False, True]

    def test_its_table_is_saved_and_read_with_and_without_a_card(self, home: Path) -> None:
        rows = self.run([{"video": "films/match.mp4", "question": "Q", "A": "x", "B": "y", "answer": "B"}])
        rows[rows["score"] > 0].save("saved.csv")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            saved = ak.read_rows("saved.csv")
        pd.testing.assert_frame_equal(saved, rows, check_dtype=False)
        assert saved.attrs == rows.attrs
        rows.to_csv("plain.csv", sep=";", encoding="utf-8-sig")
        with pytest.warns(UserWarning, match=r"no card \(plain.csv.json\), so its settings are not known:"):
            plain = ak.read_rows("plain.csv")
        assert plain["prediction"].tolist() == [1] and plain["right"].tolist() == [True] and plain.attrs == {}
        Path("least.csv").write_text("id,video,score\n007,a,0.5\n8,b,0.2\n")
        with pytest.warns(UserWarning, match="nor has it the columns method, failure, stop, prediction"):
            least = ak.read_rows("least.csv")
        assert least["id"].tolist() == ["007", "8"] and least["right"].tolist() == [True, False]
        assert ak.statistics.compare(least, least).difference == 0

    @pytest.mark.parametrize("missing", [None, pd.NA, pd.NaT, np.nan, np.float32("nan")])
    def test_a_missing_prediction_is_none_and_an_infinite_one_is_told(self, home: Path, missing: Any) -> None:
        predictions = pd.Series([missing, "red"], dtype=object)
        rows = pd.DataFrame({"id": "7", "video": "a", "score": 0.5, "prediction": predictions})
        tables.save(rows, "saved.csv")
        assert Path("saved.csv").read_text().splitlines()[1] == "7,a,0.5,null"
        rows.convert_dtypes().to_parquet("plain.parquet")
        rows["prediction"] = [1, float("inf")]
        rows.to_csv("plain.csv")
        with pytest.warns(UserWarning, match="no card"):
            assert ak.read_rows("plain.parquet")["prediction"].tolist() == [None, "red"]
            with pytest.raises(InputError, match=r"that of the row '7' is inf: correct it"):
                ak.read_rows("plain.csv")
        with pytest.raises(InputError, match=r"that of the row '7' is inf: correct it"):
            tables.save(rows, "saved.csv")
