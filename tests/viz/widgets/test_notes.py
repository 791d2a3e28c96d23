"""Notes about parts of a video: kept by its fingerprint, and exported so that others read them."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pandas as pd
import pytest
from support.stand_ins import HOSTILE, Flat, strings
from support.widget_pages import FakePage

from atlaskit.caching.cache import Cache
from atlaskit.runs.exporting.passages import Passage, clean
from atlaskit.runs.exports import export
from atlaskit.video.playlist import Playlist
from atlaskit.video.subtitles import read_subtitles
from atlaskit.video.video import Video
from atlaskit.viz.widgets import GridExplorer


def noted(video: Video, cache: Cache, *notes: tuple[str, str, str, str]) -> FakePage:
    page = FakePage(GridExplorer(video, k=4, cell=32, cache=cache))
    for start, end, tag, text in notes:
        page.request(panel="notes", want="add", **{"from": start, "to": end, "tag": tag, "text": text})
    return page


def exported(page: FakePage, form: str) -> str:
    page.receive({"panel": "notes", "want": "export", "form": f".{form}"})
    message, (data,) = page.sent[-2]
    assert message["is"] == "file" and message["name"] == f"flat notes.{form}"
    return bytes(data).decode("utf-8-sig")


def test_notes_outlive_the_page_and_the_entries_of_the_cache(cache: Cache) -> None:
    page, other = noted(Flat(), cache), noted(Flat(), cache)
    page.request(panel="notes", want="add", **{"from": "0:05", "to": "7.5", "tag": "goal", "text": "the second"})
    other.request(panel="notes", want="add", **{"from": "1", "to": "2", "tag": "", "text": "begins"})
    cache.prune()
    again = noted(Flat(), cache)
    assert again.widget.notes == ((1.0, 2.0, "", "begins"), (5.0, 7.5, "goal", "the second"))
    sent, _ = again.ask(panel="notes", want="remove", note=[1.0, 2.0, "", "begins"])
    assert sent["notes"] == [[5.0, 7.5, "goal", "the second"]] and sent["lane"] == [[0.3125, 0.47]]
    assert noted(Flat((160, 90)), cache).widget.notes == (), "those of another video"
    memory = noted(Flat(), Cache(None), ("1", "2", "", "kept while the page lives"))
    assert len(memory.widget.notes) == 1


@pytest.mark.parametrize(("start", "end", "words"), [("x", "2", "is not a time"), ("3", "2", "a start before its end")])
def test_a_wrong_time_gets_a_sentence(cache: Cache, start: str, end: str, words: str) -> None:
    page = noted(Flat(), cache, ("1", "2", "kept", ""), (start, end, "goal", ""))
    assert words in page.of("notes")[-1]["problem"] and len(page.widget.notes) == 1


@pytest.mark.parametrize(
    "damaged",
    [
        '[[1, 2, "goal"]]', '[[false, 2, "goal", ""]]', '[[1, 1e999, "goal", ""]]',
        f'[[1, 1{400 * "0"}, "goal", ""]]',
    ],
    ids=["short", "false", "infinite", "huge"],
)  # fmt: skip
def test_a_damaged_file_is_named_and_kept(cache: Cache, damaged: str) -> None:
    page = noted(Flat(), cache, ("1", "2", "goal", ""))
    assert cache.directory is not None
    (path,) = (cache.directory / "notes").iterdir()
    path.write_text(damaged)
    page.request(panel="notes", want="add", **{"from": "3", "to": "4", "tag": "", "text": ""})
    assert f"The notes in {path} cannot be read" in page.of("notes")[-1]["problem"]
    assert path.read_text() == damaged


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
    events = [line for line in bytes(page.sent[-2][1][0]).decode().splitlines() if line[:3].isdigit()]
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
def test_what_was_exported_opens_again_as_notes(cache: Cache, tmp_path: Path, form: str) -> None:
    page = noted(Flat(), cache, ("5", "7.52", "goal", 'a <b>, & "c"'), ("0.48", "1", "", "=1+1\nünï 🦊 \u202fx"))
    before = page.widget.notes
    page.widget.export_notes(tmp_path / f"notes.{form}")
    other = GridExplorer(Flat(), k=4, cell=32, cache=Cache(None)).open_notes(tmp_path / f"notes.{form}")
    assert other.notes == before
    data = base64.b64encode((tmp_path / f"notes.{form}").read_bytes()).decode()
    empty = FakePage(GridExplorer(Flat(), k=4, cell=32, cache=Cache(None)))
    empty.receive({"panel": "notes", "want": "open", "name": f"notes.{form}", "data": data})
    assert empty.widget.notes == before and empty.of("notes")[-1]["problem"] == ""


def test_notes_of_other_videos_stay_out(cache: Cache, tmp_path: Path) -> None:
    here, there = Passage(1, 2, "here", video="flat"), Passage(3, 4, "there", video="other")
    export([here, there, Passage(18, 99, "past the end", video="flat")], tmp_path / "notes.csv")
    explorer = GridExplorer(Flat(), k=4, cell=32, cache=cache).open_notes(tmp_path / "notes.csv")
    assert [note.text for note in explorer.notes] == ["here"], "and what begins after the end"
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
    assert words in page.of("notes")[-1]["problem"] and len(page.widget.notes) == 1
