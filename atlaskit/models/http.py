"""`Endpoint`: one HTTP exchange with a deadline, a size limit and a proxy; explains failures in
words.

Sends bytes and returns bytes, or says whether another attempt may help. Knows nothing of models.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from atlaskit.errors import InputError, printable, reason
from atlaskit.models.address import parse_address
from atlaskit.models.failures import PASSING, Explanation, explain

if TYPE_CHECKING:
    import httpcore

CONNECT_S = 10.0
"""Most seconds to connect. A model may think for minutes, but a running server accepts at once."""
KEEP_ALIVE_S = 3.0
"""Seconds an idle connection is kept. vLLM closes it after five, then perhaps during a request."""
LONGEST_ANSWER = 8_000_000
"""Most bytes of an answer."""


class HttpFailure(Exception):
    """An exchange failed. Its message continues a sentence: "<endpoint> returned HTTP 503"."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        is_passing: bool = True,
        was_reached: bool = True,
        is_call: bool = True,
        is_foreign: bool = False,
        explanation: Explanation | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status of the answer; 0 without one."""
        self.is_passing = is_passing
        """Whether another attempt may succeed."""
        self.was_reached = was_reached
        """Whether a server accepted the connection."""
        self.is_call = is_call
        """Whether the attempt counts as a call: the request was sent, or should have been."""
        self.is_foreign = is_foreign
        """Whether something answered that does not speak the protocol, such as a web page."""
        self.explanation = explanation or Explanation()
        """What the answer says, if it is an error."""


class Endpoint:
    """An address that requests go to. Threads share its connections.

    Attributes:
        base_url: The address, without a slash at its end.
        host: Its host.
        is_local: Whether the address is this machine's.
        has_key: Whether requests carry a key.
    """

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        """Check an address and its key.

        Args:
            base_url: The address that paths are appended to.
            api_key: Sent as a bearer token. None: the environment's OPENAI_API_KEY, except to this
                machine, where no server needs it.

        Raises:
            InputError: If the address, the key or the environment's proxy is invalid.
        """
        self._address = parse_address(str(base_url).rstrip("/"))
        self.base_url, self.host, self.is_local = self._address.url, self._address.host, self._address.is_local
        if api_key is None and not self.is_local:
            api_key = os.environ.get("OPENAI_API_KEY")
        key = (api_key or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise InputError("The endpoint's key contains a character that no key has: copy it again.")
        self.has_key = bool(key)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._process, self._pool = os.getpid(), self._new_pool()

    def get(self, path: str, timeout_s: float = CONNECT_S, cancel: threading.Event | None = None) -> bytes:
        """Return the body at a path below the address, or at a full URL. See `post`."""
        return self.get_with_headers(path, timeout_s, cancel)[0]

    def get_with_headers(
        self, path: str, timeout_s: float = CONNECT_S, cancel: threading.Event | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        """Return the body at a path, and the answer's headers with lower-case names. See `post`."""
        return self._exchange("GET", path, b"", {}, timeout_s, cancel)

    def post(
        self, path: str, body: bytes, headers: Mapping[str, str], timeout_s: float, cancel: threading.Event | None
    ) -> bytes:
        """Send a body and return the body of the answer.

        Args:
            path: Path below the address, or a full URL.
            body: What to send.
            headers: Headers beside the endpoint's own.
            timeout_s: Most seconds the whole exchange may take, connecting included.
            cancel: Ends the exchange within half a second after it is set.

        Raises:
            HttpFailure: If there was no answer, or the answer is an error.
        """
        return self._exchange("POST", path, body, headers, timeout_s, cancel)[0]

    def _new_pool(self) -> httpcore.ConnectionPool:
        from atlaskit.models.transport import connection_pool  # here: `import atlaskit` loads no HTTP client

        return connection_pool(self._address.proxy(), KEEP_ALIVE_S)

    def _connections(self) -> httpcore.ConnectionPool:
        """Return the pool of this process: a forked child must not read its parent's answers."""
        if self._process != os.getpid():
            self._process, self._pool = os.getpid(), self._new_pool()
        return self._pool

    def _exchange(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
        timeout_s: float,
        cancel: threading.Event | None,
    ) -> tuple[bytes, Mapping[str, str]]:
        from atlaskit.models.transport import deadline

        url = path if "://" in path else f"{self.base_url}/{path}"
        own = {"Host": self._address.netloc, "Accept-Encoding": "identity", "Content-Length": str(len(body))}
        all_headers = list({**own, **self._headers, **headers}.items())
        options: dict[str, Any] = {"extensions": {"timeout": {"connect": min(CONNECT_S, timeout_s)}}}
        page, deadline_s = bytearray(), time.monotonic() + timeout_s
        with (
            _failures_in_words(page, timeout_s, deadline_s),
            deadline(deadline_s, cancel),
            self._connections().stream(method, url, headers=all_headers, content=body, **options) as response,
        ):
            for chunk in response.iter_stream():
                page += chunk
                if len(page) > LONGEST_ANSWER:
                    raise HttpFailure(f"sent an answer that is too long ({len(page):,} bytes so far)")
        received = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        return _body(response.status, received, bytes(page)), received


@contextlib.contextmanager
def _failures_in_words(page: bytearray, timeout_s: float, deadline_s: float) -> Iterator[None]:
    """Raise httpcore's errors as HttpFailure. `page` holds the bytes received so far."""
    import httpcore

    try:
        yield
    except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
        if time.monotonic() < deadline_s:
            raise HttpFailure(printable(reason(error), 200), was_reached=False) from error
        raise HttpFailure(f"did not answer within {timeout_s:.3g} s") from error
    except httpcore.TimeoutException as error:
        message = f"did not answer within {timeout_s:.3g} s"
        if page:
            message = f"did not finish within {timeout_s:.3g} s ({len(page):,} bytes so far)"
        raise HttpFailure(message) from error
    except httpcore.ProxyError as error:
        message = f"cannot be reached: the proxy returned {printable(reason(error), 200)}"
        raise HttpFailure(message, is_passing=False, is_call=False) from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise HttpFailure(f"broke the connection ({printable(reason(error), 200)})") from error


def parsed(page: bytes) -> Any:
    """Parse the JSON of an answer.

    Raises:
        HttpFailure: If it is not JSON.
    """
    try:
        return json.loads(page)
    except (ValueError, RecursionError) as error:
        is_page = page.lstrip()[:1] == b"<"
        raise HttpFailure(f"returned invalid JSON ({printable(reason(error), 200)})", is_foreign=is_page) from error


def _body(status: int, headers: Mapping[str, str], page: bytes) -> bytes:
    """Return the body of an answer; raise HttpFailure if the answer is an error."""
    encoding = headers.get("content-encoding", "").lower() or "identity"
    if status < 300:
        return _decompressed(page, encoding)
    with contextlib.suppress(HttpFailure):  # the status matters more than an unreadable body
        page = _decompressed(page, encoding)
    if status < 400:
        target = printable(headers.get("location", "") or "an address that it does not tell", 200)
        raise HttpFailure(f"returned HTTP {status}, a redirect to {target}", status=status, is_passing=False)
    raise failure_of(status, headers, page)


def failure_of(status: int, headers: Mapping[str, str], page: bytes, *, is_in_success: bool = False) -> HttpFailure:
    """Return the failure that an endpoint's error describes.

    Args:
        status: The HTTP status, or the code in the body; 0 if there is none.
        headers: The answer's headers, with lower-case names.
        page: The answer's body.
        is_in_success: Whether the error came in an answer with status 200.
    """
    explanation = explain(status, headers, page)
    is_passing = (status in PASSING or status >= 500 or not status) and explanation.kind in ("", "busy")
    message = f"returned HTTP {status}" if not is_in_success else "returned an error"
    message += f": {explanation.words}" if explanation.words else ""
    return HttpFailure(message, status=status, is_passing=is_passing, explanation=explanation)


def _decompressed(page: bytes, encoding: str) -> bytes:
    """Decompress a body that a gateway compressed without being asked, up to LONGEST_ANSWER."""
    if encoding == "identity":
        return page
    if encoding not in ("gzip", "deflate"):
        raise HttpFailure(
            f"used a content encoding that was not requested ({printable(encoding, 40)})", is_passing=False
        )
    try:
        decompressed = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(page, LONGEST_ANSWER + 1)
    except zlib.error as error:
        raise HttpFailure(f"sent a damaged answer ({reason(error)})") from error
    if len(decompressed) > LONGEST_ANSWER:
        raise HttpFailure(f"sent an answer that is too long (more than {LONGEST_ANSWER:,} bytes)")
    return decompressed
