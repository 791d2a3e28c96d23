"""Notes about parts of a video: kept for good by its content, exported so that others read them."""

import base64
import errno
import os
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_data_path
from support.stand_ins import HOSTILE, Flat, strings
from viz.widget_pages import FakePage

from atlaskit.caching.cache import Cache
from atlaskit.runs.exporting.passages import Passage, clean
from atlaskit.runs.exports import export
from atlaskit.video.video import Video
from atlaskit.viz.widgets import GridExplorer
from atlaskit.viz.widgets.explorer.notes import MOST_NOTES, VARIABLE, Note, notes_folder


def explorer_of(video: Video, cache: Cache) -> GridExplorer:
    return GridExplorer(video, k=4, cell=32, cache=cache)


def note(page: FakePage, start: str, end: str, tag: str = "", text: str = "") -> list[dict[str, Any]]:
    """Note something in a page; return the messages that follow."""
    return page.request(panel="notes", want="add", **{"from": start, "to": end, "tag": tag, "text": text})


def noted(video: Video, cache: Cache, *notes: Sequence[str]) -> FakePage:
    page = FakePage(explorer_of(video, cache))
    for each in notes:
        note(page, *each)
    return page


def exported(page: FakePage, form: str) -> str:
    page.receive({"panel": "notes", "want": "export", "form": f".{form}"})
    message, (data,) = page.sent[-3]
    assert message["is"] == "file" and message["name"] == f"flat notes.{form}"
    return bytes(data).decode("utf-8-sig")


def opened(page: FakePage, name: str, data: bytes) -> str:
    """Open a file in a page; return what it says of it."""
    page.receive({"panel": "notes", "want": "open", "name": name, "data": base64.b64encode(data).decode()})
    return str(page.of("notes")[-1]["words"])


def test_notes_outlive_the_page_and_the_cache(cache: Cache) -> None:
    page, other = noted(Flat(), cache), noted(Flat(), cache)
    note(page, "0:05", "7.5", "goal", "the second")
    note(other, "1", "2", "", "begins")
    cache.prune()
    again = noted(Flat(), cache)
    assert again.widget.notes == ((1.0, 2.0, "", "begins"), (5.0, 7.5, "goal", "the second"))
    sent = again.request(panel="notes", want="remove", note=[1.0, 2.0, "", "begins"])[0]
    assert sent["notes"] == [[5.0, 7.5, "goal", "the second"]] and sent["lane"] == [[0.3125, 0.47]]
    assert noted(Flat((160, 90)), cache).widget.notes == (), "those of another video"


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param('{"start_s": 1, "end_s": 2}', id="short"),
        pytest.param(f'{{"start_s": 1, "end_s": 1{400 * "0"}, "tag": "", "text": ""}}', id="huge"),
        pytest.param("[" * 3000, id="deep"),
        pytest.param("\udcff", id="bytes"),
    ],
)
def test_a_damaged_line_is_told_kept_and_hides_no_other(cache: Cache, damaged: str) -> None:
    page = noted(Flat(), cache, ("1", "2", "goal"))
    path = page.widget._notes.file.path
    with path.open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(damaged)
    note(page, "3", "4")
    assert f"1 line of {path} cannot be read as a note, and stays there." in page.of("notes")[-1]["words"]
    assert len(page.widget.notes) == len(noted(Flat(), cache).widget.notes) == 2
    assert damaged.encode("utf-8", "surrogateescape") in path.read_bytes()


def test_the_file_is_the_users_alone_and_the_same_from_everywhere(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes_folder()
    folder.mkdir(parents=True, mode=0o755)
    path = noted(Flat(), cache, ("1", "2", "goal")).widget._notes.file.path
    assert path.parent == folder and [stat.S_IMODE(each.stat().st_mode) for each in (folder, path)] == [0o700, 0o600]
    path.chmod(0o644)
    monkeypatch.chdir(tmp_path)
    assert len(noted(Flat(), Cache(None), ("3", "4")).widget.notes) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setenv(VARIABLE, "~nobody-here")
    assert notes_folder() == tmp_path / "~nobody-here" / "notes"
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert notes_folder() == user_data_path("atlaskit", appauthor=False) / "notes"


def test_what_lies_in_the_cache_is_taken_over_once(cache: Cache) -> None:
    name = noted(Flat(), cache).widget._notes.file.path.stem
    assert cache.directory is not None
    old = cache.directory / "notes" / f"{name}.json"
    old.parent.mkdir()
    old.write_text('[[1.0, 2.0, "goal", ""], [3, 4, "", "x"]]')
    page = noted(Flat(), cache)
    assert page.widget.notes == ((1.0, 2.0, "goal", ""), (3.0, 4.0, "", "x"))
    page.request(panel="notes", want="remove", note=[1.0, 2.0, "goal", ""])
    assert noted(Flat(), cache).widget.notes == ((3.0, 4.0, "", "x"),), "what was removed does not come back"


ADDER = """
import sys
from support.stand_ins import Flat
from atlaskit.caching.cache import Cache
from atlaskit.viz.widgets.explorer.notes import Note, NoteFile
file = NoteFile(Flat(), Cache(None))
for number in range(100):
    file.change([Note(number / 10, number / 10 + 0.05, sys.argv[1], "")])
"""


def test_two_processes_that_add_at_once_lose_nothing(cache: Cache) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", ADDER, name]) for name in ("one", "other")]
    assert [process.wait(120) for process in processes] == [0, 0]
    assert len(noted(Flat(), cache).widget.notes) == 200


def test_ten_thousand_notes_are_added_and_listed_at_once_and_no_more(cache: Cache) -> None:
    page = noted(Flat(), cache)
    began_s = time.monotonic()
    file = page.widget._notes.file
    many = [Note(number / 1000, number / 1000 + 0.1, "tag", "") for number in range(MOST_NOTES - 1)]
    file.change(many)
    assert page.request(panel="notes", want="here")[0]["count"] == MOST_NOTES - 1
    sent = note(page, "1", "2", "one")
    assert sent[0]["added"] == [[1.0, 2.0, "one", ""]] and sent[1]["words"] == ""
    assert time.monotonic() - began_s < 10, "1,578 notes took 100 s"
    note(page, "1", "2", "too many")
    assert "A video has at most 10,000 notes" in page.of("notes")[-1]["words"]
    for _ in range(2):
        file.change(removed=many)
        file.change(many[:5])
    file.change(removed=many)
    assert [each.tag for each in noted(Flat(), cache).widget.notes] == ["one"]
    assert file.path.stat().st_size < 10_000, "what was removed does not stay for ever"


def test_a_change_that_cannot_be_written_leaves_what_was_there(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    page = noted(Flat(), cache, ("1", "2", "goal"))
    path = page.widget._notes.file.path
    write = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[:20])

    before = path.read_bytes()
    monkeypatch.setattr(os, "write", full)
    note(page, "3", "4")
    problem = page.of("notes")[-1]["words"]
    assert "The notes cannot be kept" in problem and VARIABLE in problem
    assert path.read_bytes() == before and len(page.widget.notes) == 1


def test_hostile_text_stays_text(cache: Cache) -> None:
    page = noted(Flat(), cache, *(("1", "2", text, text) for text in HOSTILE))
    assert len(page.widget.notes) == len({*HOSTILE})
    assert all(line.isprintable() for text in strings(page.of("notes")) for line in text.split("\n"))
    assert "<script>" not in exported(page, "vtt")
    for form in ("vtt", "edl", "eaf", "otio", "llc", "boris", "csv"):
        text = exported(page, form)
        assert clean(text) == text, "nothing in a file controls a terminal or ends a line in some programs only"


@pytest.mark.parametrize("form", ["csv", "json", "vtt", "edl", "otio", "llc", "eaf", "boris", "label-studio.json"])
def test_what_was_exported_opens_again_as_notes(
    cache: Cache, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = noted(Flat(), cache, ("5", "7.52", "goal", 'a <b>, & "c"'), ("0.48", "1", "", "=1+1\nünï 🦊 \u202fx"))
    before = page.widget.notes
    path = tmp_path / f"notes.{form}"
    page.widget.export_notes(path)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "other"))
    empty = noted(Flat(), cache)
    assert opened(empty, path.name, path.read_bytes()) == "" and empty.widget.notes == before


def test_notes_of_other_videos_stay_out(cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = Passage(1, 2, "here", video="flat"), Passage(3, 4, "there", video="other")
    export([here, there, Passage(18, 99, "past the end", video="flat")], tmp_path / "notes.csv")
    explorer = explorer_of(Flat(), cache).open_notes(tmp_path / "notes.csv")
    assert [each.text for each in explorer.notes] == ["here"], "and what begins after the end"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "other"))
    export([there], tmp_path / "one.csv")
    renamed = explorer_of(Flat(), cache).open_notes(tmp_path / "one.csv")
    assert [each.text for each in renamed.notes] == ["there"], "its name was another"


def test_a_file_that_is_none_and_a_wrong_time_get_a_sentence(cache: Cache) -> None:
    page = noted(Flat(), cache, ("1", "2", "kept"))
    assert "no row names a column for the start" in opened(page, "notes.csv", b"a,b\n1,2\n")
    assert "declares a document type" in opened(page, "notes.eaf", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    for start, end, words in (("x", "2", "is not a time"), ("3", "2", "a start before its end")):
        note(page, start, end, "goal")
        assert words in page.of("notes")[-1]["words"] and len(page.widget.notes) == 1
