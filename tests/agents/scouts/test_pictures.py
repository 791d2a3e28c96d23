"""Scouts that look at frames: what they find, what they cache, and what they refuse."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.model_doubles import Counting
from support.searches import text_of
from support.stand_ins import Flat

import atlaskit as ak
import atlasworld as aw
from atlaskit.agents.scouts import Hints, Sight
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.environment.render import root_grid
from atlaskit.errors import FrameError, InputError
from atlaskit.video.readers import Pixels
from atlasworld import Oracle, World, films_of
from atlasworld.timeline import COLOURS

ENDS = [20.0, 50.0, 90.0, 120.0]
NAMES = sorted(COLOURS)


@pytest.fixture(scope="module")
def tiny() -> World:
    return aw.world(3, 120, questions=4, size=(128, 72))


class Colours:
    """A stand-in for a model of images and text: it knows how much of a picture has each colour."""

    name = "colours"
    seen = 0

    def pictures(self, pictures: Sequence[Pixels]) -> np.ndarray:
        self.seen += len(pictures)
        near = [
            [(np.abs(picture.astype(int) - np.array(COLOURS[name])).sum(axis=2) < 40).mean() for name in NAMES]
            for picture in pictures
        ]
        return np.array(near, np.float32)

    def words(self, text: str) -> np.ndarray:
        return np.array([float(name in text.casefold()) for name in NAMES], np.float32)


def look(scout: Any, video: Any, text: str, cache: Cache, k: int = 8) -> Hints:
    """Return what a scout says about the root grid of a video."""
    hints: Hints = scout(
        Sight(video, Question(text, kind="open"), text, cache), root_grid(video, 0.0, video.duration_s, k)
    )
    return hints


def test_the_right_cell_is_named_and_each_film_is_looked_at_once(tiny: World, cache: Cache) -> None:
    model = Colours()
    scout = ak.PictureScout(model)
    films = films_of(tiny, ENDS)
    colour = max(tiny.script.events, key=lambda each: each.end_s - each.start_s).colour
    hints = look(scout, films, f"a {colour} thing", cache)
    best = max(hints.by_cell, key=lambda cell: hints.by_cell[cell].score)
    cell = root_grid(films, 0.0, 120.0, 8).cells[best]
    assert any(cell.overlaps(each.start_s, each.end_s) for each in tiny.script.events if each.colour == colour)
    assert films.film_at(cell.start_s).name in hints.by_cell[best].reason
    seen = model.seen
    assert seen > 50 and look(scout, films, f"a {colour} thing", cache) == hints and model.seen == seen
    grown = films_of(tiny, [*ENDS[:-1], 100.0, 120.0])
    look(scout, grown, "a blue thing", cache, k=4)
    assert seen < model.seen < 2 * seen, "the films before are known"


class Signed(Flat):
    """A video of one colour that is white while a sign is shown."""

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        frames = super().try_frames(times_s, size)
        return [np.full_like(frame, 255) if 9 <= t < 11 else frame for t, frame in zip(times_s, frames, strict=True)]


def test_text_in_the_picture_is_found_by_its_words(cache: Cache) -> None:
    def read(picture: Pixels) -> list[str]:
        return ["REFUND DESK"] if picture.min() == 255 else ["other words"]

    hints = look(ak.TextScout(read, name="sign"), Signed(), "Where is the refund desk?", cache, k=4)
    named = [cell for cell, hint in hints.by_cell.items() if hint.score > 0.5]
    assert set(named) <= {9, 10} and "REFUND DESK" in hints.by_cell[named[0]].reason


def test_hints_reach_the_plan(tiny: World, cache: Cache) -> None:
    search = ak.Search(traversal="looks", cell=32, scouts=[ak.PictureScout(Colours())])
    model = Counting(Oracle(tiny))
    result = ak.ask(tiny.drawn, tiny.questions[0], vlm=model, search=search, cache=cache)
    assert result.settings["scouts"] == ["pictures"] and result.trace.of("scout")[0].hints
    (plan,) = [text_of(request) for request in model.requests if request.step == "plan"]
    assert "Hints where to look, made by programs, from subtitles or frames; they may" in plan


def test_another_form_and_a_missing_package_are_told(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(Colours):
        def pictures(self, pictures: Sequence[Pixels]) -> np.ndarray:
            return np.zeros(3, np.float32)

    with pytest.raises(InputError, match=r"must return a vector of numbers for each of \d"):
        look(ak.PictureScout(Wrong()), Flat(), "red", cache)
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    with pytest.raises(InputError, match="pip install rapidocr onnxruntime"):
        look(ak.TextScout(), Flat(), "red", cache)
