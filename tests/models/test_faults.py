"""The whole search against a server that fails in every way, by chance; and single faults where chance cannot tell."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict
from support.invariants import check_grounded
from support.loopback import (
    CHUNKED,
    PATIENCE_S,
    STORM,
    Fault,
    Loop,
    Weather,
    completion,
    dripping,
    failing,
    flooding,
    loopback,
    resetting,
    saying,
    staying_silent,
    without_end,
)

from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import World
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.environment.render import View, view
from atlaskit.errors import AtlasError
from atlaskit.models.client import VLM
from atlaskit.models.errors import BadReply, ModelError, Unreachable
from atlaskit.models.http import Endpoint, HttpFailure
from atlaskit.models.limiter import limiter_for
from atlaskit.models.protocol import Message, Request
from atlaskit.models.usage import Usage
from atlaskit.runs.result import Result

RUNS = int(os.environ.get("ATLASKIT_SOAK_RUNS", "200"))
"""How many runs there are, in blocks; ATLASKIT_SOAK_RUNS=1000 has a thousand."""
BLOCK, AT_ONCE = 100, 8
HANG_S = 120.0
"""Seconds after which a block of runs, which takes a few, hangs."""
SILENT = ("late", "reset", "hang-up", "half a body", "flood", "drip")
"""What a client cannot take for an answer, whether it waits for its end or not."""
BREAKING = ("reset", "hang-up", "half a body")
"""What breaks the connection."""
QUESTIONS = (
    Question("What is it?", ("a circle", "a square", "a star")),
    Question("When is it?", kind="when"),
)


class Pick(BaseModel):
    model_config = ConfigDict(extra="forbid")
    thought: str
    cell: Literal[3, 5]


def pick(*images: View, text: str = "Pick a cell.", **rest: Any) -> Request:
    return Request("worker", "step", (Message("user", (text, *images)),), Pick, **rest)


@dataclass(frozen=True)
class Run:
    """One question under one weather, and how it ended."""

    weather: Weather
    budget: Budget
    workers: int
    outcome: Result | Exception
    seconds: float
    unanswered: int
    """How many requests ended without an answer, as its client saw it."""
    broken: int
    """To how many of them the connection broke."""


@dataclass
class Unanswered:
    """Notes at the clients' end which requests got no answer, by the address they were sent to."""

    all: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, base_url: str, failure: HttpFailure) -> None:
        with self.lock:
            self.all[base_url] += not failure.status
            self.broken[base_url] += "breaks off" in str(failure)


@pytest.fixture
def unanswered(monkeypatch: pytest.MonkeyPatch) -> Unanswered:
    noted, post = Unanswered(), Endpoint.post

    def noting(self: Endpoint, *args: Any) -> bytes:
        try:
            return post(self, *args)
        except HttpFailure as failure:
            noted.note(self.base_url, failure)
            raise

    monkeypatch.setattr(Endpoint, "post", noting)
    return noted


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of milliseconds, and an end of what is endless that costs little."""
    monkeypatch.setattr("atlaskit.models.client.FIRST_WAIT_S", 0.004)
    monkeypatch.setattr("atlaskit.models.client.LONGEST_WAIT_S", 0.01)
    monkeypatch.setattr("atlaskit.models.client.LONGEST_ASKED_WAIT_S", 0.01)
    monkeypatch.setattr("atlaskit.models.http.LONGEST_ANSWER", 500_000)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    """A server whose patience is shorter, so that a test that fails does so soon."""
    monkeypatch.setattr("atlaskit.models.client.FIRST_WAIT_S", 0.004)
    monkeypatch.setattr("loopback.PATIENCE_S", 3.0)
    with loopback() as server:
        yield server


@pytest.fixture(scope="session")
def warm(world: World, shared_cache: Cache) -> Cache:
    """A cache that has the tiles of the upper two floors."""
    root = view(world.drawn, k=4, cell=48, cache=shared_cache)
    for sheet in (root, *map(root.expand, range(16))):
        sheet.jpeg()
    return shared_cache


def budget_of(draw: random.Random) -> Budget:
    match draw.choice(["calls", "calls", "calls", "tokens", "seconds"]):
        case "calls":
            return Budget(calls=draw.randint(1, 12))
        case "tokens":
            return Budget(tokens=draw.randint(4_000, 20_000))
        case _:
            return Budget(seconds=draw.uniform(0.3, 1.5))


def one_run(seed: int, world: World, cache: Cache, loop: Loop, noted: Unanswered) -> Run:
    draw = random.Random(seed)
    share = draw.choice([0.1, 0.2, 0.4, 0.7])
    share_after_a_find = draw.choice([0.0, 0.0, 0.9])
    weather = Weather(seed, share, share_after_a_find, tuple(draw.sample(list(STORM), draw.randint(1, 6))))
    budget, workers = budget_of(draw), draw.randint(1, 4)
    vlm = VLM(loop.under(weather), f"model {seed}", dialect="vllm", timeout_s=draw.uniform(0.1, 0.2))
    options: dict[str, Any] = {
        "workers": workers,
        "max_depth": draw.randint(1, 2),
        "steps": draw.choice([4, 8]),
        "max_rounds": 3,
    }
    began = time.monotonic()
    outcome: Result | Exception
    try:
        outcome = ask(world.drawn, draw.choice(QUESTIONS), vlm=vlm, k=4, cell=48, cache=cache, budget=budget, **options)
    except Exception as error:  # which one it may be is checked beside the seed
        outcome = error
    seconds, url = time.monotonic() - began, vlm.base_url
    return Run(weather, budget, workers, outcome, seconds, noted.all[url], noted.broken[url])


def all_of(jobs: Sequence[Callable[[], Any]], at_once: int) -> list[Any]:
    """Do jobs in parallel and return what they bring, in order; fail, rather than wait for ever, where one hangs."""
    pool = ThreadPoolExecutor(at_once)
    futures = [pool.submit(job) for job in jobs]
    hanging = wait(futures, HANG_S).not_done
    pool.shutdown(wait=False, cancel_futures=True)
    assert not hanging, f"{len(hanging)} hang, the first is number {min(map(futures.index, hanging))}"
    return [future.result() for future in futures]


def priced(result: Result) -> list[Usage]:
    """What each event of the trace cost."""
    return [Usage(**event["usage"]) for event in result.trace if event.data and "usage" in event.data]


def check_books(run: Run, result: Result) -> None:
    costs = priced(result)
    assert result.total == sum(costs, Usage())
    assert all(0 <= count < 2**50 for cost in costs for count in vars(cost).values())
    assert result.total == sum((call.usage for call in result.calls), Usage())
    assert result.spent.calls == sum(call.usage.calls for call in result.calls if call.live)
    assert result.spent.calls <= result.total.calls  # what a run asks twice is charged twice and paid once
    if run.budget.calls is not None:
        assert result.total.calls <= run.budget.calls
    if run.budget.tokens is not None:
        largest = max((cost.tokens for cost in costs), default=0)
        assert result.total.tokens <= run.budget.tokens + (run.workers + 1) * largest


def lost(run: Run) -> int:
    """Return how many calls never arrived: a connection may be closed just as it is used again, and a client that has
    no time left closes it before a busy server has read what it sent."""
    if not isinstance(run.outcome, Result):
        return 0
    return max(0, run.outcome.spent.calls - (run.weather.received - run.weather.resent))


def check_received(run: Run, result: Result) -> None:
    """Each request that arrived is a call that was paid; one sent again since an image was forgotten is the same call.

    An error that the client was too late to read, or after which it had no time, may be one or none.
    """
    seen = run.weather
    silent = sum(seen.met[name] for name in SILENT)
    assert lost(run) + silent <= run.unanswered, "what was answered did arrive, however busy the machine is"
    assert seen.received - seen.resent - len(seen.complained) <= result.spent.calls
    if not lost(run):
        assert seen.received_bytes == sum(call.transit.sent_bytes for call in result.calls)


def check_nothing_is_lost(result: Result) -> None:
    """What the evidence must be, told from the trace alone: found, brought, labelled, and perhaps erased."""
    carried: dict[int | None, dict[float, None]] = {}
    kept: dict[str, float] = {}
    for event in result.trace:
        match event.kind:
            case "step":
                bag = carried.setdefault(event.worker, {})
                bag.update(dict.fromkeys(item["timestamp_s"] for item in event["found"]))
            case "report":
                brought = {item["label"]: item["timestamp_s"] for item in event["kept"]}
                assert sorted(brought.values()) == sorted(carried.pop(event.worker, {}))
                kept |= brought
            case "review":
                for label in event["erased"]:
                    del kept[label]
            case "cite":
                kept = {item["label"]: item["timestamp_s"] for item in event["found"]}
    assert not carried
    assert {item.label: item.timestamp_s for item in result.evidence} == kept


def check_words(outcome: Result | Exception) -> None:
    if isinstance(outcome, Result):
        told = [outcome.failure, *(event["reason"] for event in outcome.trace.of("failure"))]
        outcome.to_json().encode()
    else:
        told = [str(outcome)]
    assert not [words for words in told if len(words.splitlines()) > 1 or "Traceback" in words]


def check(run: Run) -> None:
    assert isinstance(run.outcome, Result | AtlasError), repr(run.outcome)
    check_words(run.outcome)
    assert run.weather.outlasted == []
    if run.budget.seconds is not None:
        assert run.seconds < run.budget.seconds + 30
    if isinstance(run.outcome, Result):
        check_books(run, run.outcome)
        check_received(run, run.outcome)
        check_grounded(run.outcome)
        check_nothing_is_lost(run.outcome)


def let_arrive(runs: Sequence[Run]) -> None:
    """Wait until the server has read also what clients no longer wait for."""
    for _ in range(500):
        late = [r for r in runs if isinstance(r.outcome, Result) and r.weather.received < r.outcome.spent.calls]
        if not late:
            return
        time.sleep(0.02)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("block", range(max(1, RUNS // BLOCK)))
def test_no_promise_breaks_in_hundreds_of_runs_whatever_a_server_does(
    block: int, world: World, warm: Cache, unanswered: Unanswered
) -> None:
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    with loopback() as loop:
        runs = all_of([lambda seed=seed: one_run(seed, world, warm, loop, unanswered) for seed in seeds], AT_ONCE)
        let_arrive(runs)
        broken = {}
        for run in runs:
            try:
                check(run)
            except AssertionError as error:
                broken[run.weather.seed] = str(error)
        assert not broken
        # A connection hardly ever breaks by itself: a busy machine makes fewer break, since it makes more time out.
        meant = sum(run.weather.met[name] for run in runs for name in BREAKING)
        assert sum(run.broken for run in runs) <= meant + 3
    check_the_soak_can_tell(runs)


def check_the_soak_can_tell(runs: Sequence[Run]) -> None:
    """Each fault was met, and met by searches that went on all the same.

    How many searches end how depends on the timing of their threads; the shares asked for are far below the usual ones.
    """
    met = sum((run.weather.met for run in runs), Counter())
    results = [run.outcome for run in runs if isinstance(run.outcome, Result)]
    assert set(STORM) <= set(met), set(STORM) - set(met)
    assert len(results) >= 0.95 * len(runs)
    assert sum(len(result.evidence) > 0 for result in results) >= 0.2 * len(runs)
    assert sum(bool(result.trace.of("review")) for result in results) >= 0.05 * len(runs)
    assert sum(bool(result.failure) for result in results) >= 0.1 * len(runs)
    assert sum(run.weather.resent for run in runs) > 0


ENDLESS: dict[str, Fault] = {
    "a body that drips": dripping,
    "a body that floods": flooding,
    "silence": staying_silent,
    "silence after the head": without_end(CHUNKED, b"", 0.1),
    "a head that drips": without_end(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a", 0.01),
    "more and more headers": without_end(b"HTTP/1.1 200 OK\r\n", b"X-Slow: a\r\n", 0.01),
    "hints before the head": without_end(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.01),
    "a chunk's head that drips": without_end(CHUNKED + b"2;a=", b"b", 0.01),
    "trailers that drip": without_end(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X-Slow: a\r\n", 0.01),
    "gzip that unpacks to nothing": without_end(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\0\0\0\0\0\x03", b"a", 0.01
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_is_left_when_the_time_is_up(loop: Loop, name: str) -> None:
    loop.faults = [ENDLESS[name]]
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop", dialect="vllm", timeout_s=0.2).complete(pick(), max_attempts=1)
    assert loop.outlasted == 0
    assert caught.value.usage.calls == 1 and not isinstance(caught.value, Unreachable)


def test_a_flood_is_left_when_it_is_too_much(loop: Loop) -> None:
    loop.faults = [flooding]
    with pytest.raises(ModelError, match=r"does not come to an end \([89],\d{3},\d{3} bytes") as caught:
        VLM(loop.url, "loop", timeout_s=60).complete(pick(), max_attempts=1)
    assert (caught.value.usage.calls, loop.outlasted) == (1, 0)


def packed(data: bytes, encoding: str) -> Fault:
    def answer(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", encoding)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def test_an_answer_that_nobody_asked_to_be_packed_is_unpacked_within_bounds(loop: Loop) -> None:
    vlm = VLM(loop.url, "loop")
    answer = json.dumps(completion('{"thought":"","cell":3}')).encode()
    loop.faults = [packed(gzip.compress(answer), "gzip"), packed(zlib.compress(answer), "deflate")]
    assert [vlm.complete(pick()).usage.calls for _ in range(2)] == [1, 1]
    assert loop.headers[0]["Accept-Encoding"] == "identity"
    bomb = gzip.compress(b" " * 50_000_000)
    for data, encoding, words in (
        (bomb, "gzip", "does not come to an end"),
        (b"nonsense", "gzip", "breaks off"),
        (b"", "br", r"encoding that was not asked for \(br\)"),
    ):
        loop.faults = [packed(data, encoding)]
        with pytest.raises(ModelError, match=words):
            vlm.complete(pick(), max_attempts=1)


INTERRUPTED = """
import sys, threading, time
from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.agents.search import ask
from atlaskit.models.client import VLM
url, folder = sys.argv[1:]
world = atlasworld(seed=5, duration_s=60, questions=4, size=(128, 72), directory=folder)
print("asking", flush=True)
ask(world.drawn, "What?", ["a", "b"], vlm=VLM(url, "loop"), workers=2, k=2, cell=32, max_depth=1, cache=Cache(folder))
"""


def test_a_ctrl_c_waits_for_nobody(loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers wait for answers that do not come; the limit of their calls is five minutes."""
    monkeypatch.setattr("loopback.PATIENCE_S", 60.0)
    loop.faults = [saying('{"search_task":"Find it.","traversal":"dfs"}'), saying(PROBED), *[staying_silent] * 3]
    command = [sys.executable, "-c", INTERRUPTED, loop.url, str(tmp_path)]
    user = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until_s = time.monotonic() + 60
    while len(loop.bodies) < 5:  # two workers and the next probe
        assert user.poll() is None and time.monotonic() < until_s
        time.sleep(0.05)
    user.send_signal(signal.SIGINT)
    _, told = user.communicate(timeout=30)
    assert "KeyboardInterrupt" in told and len(loop.bodies) == 5, "nothing is asked after it"


PROBED = json.dumps({"reasoning": "", "top": [{"cell": 0, "score": 0.9}, {"cell": 1, "score": 0.8}]})


def test_a_forked_process_reads_its_own_answers(loop: Loop) -> None:
    """Connections and places among the requests in flight are not shared with a parent that knows nothing of it."""
    vlm = VLM(loop.url, "loop", dialect="vllm", in_flight=1)
    vlm.complete(pick())  # a connection that is kept
    with limiter_for(vlm.base_url).place():
        child = os.fork()
        if child == 0:
            try:
                answers = [vlm.complete(pick(), deadline_s=time.monotonic() + 20).usage.calls for _ in range(20)]
                os._exit(0 if answers == [1] * 20 else 1)
            finally:
                os._exit(2)
    mine = [vlm.complete(pick()).usage.calls for _ in range(20)]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and mine == [1] * 20
    assert len(loop.bodies) == 41 and loop.connections == 2


def test_a_list_of_models_that_never_comes_is_left_when_the_time_is_up(loop: Loop) -> None:
    loop.list_faults = [staying_silent]
    with pytest.raises(ModelError):
        VLM(loop.url, "loop").complete(pick(), deadline_s=time.monotonic() + 0.1)
    assert (loop.outlasted, loop.bodies) == (0, [])


MISFITS = {
    "an invisible cell": '{"thought":"","cell":4}',
    "an odd name": '{"thought":"","cell":3,"a\\nTraceback\\u001b":1}',
    "half a character": '{"thought":"a\n\\ud800","cell":4}',
}


@pytest.mark.parametrize("text", MISFITS.values(), ids=MISFITS)
def test_a_misfit_is_told_in_one_line(loop: Loop, text: str) -> None:
    loop.faults = [saying(text)] * 2
    with pytest.raises(BadReply) as caught:
        VLM(loop.url, "loop").complete(pick())
    assert caught.value.usage.calls == 2
    assert str(caught.value).isprintable()


class Clock:
    """Time that is only noted down where somebody would sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.monotonic = time.monotonic

    def sleep(self, pause_s: float) -> None:
        self.slept.append(pause_s)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("atlaskit.models.client.time", clock)
    return clock


@pytest.mark.parametrize(("asked", "slept"), [("2.5", 2.5), ("0", 0.0), ("7", 7.0), ("1e9", 60.0)])
def test_the_wait_that_is_asked_for_is_kept(loop: Loop, clock: Clock, asked: str, slept: float) -> None:
    loop.faults = [failing(429, Retry_After=asked), failing(503, Retry_After=asked)]
    assert VLM(loop.url, "loop").complete(pick()).usage.calls == 3
    assert clock.slept == [slept, slept]


@pytest.mark.parametrize("asked", ["-1", "inf", "nan", "soon", "", "1, 2", "Wed, 21 Oct 2065 07:28:00 GMT"])
def test_where_no_wait_is_asked_for_waits_grow(
    loop: Loop, clock: Clock, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr("atlaskit.models.client.FIRST_WAIT_S", 1.0)
    monkeypatch.setattr("atlaskit.models.client.LONGEST_WAIT_S", 3.0)
    loop.faults = [failing(429, Retry_After=asked)] * 4
    assert VLM(loop.url, "loop").complete(pick(), max_attempts=5).usage.calls == 5
    for pause_s, middle_s in zip(clock.slept, (1.0, 2.0, 3.0, 3.0), strict=True):
        assert 0.5 * middle_s <= pause_s <= 1.5 * middle_s


def test_a_reset_is_tried_again(loop: Loop) -> None:
    loop.faults = [resetting] * 2
    assert VLM(loop.url, "loop").complete(pick()).usage.calls == 3
    loop.faults = [resetting]
    with pytest.raises(ModelError, match="breaks off .*reset") as caught:
        VLM(loop.url, "loop").complete(pick(), max_attempts=1)
    assert not isinstance(caught.value, Unreachable)


def test_a_forgotten_image_is_sent_again_and_is_no_call(loop: Loop, world: World, warm: Cache) -> None:
    sheet = view(world.drawn, k=4, cell=48, cache=warm)
    vlm = VLM(loop.url, "loop", dialect="vllm")
    first = vlm.complete(pick(sheet))
    loop.faults = [failing(400)]
    second = vlm.complete(pick(sheet), max_attempts=1)
    assert first.usage.calls == second.usage.calls == 1
    images = [body["messages"][0]["content"][1] for body in loop.bodies]
    assert [image["image_url"] is None for image in images] == [False, True, False]
    assert images[0] == images[2] and {image["uuid"] for image in images} == {sheet.key}


def test_a_proxy_is_for_the_outside_only(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy is a server that answers by itself, so that it shows who came."""
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with loopback() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        for address in (loop.url, loop.url.replace("127.0.0.1", "localhost")):
            VLM(address, "loop").complete(pick())
        assert (len(loop.bodies), len(proxy.bodies)) == (2, 0)
        VLM("http://model.example/v1", "loop").complete(pick())
        assert (len(loop.bodies), len(proxy.bodies)) == (2, 1)


def test_a_call_whose_time_is_up_at_the_gate_costs_nothing(loop: Loop) -> None:
    vlm = VLM(loop.url, "loop", dialect="vllm", in_flight=1)
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with limiter_for(vlm.base_url).place():
            is_held.set()
            is_over.wait(PATIENCE_S)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(hold)
        assert is_held.wait(PATIENCE_S)
        with pytest.raises(ModelError, match="before the time was up") as caught:
            vlm.complete(pick(), deadline_s=time.monotonic() + 0.05)
        assert limiter_for(vlm.base_url).inside == 1, "the call gave up before the place came free"
        is_over.set()
    assert (caught.value.usage, loop.bodies, caught.value.transit.sent_bytes) == (Usage(), [], 0)
    assert vlm.complete(pick(), deadline_s=time.monotonic() + 60).usage.calls == 1


def test_a_call_that_nobody_waits_for_leaves_the_gate(loop: Loop) -> None:
    vlm, is_over = VLM(loop.url, "loop", dialect="vllm", in_flight=1), threading.Event()
    with limiter_for(vlm.base_url).place():
        threading.Timer(0.1, is_over.set).start()
        with pytest.raises(ModelError) as caught:
            vlm.complete(pick(), cancel=is_over)
        assert limiter_for(vlm.base_url).inside == 1
    assert (caught.value.usage, loop.bodies) == (Usage(), [])


def test_a_server_that_does_not_read_is_left_when_the_time_is_up() -> None:
    """A little is read again and again, so that no single write takes long."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        is_back, sipped = threading.Event(), [0]

        def sip() -> None:
            connection, _ = listener.accept()
            with connection:
                while not is_back.wait(0.01):
                    sipped[0] += len(connection.recv(4096))

        with ThreadPoolExecutor(1) as pool:
            pool.submit(sip)
            vlm = VLM(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", "slow", dialect="vllm", timeout_s=0.5)
            with pytest.raises(ModelError, match="within 0.5 s"):
                vlm.complete(pick(text="x" * 20_000_000), max_attempts=1)
            is_back.set()
        assert 0 < sipped[0] < 5_000_000


def test_questions_at_once_keep_to_the_gate_and_get_what_they_get_alone(
    world: World, warm: Cache, tmp_path: Path
) -> None:
    questions = [Question(f"What is it that comes {number} times?", ("a circle", "a star")) for number in range(8)]

    def answers(name: str, at_once: int, **settings: Any) -> tuple[list[str], int]:
        cache = Cache(shutil.copytree(warm.directory, tmp_path / name))
        weather = Weather(seed=7, think_s=0.005)
        with loopback() as loop:

            def answer(question: Question) -> str:
                vlm = VLM(loop.under(weather), "loop", dialect="vllm", **settings)
                options: dict[str, Any] = {"workers": 4, "max_depth": 1, "steps": 4, "budget": Budget(calls=20)}
                return ask(world.drawn, question, vlm=vlm, k=4, cell=48, cache=cache, **options).to_json()

            texts = all_of([lambda each=each: answer(each) for each in questions], at_once)
        return texts, weather.most_inside

    alone, _ = answers("alone", 1)
    together, most_inside = answers("together", 8, in_flight=3)
    assert together == alone and len(set(alone)) == 8
    assert most_inside == 3
