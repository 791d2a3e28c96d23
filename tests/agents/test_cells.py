"""Which cells a model gets: of the video's shape, or square where it was trained on squares."""

from __future__ import annotations

from typing import Unpack

import pytest
from support.asking import ask, packed
from support.model_doubles import Babbler
from support.stand_ins import CHOICE, Flat

from atlaskit.agents.budget import Budget
from atlaskit.agents.settings import Search
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import Still
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.presets import NANO, preset_for
from atlaskit.models.protocol import CallControl, Reply, Request

SIZES = {"video-rlm": "cell", "composite": "cell", "uniform": "size", "captions": "size"}
"""The methods that show pictures, with their keyword for the size of a cell."""


class Shown(Babbler):
    """A babbler of any name that records the size of each view, sheet and scan."""

    def __init__(self, name: str) -> None:
        super().__init__(5)
        self.name, self.sizes = name, set[tuple[int, int]]()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.sizes |= {image.size for image in request.images if not isinstance(image, Still)}
        return super().complete(request, **control)


def settings_of(method: str, model: Shown, cache: Cache, **options: str) -> dict[str, object]:
    shared = {"budget": Budget(calls=12)} if method in ("video-rlm", "composite") else {}
    given = {SIZES[method]: 64, **shared, **options}
    given = packed(given) if method in ("video-rlm", "composite") else given
    return METHODS[method](Flat(), CHOICE, vlm=model, cache=cache, **given).settings


@pytest.mark.parametrize("method", SIZES)
def test_a_model_of_the_usual_kind_gets_native_cells(method: str, cache: Cache) -> None:
    model = Shown("Qwen/Qwen3-VL-8B-Instruct")
    settings = settings_of(method, model, cache)
    assert (settings["fit"], settings["patch"]) == ("native", 32)
    assert model.sizes and all(width > height and height % 32 == 0 for width, height in model.sizes)


@pytest.mark.parametrize("method", SIZES)
def test_the_patch_is_that_of_the_family(method: str, cache: Cache) -> None:
    model = Shown("Qwen/Qwen2.5-VL-7B-Instruct")
    assert settings_of(method, model, cache)["patch"] == 28
    assert model.sizes and all(height % 28 == 0 for _, height in model.sizes)


@pytest.mark.parametrize("method", SIZES)
@pytest.mark.parametrize(
    ("name", "fit"), [("nano", None), ("nano@1f0c", None), ("gpt-4o", "contain"), ("x", "stretch")]
)
def test_nano_and_who_asks_for_squares_get_them(method: str, name: str, fit: str | None, cache: Cache) -> None:
    model = Shown(name)
    settings = settings_of(method, model, cache, **({} if fit is None else {"fit": fit}))
    assert settings["fit"] == (fit or "contain") and "patch" not in settings
    assert model.sizes and all(width % 64 == height % 64 == 0 for width, height in model.sizes)


def test_the_settings_of_nano_are_those_of_earlier_versions(cache: Cache) -> None:
    result = ask(Flat(), CHOICE, vlm=Shown("nano"), cache=cache, budget=Budget(calls=3))
    assert list(result.settings) == [
        *("method", "model", "parameters", "sample", "video", "k", "cell", "fit", "max_depth", "subtitles"),
        *("sampling", "cells", "traversal", "workers", "steps", "plateau", "min_rounds", "max_rounds", "look_ahead"),
        "budget",
    ]
    assert result.settings["fit"] == "contain" == preset_for("nano").fit


def test_another_model_can_see_the_grids_of_nano(cache: Cache) -> None:
    search = Search().suited_to("nano")
    settings = ask(Flat(), CHOICE, vlm=Shown("x"), cache=cache, budget=Budget(calls=1), search=search).settings
    assert {name: settings[name] for name in ("k", "cell", "fit", "steps", "plateau")} == {
        **{"k": NANO.k, "cell": NANO.cell, "fit": NANO.fit, "steps": NANO.steps, "plateau": NANO.plateau}
    }


def test_nano_may_be_shown_native_cells(cache: Cache) -> None:
    settings = settings_of("video-rlm", Shown("nano"), cache, fit="native")
    assert (settings["fit"], settings["patch"]) == ("native", 32)


def test_native_cells_cost_less_for_the_same_actions(world: World, shared_cache: Cache) -> None:
    """A 16:9 sheet of 8×8 has 56 % of the square's tokens, and other images 60 % at most."""
    native, square = (
        ask(world.drawn, world.questions[0], vlm=Oracle(world), cache=shared_cache, fit=fit)
        for fit in ("native", "contain")
    )
    seen = [
        [(event.kind, getattr(event, "action", None), getattr(event, "found", None)) for event in result.trace]
        for result in (native, square)
    ]
    assert seen[0] == seen[1] and native.total.calls == square.total.calls
    assert native.total.image_tokens <= 0.57 * square.total.image_tokens
