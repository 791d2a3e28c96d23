"""A server that stalls, floods or resets ends in one error, and never after its time-out."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.faults import (
    CHUNKED,
    Fault,
    completion,
    dripping,
    failing,
    fitting_answer,
    flooding,
    saying,
    sending_bytes,
    staying_silent,
    without_end,
)
from support.loopback import Loop, loopback
from support.parallel import run_all, wait_until
from support.stand_ins import request

from atlaskit.errors import ModelWarning
from atlaskit.models.attempts import MOST_WAITED_S, slots_of
from atlaskit.models.client import VLM
from atlaskit.models.protocol import ModelError, Unreachable, Usage, now_s


@pytest.fixture(autouse=True)
def _less_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server give up soon, so that a test that fails does so soon."""
    monkeypatch.setattr("support.faults.PATIENCE_S", 3.0)


ENDLESS: dict[str, Fault] = {
    "a body that drips": dripping,
    "a body that floods": flooding,
    "silence": staying_silent,
    "silence after the head": without_end(CHUNKED, b"", 0.1),
    "hints before the head": without_end(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.01),
    "trailers that drip": without_end(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-Slow: a\r\n", 0.01),
    "gzip that unpacks to nothing": without_end(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\0\0\0\0\0\x03", b"a", 0.01
    ),
}


@pytest.mark.family
@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_answer_ends_with_the_timeout(loop: Loop, name: str) -> None:
    loop.faults = [ENDLESS[name]]
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop", dialect="vllm", timeout_s=0.2).complete(request(), max_attempts=1)
    assert loop.outlasted == 0
    assert caught.value.usage.calls == 1 and not isinstance(caught.value, Unreachable)


def encoded(data: bytes, encoding: str) -> Fault:
    return sending_bytes(data, Content_Encoding=encoding)


def test_an_unrequested_compression_is_undone_up_to_the_size_limit(loop: Loop) -> None:
    vlm = VLM(loop.url, "loop")
    answer = json.dumps(completion('{"thought":"","cell":3}')).encode()
    loop.faults = [encoded(gzip.compress(answer), "gzip"), encoded(zlib.compress(answer), "deflate")]
    assert [vlm.complete(request()).usage.calls for _ in range(2)] == [1, 1]
    assert loop.headers[0]["Accept-Encoding"] == "identity"
    bomb = gzip.compress(b" " * 50_000_000)
    for data, encoding, message in (
        (bomb, "gzip", "sent an answer that is too long"),
        (b"nonsense", "gzip", "sent a damaged answer"),
        (b"", "br", r"encoding that was not requested \(br\)"),
    ):
        loop.faults = [encoded(data, encoding)]
        with pytest.raises(ModelError, match=message):
            vlm.complete(request(), max_attempts=1)


INTERRUPTED = """
import sys
import atlaskit as ak
import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.models.client import VLM
url, folder = sys.argv[1:]
world = aw.world(seed=5, duration_s=60, questions=4, size=(128, 72), directory=folder)
print("asking", flush=True)
search = ak.Search(k=2, cell=32, max_depth=1)
ak.ask(world.drawn, "What?", ["a", "b"], vlm=VLM(url, "loop"), workers=2, search=search, cache=Cache(folder))
"""


def test_ctrl_c_does_not_wait_for_calls(loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers wait for answers that never come; the time-out of their calls is five minutes."""
    monkeypatch.setattr("support.faults.PATIENCE_S", 60.0)
    loop.faults = [saying('{"search_task":"Find it.","traversal":"dfs"}'), saying(PROBED), *[staying_silent] * 3]
    command = [sys.executable, "-c", INTERRUPTED, loop.url, str(tmp_path)]
    user = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(loop.bodies) >= 5)  # two workers and the next probe
    user.send_signal(signal.SIGINT)
    _, stderr = user.communicate(timeout=30)
    assert "Interrupted: stopped; 2 replies are kept, run it again to go on" in stderr and len(loop.bodies) == 5, (
        "no call is made after the interrupt"
    )


PROBED = json.dumps({"reasoning": "", "top": [{"cell": 0, "score": 0.9}, {"cell": 1, "score": 0.8}]})


@contextmanager
def occupied(address: str) -> Iterator[None]:
    """Take a slot of an address for the length of a block."""
    slots_of(address).acquire(60)
    try:
        yield
    finally:
        slots_of(address).release()


def test_a_forked_process_reads_its_own_answers(loop: Loop) -> None:
    """A child shares neither connections nor the slots with its parent."""
    vlm = VLM(loop.url, "loop", dialect="vllm", in_flight=1)
    vlm.complete(request())  # opens a connection that is kept
    with occupied(vlm.base_url):
        child = os.fork()
        if child == 0:
            try:
                calls = [vlm.complete(request(), deadline_s=now_s() + 20).usage.calls for _ in range(20)]
                os._exit(0 if calls == [1] * 20 else 1)
            finally:
                os._exit(2)
    calls = [vlm.complete(request()).usage.calls for _ in range(20)]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and calls == [1] * 20
    assert len(loop.bodies) == 41 and loop.connections == 2


def test_the_request_for_the_list_of_models_respects_the_deadline(loop: Loop) -> None:
    loop.list_faults = [staying_silent]
    with pytest.raises(ModelError):
        VLM(loop.url, "loop").complete(request(), deadline_s=now_s() + 0.1)
    assert (loop.outlasted, loop.bodies) == (0, [])


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts of this thread, which are noted and not made.

    A thread that another test left behind may pause too.
    """
    pauses = list[float]()
    own = threading.get_ident()

    def sleep(pause_s: float) -> None:
        if threading.get_ident() == own:
            pauses.append(pause_s)

    clock = SimpleNamespace(monotonic=time.monotonic, sleep=sleep)
    monkeypatch.setattr("atlaskit.models.attempts.time", clock)
    return pauses


def test_a_pause_of_an_hour_ends_the_call_at_once_and_says_so(loop: Loop, slept: list[float]) -> None:
    loop.faults = [failing(429, Retry_After="3600")]
    with pytest.raises(ModelError, match="asks to wait for 3600 s") as caught:
        VLM(loop.url, "loop").complete(request())
    assert (caught.value.usage.calls, slept, caught.value.is_final) == (0, [], True)


NO_DELAY = ["-1", "inf", "nan", "soon", "", "1, 2", "Wed, 99 Oct 2065 07:28:00 GMT"]


@pytest.mark.parametrize("retry_after", NO_DELAY)
def test_a_rate_limit_is_waited_for_and_costs_no_call(loop: Loop, slept: list[float], retry_after: str) -> None:
    loop.faults = [failing(429, Retry_After=retry_after)] * 6
    pauses_s = [10 * 0.01 * 3**refusals for refusals in range(6)]  # FIRST_PAUSE_S of the fixture, 0.5 otherwise
    vlm = VLM(loop.url, "loop")
    with pytest.warns(ModelWarning, match="it is waited for, which changes no result") as told:
        assert vlm.complete(request(), max_attempts=1).usage.calls == 1, "a refused request is no attempt"
    assert slept == pytest.approx([min(pause_s, 60.0) for pause_s in pauses_s])
    assert sum("it is waited for" in str(each.message) for each in told) == 1, "told once"


def test_a_rate_limit_that_outlasts_the_patience_ends_the_run(loop: Loop, slept: list[float]) -> None:
    loop.faults = [failing(429, Retry_After="90")] * 50
    with pytest.warns(ModelWarning), pytest.raises(ModelError, match="HTTP 429") as caught:
        VLM(loop.url, "loop").complete(request())
    assert (caught.value.usage.calls, caught.value.is_final) == (0, True)
    assert sum(slept) == MOST_WAITED_S


def test_the_proxy_is_used_for_other_machines_only(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is a server that answers requests itself, and so shows who used it."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with loopback() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        for address in (loop.url, loop.url.replace("127.0.0.1", "localhost")):
            VLM(address, "loop").complete(request())
        assert (len(loop.bodies), len(proxy.bodies)) == (2, 0)
        VLM("http://model.example/v1", "loop").complete(request())
        assert (len(loop.bodies), len(proxy.bodies)) == (2, 1)


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_a_call_that_ends_in_the_queue_costs_nothing(loop: Loop, how: str) -> None:
    vlm, cancel = VLM(loop.url, "loop", dialect="vllm", in_flight=1), threading.Event()
    with occupied(vlm.base_url):
        threading.Timer(0.1, cancel.set).start()
        limits: Any = {"deadline_s": now_s() + 0.05} if how == "deadline" else {"cancel": cancel}
        with pytest.raises(ModelError, match="before the deadline") as caught:
            vlm.complete(request(), **limits)
        assert not slots_of(vlm.base_url).acquire(0), "the call gave up before the slot came free"
    assert (caught.value.usage, loop.bodies, caught.value.transit.sent_bytes) == (Usage(), [], 0)
    assert vlm.complete(request(), deadline_s=now_s() + 60).usage.calls == 1


def test_a_server_that_hardly_reads_is_left_at_the_timeout() -> None:
    """It reads a little again and again, so that no single write takes long."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        is_done, received = threading.Event(), [0]

        def sip() -> None:
            connection, _ = listener.accept()
            with connection:
                while not is_done.wait(0.01):
                    received[0] += len(connection.recv(4096))

        with ThreadPoolExecutor(1) as pool:
            pool.submit(sip)
            vlm = VLM(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", "slow", dialect="vllm", timeout_s=0.5)
            with pytest.raises(ModelError, match="within 0.5 s"):
                vlm.complete(request("x" * 20_000_000), max_attempts=1)
            is_done.set()
        assert 0 < received[0] < 5_000_000


def test_threads_share_the_limit_of_an_address(loop: Loop) -> None:
    def slowly(body: dict[str, Any]) -> Fault:
        time.sleep(0.02)
        return saying(fitting_answer(body))

    loop.answer = slowly
    vlms = [VLM(loop.url, name, dialect="vllm", in_flight=3) for name in ("a", "b")]
    run_all([lambda n=n: vlms[n % 2].complete(request(f"Number {n}.")) for n in range(24)], 8)
    assert len(loop.bodies) == 24 and loop.most_in_flight == 3
