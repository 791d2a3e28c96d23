"""Promise 17: a key reaches no message, file or other host. Also headers, time-outs and rates."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from support.faults import Fault, completion, fitting_answer, saying, sending, sending_bytes, staying_silent
from support.loopback import Loop
from support.parallel import run_all
from support.stand_ins import request

from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, ModelWarning
from atlaskit.models.attempts import Slots
from atlaskit.models.cached import Cached
from atlaskit.models.client import VLM
from atlaskit.models.protocol import ModelError, now_s

KEY = "sk-proj/A1b2+C3d4_e5f6=x"


def test_headers_are_sent_with_every_request(loop: Loop) -> None:
    VLM(loop.url, "loop", headers={"api-key": KEY, "X-Org": "acme"}).complete(request())
    assert [loop.headers[-1][name] for name in ("api-key", "X-Org")] == [KEY, "acme"]


def test_a_header_of_ones_own_replaces_the_key(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    VLM(loop.url, "loop", api_key="sk-other-key", headers={"authorization": f"Token {KEY}"}).complete(request())
    assert {name.lower(): value for name, value in loop.headers[-1].items()}["authorization"] == f"Token {KEY}"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-1")
    vlm = VLM("https://service.example/v1", "m", headers={"api-key": KEY})
    assert vlm._line.endpoint.key == "", "the environment's key is not for this service"
    assert VLM("https://service.example/v1", "m", headers={"X-Org": "acme"})._line.endpoint.key == "sk-of-openai-1"


@pytest.mark.parametrize("pasted", [f"Bearer {KEY}", f"bearer  {KEY}", f'"{KEY}"', f" {KEY}\n"])
def test_a_key_is_sent_as_one_token_however_it_was_pasted(loop: Loop, pasted: str) -> None:
    VLM(loop.url, "loop", api_key=pasted).complete(request())
    assert loop.headers[-1]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("headers", [{"a b": "c"}, {"X": "a\r\nY: b"}, {"Content-Length": "3"}, {"X": 3}])
def test_a_header_that_http_does_not_have_is_refused(headers: Any) -> None:
    with pytest.raises(InputError, match="header"):
        VLM("http://127.0.0.1:9/v1", "m", headers=headers)


def encoded(encode: Callable[[bytes], bytes], before: int, key: str) -> str:
    """Return a key in base64, with so many bytes before it and some after it."""
    return encode(b"Bearer "[:before] + key.encode() + b" \xff\xfe").decode()


SPELT: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "slashes": lambda key: key.replace("/", "\\/"),
    "one letter": lambda key: "\\u0073" + key[1:],
    "all letters": lambda key: "".join(f"\\u{ord(each):04X}" for each in key),
    "JSON in JSON": lambda key: json.dumps(json.dumps("\\u0073" + key[1:]))[1:-1],
    "percent": lambda key: quote(key, safe=""),
    "percent twice": lambda key: quote(quote(key, safe=""), safe=""),
    "HTML": lambda key: "".join(f"&#{ord(each)};" for each in key),
    "HTML in hex": lambda key: "".join(f"&#x{ord(each):X};" for each in key),
    "capitals": str.upper,
    "percent u": lambda key: "".join(f"%u{ord(each):04x}" for each in key),
    "octal": lambda key: "".join(f"\\{ord(each):03o}" for each in key),
    "code points": lambda key: "".join(f"\\u{{{ord(each):x}}}" for each in key),
    "quoted printable": lambda key: "".join(f"={ord(each):02X}" for each in key),
    "hex": lambda key: key.encode().hex(),
    "hex with colons": lambda key: key.encode().hex(":"),
    "bytes": lambda key: str(list(key.encode())),
    **{
        f"base64 after {before} bytes": lambda key, before=before: encoded(base64.b64encode, before, key)
        for before in range(4)
    },
    "base64 for URLs": lambda key: encoded(base64.urlsafe_b64encode, 1, key),
    "base64 in JSON": lambda key: encoded(base64.b64encode, 2, key).replace("/", "\\/"),
}


def shows(key: str, text: str) -> bool:
    """Return whether a part of a key is in a text: as it is, in hex, in base64, in any case."""
    parts = [key[9:15], key[9:15].encode().hex(), str(list(key[9:15].encode()))[1:-1]]
    parts += [base64.b64encode(key[at : at + 12].encode()).decode() for at in range(3, 6)]
    return any(part.lower() in text.lower() for part in parts)


@pytest.mark.parametrize("spelling", SPELT)
@pytest.mark.parametrize("how", ["key", "header"])
def test_a_key_that_is_sent_back_reaches_nothing(loop: Loop, cache: Cache, spelling: str, how: str) -> None:
    """Neither the message nor the stored failure, whatever the endpoint escapes."""
    said = SPELT[spelling](KEY)
    page = f'{{"error": {{"message": "no such key: {said}", "{said}": 1}}}}'.encode()
    loop.faults = [sending_bytes(page, 401, X_Key=said.replace("\\", "")), sending_bytes(said.encode(), 400)]
    own: dict[str, Any] = {"api_key": KEY} if how == "key" else {"headers": {"x-api-key": KEY}}
    for _ in range(2):
        with pytest.raises(ModelError) as caught:
            Cached(VLM(loop.url, "loop", **own), cache).complete(request())
        assert "***" in str(caught.value) and not shows(KEY, str(caught.value))
    stored = [cache.get(entry.key) or b"" for entry in cache.entries()]
    assert stored and not any(shows(KEY, entry.decode(errors="replace")) for entry in stored)


def test_a_key_in_a_redirect_is_hidden(loop: Loop) -> None:
    loop.faults = [sending({}, 301, Location=f"https://new.example/?key={quote(KEY, safe='')}")]
    with pytest.raises(ModelError, match=r"key=\*\*\*"):
        VLM(loop.url, "loop", api_key=KEY).complete(request())


def test_a_key_in_the_parts_of_a_stream_is_hidden(loop: Loop) -> None:
    answer = json.dumps({"thought": f"the key is {KEY}", "cell": 3})
    parts = [answer[at : at + 5] for at in range(0, len(answer), 5)]
    events = [json.dumps({"model": "loop", "choices": [{"delta": {"content": part}}]}) for part in parts]
    loop.faults = [sending_bytes("".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode())]
    reply = VLM(loop.url, "loop", api_key=KEY).complete(request())
    assert reply.answer.thought == "the key is ***" and not shows(KEY, reply.text)


def test_a_time_out_grows_with_the_answer_and_names_its_option(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    given = list[float]()
    vlm = VLM(loop.url, "loop", max_tokens=17_408)
    exchange = vlm._line.endpoint.exchange

    def noting(path: str, *how: Any, **more: Any) -> Any:
        given.extend(how[2:3])
        return exchange(path, *how, **more)

    monkeypatch.setattr(vlm._line.endpoint, "exchange", noting)
    vlm.complete(request())
    assert given == [17_408 / 20]
    loop.faults = [staying_silent]
    with pytest.raises(ModelError, match=r"within 0\.1 s: give it more time: timeout_s=… \(--timeout\)"):
        VLM(loop.url, "loop", timeout_s=0.1).complete(request(), max_attempts=1)


def test_requests_a_minute_are_spread(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    slept = list[float]()
    monkeypatch.setattr("atlaskit.models.attempts.time", SimpleNamespace(monotonic=time.monotonic, sleep=slept.append))
    vlm = VLM(loop.url, "loop", rpm=30)
    for _ in range(3):
        vlm.complete(request())
    assert slept == pytest.approx([2.0, 4.0], abs=0.5)


def test_the_number_in_flight_follows_the_endpoint() -> None:
    slots = Slots(8)
    assert [slots.acquire(0) for _ in range(9)] == [True] * 8 + [False]
    slots.note_refusal()
    slots.note_refusal()
    for _ in range(7):
        slots.release()
    assert [slots.acquire(0), slots.acquire(0)] == [True, False], "two at once after two refusals"
    for _ in range(2 + 3 + 4 + 5 + 6 + 7 + 8):
        slots.note_answer()
    assert [slots.acquire(0) for _ in range(7)] == [True] * 6 + [False]


def test_the_wait_is_told_once_with_the_rate_that_was_seen(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty requests pass, then the next ones wait for a minute that is over at once."""
    monkeypatch.setattr("atlaskit.models.attempts.LONGEST_BUSY_PAUSE_S", 0.01)
    seen, lock = [0], threading.Lock()

    def limited(body: dict[str, Any]) -> Fault:
        with lock:
            seen[0] += 1
            if 30 < seen[0] <= 36:
                return sending({"error": {"message": "Rate limit reached for requests per min"}}, 429)
        return saying(fitting_answer(body))

    loop.answer = limited
    vlm = VLM(loop.url, "loop")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        replies: list[Any] = []
        run_all([lambda n=n: replies.append(vlm.complete(request(f"Number {n}."))) for n in range(40)], 4)
    assert len(replies) == 40 and {reply.usage.calls for reply in replies} == {1}
    words = [str(each.message) for each in told if issubclass(each.category, ModelWarning)]
    assert len(words) == 1 and re.search(r"after (2[6-9]|30) answers within a minute \(rpm=…, --rpm", words[0])


class Dot:
    """An image of a few bytes."""

    size = (8, 8)

    def __init__(self, number: int) -> None:
        self.key = f"dot-{number}"

    def jpeg(self) -> bytes:
        return self.key.encode()


def test_images_that_were_not_counted_are_told_once(loop: Loop) -> None:
    def counting(tokens: int) -> Fault:
        page = completion('{"thought":"","cell":3}')
        return sending({**page, "usage": {"prompt_tokens": tokens, "completion_tokens": 10}})

    vlm = VLM(loop.url, "loop")
    asked = request("Pick a cell.", *map(Dot, range(6)))
    loop.faults = [counting(700)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vlm.complete(asked)
    loop.faults = [counting(30)] * 2
    with pytest.warns(ModelWarning, match="counted 30 prompt tokens for 6 images") as told:
        vlm.complete(asked)
        vlm.complete(asked)
    assert len(told) == 1


def test_a_run_out_of_time_is_not_told_to_give_more(loop: Loop) -> None:
    loop.faults = [staying_silent]
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop").complete(request(), deadline_s=now_s() + 0.1)
    assert "timeout_s" not in str(caught.value)
