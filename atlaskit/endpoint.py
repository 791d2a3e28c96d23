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

from atlaskit.errors import InputError, reason

if TYPE_CHECKING:
    import httpx

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
        was_sent: bool = True,
        wait_s: float | None = None,
    ) -> None:
        super().__init__(words)
        self.status = status
        """The HTTP status of the answer; 0 where there was none."""
        self.is_passing = is_passing
        """Whether it may go better the next time."""
        self.was_reached = was_reached
        """Whether anybody answers there at all."""
        self.was_sent = was_sent
        """Whether the request left the house: if so, it counts as a call."""
        self.wait_s = wait_s
        """How long the endpoint asks to wait."""


class Endpoint:
    """An address that requests go to. Connections are kept and shared between threads."""

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        """Take an address; raise InputError for one that is none. Where no key is given, OPENAI_API_KEY is taken."""
        import httpx  # here, so that `import atlaskit` stays light

        self.base_url = str(base_url).rstrip("/")
        try:
            url = httpx.URL(self.base_url)
        except (httpx.InvalidURL, TypeError) as error:
            raise InputError(f"{base_url!r} is not an address ({reason(error)}).") from error
        if url.scheme not in ("http", "https") or not url.host:
            raise InputError(f"An endpoint's address begins with http:// or https://, got {base_url!r}.")
        key = api_key or os.environ.get("OPENAI_API_KEY")
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=KEEP_ALIVE_S),
            trust_env=not _is_loopback(url.host),  # a proxy for the outside cannot reach this machine
        )

    def get(self, path: str, timeout_s: float = CONNECT_S) -> bytes:
        """Fetch a path below the address, or an address of its own."""
        return self._exchange("GET", path, b"", {}, timeout_s)

    def post(self, path: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> bytes:
        """Send a body and return the answer to it."""
        return self._exchange("POST", path, body, headers, timeout_s)

    def _exchange(self, method: str, path: str, body: bytes, headers: Mapping[str, str], timeout_s: float) -> bytes:
        import httpx

        url = path if "://" in path else f"{self.base_url}/{path}"
        until_s = time.monotonic() + timeout_s
        timeout: dict[str, float | None] = dict.fromkeys(("read", "write"), timeout_s)
        timeout |= {"connect": min(CONNECT_S, timeout_s), "pool": None}
        asked = {"content": body, "headers": headers, "extensions": {"timeout": timeout}}
        try:
            with self._client.stream(method, url, **asked) as response:  # type: ignore[arg-type]
                # A time-out of httpx is one for each read: without this, an answer that drips would never end.
                timeout["read"] = max(0.01, until_s - time.monotonic())
                page = bytearray()
                for chunk in response.iter_bytes():
                    page += chunk
                    if len(page) > LONGEST_ANSWER or time.monotonic() > until_s:
                        raise Failed(f"does not come to an end ({len(page):,} bytes in {timeout_s:.3g} s)")
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Failed("gives no answer", was_reached=False) from error
        except httpx.TimeoutException as error:
            raise Failed(f"gives no answer within {timeout_s:.3g} s") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise Failed(f"breaks off ({reason(error)[:200]})") from error
        if response.status_code < 300:
            return bytes(page)
        is_passing = response.status_code in PASSING or response.status_code >= 500
        words = f"answers {response.status_code}: {_words(bytes(page)) or response.reason_phrase}"
        raise Failed(words, status=response.status_code, is_passing=is_passing, wait_s=_asked_wait(response))


def parsed(page: bytes) -> Any:
    """Return an answer's JSON; raise Failed for what is none."""
    try:
        return json.loads(page)
    except (ValueError, RecursionError) as error:
        raise Failed(f"answers what is no JSON ({reason(error)[:200]})") from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
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
    return " ".join(text.split())[:300].rstrip(". ")


def _asked_wait(response: httpx.Response) -> float | None:
    """Return the seconds of Retry-After, if it tells any; a date is not read, the client's own wait does."""
    try:
        wait_s = float(response.headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return min(wait_s, LONGEST_WAIT_S) if 0 <= wait_s < math.inf else None
