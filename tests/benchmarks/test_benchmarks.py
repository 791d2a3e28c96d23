"""Promise: folders load as people have them: other files, archives, repeated and bad rows."""

import json
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.datasets import make_longvideobench, make_videomme, put, write_json

import atlaskit as ak
from atlaskit.errors import InputError


def row(number: int, **changes: Any) -> dict[str, Any]:
    """Return a published row; the second video starts 30.5 s after its source."""
    return {
        "video_id": f"v{number // 2}",
        "question": f"What is shown at moment {number}?",
        "question_wo_referring_query": "What is shown?",
        "candidates": ["A star", "A heart", "A circle", "A square", "Nothing"],
        "correct_choice": number,
        "position": [10 * number, 10 * number + 5],
        "topic_category": "KC-Knowledge-Computer-Science",
        "question_category": "S2O",
        "level": "L1-Perception",
        "id": f"v{number // 2}_{number}",
        "video_path": f"v{number // 2}.mp4",
        "subtitle_path": f"v{number // 2}_en.json",
        "duration_group": 15,
        "starting_timestamp_for_subtitles": 30.5 * (number // 2),
        "duration": 15.0,
        "view_count": 12345,
        **changes,
    }


LINES: tuple[list[dict[str, Any]], ...] = (
    [{"start": "00:00:01.000", "end": "00:00:03.500", "line": "one"}],
    # Lines of a longer source: the first ends before the video starts, the last has no end.
    [{"timestamp": span, "text": text} for span, text in (([10, 20], "-"), ([30, 32.5], "a"), ([35.5, None], "b"))],
)


@pytest.fixture
def lvb(tmp_path: Path, tiny: Path) -> Path:
    """A folder with four questions about two videos."""
    for number, lines in enumerate(LINES):
        put(tiny, tmp_path / "videos" / f"v{number}.mp4")
        write_json(tmp_path / "subtitles" / f"v{number}_en.json", lines)
    write_json(tmp_path / "lvb_val.json", [row(number) for number in range(4)])
    return tmp_path


def test_every_field_is_loaded_and_lines_move_to_the_time_of_the_video(lvb: Path) -> None:
    bench = ak.benchmarks.longvideobench(lvb)
    assert bench.missing == () and "4 questions about 2 videos" in repr(bench)
    question = bench[3].question
    assert (question.text, question.answer, question.id) == ("What is shown at moment 3?", 3, "v1_3")
    assert list(question.choices) == row(3)["candidates"] and question.category == "S2O"
    assert bench[3].video == "v1" and bench[3].facts == {
        **{"duration_group": 15, "level": "L1-Perception", "topic": "KC-Knowledge-Computer-Science"},
        **{"duration_s": 15.0, "position": (30, 35), "positions": 2, "subtitles": True},
    }
    assert [(line.start_s, line.end_s) for line in bench[0].opened().subtitles.lines] == [(1.0, 3.5)]
    excerpt = bench[2].opened()
    spans = [(line.start_s, line.end_s, line.text) for line in excerpt.subtitles.lines]
    assert spans == [(0.0, 2.0, "a"), (5.0, excerpt.duration_s, "b")]


def test_parquet_files_and_passed_rows_give_the_same_cases(lvb: Path) -> None:
    """Options that fill up a row are none, and two equal ones are two."""
    from_json = ak.benchmarks.longvideobench(lvb)
    short = row(3, candidates=["A star", "A star", "A circle", "N/A", "N/A"], correct_choice=1)
    rows = [row(0), row(1), row(2), short]
    for each in rows:
        each |= {f"option{index}": option for index, option in enumerate(each.pop("candidates"))}
    (lvb / "lvb_val.json").unlink()
    pd.DataFrame(rows).to_parquet(lvb / "validation-00000-of-00001.parquet")
    from_parquet = ak.benchmarks.longvideobench(lvb)
    assert from_parquet.cases[:3] == from_json.cases[:3]
    assert ak.benchmarks.longvideobench(lvb, rows=rows).cases == from_parquet.cases
    question = from_parquet[3].question
    assert (question.choices, question.answer) == (("A star", "A star", "A circle"), 1)


FOREIGN = {
    "dataset_infos.json": '{"default": {"features": {}}}',
    "my_results.json": '[{"question_id": "001-1", "pred": "B"}, 3]',
    "by_video.json": '[{"video_id": "001", "questions": [{"question_id": "001-1", "response": "B"}]}]',
    "._test.json": "\0\5\26\7",
    ".DS_Store": "\0\0\0\1Bud1",
}
"""Files that lie in the folders of datasets, with their content."""


def test_foreign_files_in_the_folder_are_ignored(tmp_path: Path, tiny: Path) -> None:
    """Two datasets are in one folder here, so each one's files are foreign to the other."""
    make_videomme(tmp_path, tiny)
    make_longvideobench(tmp_path, tiny)
    expected = ak.benchmarks.videomme(tmp_path).cases, ak.benchmarks.longvideobench(tmp_path).cases
    for name, text in FOREIGN.items():
        (tmp_path / name).write_text(text)
    answered = [{**each, "pred": "A"} for each in json.loads((tmp_path / "test.json").read_text())]
    write_json(tmp_path / "zz_answered.json", answered)  # the same questions again, with answers
    assert (ak.benchmarks.videomme(tmp_path).cases, ak.benchmarks.longvideobench(tmp_path).cases) == expected
    for name in ("test.json", "zz_answered.json", "lvb_val.json"):
        (tmp_path / name).unlink()
    with pytest.raises(InputError, match=r"with the questions of Video-MME; none does"):
        ak.benchmarks.videomme(tmp_path)


@pytest.mark.parametrize("archive", ["clips_00.zip", "videos.tar", "videos.tar.part.aa"])
def test_a_packed_archive_is_named_with_the_line_that_unpacks_it(archive: str, tmp_path: Path, tiny: Path) -> None:
    home = tmp_path / "the folder's name"
    make_longvideobench(home, tiny)
    if archive.endswith(".zip"):
        for number, film in enumerate(sorted((home / "videos").iterdir())):  # two archives, one line
            with zipfile.ZipFile(home / f"clips_0{number}.zip", "w") as zipped:
                zipped.write(film, f"videos/{film.name}")
    else:
        with tarfile.open(home / archive, "w") as tar:
            tar.add(home / "videos", "videos")
    if archive.endswith(".aa"):
        whole = (home / archive).read_bytes()
        (home / archive).write_bytes(whole[:5000])
        (home / archive).with_suffix(".ab").write_bytes(whole[5000:])
    shutil.rmtree(home / "videos")
    with pytest.warns(UserWarning, match="is still packed") as caught:
        assert len(ak.benchmarks.longvideobench(home)) == 0
    if archive.endswith(".zip") and shutil.which("unzip") is None:
        pytest.skip("unzip is not installed")
    command = str(caught.list[-1].message).partition("this unpacks it: ")[2]
    subprocess.run(command, shell=True, check=True)
    assert len(ak.benchmarks.longvideobench(home)) == 2


def test_questions_are_asked_once_and_keep_their_names_whatever_videos_are_missing(tmp_path: Path, tiny: Path) -> None:
    make_longvideobench(tmp_path, tiny)
    one, other = json.loads((tmp_path / "lvb_val.json").read_text())

    def names(*rows: dict[str, Any]) -> list[str]:
        return [case.question.id for case in ak.benchmarks.longvideobench(tmp_path, rows=rows)]

    with pytest.warns(UserWarning, match="1 questions are listed twice and asked once, as Row 2"):
        assert names(one, other, one) == [one["id"], other["id"]]
    unnamed = [{**one, "id": None}, {**other, "id": None}]
    alike = [{**one, "id": "n"}, {**other, "id": "n", "question": "?"}]
    before = names(*unnamed)
    assert names(*alike) == ["n", "n#2"]
    (tmp_path / "videos" / one["video_path"]).unlink()
    with pytest.warns(UserWarning, match="1 videos are missing"):
        assert names(*unnamed) == before[1:] and names(*alike) == ["n#2"]


def test_bad_rows_are_left_out_on_request_and_reported(tmp_path: Path, tiny: Path) -> None:
    make_longvideobench(tmp_path, tiny)
    one, other = json.loads((tmp_path / "lvb_val.json").read_text())
    rows = [one, {**one, "id": "x", "correct_choice": 9}, {**one, "id": "y", "candidates": []}, other]
    with pytest.raises(InputError, match="Row 1: "):
        ak.benchmarks.longvideobench(tmp_path, rows=rows)
    with ak.benchmarks.skip_bad() as bad:
        bench = ak.benchmarks.longvideobench(tmp_path, rows=rows)
    assert [case.question.id for case in bench] == [one["id"], other["id"]]
    assert [sentence.partition(":")[0] for sentence in bad] == ["Row 1", "Row 2"]
