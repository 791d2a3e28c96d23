"""Promise: a cluster of two Ray nodes gives the rows of threads, also if a node is lost."""

import os
import pickle
import re
import shutil
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pandas as pd
import pytest
from support.asking import OF_THE_RUN, evaluate
from support.paths import TESTS

import atlaskit as ak
import atlasworld as aw
from atlaskit.benchmarks.case import Case
from atlaskit.errors import InputError
from atlaskit.models.cached import reply_key
from atlaskit.models.protocol import CallControl, Reply, Request


class Logged(aw.Oracle):
    """An oracle with a latency that logs the key and the process of every request.

    It answers once two processes have asked, so that neither is done before the other begins.
    """

    def __init__(self, world: aw.World, log: Path, wait_s: float) -> None:
        super().__init__(world, miss=0.2)
        self.log, self.wait_s = log, wait_s

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        (self.log.parent / f"{os.getpid()}.asked").touch()
        deadline_s = time.monotonic() + 240
        while len(list(self.log.parent.glob("*.asked"))) < 2:
            assert time.monotonic() < deadline_s, "only one process asks"
            time.sleep(0.02)
        time.sleep(self.wait_s)
        reply = super().complete(request, **control)
        with self.log.open("a") as log:
            log.write(f"{reply_key(self, request)}\n")
        return reply


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, ...]:
    folder = tmp_path_factory.mktemp("w")
    worlds = [aw.world(seed, 120, questions=3, size=(160, 90), directory=folder) for seed in (1, 2)]
    return tuple(case for world in worlds for case in world.cases(drawn=True))


def small_node() -> dict[str, Any]:
    """Return the options of a small node, with ports for its agents.

    Ray waits only 15 seconds for ports that agents choose themselves (ray-project/ray#65983).
    """
    ports = dict[str, int]()
    for name in ("metrics_agent", "metrics_export", "dashboard_agent_listen", "runtime_env_agent"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports[f"{name}_port"] = free.getsockname()[1]
    return {"object_store_memory": 80 << 20, "include_dashboard": False, **ports}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of the driver's node, which runs no task, and of two nodes that do."""
    import ray
    from ray._private import services
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # instead of 15, which starves them beside other tests
    monkeypatch.setenv("RAY_agent_register_timeout_ms", "300000")  # instead of 30 s, for the same reason
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)  # read by workers; agents start too late for it
    start = services.start_ray_process

    def start_with_port(command: list[str], process_type: str, *arguments: Any, **options: Any) -> Any:
        """Pass the port on to the raylet too; Ray 2.60 passes it to the agent alone."""
        port = re.search(r"--listen-port=(\d+)", " ".join(map(str, command)))
        if process_type == "raylet" and port:
            command = [*command, f"--dashboard_agent_listen_port={port[1]}"]
        return start(command, process_type, *arguments, **options)

    monkeypatch.setattr(services, "start_ray_process", start_with_port)
    # Without the processes that start further nodes, and print the log of workers here.
    head = {"num_cpus": 0, "no_monitor": True, "include_log_monitor": False, **small_node()}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=cluster.address)
    cluster.ours = {name: cluster.add_node(num_cpus=1, node_name=name, **small_node()) for name in ("one", "two")}
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.long
def test_two_nodes_give_the_rows_of_threads_also_if_one_is_lost(
    cluster: Any, cases: tuple[Case, ...], tmp_path: Path
) -> None:
    """No reply that arrived is lost; those of the node that stays are returned to the driver."""
    rows = evaluate(cases, vlm=partial(aw.Oracle, miss=0.2), cache=ak.Cache(None), progress=False, cell=32)
    rows = rows.drop(columns=OF_THE_RUN)
    log = tmp_path / "log"
    cache = ak.Cache(tmp_path / "cache")
    vlm = partial(Logged, log=log, wait_s=0.5)
    run = partial(evaluate, vlm=vlm, engine="ray", parallel=4, progress=False, cell=32)

    def requested() -> list[str]:
        return log.read_text().splitlines() if log.exists() else []

    with ThreadPoolExecutor() as pool:
        table = pool.submit(run, cases, cache=cache)
        deadline_s = time.monotonic() + 240
        while len(requested()) < 12:
            assert not table.done() and time.monotonic() < deadline_s
            time.sleep(0.02)
        assert {path.name for path in (tmp_path / "cache/nodes").iterdir()} == {"one", "two"}
        cluster.remove_node(cluster.ours["two"], allow_graceful=False)
        pd.testing.assert_frame_equal(table.result(240).drop(columns=OF_THE_RUN), rows)
    repeated = sum(count - 1 for count in Counter(requested()).values())
    assert repeated <= 2 * 5, "for each of two questions, at most the calls in flight: one a worker, and the next probe"

    before = requested()
    shutil.rmtree(tmp_path / "cache/nodes")  # as on other nodes, whose caches are empty
    again = run(cases, cache=cache)
    pd.testing.assert_frame_equal(again.drop(columns=OF_THE_RUN), rows)
    assert again["calls_paid"].sum() == 0 and requested() == before

    anew = run(cases[:1], cache=cache.refreshing())
    assert anew["calls_paid"].sum() == anew["calls"].sum() == len(requested()) - len(before) > 0


def test_without_ray_the_error_says_what_to_install(cases: tuple[Case, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="needs ray, .* -m pip install 'ray>=2.40'"):
        evaluate(cases, vlm=aw.Oracle, engine="ray", progress=False)


def test_a_client_can_be_pickled_and_asks_nothing_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("a connection was opened"))
    told: dict[str, Any] = {"max_tokens": 9, "thinking": True, "extra_body": {"top_k": 1}}
    vlm = ak.VLM("http://127.0.0.1:9/v1", "m", temperature=0.5, seed=3, timeout_s=7, dialect="vllm", **told)
    restored = pickle.loads(pickle.dumps(vlm))
    for name in ("base_url", "name", "parameters", "dialect", "max_tokens", "_thinking", "_extra_body"):
        assert getattr(restored, name) == getattr(vlm, name), name
    assert restored._line.settings == vlm._line.settings, "the key, the headers and the limits, timeout_s among them"
