"""Names of video files as people have and type them."""

from __future__ import annotations

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
    "Talk: part 1.mp4",
    "pipe:0",
    "concat:a|b.mp4",
    "file:%41.mp4",
    "frame%03d.mp4",
    "what?.mp4",
    "v.mp4#t=10,20",
    "-i.mp4",
    "two\nrows.mp4",
    "[a]*{b}.mp4",
    "фильм – 映画.mp4",
    "~me.mp4",
    " leading.mp4",
    "trailing.mp4 ",
    "back\\slash.mp4",
    "no suffix",
    "$HOME `id`.mp4",
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("clip") / "v.mp4", frames=20)


@pytest.mark.parametrize("name", NAMES)
def test_any_name_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clip: Path, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copy(clip, tmp_path / name)
    (tmp_path / "link.mp4").symlink_to(name)
    address = (tmp_path / name).as_uri()
    elsewhere = ("~/" + name, "link.mp4", address, address.replace("file://", "file://localhost"))
    for source in (name, Path(name), str(tmp_path / name), *elsewhere):
        assert frame_number(open_video(source).frames([0.5])[0]) == 12


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("https://example.org/talk.mp4", "is an address.*download it first"),
        ("youtube.com/watch?v=x", "download it first.*yt-dlp"),
        ("https://example.org/two\nrows\x1b[31m.mp4", "download it first"),
        ("https://example.org/" + "x" * 5000, "download it first"),
        ("file://server/share/x.mp4", "another machine.*copy it here"),
        ("", "empty"),
        ("a\0b.mp4", "zero byte"),
        ("x" * 300, "255 bytes"),
        ("\ud800.mp4", "half a surrogate pair"),
        ("~nobody-has-this-name/v.mp4", "no such home"),
    ],
)
def test_what_names_no_file_gives_one_sentence(address: str, sentence: str) -> None:
    with pytest.raises(ak.AtlasError, match=sentence) as caught:
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
    ("name", "meant"), [("lecture-21.mp4", "LECTURE-12.MP4"), ("b.mp4", "b.mkv"), ("other.mov", None)]
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
    path = tmp_path / "a: b%20.srt"
    path.write_text("1\n00:00:00,100 --> 00:00:00,500\nhello\n")
    for name in (path, str(path), path.as_uri(), "~/a: b%20.srt"):
        assert [line.text for line in open_video(clip, name).subtitles.lines] == ["hello"]
    with pytest.raises(SubtitleError, match=r"There is no file .* Did you mean .*a: b%20\.srt\?"):
        open_video(clip, tmp_path / "a: b20.srt")
    with pytest.raises(SubtitleError, match="download it first"):
        open_video(clip, "https://example.org/a.srt")


def test_a_name_is_as_good_as_an_open_video(clip: Path, cache: ak.Cache) -> None:
    video = open_video(clip)
    name = str(clip)
    how = {"k": 2, "cell": 64, "cache": cache}
    assert ak.view(name, **how).png() == ak.view(video, **how).png()
    assert ak.Atlas(name, **how).video.fingerprint == video.fingerprint
    assert ak.widgets.GridExplorer(name, **how).atlas.video.fingerprint == video.fingerprint
    assert ak.view([name, name], **how).grid.end_s == pytest.approx(2 * video.duration_s)
