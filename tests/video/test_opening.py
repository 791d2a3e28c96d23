"""Opening videos by fingerprint, with facts and lines from the cache instead of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.media import make_video
from support.speaking import speaking_video

from atlaskit.caching.cache import Cache
from atlaskit.environment.render import View, view
from atlaskit.errors import InputError, SubtitleError, SubtitleWarning, VideoError
from atlaskit.video import file
from atlaskit.video.file import VideoFile, _open_reader
from atlaskit.video.opening import open_video
from atlaskit.video.records import VIDEO, remember_video
from atlaskit.video.subtitles import Line, Subtitles

SRT = "1\n00:00:01,000 --> 00:00:02,500\nGrüß Gott\n\n2\n00:00:05,000 --> 00:00:06,000\n<b>a & b</b>\n"


@pytest.fixture
def remembered(tmp_path: Path, cache: Cache) -> VideoFile:
    """A video with subtitles that the cache remembers."""
    (tmp_path / "v.srt").write_text(SRT, encoding="utf-8")
    video = open_video(make_video(tmp_path / "v.mp4"), tmp_path / "v.srt")
    assert isinstance(video, VideoFile)
    remember_video(video, cache)
    return video


def have_same_facts(one: object, other: object) -> bool:
    facts = ("name", "duration_s", "fps", "size", "fingerprint", "subtitles")
    return all(getattr(one, name) == getattr(other, name) for name in facts)


def test_a_video_is_recalled_by_its_fingerprint_alone(remembered: VideoFile, cache: Cache, tmp_path: Path) -> None:
    wide = open_video(make_video(tmp_path / "wide.mkv", "ffv1", 1, size=(17_000, 20)))  # no request may be so wide
    remember_video(wide, cache)
    assert wide.frame(0.0).size == open_video(fingerprint=wide.fingerprint, cache=cache).size == (17_000, 20)
    remembered.path.unlink()
    assert have_same_facts(open_video(fingerprint=remembered.fingerprint, cache=cache), remembered)
    with pytest.raises(VideoError, match=r"v.mp4 is missing \(no file was given\)"):
        open_video(fingerprint=remembered.fingerprint, cache=cache).frame(1.0)


def test_a_file_is_opened_only_when_a_frame_is_needed(
    remembered: VideoFile, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def noted(path: Path, *rest: Any) -> Any:
        opened.append(path)
        return _open_reader(path, *rest)

    def recalled() -> View:
        video = open_video(remembered.path, fingerprint=remembered.fingerprint, cache=cache)
        return view(video, k=2, cell=32, cache=cache)

    monkeypatch.setattr(file, "_open_reader", noted)
    sheet = recalled()
    drawn = view(remembered, k=2, cell=32, cache=Cache(None))
    assert opened == [] and sheet.key == drawn.key
    assert sheet.jpeg() == drawn.jpeg() and opened == [remembered.path]
    assert recalled().jpeg() == sheet.jpeg() and opened == [remembered.path], "a view that is cached needs no file"


def test_an_unknown_or_another_video_is_an_error(remembered: VideoFile, cache: Cache, tmp_path: Path) -> None:
    fingerprint = remembered.fingerprint
    empty = Cache(None)
    assert isinstance(open_video(remembered.path, fingerprint=fingerprint, cache=empty), VideoFile)
    other = make_video(tmp_path / "other.mp4", frames=100)
    with pytest.raises(VideoError, match="other.mp4 is another video"):
        open_video(other, fingerprint=fingerprint, cache=cache).frame(1.0)
    with pytest.raises(VideoError, match="other.mp4 is another video"):
        open_video(other, fingerprint=fingerprint, cache=empty)
    with pytest.raises(VideoError, match="is another video"):
        open_video(remembered, fingerprint="0" * 64)
    with pytest.raises(VideoError, match="knows no video of this fingerprint"):
        open_video(fingerprint=fingerprint, cache=empty)
    with pytest.raises(VideoError, match="There is no file"):
        open_video(tmp_path / "none.mp4", fingerprint=fingerprint, cache=empty)
    with pytest.raises(InputError, match="or the fingerprint"):
        open_video()
    with pytest.raises(InputError, match="fingerprint must be the"):
        open_video(fingerprint="a b", cache=cache)


def test_given_subtitles_take_precedence_over_cached_ones(remembered: VideoFile, cache: Cache, tmp_path: Path) -> None:
    open_it = {"fingerprint": remembered.fingerprint, "cache": cache}
    own = Subtitles((Line(0.0, 1.0, "mine"),))
    missing = tmp_path / "none.srt"
    assert len(open_video(remembered.path, **open_it).subtitles) == 0
    for source in (remembered.path, None):
        assert open_video(source, own, **open_it).subtitles == own
        with pytest.raises(SubtitleError, match="There is no file"):
            open_video(source, missing, **open_it)
    with pytest.raises(SubtitleError, match="has no subtitle track"):  # the file exists, so its track is read
        open_video(remembered.path, "embedded", **open_it)
    assert open_video(tmp_path / "gone.mp4", "embedded", **open_it).subtitles == remembered.subtitles
    cache.prune(kinds={"lines"})
    with pytest.raises(VideoError, match="does not hold the subtitles"):
        open_video(**open_it)


def test_a_playlist_is_recalled_with_or_without_its_files(tmp_path: Path, cache: Cache) -> None:
    paths = [make_video(tmp_path / "1.mp4", frames=50), make_video(tmp_path / "2.mp4", frames=75)]
    (tmp_path / "v.srt").write_text(SRT, encoding="utf-8")
    whole = open_video([*paths, paths[0]], [tmp_path / "v.srt", None, None])
    remember_video(whole, cache)
    sheet = view(whole, k=3, cell=32, cache=cache).jpeg()
    named = open_video([*paths, paths[0]], fingerprint=whole.fingerprint, cache=cache)
    assert named.frames_decoded == 0 and (named.frames([0.1, 4.9]) == whole.frames([0.1, 4.9])).all()
    for path in paths:
        path.unlink()
    gone = open_video(fingerprint=whole.fingerprint, cache=cache)
    assert have_same_facts(gone, whole) and view(gone, k=3, cell=32, cache=cache).jpeg() == sheet
    for time_s in (0.1, 2.5, 5.1):
        assert gone.locate(time_s)[0].fingerprint == whole.locate(time_s)[0].fingerprint


@pytest.mark.family
@pytest.mark.parametrize(
    "change",
    [{"parts": "itself"}, {"duration_s": "long"}, {"duration_s": 1e308}, {"size": [10, 10**6]}, {"name": None}],
    ids=str,
)
def test_malformed_facts_are_ignored(remembered: VideoFile, cache: Cache, change: dict[str, object]) -> None:
    key = VIDEO.key(video=remembered.fingerprint)
    change = {"parts": [remembered.fingerprint]} if change == {"parts": "itself"} else change
    cache.put_json(key, {**cache.get_json(key), **change})
    assert isinstance(open_video(remembered.path, fingerprint=remembered.fingerprint, cache=cache), VideoFile)
    with pytest.raises(VideoError):
        open_video(fingerprint=remembered.fingerprint, cache=cache)


@pytest.mark.parametrize(("suffix", "codec"), [("mkv", "pcm_s16le"), ("ts", "mp2")])
def test_a_subtitle_file_counts_from_the_earliest_stream(tmp_path: Path, suffix: str, codec: str, cache: Cache) -> None:
    """Where the picture starts 3 s after the sound, the line of second 4 is shown with second 1."""
    path = speaking_video(tmp_path / f"late.{suffix}", [], 8, picture_from_s=3.0, codec=codec)
    words = tmp_path / "t.srt"
    words.write_text("\n".join(f"{n + 1}\n00:00:0{n},000 --> 00:00:0{n},999\nsecond {n}\n" for n in range(8)))
    with pytest.warns(SubtitleWarning, match="3 of 8 lines end before the first frame"):
        video = open_video(path, words, cache=cache)
    assert [line.text for line in video.subtitles.between(1.3, 1.4)] == ["second 4"]
    remember_video(video, cache)
    with pytest.warns(SubtitleWarning):
        recalled = open_video(path, words, fingerprint=video.fingerprint, cache=cache)
    assert recalled.subtitles == video.subtitles and recalled.lead_s == pytest.approx(3.0, abs=0.1)
