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
from cli.conftest import Shell
from PIL import Image
from support.parallel import in_a_thread
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from atlaskit.viz.widgets.standalone import private_page


@dataclass
class Explorer:
    """A running `atlaskit explore`."""

    process: subprocess.Popen[str]
    address: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        self.host = parts.netloc
        self.root = parts.path
        """The secret path that all lies below."""
        self.token = parts.query
        """As a query: `token=…`."""
        self.cookie = str(self.get(f"?{self.token}").headers["Set-Cookie"]).split(";")[0]

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

    def connect(self, **headers: str) -> Any:
        """Return a connection as the page makes it, to await."""
        given = {"Cookie": self.cookie, "Origin": f"http://{self.host}", **headers}
        named = {name: value for name, value in given.items() if value}
        return websocket_connect(HTTPRequest(f"ws://{self.host}{self.root}socket", headers=named))


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


PATHS = ("/", "/page.js", "/page.css", "/start.js")


def test_only_a_browser_with_the_token_is_let_in(explorer: Explorer) -> None:
    let_in = explorer.get(f"/?{explorer.token}")
    assert let_in.status == 200 and "<h1>atlasworld" in let_in.text  # type: ignore[attr-defined]
    cookie = str(let_in.headers["Set-Cookie"])
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and explorer.token.split("=")[1] in cookie
    assert f"Path={explorer.root}" in cookie, "no other server of this machine gets it"
    for path in PATHS:
        assert explorer.get(path, Cookie=explorer.cookie).status == 200
    assert explorer.get("/none", Cookie=explorer.cookie).status == 404
    name = explorer.cookie.split("=")[0]
    for path, cookie in (
        ("/", ""),
        ("/", f"{name}=wrong"),
        ("/?token=wrong", ""),
        ("/?token=%ff", ""),
        ("/page.js", ""),
        (f"/page.js?{explorer.token}", ""),
        ("/socket", ""),
    ):
        refused = explorer.get(path, **({"Cookie": cookie} if cookie else {}))
        assert refused.status in (400, 403) and "Set-Cookie" not in refused.headers, path
        assert "atlasworld" not in refused.text  # type: ignore[attr-defined]
    for path in (f"?{explorer.token}", "page.js"):  # without the secret path
        assert explorer.get(path, root="/").status == 403


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
    port = explorer.host.split(":")[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "[", ""):
        for path in (f"/?{explorer.token}", "/page.js"):
            assert explorer.get(path, Host=host, Cookie=explorer.cookie).status in (400, 403), host
    for host in ("localhost:9999", "127.0.0.1"):  # through a tunnel
        assert explorer.get("/page.js", Host=host, Cookie=explorer.cookie).status == 200


def test_the_page_may_load_nothing_from_elsewhere(explorer: Explorer) -> None:
    headers = explorer.get("/", Cookie=explorer.cookie).headers
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert f"connect-src 'self' ws://{explorer.host}" in policy
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    for path in PATHS:
        text = explorer.get(path, Cookie=explorer.cookie).text  # type: ignore[attr-defined]
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), path


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "https://{host}"}, {"Cookie": ""}],
    ids=str,
)
def test_only_the_page_itself_may_connect(explorer: Explorer, headers: dict[str, str]) -> None:
    async def attempt() -> None:
        await explorer.connect(**{name: value.format(host=explorer.host) for name, value in headers.items()})

    with pytest.raises(HTTPClientError, match="403"):
        in_a_thread(lambda: asyncio.run(attempt()))


def show(*path: int) -> str:
    return json.dumps({"want": "show", "place": {"path": path, "look": "grid", "cell": None}})


def test_each_tab_is_an_explorer_of_its_own(explorer: Explorer) -> None:
    async def look() -> None:
        first, second = await explorer.connect(), await explorer.connect()
        await first.write_message(show(12))
        await second.write_message(json.dumps({"want": "here"}))
        opened, (jpeg,) = await next_picture(first)
        whole, _ = await next_picture(second)
        assert opened["place"]["path"] == [12] and whole["place"]["path"] == []
        assert Image.open(BytesIO(jpeg)).size == tuple(opened["size"])
        for nonsense in ("", "[1, 2]", "{", "[" * 100_000, json.dumps({"want": "fly"}), b"\xff\x00"):
            await first.write_message(nonsense, binary=isinstance(nonsense, bytes))
        await first.write_message(show(3))
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


def test_a_mistake_is_one_sentence(film_file: Path, answered: Any, shell: Shell) -> None:
    answered.save("other.json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for words, sentence in {
            "--port 99999": "A port is a number from 0 (any that is free) to 65535; got 99999",
            f"--port {port}": "cannot be used: Address already in use",
            "--result none.json": "none.json cannot be read",
            "--result other.json": "The trace is of another video",
        }.items():
            line = f"explore {film_file} {words} --no-browser --subtitles none"
            told = in_a_thread(partial(shell, line, status=2))
            assert sentence in told and told.count("\n") == 1
