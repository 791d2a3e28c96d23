"""A server that stalls, floods or resets ends in one error, and never after its time-out."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import threading
import time
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from support.faults import (
    CHUNKED,
    Fault,
    completion,
    fitting_answer,
    flooding,
    saying,
    sending_bytes,
    staying_silent,
    without_end,
)
from support.loopback import Loop
from support.parallel import run_all, wait_until
from support.stand_ins import request

from atlaskit.models.attempts import slots_of
from atlaskit.models.client import VLM
from atlaskit.models.protocol import ModelError, Unreachable, Usage, now_s


@pytest.fixture(autouse=True)
def _less_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server give up soon, so that a test that fails does so soon."""
    monkeypatch.setattr("support.faults.PATIENCE_S", 3.0)


ANSWER = json.dumps(completion('{"thought":"","cell":3}')).encode()
ENDLESS: dict[str, Fault] = {
    "a body that floods": flooding,
    "silence": staying_silent,
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


COMPRESSED: dict[str, tuple[bytes, str, str]] = {
    "gzip": (gzip.compress(ANSWER), "gzip", ""),
    "deflate": (zlib.compress(ANSWER), "deflate", ""),
    "a bomb": (gzip.compress(b" " * 50_000_000), "gzip", "sent an answer that is too long"),
    "nonsense": (b"nonsense", "gzip", "sent a damaged answer"),
    "another encoding": (b"", "br", r"encoding that was not requested \(br\)"),
}


@pytest.mark.parametrize("name", COMPRESSED)
def test_an_unrequested_compression_is_undone_up_to_the_size_limit(loop: Loop, name: str) -> None:
    data, encoding, message = COMPRESSED[name]
    loop.faults = [sending_bytes(data, Content_Encoding=encoding)]
    with pytest.raises(ModelError, match=message) if message else nullcontext():
        assert VLM(loop.url, "loop").complete(request(), max_attempts=1).usage.calls == 1
    assert loop.headers[0]["Accept-Encoding"] == "identity"


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


PROBED = json.dumps({"reasoning": "", "top": [{"cell": 0, "score": 0.9}, {"cell": 1, "score": 0.8}]})


def test_ctrl_c_does_not_wait_for_calls(loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers wait for answers that never come; the time-out of their calls is five minutes."""
    monkeypatch.setattr("support.faults.PATIENCE_S", 60.0)
    loop.faults = [saying('{"search_task":"Find it.","traversal":"dfs"}'), saying(PROBED), *[staying_silent] * 3]
    command = [sys.executable, "-c", INTERRUPTED, loop.url, str(tmp_path)]
    user = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(loop.bodies) >= 5)  # two workers and the next probe
    user.send_signal(signal.SIGINT)
    _, stderr = user.communicate(timeout=30)
    assert "Interrupted: stopped; 2 replies are kept, run it again to go on" in stderr
    assert len(loop.bodies) == 5, "no call is made after the interrupt"


def test_the_request_for_the_list_of_models_respects_the_deadline(loop: Loop) -> None:
    loop.list_faults = [staying_silent]
    with pytest.raises(ModelError):
        VLM(loop.url, "loop").complete(request(), deadline_s=now_s() + 0.1)
    assert (loop.outlasted, loop.bodies) == (0, [])


@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_a_call_that_ends_in_the_queue_costs_nothing(loop: Loop, how: str) -> None:
    vlm = VLM(loop.url, "loop", dialect="vllm", in_flight=1)
    cancel = threading.Event()
    slots = slots_of(vlm.base_url)
    slots.acquire(60)
    threading.Timer(0.1, cancel.set).start()
    limits: Any = {"deadline_s": now_s() + 0.05} if how == "deadline" else {"cancel": cancel}
    with pytest.raises(ModelError, match="before the deadline") as caught:
        vlm.complete(request(), **limits)
    assert not slots.acquire(0), "the call gave up before the slot came free"
    assert (caught.value.usage, loop.bodies, caught.value.transit.sent_bytes) == (Usage(), [], 0)
    slots.release()
    assert vlm.complete(request(), deadline_s=now_s() + 60).usage.calls == 1


def test_a_time_out_grows_with_the_answer_and_names_its_option(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    vlm = VLM(loop.url, "loop", max_tokens=17_408)
    with monkeypatch.context() as patch:
        exchange = Mock(side_effect=vlm._line.endpoint.exchange)
        patch.setattr(vlm._line.endpoint, "exchange", exchange)
        vlm.complete(request())
    assert 17_408 / 20 in exchange.call_args.args
    loop.faults = [staying_silent] * 2
    with pytest.raises(ModelError, match=r"within 0\.1 s: give it more time: timeout_s=… \(--timeout\)"):
        VLM(loop.url, "loop", timeout_s=0.1).complete(request(), max_attempts=1)
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop").complete(request(), deadline_s=now_s() + 0.1)
    assert "timeout_s" not in str(caught.value), "the run is out of time, not the call"


def test_threads_share_the_limit_of_an_address(loop: Loop) -> None:
    def slowly(body: dict[str, Any]) -> Fault:
        time.sleep(0.02)
        return saying(fitting_answer(body))

    loop.answer = slowly
    vlms = [VLM(loop.url, name, dialect="vllm", in_flight=3) for name in ("a", "b")]
    run_all([lambda n=n: vlms[n % 2].complete(request(f"Number {n}.")) for n in range(24)], 8)
    assert len(loop.bodies) == 24 and loop.most_in_flight == 3
