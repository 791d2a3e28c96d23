"""`Endpoint`: one HTTP exchange with an address, with a deadline, a size limit and a proxy.

An exchange sends bytes and returns bytes, or raises an `HttpFailure`, which says in words what
failed and whether another attempt may help. This module knows nothing of models.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import json
import math
import os
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from atlaskit import limits
from atlaskit.errors import InputError, printable, reason
from atlaskit.models.refusals import PASSING, Explanation, explain

if TYPE_CHECKING:
    import httpcore

CONNECT_S = 10.0
"""Most seconds to connect. A model may think for minutes, but a running server accepts at once."""
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
OWN_HEADERS = frozenset(
    {"host", "accept-encoding", "content-length", "content-type", "transfer-encoding"}
)
"""Headers that a caller must not set."""
CALLS = re.compile(
    r"/(chat(/completions)?|completions|models|responses|messages|embeddings|audio/\w+)$"
)
"""Paths of single calls, which do not belong to the address of an endpoint."""
AZURE = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")
"""Ends of the hosts of Azure's endpoints."""
TLS = {
    "CERTIFICATE_VERIFY_FAILED": (
        "let SSL_CERT_FILE name the file of its certificate, or of its authority"
    ),
    "WRONG_VERSION_NUMBER": "it speaks no TLS: pass its address with http://",
}
"""What to do about a TLS error, by OpenSSL's reason."""
SHORTEST = 8
"""Fewest characters of a secret that is hidden. Shorter ones, such as "EMPTY", are no secrets."""
SECRET_NAMES = re.compile(r"key|auth|token|secret|cookie|pass|cred|sign", re.IGNORECASE)
"""Names of headers whose values are secrets."""
HIDDEN = b"***"
DECODER = json.JSONDecoder()


@dataclass(eq=False)
class HttpFailure(Exception):
    """An exchange failed. Its message continues a sentence: "<endpoint> returned HTTP 503"."""

    message: str
    _: KW_ONLY
    status: int = 0
    """HTTP status of the answer; 0 without one."""
    is_passing: bool = True
    """Whether another attempt may succeed."""
    was_reached: bool = True
    """Whether a server accepted the connection."""
    is_call: bool = True
    """Whether the attempt counts as a call: the request was sent, or should have been."""
    is_foreign: bool = False
    """Whether something answered that does not speak the protocol, such as a web page."""
    is_begun: bool = False
    """Whether a part of an answer came before the failure."""
    is_late: bool = False
    """Whether the time-out ended the exchange, or the cancel event, with the same error."""
    explanation: Explanation = Explanation()
    """What the answer says, if it is an error."""
    cure: str = ""
    """What to do about the failure, if the exchange itself shows it."""

    @property
    def is_unseen(self) -> bool:
        """Whether the endpoint refused the request for now, before a model saw it."""
        # With one of these statuses, the server or a gateway may have failed after a model began.
        return (
            self.explanation.kind == "busy"
            and not self.is_begun
            and self.status not in (500, 502, 504)
        )


class Redaction:
    """Hides secrets in bytes and texts: as they are, escaped for JSON, URLs or HTML, or encoded."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Prepare to hide some secrets. Those shorter than `SHORTEST` are not hidden."""
        long = {secret for secret in secrets if len(secret) >= SHORTEST}
        patterns = list[str]()
        for secret in sorted(long, key=len, reverse=True):  # a secret may be a part of another
            patterns += _forms(secret)
        self._pattern: re.Pattern[bytes] | None = None
        if patterns:
            self._pattern = re.compile("|".join(patterns).encode(), re.IGNORECASE)

    def page(self, page: bytes) -> bytes:
        """Return bytes without the secrets."""
        if self._pattern is None:
            return page
        return self._pattern.sub(HIDDEN, page)

    def text(self, text: str) -> str:
        """Return a text without the secrets."""
        if self._pattern is None:
            return text
        return self.page(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _forms(secret: str) -> Iterator[str]:
    """Yield patterns of a secret as it may come back: itself, in base64, hex and decimal codes."""
    codes = secret.encode()
    yield "".join(map(_spellings, secret))
    # Base64 encodes groups of three bytes, so the form depends on how many bytes come before the
    # secret. Characters at the ends that also encode bytes outside of the secret are left out.
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + codes).decode().rstrip("=")
        first = math.ceil(before * 4 / 3)
        last = len(encoded)
        if (before + len(codes)) % 3:
            last -= 1
        yield "".join(BASE64.get(character, character) for character in encoded[first:last])
    yield r"[\s:,-]?".join(f"{code:02x}" for code in codes)
    yield r"[\s,]{1,3}".join(str(code) for code in codes)


BASE64 = {"+": r"(?:[+-]|\\{1,8}u002b|%(?:25)?2b)", "/": r"(?:\\{0,8}/|_|\\{1,8}u002f|%(?:25)?2f)"}
"""Patterns of the two special characters of base64, also in its alphabet for URLs."""


def _spellings(character: str) -> str:
    """Return a pattern of the ways to write a character of a secret."""
    code = ord(character)
    escaped = rf"\\{{1,8}}(?:u00{code:02x}|x{code:02x}|u\{{0{{0,4}}{code:x}\}}|0?{code:03o})"
    entity = rf"&(?:amp;)?#(?:0{{0,4}}{code}|x0{{0,4}}{code:x});"
    itself = rf"\\{{0,8}}{re.escape(character)}"
    percent = rf"[%=](?:25)?{code:02x}|%u00{code:02x}"
    return rf"(?:{itself}|{escaped}|{percent}|{entity})"


class Endpoint:
    """An address that requests go to. Threads share its connections.

    Attributes:
        base_url: The address, without a slash at its end.
        host: Its host.
        is_local: Whether the address is this machine's.
        key: What requests carry as a bearer token; empty for none.
        redaction: Hides the key, and secrets in headers, in what the endpoint sends.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Check an address, its key and its headers.

        Args:
            base_url: The address that paths are appended to.
            api_key: Sent as a bearer token. None: the environment's OPENAI_API_KEY, except to this
                machine, where no server needs it, and beside a header that holds another key.
            headers: Further headers of every request.

        Raises:
            InputError: If the address, the key, a header or the environment's proxy is invalid.
        """
        self.base_url = str(base_url).rstrip("/")
        self._parts = parse_address(self.base_url)
        self.host = self._parts.hostname or ""
        self.is_local = _is_loopback(self.host)
        own = checked_headers(headers)
        secrets = list[str]()
        for name, value in own.items():
            if value and SECRET_NAMES.search(name):
                secrets.append(value.split()[-1])  # without a scheme such as "Bearer"
        if api_key is None and not self.is_local and not secrets:
            api_key = os.environ.get("OPENAI_API_KEY")
        key = re.sub(r"(?i)^bearer\s+", "", (api_key or "").strip().strip("\"'")).strip()
        if not (key.isascii() and key.isprintable()):
            raise InputError(
                "The endpoint's key contains a character that no key has: copy it again."
            )
        self.key = key
        self.redaction = Redaction([key, *secrets])
        has_own = any(name.lower() == "authorization" for name in own)
        self._headers = own
        if key and not has_own:
            self._headers = {"Authorization": f"Bearer {key}", **own}
        self._process = os.getpid()
        self._pool = self._new_pool()

    def _new_pool(self) -> httpcore.ConnectionPool:
        # Imported here, so that `import atlaskit` loads no HTTP client.
        from atlaskit.models.transport import connection_pool

        return connection_pool(_proxy_for(self._parts, self.is_local))

    def exchange(
        self,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] = MappingProxyType({}),
        timeout_s: float = CONNECT_S,
        cancel: threading.Event | None = None,
    ) -> tuple[bytes, Mapping[str, str]]:
        """Make one request: a POST of a body, or a GET without one.

        Args:
            path: Path below the address, or a full URL.
            body: The body of a POST; b"" for a GET.
            headers: Headers beside the endpoint's own.
            timeout_s: Most seconds for the whole exchange, from connecting to reading the answer.
            cancel: Ends the exchange within half a second after it is set, once the body is sent.

        Returns:
            The answer's body, and its headers with lower-case names.

        Raises:
            HttpFailure: If there was no answer, or the answer is an error.
        """
        from atlaskit.models.transport import deadline

        if self._process != os.getpid():  # a forked child must not read its parent's answers
            self._process = os.getpid()
            self._pool = self._new_pool()
        method = "POST" if body else "GET"
        url = path if "://" in path else f"{self.base_url}/{path}"
        all_headers = {
            "Host": self._parts.netloc,
            "Accept-Encoding": "identity",
            "Content-Length": str(len(body)),
            **self._headers,
            **headers,
        }
        options: dict[str, Any] = {
            "headers": list(all_headers.items()),
            "content": body,
            "extensions": {"timeout": {"connect": min(CONNECT_S, timeout_s)}},
        }
        page = bytearray()
        deadline_s = time.monotonic() + timeout_s
        with (
            _failures_in_words(page, timeout_s, deadline_s, self.redaction),
            deadline(deadline_s, cancel),
            self._pool.stream(method, url, **options) as response,
        ):
            for chunk in response.iter_stream():
                page += chunk
                if len(page) > limits.ANSWER:
                    raise HttpFailure(limits.too_long("sent an answer", limits.ANSWER))
        # Parsing cannot be interrupted, so an answer is late if its parsing would end too late.
        parsing_s = limits.READING_S + limits.READING_S_PER_BYTE * len(page)
        if time.monotonic() + parsing_s > deadline_s:
            late = f"did not answer so that it could be read within {timeout_s:.3g} s"
            raise HttpFailure(f"{late} ({len(page):,} bytes)", is_late=True)
        received = dict[str, str]()
        for name, value in response.headers:
            text = self.redaction.page(value[: limits.HEADER]).decode("latin-1")
            received[name.decode("latin-1").lower()] = text
        return _body(response.status, received, bytes(page), self.redaction), received


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return a caller's headers of every request, without blanks around their values.

    Raises:
        InputError: If HTTP does not allow a name or a value, or atlaskit sets the header itself.
    """
    checked = dict[str, str]()
    for name, value in headers.items():
        if not isinstance(name, str) or not HEADER_NAME.fullmatch(name):
            raise InputError(f"{printable(str(name), 80)!r} is not a valid name of a header.")
        if name.lower() in OWN_HEADERS:
            raise InputError(f"The header {name} is set by atlaskit: leave it out.")
        if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
            raise InputError(f"The header {name} must be a text of printable ASCII characters.")
        checked[name] = value.strip()
    return checked


def parse_address(base_url: str) -> SplitResult:
    """Check an endpoint's base URL and split it.

    Raises:
        InputError: If it is no http or https URL, or has credentials, a query or a fragment, or
            ends in the path of a single call.
    """
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
        _ = parts.port  # raises ValueError if it is no port
        host.encode("idna")
    except (ValueError, UnicodeError) as error:
        raise InputError(f"{printable(base_url)} is not an address ({reason(error)}).") from error
    if parts.username or parts.password:
        raise InputError(
            "An endpoint's address must not contain a user name or password: pass the key as "
            "api_key=."
        )
    shown = printable(base_url)
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(
            f"An endpoint's address must begin with http:// or https://; got {shown!r}."
        )
    if host.endswith(AZURE) and parts.path != "/openai/v1":
        raise InputError(
            "An Azure address ends in /openai/v1, and the model is the name of its deployment: "
            f"pass {parts.scheme}://{parts.netloc}/openai/v1; got {shown!r}."
        )
    if parts.query or parts.fragment:
        raise InputError(f"An endpoint's address must end with its path; got {shown!r}.")
    call = CALLS.search(parts.path)
    if call:
        raise InputError(f"An endpoint's address ends before {call[0]}; got {shown!r}.")
    if not base_url.isascii() or not base_url.isprintable() or " " in base_url:
        raise InputError(
            f"An endpoint's address must consist of ASCII characters without blanks; got {shown!r}."
        )
    return parts


def _proxy_for(parts: SplitResult, is_local: bool) -> str | None:
    """Return the proxy that the environment names for an address, or None.

    This machine is never called through a proxy, which could not reach it. NO_PROXY may name
    networks, such as 10.0.0.0/8.

    Raises:
        InputError: If there is a proxy and the host is an IPv6 address, which a proxy cannot take.
    """
    host = parts.hostname or ""
    proxies = getproxies()
    if is_local or proxy_bypass(host) or proxy_bypass(parts.netloc):
        return None
    with contextlib.suppress(ValueError):  # if the host is a name
        address = ipaddress.ip_address(host)
        for network in proxies.get("no", "").split(","):
            with contextlib.suppress(ValueError):
                excluded = ipaddress.ip_network(network.strip(), strict=False)
                if "/" in network and address in excluded:
                    return None
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and ":" in host:
        raise InputError(
            f"{parts.geturl()} cannot be reached through a proxy by its IPv6 address: use the "
            f"host's name."
        )
    return proxy


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine, under any of its usual names."""
    host = host.rstrip(".")
    with contextlib.suppress(OSError):
        host = socket.inet_ntoa(socket.inet_aton(host))  # 127.1 is short for 127.0.0.1
    with contextlib.suppress(ValueError):  # if the host is a name
        address = ipaddress.ip_address(host)
        address = getattr(address, "ipv4_mapped", None) or address
        return address.is_loopback or address.is_unspecified
    return host == "localhost" or host.endswith(".localhost")


@contextlib.contextmanager
def _failures_in_words(
    page: bytearray, timeout_s: float, deadline_s: float, redaction: Redaction
) -> Iterator[None]:
    """Raise httpcore's errors as HttpFailure. `page` holds the bytes received so far."""
    import httpcore

    try:
        yield
    except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
        if time.monotonic() >= deadline_s:
            raise HttpFailure(f"did not answer within {timeout_s:.3g} s", is_late=True) from error
        words = printable(reason(error), 200)
        cure = next((cure for sign, cure in TLS.items() if sign in words), "")
        is_tls = bool(cure) or isinstance(error.__cause__ or error.__context__, ssl.SSLError)
        raise HttpFailure(words, was_reached=False, is_passing=not is_tls, cure=cure) from error
    except httpcore.TimeoutException as error:
        most = f"within {timeout_s:.3g} s"
        how = f"finish {most} ({len(page):,} bytes so far)" if page else f"answer {most}"
        raise HttpFailure(f"did not {how}", is_late=True) from error
    except httpcore.ProxyError as error:
        message = f"cannot be reached: the proxy returned {printable(reason(error), 200)}"
        raise HttpFailure(message, is_passing=False, is_call=False) from error
    except (httpcore.NetworkError, httpcore.ProtocolError) as error:
        words = redaction.text(reason(error))  # it may quote what the endpoint sent
        cause = error if words == reason(error) else None  # a traceback would show the secret
        raise HttpFailure(f"broke the connection ({printable(words, 200)})") from cause


OBJECT = re.compile(r"^[ \t\ufeff]*+(?:data:)?[ \t]*+([{\[].*)", re.MULTILINE)
"""A line that begins an object or a list: of a body, or of an event in a stream."""
PREFIX = re.compile(r"^data:[ \t]?", re.MULTILINE)
"""The beginning of each line of an event."""
BLANK = re.compile(r"\n[ \t]*(?:\n|\Z)|\Z")
"""The end of an event: a blank line, or the end of the text."""


def json_values(page: bytes) -> Iterator[Any]:
    """Yield the objects and lists in an answer: its body, or the events of a stream.

    A line that begins with neither, such as a comment or "ping", is skipped, and so is the rest of
    a line behind an object. An object may go on over several lines, up to a blank one.

    Raises:
        ValueError: If an object is too long, or there is no object or list.
    """
    text = page.decode(json.detect_encoding(page), "replace")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    fault: ValueError | RecursionError | None = None
    tried_end = 0  # the end of the last block of lines that was tried as one object
    read_end = 0  # the end of the last block that was one object
    is_found = False
    for line in OBJECT.finditer(text):
        if line.start() < read_end:
            continue
        value, problem = _decoded(line[1])
        if problem is not None and line.start() >= tried_end:
            blank = BLANK.search(text, line.start())
            tried_end = blank.end() if blank else len(text)
            value, problem = _decoded(PREFIX.sub("", text[line.start() : tried_end]))
            if problem is None:
                read_end = tried_end
        if problem is None:
            is_found = True
            yield value
        fault = fault or problem
    if not is_found:
        raise fault or ValueError("it holds no object")


def _decoded(text: str) -> tuple[Any, ValueError | RecursionError | None]:
    """Return the JSON value at the beginning of a text, and the fault if there is none.

    Raises:
        ValueError: If the text is too long.
    """
    if len(text) > limits.JSON:
        raise ValueError(limits.too_long("a text", limits.JSON))
    try:
        return DECODER.raw_decode(text.lstrip())[0], None
    except (ValueError, RecursionError) as error:
        return None, error


def parsed(page: bytes) -> Any:
    """Parse the JSON of an answer.

    Raises:
        HttpFailure: If it is not JSON.
    """
    try:
        return next(json_values(page))
    except (ValueError, RecursionError) as error:
        raise not_json(page, error) from error


def not_json(page: bytes, error: Exception) -> HttpFailure:
    """Return the failure of an answer that cannot be parsed."""
    if not page.strip():
        return HttpFailure("returned an empty answer")
    is_page = page.lstrip()[:1] == b"<"
    return HttpFailure(
        f"returned invalid JSON ({printable(reason(error), 200)})", is_foreign=is_page
    )


def object_of(value: Any) -> dict[str, Any]:
    """Return a part of an answer that should be an object; {} if it is something else."""
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    """Return a part of an answer that should be a list; [] if it is something else."""
    return value if isinstance(value, list) else []


def storable(text: object) -> str:
    """Return a text without lone surrogates, which UTF-8 cannot hold; "" for any other value."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else ""


def json_of(value: Any) -> str:
    """Return the JSON text of a value that a server has parsed, or a string as it is.

    The result is "" for None, and for a value that is nested too deeply.
    """
    if isinstance(value, str) or value is None:
        return storable(value)
    try:
        return storable(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        return ""


def _body(status: int, headers: Mapping[str, str], page: bytes, redaction: Redaction) -> bytes:
    """Return the body of an answer without secrets; raise HttpFailure if the answer is an error."""
    encoding = headers.get("content-encoding", "").lower() or "identity"
    try:
        page = _decompressed(page, encoding)
    except HttpFailure:
        if status < 300:  # the status of an error matters more than its unreadable body
            raise
    page = redaction.page(page)  # also of errors, which are cached and shown
    if status < 300:
        return page
    if status < 400:
        target = printable(headers.get("location", "") or "an address that it does not name", 200)
        message = f"returned HTTP {status}, a redirect to {target}"
        raise HttpFailure(
            message, status=status, is_passing=False, explanation=Explanation(kind="redirect")
        )
    raise failure_of(status, headers, page)


def failure_of(
    status: int, headers: Mapping[str, str], page: bytes, *, is_in_success: bool = False
) -> HttpFailure:
    """Return the failure that an endpoint's error describes.

    Args:
        status: The HTTP status, or the code in the body; 0 if there is none.
        headers: The answer's headers, with lower-case names.
        page: The answer's body.
        is_in_success: Whether the error came in an answer with status 200.
    """
    explanation = explain(status, headers, page)
    may_pass = status in PASSING or status >= 500 or not status
    is_passing = explanation.kind == "busy" or (may_pass and explanation.kind in ("", "gateway"))
    message = "returned an error" if is_in_success else f"returned HTTP {status}"
    if explanation.words:
        message += f": {explanation.words}"
    return HttpFailure(message, status=status, is_passing=is_passing, explanation=explanation)


def _decompressed(page: bytes, encoding: str) -> bytes:
    """Decompress a body that a gateway compressed unasked; raise HttpFailure if it is too long."""
    if encoding == "identity":
        return page
    if encoding not in ("gzip", "deflate"):
        raise HttpFailure(
            f"used a content encoding that was not requested ({printable(encoding, 40)})",
            is_passing=False,
        )
    try:
        decompressed = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(
            page, limits.ANSWER + 1
        )
    except zlib.error as error:
        raise HttpFailure(f"sent a damaged answer ({reason(error)})") from error
    if len(decompressed) > limits.ANSWER:
        raise HttpFailure(limits.too_long("sent an answer", limits.ANSWER))
    return decompressed
