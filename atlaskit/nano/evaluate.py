"""Judges nano on worlds it never learned from: end to end, and call by call against its teacher.

`python -m atlaskit.nano.evaluate MODEL --minutes 10 --questions 200` starts a server (or takes an address) and prints a
table. Chance is one in four for questions with choices.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from tqdm import tqdm

from atlaskit.agents import baselines
from atlaskit.agents.budget import Budget
from atlaskit.agents.prompts import DecisionCall, FramesCall, ProbeCall, ReviewCall, StepCall
from atlaskit.agents.schemas import to_action
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.atlasworld.generator import LONGEST_S
from atlaskit.caching.cache import Cache
from atlaskit.evaluation.runner import evaluate
from atlaskit.evaluation.statistics import interval
from atlaskit.models.protocol import CallControl, Model, ModelWrapper, Reply, Request
from atlaskit.models.serving.server import serve
from atlaskit.nano.teacher.goal import goal_of
from atlaskit.nano.teacher.teacher import SETTINGS, Expert
from atlaskit.runs.result import Result

METHODS: dict[str, tuple[Callable[..., Result], dict[str, Any]]] = {
    "video-rlm": (ask, {**SETTINGS, "traversal": "dfs", "budget": Budget(calls=200)}),
    "composite": (baselines.composite, SETTINGS),
    "uniform": (baselines.uniform, {"frames": 64, "size": SETTINGS["cell"]}),
}
"""What is judged: the search, and the same model without navigation."""


@dataclass
class ComparedModel(ModelWrapper):
    """A model beside the teacher: each of its replies is held against what the teacher would have said."""

    world: World
    counts: dict[str, list[float]]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Let the model answer, and compare."""
        began = time.monotonic()
        reply = self.model.complete(request, **control)
        took_s = time.monotonic() - began
        expert, call = Expert(self.world.script), request.facts
        self._note("seconds a call", took_s)
        if isinstance(call, FramesCall):  # which the teacher never answers
            return reply
        meant: Any = request.schema.model_validate(expert.answer(call))
        told: dict[str, float] = {}
        match call:
            case ProbeCall():
                wanted = {ranked.cell for ranked in meant.top}
                named = {ranked.cell for ranked in reply.answer.top}
                if wanted:
                    told["probe recall"] = len(wanted & named) / len(wanted)
            case StepCall():
                does, should = to_action(reply.answer), to_action(meant)
                told["action agrees"] = float(type(does) is type(should))
                told["action is the same"] = float(_essence(does) == _essence(should))
                if hasattr(does, "items"):
                    sights, quest = expert.sights(call.observation), goal_of(call.question.text)
                    for item in does.items:
                        sight = sights[item.cell]
                        is_right = (
                            sight is not None
                            and quest is not None
                            and (quest.wants(sight) or bool(sight.object and quest.asks == "neighbour"))
                        )
                        self._note("false evidence", float(not is_right))
            case ReviewCall():
                told["sufficiency agrees"] = float(reply.answer.conclusion.action == meant.conclusion.action)
            case DecisionCall():
                told["decision agrees"] = float(getattr(reply.answer, "answer", None) == getattr(meant, "answer", None))
        for name, value in told.items():
            self._note(name, value)
        return reply

    def _note(self, name: str, value: float) -> None:
        with self.lock:
            self.counts[name].append(value)


def _essence(action: Any) -> Any:
    return sorted(item.cell for item in action.items) if hasattr(action, "items") else action


def judge(
    vlm: Model,
    duration_s: float,
    questions: int,
    *,
    method: str = "video-rlm",
    first_seed: int = 0,
    in_flight: int = 6,
) -> list[dict[str, Any]]:
    """Ask so many questions about held-out worlds of a length; return a row a question, and last a row of the calls.

    `method` is one of METHODS here. Short worlds are films, encoded and decoded again; those of hours are drawn when
    they are looked at.
    """
    per_world = 10
    worlds = [
        atlasworld(first_seed + number, duration_s, questions=per_world, size=(640, 360), directory="cache/atlasworld")
        for number in range(math.ceil(questions / per_world))
    ]
    counts: dict[str, list[float]] = defaultdict(list)
    is_drawn = duration_s > LONGEST_S
    if not is_drawn:
        for world in tqdm(worlds, desc="films"):
            _ = world.video  # filmed one after another, before they are asked about side by side
    cases = [case for world in worlds for case in world.cases(drawn=is_drawn)][:questions]
    answer, given = METHODS[method]
    table = evaluate(
        cases, answer, vlm=partial(ComparedModel, vlm, counts=counts), parallel=in_flight, cache=Cache(None), **given
    )
    rows = table.to_dict("records")
    return [
        *rows,
        {"calls told": {name: (len(v), statistics.fmean(v), statistics.median(v)) for name, v in counts.items()}},
    ]


def summary(rows: list[dict[str, Any]]) -> dict[str, float | int]:
    """Return what was found as one row: the share of choices that are right with its 95 % interval (a bootstrap over
    worlds, since questions about one world are alike), the temporal IoU of when-questions, and the cost."""
    asked = rows[:-1]
    choices = [row for row in asked if row["category"] != "WHEN"]
    spans = [row["score"] for row in asked if row["category"] == "WHEN"]
    right, low, high = interval([row["score"] for row in choices], [row["video"] for row in choices])
    return {
        "choices": len(choices),
        "right": round(right, 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "whens": len(spans),
        "median tIoU": round(statistics.median(spans), 3) if spans else math.nan,
        "median calls": statistics.median(row["calls"] for row in asked),
        "median tokens": statistics.median(row["tokens"] for row in asked),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return what was found, in lines: by kind of question, all in all, and call by call."""
    *asked, told = rows
    lines = []
    for name in sorted({row["category"] for row in asked}):
        scores = [row["score"] for row in asked if row["category"] == name]
        lines.append(
            f"{name:8} n={len(scores):3d} mean {statistics.fmean(scores):.3f} median {statistics.median(scores):.3f}"
        )
    lines += [f"{name}: {value}" for name, value in summary(rows).items()]
    lines += [f"failed: {row['failure']}" for row in asked if row["stop"] == "failed"]
    lines.append(f"seconds a question: median {statistics.median(row['seconds'] for row in asked):.1f}")
    lines += [f"{name}: n={n} mean {mean:.3f} median {at:.3f}" for name, (n, mean, at) in told["calls told"].items()]
    return "\n".join(lines)


def add_row(path: Path, row: dict[str, Any]) -> None:
    """Add a row to a table; a new one gets its header."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, list(row))
        if is_new:
            rows.writeheader()
        rows.writerow(row)


def main() -> None:
    """Judge a model and print the table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("model", help="a folder, nano, or the address of a server")
    asked.add_argument("--minutes", type=float, default=10.0)
    asked.add_argument("--questions", type=int, default=200)
    asked.add_argument("--method", choices=tuple(METHODS), default="video-rlm")
    asked.add_argument("--first-seed", type=int, default=0, help="of the worlds, ten questions each")
    asked.add_argument("--in-flight", type=int, default=6, help="questions at once")
    asked.add_argument("--csv", type=Path, help="a table to add a row to")
    options = asked.parse_args()
    given = {"method": options.method, "first_seed": options.first_seed, "in_flight": options.in_flight}
    with serve(options.model) as vlm:
        rows = judge(vlm, options.minutes * 60, options.questions, **given)
    print(table(rows))
    if options.csv:
        add_row(options.csv, {"method": options.method, "minutes": options.minutes, **summary(rows)})


if __name__ == "__main__":
    main()
