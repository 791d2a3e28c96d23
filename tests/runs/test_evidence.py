"""An answer without evidence says so, wherever a result is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.asking import ask
from support.model_doubles import Babbler, Overruled
from support.searches import CHOICE
from support.stand_ins import checked_html

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.errors import Refused
from atlaskit.runs.result import Result
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.walk.summary import summarize


def shown(result: Result) -> tuple[str, str, list[str]]:
    """Return what print, the page in a notebook, and the widget say."""
    return str(result), checked_html(result).text, summarize(open_run(result))["notes"]


@pytest.mark.parametrize("method", METHODS)
def test_an_answer_without_evidence_says_so(method: str, world: World, shared_cache: Cache) -> None:
    nothing: Any = Overruled(
        Babbler(4),
        decision=lambda request, answer: {
            name: [] if name == "supporting" else value for name, value in answer.items()
        },
    )
    options = {"search": ak.Search(max_depth=0)} if method == "video-rlm" else {}
    result = METHODS[method](world.drawn, "What happens?", vlm=nothing, cache=shared_cache, **options)
    assert result.prediction is not None and not len(result.evidence)
    told = result.without_evidence
    text, page, notes = shown(result)
    assert told and told in text and told in page and any(told in note for note in notes)
    assert json.loads(result.to_json())["without_evidence"] == told


def test_with_evidence_nothing_is_added(answered: Result) -> None:
    assert len(answered.evidence) and answered.without_evidence == ""
    assert "without_evidence" not in answered.to_json()
    assert not any("Evidence" in note for note in summarize(open_run(answered))["notes"])


def test_a_run_without_an_answer_claims_nothing(world: World) -> None:
    class Mute(Babbler):
        def complete(self, request, **control):  # type: ignore[no-untyped-def]
            raise Refused("no")

    result = ask(world.drawn, CHOICE, vlm=Mute(), cache=Cache(None), max_depth=0)
    assert result.prediction is None and result.without_evidence == "" and "evidence  none\n" in str(result)
    assert "without_evidence" not in result.to_json()
