"""Connections that keep to a deadline.

A time-out of an HTTP client is one for each read: an answer that drips, be it in its head, its body or between, has
none. Here the thread that waits says until when, and no read or write of its connection takes longer.
"""

from __future__ import annotations

import math
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore

from atlaskit.errors import InputError

LONGEST_S = 1e6
"""Seconds that stand for no limit: sockets know no infinity."""
LOOK_S = 0.5
"""How long at most nobody looks whether the answer is still wanted."""
PIECE = 64 * 1024
_now = threading.local()


@contextmanager
def until(deadline_s: float, cancel: threading.Event | None = None) -> Iterator[None]:
    """Have all that this thread reads and writes end by then, on the clock of `time.monotonic`, or with an event."""
    _now.deadline_s, _now.cancel = deadline_s, cancel
    try:
        yield
    finally:
        _now.deadline_s, _now.cancel = math.inf, None


def pool(proxy: str | None, keep_alive_s: float) -> httpcore.ConnectionPool:
    """Return connections that are kept for a while and shared between threads, by way of a proxy if one is named."""
    return httpcore.ConnectionPool(
        max_connections=None,
        max_keepalive_connections=64,
        keepalive_expiry=keep_alive_s,
        network_backend=_Backend(),
        proxy=_proxy(proxy) if proxy else None,
    )


def _proxy(address: str) -> httpcore.Proxy:
    try:
        url = urlsplit(address if "://" in address else f"http://{address}")
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError("http and https can be used")
        auth = (unquote(url.username), unquote(url.password or "")) if url.username else None
        return httpcore.Proxy(httpcore.URL(url.geturl()), auth=auth)
    except (ValueError, TypeError) as error:  # the address is not told: there may be a password in it
        raise InputError(f"The proxy that the environment names cannot be used ({error}).") from error


def _left(timeout_s: float | None) -> float:
    """Return how long a step may take: the shorter of a time-out and what is left."""
    left_s = getattr(_now, "deadline_s", math.inf) - time.monotonic()
    if left_s <= 0 or _is_over():
        raise httpcore.ReadTimeout("the time is up")
    return min(left_s, math.inf if timeout_s is None else timeout_s, LONGEST_S)


def _is_over() -> bool:
    cancel: threading.Event | None = getattr(_now, "cancel", None)
    return cancel is not None and cancel.is_set()


class _Backend(httpcore.NetworkBackend):
    """TCP as httpcore has it, with streams that keep to the deadline."""

    def __init__(self) -> None:
        self._tcp = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(self._tcp.connect_tcp(host, port, _left(timeout), local_address, socket_options))


class _Stream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left_s = _left(timeout)
            try:
                return self._stream.read(max_bytes, min(left_s, LOOK_S))
            except httpcore.ReadTimeout:
                if left_s <= LOOK_S:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # In pieces, for httpcore gives each partial send the whole time-out anew. One that timed out is not repeated:
        # part of it may have gone out.
        for start in range(0, len(buffer), PIECE):
            self._stream.write(buffer[start : start + PIECE], _left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
