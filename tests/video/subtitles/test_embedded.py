"""Text tracks inside video files."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import pytest
from av.packet import Packet
from av.stream import Disposition
from av.subtitles.subtitle import SubtitleSet
from support.media import make_video, numbered_frame
from video.subtitle_files import ASS_HEADER, damage, is_valid, texts_of

from atlaskit.errors import InputError, SubtitleError
from atlaskit.video.opening import open_video
from atlaskit.video.subtitles import Line, read_embedded
from atlaskit.video.subtitles.embedded import _candidates
from atlaskit.video.tracks import Track, same_language

SPOKEN = [(0.5, 1.5, "{\\i1}Hello{\\i0}\\NWörld"), (1.5, 2.0, "Second"), (2.2, 2.8, "三")]


SPOKEN_LINES = (Line(0.5, 1.5, "Hello Wörld"), Line(1.5, 2.0, "Second"), Line(2.2, 2.8, "三"))


CODECS = [("a.mp4", "mov_text"), ("a.mkv", "subrip"), ("a.mkv", "ass"), ("a.mkv", "webvtt"), ("a.webm", "webvtt")]


def subtitled_video(
    path: Path, *tracks: list[tuple[float, float, str]], codec: str = "subrip", **metadata: list[str]
) -> Path:
    """Make a video of three seconds with text tracks; a line of duration 0 is muxed without one."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libvpx" if path.suffix == ".webm" else "libx264", rate=25)
        video.width, video.height, video.pix_fmt = 320, 180, "yuv420p"
        video.options = {"deadline": "realtime", "cpu-used": "8"} if path.suffix == ".webm" else {}
        streams = []
        for place, _ in enumerate(tracks):
            stream = container.add_stream(codec)
            stream.codec_context.subtitle_header = ASS_HEADER.encode()
            stream.codec_context.time_base = Fraction(1, 1000)
            if "language" in metadata:
                stream.metadata["language"] = metadata["language"][place]
            if "title" in metadata:
                stream.metadata["title"] = metadata["title"][place]
            if "default" in metadata or "forced" in metadata:
                marks = [Disposition[mark] for mark in ("default", "forced") if metadata.get(mark, [""] * 9)[place]]
                stream.disposition = sum(marks, Disposition(0))
            streams.append(stream)
        container.start_encoding()
        packets = [packet for index in range(75) for packet in video.encode(timed_frame(index))] + video.encode()
        for stream, lines in zip(streams, tracks, strict=True):
            for number, (start, end, text) in enumerate(lines):
                event = f"{number},0,Default,,0,0,0,,{text}".encode()
                milliseconds = round((end - start) * 1000)
                packet = stream.codec_context.encode_subtitle(
                    SubtitleSet.create(event, 0, milliseconds, round(start * 1000))
                )
                packet.stream, packet.time_base = stream, Fraction(1, 1000)
                packets.append(packet)
        for packet in sorted(packets, key=lambda packet: packet.dts * packet.time_base):
            container.mux(packet)
    return path


def timed_frame(index: int) -> av.VideoFrame:
    frame = numbered_frame(index)
    frame.pts, frame.time_base = index, Fraction(1, 25)
    return frame


def packet_track(path: Path, codec: str, packets: Sequence[tuple[int, int | None, bytes]]) -> Path:
    """Make a text track of raw packets: start and duration in milliseconds, and the bytes."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=25)
        video.width, video.height, video.pix_fmt = 320, 180, "yuv420p"
        track = container.add_mux_stream(codec, time_base=Fraction(1, 1000))
        container.start_encoding()
        container.mux(video.encode(timed_frame(0)))
        container.mux(video.encode())
        for start, length, data in packets:
            packet = Packet(data)
            packet.stream, packet.time_base, packet.pts, packet.dts = track, Fraction(1, 1000), start, start
            if length is not None:
                packet.duration = length
            container.mux(packet)
    return path


@pytest.mark.family
@pytest.mark.parametrize(("name", "codec"), CODECS)
def test_an_embedded_track_is_read(tmp_path: Path, name: str, codec: str) -> None:
    path = subtitled_video(tmp_path / name, SPOKEN, codec=codec)
    assert read_embedded(path).lines == SPOKEN_LINES
    assert read_embedded(str(path), origin_s=1.0, duration_s=1.5).lines == (
        Line(0.0, 0.5, "Hello Wörld"),
        Line(0.5, 1.0, "Second"),
        Line(pytest.approx(1.2), 1.5, "三"),
    )


UMLAUTS = ("Grüße aus Köln, schöne Straße", "Die Männer hören die Vögel", "Übermorgen fährt er für Ärzte")
UTF_16 = "Grüße 三".encode("utf-16")


@pytest.mark.parametrize(
    ("name", "codec", "packets", "texts"),
    [
        ("a.mp4", "mov_text", [len(UTF_16).to_bytes(2, "big") + UTF_16], ["Grüße 三"]),
        ("a.mkv", "subrip", [text.encode("cp1252") for text in UMLAUTS], list(UMLAUTS)),
        ("b.mkv", "webvtt", [b"{a} C:\\x &amp; <v Ann>b</v>"], ["{a} C:\\x & b"]),
    ],
)
def test_a_track_has_its_letters(tmp_path: Path, name: str, codec: str, packets: list[bytes], texts: list[str]) -> None:
    timed = [(1000 * number, 900, packet) for number, packet in enumerate(packets)]
    assert texts_of(read_embedded(packet_track(tmp_path / name, codec, timed))) == texts


def test_the_default_track_of_a_language_is_chosen_else_the_first(tmp_path: Path) -> None:
    tracks = [[(0.0, 1.0, word)] for word in ("one", "two", "six")]
    languages = ["eng", "ger", "ger"]
    path = subtitled_video(tmp_path / "a.mkv", *tracks, language=languages, default=["", "", "yes"])
    assert texts_of(read_embedded(path)) == ["six"]
    assert texts_of(read_embedded(path, language="eng")) == ["one"]
    assert texts_of(read_embedded(path, language="ger")) == ["six"]
    first = subtitled_video(tmp_path / "b.mkv", *tracks, language=languages, default=["", "", ""])
    assert texts_of(read_embedded(first)) == ["one"] and texts_of(read_embedded(first, language="ger")) == ["two"]
    with pytest.raises(SubtitleError, match="in language 'fre': choose from 0: eng; 1: ger; 2: ger .default"):
        read_embedded(path, language="fre")


def test_the_fullest_track_of_a_language_is_read_and_never_a_partial_one(tmp_path: Path) -> None:
    full = [(0.0, 1.0, "all that is said"), (1.0, 2.0, "and the rest")]
    sign = [(0.0, 2.9, "EXIT, in letters as long as all that is said here, or longer")]
    few = [(0.0, 1.0, "some")]
    for number, marks in enumerate(
        (
            {"forced": ["yes", "", ""], "default": ["yes", "", ""]},
            {"title": ["Signs & Songs", "", "Full"], "default": ["yes", "", ""]},
            {"title": ["Director's commentary", "SDH", ""]},
            {"title": ["English (forced)", "English", "English"]},
        )
    ):
        path = subtitled_video(tmp_path / f"{number}.mkv", sign, full, few, language=["eng"] * 3, **marks)
        assert texts_of(read_embedded(path)) == ["all that is said", "and the rest"], marks
    alone = subtitled_video(tmp_path / "alone.mkv", sign, language=["eng"], forced=["yes"])
    assert len(read_embedded(alone).lines) == 1, "a forced track is better than none"


def test_a_track_is_chosen_by_number_or_title(tmp_path: Path) -> None:
    tracks = [[(0.0, 1.0, word)] for word in ("one", "two")]
    path = subtitled_video(tmp_path / "a.mkv", *tracks, language=["eng", "ger"], title=["", "Untertitel"])
    assert texts_of(open_video(path, "embedded", subtitles_track=1).subtitles) == ["two"]
    assert texts_of(open_video(path, "embedded", subtitles_track="Untertitel").subtitles) == ["two"]
    assert [str(track) for track in open_video(path).subtitle_tracks] == ["0: eng", "1: ger 'Untertitel'"]
    with pytest.raises(SubtitleError, match="no subtitle track 7: choose from 0: eng; 1: ger 'Untertitel'"):
        open_video(path, "embedded", subtitles_track=7)
    with pytest.raises(InputError, match="A language is a code or a name"):
        open_video(path, "embedded", language="gibberish")
    with pytest.raises(InputError, match='give subtitles="embedded"'):
        open_video(path, language="en")
    assert texts_of(open_video([path, path], [None, "embedded"], language="German").subtitles) == ["two"]


def test_a_video_without_readable_subtitles_raises_one_sentence(tmp_path: Path) -> None:
    playlist = tmp_path / "list.m3u8"
    playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n{tmp_path}/none.ts\n#EXT-X-ENDLIST\n")
    (tmp_path / "text.mp4").write_text("no video")
    (tmp_path / "folder.mp4").mkdir()
    for path, sentence in [
        (make_video(tmp_path / "none.mp4", frames=5), "has no subtitle track"),
        (make_video(tmp_path / "none.ts", frames=5), "has no subtitle track"),
        (
            packet_track(tmp_path / "dvd.mkv", "dvd_subtitle", [(0, 1000, b"\0\4\0\2")]),
            r"cannot be read \(images, VobSub\)",
        ),
        (tmp_path / "missing.mp4", "cannot be read .No such file"),
        (tmp_path / "folder.mp4", "cannot be read"),
        (tmp_path / "text.mp4", "cannot be read"),
        (playlist, "is a list of other files"),
        (Path("zero\0.mp4"), "cannot be read"),
    ]:
        with pytest.raises(SubtitleError, match=sentence) as error:
            read_embedded(path)
        assert str(error.value).endswith(".") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("letters", "kind"),
    [(b"c608", "closed captions, CEA-608"), (b"stpp", "TTML in MP4"), (b"wvtt", "WebVTT in MP4")],
)
def test_text_that_cannot_be_read_is_named(tmp_path: Path, letters: bytes, kind: str) -> None:
    path = subtitled_video(tmp_path / "a.mp4", SPOKEN, codec="mov_text")
    path.write_bytes(path.read_bytes().replace(b"tx3g", letters))
    with pytest.raises(SubtitleError, match=rf"cannot be read \({kind}\)"):
        read_embedded(path)


@pytest.mark.parametrize(("name", "codec"), [("a.mp4", "mov_text"), ("a.mkv", "ass")])
def test_a_damaged_video_gives_lines_or_one_sentence(tmp_path: Path, name: str, codec: str) -> None:
    data = subtitled_video(tmp_path / name, SPOKEN, codec=codec).read_bytes()
    rng, read = random.Random(3), 0
    for _ in range(40):
        (tmp_path / name).write_bytes(damage(data, rng))
        try:
            track = read_embedded(tmp_path / name, duration_s=3.0)
        except SubtitleError as error:
            assert str(error).endswith(".")
        else:
            read += len(track) > 0
            assert is_valid(track)
    assert read > 5


def test_a_forced_default_in_another_language_gives_way_to_a_whole_track() -> None:
    signs = Track(0, "ger", "", "subrip", True, True)
    english = Track(1, "eng", "", "subrip", False, False)
    german = Track(2, "ger", "Deutsch", "subrip", False, False)
    assert _candidates("a.mkv", [signs, english], None, None) == [english]
    assert _candidates("a.mkv", [signs, english, german], None, None) == [german]
    assert _candidates("a.mkv", [signs, english], "German", None) == [signs]


NAMES = "Greek gre, de-AT ger, German ger, deu ger, en eng, zh-Hans chi, Farsi per, pt-BR por, Norwegian nob"


@pytest.mark.parametrize(("wanted", "tag"), [pair.split() for pair in NAMES.split(", ")])
def test_languages_have_many_names(wanted: str, tag: str) -> None:
    assert same_language(wanted, tag) and not same_language(wanted, "fre")
