"""Notes about parts of a video: kept for good by its content, exported so that others read them."""

from __future__ import annotations

import base64
import errno
import io
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from platformdirs import user_data_path
from support.stand_ins import HOSTILE, Flat, strings
from viz.widget_pages import FakePage

from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.runs.exporting.passages import Passage, clean
from atlaskit.runs.exports import export
from atlaskit.video.playlist import Playlist
from atlaskit.video.subtitles import read_subtitles
from atlaskit.video.video import Video
from atlaskit.viz.widgets import GridExplorer
from atlaskit.viz.widgets.explorer.notes import MOST_NOTES, VARIABLE, Note, notes_folder


def noted(video: Video, cache: Cache, *notes: tuple[str, str, str, str]) -> FakePage:
    page = FakePage(GridExplorer(video, k=4, cell=32, cache=cache))
    for start, end, tag, text in notes:
        page.request(panel="notes", want="add", **{"from": start, "to": end, "tag": tag, "text": text})
    return page


def exported(page: FakePage, form: str) -> str:
    page.receive({"panel": "notes", "want": "export", "form": f".{form}"})
    message, (data,) = page.sent[-3]
    assert message["is"] == "file" and message["name"] == f"flat notes.{form}"
    return bytes(data).decode("utf-8-sig")


def test_notes_outlive_the_page_and_the_cache(cache: Cache) -> None:
    page, other = noted(Flat(), cache), noted(Flat(), cache)
    page.request(panel="notes", want="add", **{"from": "0:05", "to": "7.5", "tag": "goal", "text": "the second"})
    other.request(panel="notes", want="add", **{"from": "1", "to": "2", "tag": "", "text": "begins"})
    cache.prune()
    again = noted(Flat(), cache)
    assert again.widget.notes == ((1.0, 2.0, "", "begins"), (5.0, 7.5, "goal", "the second"))
    sent = again.request(panel="notes", want="remove", note=[1.0, 2.0, "", "begins"])[0]
    assert sent["notes"] == [[5.0, 7.5, "goal", "the second"]] and sent["lane"] == [[0.3125, 0.47]]
    sent = again.request(panel="notes", want="add", **{"from": "1", "to": "2", "tag": "", "text": "anew"})[0]
    assert sent["added"] == [[1.0, 2.0, "", "anew"]] and sent["removed"] == [] and sent["count"] == 2
    assert noted(Flat((160, 90)), cache).widget.notes == (), "those of another video"
    assert len(noted(Flat(), Cache(None)).widget.notes) == 2, "in one place, whatever the cache"


@pytest.mark.parametrize(("start", "end", "words"), [("x", "2", "is not a time"), ("3", "2", "a start before its end")])
def test_a_wrong_time_gets_a_sentence(cache: Cache, start: str, end: str, words: str) -> None:
    page = noted(Flat(), cache, ("1", "2", "kept", ""), (start, end, "goal", ""))
    assert words in page.of("notes")[-1]["words"] and len(page.widget.notes) == 1


@pytest.mark.parametrize(
    "damaged",
    [
        '{"start_s": 1, "end_s": 2}', '{"start_s": false, "end_s": 2, "tag": "", "text": ""}',
        '{"start_s": 1, "end_s": 1e999, "tag": "", "text": ""}', '{"start_s": 1, "end_s": 2, "tag": "go',
        f'{{"start_s": 1, "end_s": 1{400 * "0"}, "tag": "", "text": ""}}', "[" * 3000, "\udcff", "7",
    ],
    ids=["short", "false", "infinite", "broken off", "huge", "deep", "bytes", "number"],
)  # fmt: skip
def test_a_damaged_line_is_told_kept_and_hides_no_other(cache: Cache, damaged: str) -> None:
    page = noted(Flat(), cache, ("1", "2", "goal", ""))
    path = page.widget._notes.file.path
    with path.open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(damaged)
    page.request(panel="notes", want="add", **{"from": "3", "to": "4", "tag": "", "text": ""})
    assert f"1 line of {path} cannot be read as a note, and stays there." in page.of("notes")[-1]["words"]
    assert len(page.widget.notes) == len(noted(Flat(), cache).widget.notes) == 2
    assert damaged.encode("utf-8", "surrogateescape") in path.read_bytes()


def test_the_file_is_the_users_alone_and_the_same_from_everywhere(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes_folder()
    folder.mkdir(parents=True, mode=0o755)
    page = noted(Flat(), cache, ("1", "2", "goal", ""))
    path = page.widget._notes.file.path
    assert path.parent == folder and [stat.S_IMODE(each.stat().st_mode) for each in (folder, path)] == [0o700, 0o600]
    path.chmod(0o644)
    monkeypatch.chdir(tmp_path)
    assert len(noted(Flat(), Cache(None), ("3", "4", "", "")).widget.notes) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
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
    assert old.exists()
    old.write_text("[[1]]")
    with pytest.raises(InputError, match=re.escape(f"{old} cannot be read")):
        noted(Flat(), cache).widget.notes  # noqa: B018  # the property reads


ADDER = """
import sys
from support.stand_ins import Flat
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
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
    page, began_s = noted(Flat(), cache), time.monotonic()
    file = page.widget._notes.file
    file.change([Note(number / 1000, number / 1000 + 0.1, "tag", "") for number in range(MOST_NOTES - 1)])
    assert page.request(panel="notes", want="here")[0]["count"] == MOST_NOTES - 1
    sent = page.request(panel="notes", want="add", **{"from": "1", "to": "2", "tag": "one", "text": ""})
    assert sent[0]["added"] == [[1.0, 2.0, "one", ""]] and sent[1]["words"] == ""
    assert time.monotonic() - began_s < 10, "1,578 notes took 100 s"
    page.request(panel="notes", want="add", **{"from": "1", "to": "2", "tag": "too many", "text": ""})
    assert "A video has at most 10,000 notes" in page.of("notes")[-1]["words"]
    removed = [each for each in page.widget.notes if each.tag == "tag"]
    for _ in range(2):
        file.change(removed=removed)
        file.change(removed[:5])
    file.change(removed=removed)
    assert [note.tag for note in noted(Flat(), cache).widget.notes] == ["one"]
    assert file.path.stat().st_size < 10_000, "what was removed does not stay for ever"


def test_a_change_that_cannot_be_written_leaves_what_was_there(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    page = noted(Flat(), cache, ("1", "2", "goal", ""))
    path, write = page.widget._notes.file.path, os.write

    def full(file: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[:20])

    before = path.read_bytes()
    monkeypatch.setattr(os, "write", full)
    page.request(panel="notes", want="add", **{"from": "3", "to": "4", "tag": "", "text": ""})
    problem = page.of("notes")[-1]["words"]
    assert "The notes cannot be kept" in problem and VARIABLE in problem
    assert path.read_bytes() == before and len(page.widget.notes) == 1


def test_exports_are_read_by_others(cache: Cache, tmp_path: Path) -> None:
    page = noted(Flat(), cache, ("5", "7.52", "goal", "a <b> & --> c"), ("0.5", "1", "", "=1+1"))
    rows = pd.read_csv(io.StringIO(exported(page, "csv")))
    assert rows["start_s"].tolist() == [0.5, 5.0] and rows["to"].tolist() == ["0:01.000", "0:07.520"]
    assert rows["text"].tolist() == ["'=1+1", "a <b> & --> c"], "no spreadsheet computes a text"
    (tmp_path / "notes.vtt").write_text(exported(page, "vtt"))
    lines = read_subtitles(tmp_path / "notes.vtt").lines
    assert [(line.start_s, line.end_s, line.text) for line in lines] == [
        (0.5, 1.0, "=1+1"), (5.0, 7.52, "goal: a <b> & --> c"),
    ]  # fmt: skip
    assert exported(page, "edl").splitlines() == [
        "TITLE: flat",
        "FCM: NON-DROP FRAME",
        "001  AX       AA/V  C        00:00:00:12 00:00:01:00 01:00:00:00 01:00:00:13",
        "* FROM CLIP NAME: flat",
        "* FRAME RATE: 25",
        "* LOC: 01:00:00:00 CYAN",
        "* COMMENT: =1+1",
        "002  AX       AA/V  C        00:00:05:00 00:00:07:13 01:00:00:13 01:00:03:01",
        "* FROM CLIP NAME: flat",
        "* FRAME RATE: 25",
        "* LOC: 01:00:00:13 CYAN    goal",
        "* COMMENT: a <b> & --> c",
    ]


def test_an_edl_names_the_files_of_a_playlist(cache: Cache) -> None:
    page = noted(Playlist([Flat(), Flat()]), cache, ("15", "17", "goal", ""))
    page.receive({"panel": "notes", "want": "export", "form": ".edl"})
    events = [line for line in bytes(page.sent[-3][1][0]).decode().splitlines() if line[:3].isdigit()]
    assert [line.split()[-4:] for line in events] == [
        ["00:00:15:00", "00:00:16:00", "01:00:00:00", "01:00:01:00"],
        ["00:00:00:00", "00:00:01:00", "01:00:01:00", "01:00:02:00"],
    ]


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
    page.widget.export_notes(tmp_path / f"notes.{form}")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "other"))
    other = GridExplorer(Flat(), k=4, cell=32, cache=Cache(None)).open_notes(tmp_path / f"notes.{form}")
    assert other.notes == before
    data = base64.b64encode((tmp_path / f"notes.{form}").read_bytes()).decode()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "third"))
    empty = FakePage(GridExplorer(Flat(), k=4, cell=32, cache=Cache(None)))
    empty.receive({"panel": "notes", "want": "open", "name": f"notes.{form}", "data": data})
    assert empty.widget.notes == before and empty.of("notes")[-1]["words"] == ""


def test_notes_of_other_videos_stay_out(cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = Passage(1, 2, "here", video="flat"), Passage(3, 4, "there", video="other")
    export([here, there, Passage(18, 99, "past the end", video="flat")], tmp_path / "notes.csv")
    explorer = GridExplorer(Flat(), k=4, cell=32, cache=cache).open_notes(tmp_path / "notes.csv")
    assert [note.text for note in explorer.notes] == ["here"], "and what begins after the end"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "other"))
    renamed = GridExplorer(Flat(), k=4, cell=32, cache=Cache(None))
    export([there], tmp_path / "one.csv")
    assert [note.text for note in renamed.open_notes(tmp_path / "one.csv").notes] == ["there"], "its name was another"
    two = Playlist([Flat(), Flat()])
    export([Passage(15, 17, "cut", video=two.name)], tmp_path / "cut.csv", videos=two)
    assert GridExplorer(two, k=4, cell=32, cache=Cache(None)).open_notes(tmp_path / "cut.csv").notes[0].start_s == 15


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("notes.doc", b"x", "ends in .csv"), ("notes.csv", b"a,b\n1,2\n", "no row names a column for the start"),
        ("notes.csv", b"start,end,video\n99,100,flat\n", "holds nothing about a part of flat"),
        ("notes.eaf", b"<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", "declares a document type"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_gets_a_sentence(cache: Cache, name: str, data: bytes, words: str) -> None:
    page = noted(Flat(), cache, ("1", "2", "kept", ""))
    page.receive({"panel": "notes", "want": "open", "name": name, "data": base64.b64encode(data).decode()})
    assert words in page.of("notes")[-1]["words"] and len(page.widget.notes) == 1
