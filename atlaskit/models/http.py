"""One exchange with an HTTP endpoint, bounded in time and size, and its failures told in words.

Knows nothing of models: it sends bytes and brings bytes back, or says whether trying again may help.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import math
import os
import socket
import threading
import time
import zlib
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
PASSING = frozenset({408, 409, 425, 429})
"""What a client may try again, beside all that is the server's own fault."""


class HttpFailure(Exception):
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
        """Take an address and its key; raise InputError for one that cannot be.

        Where no key is given, that in the environment's OPENAI_API_KEY is taken, but for a server on this machine,
        which has no need to know it.
        """
        self.base_url = str(base_url).rstrip("/")
        self._scheme, self._place, self._host = _checked(self.base_url)
        self.is_local = _is_loopback(self._host)
        if api_key is None and not self.is_local:
            api_key = os.environ.get("OPENAI_API_KEY")
        key = (api_key or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise InputError("The endpoint's key has characters in it that no key has: copy it anew.")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._process, self._pool = os.getpid(), self._new_pool()

    def _new_pool(self) -> httpcore.ConnectionPool:
        from atlaskit.models.transport import pool  # here, so that `import atlaskit` loads no HTTP client

        # A proxy for the outside cannot reach this machine.
        is_direct = self.is_local or proxy_bypass(self._host) or proxy_bypass(self._place)
        proxies = {} if is_direct else getproxies()
        proxy = proxies.get(self._scheme) or proxies.get("all")
        if proxy and ":" in self._host:
            raise InputError(
                f"{self.base_url} cannot be reached by way of a proxy: name its host, not its IPv6 address."
            )
        return pool(proxy, KEEP_ALIVE_S)

    def _connections(self) -> httpcore.ConnectionPool:
        """Return this process's connections: a forked one that used its parent's would read the other's answers."""
        if self._process != os.getpid():
            self._process, self._pool = os.getpid(), self._new_pool()
        return self._pool

    def get(self, path: str, timeout_s: float = CONNECT_S, cancel: threading.Event | None = None) -> bytes:
        """Fetch a path below the address, or an address of its own."""
        return self._exchange("GET", path, b"", {}, timeout_s, cancel)

    def post(
        self, path: str, body: bytes, headers: Mapping[str, str], timeout_s: float, cancel: threading.Event | None
    ) -> bytes:
        """Send a body and return the answer to it; leave it when the event comes."""
        return self._exchange("POST", path, body, headers, timeout_s, cancel)

    def _exchange(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        timeout_s: float,
        cancel: threading.Event | None = None,
    ) -> bytes:
        import httpcore

        from atlaskit.models.transport import until

        url = path if "://" in path else f"{self.base_url}/{path}"
        told = {"Host": self._place, "Accept-Encoding": "identity", "Content-Length": str(len(body))}
        told |= {**self._headers, **headers}
        connect_s, until_s = min(CONNECT_S, timeout_s), time.monotonic() + timeout_s
        asked: dict[str, Any] = {"content": body, "extensions": {"timeout": {"connect": connect_s}}}
        page = bytearray()
        try:
            with (
                until(until_s, cancel),
                self._connections().stream(method, url, headers=list(told.items()), **asked) as response,
            ):
                for chunk in response.iter_stream():
                    page += chunk
                    if len(page) > LONGEST_ANSWER:
                        raise HttpFailure(f"does not come to an end ({len(page):,} bytes so far)")
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            if time.monotonic() < until_s:
                raise HttpFailure(printable(reason(error), 200), was_reached=False) from error
            raise HttpFailure(f"gives no answer within {timeout_s:.3g} s") from error
        except httpcore.TimeoutException as error:
            words = f"does not come to an end within {timeout_s:.3g} s ({len(page):,} bytes so far)"
            raise HttpFailure(words if page else f"gives no answer within {timeout_s:.3g} s") from error
        except httpcore.ProxyError as error:
            words = f"cannot be reached: its proxy says {printable(reason(error), 200)}"
            raise HttpFailure(words, is_passing=False, is_call=False) from error
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise HttpFailure(f"breaks off ({printable(reason(error), 200)})") from error
        return _read(response, bytes(page))


def _read(response: httpcore.Response, page: bytes) -> bytes:
    """Return the answer's body; raise Failed for an answer that is an error."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
    encoding = headers.get("content-encoding", "").lower() or "identity"
    if response.status < 300:
        return _unpacked(page, encoding)
    with contextlib.suppress(HttpFailure):  # what it says matters less than that it is an error
        page = _unpacked(page, encoding)
    is_passing = response.status in PASSING or response.status >= 500
    words = f"answers {response.status}: {_words(page)}" if _words(page) else f"answers {response.status}"
    wait_s = _asked_wait(headers.get("retry-after", ""))
    raise HttpFailure(words, status=response.status, is_passing=is_passing, wait_s=wait_s)


def _unpacked(page: bytes, encoding: str) -> bytes:
    """Unpack what a gateway has packed, though nobody asked for it, as far as an answer may go."""
    if encoding == "identity":
        return page
    if encoding not in ("gzip", "deflate"):
        raise HttpFailure(
            f"answers in an encoding that was not asked for ({printable(encoding, 40)})", is_passing=False
        )
    try:
        unpacked = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(page, LONGEST_ANSWER + 1)
    except zlib.error as error:
        raise HttpFailure(f"breaks off ({reason(error)})") from error
    if len(unpacked) > LONGEST_ANSWER:
        raise HttpFailure(f"does not come to an end (more than {LONGEST_ANSWER:,} bytes)")
    return unpacked


def parsed(page: bytes) -> Any:
    """Return an answer's JSON; raise Failed for what is none."""
    try:
        return json.loads(page)
    except (ValueError, RecursionError) as error:
        raise HttpFailure(f"answers what is no JSON ({printable(reason(error), 200)})") from error


def _checked(base_url: str) -> tuple[str, str, str]:
    """Return an address's scheme, its host with the port, and the host; raise InputError for what is no address."""
    try:
        address = urlsplit(base_url)
        host, _ = address.hostname or "", address.port
        host.encode("idna")
    except (ValueError, UnicodeError) as error:
        raise InputError(f"{printable(base_url)} is not an address ({reason(error)}).") from error
    if address.username or address.password:
        raise InputError("An endpoint's address has no user name in it: give a key with api_key=.")
    if address.query or address.fragment:
        raise InputError(f"An endpoint's address ends with its path, got {printable(base_url)!r}.")
    if address.scheme not in ("http", "https") or not host:
        raise InputError(f"An endpoint's address begins with http:// or https://, got {printable(base_url)!r}.")
    if not base_url.isascii() or not base_url.isprintable() or " " in base_url:
        raise InputError(
            f"An endpoint's address has only letters of ASCII, and no blanks: got {printable(base_url)!r}."
        )
    return address.scheme, address.netloc, host


def _is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, by whichever of its usual names."""
    host = host.rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        try:
            address = ipaddress.ip_address(socket.inet_aton(host))  # 127.1, for one
        except (OSError, ValueError):
            return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def _words(page: bytes) -> str:
    """Return an error's own message, on one line and not too long."""
    text = page.decode(errors="replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    match body:
        case (
            {"error": {"message": str(message)}}
            | {"error": str(message)}
            | {"message": str(message)}
            | {"detail": str(message)}
        ):
            text = message
    return printable(" ".join(text.split()), 300).rstrip(". ")


def _asked_wait(text: str) -> float | None:
    """Return the seconds of Retry-After, if it tells any; a date is not read, the client's own wait does."""
    try:
        wait_s = float(text)
    except ValueError:
        return None
    return wait_s if 0 <= wait_s < math.inf else None
