"""A search runs with the settings that it names; a wrong value is refused in one sentence."""

import argparse
import warnings
from dataclasses import fields, replace
from typing import Any

import pytest
from support.asking import ask
from support.model_doubles import Babbler
from support.stand_ins import CHOICE, Flat

import atlaskit as ak
from atlaskit.agents.budget import Budget
from atlaskit.agents.settings import BEST, PAPER, resolve_search
from atlaskit.caching.cache import Cache
from atlaskit.cli.model import SETTINGS, add_search_options, changes_of, search_of
from atlaskit.errors import InputError, ModelWarning
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.client import VLM
from atlaskit.models.names import Preset, preset_named
from atlaskit.models.prices import Prices
from atlasworld import Oracle, World

URL = "http://127.0.0.1:9/v1"


def named(name: str) -> Babbler:
    model = Babbler()
    model.name = name
    model.preset = preset_named(name)
    return model


def test_the_search_without_settings_is_the_papers(world: World, cache: Cache) -> None:
    assert ak.Search() == PAPER and PAPER.changed() == {}
    one, other = (
        ak.ask(world.drawn, world.questions[0], vlm=Oracle(world), search=search, cache=cache)
        for search in ("paper", ak.Search())
    )
    assert one.to_json() == other.to_json() and other.spent.calls == 0


def test_best_is_what_the_docs_measured_and_the_default(world: World, cache: Cache) -> None:
    settings = ak.ask(world.drawn, world.questions[0], vlm=Oracle(world), cache=cache).settings
    measured = {"sampling": "shots", "traversal": "looks", "scouts": ("words",)}
    assert BEST.changed() == measured | {"votes": None} and settings["votes"] == 5
    recorded = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    assert {name: recorded[name] for name in measured} == measured


@pytest.mark.parametrize("name", ["nano", "nano@0123456789abcdef"])
def test_best_of_nano_is_the_papers_search(name: str) -> None:
    assert resolve_search("best", named(name)) == resolve_search("paper", named(name)) == PAPER.suited_to("nano")


def test_best_has_votes_only_where_replies_vary() -> None:
    cold, warm = VLM(URL, "other", temperature=0.0), VLM(URL, "other", temperature=0.7)
    assert resolve_search("best", cold) == replace(resolve_search("best", warm), votes=1)
    assert resolve_search("best", warm).votes == resolve_search("best", Oracle).votes == 5
    with pytest.raises(InputError, match="temperature 0"):
        resolve_search(ak.Search(votes=5), cold)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        *(({"k": 1}, "A grid needs at least 2×2 cells"), ({"k": "8"}, "k is a whole number")),
        *(({"cell": 3}, "at least 16 pixels wide"), ({"k": 100, "cell": 1000}, "Use fewer or smaller cells")),
        *(({"fit": "square"}, 'fit is "native"'), ({"sampling": "last"}, "sampling is one of midpoint")),
        *(({"max_depth": -1}, "an integer from 0 to D_max"), ({"cells": "none"}, 'cells is "compact" or "full"')),
        *(({"traversal": "DFS"}, "traversal must be"), ({"steps": 0}, "steps is a whole number")),
        ({"steps": 3, "plateau": 3}, "less than the 3 steps"),
        ({"min_rounds": 3, "max_rounds": 2}, "min_rounds must be at most max_rounds, 2"),
        ({"look_ahead": "maybe"}, "look_ahead is True or False"),
        ({"votes": 0}, "votes is a whole number"),
        *(({"scouts": ("wrds",)}, "A scout is"), ({"threads": 0}, "threads is a whole number")),
    ],
    ids=str,
)
def test_a_wrong_value_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        ak.Search(**given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("search", ["Paper", "", None, {}, 3])
def test_a_search_that_is_none_is_one_sentence(search: Any, cache: Cache) -> None:
    with pytest.raises(InputError, match='search is "paper", "best" or ak.Search'):
        ak.ask(Flat(), CHOICE, vlm=Babbler(), search=search, cache=cache)


class TestTheOptions:
    @pytest.fixture
    def parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser()
        add_search_options(parser)
        return parser

    def test_every_setting_is_one_and_has_a_line(self, parser: argparse.ArgumentParser) -> None:
        told = {action.dest: action.help for action in parser._actions}
        assert list(SETTINGS) == [each.name for each in fields(ak.Search)]
        assert all(told[each.name] for each in fields(ak.Search))

    def test_each_kind_of_value_is_read(self, parser: argparse.ArgumentParser) -> None:
        words = "--k 4 --max-depth auto --look-ahead no --max-rounds none --min-span-s 0.5"
        options = parser.parse_args([*words.split(), "--scouts", "none"])
        assert changes_of(options) == {
            **{"k": 4, "max_depth": "auto", "look_ahead": False, "max_rounds": None},
            **{"scouts": (), "min_span_s": 0.5},
        }
        with pytest.raises(InputError, match="k is a whole number"):
            changes_of(parser.parse_args(["--k", "many"]))

    def test_they_change_the_named_value(self, parser: argparse.ArgumentParser) -> None:
        options = parser.parse_args(["--traversal", "dfs"])
        changes = changes_of(options)
        assert search_of(options, Oracle, changes).changed().items() >= {"traversal": "dfs", "votes": 5}.items()
        assert search_of(options, named("nano"), changes) == replace(PAPER, traversal="dfs").suited_to("nano")
        options = parser.parse_args(["--search", "paper", "--votes", "3"])
        assert search_of(options, Oracle, changes_of(options)) == replace(PAPER, votes=3).suited_to(Oracle)


QUESTION = ak.Question("What?", ("a", "b"))


@pytest.mark.parametrize(
    ("message", "question", "options"),
    [
        *(("workers is a whole number", QUESTION, {"workers": wrong}) for wrong in ("4", True, 0)),
        ("budget must be an ak.Budget", QUESTION, {"budget": 200}),
        *(("leave `choices` and `kind` out", QUESTION, each) for each in ({"kind": "open"}, {"choices": ["a", "b"]})),
        *(("list of texts", "What?", {"choices": wrong}) for wrong in ("abc", {"a", "b"})),
        *(("must be texts", each, {"choices": ["a", None]}) for each in ("What?", None)),
    ],
)
def test_invalid_arguments_raise_input_errors(message: str, question: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=message):
        ask(Flat(), question, vlm=Babbler(), cache=Cache(None), **options)


POSITIVE = "positive (whole )?number"


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        *(({name: 0}, POSITIVE) for name in ("calls", "tokens", "seconds", "effective_tokens", "usd")),
        *(({"seconds": each}, POSITIVE) for each in (float("inf"), float("nan"))),
        *(({"calls": each}, POSITIVE) for each in (2.5, "5", True)),
        ({"usd": 1.0}, "usd and prices of a budget belong together"),
        ({"prices": Prices(prompt=1, completion=1)}, "usd and prices of a budget belong together"),
        ({"usd": 1.0, "prices": {"prompt": 1, "completion": 1}}, "prices of a budget must be ak.Prices"),
    ],
)
def test_invalid_limits_raise_input_errors(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Budget(**limits)


@pytest.mark.parametrize("method", ["video-rlm", "uniform"])
def test_a_model_that_was_not_taught_a_video_warns_once(method: str, world: World, shared_cache: Cache) -> None:
    answer = METHODS[method]
    model = named("m@1")
    model.preset = Preset(caution=lambda video, question: "" if video.is_drawn else "knows only drawn videos.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", ModelWarning)
        meant, unmeant, _ = [
            answer(Flat(), "What?", vlm=each, cache=shared_cache) for each in (named("m@2"), model, model)
        ]
        answer(world.drawn, "What?", vlm=model, cache=shared_cache)
    (warning,) = (each for each in caught if each.category is ModelWarning)
    assert str(warning.message) == "m@1 knows only drawn videos."
    for told in (unmeant.to_json(), str(unmeant), unmeant._repr_html_(), ak.walk.html(unmeant)):
        assert "m@1 knows only drawn videos." in told
    assert "caution" not in meant.to_json() + str(meant)


@pytest.mark.parametrize(
    ("name", "given", "fit", "patch"),
    [
        *(("Qwen/Qwen3-VL-8B-Instruct", {}, "native", 32), ("Qwen/Qwen2.5-VL-7B-Instruct", {}, "native", 28)),
        *(("nano@1f0c", {}, "contain", None), ("nano", {"fit": "native"}, "native", 32)),
        ("x", {"fit": "stretch"}, "stretch", None),
    ],
)
def test_cells_suit_the_model_unless_the_user_chooses(
    name: str, given: dict[str, Any], fit: str, patch: int | None, cache: Cache
) -> None:
    settings = ask(Flat(), CHOICE, vlm=named(name), cache=cache, cell=64, budget=Budget(calls=2), **given).settings
    assert (settings["fit"], settings.get("patch")) == (fit, patch)
