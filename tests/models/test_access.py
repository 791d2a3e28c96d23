"""Promise 17: a key reaches no message, file or other host; a wrong address is one sentence."""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from support.faults import sending, sending_bytes
from support.loopback import Loop, loopback
from support.stand_ins import request

from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.models.cached import Cached
from atlaskit.models.client import VLM
from atlaskit.models.http import Endpoint
from atlaskit.models.protocol import ModelError

KEY = "sk-proj/A1b2+C3d4_e5f6=x"
WRONG: dict[str, dict[str, Any]] = {
    "another protocol": {"base_url": "ftp://x/v1"},
    "a line break": {"base_url": "http://x/\n"},
    "no port": {"base_url": "http://x:port/v1"},
    "a password": {"base_url": "https://me:secret@x/v1"},
    "the address of a call": {"base_url": "http://host.example/v1/chat/completions/"},
    "a key of two lines": {"api_key": "sk-sec\nret"},
    "a header of two lines": {"headers": {"X": "a\r\nY: secret"}},
    "a header of the client": {"headers": {"Content-Length": "3"}},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_http_cannot_send_is_one_line_without_the_secret(name: str) -> None:
    with pytest.raises(InputError) as caught:
        VLM(**{"base_url": "http://127.0.0.1:9/v1", "model": "loop", **WRONG[name]})
    assert "\n" not in str(caught.value) and "sec" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["http://proxy:abc", "socks5://x:1"])
def test_an_unusable_proxy_is_an_error(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(InputError, match="proxy that the environment names"):
        VLM("http://model.example/v1", "x")


def test_the_proxy_is_used_for_other_machines_only(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is a server that answers requests itself, and so shows who used it."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with loopback() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        VLM(loop.url.replace("127.0.0.1", "localhost"), "loop").complete(request())
        assert (len(loop.bodies), len(proxy.bodies)) == (1, 0)
        VLM("http://model.example/v1", "loop").complete(request())
        assert (len(loop.bodies), len(proxy.bodies)) == (1, 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "localhost.", "a.localhost", "[::1]", "[::ffff:127.0.0.1]"])
def test_the_key_of_the_environment_is_for_no_server_of_this_machine(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai-1")
    local = Endpoint(f"http://{host}:8000/v1")
    assert local.is_local and local.key == ""
    assert Endpoint("https://model.example/v1", headers={"X-Org": "acme"}).key == "sk-of-openai-1"
    assert Endpoint("https://model.example/v1", headers={"api-key": KEY}).key == "", "it has a key of its own"


@pytest.mark.parametrize("pasted", [KEY, f"bearer  {KEY}", f'"{KEY}"', f" {KEY}\n"])
def test_a_key_is_sent_as_one_token_however_it_was_pasted(loop: Loop, pasted: str) -> None:
    VLM(loop.url, "loop", api_key=pasted).complete(request())
    assert loop.headers[-1]["Authorization"] == f"Bearer {KEY}"


def test_own_headers_are_sent_and_replace_the_key(loop: Loop) -> None:
    own = {"authorization": f"Token {KEY}", "X-Org": "acme"}
    VLM(loop.url, "loop", api_key="sk-other-key", headers=own).complete(request())
    sent = {name.lower(): value for name, value in loop.headers[-1].items()}
    assert (sent["authorization"], sent["x-org"]) == (f"Token {KEY}", "acme")


def encoded(encode: Callable[[bytes], bytes], before: int, key: str) -> str:
    """Return a key in base64, with so many bytes before it and some after it."""
    return encode(b"Bearer "[:before] + key.encode() + b" \xff\xfe").decode()


SPELT: dict[str, Callable[[str], str]] = {
    "capitals": str.upper,
    "JSON in JSON": lambda key: json.dumps(json.dumps("\\u0073" + key[1:]))[1:-1],
    "octal": lambda key: "".join(f"\\{ord(each):03o}" for each in key),
    "percent twice": lambda key: quote(quote(key, safe=""), safe=""),
    "HTML in hex": lambda key: "".join(f"&#x{ord(each):X};" for each in key),
    "hex with colons": lambda key: key.encode().hex(":"),
    "bytes": lambda key: str(list(key.encode())),
    "base64 after one byte": lambda key: encoded(base64.b64encode, 1, key),
    "base64 for URLs": lambda key: encoded(base64.urlsafe_b64encode, 0, key),
    "base64 in JSON": lambda key: encoded(base64.b64encode, 2, key).replace("/", "\\/"),
}


def shows(key: str, text: str) -> bool:
    """Return whether a part of a key is in a text: as it is, in hex, in base64, in any case."""
    parts = [key[9:15], key[9:15].encode().hex(), str(list(key[9:15].encode()))[1:-1]]
    parts += [base64.b64encode(key[at : at + 12].encode()).decode() for at in range(3, 6)]
    return any(part.lower() in text.lower() for part in parts)


@pytest.mark.parametrize("spelling", SPELT)
def test_a_key_that_is_sent_back_reaches_nothing(loop: Loop, cache: Cache, spelling: str) -> None:
    """Neither the message nor the stored failure, whatever the endpoint escapes."""
    said = SPELT[spelling](KEY)
    page = f'{{"error": {{"message": "no such key: {said}", "{said}": 1}}}}'.encode()
    loop.faults = [sending_bytes(page, 401, X_Key=said.replace("\\", "")), sending_bytes(said.encode(), 400)]
    own: tuple[dict[str, Any], ...] = ({"api_key": KEY}, {"headers": {"x-api-key": KEY}})
    for options in own:
        with pytest.raises(ModelError) as caught:
            Cached(VLM(loop.url, "loop", **options), cache).complete(request())
        assert "***" in str(caught.value) and not shows(KEY, str(caught.value))
    stored = [cache.get(entry.key) or b"" for entry in cache.entries()]
    assert stored and not any(shows(KEY, entry.decode(errors="replace")) for entry in stored)


def test_a_key_in_a_redirect_or_in_the_parts_of_a_stream_is_hidden(loop: Loop) -> None:
    answer = json.dumps({"thought": f"the key is {KEY}", "cell": 3})
    parts = [answer[at : at + 5] for at in range(0, len(answer), 5)]
    events = [json.dumps({"model": "loop", "choices": [{"delta": {"content": part}}]}) for part in parts]
    stream = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode()
    loop.faults = [sending({}, 301, Location=f"https://new.example/?key={quote(KEY, safe='')}"), sending_bytes(stream)]
    vlm = VLM(loop.url, "loop", api_key=KEY)
    with pytest.raises(ModelError, match=r"key=\*\*\*"):
        vlm.complete(request())
    assert vlm.complete(request()).answer.thought == "the key is ***"
