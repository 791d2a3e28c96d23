"""A run as a film: decoded again, it is short, the same each time, and shows what happened."""

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
from support.stand_ins import FORTY, MASTER_AND_WORKER, Flat, Gone, Spoken, run

from atlaskit.agents import baselines
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.viz import movie
from atlaskit.viz.movie import encoders, frames, storyboard
from atlaskit.viz.movie import text as words


@pytest.fixture(scope="module")
def answered(world: World, shared_cache: Cache) -> Result:
    oracle = Oracle(world, miss=0.3)
    return run(world.drawn, oracle, shared_cache, world.questions[0], k=4, workers=3, max_rounds=2)


@pytest.fixture(scope="module")
def told(answered: Result) -> list[encoders.Still]:
    """The stills of that run."""
    return list(movie.stills(answered))


@pytest.fixture(scope="module")
def eventful(shared_cache: Cache) -> Result:
    """A run of several rounds: what a babbler says may also end it after the first."""
    found = run(Flat(), Flaky(Babbler(4), 0.1, 3, MASTER_AND_WORKER), shared_cache, **FORTY)
    assert found.rounds > 2, "another seed is wanted, since what is asked has changed"
    return found


def close(one: Image.Image, other: Image.Image) -> float:
    """How far two pictures are apart, a channel of a pixel."""
    return float(np.asarray(ImageChops.difference(one.convert("RGB"), other.convert("RGB"))).mean())


def test_a_film_decodes_to_its_stills(answered: Result, told: list[encoders.Still], tmp_path: Path) -> None:
    movie.save(answered, tmp_path / "run.mp4")
    frames = [round(seconds * encoders.FPS) for _, seconds in told]
    with av.open(tmp_path / "run.mp4") as film:
        (stream,) = film.streams
        how = stream.codec_context
        assert (stream.type, how.name, how.pix_fmt) == ("video", "h264", "yuv420p")
        shown = list(film.decode(stream))
    assert len(shown) == sum(frames) and (shown[0].width, shown[0].height) == frames.SIZE
    starts = np.cumsum([0, *frames])
    for (still, _), start, end in zip(told, starts[:-1], starts[1:], strict=True):
        for frame in (shown[start], shown[end - 1]):
            assert close(frame.to_image(), still) < 4
    data = (tmp_path / "run.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat"), "what a player needs comes first"
    assert len(data) < 3_000_000


def test_a_gif_is_the_same_bytes_each_time(answered: Result, told: list[encoders.Still], tmp_path: Path) -> None:
    for name in ("one.gif", "two.GIF"):
        movie.save(answered, tmp_path / name)
    data = (tmp_path / "one.gif").read_bytes()
    assert data == (tmp_path / "two.GIF").read_bytes() and len(data) < encoders.MOST_GIF_BYTES
    gif: Any = Image.open(io.BytesIO(data))
    assert gif.size == frames.SIZE and gif.info["loop"] == 0 and gif.n_frames <= len(told)
    lasted = 0
    for place in range(gif.n_frames):
        gif.seek(place)
        lasted += gif.info["duration"]
    assert lasted == round(1000 * sum(seconds for _, seconds in told))
    assert close(gif, told[-1][0]) < 8, "255 colours"


def test_a_gif_that_would_be_large_is_made_smaller(told: list[encoders.Still], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "MOST_GIF_BYTES", 100_000)
    small = encoders.gif(told[:3])
    assert Image.open(io.BytesIO(small)).size < frames.SIZE
    monkeypatch.setattr(encoders, "MOST_GIF_BYTES", 0)
    assert Image.open(io.BytesIO(encoders.gif(told[:3]))).size == (320, 180), "it ends somewhere"


def test_what_happened_at_once_is_shown_at_once(answered: Result, eventful: Result) -> None:
    for trace in (answered.trace, eventful.trace):
        told = storyboard.beats(trace)
        assert sorted(place for beat in told for place in beat) == list(range(len(trace)))
        kinds = [{trace.events[place].kind for place in beat} for beat in told]
        assert {"start"} == kinds[0] and {"stop"} == kinds[-1]
        assert any(len(beat) == 3 for beat in told), "three workers, in one still"
        order = [place for beat in told for place in beat]
        for worker in range(3):
            mine = [place for place in order if trace.events[place].worker == worker]
            assert mine == sorted(mine), "each does one thing after the other"
        for before, after in pairwise(kinds):
            assert not before == after == {"report"}, "all who come back are told of together"


def test_a_film_is_short_however_long_the_run(eventful: Result) -> None:
    long = Trace((eventful.trace.events * 300)[:9_000])
    told = storyboard.beats(long)
    assert len(told) == storyboard.MOST_BEATS and sum(map(len, told)) == 9_000
    lasts = sum(storyboard.pace(number, len(told)) for number in range(len(told) + 1))
    assert lasts <= storyboard.TOLD_S + storyboard.FIRST_S + storyboard.LAST_S
    few = sum(storyboard.pace(number, 5) for number in range(6))
    assert few == pytest.approx(storyboard.FIRST_S + 4 * storyboard.LONGEST_S + storyboard.LAST_S)
    assert storyboard.beats(Trace()) == []


def test_text_is_text(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    result, said = run(Spoken(), Spiteful(5), cache, **FORTY), list[str]()
    fitted = words.fitted

    def noted(*given: Any) -> list[str]:
        said.extend(lines := fitted(*given))
        return lines

    monkeypatch.setattr(words, "fitted", noted)
    shown = list(movie.stills(replace(result, reasoning="w" * 5_000)))
    assert all(letter.isprintable() for line in said for letter in line)
    together = "".join(said)
    assert "What is it?" in together and "<script>" in together and result.answer and result.answer in together
    assert {still.size for still, _ in shown} == {frames.SIZE}
    for points, width in ((14, 180), (30, 700)):
        for line in (line for text in (*said, "w" * 500, "W" * 500) for line in fitted(text, points, width, 3)):
            assert words.letters(points).getlength(line) <= width * 1.05


def test_the_letters_are_pillows_own_where_there_is_no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    words.letters.cache_clear()
    assert "DejaVu" in words.letters(14).getname()[0]  # type: ignore[union-attr]
    words.letters.cache_clear()
    monkeypatch.setattr(words, "find_spec", lambda name: None)
    assert "DejaVu" not in words.letters(14).getname()[0]  # type: ignore[union-attr]
    words.letters.cache_clear()


def test_pictures_that_cannot_be_had_are_grey_and_say_so(eventful: Result) -> None:
    gone = Gone()
    video = replace(eventful.sheet, video=gone, cache=Cache(None))
    shown = [still for still, _ in movie.stills(replace(eventful, sheet=video))]
    there = [still for still, _ in movie.stills(eventful)]
    assert len(shown) == len(there) and all(close(*pair) > 1 for pair in zip(shown, there, strict=True))


def test_what_cannot_be_filmed_is_one_sentence(answered: Result, world: World, cache: Cache, tmp_path: Path) -> None:
    for name in ("run.avi", "run", ".mp4", "run.mp4.html"):
        with pytest.raises(InputError, match="ends in .mp4 or .gif"):
            movie.save(answered, tmp_path / name)
    uniform = baselines.uniform(world.drawn, world.questions[0], vlm=Oracle(world), cache=cache)
    with pytest.raises(InputError, match="settings in this trace are invalid: k"):
        movie.save(uniform, tmp_path / "run.gif")
    other = replace(answered, trace=Trace(answered.trace.events[:9] * 2))
    with pytest.raises(InputError, match="must have exactly one start"):
        movie.save(other, tmp_path / "run.gif")
    few = replace(answered, trace=Trace(answered.trace.events[:3]))
    for place in (tmp_path / "gone" / "run.gif", tmp_path / "nul\0.gif"):
        with pytest.raises(InputError, match=r"cannot be written: [^\n]+\.$"):
            movie.save(few, place)
    assert list(tmp_path.glob("*.gif")) == []
