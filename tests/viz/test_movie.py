"""The movie of a run: it decodes to the drawn images, is short, and is the same each time."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image, ImageChops
from support.model_doubles import Babbler, Flaky, Spiteful
from support.stand_ins import FORTY_CALLS, MASTER_AND_WORKER, Flat, MissingVideo, ScriptedAttackVideo, run

from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation import baselines
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.viz import movie
from atlaskit.viz.movie import encoders, frames, storyboard
from atlaskit.viz.movie import text as movie_text


@pytest.fixture(scope="module")
def answered(world: World, shared_cache: Cache) -> Result:
    oracle = Oracle(world, miss=0.3)
    return run(world.drawn, oracle, shared_cache, world.questions[0], k=4, workers=3, max_rounds=2)


@pytest.fixture(scope="module")
def stills(answered: Result) -> list[encoders.TimedImage]:
    """The images of that run's movie."""
    return list(movie.stills(answered))


@pytest.fixture(scope="module")
def eventful(shared_cache: Cache) -> Result:
    """A run of several rounds, with random replies, which may also end a run after the first."""
    result = run(Flat(), Flaky(Babbler(4), 0.1, 3, MASTER_AND_WORKER), shared_cache, **FORTY_CALLS)
    assert result.rounds > 2, "the prompts have changed: choose another seed"
    return result


def mean_difference(one: Image.Image, other: Image.Image) -> float:
    """Return the mean absolute difference of two images, per pixel and channel."""
    return float(np.asarray(ImageChops.difference(one.convert("RGB"), other.convert("RGB"))).mean())


def test_an_mp4_decodes_to_its_stills(answered: Result, stills: list[encoders.TimedImage], tmp_path: Path) -> None:
    movie.save(answered, tmp_path / "run.mp4")
    frame_counts = [round(seconds * encoders.FPS) for _, seconds in stills]
    with av.open(tmp_path / "run.mp4") as container:
        (stream,) = container.streams
        codec = stream.codec_context
        assert (stream.type, codec.name, codec.pix_fmt) == ("video", "h264", "yuv420p")
        decoded = list(container.decode(stream))
    assert len(decoded) == sum(frame_counts) and (decoded[0].width, decoded[0].height) == frames.SIZE
    starts = np.cumsum([0, *frame_counts])
    for (still, _), start, end in zip(stills, starts[:-1], starts[1:], strict=True):
        for frame in (decoded[start], decoded[end - 1]):
            assert mean_difference(frame.to_image(), still) < 4
    data = (tmp_path / "run.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat"), "a player needs the index first"
    assert len(data) < 3_000_000


@pytest.mark.long
def test_a_gif_has_the_same_bytes_each_time(
    answered: Result, stills: list[encoders.TimedImage], tmp_path: Path
) -> None:
    for name in ("one.gif", "two.GIF"):
        movie.save(answered, tmp_path / name)
    data = (tmp_path / "one.gif").read_bytes()
    assert data == (tmp_path / "two.GIF").read_bytes() and len(data) < encoders.MAX_GIF_BYTES
    gif: Any = Image.open(io.BytesIO(data))
    assert gif.size == frames.SIZE and gif.info["loop"] == 0 and gif.n_frames <= len(stills)
    total_ms = 0
    for index in range(gif.n_frames):
        gif.seek(index)
        total_ms += gif.info["duration"]
    assert total_ms == round(1000 * sum(seconds for _, seconds in stills))
    assert mean_difference(gif, stills[-1][0]) < 8, "255 colours"


@pytest.mark.long
def test_a_large_gif_is_scaled_down(stills: list[encoders.TimedImage], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "MAX_GIF_BYTES", 100_000)
    small = encoders.gif(stills[:3])
    assert Image.open(io.BytesIO(small)).size < frames.SIZE
    monkeypatch.setattr(encoders, "MAX_GIF_BYTES", 0)
    assert Image.open(io.BytesIO(encoders.gif(stills[:3]))).size == (320, 180), "the smallest scale is the last"


def test_parallel_events_share_a_scene(answered: Result, eventful: Result) -> None:
    for trace in (answered.trace, eventful.trace):
        scenes = storyboard.scenes(trace)
        assert sorted(index for scene in scenes for index in scene) == list(range(len(trace)))
        kinds = [{trace.events[index].kind for index in scene} for scene in scenes]
        assert {"start"} == kinds[0] and {"stop"} == kinds[-1]
        assert any(len(scene) == 3 for scene in scenes), "three workers in one scene"
        order = [index for scene in scenes for index in scene]
        for worker in range(3):
            own = [index for index in order if trace.events[index].worker == worker]
            assert own == sorted(own), "the events of one worker stay in order"
        for before, after in pairwise(kinds):
            assert not before == after == {"report"}, "all reports of a round are in one scene"


def test_the_movie_of_a_long_run_is_short(eventful: Result) -> None:
    long = Trace((eventful.trace.events * 300)[:9_000])
    scenes = storyboard.scenes(long)
    assert len(scenes) == storyboard.MAX_SCENES and sum(map(len, scenes)) == 9_000
    total_s = sum(storyboard.scene_seconds(number, len(scenes)) for number in range(len(scenes) + 1))
    assert total_s <= storyboard.MIDDLE_S + storyboard.FIRST_S + storyboard.LAST_S
    of_five_s = sum(storyboard.scene_seconds(number, 5) for number in range(6))
    assert of_five_s == pytest.approx(storyboard.FIRST_S + 4 * storyboard.MAX_S + storyboard.LAST_S)
    assert storyboard.scenes(Trace()) == []


def test_hostile_text_is_drawn_as_printable_lines(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    result, lines = run(ScriptedAttackVideo(), Spiteful(5), cache, **FORTY_CALLS), list[str]()
    fit_lines = movie_text.fit_lines

    def recorded(*arguments: Any) -> list[str]:
        lines.extend(fitted := fit_lines(*arguments))
        return fitted

    monkeypatch.setattr(movie_text, "fit_lines", recorded)
    stills = list(movie.stills(replace(result, reasoning="w" * 5_000)))
    assert all(character.isprintable() for line in lines for character in line)
    together = "".join(lines)
    assert "What is it?" in together and "<script>" in together and result.answer and result.answer in together
    assert {still.size for still, _ in stills} == {frames.SIZE}
    for points, width in ((14, 180), (30, 700)):
        for line in (line for text in (*lines, "w" * 500, "W" * 500) for line in fit_lines(text, points, width, 3)):
            assert movie_text.typeface(points).getlength(line) <= width * 1.05


def test_the_typeface_without_matplotlib_is_pillows(monkeypatch: pytest.MonkeyPatch) -> None:
    movie_text.typeface.cache_clear()
    assert "DejaVu" in movie_text.typeface(14).getname()[0]  # type: ignore[union-attr]
    movie_text.typeface.cache_clear()
    monkeypatch.setattr(movie_text, "find_spec", lambda name: None)
    assert "DejaVu" not in movie_text.typeface(14).getname()[0]  # type: ignore[union-attr]
    movie_text.typeface.cache_clear()


def test_images_that_cannot_be_drawn_do_not_end_the_movie(eventful: Result) -> None:
    sheet = replace(eventful.sheet, video=MissingVideo(), cache=Cache(None))
    without = [still for still, _ in movie.stills(replace(eventful, sheet=sheet))]
    with_images = [still for still, _ in movie.stills(eventful)]
    assert len(without) == len(with_images)
    assert all(mean_difference(*pair) > 1 for pair in zip(without, with_images, strict=True))


@pytest.mark.long
def test_errors_of_save_are_one_sentence(answered: Result, world: World, cache: Cache, tmp_path: Path) -> None:
    for name in ("run.avi", "run", ".mp4", "run.mp4.html"):
        with pytest.raises(InputError, match=r"ends in .mp4 or .gif"):
            movie.save(answered, tmp_path / name)
    uniform = baselines.uniform(world.drawn, world.questions[0], vlm=Oracle(world), cache=cache)
    with pytest.raises(InputError, match="settings in this trace are invalid: k"):
        movie.save(uniform, tmp_path / "run.gif")
    other = replace(answered, trace=Trace(answered.trace.events[:9] * 2))
    with pytest.raises(InputError, match="must have exactly one start"):
        movie.save(other, tmp_path / "run.gif")
    few = replace(answered, trace=Trace(answered.trace.events[:3]))
    for path in (tmp_path / "gone" / "run.gif", tmp_path / "nul\0.gif"):
        with pytest.raises(InputError, match=r"cannot be written: [^\n]+\.$"):
            movie.save(few, path)
    assert list(tmp_path.glob("*.gif")) == []
