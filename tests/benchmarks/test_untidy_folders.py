"""Promise: packed archives, repeated questions and bad rows of a folder are told."""

import json
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.datasets import make_longvideobench, make_videomme

import atlaskit as ak
from atlaskit.errors import InputError


@pytest.mark.parametrize("archive", ["clips_01.zip", "videos.tar", "videos.tar.part.aa"])
def test_a_packed_archive_is_named_with_the_line_that_unpacks_it(archive: str, tmp_path: Path, tiny: Path) -> None:
    home = tmp_path / "the folder's name"
    make_longvideobench(home, tiny)
    packed, films = home / archive, sorted((home / "videos").iterdir())
    if archive.endswith(".zip"):
        for number, film in enumerate(films):  # two archives, one line
            with zipfile.ZipFile(home / f"clips_0{number}.zip", "w") as zipped:
                zipped.write(film, f"videos/{film.name}")
    else:
        with tarfile.open(home / "videos.tar", "w") as tar:
            tar.add(home / "videos", "videos")
    if ".part" in archive:
        whole = (home / "videos.tar").read_bytes()
        (home / "videos.tar").unlink()
        packed.write_bytes(whole[:5000])
        packed.with_suffix(".ab").write_bytes(whole[5000:])
    shutil.rmtree(home / "videos")
    with pytest.warns(UserWarning, match="is still packed") as caught:
        assert len(ak.benchmarks.longvideobench(home)) == 0
    if archive.endswith(".zip") and shutil.which("unzip") is None:
        pytest.skip("unzip is not installed")
    command = str(caught.list[-1].message).partition("this unpacks it: ")[2]
    subprocess.run(command, shell=True, check=True)
    assert len(ak.benchmarks.longvideobench(home)) == 2


def test_packed_subtitles_are_named_only_to_those_who_want_them(
    tmp_path: Path, tiny: Path, recwarn: pytest.WarningsRecorder
) -> None:
    make_videomme(tmp_path, tiny)
    with zipfile.ZipFile(tmp_path / "subtitle.zip", "w") as zipped:
        zipped.writestr("subtitle/fFjv93ACGo0.srt", "1\n00:00:01,000 --> 00:00:02,000\nHi\n")
    ak.benchmarks.videomme(tmp_path, subtitles=False)
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"subtitle\.zip is still packed"):
        ak.benchmarks.videomme(tmp_path)
    with zipfile.ZipFile(tmp_path / "subtitle.zip") as zipped:
        zipped.extractall(tmp_path)
    recwarn.clear()
    assert ak.benchmarks.videomme(tmp_path)[0].facts["subtitles"] and not recwarn.list


def test_questions_are_asked_once_and_keep_their_names_whatever_videos_are_missing(tmp_path: Path, tiny: Path) -> None:
    make_longvideobench(tmp_path, tiny)
    rows = json.loads((tmp_path / "lvb_val.json").read_text())
    with pytest.warns(UserWarning, match="1 questions are listed twice and asked once, as Row 2"):
        assert len(ak.benchmarks.longvideobench(tmp_path, rows=[*rows, rows[0]])) == 2
    rows = [{**row, "id": None} for row in rows]
    whole = [case.question.id for case in ak.benchmarks.longvideobench(tmp_path, rows=rows)]
    (tmp_path / "videos" / rows[0]["video_path"]).unlink()
    with pytest.warns(UserWarning, match="1 videos are missing"):
        assert [case.question.id for case in ak.benchmarks.longvideobench(tmp_path, rows=rows)] == whole[1:]


def test_bad_rows_are_left_out_on_request_and_reported(tmp_path: Path, tiny: Path) -> None:
    make_longvideobench(tmp_path, tiny)
    rows = json.loads((tmp_path / "lvb_val.json").read_text())
    invalid = [{**rows[0], "id": "x", "correct_choice": 9}, {**rows[0], "id": "y", "candidates": []}]
    with pytest.raises(InputError, match="Row 1: "):
        ak.benchmarks.longvideobench(tmp_path, rows=[rows[0], *invalid, rows[1]])
    with ak.benchmarks.skip_bad() as bad:
        bench = ak.benchmarks.longvideobench(tmp_path, rows=[rows[0], *invalid, rows[1]])
    assert [case.question.id for case in bench] == ["v0_0", "v1_0"]
    assert [sentence.partition(":")[0] for sentence in bad] == ["Row 1", "Row 2"]
