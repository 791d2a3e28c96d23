"""Sockets for httpcore whose reads and writes end at one deadline or on a cancel event.

The time-out of an HTTP client applies to each read, so a server that sends its answer byte by byte
never exceeds it. Here the calling thread sets a deadline for the whole exchange, and no read or
write of its connection goes on past the deadline.
"""

from __future__ import annotations

import math
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore

from atlaskit.errors import InputError

LONGEST_S = 1e6
"""Seconds that represent "no limit": a socket's time-out cannot be infinite."""
POLL_S = 0.5
"""How often a read checks the cancel event, in seconds."""
CHUNK_BYTES = 64 * 1024
"""Bytes of one write."""
KEEP_ALIVE_S = 3.0
"""Seconds an idle connection is kept. vLLM closes it after five, perhaps during a new request."""


class _Exchange(threading.local):
    """The limits of the exchange that a thread makes now."""

    deadline_s = math.inf
    cancel: threading.Event | None = None


_exchange = _Exchange()


@contextmanager
def deadline(deadline_s: float, cancel: threading.Event | None = None) -> Iterator[None]:
    """Limit all reads and writes of this thread for the length of a block.

    Past the deadline, or once `cancel` is set, they raise `httpcore.ReadTimeout`.

    Args:
        deadline_s: When reads and writes must end, on the clock of `time.monotonic`.
        cancel: Ends them early when it is set; a read notices it within `POLL_S`.
    """
    _exchange.deadline_s = deadline_s
    _exchange.cancel = cancel
    try:
        yield
    finally:
        _exchange.deadline_s = math.inf
        _exchange.cancel = None


def connection_pool(proxy: str | None) -> httpcore.ConnectionPool:
    """Return a pool of connections that threads share.

    Args:
        proxy: URL of the proxy to connect through, or None.

    Raises:
        InputError: If the proxy's URL cannot be used.
    """
    return httpcore.ConnectionPool(
        max_connections=None,
        max_keepalive_connections=64,
        keepalive_expiry=KEEP_ALIVE_S,
        network_backend=_Backend(),
        proxy=_proxy(proxy) if proxy else None,
    )


def _proxy(address: str) -> httpcore.Proxy:
    """Return a proxy by its URL; http:// may be left out."""
    if "://" not in address:
        address = f"http://{address}"
    try:
        url = urlsplit(address)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError("only http and https proxies can be used")
        auth = None
        if url.username:
            auth = (unquote(url.username), unquote(url.password or ""))
        return httpcore.Proxy(httpcore.URL(url.geturl()), auth=auth)
    except (ValueError, TypeError) as error:  # without the address: it may contain a password
        message = f"The proxy that the environment names cannot be used ({error})."
        raise InputError(message) from error


def _remaining_s(timeout_s: float | None) -> float:
    """Return the seconds that an operation may take: its time-out, or less before the deadline.

    Raises:
        httpcore.ReadTimeout: If the deadline has passed or the exchange is cancelled.
    """
    left_s = _exchange.deadline_s - time.monotonic()
    if left_s <= 0 or (_exchange.cancel and _exchange.cancel.is_set()):
        raise httpcore.ReadTimeout("the deadline has passed")
    if timeout_s is not None:
        left_s = min(left_s, timeout_s)
    return min(left_s, LONGEST_S)


class _Backend(httpcore.NetworkBackend):
    """httpcore's TCP backend, with streams that respect the deadline."""

    def __init__(self) -> None:
        self._tcp = httpcore.SyncBackend()

    def connect_tcp(self, *place: Any, **options: Any) -> httpcore.NetworkStream:
        options["timeout"] = _remaining_s(options.get("timeout"))
        return _Stream(self._tcp.connect_tcp(*place, **options))


class _Stream(httpcore.NetworkStream):
    """A connection whose reads and writes respect the deadline."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left_s = _remaining_s(timeout)
            try:
                return self._stream.read(max_bytes, min(left_s, POLL_S))
            except httpcore.ReadTimeout:
                if left_s <= POLL_S:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # In chunks: within one write, httpcore grants each partial send the whole time-out. A chunk
        # that timed out is not repeated, since part of it may have been sent.
        for start in range(0, len(buffer), CHUNK_BYTES):
            self._stream.write(buffer[start : start + CHUNK_BYTES], _remaining_s(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _remaining_s(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
