"""The movie of a run: it decodes to the drawn images, is short, and is the same each time."""

from __future__ import annotations

from dataclasses import replace
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
from atlaskit.viz.movie import encoders, frames
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
