"""Promise: each dataset loads in its published layouts, and its odd rows are kept.

What all datasets share is in `test_registry`.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import datasets
from support.datasets import CHARADES_LINES, CLUE_CHOICES, LAYOUTS, STRUCTURES, put, write_json, write_lines

import atlaskit as ak
from atlaskit.benchmarks.case import Benchmark, Case
from atlaskit.benchmarks.datasets.options import read_options, split_options, split_question
from atlaskit.errors import InputError


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path, tiny: Path) -> Path:
    """The folder of the dataset that a test names."""
    LAYOUTS[request.param](tmp_path, tiny)
    return tmp_path


def load(name: str, home: Path, **options: Any) -> Benchmark:
    bench: Benchmark = getattr(ak.benchmarks, name)(home, **options)
    return bench


THINGS = tuple(f"thing {letter}" for letter in "abcdefgh")
EGO = "0074f737-11cb-497d-8d07-77c3a8127391"
SECOND: dict[str, dict[str, Any]] = {
    "videomme": {"text": "Which is it?", "choices": ("Apples.", "Candles."), "answer": 1, "id": "002-1",
                 "video": "fFjv93ACGo1", "duration": "short", "subtitles": False},
    "lvbench": {"text": "What happens at 1?", "choices": ("A dog barks", "It rains", "Nobody speaks", "All of it"),
                "answer": 1, "id": "1", "category": "reasoning, event understanding", "positions_s": ((1.0, 11.0),),
                "video": "Cm73ma6Ib0", "question_type": ("reasoning", "event understanding"), "video_type": "cartoon",
                "duration_s": 3690.0},
    "mlvu": {"text": "What does the man do, 1?", "choices": ("Run", "Sleep", "Eat", "Sing"), "answer": 1,
             "category": "plotQA", "video": "plotQA_1", "duration_s": 480.25, "open_ended": False, "subtitles": False},
    "egoschema": {"text": "What is C doing overall, 1?", "choices": tuple(f"C does {each}." for each in "uvwxy"),
                  "answer": 1, "id": EGO, "video": EGO, "subtitles": False},
    "longtimescope": {"text": "What does the golden retriever do, 1?", "choices": THINGS[:6], "answer": 1, "id": "1",
                      "category": "OCR", "video": "needle_1", "type": "OCR", "length": 36_000},
    "videomme_v2": {"text": "Which of these, 1 and 2?", "choices": THINGS, "answer": 2, "id": "001-2", "video": "001",
                    "category": "Action & Motion", "group": "001", "place": 2, "group_type": "relevance", "level": 2,
                    "group_structure": STRUCTURES[1], "third_head": "Counting", "subtitles": True},
    "cgbench": {"text": "Which is it, 1?", "choices": tuple(CLUE_CHOICES), "answer": 1, "id": "101", "video": "v1",
                "category": "Hallucination", "positions_s": ((1.0, 4.0), (11.0, 13.5)), "qid": "101", "task": "choice",
                "domain": "Life Record", "duration_s": 119.9, "clues": 2, "oddity": ""},
    "extremewhen": {"text": "When does it happen for the time 1?", "kind": "when", "several": False, "id": "q1",
                    "answer": (1.0, 3.5), "positions_s": ((1.0, 3.5),), "category": "speech", "video": "v1",
                    "source_corpus": "MLVU", "event_summary": "It happens.", "duration_s": 119.9, "oddity": ""},
    "comet": {"text": "Every time that a red star comes after a heart, 1", "kind": "when", "several": True, "id": "q1",
              "answer": (), "positions_s": (), "can_be_absent": True, "video": "v1", "domain": "sports",
              "temporal_condition": "sequential", "events": 0, "duration_s": 119.9, "oddity": ""},
    "qvhighlights": {"kind": "when", "several": True, "answer": ((10, 16), (2, 4)), "positions_s": ((10, 16), (2, 4)),
                     "id": "9001", "video": "NUsG9BgSes0_110.0_360.0", "query": "A chef bakes bread 1.", "windows": 2,
                     "duration_s": 119.9, "oddity": ""},
    "charades": {"kind": "when", "several": False, "answer": (24.3, 30.4), "positions_s": ((24.3, 30.4),),
                 "id": "test-1", "video": "3MSZA", "sentence": "person flipped the light switch near the door.",
                 "oddity": "", "subtitles": False},
}  # fmt: skip
"""Of each dataset: what the second case of `support.datasets` has."""


def fields(case: Case, names: Iterable[str]) -> dict[str, Any]:
    """Return facts of a case, or attributes of its question, by their names."""
    facts = {"video": case.video, **case.facts}
    return {name: facts.get(name, getattr(case.question, name, None)) for name in names}


@pytest.mark.parametrize("home", SECOND, indirect=True)
def test_every_field_is_loaded(home: Path, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["home"]
    case = load(name, home)[1]
    assert fields(case, SECOND[name]) == SECOND[name]
    assert case.opened().duration_s == pytest.approx(15)


def of_lvbench(**changes: Any) -> dict[str, Any]:
    return {"qa": [datasets.lvbench_question(0, **changes)]}


ODD: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("lvbench", of_lvbench(time_reference="102:15-103:00"), {"positions_s": ((6135.0, 6180.0),)}),
    ("lvbench", of_lvbench(time_reference="12:30-12:30"), {"positions_s": ((750.0, 751.0),)}),
    ("lvbench", of_lvbench(time_reference="73:05-None"), {"positions_s": (), "time_reference": "73:05-None"}),
    ("lvbench", of_lvbench(question="Which?\n(A) a\n(B) a\n(C) b"), {"choices": ("a", "a", "b"), "answer": 0}),
    ("lvbench", of_lvbench(question_type="summarization", answer=None), {"category": "summarization", "answer": None}),
    ("videomme", {"options": ["Apples", "B. Pears"], "answer": "B"}, {"choices": ("Apples", "B. Pears"), "answer": 1}),
    ("mlvu", {"candidates": ["B", "C", "A"], "answer": "A"}, {"answer": 2}),
    ("mlvu", {"candidates": ["x", "y", None, ""], "answer": " y "}, {"choices": ("x", "y"), "answer": 1}),
    ("egoschema", {"answer": 3.0}, {"answer": 3}),
    ("egoschema", {"option": [3, 2, 1, 0, 4], "answer": "0"}, {"choices": ("3", "2", "1", "0", "4"), "answer": 0}),
    ("longtimescope", {"input": "Which?\nA. x\nB. y\nAnswer with the letter.\nThe answer is:", "answer": "b"},
     {"text": "Which?", "choices": ("x", "y"), "answer": 1}),
    ("videomme_v2", {"group_type": "逻辑链", "level": 2.0}, {"group_type": "logic", "level": 2}),
    ("videomme_v2", {"options": "A. one\ntwo\nB. C. Wright\n\nC. x", "answer": "C"},
     {"choices": ("one\ntwo", "C. Wright", "x"), "answer": 2}),
    ("cgbench", {"clue_intervals": [[9.0, 2.0], [5.0, 5.0]]},
     {"positions_s": ((2.0, 9.0), (5.0, 5.0)), "oddity": "reversed, empty"}),
    ("cgbench", {"right_answer": None, "answer": None, "qid": None}, {"answer": None, "qid": "v0-0", "id": "v0-0"}),
    ("extremewhen", {"correct_interval": [100.0, 140.0]}, {"answer": (100.0, 140.0), "oddity": "beyond the end"}),
    ("extremewhen", {"correct_interval": None, "qid": None}, {"answer": None, "id": "v0-0"}),
    ("qvhighlights", {"relevant_windows": []}, {"answer": None}),
    ("charades", {"start": 5, "end": "5"}, {"answer": (5.0, 5.0), "oddity": "empty"}),
]  # fmt: skip
"""A dataset, what is odd in its first row, and what the question or its facts have."""


@pytest.mark.parametrize(("home", "changes", "expected"), ODD, indirect=["home"])
def test_an_odd_row_is_kept(
    home: Path, changes: dict[str, Any], expected: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["home"]
    row = {"videoID": "fFjv93ACGo0", "question": "?", **changes}  # there is no other reader of rows of Video-MME
    if name != "videomme":
        row = getattr(datasets, f"{name}_row")(0, **changes) if name != "videomme_v2" else {}
    rows = [row] if row else group_rows(**changes)
    assert fields(load(name, home, rows=rows)[0], expected) == expected


@pytest.mark.parametrize("home", ["cgbench"], indirect=True)
def test_the_clues_are_asked_for_as_several_intervals(home: Path) -> None:
    both = ak.benchmarks.cgbench(home, task="both")
    assert [case.facts["task"] for case in both] == ["choice", "clues"] * 3
    assert both.where(task="clues").cases == ak.benchmarks.cgbench(home, task="clues").cases
    for number, case in enumerate(both[1::2]):
        question, published = case.question, datasets.cgbench_row(number)
        assert (question.kind, question.several) == ("when", True), "also where there is one clue"
        assert question.answer == question.positions_s == tuple(map(tuple, published["clue_intervals"]))
        assert published["question"] in question.text and all(f"- {choice}" in question.text for choice in CLUE_CHOICES)
        assert question.id == f"{published['qid']}-clues" and case.facts["qid"] == str(published["qid"])


@pytest.mark.parametrize("home", ["cgbench"], indirect=True)
def test_a_wrong_folder_split_or_task_is_one_sentence(home: Path) -> None:
    for settings in ({"split": "test"}, {"task": "open"}):
        with pytest.raises(InputError, match=f"{next(iter(settings))} must be"):
            load("cgbench", home, **settings)
    (home / "cgbench_mini.json").write_text("[1]")
    with pytest.raises(InputError, match=r"cgbench_mini\.json"):
        ak.benchmarks.cgbench(home)
    (home / "cgbench_mini.json").unlink()
    with pytest.raises(InputError, match=r"holds no cgbench_mini\.json"):
        ak.benchmarks.cgbench(home)


@pytest.mark.parametrize("home", ["charades"], indirect=True)
def test_a_damaged_line_of_charades_is_one_sentence(home: Path) -> None:
    for line, message in (("3MSZA 24.3##a person.", "each line must read"), ("3MSZA 1 nan##a person.", "end: ")):
        (home / "charades_sta_test.txt").write_text(f"{CHARADES_LINES[0]}\n{line}\n")
        with pytest.raises(InputError, match=rf"^.*charades_sta_test.txt.*line 2: {message}.*$"):
            ak.benchmarks.charades(home)


@pytest.mark.parametrize("home", ["egoschema"], indirect=True)
def test_parquet_of_all_tasks_gives_the_answers_of_the_subset(home: Path) -> None:
    expected = [case.question for case in ak.benchmarks.egoschema(home, split="full")]
    assert [question.answer for question in expected] == [0, 1, 2, None]
    rows = [datasets.egoschema_row(number) for number in range(4)]
    (home / "subset.json").unlink()
    (home / "mc.json").unlink()
    tasks = {"MC": [{**row, "answer": None} for row in rows], "Subset": rows[:3]}
    tasks["GENERATION"] = [{**row, "option": None} for row in tasks["MC"]]
    for task, rows_of_task in tasks.items():
        (home / task).mkdir()
        pd.DataFrame(rows_of_task).to_parquet(home / task / "test-00000-of-00001.parquet")
    assert [case.question for case in ak.benchmarks.egoschema(home, split="full")] == expected
    assert len(ak.benchmarks.egoschema(home)) == 3


@pytest.mark.parametrize("home", ["egoschema"], indirect=True)
def test_the_first_release_has_its_answers_in_a_file(home: Path) -> None:
    expected = [case.question for case in ak.benchmarks.egoschema(home)]
    rows = []
    for row in map(datasets.egoschema_row, range(4)):
        options = {f"option {index}": option[3:] for index, option in enumerate(row["option"])}
        rows.append({"q_uid": row["video_idx"], "google_drive_id": "1aB", "question": row["question"], **options})
    write_json(home / "questions.json", rows)
    for name in ("subset.json", "mc.json"):
        (home / name).unlink()
    with pytest.raises(InputError, match=r"has an answer: add subset_answers\.json, or load all"):
        ak.benchmarks.egoschema(home)
    write_json(home / "subset_answers.json", {row["q_uid"]: number for number, row in enumerate(rows[:3])})
    assert [case.question for case in ak.benchmarks.egoschema(home)] == expected
    (home / "subset_answers.json").write_text('{"a": 5}')
    with pytest.raises(InputError, match=r"subset_answers\.json"):
        ak.benchmarks.egoschema(home)


def test_the_second_form_of_lvbench_has_one_question_a_row(tmp_path: Path, tiny: Path) -> None:
    rows = [
        {"video_path": "all_videos/abc.mp4", "question": "Which?", "options": ["x", "y"], "answer": "B"},
        {"video_path": "abc.mp4", "question": "Which?\n(A) x\n(B) y\n(C) z", "answer": "C", "uid": 7},
        {"video_path": "gone.mp4", "question": "Which?", "options": ["(A) x", "(B) y"], "answer": "A"},
    ]
    write_json(tmp_path / "data" / "train.json", rows)
    put(tiny, tmp_path / "all_videos" / "abc.mp4")
    with pytest.warns(UserWarning, match=r"LVBench: 1 videos are missing: gone\.mp4"):
        bench = ak.benchmarks.lvbench(tmp_path)
    questions = [(case.question.id, case.question.choices, case.question.answer) for case in bench]
    assert questions == [("abc-0", ("x", "y"), 1), ("7", ("x", "y", "z"), 2)]


@pytest.mark.parametrize("home", ["mlvu"], indirect=True)
def test_types_without_choices_are_asked_for_words(home: Path) -> None:
    bench = ak.benchmarks.mlvu(home)
    kinds = [(case.question.kind, case.question.category) for case in bench[9:]]
    assert kinds == [("open", "subPlot"), ("summary", "summary")]
    assert {case.question.answer for case in bench[9:]} == {"A dog runs. Then a cat sleeps."}
    assert bench.where(open_ended=False).cases == bench.cases[:9]


@pytest.mark.parametrize("home", ["mlvu"], indirect=True)
@pytest.mark.parametrize("candidates", [None, "['Run', 'Sleep']"])
def test_the_form_of_mirrors_gives_the_same_questions(home: Path, candidates: Any) -> None:
    rows = []
    for number, letter in enumerate("ABC"):
        question = f"What does the man do, {number}?\n(A) Run\n(B) Sleep\n(C) Eat\n(D) Sing"
        row = {"video_name": f"plotQA_{number}.mp4", "task_type": "plotQA", "question": question, "answer": letter}
        rows.append({**row, "candidates": candidates})
    expected = ak.benchmarks.mlvu(home).where(category="plotQA")
    bench = ak.benchmarks.mlvu(home, rows=rows)
    assert [(case.question, case.video) for case in bench] == [(case.question, case.video) for case in expected]


def test_the_files_with_answers_come_before_those_without(tmp_path: Path, tiny: Path) -> None:
    rows = [datasets.mlvu_row(number, question_id=f"q{number}") for number in range(3)]
    write_json(tmp_path / "test_question.json", [{**row, "answer": None} for row in rows])
    write_json(tmp_path / "test-ground-truth" / "test_mcq_gt.json", rows)
    put(tiny, *(tmp_path / "video" / row["video"] for row in rows))
    assert [case.question.answer for case in ak.benchmarks.mlvu(tmp_path)] == [0, 1, 2]


@pytest.mark.parametrize("home", ["qvhighlights"], indirect=True)
def test_other_splits_and_lines_of_any_editor_are_read(home: Path) -> None:
    rows = [datasets.qvhighlights_row(0, query="One\u2028line"), datasets.qvhighlights_row(1)]
    lines = [json.dumps(each, ensure_ascii=False) for each in rows]
    (home / "highlight_train_release.jsonl").write_bytes(("\ufeff" + "\r\n\r\n".join(lines) + "\r\n").encode())
    train = ak.benchmarks.qvhighlights(home, split="train")
    assert [case.facts["query"] for case in train] == ["One\u2028line", rows[1]["query"]]
    del rows[1]["relevant_windows"]
    write_lines(home / "highlight_test_release.jsonl", rows[1:])
    (case,) = ak.benchmarks.qvhighlights(home, split="test")
    assert case.question.answer is None and case.question.several


def group_rows(group: int = 1, **changes: Any) -> list[dict[str, Any]]:
    return [datasets.videomme_v2_row(group, place, **changes) for place in range(1, 5)]


@pytest.mark.parametrize("home", ["videomme_v2"], indirect=True)
def test_places_follow_the_ids_and_else_the_rows(home: Path) -> None:
    shuffled = [group_rows()[index] for index in (2, 0, 3, 1)]
    assert [case.facts["place"] for case in ak.benchmarks.videomme_v2(home, rows=shuffled)] == [3, 1, 4, 2]
    for ids in ([None] * 4, ["q9", "q10", "q11", "q12"]):
        rows = [{**row, "question_id": name} for row, name in zip(group_rows(), ids, strict=True)]
        bench = ak.benchmarks.videomme_v2(home, rows=rows)
        assert [case.facts["place"] for case in bench] == [1, 2, 3, 4]


@pytest.mark.parametrize("home", ["extremewhen"], indirect=True)
def test_a_question_about_another_video_is_asked_after_each(home: Path) -> None:
    bench = ak.benchmarks.extremewhen(home, absent=True)
    asked, other = bench[::2], bench[1::2]
    assert [case.question.text for case in asked] == [case.question.text for case in ak.benchmarks.extremewhen(home)]
    assert all(case.question.answer == () and case.facts["absent"] for case in other)
    for there, absent in zip(asked, other, strict=True):
        assert there.video == absent.video and absent.question.id == f"{there.question.id}-absent"
        (source,) = {case.video for case in asked if case.question.text == absent.question.text}
        assert source != absent.video, "its question is about another video"
    with pytest.raises(InputError, match="about one video"):
        ak.benchmarks.with_absent(ak.benchmarks.extremewhen(home)[:1])


STYLES = ("({}) ", "{}. ", "{}) ", "{}: ", "{}、", "({})", "{}.")
WORDS = st.text("abc xyz,;-", min_size=1).map(str.strip).filter(bool)


@given(st.lists(WORDS, min_size=2, max_size=8), WORDS, st.sampled_from(STYLES))
def test_what_is_written_with_letters_is_read_back(texts: list[str], stem: str, style: str) -> None:
    lines = [style.format(chr(ord("A") + index)) + text for index, text in enumerate(texts)]
    found_stem, options = split_question("\n".join([stem, *lines]))
    assert found_stem == stem and list(read_options(options).texts) == texts
    assert read_options(split_options("\n".join(lines))).texts == tuple(texts)
    for index, text in enumerate(texts):
        letter = chr(ord("A") + index)
        read = read_options(options)
        assert read.by_letter(f" ({letter.lower()}). ") == index
        assert read.by_text(text) == texts.index(text)


@pytest.mark.parametrize(
    ("text", "stem", "texts"),
    [
        ("Which?", "Which?", ()),
        ("Which?\n(B) x\n(C) y", "Which?\n(B) x\n(C) y", ()),
        ("Which?\n(A) only one", "Which?\n(A) only one", ()),
        # The statements have letters too, and as many options follow.
        ("Of:\nA. dog\nB. cat\nwhich?\nA. 1\nB. 2", "Of:\nA. dog\nB. cat\nwhich?", ("1", "2")),
        # The last option lists letters of its own.
        ("Which?\n(A) x\n(B) y\n(C) of\n(A) p\n(B) q", "Which?", ("x", "y", "of\n(A) p\n(B) q")),
        ("Which?\n(A) x\ntwo lines\n\n(B) y", "Which?", ("x\ntwo lines", "y")),
        ("Which? (A) x (B) y (C) z", "Which?", ("x", "y", "z")),
    ],
)
def test_options_are_found_in_a_question(text: str, stem: str, texts: tuple[str, ...]) -> None:
    found, options = split_question(text)
    assert (found, read_options(options).texts) == (stem, texts)


@pytest.mark.parametrize("options", [["x", "y"], ["(A) x", "(B) y"]])
def test_an_answer_means_one_option_or_none(options: list[str]) -> None:
    read = read_options(options)
    assert {read.index_of(answer) for answer in ("B", "b", "(B)", "B.", "y", "(B) y")} == {1}
    assert {read.index_of(answer) for answer in ("B. x", "C", "")} == {None}
