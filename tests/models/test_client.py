"""Promises 9 and 10: a call is retried, corrected once, counted and priced, and ends in time.

A server that stalls, floods or resets ends in one error, and never after its time-out.
"""

import gzip
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import ask
from support.faults import (
    CHUNKED,
    Fault,
    completion,
    failing,
    finishing,
    fitting_answer,
    hanging_up,
    resetting,
    saying,
    sending_bytes,
    staying_silent,
    with_broken_json,
    without_choices,
    without_end,
)
from support.loopback import Loop
from support.parallel import run_all, wait_until
from support.stand_ins import request

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.models.attempts import slots_of
from atlaskit.models.chat import engines_in, read_metrics
from atlaskit.models.client import VLM
from atlaskit.models.prices import Prices, read_prices
from atlaskit.models.protocol import BadReply, ModelError, Unreachable, Usage, now_s
from atlasworld import World


@pytest.fixture(autouse=True)
def _less_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server give up soon, so that a test that fails does so soon."""
    monkeypatch.setattr("support.faults.PATIENCE_S", 3.0)


def test_an_answer_is_validated_and_counted(loop: Loop) -> None:
    reply = VLM(loop.url).complete(request())
    assert reply.usage == Usage(calls=1, prompt_tokens=100, cached_tokens=64, image_tokens=40, completion_tokens=10)
    assert (reply.usage.tokens, reply.usage.effective_tokens) == (110, 46)
    (body,) = loop.bodies
    assert body["model"] == "loop" and body["temperature"] == 0 and body["seed"] == 0
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"]["properties"]["cell"]["enum"] == [3, 5]


PASSING: dict[str, Fault] = {
    "500": failing(500),
    "hang-up": hanging_up,
    "reset": resetting,
    "an error in the middle": finishing("error", '{"thought":"t","'),
    "no choices": without_choices,
    "half a body": with_broken_json,
}


@pytest.mark.parametrize("name", PASSING)
def test_a_failure_that_may_pass_is_retried_as_it_was_sent_and_counted(loop: Loop, name: str) -> None:
    """The endpoint failed and not the model: no correction is sent."""
    loop.faults = [PASSING[name]] * 2
    assert VLM(loop.url, "loop").complete(request()).usage.calls == 3
    assert loop.bodies[0] == loop.bodies[1] == loop.bodies[2]
    loop.faults = [PASSING[name]] * 9
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop").complete(request(), max_attempts=3)
    assert caught.value.usage.calls == 3 and len(loop.faults) == 6
    assert "\n" not in str(caught.value) and not isinstance(caught.value, Unreachable)


def test_no_retry_is_made_past_the_deadline(loop: Loop) -> None:
    loop.faults = [failing(500, Retry_After="60")] * 4
    with pytest.raises(ModelError) as caught:
        VLM(loop.url, "loop").complete(request(), deadline_s=now_s() + 30)
    assert caught.value.usage.calls == 1  # the requested pause of a minute does not fit


MISFITS: dict[str, tuple[Fault, str]] = {
    "prose": (saying("I would pick cell 3."), "no JSON object"),
    "an invisible cell": (saying('{"thought":"","cell":4}'), "3 or 5"),
    "half a JSON": (finishing("length", '{"thought":"","ce'), "cut off after 10 tokens"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_misfit_is_corrected_once_in_the_same_conversation(loop: Loop, name: str) -> None:
    fault, complaint = MISFITS[name]
    loop.faults = [fault]
    reply = VLM(loop.url, "loop").complete(request())
    assert reply.answer.cell in (3, 5) and reply.usage.calls == 2 and reply.usage.completion_tokens == 20
    first, second = (body["messages"] for body in loop.bodies)
    assert second[: len(first)] == first and second[-1]["content"].startswith("That does not fit the schema")
    assert complaint in second[-1]["content"]
    loop.faults = [fault] * 2
    with pytest.raises(BadReply, match="does not fit the schema|no whole answer") as caught:
        VLM(loop.url, "loop").complete(request())
    assert (caught.value.usage.calls, caught.value.usage.completion_tokens) == (2, 20)


@pytest.mark.usefixtures("short_pauses")
def test_a_dead_endpoint_is_one_line_that_says_how_to_get_a_model() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        for ask in (lambda: VLM(url), lambda: VLM(url, "x").complete(request())):
            with pytest.raises(Unreachable, match="python -m atlaskit serve") as caught:
                ask()
            assert url in str(caught.value) and "\n" not in str(caught.value)


ANSWER = json.dumps(completion('{"thought":"","cell":3}')).encode()
ENDLESS: dict[str, Fault] = {
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
    "a bomb": (gzip.compress(b" " * 50_000_000), "gzip", "sent an answer that is too long"),
    "nonsense": (b"nonsense", "gzip", "sent a damaged answer"),
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


def test_a_time_out_names_its_option(loop: Loop) -> None:
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


PAGE = """# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
vllm:prompt_tokens_total{engine="0",model_name="a b"} 100.0
vllm:prompt_tokens_total{engine="1",model_name="a b"} 23.0
vllm:prompt_tokens_total{engine="0",model_name="other"} 9000.0
vllm:prefix_cache_queries_total{engine="0",model_name="a b"} 1.23e+02
vllm:prefix_cache_hits_total{engine="0",model_name="a b"} 41.0
vllm:mm_cache_queries_total{engine="0",model_name="a b"} 4.0
vllm:mm_cache_hits_total{engine="0",model_name="a b"} 3.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="a b"} 5.0
vllm:request_success_total{engine="1",finished_reason="length",model_name="a b"} 2.0
"""


def test_the_engines_of_a_model_are_counted_and_their_counters_summed() -> None:
    metrics = read_metrics(PAGE, "a b")
    names = ("prompt_tokens", "completion_tokens", "prefix_queries", "prefix_hits", "image_queries", "image_hits")
    assert [metrics[name] for name in (*names, "requests")] == [123, 0, 123, 41, 4, 3, 7]
    odd = PAGE.replace('"a b"', r'"a \"b\" \\ c"')
    assert read_metrics(odd, 'a "b" \\ c')["prompt_tokens"] == 123
    assert [engines_in(page, "a b") for page in (PAGE, "", PAGE.replace('engine="0"', 'engine="3"'))] == [2, 1, 1], (
        "only if a request can name each of them: their numbers begin with 0"
    )


SMALL: dict[str, Any] = {"cell": 48, "k": 4, "budget": Budget(calls=30)}


def test_the_calls_add_up_to_the_usage_of_a_run(world: World, cache: Cache, loop: Loop) -> None:
    loop.faults = [failing(503), saying("nonsense"), failing(500)]
    result = ask(world.drawn, "What?", ["a", "b"], vlm=VLM(loop.url), cache=cache, **SMALL)
    again = ask(world.drawn, "What?", ["a", "b"], vlm=VLM(loop.url), cache=cache, **SMALL)
    for role, usage in result.usage.items():
        assert usage == sum((call.usage for call in result.calls if call.role == role), Usage())
    assert sum(call.retries for call in result.calls) == 3
    assert {call.step for call in result.calls} >= {"task", "probe", "step", "decision"}
    assert sum(call.usage.calls for call in result.calls) == len(loop.bodies)
    for call in result.calls:
        assert call.wall_s >= call.queue_s >= 0 and call.sent_bytes > 100
        assert all(view.partition(":")[0] in ("view", "sheet", "still") for view in call.views)
        assert call.effective_tokens == call.prompt_tokens - call.cached_tokens + call.completion_tokens
    assert pd.DataFrame(result.calls).to_dict("records") == [vars(call) for call in result.calls]

    assert Counter(call.usage for call in again.calls) == Counter(call.usage for call in result.calls)
    assert not any(call.live for call in again.calls)
    assert sum(call.wall_s for call in again.calls) == 0


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1), st.floats(0, 100), st.floats(0, 1), st.floats(0, 100))
def test_a_cost_is_never_negative_and_adds_up(
    tokens: int, cached: float, image: float, price: float, discount: float, more: float
) -> None:
    counts = {"cached_tokens": round(cached * tokens), "image_tokens": round(image * tokens)}
    usage = Usage(prompt_tokens=tokens, completion_tokens=tokens, **counts)
    prices = Prices(prompt=price, cached=price * discount, completion=more, image=price - price * discount + more)
    assert prices.usd(usage) >= 0
    assert prices.usd(usage + usage) == pytest.approx(2 * prices.usd(usage))


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(prompt_tokens=1_000_000, cached_tokens=400_000, image_tokens=200_000, completion_tokens=10_000)
    assert Prices(prompt=2, completion=10).usd(usage) == pytest.approx(2.1)
    assert Prices(prompt=2, cached=0.5, completion=10).usd(usage) == pytest.approx(2.1 - 0.4 * 1.5)
    assert Prices(prompt=2, cached=2, completion=10, image=4).usd(usage) == pytest.approx(2.1 + 0.2 * 2)
    assert read_prices("prompt=0.5, cached=0.05,completion=3") == Prices(prompt=0.5, cached=0.05, completion=3)
