"""Promise: exports open in other programs, whose files are read; a damaged file is one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs.made_passages import LONG_WORDS, VARIABLE, of_rate

from atlaskit.errors import InputError
from atlaskit.runs.exporting.formats import FORMATS, read, write
from atlaskit.runs.exporting.passages import Passage, question_of

FOUND = [
    Passage(3.2, 4.8, LONG_WORDS, "evidence", label="A", confidence=0.9, question="When, then?", video="film.mp4"),
    Passage(61.0, 63.5, "two\nlines", "note", label="goal", video="film.mp4"),
    Passage(600.0, 601.0, "", "answer", question="When, then?", video="film.mp4"),
]


@pytest.mark.parametrize("rate", ["25", "29.97", VARIABLE])
def test_opentimelineio_reads_timelines_and_edls(tmp_path: Path, rate: str) -> None:
    otio = pytest.importorskip("opentimelineio")
    write(FOUND, tmp_path / "cut.otio", videos={"film.mp4": of_rate(rate)})
    write(FOUND, tmp_path / "cut.edl", videos={"film.mp4": of_rate(rate)})
    timeline = otio.adapters.read_from_file(str(tmp_path / "cut.otio"))
    clips = timeline.tracks[0]
    speed = float(clips[0].source_range.start_time.rate)
    edited = otio.adapters.read_from_file(str(tmp_path / "cut.edl"), rate=speed).tracks[0]
    for clip, passage in zip((*clips, *edited), FOUND * 2, strict=True):
        shown_s = clip.source_range.start_time.to_seconds(), clip.source_range.end_time_exclusive().to_seconds()
        assert shown_s == pytest.approx((passage.start_s, passage.end_s), abs=1 / 24 + 1 / speed)
    assert [clip.markers[0].comment for clip in clips] == [each.text for each in FOUND]
    assert [clip.markers[0].name for clip in edited][:2] == ["A", "goal"]
    assert clips[0].media_reference.name == "film.mp4"
    clips[0].source_range = otio.opentime.TimeRange(
        otio.opentime.RationalTime(0, speed), clips[0].source_range.duration
    )
    otio.adapters.write_to_file(timeline, str(tmp_path / "again.otio"))
    again = read(tmp_path / "again.otio")
    assert [each.text for each in again] == [each.text for each in FOUND]
    assert [each.start_s for each in again] == [0.0, 61.0, 600.0], "a clip that an editor moved is where it is now"


def test_pympi_reads_elan_documents(tmp_path: Path) -> None:
    import pympi

    path = tmp_path / "coded.eaf"
    overlapping = [*FOUND, Passage(3.0, 4.0, "beside A", "evidence", label="B", video="film.mp4")]
    write(overlapping, path)
    document = pympi.Elan.Eaf(str(path))
    assert document.get_annotation_data_for_tier("note") == [(61000, 63500, "two\nlines")]
    tiers = [document.get_annotation_data_for_tier(name) for name in ("evidence", "evidence 2")]
    assert sorted(map(tuple, tiers)) == [((3000, 4000, "beside A"),), ((3200, 4800, LONG_WORDS),)]
    assert document.media_descriptors[0]["RELATIVE_MEDIA_URL"] == "./film.mp4"


BORIS = (
    "Observation id,Media duration (s),FPS,Subject,Behavior,Behavior type,Time,Media file name,Comment\n"
    "o,9,25,a,fox,START,1.000,n.mp4,first\no,9,25,b,fox,START,2.000,n.mp4,\no,9,25,a,fox,STOP,3.000,n.mp4,\n"
    "o,9,25,,bark,POINT,3.500,n.mp4,\no,9,25,b,fox,STOP,4.000,n.mp4,\n"
)
OLD_BORIS = (
    "Observation id\to\n\nMedia file(s)\tn.mp4\n\nTime\tMedia file path\tSubject\tBehavior\tComment\tStatus\n"
    "1.5\tn.mp4\t\tfox\t\tSTART\n2.5\tn.mp4\t\tfox\t\tSTOP\n"
)
ELAN = "Tier\tBegin Time - msec\tEnd Time - msec\tAnnotation\nfox\t1500\t2500\twalks\n"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("german.csv", "Start;Ende;end;label\n1,5;;2,5;Fuchs\n", [(1.5, 2.5, "Fuchs", "")]),
        ("lengths.tsv", "onset\tduration\tcode\n0:01:05.5\t2\tfox\n", [(65.5, 67.5, "fox", "")]),
        ("boris.csv", BORIS, [(1.0, 3.0, "fox", "first"), (2.0, 4.0, "fox", ""), (3.5, 3.5, "bark", "")]),
        ("old.tsv", OLD_BORIS, [(1.5, 2.5, "fox", "")]),
        ("elan.tsv", ELAN, [(1.5, 2.5, "fox", "walks")]),
        ("comma.csv", "start;end;text\n3;4;x\n1;2;he came, in\n", [(1.0, 2.0, "", "he came, in"), (3.0, 4.0, "", "x")]),
        ("start.csv", "start;text\n1;wait, start, text\n", [(1.0, 1.0, "", "wait, start, text")]),
    ],
)
def test_tables_of_others(tmp_path: Path, name: str, text: str, found: list[tuple[object, ...]]) -> None:
    (tmp_path / name).write_text(text)
    assert [(each.start_s, each.end_s, each.label, each.text) for each in read(tmp_path / name)] == found


def test_elan_documents_of_others(tmp_path: Path) -> None:
    """With a time that is left out, a clock that begins elsewhere, and a tier below another."""
    (tmp_path / "x.eaf").write_text(
        '<ANNOTATION_DOCUMENT><HEADER TIME_UNITS="milliseconds">'
        '<MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/films/night%201.mp4" TIME_ORIGIN="500"/></HEADER>'
        '<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="t1" TIME_VALUE="1000"/><TIME_SLOT TIME_SLOT_ID="t2"/>'
        '<TIME_SLOT TIME_SLOT_ID="t3" TIME_VALUE="3000"/></TIME_ORDER><TIER TIER_ID="fox">'
        '<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="t1" TIME_SLOT_REF2="t2">'
        "<ANNOTATION_VALUE>walks &amp; looks</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>"
        '<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="t2" TIME_SLOT_REF2="t3">'
        '<ANNOTATION_VALUE/></ALIGNABLE_ANNOTATION></ANNOTATION></TIER><TIER TIER_ID="German" PARENT_REF="fox">'
        '<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a3" ANNOTATION_REF="a1"><ANNOTATION_VALUE>geht'
        "</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION></TIER></ANNOTATION_DOCUMENT>"
    )
    found = read(tmp_path / "x.eaf")
    rows = {(each.start_s, each.end_s, each.label, each.text) for each in found}
    assert rows == {(1.5, 2.5, "fox", "walks & looks"), (2.5, 3.5, "fox", ""), (1.5, 2.5, "German", "geht")}
    assert {each.video for each in found} == {"night 1.mp4"}
    assert question_of(found, "When does a fox walk?", label="FOX").answer == ((1.5, 2.5), (2.5, 3.5))
    with pytest.raises(InputError, match="the labels are: German, fox"):
        question_of(found, "When?", label="owl")


def test_edls_and_projects_of_others(tmp_path: Path) -> None:
    (tmp_path / "x.edl").write_text(
        "TITLE: X\nFCM: DROP FRAME\n\n001  REEL     V     C        00;01;00;02 00;01;02;00 01:00:00:00 01:00:01:28\n"
        "* FROM CLIP NAME: A001.MOV\n* LOC: 01:00:00:00 RED     a fox\n* COMMENT: seen\nM2   REEL  25.0  00:00:00:00\n"
    )
    (event,) = read(tmp_path / "x.edl")
    assert (event.video, event.label, event.text, event.kind) == ("A001.MOV", "a fox", "seen", "note")
    assert (event.start_s, event.end_s) == pytest.approx((1800 * 1001 / 30_000, 1858 * 1001 / 30_000))
    (tmp_path / "y.edl").write_text("001  AX  V  C  00:00:01:12 00:00:02:00 00:00:00:00 00:00:00:13\n")
    with pytest.raises(InputError, match=r"y\.edl cannot be read: an EDL does not state its frame rate: pass fps="):
        read(tmp_path / "y.edl")
    assert read(tmp_path / "y.edl", fps=25)[0].start_s == 1.48
    (tmp_path / "x.llc").write_text(
        "{\n  version: 1, // old\n  mediaFileName: 'it\\'s.mp4',\n  cutSegments: [\n    {\n      start: 1.5,\n"
        "      end: .25e1,\n      name: 'a \"fox\"',\n    },\n    { name: '' , end: 1},\n  ],\n}\n"
    )
    cuts = [(each.start_s, each.end_s, each.text, each.video) for each in read(tmp_path / "x.llc")]
    assert cuts == [(0.0, 1.0, "", "it's.mp4"), (1.5, 2.5, 'a "fox"', "it's.mp4")]


def test_label_studio_and_camera_traps_of_others(tmp_path: Path) -> None:
    region = {"type": "timelinelabels", "value": {"ranges": [{"start": 26, "end": 50}], "timelinelabels": ["fox"]}}
    task = {"id": 1, "data": {"video": "/data/upload/1/n.mp4"}, "annotations": [{"result": [region, {"value": {}}]}]}
    (tmp_path / "x.json").write_text(json.dumps([task]))
    (found,) = read(tmp_path / "x.json", fps=25)
    assert (found.start_s, found.end_s, found.label, found.video) == (1.0, 2.0, "fox", "n.mp4")
    path = tmp_path / "observations.csv"
    path.write_text(
        "observationID,deploymentID,mediaID,eventStart,eventEnd,observationType,scientificName,observationComments\n"
        "1,d,m.mp4,2020-05-30T02:57:37Z,2020-05-30T02:57:44Z,animal,Vulpes vulpes,\n"
    )
    (seen,) = read(path, recorded_at="2020-05-30T02:57:00+00:00")
    assert (seen.start_s, seen.end_s, seen.label, seen.video) == (37.0, 44.0, "Vulpes vulpes", "m.mp4")
    with pytest.raises(InputError, match="pass recorded_at"):
        read(path)
    with pytest.raises(InputError, match="needs its time zone"):
        write(FOUND, path, recorded_at="2026-06-01T21:00:00")
    write(FOUND, path, recorded_at="2026-06-01T21:00:00+02:00")
    assert "2026-06-01T21:00:03+02:00,2026-06-01T21:00:04+02:00,media,unclassified" in path.read_text("utf-8")


def test_what_a_format_cannot_hold_is_told(tmp_path: Path) -> None:
    two = [Passage(1, 2, video="a.mp4"), Passage(1, 2, video="b.mp4")]
    whole = [Passage(0, 9, "no", "answer", is_whole=True, fps=25)]
    for sentence, found, name in (
        ("is about one video, and these are 2: use one of .csv", two, "x.vtt"),
        ("counts frames, and the frame rate is not known", two, "x.edl"),
        ("there is none among what is exported", whole, "x.edl"),
        ("There is nothing to export", [], "x.csv"),
        ("ends in .csv", two, "x.doc"),
    ):
        with pytest.raises(InputError, match=sentence):
            write(found, tmp_path / name)
    with pytest.raises(InputError, match="form is one of csv"):
        write(two, tmp_path / "x.doc", form="doc")
    assert not [*tmp_path.iterdir()], "nothing was begun"


HOSTILE_FILES = {
    "entities.eaf": '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><ANNOTATION_DOCUMENT>&b;</ANNOTATION_DOCUMENT>',
    "deep.eaf": "<a>" * 5_000,
    "deep.otio": '{"a":' * 100_000,
    "huge.otio": '{"OTIO_SCHEMA":"Timeline.1","tracks":{"children":[{"OTIO_SCHEMA":"Clip.1","source_range":'
    '{"start_time":{"value":1e999,"rate":1e999},"duration":{"value":1e308,"rate":1e-308}}}]}}',
    "nan.csv": "start,end\nnan,1\n",
    "address.eaf": '<ANNOTATION_DOCUMENT><HEADER><MEDIA_DESCRIPTOR MEDIA_URL="file://[x"/></HEADER></ANNOTATION_DOCUMENT>',
    "address.otio": '{"OTIO_SCHEMA":"Timeline.1","tracks":{"children":[{"OTIO_SCHEMA":"Clip.1","source_range":'
    '{"start_time":{"value":0,"rate":25},"duration":{"value":25,"rate":25}},"media_reference":'
    '{"target_url":"file://[x"}}]}}',
    "seven.boris": '{"observations": {"a": {"events": 7}}}',
    "infinite.boris": '{"observations": {"a": {"events": [[1e999, "", "a", "", ""]]}}}',
    "kind.json": '{"atlaskit_passages": 1, "passages": [{"start_s": 0, "end_s": 1, "kind": ["x"], "fps": -1}]}',
    "frames.edl": "001  AX  V  C  00:00:01:99 00:00:02:00 00:00:00:00 00:00:00:13\n* FRAME RATE: 25\n",
    "observations.csv": "eventStart,eventEnd\nyesterday,today\n",
}


@pytest.mark.parametrize("name", HOSTILE_FILES)
def test_a_hostile_file_gets_one_sentence(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(HOSTILE_FILES[name].encode())
    try:
        found = read(path, recorded_at="2026-06-01T21:00:00+02:00")
    except InputError as error:
        assert str(error).startswith(f"{name} ") and len(str(error)) < 400 and "\n" not in str(error)
    else:
        assert name in ("huge.otio", "address.eaf", "address.otio") and len(found) <= 1


@pytest.mark.parametrize("form", [each for each in FORMATS if each.name != "camtrap-dp"], ids=lambda each: each.name)
def test_a_damaged_export_gets_a_sentence(tmp_path: Path, form: object) -> None:
    """Every cut of a file, and a file with any byte changed, is read or told in one sentence."""
    path = tmp_path / f"x{form.ending}"  # type: ignore[attr-defined]
    write(FOUND, path, videos={"film.mp4": of_rate("25")})
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        before = whole[:place]
        for data in (before, before + b"\xff" + whole[place + 1 :], before + b"9" + whole[place:]):
            path.write_bytes(data)
            try:
                read(path)
            except InputError as error:
                assert str(error).startswith(path.name)


def test_a_csv_opens_as_a_table_and_computes_nothing(tmp_path: Path) -> None:
    import pandas as pd

    risky = ['=HYPERLINK("x")', "+1", "-1", "@a", "'=1", " =1", "plain"]
    write([Passage(n, n + 1, text, label=text) for n, text in enumerate(risky)], tmp_path / "found.csv")
    rows = pd.read_csv(tmp_path / "found.csv")
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for cell in [*rows["text"], *rows["label"]])
    assert [each.text for each in read(tmp_path / "found.csv")] == risky
