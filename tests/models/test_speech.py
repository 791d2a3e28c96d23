"""`ak.ASR` returns lines at their times, retries what may pass, and refuses any other reply."""

from __future__ import annotations

from typing import Any

import pytest
from support.faults import failing, sending, sending_bytes
from support.loopback import Loop

from atlaskit.caching.cache import Cache
from atlaskit.errors import Unrecorded
from atlaskit.models.protocol import Refused
from atlaskit.models.speech import ASR, Segment, hear, read_transcription

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


PASSING = {
    "list": sending([GOOD]),
    "NaN": sending_bytes(b'{"text": "", "segments": [{"start": NaN, "end": 1, "text": "x"}]}'),
    "a book": sending({"text": "word " * 10_000}),
    "too many": sending({"segments": [{"start": 0, "end": 1, "text": "x"}] * 2001}),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_is_retried(echo: Loop, name: str) -> None:
    echo.faults = [PASSING[name]]
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
