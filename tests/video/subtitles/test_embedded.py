"""Text tracks inside video files: the right one is read, with its letters, at its times."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import av
import pytest
from av.packet import Packet
from av.stream import Disposition
from support.media import make_video, numbered_frame
from video.subtitle_files import damage, is_valid, texts_of

from atlaskit.errors import InputError, SubtitleError
from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import Line, read_embedded
from atlaskit.video.tracks import same_language

Row = tuple[float, float, bytes]
"""Start and end in seconds, and the bytes of a packet."""


def packet(text: str, codec: str) -> bytes:
    """Return a text as a codec packs it."""
    data = text.encode()
    if codec == "mov_text":
        return len(data).to_bytes(2, "big") + data
    return b"0,0,Default,,0,0,0,," + data if codec == "ass" else data


def said(*texts: str) -> list[Row]:
    """Return a track with a line in each second."""
    return [(float(number), number + 1.0, text.encode()) for number, text in enumerate(texts)]


def video_with(path: Path, *tracks: list[Row], codec: str = "subrip", **marks: list[str]) -> Path:
    """Make a short video with text tracks, each with its language, title and marks."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libvpx" if path.suffix == ".webm" else "libx264", rate=25)
        video.width, video.height, video.pix_fmt = 320, 180, "yuv420p"
        streams = [container.add_mux_stream(codec, time_base=Fraction(1, 1000)) for _ in tracks]
        for number, stream in enumerate(streams):
            named = {name: values[number] for name, values in marks.items()}
            stream.metadata.update({name: named[name] for name in ("language", "title") if name in named})
            stream.disposition = sum((Disposition[name] for name in ("default", "forced") if named.get(name)), 0)
        container.start_encoding()
        frame = numbered_frame(0)
        frame.pts, frame.time_base = 0, Fraction(1, 25)
        container.mux([*video.encode(frame), *video.encode()])
        for stream, rows in zip(streams, tracks, strict=True):
            for start_s, end_s, data in rows:
                line = Packet(data)
                line.stream, line.time_base = stream, Fraction(1, 1000)
                line.pts = line.dts = round(start_s * 1000)
                line.duration = round((end_s - start_s) * 1000)
                container.mux(line)
    return path


@pytest.mark.parametrize(
    ("name", "codec", "first"),
    [
        ("a.mp4", "mov_text", "Hello\nWörld"),
        ("a.mkv", "subrip", "<i>Hello</i>\nWörld"),
        ("a.mkv", "ass", "{\\i1}Hello{\\i0}\\NWörld"),
        ("a.webm", "webvtt", "<v Ann>Hello</v>\nWörld"),
    ],
)
def test_an_embedded_track_is_read(tmp_path: Path, name: str, codec: str, first: str) -> None:
    rows = [(0.5, 1.5, packet(first, codec)), (1.5, 2.0, packet("Second", codec)), (2.2, 2.8, packet("三", codec))]
    path = video_with(tmp_path / name, rows, codec=codec)
    assert read_embedded(path).lines == (Line(0.5, 1.5, "Hello Wörld"), Line(1.5, 2.0, "Second"), Line(2.2, 2.8, "三"))
    shown = read_embedded(path, origin_s=1.0, duration_s=1.5).lines
    assert shown == (Line(0.0, 0.5, "Hello Wörld"), Line(0.5, 1.0, "Second"), Line(pytest.approx(1.2), 1.5, "三"))


UMLAUTS = ["Grüße aus Köln, schöne Straße", "Die Männer hören die Vögel", "Übermorgen fährt er für Ärzte"]
UTF_16 = "Grüße 三".encode("utf-16")


@pytest.mark.parametrize(
    ("name", "codec", "packets", "texts"),
    [
        ("a.mp4", "mov_text", [len(UTF_16).to_bytes(2, "big") + UTF_16], ["Grüße 三"]),
        ("a.mkv", "subrip", [text.encode("cp1252") for text in UMLAUTS], UMLAUTS),
        ("a.mkv", "webvtt", [b"{a} C:\\x &amp; <v Ann>b</v>"], ["{a} C:\\x & b"]),
    ],
)
def test_a_track_has_its_letters(tmp_path: Path, name: str, codec: str, packets: list[bytes], texts: list[str]) -> None:
    rows = [(float(number), number + 0.9, data) for number, data in enumerate(packets)]
    assert texts_of(read_embedded(video_with(tmp_path / name, rows, codec=codec))) == texts


def test_a_track_is_chosen_by_language_number_or_title(tmp_path: Path) -> None:
    """Else it is the default one, or the first."""
    tracks = [said("one"), said("two"), said("sixth")]
    how = {"language": ["eng", "ger", "ger"], "title": ["", "Untertitel", ""]}
    first = video_with(tmp_path / "first.mkv", *tracks, **how)
    path = video_with(tmp_path / "default.mkv", *tracks, **how, default=["", "", "yes"])
    assert texts_of(read_embedded(first)) == ["one"], "although a track of another language is fuller"
    assert texts_of(read_embedded(first, language="ger")) == ["sixth"]
    assert texts_of(read_embedded(path)) == ["sixth"] and texts_of(read_embedded(path, language="eng")) == ["one"]
    assert texts_of(open_video(path, "embedded", subtitles_track=1).subtitles) == ["two"]
    assert texts_of(open_video(path, "embedded", subtitles_track="Untertitel").subtitles) == ["two"]
    assert texts_of(open_video([path, path], [None, "embedded"], language="German").subtitles) == ["sixth"]
    listed = ["0: eng", "1: ger 'Untertitel'", "2: ger (default)"]
    assert [str(track) for track in open_video(path).subtitle_tracks] == listed
    with pytest.raises(SubtitleError, match="in language 'fre': choose from 0: eng; 1: ger 'Untertitel'; 2: ger"):
        read_embedded(path, language="fre")
    with pytest.raises(SubtitleError, match="no subtitle track 7: choose from 0: eng; 1: ger 'Untertitel'"):
        open_video(path, "embedded", subtitles_track=7)
    with pytest.raises(InputError, match="A language is a code or a name"):
        open_video(path, "embedded", language="gibberish")
    norwegian = video_with(tmp_path / "norwegian.mkv", *tracks, language=["nob", "nor", "nno"])
    assert texts_of(read_embedded(norwegian, language="Norwegian")) == ["two"], "just this language, if it is there"
    with pytest.raises(InputError, match='give subtitles="embedded"'):
        open_video(path, language="en")


SIGN = [(0.0, 2.9, b"EXIT, in letters as long as all that is said here, or longer")]
FULL = ["all that is said", "and the rest"]


@pytest.mark.parametrize(
    "marks",
    [
        {"forced": ["yes", "", ""], "default": ["yes", "", ""]},
        {"title": ["Signs & Songs", "", "Full"], "default": ["yes", "", ""]},
        {"title": ["Director's commentary", "SDH", ""]},
        {"title": ["English (forced)", "English", "English"]},
    ],
)
def test_the_fullest_track_of_a_language_is_read_and_never_a_partial_one(
    tmp_path: Path, marks: dict[str, list[str]]
) -> None:
    path = video_with(tmp_path / "a.mkv", SIGN, said(*FULL), said("some"), **{"language": ["eng"] * 3, **marks})
    assert texts_of(read_embedded(path)) == FULL
    alone = video_with(tmp_path / "alone.mkv", SIGN, language=["eng"], forced=["yes"])
    assert len(read_embedded(alone).lines) == 1, "a forced track is better than none"


def test_a_video_without_readable_subtitles_raises_one_sentence(tmp_path: Path) -> None:
    playlist = tmp_path / "list.m3u8"
    playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n{tmp_path}/none.ts\n#EXT-X-ENDLIST\n")
    (tmp_path / "text.mp4").write_text("no video")
    images = video_with(tmp_path / "dvd.mkv", [(0.0, 1.0, b"\0\4\0\2")], codec="dvd_subtitle")
    captions = video_with(tmp_path / "c608.mp4", [(0.0, 1.0, packet("Hello", "mov_text"))], codec="mov_text")
    captions.write_bytes(captions.read_bytes().replace(b"tx3g", b"c608"))
    for path, sentence in [
        (captions, r"cannot be read \(closed captions, CEA-608\)"),
        (make_video(tmp_path / "none.mp4", frames=5), "has no subtitle track"),
        (images, r"cannot be read \(images, VobSub\)"),
        (tmp_path / "missing.mp4", "cannot be read .No such file"),
        (tmp_path / "text.mp4", "cannot be read"),
        (playlist, "is a list of other files"),
        (Path("zero\0.mp4"), "cannot be read"),
    ]:
        with pytest.raises(SubtitleError, match=sentence) as error:
            read_embedded(path)
        assert str(error.value).endswith(".") and "\n" not in str(error.value)


def test_a_damaged_video_gives_lines_or_one_sentence(tmp_path: Path) -> None:
    rows = [(number * 0.5, number * 0.5 + 0.5, packet(f"line {number}", "ass")) for number in range(6)]
    path = video_with(tmp_path / "a.mkv", rows, codec="ass")
    data = path.read_bytes()
    rng = random.Random(3)
    read = 0
    for _ in range(40):
        path.write_bytes(damage(data, rng))
        try:
            track = read_embedded(path, duration_s=3.0)
        except SubtitleError as error:
            assert str(error).endswith(".")
        else:
            read += len(track) > 0
            assert is_valid(track)
    assert read > 5


def test_languages_have_many_names() -> None:
    for wanted, tag in (("Greek", "gre"), ("de-AT", "ger"), ("German", "deu"), ("en", "eng"), ("Norwegian", "nob")):
        assert same_language(wanted, tag) and not same_language(wanted, "fre")
    assert not same_language("cantonese", "cmn") and not same_language("nno", "nob"), "they share a macrolanguage"
