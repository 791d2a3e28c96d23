"""`ak.Embedder` returns one vector an input, retries what may pass, and is paid for once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.embedding import embeddings, vector_of
from support.faults import Fault, failing, sending
from support.loopback import Loop

from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.embedding import EMBEDDING, MOST_TEXTS, Embedder, embed
from atlaskit.models.protocol import ModelError, Refused


@pytest.fixture
def server(loop: Loop) -> Loop:
    loop.answer = embeddings
    return loop


def rows(*vectors: list[float]) -> dict[str, Any]:
    return {"data": [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]}


def test_texts_are_sent_and_vectors_come_in_their_order(server: Loop) -> None:
    vectors = Embedder(server.url, "BAAI/bge-m3", api_key="secret").embed(["ein Kreis", "a red circle"])
    assert np.allclose(vectors, [vector_of("ein Kreis"), vector_of("a red circle")])
    assert server.bodies == [
        {"model": "BAAI/bge-m3", "input": ["ein Kreis", "a red circle"], "encoding_format": "float"}
    ]
    assert server.headers[0]["path"] == "/v1/embeddings" and server.headers[0]["Authorization"] == "Bearer secret"
    server.faults = [sending({"data": rows([1.0, 2.0], [3.0, 4.0])["data"][::-1]})]
    assert Embedder(server.url, "m").embed(["a", "b"]).tolist() == [[1, 2], [3, 4]]
    assert "Authorization" not in server.headers[1]


PASSING: dict[str, Fault] = {
    "list": sending([1]),
    "too few": sending(rows([1.0])),
    "NaN": sending(rows([float("nan")], [1.0])),
    "base64": sending({"data": [{"index": index, "embedding": "AACAPw=="} for index in range(2)]}),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_is_retried_and_one_sentence_if_it_stays(server: Loop, name: str) -> None:
    server.faults = [PASSING[name]]
    vectors = Embedder(server.url, "m").embed(["a", "b"])
    assert vectors.shape == (2, len(vector_of("a")))
    server.faults = [PASSING[name]] * 4
    with pytest.raises(ModelError, match=r"^m at http://.* returned .*\(4 attempts\).*\.$") as caught:
        Embedder(server.url, "m").embed(["a", "b"])
    assert caught.value.usage.calls == 4 and "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_the_vectors_of_another_model_are_refused(server: Loop) -> None:
    server.faults = [sending({**rows([1.0]), "model": "BAAI/bge-m3"})]
    assert Embedder(server.url, "bge-m3").embed(["a"]).tolist() == [[1.0]]
    server.faults = [sending({**rows([1.0]), "model": "e5-large"})]
    with pytest.raises(Refused, match="bge-m3 at http://.* answered as another model, e5-large"):
        Embedder(server.url, "bge-m3").embed(["a"])


def test_each_text_is_embedded_once(server: Loop, cache: Cache) -> None:
    embedder, texts = Embedder(server.url, "m"), [f"text {number}" for number in range(2 * MOST_TEXTS + 5)]
    vectors = embed(embedder, texts, cache)
    assert [len(body["input"]) for body in server.bodies] == [MOST_TEXTS, MOST_TEXTS, 5]
    assert np.allclose(vectors, [vector_of(text) for text in texts])
    again = embed(Embedder(server.url.replace("127.0.0.1", "localhost"), "m"), [*texts[::-1], "new"], cache)
    assert len(server.bodies) == 4 and server.bodies[-1]["input"] == ["new"]
    assert np.array_equal(again[:-1], vectors[::-1])
    assert np.array_equal(embed(embedder, texts, cache, replay=True), vectors)
    with pytest.raises(Unrecorded, match="lacks vectors of m, and a replay asks no model"):
        embed(embedder, ["unknown"], cache, replay=True)
    assert len(server.bodies) == 4
    embed(Embedder(server.url, "another"), texts[:1], cache)
    assert len(server.bodies) == 5


def test_a_replay_repeats_a_failure(server: Loop, cache: Cache) -> None:
    server.faults = [failing(500)] * 4
    with pytest.raises(ModelError) as first:
        embed(Embedder(server.url, "m"), ["a"], cache)
    with pytest.raises(ModelError) as again:
        embed(Embedder(server.url, "m"), ["a"], cache, replay=True)
    assert str(again.value) == str(first.value) and not again.value.live and len(server.bodies) == 4
    assert embed(Embedder(server.url, "m"), ["a"], cache).shape[0] == 1, "another run makes the call again"
    assert embed(Embedder(server.url, "m"), ["a"], cache, replay=True).shape[0] == 1


def test_what_is_no_vector_in_a_cache_is_made_again(server: Loop, cache: Cache) -> None:
    for entry in (b"", b"abc", np.array([np.nan], "<f4").tobytes(), b"[1.0]" * 3):
        cache.put(EMBEDDING.key(text="a", model="m"), entry)
        vectors = embed(Embedder(server.url, "m"), ["a"], cache)
        assert np.allclose(vectors, [vector_of("a")])
    cache.put(EMBEDDING.key(text="b", model="m"), np.array([1.0], "<f4").tobytes())
    with pytest.raises(InputError, match="of another length than those in"):
        embed(Embedder(server.url, "m"), ["a", "b"], cache)
