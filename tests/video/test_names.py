"""Names of video files as people have and type them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from unicodedata import normalize

import pytest
from support.media import frame_number, make_video

import atlaskit as ak
from atlaskit.errors import SubtitleError, VideoError
from atlaskit.video.names import local_path
from atlaskit.video.opening import open_video

NAMES = [
    *("Talk: part 1.mp4", "2024-08-20T13:28:35Z.mp4", "pipe:0", "concat:a|b.mp4", "data:,x.mp4", "http:video.mp4"),
    *("file:%41.mp4", "a 'quoted' \"name\".mp4", "100 % sure.mp4", "frame%03d.mp4", "what?.mp4", "part #1.mp4"),
    *("-i.mp4", "two\nrows.mp4", "[a]*{b}.mp4", "фильм – 映画.mp4", "é.mp4", "~me.mp4", " leading.mp4"),
    *("trailing.mp4 ", "back\\slash.mp4", "no suffix", "file:", "youtube.com", "v.mp4#t=10,20", "tab\there.mp4"),
    *("$HOME `id`.mp4", "%2e%2e.mp4", "subfile,,start,0,end,9,,:x.mp4", "lavfi:testsrc.mp4"),
]  # fmt: skip


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("clip") / "v.mp4", frames=20)


@pytest.mark.parametrize("name", NAMES)
def test_any_name_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clip: Path, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(clip, tmp_path / name)
    for source in (name, Path(name), tmp_path / name, str(tmp_path / name), (tmp_path / name).as_uri()):
        assert frame_number(open_video(source).frames([0.5])[0]) == 12


def test_a_link_and_a_home_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clip: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copy(clip, tmp_path / "v.mp4")
    (tmp_path / "link.mp4").symlink_to("v.mp4")
    assert open_video("~/v.mp4").duration_s == open_video(tmp_path / "link.mp4").duration_s
    assert open_video(["~/v.mp4", tmp_path / "link.mp4"]).duration_s == pytest.approx(1.6)
    assert open_video(f"file://localhost{tmp_path}/v.mp4").name == "v.mp4"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("https://example.org/talk.mp4", "is an address.*download it first"),
        ("https://www.youtube.com/watch?v=x", "download it first.*yt-dlp"),
        ("s3://bucket/talk.mp4", "download it first"),
        ("rtsp://camera/1", "download it first"),
        ("http://[broken", "download it first"),
        ("youtube.com/watch?v=x", "download it first.*yt-dlp"),
        ("https://youtube.com.example.org/x.mp4", "is an address"),
        ("https://example.org/two\nrows\x1b[31m.mp4", "download it first"),
        ("https://example.org/" + "x" * 5000, "download it first"),
        ("file://server/share/x.mp4", "another machine.*copy it here"),
    ],
)
def test_an_address_gives_one_sentence(address: str, sentence: str) -> None:
    with pytest.raises(VideoError, match=sentence) as caught:
        open_video(address)
    assert "\n" not in str(caught.value)


def test_accents_in_either_form_find_the_file(tmp_path: Path, clip: Path) -> None:
    composed, decomposed = normalize("NFC", "Vidéo.mp4"), normalize("NFD", "Vidéo.mp4")
    shutil.copy(clip, tmp_path / decomposed)
    assert local_path(tmp_path / composed) == tmp_path / decomposed
    assert local_path((tmp_path / composed).as_uri()) == tmp_path / decomposed
    shutil.copy(clip, tmp_path / composed)  # both exist: each name means its own
    assert local_path(tmp_path / composed) == tmp_path / composed


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        *(("", "empty"), ("a\0b.mp4", "zero byte"), ("file:///a%00b.mp4", "zero byte"), ("x" * 300, "255 bytes")),
        *(("é" * 200, "255 bytes"), ("a/" * 4000, "cannot be read"), ("\ud800.mp4", "half a surrogate pair")),
        ("~nobody-has-this-name/v.mp4", "no such home"),
    ],
)
def test_what_no_file_is_called_gives_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(ak.AtlasError, match=sentence):
        open_video(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("lecture-21.mp4", "LECTURE-12.MP4"), ("lecture-12.mp4", "LECTURE-12.MP4"), ("b.mp4", "b.mkv")),
        *(("other.mov", None), ("nowhere/b.mp4", None)),
    ],
)
def test_a_missing_file_names_the_one_that_may_be_meant(
    tmp_path: Path, clip: Path, name: str, meant: str | None
) -> None:
    """It differs in a few letters, in case, or in its suffix."""
    shutil.copy(clip, tmp_path / "LECTURE-12.MP4")
    shutil.copy(clip, tmp_path / "b.mkv")
    with pytest.raises(VideoError) as caught:
        open_video(tmp_path / name)
    hint = f" Did you mean {tmp_path / meant}?" if meant else ""
    assert str(caught.value) == f"There is no file {tmp_path / name}.{hint}"


def test_subtitles_are_named_as_videos_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clip: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a: b%20.srt").write_text("1\n00:00:00,100 --> 00:00:00,500\nhello\n")
    path = tmp_path / "a: b%20.srt"
    for name in (path, str(path), path.as_uri(), "~/a: b%20.srt"):
        assert [line.text for line in open_video(clip, name).subtitles.lines] == ["hello"]
    with pytest.raises(SubtitleError, match=r"There is no file .* Did you mean .*a: b%20\.srt\?"):
        open_video(clip, tmp_path / "a: b20.srt")
    with pytest.raises(SubtitleError, match="download it first"):
        open_video(clip, "https://example.org/a.srt")


def test_a_name_that_is_no_text_does_not_break_a_record(tmp_path: Path, clip: Path) -> None:
    path = tmp_path / os.fsdecode(b"latin-\xe9.mp4")
    shutil.copy(clip, path)
    video = open_video(path)
    video.name.encode()
    video._repr_html_().encode()  # type: ignore[attr-defined]
    assert video.name == "latin-\ufffd.mp4"


def test_a_name_is_as_good_as_an_open_video(tmp_path: Path, clip: Path) -> None:
    cache = ak.Cache(tmp_path / "cache")
    video, name = open_video(clip), str(clip)
    assert ak.view(name, k=2, cell=64, cache=cache).png() == ak.view(video, k=2, cell=64, cache=cache).png()
    assert ak.Atlas(name, k=2, cell=64, cache=cache).video.fingerprint == video.fingerprint
    assert ak.widgets.GridExplorer(name, k=2, cell=64, cache=cache).atlas.video.fingerprint == video.fingerprint
    assert ak.view([name, name], k=2, cell=64, cache=cache).grid.end_s == pytest.approx(2 * video.duration_s)
