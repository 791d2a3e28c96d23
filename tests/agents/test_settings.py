"""`Search`: its named values, what suits a model, wrong values, and its options."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from typing import Any

import pytest
from support.model_doubles import Babbler
from support.stand_ins import CHOICE, Flat

import atlaskit as ak
from atlaskit.agents.settings import BEST, PAPER, described, resolve_search
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.cli.search import add_search_options, changes_of, search_of
from atlaskit.errors import InputError
from atlaskit.evaluation.validation import json_settings
from atlaskit.models.client import VLM

URL = "http://127.0.0.1:9/v1"


def named(name: str) -> Babbler:
    model = Babbler()
    model.name = name
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
    measured = {"traversal": "dfs", "scouts": ("words",), "second_look": True, "votes": 5, "thrift": ("steps", "probe")}
    assert BEST.changed() == measured
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
        ({"k": 1}, "A grid needs at least 2×2 cells"),
        ({"k": "8"}, "k is a whole number"),
        ({"cell": 3}, "at least 16 pixels wide"),
        ({"k": 100, "cell": 1000}, "Use fewer or smaller cells"),
        ({"fit": "square"}, 'fit is "native"'),
        ({"sampling": "last"}, "sampling is one of midpoint"),
        ({"max_depth": -1}, "an integer from 0 to D_max"),
        ({"cells": "none"}, 'cells is "compact" or "full"'),
        ({"traversal": "DFS"}, "traversal must be"),
        ({"steps": 0}, "steps is a whole number"),
        ({"steps": 3, "plateau": 3}, "less than the 3 steps"),
        ({"min_rounds": 3, "max_rounds": 2}, "min_rounds must be at most max_rounds, 2"),
        ({"look_ahead": "maybe"}, "look_ahead is True or False"),
        ({"second_look": "often"}, "second_look is True, False or one of"),
        ({"votes": 0}, "votes is a whole number"),
        ({"thrift": ("sleep",)}, "thrift knows"),
        ({"scouts": ("wrds",)}, "A scout is"),
        ({"threads": 0}, "threads is a whole number"),
        ({"sample": -1}, "sample is a whole number"),
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
        assert list(described()) == [each.name for each in fields(ak.Search)]
        assert all(told[each.name] for each in fields(ak.Search))

    def test_each_kind_of_value_is_read(self, parser: argparse.ArgumentParser) -> None:
        words = "--k 4 --max-depth auto --look-ahead no --second-look salient --max-rounds none"
        options = parser.parse_args([*words.split(), "--thrift", "steps,probe", "--scouts", "none"])
        assert changes_of(options) == {
            **{"k": 4, "max_depth": "auto", "look_ahead": False, "second_look": "salient", "max_rounds": None},
            **{"thrift": ("steps", "probe"), "scouts": ()},
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


def test_a_table_says_what_a_search_changes() -> None:
    assert json_settings({"search": "paper", "workers": 2}) == {"workers": 2}
    assert json_settings({"search": "best"}) == {"search": "best"}
    assert json_settings({"search": ak.Search(k=4, scouts=("words",))}) == {"k": 4, "scouts": "('words',)"}
