"""Several engines behind one real vLLM server: `ak.serve(model, data_parallel=2)`."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.asking import ask
from support.invariants import check_books
from support.parallel import wait_until
from support.servers import children, members

from atlaskit.agents.budget import Budget
from atlaskit.agents.schemas import TaskAnswer
from atlaskit.caching.cache import Cache
from atlaskit.models.chat import engines_in, metrics_url, read_metrics
from atlaskit.models.client import VLM
from atlaskit.models.dialect import build_payload
from atlaskit.models.http import Endpoint, parsed
from atlaskit.models.protocol import Message, ModelError, Request, ServerError
from atlaskit.models.serving.server import Server, serve
from atlasworld import World

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("small_and_offline")]

COPIES = 2
BUDGET = Budget(calls=8)


@pytest.fixture(scope="module")
def server(tiny: Path, small_and_offline: None) -> Iterator[Server]:
    server = serve(tiny, data_parallel=COPIES)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def vlm(server: Server) -> VLM:
    return server.start()


def group_of(server: Server) -> int:
    assert server._process is not None
    return children(server._process.supervisor.pid)[0]


def engines(server: Server) -> list[int]:
    """Return the process ids of a server's engines."""
    running = members(group_of(server))
    return [pid for pid in running if b"EngineCore" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def request(text: str) -> Request:
    system = Message("system", ("Say what to look for.",))
    return Request("master", "task", (system, Message("user", (text,))), TaskAnswer, max_tokens=200)


def test_all_engines_answer_and_their_counters_are_summed(server: Server, vlm: VLM, world: World, cache: Cache) -> None:
    assert len(engines(server)) == COPIES
    before = vlm.counters()
    result = ask(world.drawn, world.questions[0], vlm=vlm, cache=cache, cell=64, workers=2, budget=BUDGET)
    assert result.prediction is not None
    check_books(result, BUDGET)
    replies = [vlm.complete(request(f"Number {number}.")) for number in range(8)]
    counted = vlm.counters() - before
    tokens = result.total.tokens + sum(reply.usage.tokens for reply in replies)
    assert counted["prompt_tokens"] + counted["completion_tokens"] == tokens
    page = Endpoint(vlm.base_url).exchange(metrics_url(vlm.base_url))[0].decode()
    assert engines_in(page, vlm.name) == VLM(vlm.base_url).dialect.ranks == COPIES
    for number in range(COPIES):
        own = "\n".join(line for line in page.splitlines() if f'engine="{number}"' in line)
        assert read_metrics(own, vlm.name)["completion_tokens"] > 0


def test_a_reply_does_not_depend_on_the_engine(vlm: VLM) -> None:
    asked = request("Where is the red circle?")
    payload = build_payload(
        asked, vlm.name, replace(vlm.dialect, ranks=1), {"temperature": 0.0, "seed": 0}, (), is_forced=False
    )
    headers = [{**payload.headers, "X-data-parallel-rank": str(number)} for number in range(COPIES)]
    pages = [Endpoint(vlm.base_url).exchange("chat/completions", payload.body, each, 60.0)[0] for each in headers]
    assert len({parsed(page)["choices"][0]["message"]["content"] for page in pages}) == 1


def test_a_dead_engine_ends_the_server(server: Server, vlm: VLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not go on with half of its engines: half of the conversations would fail."""
    monkeypatch.setattr("atlaskit.models.attempts.FIRST_PAUSE_S", 0.05)
    group = group_of(server)
    os.kill(engines(server)[-1], signal.SIGKILL)
    with pytest.raises(ServerError, match="has died"):
        server.wait()
    with pytest.raises(ModelError, match="No model answers") as caught:
        vlm.complete(request("Is anybody there?"))
    assert "\n" not in str(caught.value)
    wait_until(lambda: not members(group))
