"""A real vLLM server on this machine's CPU, with a tiny untrained model: `make test-server`."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.asking import ask
from support.datasets import make_longvideobench, write_json
from support.invariants import check_books, check_counters, check_grounded
from support.model_doubles import Counting
from support.paths import ROOT
from support.servers import children, members

import atlasworld as aw
from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.evaluation import tables
from atlaskit.models.client import VLM
from atlaskit.models.names import Preset
from atlaskit.models.protocol import ParametricSchema, Request, ServerError
from atlaskit.models.serving.server import serve
from atlaskit.models.serving.supervisor import requests_of
from atlaskit.runs.result import Result
from atlaskit.viz.widgets import RunTable
from atlasworld import Oracle, World
from atlasworld.questions import WRITERS

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("small_and_offline")]

BUDGET = Budget(calls=12)


PAGE = ROOT / "docs" / "benchmark-on-one-gpu.md"
MODEL = "Qwen/Qwen3-VL-8B-Instruct"


def commands(model: str, calls: int) -> list[str]:
    """Return the page's blocks of shell that are run, with another model and few calls."""
    text = re.sub(r"<!-- not run: [^>]*-->\n```sh\n.*?```\n", "", PAGE.read_text(), flags=re.DOTALL)
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 6
    smaller = {
        f"--model {MODEL}": f"--model {model} --calls {calls}",
        f"MODEL={MODEL}": f'MODEL="{model}"',
        "FIRST=30": "FIRST=1",
        "--estimate 5": "--estimate 1",
    }
    for words, fewer in smaller.items():
        assert any(words in block for block in blocks)
        blocks = [block.replace(words, fewer) for block in blocks]
    return blocks


def packed_dataset(home: Path, clip: Path) -> None:
    """Make a folder as the hub gives it: rows, and two archives, one of them in two parts."""
    make_longvideobench(home, clip)
    rows = json.loads((home / "lvb_val.json").read_text())
    write_json(home / "lvb_val.json", [{**row, "duration_group": 3600} for row in rows])
    (home / "subtitles").mkdir()
    for folder in ("videos", "subtitles"):
        with tarfile.open(home / f"{folder}.tar", "w") as tar:
            tar.add(home / folder, folder)
        shutil.rmtree(home / folder)
    whole = (home / "videos.tar").read_bytes()
    (home / "videos.tar").unlink()
    (home / "videos.tar.part.aa").write_bytes(whole[:9999])
    (home / "videos.tar.part.ab").write_bytes(whole[9999:])


def run_page(home: Path, model: str, calls: int) -> None:
    """Run the page's commands in a folder, with the model at an address."""
    kit = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{kit}:{os.environ['PATH']}", "ATLASKIT_CACHE": str(home / "cache")}
    for block in commands(model, calls):
        if block.startswith("make paper"):  # what the target runs
            given = block.removeprefix("make paper").strip()
            printed = subprocess.run(f"make -n -C {ROOT} paper {given}", shell=True, capture_output=True, text=True)
            words = re.search(r"atlaskit paper (.*)", printed.stdout)
            assert words, printed.stderr
            block = f"atlaskit paper {words[1]} --hours 0.1 --calls {calls}"
        line = ["bash", "-ec", block]
        done = subprocess.run(line, env=env, cwd=home, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (block, done.stderr[-2000:])


@pytest.fixture(scope="module")
def vlm(tiny: Path, small_and_offline: None) -> Iterator[VLM]:
    server = serve(tiny)
    with server as vlm:
        assert server._process is not None
        (group,) = children(server._process.supervisor.pid)
        yield vlm
    assert members(group) == [], "the end of a with block ends all processes"


def run(world: World, question: Question, vlm: VLM, cache: Cache, **options: object) -> Result:
    given = {"cell": 64, "budget": BUDGET, "workers": 2, **options}
    return ask(world.drawn, question, vlm=vlm, cache=cache, **given)  # type: ignore[arg-type]


def test_a_run_agrees_with_the_servers_counters(vlm: VLM, world: World, cache: Cache) -> None:
    """Every reply fits its schema, no action is illegal, usage equals the count of the server."""
    before = vlm.counters()
    result = run(world, world.questions[0], vlm, cache)
    server = vlm.counters() - before
    assert vlm.server()["dialect"] == "vllm" and vlm.server()["version"][0].isdigit()
    assert result.prediction is not None and result.total.calls > 6
    check_grounded(result)
    check_books(result, BUDGET)
    steps = result.trace.of("step")
    assert len(steps) > 3 and not any(event.problem for event in steps)
    assert result.trace.of("failure") == () and all(call.retries == 0 for call in result.calls)

    total = result.total
    check_counters(result, server)
    assert requests_of(vlm.base_url)[1] == vlm.counters()["requests"], "an idle server is known by it"
    assert server["prefix_hits"] > 0
    assert 0 < total.image_tokens < total.prompt_tokens and not total.estimated
    assert all(call.wall_s > 0 and call.sent_bytes > 0 for call in result.calls)

    again = run(world, world.questions[0], vlm, cache)
    assert again.to_json() == result.to_json() and again.spent.calls == 0
    assert vlm.counters()["prompt_tokens"] == before["prompt_tokens"] + server["prompt_tokens"]


def shape_of(request: Request) -> type:
    return request.schema.shape if isinstance(request.schema, ParametricSchema) else request.schema


@pytest.mark.parametrize("is_unforced", [False, True])
def test_the_servers_grammar_enforces_every_schema(
    vlm: VLM, tmp_path: Path, is_unforced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call of each kind of question, also with the tokens left to the model, as for nano."""
    monkeypatch.setattr("atlaskit.models.client.preset_named", lambda name: Preset(no_forcing=is_unforced))
    vlm = VLM(vlm.base_url, vlm.name)  # it reads its preset once
    world = aw.world(3, 600, questions=33, categories=tuple(WRITERS), size=(128, 72), directory=tmp_path)
    questions = {question.kind: question for question in world.questions}
    calls: dict[tuple[str, ...], Request] = {}
    for question in questions.values():
        for traversal, depth in product(("dfs", "bfs"), ("auto", 0)):
            oracle = Counting(Oracle(world, 0.3))
            options: Any = {"k": 4, "cell": 32, "traversal": traversal, "max_depth": depth, "max_rounds": 2}
            ask(world.drawn, question, vlm=oracle, cache=Cache(tmp_path / "cache"), **options)
            for request in oracle.requests:
                variant = traversal if request.step == "step" else ""  # it changes only a worker's actions
                calls.setdefault((request.step, variant, shape_of(request).__name__, question.kind), request)
    assert len(questions) == 5 and {step for step, *_ in calls} == {"task", "probe", "step", "review", "decision"}
    for key, request in calls.items():
        reply = vlm.complete(request, max_attempts=1)
        assert isinstance(reply.answer, shape_of(request)), key


def test_the_commands_of_the_benchmark_page_run_in_their_order(vlm: VLM, in_tmp: Path, film_file: Path) -> None:
    """From packed archives to tables, cards and the page of results."""
    packed_dataset(in_tmp / "data" / "LongVideoBench", film_file)
    run_page(in_tmp, f"{vlm.base_url} {vlm.name}", calls=6)
    assert "asked questions: 2" in (in_tmp / "figures" / "lvb.csv.txt").read_text()
    rows = tables.load(in_tmp / "figures" / "lvb.csv")
    assert len(rows) == 2 and rows["calls"].between(1, 6).all() and (rows["failure"] == "").all()
    assert len(RunTable(in_tmp / "figures" / "lvb.csv").rows) == 2, "the page of `atlaskit browse`"
    assert (in_tmp / "figures" / "paper" / "table-2-longvideobench-10hr.csv").is_file()


def test_the_error_of_a_failed_start_has_vllms_reason(tiny: Path) -> None:
    with pytest.raises(ServerError, match="max_model_len") as caught:
        serve(tiny, arguments=["--max-model-len", "99999999"]).start()
    assert "\n" not in str(caught.value) and "server.log" in str(caught.value)
