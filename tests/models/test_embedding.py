"""`ak.Embedder` and `ak.ASR` retry what may pass, refuse any other reply, and are paid for once."""

from __future__ import annotations

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


WAV = b"RIFF\x00\x01--\r\n" + bytes(range(256)) * 40
GOOD = {"text": "a b", "segments": [{"start": 0.5, "end": 1.5, "text": " a"}, {"start": 2, "end": 3, "text": "b "}]}


@pytest.fixture
def echo(loop: Loop) -> Loop:
    loop.answer = lambda _: sending(GOOD)
    return loop


def test_the_form_holds_the_file_and_all_that_was_set(echo: Loop) -> None:
    asr = ASR(echo.url, "openai/whisper-large-v3", language="de", prompt="Größe, Straße", api_key="secret")
    heard = asr.transcribe(WAV)
    assert heard == (Segment(0.5, 1.5, "a"), Segment(2.0, 3.0, "b")) and len(echo.bodies) == 1
    (sent,) = echo.bodies
    assert sent["file"] == WAV
    fields = {name: value.decode() for name, value in sent.items() if name != "file"}
    assert fields == {
        "model": "openai/whisper-large-v3",
        "response_format": "verbose_json",
        "temperature": "0",
        "language": "de",
        "prompt": "Größe, Straße",
    }
    assert echo.headers[0]["path"] == "/v1/audio/transcriptions"
    assert echo.headers[0]["Authorization"] == "Bearer secret"


PASSING_SPEECH = {
    "list": sending([GOOD]),
    "NaN": sending_bytes(b'{"text": "", "segments": [{"start": NaN, "end": 1, "text": "x"}]}'),
    "a book": sending({"text": "word " * 10_000}),
    "too many": sending({"segments": [{"start": 0, "end": 1, "text": "x"}] * 2001}),
}


@pytest.mark.parametrize("name", PASSING_SPEECH)
def test_a_fault_of_speech_that_passes_is_retried(echo: Loop, name: str) -> None:
    echo.faults = [PASSING_SPEECH[name]]
    heard = ASR(echo.url, "m").transcribe(WAV)
    assert [segment.text for segment in heard] == ["a", "b"] and len(echo.bodies) == 2


def test_a_model_without_times_is_asked_for_its_text(echo: Loop) -> None:
    """The refusal is met once; an endpoint that gave times once is not asked for the text alone."""
    asr = ASR(echo.url, "gpt-4o-transcribe")
    echo.faults = [failing(400), sending({"text": "a b"})]
    assert asr.transcribe(WAV) == (Segment(None, None, "a b"),)
    echo.faults = [sending({"text": "c"})]
    asr.transcribe(WAV)
    assert [sent["response_format"] for sent in echo.bodies] == [b"verbose_json", b"json", b"json"]

    asr = ASR(echo.url, "whisper")
    asr.transcribe(WAV)
    echo.faults = [failing(400)]
    with pytest.raises(Refused):
        asr.transcribe(WAV)
    assert [sent["response_format"] for sent in echo.bodies[3:]] == [b"verbose_json", b"verbose_json"]


@pytest.mark.parametrize(
    ("body", "segments"),
    [
        ({"text": "  many \n words\x07 "}, (Segment(None, None, "many words"),)),
        ({"segments": [{"start": "1.5", "end": 2, "text": "<|0.00|> x<|endoftext|>"}]}, (Segment(1.5, 2.0, "x"),)),
        ({"text": "\ud800"}, (Segment(None, None, "?"),)),
        ({"text": "la " * 200}, (Segment(None, None, ("la " * 200).strip(), is_repetitive=True),)),
    ],
)
def test_a_body_becomes_plain_segments(body: Any, segments: tuple[Segment, ...]) -> None:
    assert read_transcription(body) == segments


@pytest.mark.parametrize(
    ("statistics", "is_no_speech"),
    [
        ({"no_speech_prob": 0.9, "avg_logprob": -1.2}, True),
        ({"no_speech_prob": 0.9, "avg_logprob": -0.3}, False),  # sure of its words
        ({"no_speech_prob": 0.5, "avg_logprob": -2.0}, False),
    ],
)
def test_the_model_says_what_is_no_speech(statistics: dict[str, Any], is_no_speech: bool) -> None:
    (segment,) = read_transcription({"segments": [{"start": 0, "end": 1, "text": "x", **statistics}]})
    assert segment.is_no_speech == is_no_speech


def test_the_key_is_the_sound_the_model_and_what_it_was_told(echo: Loop, cache: Cache) -> None:
    def calls(asr: ASR, samples: bytes) -> int:
        before = len(echo.bodies)
        hear(asr, samples, WAV, cache)
        return len(echo.bodies) - before

    asr = ASR(echo.url, "m")
    assert calls(asr, b"one") == 1 and calls(asr, b"one") == 0 and calls(asr, b"two") == 1
    other_address = ASR(echo.url.replace("127.0.0.1", "localhost"), "m", api_key="k", timeout_s=9)
    assert calls(other_address, b"one") == 0
    for other in (ASR(echo.url, "n"), asr.with_language("en"), ASR(echo.url, "m", prompt="p")):
        assert calls(other, b"one") == 1
    assert hear(asr, b"two", WAV, cache, replay=True) == read_transcription(GOOD)
    with pytest.raises(Unrecorded, match="does not know what m hears"):
        hear(asr, b"three", WAV, cache, replay=True)
