"""Promise: each dataset is known by its rows and has a metric; a damaged row is one sentence."""

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from support import datasets
from support.datasets import LAYOUTS, ConstantModel

import atlaskit as ak
from atlaskit.__main__ import main
from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets.registry import DATASETS, dataset_in
from atlaskit.benchmarks.tenhour import standard_and_long
from atlaskit.cli import evaluate as evaluate_command
from atlaskit.errors import InputError
from atlaskit.evaluation.metrics import METRICS


@pytest.fixture(scope="module", params=LAYOUTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def homes(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each dataset; a test leaves it as it was."""
    folders = {name: tmp_path_factory.mktemp(name) for name in LAYOUTS}
    for name, folder in folders.items():
        LAYOUTS[name](folder, tiny)
    return folders


@pytest.fixture(scope="module")
def home(name: str, homes: dict[str, Path]) -> Path:
    return homes[name]


def load(name: str, home: Path, **options: Any) -> Benchmark:
    bench: Benchmark = getattr(ak.benchmarks, name)(home, **options)
    return bench


def test_each_folder_is_recognised_by_its_rows_alone_and_has_a_metric(name: str, home: Path) -> None:
    assert DATASETS.keys() == LAYOUTS.keys() == ROWS.keys()
    assert dataset_in(home) is DATASETS[name] and DATASETS[name].load is getattr(ak.benchmarks, name)
    assert [other for other, dataset in DATASETS.items() if dataset.is_in(home)] == [name]
    bench = load(name, home)
    assert bench.dataset == bench.name and bench.name in METRICS and bench.missing == ()
    assert len({case.question.id for case in bench}) == len(bench) >= 2


def test_a_folder_of_none_or_of_two_datasets_is_one_sentence(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "cut.parquet").write_bytes(b"cut off")
    (tmp_path / "cut.json").write_text("[")
    with pytest.raises(InputError, match=r"holds questions of none of longvideobench, videomme, .*; pass the folder"):
        dataset_in(tmp_path)
    (tmp_path / "cut.parquet").unlink()
    datasets.make_lvbench(tmp_path, tiny)
    assert dataset_in(tmp_path) is DATASETS["lvbench"]
    datasets.make_egoschema(tmp_path, tiny)
    with pytest.raises(InputError, match=r"holds questions of lvbench and egoschema; .*ak\.benchmarks\.lvbench"):
        standard_and_long(tmp_path)


def test_videos_may_lie_where_mirrors_put_them(name: str, tiny: Path, tmp_path: Path) -> None:
    LAYOUTS[name](tmp_path, tiny)
    expected = [case.question for case in load(name, tmp_path)]
    for path in sorted(tmp_path.rglob("*.mp4")):
        target = tmp_path / "videos" / "part_3" / path.with_suffix(".MKV").name
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
        target.with_name(f"._{path.name}").write_bytes(b"\0\5\26\7")  # macOS writes such files
    bench = load(name, tmp_path)
    assert [case.question for case in bench] == expected and bench.missing == ()
    assert bench[0].opened().duration_s == pytest.approx(15)
    for path in tmp_path.rglob("*.MKV"):
        path.unlink()
    with pytest.warns(UserWarning, match=f"{bench.name}: [0-9]+ videos are missing: "):
        assert len(load(name, tmp_path)) == 0


NUMBERS = {"mlvu": "M-Avg, pooled", "cgbench": "long-acc.", "extremewhen": "R@0.7", "charades": "R@0.7"}
NUMBERS |= {"comet": "F1@0.5", "qvhighlights": "mAP@0.75", "videomme_v2": "group score (%)"}
"""A number that the metric of a dataset has; that of others is accuracy."""


@pytest.mark.family
def test_the_shell_prints_the_metric_below_the_accuracy(
    name: str, home: Path, in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = load(name, home)
    monkeypatch.setattr(evaluate_command, "as_model", lambda *_, **__: ConstantModel(1))
    asked = ["--root", str(home), "--method", "blind", "--model", "http://127.0.0.1:9/v1", "m"]
    assert main(["evaluate", name, *asked, "--out", "rows.csv", "--cache", "cache"]) == 0
    accuracy, _, printed = capsys.readouterr().out.partition(f"{bench.dataset}'s own metric:")
    assert "questions" in accuracy and NUMBERS.get(name, "accuracy") in printed
    rows = ak.read_rows("rows.csv")
    assert len(rows) == len(bench) and set(rows["failure"]) == {""}
    for metric in ak.metrics.official(rows, bench)["metric"]:
        assert str(metric) in printed


TWO_ROWS = ("lvbench", "mlvu", "egoschema", "longtimescope", "extremewhen")
TWO_ROWS += ("comet", "cgbench", "qvhighlights", "charades")
ROWS: dict[str, list[dict[str, Any]]] = {
    **{name: [getattr(datasets, f"{name}_row")(number) for number in range(2)] for name in TWO_ROWS},
    "videomme_v2": [datasets.videomme_v2_row(1, place) for place in range(1, 5)],
    "videomme": [{"videoID": "a", "question": "?", "options": ["A. x", "B. y"], "answer": "A"}],
    "longvideobench": [{"video_path": "a.mp4", "question": "?", "candidates": ["x", "y"], "correct_choice": 0}],
}
INVALID: list[tuple[str, dict[str, Any], str]] = [
    ("cgbench", {"right_answer": "F"}, "right_answer must be the letter of one of 5 choices; got 'F'"),
    ("cgbench", {"clue_intervals": [[1.0, "soon"]]}, "clue_intervals"),
    ("egoschema", {"option": ["A. x"]}, "at least two choices"),
    ("longtimescope", {"answer": "G"}, "one of A, B, C, D, E, F; got 'G'"),
    ("longvideobench", {"correct_choice": 5}, "correct_choice must index one of 2 candidates; got 5"),
    ("lvbench", {"qa": [datasets.lvbench_question(0, answer="E")]}, r"qa\.0: .*one of A, B, C, D; got 'E'"),
    ("mlvu", {"answer": "Fly"}, "one of 4 candidates; got 'Fly'"),
    ("videomme_v2", {"answer": "I"}, "one of A, B, C, D, E, F, G, H; got 'I'"),
]
"""A field that is wrong in the first row of a dataset, and what the sentence about it says."""
NEEDED = {
    *("video", "video_id", "video_idx", "videoID", "video_path", "video_uid", "vid", "key", "qa"),
    *("question", "query", "sentence", "input", "start", "end", "question_type"),
    *("options", "option", "candidates", "choices"),
}
LONE_SURROGATES = st.text(st.characters(), max_size=4)
LETTERED = st.text("AB.()\n:12 ", max_size=9)
SCALARS = st.none() | st.booleans() | st.integers(0, 5) | LETTERED
JSON = st.recursive(
    SCALARS | st.integers(-(10**30), 10**30) | st.floats() | LONE_SURROGATES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def damaged(value: Any, data: st.DataObject) -> Any:
    """Return a row in which it, a field, or what is inside one, is another value."""
    if not isinstance(value, dict | list) or not value or data.draw(st.integers(0, 4)) == 0:
        return data.draw(SCALARS | JSON)
    copy: Any = value.copy()
    key = data.draw(st.sampled_from(sorted(copy) if isinstance(copy, dict) else range(len(copy))))
    copy[key] = damaged(copy[key], data)
    return copy


def load_or_refuse(name: str, home: Path, **options: Any) -> str:
    """Load a dataset; any error but an InputError of one line fails the test. Say which it was."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".* videos are missing")
        try:
            bench = load(name, home, **options)
        except InputError as error:
            assert "\n" not in str(error)
            return "refused"
        else:
            for case in bench:
                question = case.question
                assert ak.Question.from_json(json.loads(json.dumps(question.to_json()))) == question
                assert question.kind != "when" or question.answer is None or 0 <= question.score(question.answer) <= 1
            return "loaded"


@pytest.mark.parametrize(("name", "changes", "words"), INVALID)
def test_an_invalid_row_is_one_sentence_with_its_place(
    homes: dict[str, Path], name: str, changes: dict[str, Any], words: str
) -> None:
    first, *others = ROWS[name]
    with pytest.raises(InputError, match=f"Row 0: .*{words}|Row 0: {words}") as caught:
        load(name, homes[name], rows=[{**first, **changes}, *others])
    assert "\n" not in str(caught.value)


@settings(max_examples=120)
@given(st.sampled_from(sorted(ROWS)), st.data())
def test_a_damaged_row_loads_or_is_refused(homes: dict[str, Path], name: str, data: st.DataObject) -> None:
    rows = ROWS[name]
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(rows) - 1))
        rows = [*rows[:place], damaged(rows[place], data), *rows[place + 1 :]]
    options = {"task": "both"} if name == "cgbench" else {}
    event(load_or_refuse(name, homes[name], rows=rows, **options))


@settings(max_examples=60)
@given(st.sampled_from(sorted(set(ROWS) - {"longvideobench", "videomme"})), st.data())
def test_a_damaged_file_loads_or_is_refused(homes: dict[str, Path], name: str, data: st.DataObject) -> None:
    home = homes[name]
    files = [path for path in home.rglob("*") if path.suffix in (".json", ".jsonl", ".txt")]
    path = min(path for path in files if "subtitle" not in path.parts)
    intact = path.read_bytes()
    place = data.draw(st.integers(0, len(intact)))
    length = data.draw(st.sampled_from([0, 1, 5, len(intact)]))
    try:
        path.write_bytes(intact[:place] + data.draw(st.binary(max_size=4)) + intact[place + length :])
        load_or_refuse(name, home)
        assert isinstance(DATASETS[name].is_in(home), bool)
    finally:
        path.write_bytes(intact)


@pytest.mark.parametrize("name", sorted(ROWS))
@pytest.mark.parametrize("null", [None, math.nan])
def test_what_is_not_needed_may_be_null(homes: dict[str, Path], name: str, null: Any) -> None:
    needed = NEEDED | ({"type"} if name == "mlvu" else set())
    rows = [{field: value if field in needed else null for field, value in row.items()} for row in ROWS[name]]
    options: dict[str, Any] = {"split": "full"} if name == "egoschema" else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".* videos are missing")
        bench = load(name, homes[name], rows=rows, **options)
    if name not in ("lvbench", "charades"):  # answers are inside `qa`, or a line has no other fields
        assert {case.question.answer for case in bench} <= {None}
    assert len({case.question.id for case in bench}) == len(bench)
