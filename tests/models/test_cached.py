"""Replies that are kept: samples, asking again, replaying, and what is never kept."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, Field
from support.loopback import Fault, Loop, completion, failing, saying, send
from support.model_doubles import Babbler, Counting

from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import VERSIONS, is_outdated
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.cached import Cached, reply_key
from atlaskit.models.client import VLM
from atlaskit.models.errors import ModelError, Refused
from atlaskit.models.protocol import Message, Request

OPTIONS = {"k": 4, "cell": 32, "workers": 2}


class Pick(BaseModel):
    cell: Annotated[int, Field(ge=0, le=9)]


def request(words: str = "Pick a cell.") -> Request:
    return Request("worker", "step", (Message("user", (words,)),), Pick)


def ended(reason: str, text: str = '{"cell":3}', **message: object) -> Fault:
    """An answer that fits, and ended for a reason."""
    body = completion(text, **message)
    body["choices"][0]["finish_reason"] = reason
    return lambda handler: send(handler, 200, body)


def test_each_sample_has_a_reply_and_a_seed_of_its_own(loop: Loop, cache: Cache) -> None:
    vlm = VLM(loop.url, "loop", temperature=1.0, seed=10)
    loop.faults = [saying(f'{{"cell":{cell}}}') for cell in (1, 2, 3)]
    first = [Cached(vlm, cache, sample=n).complete(request()).answer.cell for n in range(3)]
    again = [Cached(vlm, cache, sample=n).complete(request()).answer.cell for n in range(3)]
    assert first == again == [1, 2, 3]
    assert [body["seed"] for body in loop.bodies] == [10, 11, 12]
    assert cache.stats()["reply"]["entries"] == 3


def test_samples_of_a_whole_run_differ_and_are_replayed(world: World, cache: Cache) -> None:
    oracle = Counting(Oracle(world, miss=0.5, confuse=0.5))
    runs = [ask(world.drawn, world.questions[2], vlm=oracle, sample=n, cache=cache, **OPTIONS) for n in range(4)]
    calls = len(oracle.calls)
    assert len({tuple(event.kind for event in run.trace) for run in runs}) > 1
    assert [run.settings["sample"] for run in runs] == [0, 1, 2, 3]
    for n, run in enumerate(runs):
        assert ask(world.drawn, world.questions[2], vlm=oracle, sample=n, cache=cache, **OPTIONS).to_json() == (
            run.to_json()
        )
    assert len(oracle.calls) == calls


def test_refreshing_asks_once_for_each_request_and_keeps_what_is_new(loop: Loop, cache: Cache) -> None:
    vlm = VLM(loop.url, "loop")
    loop.faults = [saying(f'{{"cell":{cell}}}') for cell in (1, 2)]
    assert Cached(vlm, cache).complete(request()).answer.cell == 1
    fresh = Cached(vlm, cache, refresh=True)
    with ThreadPoolExecutor(8) as pool:
        cells = list(pool.map(lambda _: fresh.complete(request()).answer.cell, range(8)))
    assert cells == [2] * 8 and len(loop.bodies) == 2
    assert Cached(vlm, cache).complete(request()).answer.cell == 2


def test_what_cannot_be_refreshed_stays(loop: Loop, cache: Cache) -> None:
    vlm = VLM(loop.url, "loop")
    kept = Cached(vlm, cache).complete(request()).answer
    loop.faults = [failing(400)]
    with pytest.raises(ModelError):
        Cached(vlm, cache, refresh=True).complete(request())
    assert Cached(vlm, cache, replay=True).complete(request()).answer == kept


def test_a_refreshed_run_is_replayed_as_it_then_was(world: World, cache: Cache) -> None:
    model = Counting(Oracle(world, miss=0.3))
    first = ask(world.drawn, world.questions[0], vlm=model, cache=cache, **OPTIONS)
    calls = len(model.calls)
    fresh = ask(world.drawn, world.questions[0], vlm=model, refresh=True, cache=cache, **OPTIONS)
    assert len(model.calls) == 2 * calls and fresh.to_json() == first.to_json()
    assert fresh.spent.calls == calls


@pytest.mark.parametrize(
    "fault", [ended("content_filter"), ended("stop", refusal="I cannot help with that."), failing(400)]
)
def test_what_was_filtered_refused_or_failed_is_never_kept(loop: Loop, cache: Cache, fault: Fault) -> None:
    model = Cached(VLM(loop.url, "loop"), cache)
    loop.faults = [fault]
    with pytest.raises(Refused) as caught:
        model.complete(request())
    assert caught.value.usage.calls == 1 and "\n" not in str(caught.value)
    assert cache.stats()["reply"]["entries"] == 0
    assert model.complete(request()).live


def test_what_a_misfit_was_corrected_to_is_kept_and_the_misfit_is_not(loop: Loop, cache: Cache) -> None:
    loop.faults = [saying("I would pick cell 3."), saying('{"cell":3}')]
    model = Cached(VLM(loop.url, "loop"), cache)
    assert model.complete(request()).usage.calls == 2
    (entry,) = cache.entries()
    assert json.loads(cache.get(entry.key) or b"")["text"] == '{"cell":3}'


def test_a_replay_that_lacks_a_reply_says_so_and_asks_nobody(world: World, cache: Cache) -> None:
    model = Counting(Babbler(1))
    with pytest.raises(Unrecorded, match="no reply of babbler to a 'task'.*another run") as caught:
        ask(world.drawn, world.questions[0], vlm=model, replay=True, cache=cache, **OPTIONS)
    assert model.calls == [] and "\n" not in str(caught.value)


def test_a_replay_that_lacks_one_reply_of_many_says_so(world: World, tmp_path: Path) -> None:
    cache, model = Cache(tmp_path / "cache"), Counting(Oracle(world, miss=0.3))
    ask(world.drawn, world.questions[0], vlm=model, cache=cache, **OPTIONS)
    calls, replies = len(model.calls), [entry.key for entry in cache.entries() if entry.key.startswith("reply:")]
    for number, key in enumerate(replies):
        entry = cache.get(key)
        assert entry is not None
        cache.prune(is_wanted=lambda other, key=key: other != key)
        with pytest.raises(Unrecorded):
            ask(world.drawn, world.questions[0], vlm=model, replay=True, cache=cache, **OPTIONS)
        assert len(model.calls) == calls, number
        cache.put(key, entry)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sample": -1}, "sample is a whole number"),
        ({"sample": 0.5}, "sample is a whole number"),
        ({"refresh": True, "replay": True}, "set one"),
    ],
)
def test_a_wrong_wish_is_one_sentence(world: World, cache: Cache, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ask(world.drawn, world.questions[0], vlm=Babbler(), cache=cache, **options)  # type: ignore[arg-type]


def test_a_version_tells_what_no_code_looks_for_any_more(monkeypatch: pytest.MonkeyPatch, cache: Cache) -> None:
    old = reply_key(Babbler(), request())
    cache.put(old, b"x")
    assert not is_outdated(old)
    monkeypatch.setitem(VERSIONS, "reply", VERSIONS["reply"] + 1)
    newer = reply_key(Babbler(), request())
    assert newer != old and is_outdated(old) and not is_outdated(newer)
    assert not is_outdated("nothing:1:0") and not is_outdated(
        "reply:99:0"
    )  # of a version to come: it is not ours to judge
