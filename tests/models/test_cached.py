"""Promise 7 for replies: what a key covers, samples, refresh, and what is never cached."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.asking import ask
from support.faults import Fault, failing, finishing, saying
from support.loopback import Loop
from support.model_doubles import Counting
from support.stand_ins import Pick, request

from atlaskit.agents import schemas
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import ACTIONS
from atlaskit.environment.mdp import LegalSet
from atlaskit.environment.render import view
from atlaskit.errors import Unrecorded
from atlaskit.models.cached import Cached, reply_key
from atlaskit.models.client import VLM
from atlaskit.models.protocol import Message, ModelError, Refused, Request
from atlaskit.runs.result import Result
from atlasworld import Oracle, World

OPTIONS = {"k": 4, "cell": 32, "workers": 2}
NAMING_CELLS = tuple(name for name, kind in ACTIONS.items() if kind.takes != "nothing")


def thinking(number: int) -> str:
    """Return an answer that a number tells from others."""
    return f'{{"thought":"{number}","cell":3}}'


def test_each_sample_has_its_own_reply_and_seed(loop: Loop, cache: Cache) -> None:
    vlm = VLM(loop.url, "loop", temperature=1.0, seed=10)
    loop.faults = [saying(thinking(number)) for number in range(3)]
    first = [Cached(vlm, cache, sample=n).complete(request()).text for n in range(3)]
    again = [Cached(vlm, cache, sample=n).complete(request()).text for n in range(3)]
    assert first == again == [thinking(number) for number in range(3)]
    assert [body["seed"] for body in loop.bodies] == [10, 11, 12]
    assert cache.stats()["reply"]["entries"] == 3


def test_samples_of_a_run_differ_and_each_is_replayed(world: World, cache: Cache) -> None:
    oracle = Counting(Oracle(world, miss=0.5, confuse=0.5))

    def run(sample: int) -> Result:
        return ask(world.drawn, world.questions[2], vlm=oracle, sample=sample, cache=cache, **OPTIONS)

    runs = [run(sample) for sample in range(4)]
    calls = len(oracle.calls)
    assert len({tuple(event.kind for event in run.trace) for run in runs}) > 1
    assert [run.settings["sample"] for run in runs] == [0, 1, 2, 3]
    assert [run(sample).to_json() for sample in range(4)] == [run.to_json() for run in runs]
    assert len(oracle.calls) == calls


def test_refresh_makes_one_call_for_each_request_and_caches_its_reply(loop: Loop, cache: Cache) -> None:
    vlm = VLM(loop.url, "loop")
    loop.faults = [saying(thinking(1)), saying(thinking(2))]
    assert Cached(vlm, cache).complete(request()).text == thinking(1)
    refreshed = Cached(vlm, cache.refreshing())
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: refreshed.complete(request()).text, range(8)))
    assert texts == [thinking(2)] * 8 and len(loop.bodies) == 2
    loop.faults = [failing(400)]
    with pytest.raises(ModelError):
        Cached(vlm, cache.refreshing()).complete(request())
    assert Cached(vlm, cache).complete(request()).text == thinking(2), "a refresh that fails loses nothing"


@pytest.mark.parametrize(
    "fault", [finishing("content_filter"), finishing("stop", refusal="I cannot help with that."), failing(400)]
)
def test_a_filtered_or_refused_answer_is_never_cached(loop: Loop, cache: Cache, fault: Fault) -> None:
    model = Cached(VLM(loop.url, "loop"), cache)
    loop.faults = [fault]
    with pytest.raises(Refused) as caught:
        model.complete(request())
    assert caught.value.usage.calls == 1 and "\n" not in str(caught.value)
    assert cache.stats()["reply"]["entries"] == 0
    assert model.complete(request()).live


def test_a_replay_without_one_reply_of_many_makes_no_call(world: World, cache: Cache) -> None:
    model = Counting(Oracle(world, miss=0.3))
    ask(world.drawn, world.questions[0], vlm=model, cache=cache, **OPTIONS)
    calls = len(model.calls)
    keys = [entry.key for entry in cache.entries() if entry.key.startswith("reply:")]
    assert len(keys) > 1
    for key in keys:
        entry = cache.get(key)
        assert entry is not None
        cache.prune(is_wanted=lambda other, key=key: other != key)
        with pytest.raises(Unrecorded):
            ask(world.drawn, world.questions[0], vlm=model, replay=True, cache=cache, **OPTIONS)
        cache.put(key, entry)
    assert len(model.calls) == calls


def test_a_cached_reply_counts_no_more_calls_than_are_left(loop: Loop, cache: Cache) -> None:
    model = Cached(VLM(loop.url, "loop"), cache)
    loop.faults = [failing(500)] * 2
    assert model.complete(request()).usage.calls == 3
    assert model.complete(request()).usage.calls == 3
    assert model.complete(request(), max_attempts=1).usage.calls == 1


@pytest.mark.parametrize("entry", [b"not JSON", b'{"text":7,"usage":{},"reasoning":""}'])
def test_an_entry_of_another_form_is_replaced_by_a_call(loop: Loop, cache: Cache, entry: bytes) -> None:
    vlm = VLM(loop.url, "loop")
    cache.put(reply_key(vlm, request()), entry)
    assert Cached(vlm, cache).complete(request()).live
    assert not Cached(vlm, cache).complete(request()).live


def test_a_reply_key_covers_all_that_the_reply_depends_on_and_nothing_else(loop: Loop, world: World) -> None:
    vlm = VLM(loop.url, "loop", dialect="vllm")
    grid_view = view(world.drawn, k=2, cell=64, cache=Cache(None))
    cells = tuple(range(9))
    shapes = [
        schemas.probe_schema(cells, 3),
        *(schemas.step_schema(LegalSet({name: cells, "finished": ()})) for name in NAMING_CELLS),
        schemas.step_schema(LegalSet({"expand": cells, "add_to_scratchpad": cells[:8], "finished": ()})),
        schemas.step_schema(LegalSet({"expand": cells[:8], "add_to_scratchpad": cells, "finished": ()})),
        schemas.review_schema(2, 600.0, ("A", "B"), cells),
    ]
    requests = [
        request(),
        request("Pick another."),
        request(max_tokens=5),
        Request("worker", "step", (Message("system", ("Pick a cell.",)),), Pick),
        request("Pick a cell.", grid_view),
        *(Request("worker", "step", request().messages, shape) for shape in shapes),
    ]
    others: list[dict[str, Any]] = [
        {"model": "other"},
        {"temperature": 1},
        {"seed": 1},
        {"dialect": "plain"},
        {"thinking": False},
        {"extra_body": {"top_k": 1}},
    ]
    keys = [reply_key(vlm, each) for each in requests]
    keys += [reply_key(VLM(loop.url, **{"model": "loop", "dialect": "vllm", **each}), request()) for each in others]
    assert len(set(keys)) == len(keys)
    same = Request("master", "probe", request().messages, Pick, facts={"truth": 3})
    elsewhere = VLM("http://127.0.0.1:1/v1", "loop", dialect="vllm", api_key="k", timeout_s=1, max_tokens=9)
    assert reply_key(elsewhere, same) == keys[0]
