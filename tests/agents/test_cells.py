"""Which cells a model gets: of the video's shape, or square where it was trained on squares."""

from __future__ import annotations

from typing import Unpack

import pytest
from support.asking import ask, packed
from support.model_doubles import Babbler
from support.stand_ins import CHOICE, Flat

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import Still
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.protocol import CallControl, Reply, Request

SIZES = {"video-rlm": "cell", "uniform": "size"}
"""A search and a method, with their keyword for the size of a cell."""


class Shown(Babbler):
    """A babbler of any name that records the size of each view, sheet and scan."""

    def __init__(self, name: str) -> None:
        super().__init__(5)
        self.name, self.sizes = name, set[tuple[int, int]]()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.sizes |= {image.size for image in request.images if not isinstance(image, Still)}
        return super().complete(request, **control)


def settings_of(method: str, model: Shown, cache: Cache, **options: str) -> dict[str, object]:
    shared = {"budget": Budget(calls=12)} if method == "video-rlm" else {}
    given = {SIZES[method]: 64, **shared, **options}
    given = packed(given) if method == "video-rlm" else given
    return METHODS[method](Flat(), CHOICE, vlm=model, cache=cache, **given).settings


@pytest.mark.parametrize("method", SIZES)
@pytest.mark.parametrize(
    ("name", "given", "fit", "patch"),
    [
        ("Qwen/Qwen3-VL-8B-Instruct", {}, "native", 32),
        ("Qwen/Qwen2.5-VL-7B-Instruct", {}, "native", 28),
        ("nano@1f0c", {}, "contain", None),
        ("nano", {"fit": "native"}, "native", 32),
        ("x", {"fit": "stretch"}, "stretch", None),
    ],
)
def test_cells_suit_the_model_and_who_asks(
    method: str, name: str, given: dict[str, str], fit: str, patch: int | None, cache: Cache
) -> None:
    model = Shown(name)
    settings = settings_of(method, model, cache, **given)
    assert (settings["fit"], settings.get("patch")) == (fit, patch)
    for width, height in model.sizes:
        assert width > height and height % patch == 0 if patch else width % 64 == height % 64 == 0
    assert model.sizes


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
