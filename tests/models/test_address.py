"""A wrong address, key or proxy is one sentence; no host but the endpoint gets anything."""

from __future__ import annotations

from typing import Any

import pytest
from support.loopback import Loop
from support.stand_ins import request

from atlaskit.errors import InputError
from atlaskit.models.client import VLM
from atlaskit.models.http import Endpoint

NO_ADDRESSES = ("", "localhost:8000", "ftp://x/v1", "http://", 7, "http://a b/v1", "http://x/ü/v1", "http://x/\n")
NO_HOSTS = ("http://bücher.example/v1", "http://.invalid/v1", f"http://{'a' * 64}.example/v1", "http://x:port/v1")


@pytest.mark.parametrize("url", [*NO_ADDRESSES, *NO_HOSTS, "https://me:secret@x/v1"])
def test_an_invalid_address_is_an_error_of_one_line(url: Any) -> None:
    with pytest.raises(InputError) as caught:
        VLM(url, "loop")
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize("call", ["/chat/completions", "/models", "/responses", "/audio/transcriptions"])
def test_an_address_ends_before_the_call(call: str) -> None:
    with pytest.raises(InputError, match=f"ends before {call}"):
        VLM(f"http://host.example/v1{call}/", "loop")


def test_a_key_is_sent_to_its_endpoint_only(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    VLM(loop.url, "loop").complete(request())
    VLM(loop.url, "loop", api_key="sk-secret\n").complete(request())
    VLM(loop.url, "loop", api_key="").complete(request())
    assert [headers.get("Authorization") for headers in loop.headers] == [None, "Bearer sk-secret", None]
    for key in ("sk-sec\nret", "sk-“secret”"):
        with pytest.raises(InputError) as caught:
            VLM(loop.url, "loop", api_key=key)
        assert "sk" not in str(caught.value)
    assert Endpoint("https://model.example/v1")._headers == {"Authorization": "Bearer from-the-environment"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "localhost.", "a.localhost", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]"]
)
def test_every_name_of_this_machine_is_local(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert Endpoint(f"http://{host}:8000/v1").is_local and Endpoint(f"http://{host}:8000/v1")._headers == {}


@pytest.mark.parametrize(
    "proxy", ["http://proxy:abc", "http://us%C3%A9r:p@proxy:1", "http://[::1", "http://", "socks5://x:1"]
)
def test_an_unusable_proxy_is_an_error(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(InputError, match="proxy that the environment names"):
        VLM("http://model.example/v1", "x")
