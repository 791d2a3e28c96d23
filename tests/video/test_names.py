"""Names of video files as people have and type them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.media import frame_number, make_video

import atlaskit as ak
from atlaskit.errors import InputError, VideoError
from atlaskit.video.names import local_path, media_url
from atlaskit.video.opening import open_video

NAMES = [
    *(
        "Talk: part 1.mp4",
        "2024-08-20T13:28:35Z.mp4",
        "Lecture 3: trees.mp4",
        "pipe:0",
        "concat:a|b.mp4",
        "data:,x.mp4",
    ),
    *("http:video.mp4", "file:video.mp4", "file:%41.mp4", "a 'quoted' \"name\".mp4", "100 % sure.mp4", "frame%03d.mp4"),
    *(
        "what?.mp4",
        "part #1.mp4",
        "-i.mp4",
        "two\nrows.mp4",
        "[a]*{b}.mp4",
        "фильм – 映画.mp4",
        "é.mp4",
        "~.mp4",
        "~me.mp4",
    ),
    *(
        " leading.mp4",
        "trailing.mp4 ",
        "semi;colon&amp.mp4",
        "back\\slash.mp4",
        "a,b=c@d.mp4",
        "no suffix",
        ".hidden.mp4",
    ),
    *("crypto:x.mp4", "subfile,,start,0,end,9,,:x.mp4", "async:cache:x.mp4", "x.mp4|y.mp4", "lavfi:testsrc.mp4"),
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("clip") / "v.mp4", frames=20)


@pytest.mark.parametrize("name", NAMES)
def test_any_name_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clip: Path, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(clip, tmp_path / name)
    for source in (name, Path(name), tmp_path / name, str(tmp_path / name), (tmp_path / name).as_uri()):
        assert frame_number(open_video(source).frames([0.5])[0]) == 12


def test_a_name_that_is_no_text_opens(tmp_path: Path, clip: Path) -> None:
    path = tmp_path / os.fsdecode(b"latin-\xe9.mp4")
    shutil.copy(clip, path)
    assert frame_number(open_video(path).frames([0.5])[0]) == 12
    assert frame_number(open_video(path.as_uri()).frames([0.5])[0]) == 12


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
        ("HTTP://example.org/talk.mp4", "is an address.*download it first"),
        ("https://www.youtube.com/watch?v=x", "page with a video.*yt-dlp"),
        ("https://youtu.be/x", "yt-dlp"),
        ("s3://bucket/talk.mp4", "download it first"),
        ("rtsp://camera/1", "download it first"),
        ("gs://bucket/x.mp4", "download it first"),
        ("http://[broken", "download it first"),
        ("file://server/share/x.mp4", "another machine.*copy it here"),
    ],
)
def test_an_address_gives_one_sentence(address: str, sentence: str) -> None:
    with pytest.raises(VideoError, match=sentence) as caught:
        open_video(address)
    assert "\n" not in str(caught.value)


def test_a_missing_file_names_the_one_that_may_be_meant(tmp_path: Path, clip: Path) -> None:
    shutil.copy(clip, tmp_path / "lecture-12.mp4")
    with pytest.raises(VideoError, match=r"There is no file .*lecture-21\.mp4\. Did you mean .*lecture-12\.mp4\?"):
        open_video(tmp_path / "lecture-21.mp4")
    with pytest.raises(VideoError, match=r"There is no file .*other\.mov\.$"):
        open_video(tmp_path / "other.mov")


@pytest.mark.parametrize("wrong", [3, None, b"v.mp4", object()])
def test_what_is_no_name_is_refused(wrong: object) -> None:
    with pytest.raises(InputError):
        local_path(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        open_video(wrong)  # type: ignore[arg-type]


def test_a_path_can_only_mean_a_local_file() -> None:
    assert media_url("pipe:0").startswith("file:/") and media_url("/a/b%20c?.mp4") == "file:/a/b%20c?.mp4"


def test_a_name_is_as_good_as_an_open_video(tmp_path: Path, clip: Path) -> None:
    cache = ak.Cache(tmp_path / "cache")
    video, name = open_video(clip), str(clip)
    assert ak.view(name, k=2, cell=64, cache=cache).png() == ak.view(video, k=2, cell=64, cache=cache).png()
    assert ak.Atlas(name, k=2, cell=64, cache=cache).video.fingerprint == video.fingerprint
    assert ak.widgets.GridExplorer(name, k=2, cell=64, cache=cache).atlas.video.fingerprint == video.fingerprint
    assert ak.view([name, name], k=2, cell=64, cache=cache).grid.end_s == pytest.approx(2 * video.duration_s)
