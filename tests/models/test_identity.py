"""Whether a reply came from the model that was asked, and whose entries in the cache it may use."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import Fault, completion, send
from support.loopback import Loop, loopback
from support.stand_ins import request

from atlaskit.caching.cache import Cache
from atlaskit.errors import ModelWarning, Unrecorded
from atlaskit.models.cached import Cached
from atlaskit.models.client import VLM
from atlaskit.models.identity import is_generic, is_same_model

SAME = [
    ("gpt-4o", "gpt-4o-2024-08-06"),
    ("openai/gpt-4o", "gpt-4o"),
    ("claude-sonnet-4-0", "claude-sonnet-4-20250514"),
    ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"),
    ("claude-3-7-sonnet-latest", "claude-3-7-sonnet-20250219"),
    ("mistral-medium-latest", "mistral-medium-2508"),
    ("models/gemini-2.5-flash", "gemini-2.5-flash"),
    ("gemini-2.5-flash", "gemini-2.5-flash-preview-05-20"),
    ("qwen2.5vl", "qwen2.5vl:latest"),
    ("qwen/qwen3-vl:free", "qwen/qwen3-vl"),
    ("/models/Qwen3-VL.gguf", "Qwen3-VL.gguf"),
    ("anything", ""),
]
OTHER = [
    ("gpt-4o", "gpt-4o-mini-2024-07-18"),
    ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20"),
    ("gpt-5", "gpt-5-mini"),
    ("claude-sonnet-4-0", "claude-3-7-sonnet-20250219"),
    ("qwen2.5vl:7b", "qwen2.5vl:3b"),
    ("Qwen3-VL-8B-Instruct", "Qwen3-VL-30B-A3B-Instruct"),
    ("nano@0123", "nano@4567"),
    ("qwen", "llama"),
]


@pytest.mark.parametrize(("asked", "answered"), SAME)
def test_a_version_or_a_prefix_makes_no_other_model(asked: str, answered: str) -> None:
    assert is_same_model(asked, answered)


@pytest.mark.parametrize(("asked", "answered"), OTHER)
def test_another_model_is_noticed_whichever_was_asked(asked: str, answered: str) -> None:
    assert not is_same_model(asked, answered) and not is_same_model(answered, asked)


@given(st.from_regex(r"[\w.:@-]{1,40}", fullmatch=True))
def test_every_name_is_the_same_as_itself_and_with_a_provider(name: str) -> None:
    assert is_same_model(name, name) and is_same_model(name, f"provider/{name}")
    assert is_same_model(f"models/{name}", name)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_names_can_be_compared(asked: str, answered: str) -> None:
    assert is_same_model(asked, answered) == is_same_model(answered, asked) or not answered.strip() or not asked.strip()
    assert isinstance(is_generic(asked), bool)


def answering(cell: int, model: str | None) -> Fault:
    """Answer with a cell, under the name of a model; None leaves the name out."""
    body = completion(f'{{"thought":"","cell":{cell}}}')
    del body["model"]
    return lambda handler: send(handler, 200, body if model is None else {**body, "model": model})


def cell_of(url: str, name: str | None, cache: Cache, **options: Any) -> int:
    return int(Cached(VLM(url, name), cache, **options).complete(request()).answer.cell)


def test_two_servers_that_both_say_default_share_no_entry(cache: Cache) -> None:
    with loopback() as first, loopback() as second:
        for loop, cell in ((first, 3), (second, 5)):
            loop.faults = [answering(cell, "default")]
        assert [cell_of(loop.url, "default", cache) for loop in (first, second)] == [3, 5]
        assert [cell_of(loop.url, "default", cache, replay=True) for loop in (first, second)] == [3, 5]


def test_another_models_reply_is_told_and_never_served_for_the_one_asked(cache: Cache) -> None:
    with loopback() as wrong, loopback() as right:
        wrong.faults = [answering(5, "llama")]
        with pytest.warns(ModelWarning, match=r"qwen at http.* is answered by llama"):
            assert cell_of(wrong.url, "qwen", cache) == 5
        right.faults = [answering(3, "qwen")]
        assert cell_of(right.url, "qwen", cache) == 3, "the reply of llama was not taken for one of qwen"
        assert len(right.bodies) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert cell_of(wrong.url, "qwen", cache) == 5 and len(wrong.bodies) == 1, "a second run pays nothing"
            assert cell_of(wrong.url, "qwen", cache, replay=True) == 5
    elsewhere = "http://127.0.0.1:9/v1"
    assert cell_of(elsewhere, "qwen", cache, replay=True) == 3
    with pytest.raises(Unrecorded):
        cell_of(elsewhere, "llama", cache, replay=True)


def test_the_reply_names_its_model_live_and_from_the_cache(loop: Loop, cache: Cache) -> None:
    for asked, named in (("gpt-4o", "gpt-4o-2024-08-06"), ("loop", "loop"), ("silent", None)):
        loop.faults = [answering(3, named)]
        model = Cached(VLM(loop.url, asked), cache)
        live, cached = model.complete(request()), model.complete(request())
        assert live.live and not cached.live
        assert (live.model, live.is_substitute) == (cached.model, cached.is_substitute) == (named or "", False)


def test_a_server_that_answers_under_its_own_name_again_is_told(loop: Loop, cache: Cache) -> None:
    loop.faults = [answering(5, "llama"), answering(3, "loop")]
    vlm = VLM(loop.url, "loop")
    model = Cached(vlm, cache.refreshing())
    with pytest.warns(ModelWarning, match="answered by llama"):
        assert model.complete(request()).is_substitute
    with pytest.warns(ModelWarning, match="under its own name again"):
        assert not Cached(vlm, cache.refreshing()).complete(request()).is_substitute
    assert cell_of(loop.url, "loop", cache) == 3 and len(loop.bodies) == 2
