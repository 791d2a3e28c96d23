"""`ak.ASR`: what is sent, what is retried, and replies that are not what was asked for."""

from __future__ import annotations

import json
import pickle
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from support.faults import failing, hanging_up, has_hung_up, send
from support.loopback import Server, running
from support.speaking import form

from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.cached_speech import hear
from atlaskit.models.errors import ModelError, Refused, Unreachable
from atlaskit.models.speech import ASR
from atlaskit.models.transcription import Segment, read_transcript_entry, read_transcription, transcript_entry

WAV = b"RIFF\x00\x01--\r\n" + bytes(range(256)) * 40
GOOD = {"text": "a b", "segments": [{"start": 0.5, "end": 1.5, "text": " a"}, {"start": 2, "end": 3, "text": "b "}]}
Fault = Callable[[BaseHTTPRequestHandler], None]


class Echo:
    """A server that plays faults, then answers GOOD; it notes the forms that it gets."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.forms: list[dict[str, bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Echo]:
    monkeypatch.setattr("atlaskit.models.attempts.FIRST_PAUSE_S", 0.01)
    state = Echo()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.forms.append(form(self.headers["Content-Type"], body))
            state.headers.append({"path": self.path, **self.headers})
            (state.faults.pop(0) if state.faults else answering(GOOD))(self)

    server = Server(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    with running(server):
        yield state


def answering(body: Any) -> Fault:
    return lambda handler: send(handler, 200, body)


def answering_bytes(data: bytes, length: int | None = None) -> Fault:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(length or len(data)))
        handler.end_headers()
        handler.wfile.write(data)
        handler.close_connection = True

    return answer


def resetting(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def silent(handler: BaseHTTPRequestHandler) -> None:
    assert has_hung_up(handler, 6.0), "the client waits for longer than its time-out"


def test_the_form_holds_the_file_and_all_that_was_set(echo: Echo) -> None:
    asr = ASR(echo.url, "openai/whisper-large-v3", language="de", prompt="Größe, Straße", api_key="secret")
    heard = asr.transcribe(WAV)
    assert heard.segments == (Segment(0.5, 1.5, "a"), Segment(2.0, 3.0, "b")) and heard.usage.calls == 1
    (sent,) = echo.forms
    assert sent["file"] == WAV
    told = {name: value.decode() for name, value in sent.items() if name != "file"}
    assert told == {
        "model": "openai/whisper-large-v3",
        "response_format": "verbose_json",
        "temperature": "0",
        "language": "de",
        "prompt": "Größe, Straße",
    }
    assert echo.headers[0]["path"] == "/v1/audio/transcriptions"
    assert echo.headers[0]["Authorization"] == "Bearer secret"


def test_what_was_not_set_is_not_sent(echo: Echo) -> None:
    ASR(echo.url, "m").transcribe(WAV)
    assert set(echo.forms[0]) == {"file", "model", "response_format", "temperature"}
    assert "Authorization" not in echo.headers[0]


PASSING = {
    "500": failing(500),
    "503": failing(503),
    "429": failing(429, Retry_After="0"),
    "hangs up": hanging_up,
    "resets": resetting,
    "HTML": answering_bytes(b"<html>Bad gateway</html>"),
    "empty": answering_bytes(b""),
    "half": answering_bytes(json.dumps(GOOD).encode()[:30], len(json.dumps(GOOD))),
    "list": answering([GOOD]),
    "error with 200": answering({"error": {"message": "busy"}}),
    "NaN": answering_bytes(b'{"text": "", "segments": [{"start": NaN, "end": 1, "text": "x"}]}'),
    "infinite": answering_bytes(b'{"text": "", "segments": [{"start": 0, "end": 1e999, "text": "x"}]}'),
    "no times": answering({"segments": [{"text": "x"}]}),
    "a book": answering({"text": "word " * 10_000}),
    "too many": answering({"segments": [{"start": 0, "end": 1, "text": "x"}] * 2001}),
    "too long": answering_bytes(b'{"text": "' + b"x" * 9_000_000 + b'"}'),
    "deep": answering_bytes(b"[" * 100_000),
}


@pytest.mark.parametrize("name", PASSING)
def test_a_fault_that_passes_is_retried(echo: Echo, name: str) -> None:
    echo.faults = [PASSING[name]]
    heard = ASR(echo.url, "m").transcribe(WAV)
    assert [segment.text for segment in heard.segments] == ["a", "b"] and heard.usage.calls == 2


@pytest.mark.parametrize("name", ["HTML", "NaN", "a book", "list"])
def test_a_fault_that_stays_is_one_sentence(echo: Echo, name: str) -> None:
    echo.faults = [PASSING[name]] * 4
    with pytest.raises(
        ModelError, match=r"^m at http://.* returned .*\(4 attempts\)(: check the address.*)?\.$"
    ) as caught:
        ASR(echo.url, "m").transcribe(WAV)
    assert caught.value.usage.calls == 4 and "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_a_slow_server_is_given_up(echo: Echo) -> None:
    echo.faults = [silent]
    began_s = time.monotonic()
    with pytest.raises(ModelError, match=r"did not answer within 0.3 s"):
        ASR(echo.url, "m", timeout_s=0.3).transcribe(WAV, max_attempts=1)
    assert time.monotonic() - began_s < 2


def test_a_cancelled_call_ends_soon(echo: Echo) -> None:
    echo.faults = [silent]
    cancel = threading.Event()
    threading.Timer(0.1, cancel.set).start()
    with pytest.raises(ModelError):
        ASR(echo.url, "m").transcribe(WAV, cancel=cancel)


def test_a_wrong_key_is_not_retried(echo: Echo) -> None:
    echo.faults = [failing(401)] * 4
    with pytest.raises(Refused, match="HTTP 401"):
        ASR(echo.url, "m").transcribe(WAV)
    assert len(echo.forms) == 1


def test_a_model_without_times_is_asked_for_its_text(echo: Echo) -> None:
    """The refusal is met once; an endpoint that gave times once is not asked for the text alone."""
    asr = ASR(echo.url, "gpt-4o-transcribe")
    echo.faults = [failing(400), answering({"text": "a b"})]
    assert asr.transcribe(WAV).segments == (Segment(None, None, "a b"),)
    echo.faults = [answering({"text": "c"})]
    assert asr.transcribe(WAV).usage.calls == 1
    assert [sent["response_format"] for sent in echo.forms] == [b"verbose_json", b"json", b"json"]

    asr = ASR(echo.url, "whisper")
    asr.transcribe(WAV)
    echo.faults = [failing(400)]
    with pytest.raises(Refused):
        asr.transcribe(WAV)
    assert [sent["response_format"] for sent in echo.forms[3:]] == [b"verbose_json", b"verbose_json"]


def test_a_refusal_that_another_call_has_met_meanwhile_is_no_error(echo: Echo) -> None:
    asr = ASR(echo.url, "gpt-4o-transcribe")

    def meanwhile(handler: BaseHTTPRequestHandler) -> None:
        asr.transcribe(WAV)
        failing(400)(handler)

    echo.faults = [meanwhile, failing(400), answering({"text": "a"}), answering({"text": "b"})]
    assert asr.transcribe(WAV).segments == (Segment(None, None, "b"),)
    assert [sent["response_format"] for sent in echo.forms] == [b"verbose_json", b"verbose_json", b"json", b"json"]


def test_a_model_that_does_not_exist_is_the_servers_own_sentence(echo: Echo) -> None:
    echo.faults = [failing(404)] * 2
    with pytest.raises(
        Refused, match=r"m at http://.* returned HTTP 404: no, not now \(2 attempts\): check the address"
    ):
        ASR(echo.url, "m").transcribe(WAV)


def test_no_server_is_told_with_advice() -> None:
    with pytest.raises(Unreachable, match="No model answers at http://127.0.0.1:9/v1"):
        ASR("http://127.0.0.1:9/v1", "m").transcribe(WAV, max_attempts=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "localhost:8000"}, "must begin with http"),
        ({"model": " "}, "model must be a text"),
        ({"response_format": "srt"}, "response_format must be verbose_json or json; got 'srt'"),
        ({"timeout_s": -1}, "timeout_s must be a positive number"),
        ({"in_flight": 0}, "in_flight must be a positive number"),
        ({"prompt": "x" * 20_000}, "prompt must be a text"),
    ],
)
def test_a_wrong_setting_is_told_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ASR(**{"base_url": "http://127.0.0.1:9/v1", "model": "m", **settings})


def test_a_copy_has_the_same_settings() -> None:
    asr = ASR("http://127.0.0.1:9/v1", "m", language="en", prompt="p", response_format="json", timeout_s=7)
    for copy in (pickle.loads(pickle.dumps(asr)), asr.with_language("en")):
        assert (copy.name, copy.base_url, copy.parameters) == (asr.name, asr.base_url, asr.parameters)
    assert asr.with_language("fr").parameters == {**asr.parameters, "language": "fr"}


@pytest.mark.parametrize(
    ("body", "segments"),
    [
        ({"text": "  many \n words\x07 "}, (Segment(None, None, "many words"),)),
        ({"text": ""}, ()),
        ({"text": "x", "segments": []}, (Segment(None, None, "x"),)),
        ({"text": "x", "segments": None}, (Segment(None, None, "x"),)),
        ({"segments": [{"start": "1.5", "end": 2, "text": "<|0.00|> x<|endoftext|>"}]}, (Segment(1.5, 2.0, "x"),)),
        ({"text": "", "segments": [{"start": 0, "end": 0, "text": " "}]}, ()),
        ({"text": "\ud800"}, (Segment(None, None, "?"),)),
        ({"text": "la " * 200}, (Segment(None, None, ("la " * 200).strip(), is_repetitive=True),)),
    ],
)
def test_a_body_becomes_plain_segments(body: Any, segments: tuple[Segment, ...]) -> None:
    assert read_transcription(body) == segments


def test_a_statistic_that_is_no_number_is_left_out() -> None:
    row = {"start": 0, "end": 1, "text": "x", "avg_logprob": float("nan"), "no_speech_prob": float("inf")}
    assert read_transcription({"segments": [row]}) == (Segment(0.0, 1.0, "x"),)


@pytest.mark.parametrize(
    ("statistics", "is_no_speech"),
    [
        ({"no_speech_prob": 0.9, "avg_logprob": -1.2}, True),
        ({"no_speech_prob": 0.9, "avg_logprob": -0.3}, False),  # sure of its words
        ({"no_speech_prob": 0.9}, True),
        ({"no_speech_prob": 0.5, "avg_logprob": -2.0}, False),
        ({"no_speech_prob": None, "avg_logprob": -2.0}, False),
    ],
)
def test_the_model_says_what_is_no_speech(statistics: dict[str, Any], is_no_speech: bool) -> None:
    (segment,) = read_transcription({"segments": [{"start": 0, "end": 1, "text": "x", **statistics}]})
    assert segment.is_no_speech == is_no_speech


def test_the_key_is_the_sound_the_model_and_what_it_was_told(echo: Echo, cache: Cache) -> None:
    def calls(asr: ASR, samples: bytes) -> int:
        before = len(echo.forms)
        hear(asr, samples, WAV, cache)
        return len(echo.forms) - before

    asr = ASR(echo.url, "m")
    assert calls(asr, b"one") == 1 and calls(asr, b"one") == 0 and calls(asr, b"two") == 1
    other_address = ASR(echo.url.replace("127.0.0.1", "localhost"), "m", api_key="k", timeout_s=9)
    assert calls(other_address, b"one") == 0
    for other in (ASR(echo.url, "n"), asr.with_language("en"), ASR(echo.url, "m", prompt="p")):
        assert calls(other, b"one") == 1
    assert hear(asr, b"two", WAV, cache, replay=True) == read_transcription(GOOD)
    with pytest.raises(Unrecorded, match="does not know what m hears"):
        hear(asr, b"three", WAV, cache, replay=True)


def test_an_entry_is_read_as_it_was_written_and_nothing_else() -> None:
    segments = (Segment(0.5, 1.0, "ä", True, False), Segment(None, None, "b"))
    assert read_transcript_entry(transcript_entry(segments)) == segments
    for entry in (b"", b"{}", b'[["0", 1, "x", false, false]]', b'[[0.0, NaN, "x", false, false]]', b"[" * 9999):
        with pytest.raises(ValueError):
            read_transcript_entry(entry)
