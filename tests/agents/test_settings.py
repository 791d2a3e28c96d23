"""A search runs with the settings that it names; a wrong value is refused in one sentence."""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

import pytest
from support.asking import ask
from support.model_doubles import Babbler
from support.stand_ins import CHOICE, Flat

import atlaskit as ak
from atlaskit.agents.settings import BEST, PAPER, resolve_search
from atlaskit.caching.cache import Cache
from atlaskit.cli.model import add_search_options, changes_of, search_of
from atlaskit.errors import InputError, ModelWarning
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.client import VLM
from atlaskit.models.names import Preset, preset_named
from atlasworld import Oracle, World

URL = "http://127.0.0.1:9/v1"


def named(name: str, preset: Preset | None = None) -> Babbler:
    model = Babbler()
    model.name = name
    model.preset = preset or preset_named(name)
    return model


def test_the_search_without_settings_is_the_papers(world: World, cache: Cache) -> None:
    assert ak.Search() == PAPER and PAPER.changed() == {}
    asked = partial(ak.ask, world.drawn, world.questions[0], vlm=Oracle(world), cache=cache)
    one, other = asked(search="paper"), asked(search=ak.Search())
    assert one.to_json() == other.to_json() and other.spent.calls == 0


def test_best_is_what_the_docs_measured_and_the_default() -> None:
    settings = ak.ask(Flat(), CHOICE, vlm=Babbler(), budget=ak.Budget(calls=1), cache=Cache(None)).settings
    measured = {"sampling": "shots", "traversal": "looks", "scouts": ("words",)}
    assert BEST.changed() == measured | {"votes": None} and settings["votes"] == 5
    assert {**measured, "scouts": ["words"]}.items() <= settings.items()


def test_best_suits_the_model() -> None:
    """A taught model has the paper's search; votes need replies that vary."""
    for name in ("nano", "nano@0123456789abcdef"):
        assert resolve_search("best", named(name)) == resolve_search("paper", named(name)) == PAPER.suited_to("nano")
    cold, warm = VLM(URL, "other", temperature=0.0), VLM(URL, "other", temperature=0.7)
    assert resolve_search("best", cold) == replace(resolve_search("best", warm), votes=1)
    assert resolve_search("best", warm).votes == resolve_search("best", Oracle).votes == 5
    with pytest.raises(InputError, match="temperature 0"):
        resolve_search(ak.Search(votes=5), cold)


def asking(question: Any = "What?", **options: Any) -> Callable[[], ak.Result]:
    return partial(ask, Flat(), question, vlm=Babbler(), cache=Cache(None), **options)


def taught(**settings: Any) -> Callable[[], ak.Search]:
    model = named("taught@1f0c", Preset(words=lambda call: call.request()))
    return partial(resolve_search, ak.Search(**settings), model)


@pytest.mark.parametrize(
    ("sentence", "make"),
    [
        ("A grid needs at least 2×2 cells", partial(ak.Search, k=1)),
        ("Use fewer or smaller cells", partial(ak.Search, k=100, cell=1000)),
        ('fit is "native"', partial(ak.Search, fit="square")),
        ("sampling is one of midpoint", partial(ak.Search, sampling="last")),
        ("an integer from 0 to D_max", partial(ak.Search, max_depth=-1)),
        ('cells is "compact" or "full"', partial(ak.Search, cells="none")),
        ("traversal must be", partial(ak.Search, traversal="DFS")),
        ("less than the 3 steps", partial(ak.Search, steps=3, plateau=3)),
        ("min_rounds must be at most max_rounds, 2", partial(ak.Search, min_rounds=3, max_rounds=2)),
        ("taught@1f0c was taught prompts with .* and no others", taught(cells="full")),
        ('search is "paper", "best" or ak.Search', partial(ak.ask, Flat(), CHOICE, vlm=Babbler(), search="Paper")),
        ("workers is a whole number", asking(workers=True)),
        ("budget must be an ak.Budget", asking(budget=200)),
        ("leave `choices` and `kind` out", asking(CHOICE, kind="open")),
        ("list of texts", asking(choices="abc")),
        ("must be texts", asking(choices=["a", None])),
        ("calls of a budget must be a positive whole number", partial(ak.Budget, calls=0)),
        ("seconds of a budget must be a positive number", partial(ak.Budget, seconds=float("nan"))),
        ("usd and prices of a budget belong together", partial(ak.Budget, prices=ak.Prices(prompt=1, completion=1))),
    ],
)
def test_a_wrong_value_is_refused_in_one_sentence(sentence: str, make: Callable[[], Any]) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_every_setting_is_an_option_of_the_commands() -> None:
    parser = argparse.ArgumentParser()
    add_search_options(parser)
    told = {action.dest: action.help for action in parser._actions}
    assert all(told[each.name] for each in fields(ak.Search))
    words = "--k 4 --max-depth auto --look-ahead no --max-rounds none --min-span-s 0.5 --scouts none"
    changes = changes_of(parser.parse_args(words.split()))
    told = {"k": 4, "max_depth": "auto", "look_ahead": False, "max_rounds": None, "min_span_s": 0.5, "scouts": ()}
    assert changes == told
    with pytest.raises(InputError, match="k is a whole number"):
        changes_of(parser.parse_args(["--k", "many"]))
    options = parser.parse_args(["--traversal", "dfs"])
    changes = changes_of(options)
    assert search_of(options, Oracle, changes).changed().items() >= {"traversal": "dfs", "votes": 5}.items()
    assert search_of(options, named("nano"), changes) == replace(PAPER, traversal="dfs").suited_to("nano")
    options = parser.parse_args(["--search", "paper", "--votes", "3"])
    assert search_of(options, Oracle, changes_of(options)) == replace(PAPER, votes=3).suited_to(Oracle)


@pytest.mark.parametrize(("method", "options"), [("video-rlm", {"search": ak.Search(cell=32)}), ("uniform", {})])
def test_a_model_that_was_not_taught_a_video_warns_once(method: str, options: dict[str, Any], world: World) -> None:
    caution = Preset(caution=lambda video, question: "" if video.is_drawn else "knows only drawn videos.")
    answer = partial(METHODS[method], question="What?", vlm=named("m@1", caution), cache=Cache(None), **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", ModelWarning)
        for _ in range(2):
            unmeant = answer(Flat())
        meant = answer(world.drawn)
    (warning,) = (each for each in caught if each.category is ModelWarning)
    assert str(warning.message) == "m@1 knows only drawn videos."
    for told in (unmeant.to_json(), str(unmeant), unmeant._repr_html_(), ak.walk.html(unmeant)):
        assert "m@1 knows only drawn videos." in told
    assert "caution" not in meant.to_json() + str(meant)


@pytest.mark.parametrize(
    ("name", "given", "fit", "patch"),
    [
        ("Qwen/Qwen3-VL-8B-Instruct", {}, "native", 32),
        ("Qwen/Qwen2.5-VL-7B-Instruct", {}, "native", 28),
        ("nano@1f0c", {}, "contain", None),
        ("nano", {"fit": "native"}, "native", 32),
    ],
)
def test_cells_suit_the_model(name: str, given: dict[str, Any], fit: str, patch: int | None) -> None:
    run = ask(Flat(), CHOICE, vlm=named(name), cache=Cache(None), cell=64, budget=ak.Budget(calls=2), **given)
    assert (run.settings["fit"], run.settings.get("patch")) == (fit, patch)
