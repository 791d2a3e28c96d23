"""Judges nano on worlds it never learned from: end to end, and call by call against its teacher.

`python -m atlaskit.nano.judge MODEL --minutes 10 --questions 200` starts a server (or takes an address) and prints a
table. Chance is one in four for questions with choices.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.atlasworld.screenplay import LONGEST_S
from atlaskit.budget import Budget
from atlaskit.cache import Cache
from atlaskit.model import MAX_ATTEMPTS, Model, Reply, Request
from atlaskit.nano.expert import SETTINGS, Expert
from atlaskit.nano.quest import quest_of
from atlaskit.prompts import DecisionCall, ProbeCall, ReviewCall, StepCall
from atlaskit.question import Question
from atlaskit.schemas import to_action
from atlaskit.search import ask
from atlaskit.serve import serve
from atlaskit.video import Video


@dataclass
class Compared:
    """A model beside the teacher: each of its replies is held against what the teacher would have said."""

    model: Model
    world: World
    counts: dict[str, list[float]]
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's own."""
        return self.model.parameters

    def complete(self, request: Request, *, max_attempts: int = MAX_ATTEMPTS) -> Reply:
        """Let the model answer, and compare."""
        began = time.monotonic()
        reply = self.model.complete(request, max_attempts=max_attempts)
        took_s = time.monotonic() - began
        expert, call = Expert(self.world.script), request.facts
        meant: Any = request.schema.model_validate(expert.answer(call))
        told: dict[str, float] = {"seconds": took_s}
        match call:
            case ProbeCall():
                wanted = {ranked.cell for ranked in meant.top if ranked.score > 0.1}
                named = {ranked.cell for ranked in reply.answer.top}
                if wanted:
                    told["probe recall"] = len(wanted & named) / len(wanted)
            case StepCall():
                does, should = to_action(reply.answer), to_action(meant)
                told["action agrees"] = float(type(does) is type(should))
                told["action is the same"] = float(_essence(does) == _essence(should))
                if hasattr(does, "items"):
                    sights, quest = expert.sights(call.observation), quest_of(call.question.text)
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
    vlm: Model, duration_s: float, questions: int, *, first_seed: int = 0, in_flight: int = 6, **settings: Any
) -> list[dict[str, Any]]:
    """Ask so many questions about held-out worlds of a length; return a row a question, and last a row of the calls.

    Short worlds are films, encoded and decoded again; those of hours are drawn when they are looked at.
    """
    per_world = 10
    worlds = [
        atlasworld(first_seed + number, duration_s, questions=per_world, size=(640, 360), directory="cache/atlasworld")
        for number in range(math.ceil(questions / per_world))
    ]
    counts: dict[str, list[float]] = defaultdict(list)
    cache = Cache(None)
    is_short = duration_s <= LONGEST_S
    videos = [world.video if is_short else world.drawn for world in tqdm(worlds, desc="worlds")]
    played = zip(worlds, videos, strict=True)
    jobs = [(world, video, question) for world, video in played for question in world.questions][:questions]

    def one(job: tuple[World, Video, Question]) -> dict[str, Any]:
        world, video, question = job
        compared, began = Compared(vlm, world, counts), time.monotonic()
        given = {**SETTINGS, "traversal": "dfs", "budget": Budget(calls=200), **settings}
        result = ask(video, question, vlm=compared, cache=cache, **given)
        return {
            "id": question.id,
            "category": question.category,
            "score": 0.0 if result.prediction is None else question.score(result.prediction),
            "calls": result.total.calls,
            "tokens": result.total.prompt_tokens + result.total.completion_tokens,
            "stop": result.stop,
            "seconds": time.monotonic() - began,
        }

    with ThreadPoolExecutor(in_flight) as pool:
        rows = list(tqdm(pool.map(one, jobs), total=len(jobs), unit="question"))
    return [
        *rows,
        {"calls told": {name: (len(v), statistics.fmean(v), statistics.median(v)) for name, v in counts.items()}},
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """Return what was found, as a table."""
    *asked, told = rows
    lines = []
    choices = [row for row in asked if row["category"] != "WHEN"]
    for name in sorted({row["category"] for row in asked}):
        scores = [row["score"] for row in asked if row["category"] == name]
        lines.append(
            f"{name:8} n={len(scores):3d} mean {statistics.fmean(scores):.3f} median {statistics.median(scores):.3f}"
        )
    if choices:
        right = statistics.fmean(row["score"] for row in choices)
        lines.append(
            f"choice   n={len(choices):3d} {right:.3f} ± {1.96 * math.sqrt(right * (1 - right) / len(choices)):.3f}"
        )
    for name in ("calls", "tokens", "seconds"):
        lines.append(f"{name} a question: median {statistics.median(row[name] for row in asked):.1f}")
    for name, (n, mean, median) in told["calls told"].items():
        lines.append(f"{name}: n={n} mean {mean:.3f} median {median:.3f}")
    return "\n".join(lines)


def main() -> None:
    """Judge a model and print the table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("model", help="a folder, nano, or the address of a server")
    asked.add_argument("--minutes", type=float, default=10.0)
    asked.add_argument("--questions", type=int, default=200)
    asked.add_argument("--depth", default="auto")
    asked.add_argument("--out", default="")
    options = asked.parse_args()
    depth = options.depth if options.depth == "auto" else int(options.depth)
    with serve(options.model) as vlm:
        rows = judge(vlm, options.minutes * 60, options.questions, max_depth=depth)
    print(table(rows))
    if options.out:
        Path(options.out).write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
