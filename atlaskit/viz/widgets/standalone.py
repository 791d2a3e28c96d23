"""`serve`: a widget's page in a browser, without a notebook, for `atlaskit explore` and `browse`.

The page has the scripts and styles of the widget. Each tab that opens it gets a widget of its own,
connected by a WebSocket in place of a notebook's kernel. Other users and other sites are kept out:

* Only this machine (127.0.0.1) is served, and only under its own name, so that no other site can
  point its name here.
* A browser must give the token in the address once. It then has a cookie.
* All addresses, and so the cookie, are below a secret path: a browser sends its cookies to every
  port of a machine, also to another user's server.
* The browser is started with a file that leads to the address and that only the user can read,
  since all users of a machine can read the arguments of its processes.
"""

from __future__ import annotations

import asyncio
import html
import json
import secrets
import struct
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from atlaskit import limits
from atlaskit.errors import InputError, reason
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.widgets import GridExplorer, RunTable, bridge

ADDRESS = "127.0.0.1"
NAMES = frozenset({ADDRESS, "localhost"})
"""Host names in requests that are answered. The port may be any, since a tunnel may change it."""
MAX_PORT = 65_535
COOKIE = "atlaskit"
"""Name of the cookie that holds the token."""
IDLE_S = 30.0
"""A connection without a request for this many seconds is closed."""
PING_S = 30.0
"""Seconds between two pings, which show whether a page is still there, also beyond a tunnel."""
FORBIDDEN = "This page needs the whole address that atlaskit printed, with its token.\n"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; media-src "
    "blob:; connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors "
    "'none'"
)
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Server": "atlaskit",
    "X-Content-Type-Options": "nosniff",
}

Make: TypeAlias = Callable[[], GridExplorer | RunTable]
"""Returns a new widget."""


def serve(make: Make, name: str, title: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve a page until Ctrl-C.

    Args:
        make: Returns a new widget. It is called for each tab.
        name: Name of the widget's page: "explorer" or "runtable".
        title: The title of the page.
        port: Port on 127.0.0.1; 0 for a free one.
        on_ready: Called with the address to open, once the server answers.

    Raises:
        InputError: The port cannot be used.
        KeyboardInterrupt: Ctrl-C was pressed; by then the server has stopped.
    """
    asyncio.run(_serve(make, name, title, port, on_ready))


async def _serve(
    make: Make, name: str, title: str, port: int, on_ready: Callable[[str], None]
) -> None:
    if not 0 <= port <= MAX_PORT:
        raise InputError(f"A port is a number from 0 (any that is free) to {MAX_PORT}; got {port}.")
    try:
        sockets = bind_sockets(port, ADDRESS)
    except OSError as error:
        raise InputError(
            f"Port {port} cannot be used: {reason(error)}. Without --port, a free one is."
        ) from error
    used = sockets[0].getsockname()[1]
    token = secrets.token_urlsafe(24)
    root = f"/{secrets.token_urlsafe(12)}/"
    application = _application(make, name, title, token, root)
    # A client that sends nothing, or half a request, must not keep others out.
    server = HTTPServer(
        application,
        max_body_size=0,
        max_header_size=20_000,
        idle_connection_timeout=IDLE_S,
        body_timeout=IDLE_S,
    )
    server.add_sockets(sockets)
    on_ready(f"http://{ADDRESS}:{used}{root}?token={token}")
    try:
        await asyncio.Event().wait()
    finally:
        server.stop()
        await server.close_all_connections()


@contextmanager
def private_page(address: str) -> Iterator[str]:
    """Yield the address of a file that leads to `address`, and that only the user can read."""
    with TemporaryDirectory(prefix="atlaskit-") as folder:  # mode 0700
        page = Path(folder) / "open.html"
        page.touch(mode=0o600, exist_ok=False)
        page.write_text(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(address)}">'
        )
        yield page.as_uri()


def _application(make: Make, name: str, title: str, token: str, root: str) -> Application:
    script, style = bridge.page(name)
    page = Template(_read("standalone.html")).substitute(title=html.escape(plain_text(title, 200)))
    files = {
        root: (page, "text/html"),
        f"{root}page.js": (script, "text/javascript"),
        f"{root}start.js": (_read("standalone.js"), "text/javascript"),
        f"{root}page.css": (style, "text/css"),
    }
    settings = {
        "token": token,
        "root": root,
        "make": make,
        "left": [],  # widgets whose page was closed while a question was being answered
        "files": files,
        "websocket_max_message_size": limits.MESSAGE,
        "websocket_ping_interval": PING_S,
        "compress_response": True,
    }
    routes = [(f"{root}socket", _Socket), ("/.*", _Files)]
    return Application(routes, log_function=lambda _: None, **settings)  # type: ignore[arg-type]


class _Guarded(RequestHandler):
    """A handler that answers only browsers with the token, under a name of this machine."""

    def set_default_headers(self) -> None:
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> Awaitable[None] | None:
        if _name(f"//{self.request.host}") not in NAMES:
            raise HTTPError(403)
        cookie = self.get_cookie(COOKIE) or ""
        if not self._is_token(cookie) and not self._lets_in():
            raise HTTPError(403)
        return None

    def _lets_in(self) -> bool:
        """Return whether the address has the token; if it has, give the browser a cookie."""
        root = self.settings["root"]
        if self.request.path != root:
            return False
        if not self._is_token(self.get_query_argument("token", "")):
            return False
        self.set_cookie(COOKIE, self.settings["token"], httponly=True, samesite="Strict", path=root)
        return True

    def _is_token(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self.settings["token"].encode())

    def write_error(self, status_code: int, **_: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(FORBIDDEN if status_code == 403 else f"{status_code}\n")


class _Files(_Guarded):
    """The page, its scripts and its style."""

    def get(self) -> None:
        content, media_type = self.settings["files"].get(self.request.path, ("", ""))
        if not media_type:
            raise HTTPError(404)
        self.set_header("Content-Type", f"{media_type}; charset=utf-8")
        self.set_header("Content-Security-Policy", POLICY.format(host=self.request.host))
        self.finish(content)


class _Socket(_Guarded, WebSocketHandler):
    """The connection between one tab and its widget."""

    def __init__(self, application: Application, request: HTTPServerRequest, **more: Any) -> None:
        super().__init__(application, request, **more)
        self._receive: bridge.Receive = lambda _message: None
        self._widget: bridge.PageOwner | None = None
        self._loop = asyncio.get_running_loop()

    def prepare(self) -> Awaitable[None] | None:
        # Checked here, since versions of tornado differ in what they pass to `check_origin`.
        if self.request.headers.get("Origin") != f"http://{self.request.host}":
            raise HTTPError(403)
        return super().prepare()

    def open(self, *_: str, **__: str) -> None:
        left: list[bridge.PageOwner] = self.settings["left"]
        # A page takes over the widget of a closed page, with its question or the answer to it.
        if left:
            self._widget = left.pop()
        else:
            self._widget = self.settings["make"]()
        self._receive = self._widget.attach(self._send)

    def on_close(self) -> None:
        if self._widget is not None and self._widget.leave():
            self.settings["left"].append(self._widget)

    def on_message(self, message: str | bytes) -> None:
        try:
            content = json.loads(message)
        except (ValueError, RecursionError):
            return
        if isinstance(content, dict):
            self._receive(content)

    def _send(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        """Send a message to the page, from any thread. If the page is closed, nothing is sent."""
        try:
            self._loop.call_soon_threadsafe(self._write, _packed(message, buffers))
        except RuntimeError:
            return  # the server has stopped

    def _write(self, frame: bytes) -> None:
        try:
            self.write_message(frame, binary=True)
        except WebSocketClosedError:
            return


def _packed(message: dict[str, Any], buffers: Sequence[bytes] = ()) -> bytes:
    """Return a message and its buffers as one binary frame, which `standalone.js` unpacks.

    The frame has the length of the JSON in four bytes, the JSON (the message and the sizes of the
    buffers), and the buffers.
    """
    head = json.dumps({"message": message, "sizes": list(map(len, buffers))}).encode()
    return b"".join([struct.pack(">I", len(head)), head, *buffers])


def _name(address: str) -> str | None:
    """Return the host name in an address; None if the address is invalid."""
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _read(name: str) -> str:
    """Return a file of this folder as text."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
