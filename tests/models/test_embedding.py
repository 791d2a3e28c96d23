"""`ak.Embedder` and `ak.ASR` retry what may pass, refuse any other reply, and are paid for once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.embedding import embeddings, vector_of
from support.faults import Fault, failing, sending, sending_bytes
from support.loopback import Loop

from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.embedding import EMBEDDING, MOST_TEXTS, Embedder, embed
from atlaskit.models.protocol import ModelError, Refused
from atlaskit.models.speech import ASR, Segment, hear, read_transcription

WAV = b"RIFF\x00\x01--\r\n" + bytes(range(256)) * 40
GOOD = {"text": "a b", "segments": [{"start": 0.5, "end": 1.5, "text": " a"}, {"start": 2, "end": 3, "text": "b "}]}
HEARD = (Segment(0.5, 1.5, "a"), Segment(2.0, 3.0, "b"))


@pytest.fixture
def server(loop: Loop) -> Loop:
    """A server of embeddings and of transcriptions."""
    loop.answer = lambda body: embeddings(body) if "input" in body else sending(GOOD)
    return loop


def rows(*vectors: list[float]) -> dict[str, Any]:
    return {"data": [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]}


def test_texts_are_sent_and_vectors_come_in_their_order(server: Loop) -> None:
    vectors = Embedder(server.url, "BAAI/bge-m3", api_key="secret").embed(["ein Kreis", "a red circle"])
    assert np.allclose(vectors, [vector_of("ein Kreis"), vector_of("a red circle")])
    sent = {"model": "BAAI/bge-m3", "input": ["ein Kreis", "a red circle"], "encoding_format": "float"}
    assert server.bodies == [sent] and server.headers[0]["path"] == "/v1/embeddings"
    assert server.headers[0]["Authorization"] == "Bearer secret"
    server.faults = [sending({"data": rows([1.0, 2.0], [3.0, 4.0])["data"][::-1]})]
    assert Embedder(server.url, "m").embed(["a", "b"]).tolist() == [[1, 2], [3, 4]]


def test_sound_is_sent_as_a_form_with_all_that_was_set(server: Loop) -> None:
    asr = ASR(server.url, "openai/whisper-large-v3", language="de", prompt="Größe, Straße", api_key="secret")
    assert asr.transcribe(WAV) == HEARD
    (sent,) = server.bodies
    assert sent.pop("file") == WAV
    assert {name: value.decode() for name, value in sent.items()} == {
        "model": "openai/whisper-large-v3",
        "response_format": "verbose_json",
        "temperature": "0",
        "language": "de",
        "prompt": "Größe, Straße",
    }
    assert server.headers[0]["path"] == "/v1/audio/transcriptions"
    assert server.headers[0]["Authorization"] == "Bearer secret"


def embed_two(url: str) -> object:
    return Embedder(url, "m").embed(["a", "b"]).shape == (2, len(vector_of("a")))


def hear_one(url: str) -> object:
    return ASR(url, "m").transcribe(WAV) == HEARD


PASSING: dict[str, tuple[Callable[[str], object], Fault]] = {
    "too few vectors": (embed_two, sending(rows([1.0]))),
    "a vector that is no number": (embed_two, sending(rows([float("nan")], [1.0]))),
    "a vector that no float holds": (embed_two, sending(rows([10**400], [1.0]))),
    "a list for speech": (hear_one, sending([GOOD])),
    "a time that is no number": (hear_one, sending_bytes(b'{"segments": [{"start": NaN, "end": 1, "text": "x"}]}')),
    "a book": (hear_one, sending({"text": "word " * 10_000})),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_is_retried_and_one_sentence_if_it_stays(server: Loop, name: str) -> None:
    call, fault = PASSING[name]
    server.faults = [fault]
    assert call(server.url) and len(server.bodies) == 2
    server.faults = [fault] * 4
    with pytest.raises(ModelError, match=r"^m at http://.* returned .*\(4 attempts\).*\.$") as caught:
        call(server.url)
    assert caught.value.usage.calls == 4 and "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_the_vectors_of_another_model_are_refused(server: Loop) -> None:
    server.faults = [sending({**rows([1.0]), "model": "BAAI/bge-m3"}), sending({**rows([1.0]), "model": "e5-large"})]
    embedder = Embedder(server.url, "bge-m3")
    assert embedder.embed(["a"]).tolist() == [[1.0]]
    with pytest.raises(Refused, match="bge-m3 at http://.* answered as another model, e5-large"):
        embedder.embed(["a"])


def test_each_text_is_embedded_once(server: Loop, cache: Cache) -> None:
    embedder = Embedder(server.url, "m")
    texts = [f"text {number}" for number in range(2 * MOST_TEXTS + 5)]
    vectors = embed(embedder, texts, cache)
    assert [len(body["input"]) for body in server.bodies] == [MOST_TEXTS, MOST_TEXTS, 5]
    assert np.allclose(vectors, [vector_of(text) for text in texts])
    again = embed(Embedder(server.url.replace("127.0.0.1", "localhost"), "m"), [*texts[::-1], "new"], cache)
    assert server.bodies[-1]["input"] == ["new"] and np.array_equal(again[:-1], vectors[::-1])
    assert np.array_equal(embed(embedder, texts, cache, replay=True), vectors)
    with pytest.raises(Unrecorded, match="lacks vectors of m, and a replay asks no model"):
        embed(embedder, ["unknown"], cache, replay=True)
    assert len(server.bodies) == 4
    embed(Embedder(server.url, "another"), texts[:1], cache)
    assert len(server.bodies) == 5


def test_what_is_no_vector_in_a_cache_is_made_again(server: Loop, cache: Cache) -> None:
    for entry in (b"", b"abc", np.array([np.nan], "<f4").tobytes(), b"[1.0]" * 3):
        cache.put(EMBEDDING.key(text="a", model="m"), entry)
        assert np.allclose(embed(Embedder(server.url, "m"), ["a"], cache), [vector_of("a")])
    cache.put(EMBEDDING.key(text="b", model="m"), np.array([1.0], "<f4").tobytes())
    with pytest.raises(InputError, match="of another length than those in"):
        embed(Embedder(server.url, "m"), ["a", "b"], cache)


def test_a_model_without_times_is_asked_for_its_text(server: Loop) -> None:
    """The refusal is met once; an endpoint that gave times once is not asked for the text alone."""
    server.faults = [failing(400), sending({"text": "a b"}), sending({"text": "c"})]
    asr = ASR(server.url, "gpt-4o-transcribe")
    assert [asr.transcribe(WAV) for _ in range(2)] == [(Segment(None, None, "a b"),), (Segment(None, None, "c"),)]
    assert [sent["response_format"] for sent in server.bodies] == [b"verbose_json", b"json", b"json"]
    asr = ASR(server.url, "whisper")
    asr.transcribe(WAV)
    server.faults = [failing(400)]
    with pytest.raises(Refused):
        asr.transcribe(WAV)


UNSURE = {"no_speech_prob": 0.9, "avg_logprob": -1.2}
TIMED = {"start": 0, "end": 1, "text": "x"}


@pytest.mark.parametrize(
    ("body", "segment"),
    [
        ({"text": "  many \n words\x07 "}, Segment(None, None, "many words")),
        ({"segments": [{"start": "1.5", "end": 2, "text": "<|0.00|> x<|endoftext|>"}]}, Segment(1.5, 2.0, "x")),
        ({"text": "la " * 200}, Segment(None, None, ("la " * 200).strip(), is_repetitive=True)),
        ({"segments": [{**TIMED, **UNSURE}]}, Segment(0.0, 1.0, "x", is_no_speech=True)),
    ],
)
def test_a_body_becomes_plain_segments(body: Any, segment: Segment) -> None:
    assert read_transcription(body) == (segment,)


def test_sound_is_heard_once_by_each_model_and_each_instruction(server: Loop, cache: Cache) -> None:
    def calls(asr: ASR, samples: bytes = b"one") -> int:
        before = len(server.bodies)
        hear(asr, samples, WAV, cache)
        return len(server.bodies) - before

    asr = ASR(server.url, "m")
    elsewhere = ASR(server.url.replace("127.0.0.1", "localhost"), "m", api_key="k", timeout_s=9)
    assert [calls(asr), calls(asr), calls(elsewhere), calls(asr, b"two")] == [1, 0, 0, 1]
    others = (ASR(server.url, "n"), asr.with_language("en"), ASR(server.url, "m", prompt="p"))
    assert [calls(other) for other in others] == [1, 1, 1]
    assert hear(asr, b"two", WAV, cache, replay=True) == HEARD
    with pytest.raises(Unrecorded, match="does not know what m hears"):
        hear(asr, b"three", WAV, cache, replay=True)
