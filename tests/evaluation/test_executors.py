"""An evaluation on a cluster of two Ray nodes (two raylets on this machine): the same rows, also when one is lost."""

from __future__ import annotations

import os
import re
import shutil
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pandas as pd
import pytest
from support.paths import TESTS

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.case import Case
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation.runner import OF_THE_RUN, evaluate
from atlaskit.models.cached import reply_key
from atlaskit.models.protocol import CallControl, Reply, Request

SETTINGS = {"cell": 32}


class Logged(ak.Oracle):
    """An oracle that takes its time, and writes down what it was asked."""

    def __init__(self, world: World, log: Path, wait_s: float = 0.0) -> None:
        super().__init__(world, miss=0.2)
        self.log, self.wait_s = log, wait_s

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        time.sleep(self.wait_s)
        reply = super().complete(request, **control)
        with self.log.open("a") as log:
            log.write(f"{reply_key(self, request)} {os.getpid()}\n")
        return reply


def asked(log: Path) -> list[str]:
    return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, ...]:
    folder = tmp_path_factory.mktemp("w")
    worlds = [atlasworld(seed, 300, questions=5, size=(160, 90), directory=folder) for seed in (1, 2)]
    return tuple(case for world in worlds for case in world.cases(drawn=True))


@pytest.fixture(scope="module")
def rows(cases: tuple[Case, ...]) -> pd.DataFrame:
    """What threads find."""
    table = evaluate(cases, vlm=partial(ak.Oracle, miss=0.2), cache=Cache(None), progress=False, **SETTINGS)
    return table.drop(columns=OF_THE_RUN)


def small() -> dict[str, Any]:
    """What a small node is started with. Its agents' ports are named: Ray waits for ports that they choose themselves
    for 15 seconds only (ray-project/ray#65983), which are over on a busy machine before they are up."""
    agents = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    return {"object_store_memory": 80 << 20, "include_dashboard": False, **{name: free_port() for name in agents}}


def tell_raylets_the_port(patch: pytest.MonkeyPatch) -> None:
    """Hand one of the named ports on to the raylet: Ray 2.60 tells it to the agent alone, and so waits all the same."""
    from ray._private import services

    start = services.start_ray_process

    def telling(command: list[str], process_type: str, *arguments: Any, **options: Any) -> Any:
        named = re.search(r"--listen-port=(\d+)", " ".join(map(str, command)))
        if process_type == "raylet" and named:
            command = [*command, f"--dashboard_agent_listen_port={named[1]}"]
        return start(command, process_type, *arguments, **options)

    patch.setattr(services, "start_ray_process", telling)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def head() -> Iterator[Any]:
    """A cluster: the driver's node, which takes no task."""
    import ray
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_agent_register_timeout_ms", "300000")  # of 30 s, for the same reason
        patch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)  # not by the agents: they come late
        tell_raylets_the_port(patch)
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small()})
        made.ours = {}
        ray.init(address=made.address)
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def cluster(head: Any) -> Any:
    """The same with two nodes that take tasks; one that an earlier test lost is added anew."""
    for name in ("one", "two"):
        if head.ours.get(name) not in head.list_all_nodes():
            head.ours[name] = head.add_node(num_cpus=1, node_name=name, **small())
    head.wait_for_nodes()
    return head


def test_two_nodes_give_the_rows_of_threads_and_their_replies_come_home(
    cluster: Any, cases: tuple[Case, ...], rows: pd.DataFrame, tmp_path: Path
) -> None:
    cache, log = Cache(tmp_path / "cache"), tmp_path / "log"
    given: dict[str, Any] = {"progress": False, "cache": cache, **SETTINGS}
    table = evaluate(cases, vlm=partial(Logged, log=log, wait_s=0.02), engine="ray", parallel=4, **given)
    pd.testing.assert_frame_equal(table.drop(columns=OF_THE_RUN), rows)
    assert table["calls_paid"].gt(0).all()
    assert {path.name for path in (tmp_path / "cache/nodes").iterdir()} == {"one", "two"}
    assert len({line.split()[1] for line in log.read_text().splitlines()}) >= 2, "several processes asked"

    asked_before = asked(log)
    replayed = evaluate(cases, vlm=partial(Logged, log=log), replay=True, **given)
    pd.testing.assert_frame_equal(replayed.drop(columns=OF_THE_RUN), rows)
    shutil.rmtree(tmp_path / "cache/nodes")  # other nodes, which know nothing
    again = evaluate(cases, vlm=partial(Logged, log=log), engine="ray", **given)
    pd.testing.assert_frame_equal(again.drop(columns=OF_THE_RUN), rows)
    assert again["calls_paid"].sum() == 0 and asked(log) == asked_before


def test_the_loss_of_a_node_costs_no_row_and_no_reply_that_had_come(
    cluster: Any, cases: tuple[Case, ...], rows: pd.DataFrame, tmp_path: Path
) -> None:
    log, found = tmp_path / "log", list[pd.DataFrame]()
    vlm, cache = partial(Logged, log=log, wait_s=0.1), Cache(tmp_path / "cache")

    def run() -> None:
        found.append(evaluate(cases, vlm=vlm, engine="ray", parallel=4, cache=cache, progress=False, **SETTINGS))

    running = threading.Thread(target=run)
    running.start()
    until_s = time.monotonic() + 120
    while {path.name for path in (tmp_path / "cache/nodes").glob("*")} != {"one", "two"} or len(asked(log)) < 12:
        assert running.is_alive() and time.monotonic() < until_s
        time.sleep(0.02)
    cluster.remove_node(cluster.ours["two"], allow_graceful=False)
    running.join(240)
    assert not running.is_alive()
    pd.testing.assert_frame_equal(found[0].drop(columns=OF_THE_RUN), rows)
    twice = sum(count - 1 for count in Counter(asked(log)).values())
    assert twice <= 2 * 5, "of each of two questions at most what was under way: a call a worker, and the next probe"


def test_what_cannot_be_asked_there_is_one_sentence(cases: tuple[Case, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"vlm": ak.Oracle, "progress": False}
    with pytest.raises(InputError, match="An engine is local or ray"):
        evaluate(cases, engine="dask", **given)
    with pytest.raises(InputError, match="must be on disk"):
        evaluate(cases, engine="ray", cache=Cache(None), **given)
    with pytest.raises(InputError, match="has no setting 'frame'; it has frames, size"):
        evaluate(cases, "uniform", frame=3, **given)
    with pytest.raises(InputError, match="composite has no setting 'max_depth'"):
        evaluate(cases, "composite", max_depth=3, **given)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InputError, match="needs Ray: pip install"):
        evaluate(cases, engine="ray", **given)


def test_a_way_to_a_model_can_be_sent_to_another_machine() -> None:
    import pickle

    vlm = ak.VLM("http://127.0.0.1:9/v1", "m", temperature=0.5, seed=3, timeout_s=7, dialect="vllm")
    there = pickle.loads(pickle.dumps(vlm))
    assert (there.base_url, there.name, there.parameters) == (vlm.base_url, vlm.name, vlm.parameters)
    assert there._timeout_s == 7 and there.dialect.name == "vllm"
