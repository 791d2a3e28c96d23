"""Scouts that look at frames: what they find, what they cache, and what they refuse."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import atlaskit as ak
from atlaskit.agents.scouts import Sight
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.environment.render import root_grid
from atlaskit.errors import InputError
from atlaskit.video.readers import Pixels
from atlasworld import Oracle, World, films_of
from atlasworld.timeline import COLOURS

ENDS = [30.0, 90.0, 250.0, 400.0, 600.0]
NAMES = sorted(COLOURS)


class Colours:
    """A stand-in for a model of images and text: it knows how much of a picture has each colour."""

    name = "colours"

    def __init__(self) -> None:
        self.seen = 0

    def pictures(self, pictures: Sequence[Pixels]) -> np.ndarray:
        self.seen += len(pictures)
        near = [
            [(np.abs(picture.astype(int) - np.array(COLOURS[name])).sum(axis=2) < 40).mean() for name in NAMES]
            for picture in pictures
        ]
        return np.array(near, np.float32)

    def words(self, text: str) -> np.ndarray:
        return np.array([float(name in text.casefold()) for name in NAMES], np.float32)


def sight(video: Any, text: str, cache: Cache) -> Sight:
    return Sight(video, Question(text, kind="open"), text, cache)


def test_the_right_cell_is_named_and_each_film_is_looked_at_once(small_world: World, cache: Cache) -> None:
    model = Colours()
    scout = ak.PictureScout(model)
    films = films_of(small_world, ENDS)
    colour = max(small_world.script.events, key=lambda each: each.end_s - each.start_s).colour
    grid = root_grid(films, 0.0, 600.0, 8)
    hints = scout(sight(films, f"a {colour} thing", cache), grid)
    best = max(hints.by_cell, key=lambda cell: hints.by_cell[cell].score)
    cell = grid.cells[best]
    assert any(cell.overlaps(each.start_s, each.end_s) for each in small_world.script.events if each.colour == colour)
    assert films.film_at(cell.start_s).name in hints.by_cell[best].reason
    seen = model.seen
    assert seen > 100 and scout(sight(films, f"a {colour} thing", cache), grid) == hints and model.seen == seen
    grown = films_of(small_world, [*ENDS[:-1], 500.0, 600.0])
    scout(sight(grown, "a blue thing", cache), root_grid(grown, 0.0, 600.0, 4))
    assert seen < model.seen < 2 * seen, "the four films before are known"


def test_text_in_the_picture_is_found_by_its_words(small_world: World, cache: Cache) -> None:
    def read(picture: Pixels) -> list[str]:
        return ["REFUND DESK"] if picture[0, 0, 0] > 250 else ["other words"]

    class Lit:
        """The world, with a white corner while the sign is shown."""

        def __init__(self, video: Any) -> None:
            self.video = video

        def __getattr__(self, name: str) -> Any:
            return getattr(self.video, name)

        def try_frames(self, times_s: Sequence[float], size: Any = None) -> list[Any]:
            frames = [np.array(frame) for frame in self.video.try_frames(times_s, size)]
            for time_s, frame in zip(times_s, frames, strict=True):
                frame[0, 0] = 255 if 320 <= time_s < 330 else 0
            return frames

    lit: Any = Lit(small_world.drawn)
    grid = root_grid(small_world.drawn, 0.0, 600.0, 8)
    hints = ak.TextScout(read, name="corner")(sight(lit, "Where is the refund desk?", cache), grid)
    (best,) = [cell for cell, hint in hints.by_cell.items() if hint.score > 0.5][:1]
    assert grid.cells[best].overlaps(320, 330) and "REFUND DESK" in hints.by_cell[best].reason


def test_hints_reach_the_plan_and_a_model_of_another_form_is_refused(small_world: World, cache: Cache) -> None:
    class Wrong(Colours):
        name = "wrong"

        def pictures(self, pictures: Sequence[Pixels]) -> np.ndarray:
            return np.zeros(3, np.float32)

    question = next(each for each in small_world.questions if each.category == "SSS")
    search = ak.Search(traversal="looks", cell=32, scouts=[ak.PictureScout(Colours())])
    result = ak.ask(small_world.drawn, question, vlm=Oracle(small_world), search=search, cache=cache)
    assert result.settings["scouts"] == ["pictures"] and result.trace.of("scout")[0].hints
    with pytest.raises(InputError, match="must return a vector of numbers for each of 16"):
        ak.PictureScout(Wrong())(sight(small_world.drawn, "red", cache), root_grid(small_world.drawn, 0.0, 600.0, 4))


def test_without_the_package_one_sentence_says_what_to_install(
    small_world: World, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    with pytest.raises(InputError, match="pip install rapidocr onnxruntime"):
        ak.TextScout()(sight(small_world.drawn, "red", cache), root_grid(small_world.drawn, 0.0, 600.0, 4))
