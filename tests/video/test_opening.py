"""Opening videos by fingerprint, with facts and lines from the cache instead of the file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask
from support.media import make_video
from support.model_doubles import Counting
from support.speaking import speaking_video

from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import view
from atlaskit.errors import InputError, SubtitleError, SubtitleWarning, VideoError
from atlaskit.video.file import VideoFile
from atlaskit.video.opening import open_video
from atlaskit.video.records import ASKED, LINES, VIDEO, parse_facts, parse_lines, remember_video
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.subtitles.rolling import unrolled

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


def test_a_video_is_recalled_by_its_fingerprint_alone(remembered: VideoFile, cache: Cache) -> None:
    remembered.path.unlink()
    assert have_same_facts(open_video(fingerprint=remembered.fingerprint, cache=cache), remembered)
    with pytest.raises(VideoError, match=r"v.mp4 is missing \(no file was given\)"):
        open_video(fingerprint=remembered.fingerprint, cache=cache).frame(1.0)


def test_a_file_is_opened_only_when_a_frame_is_needed(
    remembered: VideoFile, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(
        "atlaskit.video.offline.VideoFile", lambda path, *rest: opened.append(path) or VideoFile(path, *rest)
    )
    video = open_video(remembered.path, fingerprint=remembered.fingerprint, cache=cache)
    sheet = view(video, k=2, cell=32, cache=cache)
    assert opened == [] and sheet.key == view(remembered, k=2, cell=32).key and video.frames_decoded == 0
    assert sheet.jpeg() == view(remembered, k=2, cell=32, cache=Cache(None)).jpeg()
    assert opened == [remembered.path] and video.frames_decoded > 0
    again = view(
        open_video(remembered.path, fingerprint=remembered.fingerprint, cache=cache), k=2, cell=32, cache=cache
    )
    assert again.jpeg() == sheet.jpeg() and opened == [remembered.path]


def test_another_file_in_its_place_is_an_error(remembered: VideoFile, cache: Cache, tmp_path: Path) -> None:
    other = make_video(tmp_path / "other.mp4", frames=100)
    with pytest.raises(VideoError, match="other.mp4 is another video"):
        open_video(other, fingerprint=remembered.fingerprint, cache=cache).frame(1.0)
    with pytest.raises(VideoError, match="other.mp4 is another video"):
        open_video(other, fingerprint=remembered.fingerprint, cache=Cache(None))
    with pytest.raises(VideoError, match="is another video"):
        open_video(remembered, fingerprint="0" * 64)


def test_an_unknown_video_needs_its_file(remembered: VideoFile, tmp_path: Path) -> None:
    empty = Cache(None)
    assert isinstance(open_video(remembered.path, fingerprint=remembered.fingerprint, cache=empty), VideoFile)
    with pytest.raises(VideoError, match="knows no video of this fingerprint"):
        open_video(fingerprint=remembered.fingerprint, cache=empty)
    with pytest.raises(VideoError, match="There is no file"):
        open_video(tmp_path / "none.mp4", fingerprint=remembered.fingerprint, cache=empty)
    with pytest.raises(InputError, match="or the fingerprint"):
        open_video()


def test_given_subtitles_take_precedence_over_cached_ones(remembered: VideoFile, cache: Cache, tmp_path: Path) -> None:
    open_it = {"fingerprint": remembered.fingerprint, "cache": cache}
    own, missing = Subtitles((Line(0.0, 1.0, "mine"),)), tmp_path / "none.srt"
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


def test_wrong_cache_entries_are_replaced(remembered: VideoFile, cache: Cache) -> None:
    wrong = {"name": "evil", "duration_s": 7.0, "fps": 1.0, "size": [2, 2], "parts": []}
    cache.put_json(VIDEO.key(video=remembered.fingerprint), wrong)
    cache.put(LINES.key(lines=remembered.subtitles.fingerprint), b"no lines")
    with pytest.raises(VideoError, match="is another video"):
        open_video(remembered.path, fingerprint=remembered.fingerprint, cache=cache).frame(1.0)
    remember_video(remembered, cache)
    assert have_same_facts(open_video(fingerprint=remembered.fingerprint, cache=cache), remembered)


def test_a_rendered_world_is_recalled_by_its_script_name(film: World, cache: Cache) -> None:
    remember_video(film.video, cache)
    path = film.video.path  # type: ignore[attr-defined]
    video = open_video(path, fingerprint=film.video.fingerprint, cache=cache)
    assert video.frames_decoded == 0 and (video.frames([3.0]) == film.video.frames([3.0])).all()


def test_a_file_name_that_is_not_utf8_is_remembered(tmp_path: Path, cache: Cache) -> None:
    path = make_video(tmp_path / "v.mp4").rename(tmp_path / os.fsdecode(b"v\xff.mp4"))
    video = open_video(path)
    remember_video(video, cache)
    assert open_video(fingerprint=video.fingerprint, cache=cache).name == "v\ufffd.mp4" == video.name


@pytest.mark.parametrize("fingerprint", ["", "a b", "\udcff", "x" * 300, 7])
def test_an_invalid_fingerprint_raises_one_sentence(fingerprint: Any, cache: Cache) -> None:
    with pytest.raises(InputError, match="fingerprint must be the"):
        open_video(fingerprint=fingerprint, cache=cache)


def test_a_playlist_is_recalled_with_or_without_its_files(tmp_path: Path, cache: Cache) -> None:
    paths = [make_video(tmp_path / "1.mp4", frames=50), make_video(tmp_path / "2.mp4", frames=75)]
    (tmp_path / "v.srt").write_text(SRT, encoding="utf-8")
    whole = open_video([paths[0], paths[1], paths[0]], [tmp_path / "v.srt", None, None])
    remember_video(whole, cache)
    sheet = view(whole, k=3, cell=32, cache=cache).jpeg()
    named = open_video([paths[0], paths[1], paths[0]], fingerprint=whole.fingerprint, cache=cache)
    assert named.frames_decoded == 0 and (named.frames([0.1, 4.9]) == whole.frames([0.1, 4.9])).all()
    for path in paths:
        path.unlink()
    gone = open_video(fingerprint=whole.fingerprint, cache=cache)
    assert have_same_facts(gone, whole) and view(gone, k=3, cell=32, cache=cache).jpeg() == sheet
    assert [gone.locate(t)[0].fingerprint for t in (0.1, 2.5, 5.1)] == [
        whole.locate(t)[0].fingerprint for t in (0.1, 2.5, 5.1)
    ]


def test_a_run_is_replayed_without_the_file(film: World, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Counting(Oracle(film))
    options = {"vlm": model, "cache": cache, "k": 4, "cell": 32}
    first = ask(film.video, film.questions[0], **options)
    calls = len(model.calls)

    def fail(*args: object, **kwargs: object) -> None:
        raise AssertionError("a replay opens, renders and sends nothing")

    monkeypatch.setattr("av.open", fail)
    monkeypatch.setattr("atlaskit.environment.render.View._paint", fail)
    monkeypatch.setattr("atlaskit.environment.render.Sheet._paint", fail)
    monkeypatch.setattr("atlaskit.environment.render.Still._paint", fail)
    gone = open_video(fingerprint=film.video.fingerprint, cache=cache)
    again = ask(gone, film.questions[0], replay=True, **options)
    assert again.to_json() == first.to_json()
    assert len(model.calls) == calls and again.spent.calls == again.spent.frames_decoded == 0


def test_the_fingerprint_of_a_rendered_world_is_its_script_name(film: World) -> None:
    assert film.video.fingerprint == f"film-{film.script.name}-1"


@pytest.mark.family
@pytest.mark.parametrize(
    "change",
    [
        {"duration_s": 0.0},
        {"duration_s": "long"},
        {"fps": -1.0},
        {"size": [0, 10]},
        {"size": [10]},
        {"size": [10, 10**6]},
        {"name": None},
        {"more": 1},
        {"parts": [1]},
        {"duration_s": 1e308},
    ],
)
def test_malformed_facts_are_ignored(remembered: VideoFile, cache: Cache, change: dict[str, object]) -> None:
    facts = cache.get_json(VIDEO.key(video=remembered.fingerprint))
    cache.put_json(VIDEO.key(video=remembered.fingerprint), {**facts, **change})
    assert isinstance(open_video(remembered.path, fingerprint=remembered.fingerprint, cache=cache), VideoFile)
    with pytest.raises(VideoError):
        open_video(fingerprint=remembered.fingerprint, cache=cache)


def test_a_playlist_that_contains_itself_is_an_error(remembered: VideoFile, cache: Cache) -> None:
    facts = cache.get_json(VIDEO.key(video=remembered.fingerprint))
    cache.put_json(VIDEO.key(video=remembered.fingerprint), {**facts, "parts": [remembered.fingerprint]})
    with pytest.raises(VideoError):
        open_video(fingerprint=remembered.fingerprint, cache=cache)


def test_parts_with_another_fingerprint_are_an_error(remembered: VideoFile, cache: Cache) -> None:
    facts = cache.get_json(VIDEO.key(video=remembered.fingerprint))
    cache.put_json(VIDEO.key(video="f" * 64), {**facts, "parts": [remembered.fingerprint]})
    cache.put_json(ASKED.key(video="f" * 64), remembered.subtitles.fingerprint)
    with pytest.raises(VideoError, match="another video"):
        open_video(fingerprint="f" * 64, cache=cache)


@pytest.mark.long
@given(
    st.binary(max_size=60) | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
@settings(max_examples=200)
def test_any_bytes_can_be_parsed_as_facts_and_lines(entry: bytes) -> None:
    assert parse_facts(entry) is None
    lines = parse_lines(entry)
    assert lines is None or LINES.key(lines=lines.fingerprint)


@pytest.mark.parametrize("suffix", [".mkv", ".ts", ".mp4"])
def test_a_subtitle_file_counts_from_the_earliest_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """Where the picture starts 3 s after the sound, the line of second 4 is shown with second 1."""
    monkeypatch.chdir(tmp_path)
    codec = {".mkv": "pcm_s16le", ".ts": "mp2", ".mp4": "alac"}[suffix]
    path = speaking_video(tmp_path / f"late{suffix}", [], 8, picture_from_s=3.0, codec=codec)
    rows = (f"{n + 1}\n00:00:0{n},000 --> 00:00:0{n},999\nsecond {n}\n" for n in range(8))
    (tmp_path / "t.srt").write_text("\n".join(rows))
    cache = Cache(tmp_path / "known")
    with pytest.warns(SubtitleWarning, match="3 of 8 lines end before the first frame"):
        video = open_video(path, "t.srt", cache=cache)
    assert [line.text for line in video.subtitles.between(1.3, 1.4)] == ["second 4"]
    remember_video(video, cache)
    with pytest.warns(SubtitleWarning):
        recalled = open_video(path, "t.srt", fingerprint=video.fingerprint, cache=cache)
    assert recalled.subtitles == video.subtitles and recalled.lead_s == pytest.approx(3.0, abs=0.1)


def test_rolling_captions_are_recorded_with_their_original(tmp_path: Path) -> None:
    said = ["today we open", "the box now", "and look inside", "of it again"]
    rolled = [Line(2.0 * n, 2.0 * n + 2, " ".join(said[max(0, n - 1) : n + 1])) for n in range(4)]
    video = open_video(make_video(tmp_path / "v.mp4", frames=250), subtitles=unrolled(rolled))
    assert [line.text for line in video.subtitles.lines] == said
    cache = Cache(tmp_path / "cache")
    remember_video(video, cache)
    recalled = open_video(fingerprint=video.fingerprint, cache=cache)
    assert recalled.subtitles == video.subtitles and recalled.subtitles.original == tuple(rolled)


def test_a_recalled_video_uses_the_copy_in_its_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, cache = make_video(tmp_path / "v.mpg", "mpeg2video", frames=30), Cache(tmp_path / "known")
    video = open_video(path, cache=cache)
    remember_video(video, cache)
    recalled = open_video(path, fingerprint=video.fingerprint, cache=cache)
    assert (recalled.frames([0.5]) == video.frames([0.5])).all()
    assert not (tmp_path / "cache").exists(), "no second copy is made elsewhere"
