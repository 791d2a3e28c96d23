"""One exchange with an HTTP endpoint, bounded in time and size, and its failures told in words.

Knows nothing of models: it sends bytes and brings bytes back, or says whether trying again may help.
"""

from __future__ import annotations

import ipaddress
import json
import math
import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from atlaskit.errors import InputError, printable, reason

if TYPE_CHECKING:
    import httpcore

CONNECT_S = 10.0
"""How long a connection may take: a model may think for long, but a server that is there answers the door."""
KEEP_ALIVE_S = 3.0
"""How long an idle connection is kept; vLLM hangs up after five seconds, and would do so in the middle of a request."""
LONGEST_ANSWER = 8_000_000
"""Bytes of the longest answer that is read."""
LONGEST_WAIT_S = 8.0
PASSING = frozenset({408, 409, 425, 429})
"""What a client may try again, beside all that is the server's own fault."""


class Failed(Exception):
    """An exchange that brought no answer. Its words follow on the endpoint's name: "… answers 503: overloaded"."""

    def __init__(
        self,
        words: str,
        *,
        status: int = 0,
        is_passing: bool = True,
        was_reached: bool = True,
        is_call: bool = True,
        wait_s: float | None = None,
    ) -> None:
        super().__init__(words)
        self.status = status
        """The HTTP status of the answer; 0 where there was none."""
        self.is_passing = is_passing
        """Whether it may go better the next time."""
        self.was_reached = was_reached
        """Whether anybody answers there at all."""
        self.is_call = is_call
        """Whether it counts as a call: the model was asked, or would have been."""
        self.wait_s = wait_s
        """How long the endpoint asks to wait."""


class Endpoint:
    """An address that requests go to. Connections are kept and shared between threads."""

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        """Take an address; raise InputError for one that is none. Where no key is given, OPENAI_API_KEY is taken."""
        from atlaskit.wire import pool  # here, so that `import atlaskit` loads no HTTP client

        self.base_url = str(base_url).rstrip("/")
        try:
            address = urlsplit(self.base_url)
            host, _ = address.hostname, address.port
        except ValueError as error:
            raise InputError(f"{base_url!r} is not an address ({reason(error)}).") from error
        if address.scheme not in ("http", "https") or not host:
            raise InputError(f"An endpoint's address begins with http:// or https://, got {base_url!r}.")
        key = api_key or os.environ.get("OPENAI_API_KEY")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        # A proxy for the outside cannot reach this machine.
        is_direct = _is_loopback(host) or proxy_bypass(host)
        proxies = {} if is_direct else getproxies()
        self._pool = pool(proxies.get(address.scheme) or proxies.get("all"), KEEP_ALIVE_S)

    def get(self, path: str, timeout_s: float = CONNECT_S) -> bytes:
        """Fetch a path below the address, or an address of its own."""
        return self._exchange("GET", path, b"", {}, timeout_s)

    def post(self, path: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> bytes:
        """Send a body and return the answer to it."""
        return self._exchange("POST", path, body, headers, timeout_s)

    def _exchange(self, method: str, path: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> bytes:
        import httpcore

        from atlaskit.wire import until

        url = path if "://" in path else f"{self.base_url}/{path}"
        told = {"Accept-Encoding": "identity", **self._headers, **headers, "Content-Length": str(len(body))}
        connect_s, until_s = min(CONNECT_S, timeout_s), time.monotonic() + timeout_s
        asked: dict[str, Any] = {"content": body, "extensions": {"timeout": {"connect": connect_s}}}
        page = bytearray()
        try:
            with until(until_s), self._pool.stream(method, url, headers=list(told.items()), **asked) as response:
                for chunk in response.iter_stream():
                    page += chunk
                    if len(page) > LONGEST_ANSWER:
                        raise Failed(f"does not come to an end ({len(page):,} bytes so far)")
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            if time.monotonic() < until_s:
                raise Failed("gives no answer", was_reached=False) from error
            raise Failed(f"gives no answer within {timeout_s:.3g} s") from error
        except httpcore.TimeoutException as error:
            words = f"does not come to an end within {timeout_s:.3g} s ({len(page):,} bytes so far)"
            raise Failed(words if page else f"gives no answer within {timeout_s:.3g} s") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
            raise Failed(f"breaks off ({printable(reason(error), 200)})") from error
        return _read(response, bytes(page))


def _read(response: httpcore.Response, page: bytes) -> bytes:
    """Return the answer's body; raise Failed for an answer that is an error."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    encoding = headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise Failed(f"answers in an encoding that was not asked for ({printable(encoding, 40)})")
    if response.status < 300:
        return page
    is_passing = response.status in PASSING or response.status >= 500
    words = f"answers {response.status}: {_words(page)}" if _words(page) else f"answers {response.status}"
    wait_s = _asked_wait(headers.get("retry-after", ""))
    raise Failed(words, status=response.status, is_passing=is_passing, wait_s=wait_s)


def parsed(page: bytes) -> Any:
    """Return an answer's JSON; raise Failed for what is none."""
    try:
        return json.loads(page)
    except (ValueError, RecursionError) as error:
        raise Failed(f"answers what is no JSON ({printable(reason(error), 200)})") from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _words(page: bytes) -> str:
    """Return an error's own message, on one line and not too long."""
    text = page.decode(errors="replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    match body:
        case {"error": {"message": str(message)}} | {"message": str(message)} | {"detail": str(message)}:
            text = message
    return printable(" ".join(text.split()), 300).rstrip(". ")


def _asked_wait(text: str) -> float | None:
    """Return the seconds of Retry-After, if it tells any; a date is not read, the client's own wait does."""
    try:
        wait_s = float(text)
    except ValueError:
        return None
    return min(wait_s, LONGEST_WAIT_S) if 0 <= wait_s < math.inf else None
