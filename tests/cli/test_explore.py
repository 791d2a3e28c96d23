"""`atlaskit explore` as a process: who is let in, what the page may do, and what a tab is told."""

import asyncio
import contextlib
import http.client
import json
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from PIL import Image
from support.parallel import in_a_thread
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from atlaskit.__main__ import main
from atlaskit.viz.widgets.standalone import private_page


@dataclass
class Explorer:
    """A running `atlaskit explore`."""

    process: subprocess.Popen[str]
    address: str

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    @property
    def root(self) -> str:
        """The secret path that all lies below."""
        return urlsplit(self.address).path

    def get(self, path: str, root: str = "", **headers: str) -> http.client.HTTPResponse:
        """Return the answer to a request below the secret path, or another; its body is read."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.putrequest("GET", f"{root or self.root}{path.removeprefix('/')}", skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.text = answer.read().decode()  # type: ignore[attr-defined]
        return answer

    @property
    def cookie(self) -> str:
        """The cookie that a browser gets with the token."""
        parts = urlsplit(self.address)
        return str(self.get(f"?{parts.query}").headers["Set-Cookie"]).split(";")[0]

    def connect(self, **headers: str) -> Any:
        """Return a connection as the page makes it, to await."""
        given = {"Cookie": self.cookie, "Origin": f"http://{self.host}", **headers}
        request = HTTPRequest(
            f"ws://{self.host}{self.root}socket", headers={name: value for name, value in given.items() if value}
        )
        return websocket_connect(request)


@contextlib.contextmanager
def exploring(*arguments: object, cwd: Path) -> Iterator[Explorer]:
    command = [sys.executable, "-m", "atlaskit", "explore", *map(str, arguments), "--no-browser"]
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{16}/\?token=[\w-]{32}$", line)
        assert found, line + process.stderr.read()
        yield Explorer(process, found[0])
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def explorer(film_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    with exploring(film_file, cwd=tmp_path_factory.mktemp("explore")) as running:
        yield running


async def next_picture(socket: WebSocketClientConnection) -> tuple[dict[str, Any], list[bytes]]:
    """Return the next message with a picture, and its buffers."""
    while True:
        frame = await asyncio.wait_for(socket.read_message(), 60)
        assert isinstance(frame, bytes), "the connection was closed"
        length = int.from_bytes(frame[:4], "big")
        head, rest = json.loads(frame[4 : 4 + length]), frame[4 + length :]
        buffers = []
        for size in head["sizes"]:
            buffers.append(rest[:size])
            rest = rest[size:]
        assert not rest
        if head["message"]["is"] == "picture":
            return head["message"], buffers


def test_only_a_browser_with_the_token_is_let_in(explorer: Explorer) -> None:
    parts = urlsplit(explorer.address)
    let_in = explorer.get(f"/?{parts.query}")
    assert let_in.status == 200 and "<h1>atlasworld" in let_in.text  # type: ignore[attr-defined]
    cookie = str(let_in.headers["Set-Cookie"])
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and parts.query.split("=")[1] in cookie
    assert f"Path={explorer.root}" in cookie, "no other server of this machine gets it"
    for path in (f"?{parts.query}", "page.js"):
        answer = explorer.get(path, root="/")
        assert answer.status == 403 and "Set-Cookie" not in answer.headers
    for path in ("/", "/page.js", "/page.css", "/start.js"):
        assert explorer.get(path, Cookie=explorer.cookie).status == 200
    name = explorer.cookie.split("=")[0]
    tokens = ("/?token=", "/?token=wrong", "/?token=%C3%A9", "/?token=%ff")
    without = ["/", *tokens, f"/page.js?{parts.query}", "/page.js", "/socket"]
    wrong = [("/", {"Cookie": f"{name}=wrong"}), ("/", {"Cookie": f"{name}="})]
    for path, headers in [*((path, dict[str, str]()) for path in without), *wrong]:
        refused = explorer.get(path, **headers)
        assert refused.status in (400, 403) and "Set-Cookie" not in refused.headers, path
        assert "atlasworld" not in refused.text  # type: ignore[attr-defined]
    assert explorer.get("/none", Cookie=explorer.cookie).status == 404


def test_the_browser_is_started_on_a_file_of_the_users_alone() -> None:
    with private_page("http://127.0.0.1:1/secret/?token=x&y") as address:
        page = Path(urlsplit(address).path)
        assert address.startswith("file:///") and "secret" not in address and "token" not in address
        assert [stat.S_IMODE(each.stat().st_mode) for each in (page, page.parent)] == [0o600, 0o700]
        assert 'content="0; url=http://127.0.0.1:1/secret/?token=x&amp;y"' in page.read_text()
    assert not page.exists()


def test_who_says_nothing_keeps_nobody_out(explorer: Explorer) -> None:
    with contextlib.ExitStack() as connections:
        for number in range(200):
            connection = connections.enter_context(socket.create_connection(tuple(explorer.host.split(":"))))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127" if number % 2 else b"")
        assert explorer.get("page.js", Cookie=explorer.cookie).status == 200


def test_another_name_of_this_machine_is_refused(explorer: Explorer) -> None:
    """A site of someone else that points its name here gets nothing, even with the cookie."""
    query = urlsplit(explorer.address).query
    for host in ("evil.example", f"evil.example:{urlsplit(explorer.address).port}", "127.0.0.1.evil.example", "[", ""):
        for path in (f"/?{query}", "/page.js"):
            assert explorer.get(path, Host=host, Cookie=explorer.cookie).status in (400, 403), host
    for host in ("localhost:9999", "127.0.0.1"):  # through a tunnel
        assert explorer.get("/page.js", Host=host, Cookie=explorer.cookie).status == 200


def test_the_page_may_load_nothing_from_elsewhere(explorer: Explorer) -> None:
    page = explorer.get("/", Cookie=explorer.cookie)
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert f"connect-src 'self' ws://{explorer.host}" in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff" and page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "no-store"
    for path in ("/", "/page.js", "/page.css", "/start.js"):
        text = explorer.get(path, Cookie=explorer.cookie).text  # type: ignore[attr-defined]
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), path


def test_only_the_page_itself_may_connect(explorer: Explorer) -> None:
    async def attempt(headers: dict[str, str]) -> None:
        await explorer.connect(**headers)

    origins = [{"Origin": origin} for origin in ("http://evil.example", "null", f"https://{explorer.host}")]
    for headers in (*origins, {"Cookie": ""}):
        with pytest.raises(HTTPClientError, match="403"):
            in_a_thread(partial(asyncio.run, attempt(headers)))


def test_each_tab_is_an_explorer_of_its_own(explorer: Explorer) -> None:
    async def look() -> None:
        first, second = await explorer.connect(), await explorer.connect()
        await first.write_message(json.dumps({"want": "show", "place": {"path": [12], "look": "grid", "cell": None}}))
        await second.write_message(json.dumps({"want": "here"}))
        (opened, (jpeg,)), (whole, _) = await next_picture(first), await next_picture(second)
        assert opened["place"]["path"] == [12] and whole["place"]["path"] == []
        assert Image.open(BytesIO(jpeg)).size == tuple(opened["size"])
        for nonsense in ("", "[1, 2]", "{", "[" * 100_000, json.dumps({"want": "fly"}), b"\xff\x00"):
            await first.write_message(nonsense, binary=isinstance(nonsense, bytes))
        await first.write_message(json.dumps({"want": "show", "place": {"path": [3], "look": "grid", "cell": None}}))
        while (await next_picture(first))[0]["place"]["path"] != [3]:
            pass
        first.close()
        await second.write_message(json.dumps({"want": "here"}))
        assert (await next_picture(second))[0]["place"]["path"] == []

    in_a_thread(lambda: asyncio.run(look()))


def test_ctrl_c_ends_it_cleanly(film_file: Path, in_tmp: Path) -> None:
    with exploring(film_file, "--subtitles", "none", cwd=in_tmp) as running:

        async def look_and_end() -> None:
            tab = await running.connect()
            await tab.write_message(json.dumps({"want": "here"}))
            await next_picture(tab)
            running.process.send_signal(signal.SIGINT)
            while await asyncio.wait_for(tab.read_message(), 60) is not None:
                pass  # until the tab learns that the server has gone

        in_a_thread(lambda: asyncio.run(look_and_end()))
        out, err = running.process.communicate(timeout=60)
    assert running.process.returncode == 0 and "The server has stopped." in out and err == ""


def test_a_mistake_is_one_sentence(
    film_file: Path, answered: Any, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answered.save("other.json")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for option, value, sentence in (
            ("--port", "99999", "A port is a number from 0 (any that is free) to 65535; got 99999"),
            ("--port", taken.getsockname()[1], "cannot be used: Address already in use"),
            ("--result", "none.json", "none.json cannot be read"),
            ("--result", "other.json", "The trace is of another video"),
        ):
            words = ["explore", str(film_file), option, str(value), "--no-browser", "--subtitles", "none"]
            assert in_a_thread(partial(main, words)) == 2
            told = capsys.readouterr().err
            assert sentence in told and told.count("\n") == 1
