"""Notebooks share replies through the cache: they ask the same questions in the same way.

A search about ten hours takes ninety calls; six notebooks ask it, and one of them pays.
"""

import ast
from typing import Any

import pytest
from support.asking import evaluate
from support.model_doubles import Counting
from support.paths import ROOT

import atlaskit as ak
import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import sub_second_depth
from atlaskit.experiments.notebook import declared_in
from atlaskit.experiments.runner import SCALES
from atlasworld.nano.model import PRESET

NOTEBOOKS = {path.stem[:2]: path for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
ABOUT_WORLDS = ("03", "05", "06", "07", "08", "09")
"""The notebooks whose questions are the same. 04 measures time, so it makes every call itself."""


def parameters(number: str, scale: str) -> dict[str, Any]:
    own = {name: ast.literal_eval(value) for name, value in declared_in(NOTEBOOKS[number]).items()}
    return {name: SCALES[scale].get(name, value) for name, value in own.items()}


@pytest.mark.parametrize("scale", list(SCALES))
def test_all_notebooks_ask_the_same_questions_in_the_same_way(scale: str) -> None:
    given = {number: parameters(number, scale) for number in ABOUT_WORLDS}
    for name in ("worlds", "questions", "seeds", "calls", "workers", "model"):
        assert len({repr(values[name]) for values in given.values()}) == 1, name
    longest = {60 * values["hours"] if "hours" in values else max(values["minutes"]) for values in given.values()}
    (minutes,) = longest  # the longest videos are equally long
    assert sub_second_depth(60 * minutes, PRESET.k) in given["03"]["depths"], "one of the depths is the automatic one"
    assert given["05"]["captioned"] == given["09"]["captioned"]
    assert given["05"]["minutes"] == given["07"]["minutes"] == given["09"]["minutes"]


def test_the_first_questions_about_a_world_do_not_depend_on_how_many_are_written() -> None:
    few, many = (aw.world(3, 36_000, questions=count, clip_s=150) for count in (10, 24))
    assert many.questions[:10] == few.questions and len(many.questions) == 24


def test_a_depth_that_is_given_makes_the_calls_of_the_same_automatic_depth(cache: Cache) -> None:
    world = aw.world(3, 36_000, questions=3, clip_s=150)
    model = Counting(aw.Oracle(world, miss=0.3))
    how = {"vlm": model, "cache": cache, "progress": False, "search": ak.Search().suited_to("nano")}
    cases = world.cases(drawn=True)
    evaluate(cases, **how)
    evaluate(cases, "composite", **how)
    paid = len(model.calls)
    assert evaluate(cases, max_depth=3, **how)["calls_paid"].sum() == 0
    assert evaluate(cases, max_depth=0, **how)["calls_paid"].sum() == 0, "the root grid alone is depth 0"
    assert len(model.calls) == paid > 0
