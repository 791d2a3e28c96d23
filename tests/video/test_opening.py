"""Videos that are not here: as far as the cache knows them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.media import make
from support.model_doubles import Counting

from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import asked_key, lines_key, video_key
from atlaskit.environment.render import view
from atlaskit.errors import InputError, SubtitleError, VideoError
from atlaskit.video.file import VideoFile
from atlaskit.video.opening import open_video
from atlaskit.video.records import parse_facts, parse_lines, remember_video
from atlaskit.video.subtitles import Line, Subtitles

SRT = "1\n00:00:01,000 --> 00:00:02,500\nGrüß Gott\n\n2\n00:00:05,000 --> 00:00:06,000\n<b>a & b</b>\n"


@pytest.fixture
def kept(tmp_path: Path, cache: Cache) -> VideoFile:
    """A video with subtitles, as it was when it was last asked about."""
    (tmp_path / "v.srt").write_text(SRT, encoding="utf-8")
    video = open_video(make(tmp_path / "v.mp4"), tmp_path / "v.srt")
    assert isinstance(video, VideoFile)
    remember_video(video, cache)
    return video


def same(one: object, other: object) -> bool:
    facts = ("name", "duration_s", "fps", "size", "fingerprint", "subtitles")
    return all(getattr(one, name) == getattr(other, name) for name in facts)


def test_a_video_is_recalled_by_its_fingerprint_alone(kept: VideoFile, cache: Cache) -> None:
    kept.path.unlink()
    assert same(open_video(fingerprint=kept.fingerprint, cache=cache), kept)
    with pytest.raises(VideoError, match=r"v.mp4 is missing \(no file was given\)"):
        open_video(fingerprint=kept.fingerprint, cache=cache).frame(1.0)


def test_a_file_is_opened_only_when_a_frame_is_needed(
    kept: VideoFile, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(
        "atlaskit.video.offline.VideoFile", lambda path, *rest: opened.append(path) or VideoFile(path, *rest)
    )
    video = open_video(kept.path, fingerprint=kept.fingerprint, cache=cache)
    sheet = view(video, k=2, cell=32, cache=cache)
    assert opened == [] and sheet.key == view(kept, k=2, cell=32).key and video.frames_decoded == 0
    assert sheet.jpeg() == view(kept, k=2, cell=32, cache=Cache(None)).jpeg()
    assert opened == [kept.path] and video.frames_decoded > 0
    again = view(open_video(kept.path, fingerprint=kept.fingerprint, cache=cache), k=2, cell=32, cache=cache)
    assert again.jpeg() == sheet.jpeg() and opened == [kept.path]


def test_another_file_in_its_place_is_told(kept: VideoFile, cache: Cache, tmp_path: Path) -> None:
    other = make(tmp_path / "other.mp4", frames=100)
    with pytest.raises(VideoError, match="other.mp4 is another video"):
        open_video(other, fingerprint=kept.fingerprint, cache=cache).frame(1.0)
    with pytest.raises(VideoError, match="other.mp4 is another video"):
        open_video(other, fingerprint=kept.fingerprint, cache=Cache(None))
    with pytest.raises(VideoError, match="is another video"):
        open_video(kept, fingerprint="0" * 64)


def test_what_is_not_known_needs_its_file(kept: VideoFile, tmp_path: Path) -> None:
    empty = Cache(None)
    assert isinstance(open_video(kept.path, fingerprint=kept.fingerprint, cache=empty), VideoFile)
    with pytest.raises(VideoError, match="knows no video of this fingerprint"):
        open_video(fingerprint=kept.fingerprint, cache=empty)
    with pytest.raises(VideoError, match="There is no file"):
        open_video(tmp_path / "none.mp4", fingerprint=kept.fingerprint, cache=empty)
    with pytest.raises(InputError, match="or the fingerprint"):
        open_video()


def test_subtitles_are_those_that_are_given_else_those_it_had(kept: VideoFile, cache: Cache, tmp_path: Path) -> None:
    open_it = {"fingerprint": kept.fingerprint, "cache": cache}
    own, missing = Subtitles((Line(0.0, 1.0, "mine"),)), tmp_path / "none.srt"
    assert len(open_video(kept.path, **open_it).subtitles) == 0
    for source in (kept.path, None):
        assert open_video(source, own, **open_it).subtitles == own
        with pytest.raises(SubtitleError, match="cannot be read"):
            open_video(source, missing, **open_it)
    with pytest.raises(SubtitleError, match="has no subtitle track"):  # it is here, so it is looked into
        open_video(kept.path, "embedded", **open_it)
    assert open_video(tmp_path / "gone.mp4", "embedded", **open_it).subtitles == kept.subtitles
    cache.prune(kinds={"lines"})
    with pytest.raises(VideoError, match="does not hold the subtitles"):
        open_video(**open_it)


def test_what_is_kept_of_a_video_is_put_right(kept: VideoFile, cache: Cache) -> None:
    wrong = {"name": "evil", "duration_s": 7.0, "fps": 1.0, "size": [2, 2], "parts": []}
    cache.put_json(video_key(kept.fingerprint), wrong)
    cache.put(lines_key(kept.subtitles.fingerprint), b"no lines")
    with pytest.raises(VideoError, match="is another video"):
        open_video(kept.path, fingerprint=kept.fingerprint, cache=cache).frame(1.0)
    remember_video(kept, cache)
    assert same(open_video(fingerprint=kept.fingerprint, cache=cache), kept)


def test_a_film_is_opened_by_its_path_and_the_name_of_its_script(film: World, cache: Cache) -> None:
    remember_video(film.video, cache)
    path = film.video.path  # type: ignore[attr-defined]
    video = open_video(path, fingerprint=film.video.fingerprint, cache=cache)
    assert video.frames_decoded == 0 and (video.frames([3.0]) == film.video.frames([3.0])).all()


def test_a_name_that_is_no_text_can_be_kept(tmp_path: Path, cache: Cache) -> None:
    path = make(tmp_path / "v.mp4").rename(tmp_path / os.fsdecode(b"v\xff.mp4"))
    video = open_video(path)
    remember_video(video, cache)
    assert open_video(fingerprint=video.fingerprint, cache=cache).name == "v?.mp4"


@pytest.mark.parametrize("fingerprint", ["", "a b", "\udcff", "x" * 300, 7])
def test_a_fingerprint_that_is_none_is_one_sentence(fingerprint: Any, cache: Cache) -> None:
    with pytest.raises(InputError, match="fingerprint must be the"):
        open_video(fingerprint=fingerprint, cache=cache)


def test_a_playlist_is_recalled_with_or_without_its_files(tmp_path: Path, cache: Cache) -> None:
    paths = [make(tmp_path / "1.mp4", frames=50), make(tmp_path / "2.mp4", frames=75)]
    (tmp_path / "v.srt").write_text(SRT, encoding="utf-8")
    whole = open_video([paths[0], paths[1], paths[0]], [tmp_path / "v.srt", None, None])
    remember_video(whole, cache)
    sheet = view(whole, k=3, cell=32, cache=cache).jpeg()
    named = open_video([paths[0], paths[1], paths[0]], fingerprint=whole.fingerprint, cache=cache)
    assert named.frames_decoded == 0 and (named.frames([0.1, 4.9]) == whole.frames([0.1, 4.9])).all()
    for path in paths:
        path.unlink()
    gone = open_video(fingerprint=whole.fingerprint, cache=cache)
    assert same(gone, whole) and view(gone, k=3, cell=32, cache=cache).jpeg() == sheet
    assert [gone.locate(t)[0].fingerprint for t in (0.1, 2.5, 5.1)] == [
        whole.locate(t)[0].fingerprint for t in (0.1, 2.5, 5.1)
    ]


def test_a_world_is_replayed_without_its_film(film: World, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Counting(Oracle(film))
    options = {"vlm": model, "cache": cache, "k": 4, "cell": 32}
    first = ask(film.video, film.questions[0], **options)
    calls = len(model.calls)

    def never(*what: object, **more: object) -> None:
        raise AssertionError("opened, painted or sent something")

    monkeypatch.setattr("av.open", never)
    monkeypatch.setattr("atlaskit.environment.render.View._paint", never)
    monkeypatch.setattr("atlaskit.environment.render.Sheet._paint", never)
    monkeypatch.setattr("atlaskit.environment.render.Still._paint", never)
    gone = open_video(fingerprint=film.video.fingerprint, cache=cache)
    again = ask(gone, film.questions[0], replay=True, **options)
    assert again.to_json() == first.to_json()
    assert len(model.calls) == calls and again.spent.calls == again.spent.frames_decoded == 0


def test_a_film_is_named_by_its_script_whatever_its_bytes(film: World) -> None:
    assert film.video.fingerprint == f"film-{film.script.name}-1"


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
def test_facts_of_a_strange_form_are_not_believed(kept: VideoFile, cache: Cache, change: dict[str, object]) -> None:
    facts = cache.get_json(video_key(kept.fingerprint))
    cache.put_json(video_key(kept.fingerprint), {**facts, **change})
    assert isinstance(open_video(kept.path, fingerprint=kept.fingerprint, cache=cache), VideoFile)
    with pytest.raises(VideoError):
        open_video(fingerprint=kept.fingerprint, cache=cache)


def test_a_playlist_of_itself_is_not_believed(kept: VideoFile, cache: Cache) -> None:
    facts = cache.get_json(video_key(kept.fingerprint))
    cache.put_json(video_key(kept.fingerprint), {**facts, "parts": [kept.fingerprint]})
    with pytest.raises(VideoError):
        open_video(fingerprint=kept.fingerprint, cache=cache)


def test_parts_that_make_another_playlist_are_not_believed(kept: VideoFile, cache: Cache) -> None:
    facts = cache.get_json(video_key(kept.fingerprint))
    cache.put_json(video_key("f" * 64), {**facts, "parts": [kept.fingerprint]})
    cache.put_json(asked_key("f" * 64), kept.subtitles.fingerprint)
    with pytest.raises(VideoError, match="another video"):
        open_video(fingerprint="f" * 64, cache=cache)


@given(
    st.binary(max_size=60) | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps).map(str.encode)
)
@settings(max_examples=200)
def test_nothing_that_is_kept_can_break_the_reading_of_it(entry: bytes) -> None:
    assert parse_facts(entry) is None
    lines = parse_lines(entry)
    assert lines is None or lines_key(lines.fingerprint)
