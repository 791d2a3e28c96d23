"""Evaluates nano on held-out worlds through a real server.

The report scores nano's answers, and compares its reply to each call with the teacher's reply.

`python -m nano.evaluate MODEL --minutes 10 --questions 200` starts a server, or uses the one whose
address is given, and prints the report. Chance is 25 % for questions with choices. The worlds have
selection seeds; `--seeds test` measures a release.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from tqdm import tqdm

import atlasworld as aw
from atlaskit.agents.budget import Budget
from atlaskit.agents.prompts import DecisionCall, ProbeCall, ReviewCall, StepCall
from atlaskit.agents.replies import StepReply, read
from atlaskit.agents.schemas import to_action
from atlaskit.agents.search import ask
from atlaskit.agents.settings import Search
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Action, AddToScratchpad
from atlaskit.evaluation import baselines
from atlaskit.evaluation.intervals import interval
from atlaskit.evaluation.runner import evaluate
from atlaskit.methods.baselines import FramesCall
from atlaskit.models.protocol import CallControl, Model, ModelWrapper, Reply, Request
from atlaskit.models.serving.server import as_model, copies_for, serve
from atlaskit.runs.result import Result
from atlasworld import World
from atlasworld.generator import LONGEST_S
from atlasworld.ranges import RANGES, seeds
from nano.teacher.goal import goal_of
from nano.teacher.teacher import SETTINGS, Expert

METHODS: dict[str, tuple[Callable[..., Result], dict[str, Any]]] = {
    "video-rlm": (
        ask,
        {"search": Search(traversal="dfs", **SETTINGS), "budget": Budget(calls=200)},
    ),
    "composite": (baselines.composite, {"search": Search(**SETTINGS)}),
    "uniform": (
        baselines.uniform,
        {"frames": 64, "size": SETTINGS["cell"], "fit": SETTINGS["fit"]},
    ),
}
"""The methods that can be evaluated, with their settings: the search, and two baselines that use
the same model."""
QUESTIONS_PER_WORLD = 10


@dataclass(frozen=True)
class NanoEvaluation:
    """The result of an evaluation.

    Attributes:
        rows: One row per question, with the columns of `atlaskit.evaluate`'s table.
        calls: For each measure of a call, its values in all calls.
    """

    rows: list[dict[str, Any]]
    calls: dict[str, list[float]]


@dataclass
class ComparedModel(ModelWrapper):
    """A model whose replies are compared with the teacher's.

    Attributes:
        world: World of the questions.
        measures: Receives the values of each measure.
        lock: Guards `measures`, since questions are asked in parallel.
    """

    world: World
    measures: dict[str, list[float]]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the model's reply after comparing it with the teacher's."""
        began_s = time.monotonic()
        reply = self.model.complete(request, **control)
        values = [("seconds per call", time.monotonic() - began_s)]
        if not isinstance(request.facts, FramesCall):  # the teacher does not answer such calls
            values += compare(request, reply, Expert(self.world.script))
        with self.lock:
            for measure, value in values:
                self.measures[measure].append(value)
        return reply


def compare(request: Request, reply: Reply, teacher: Expert) -> Iterator[tuple[str, float]]:
    """Yield measures, each from 0 to 1, of how far a reply agrees with the teacher's reply."""
    call: Any = request.facts
    answer: Any = reply.answer
    expected: Any = request.schema.model_validate(teacher.answer(call))
    match call:
        case ProbeCall():
            expected_cells = {ranked.cell for ranked in expected.top}
            cells = {ranked.cell for ranked in answer.top}
            if expected_cells:
                yield "probe recall", len(cells & expected_cells) / len(expected_cells)
        case StepCall():
            action = to_action(read(StepReply, answer).action)
            expected_action = to_action(read(StepReply, expected).action)
            is_same = _without_wording(action) == _without_wording(expected_action)
            yield "same action type", float(type(action) is type(expected_action))
            yield "same action", float(is_same)
            if isinstance(action, AddToScratchpad):
                yield from _compare_evidence(action, call, teacher)
        case ReviewCall():
            yield "same sufficiency", float(answer.conclusion.action == expected.conclusion.action)
        case DecisionCall():
            # The decision on a when-question has an interval and no attribute `answer`.
            is_same = getattr(answer, "answer", None) == getattr(expected, "answer", None)
            yield "same decision", float(is_same)


def _compare_evidence(
    action: AddToScratchpad, call: StepCall, teacher: Expert
) -> Iterator[tuple[str, float]]:
    """Yield 1 for each new item whose frame shows nothing that the question looks for, else 0."""
    contents = teacher.contents(call.observation)
    goal = goal_of(call.question)
    for item in action.items:
        content = contents[item.cell]
        is_right = content is not None and (
            goal.matches(content) or bool(content.object and goal.type == "neighbour")
        )
        yield "false evidence", float(not is_right)


def _without_wording(action: Action) -> Any:
    """Return what identifies an action: new evidence by its cells, whatever their descriptions."""
    if isinstance(action, AddToScratchpad):
        return sorted(item.cell for item in action.items)
    return action


def evaluate_nano(
    vlm: Model | str,
    duration_s: float,
    questions: int,
    *,
    method: str = "video-rlm",
    seed_range: str = "selection",
    first_world: int = 0,
    in_flight: int = 6,
    drawn: bool = False,
) -> NanoEvaluation:
    """Ask questions about held-out worlds.

    Worlds up to the length of one clip are encoded to files and decoded again; longer worlds are
    rendered frame by frame on demand.

    Args:
        vlm: The model, the address of its server, or its name: see `ask`.
        duration_s: Length of each world in seconds.
        questions: Number of questions, `QUESTIONS_PER_WORLD` about each world.
        method: One of `METHODS`.
        seed_range: Name of the range of the worlds' seeds: see `atlasworld.ranges.seeds`.
        first_world: Number of the first world in the range, from 0. With it, several servers can
            each evaluate a part of the range.
        in_flight: Number of questions that are asked at the same time.
        drawn: Whether the frames of short worlds are rendered on demand too, so that no video is
            encoded.
    """
    vlm = as_model(vlm, data_parallel=copies_for(in_flight))
    last_world = first_world + math.ceil(questions / QUESTIONS_PER_WORLD)
    worlds = [
        aw.world(
            seed,
            duration_s,
            questions=QUESTIONS_PER_WORLD,
            size=(640, 360),
            directory="cache/atlasworld",
        )
        for seed in seeds(seed_range)[first_world:last_world]
    ]
    is_drawn = drawn or duration_s > LONGEST_S
    if not is_drawn:
        for world in tqdm(worlds, desc="videos"):
            _ = world.video  # encode one after another, before questions are asked in parallel
    cases = [case for world in worlds for case in world.cases(drawn=is_drawn)][:questions]
    answer, settings = METHODS[method]
    measures: dict[str, list[float]] = defaultdict(list)
    model_for_world = partial(ComparedModel, vlm, measures=measures)
    table = evaluate(
        cases, answer, vlm=model_for_world, parallel=in_flight, cache=Cache(None), **settings
    )
    return NanoEvaluation(table.to_dict("records"), dict(measures))


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, float | int]:
    """Return accuracy and cost as one row.

    Args:
        rows: One row per question.

    Returns:
        The share of questions with choices that were answered correctly; the bounds of its 95 %
        interval, clustered by worlds, because questions about one world are not independent;
        the median temporal IoU of the when-questions; and the median cost of a question in calls
        and tokens.
    """
    choices = [row for row in rows if row["category"] != "WHEN"]
    # The score of a when-question is its temporal IoU.
    overlaps = [row["score"] for row in rows if row["category"] == "WHEN"]
    right, low, high = interval(
        [row["score"] for row in choices], [row["video"] for row in choices]
    )
    return {
        "choices": len(choices),
        "right": round(right, 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "whens": len(overlaps),
        "median tIoU": round(statistics.median(overlaps), 3) if overlaps else math.nan,
        "median calls": statistics.median(row["calls"] for row in rows),
        "median tokens": statistics.median(row["tokens"] for row in rows),
    }


def report(evaluation: NanoEvaluation) -> str:
    """Return an evaluation as text: scores by category, the summary, and measures of the calls."""
    rows = evaluation.rows
    lines = []
    for category in sorted({row["category"] for row in rows}):
        scores = [row["score"] for row in rows if row["category"] == category]
        mean = statistics.fmean(scores)
        median = statistics.median(scores)
        lines.append(f"{category:8} n={len(scores):3d} mean {mean:.3f} median {median:.3f}")
    lines += [f"{name}: {value}" for name, value in summary(rows).items()]
    lines += [f"failed: {row['failure']}" for row in rows if row["stop"] == "failed"]
    lines.append(
        f"seconds per question: median {statistics.median(row['seconds'] for row in rows):.1f}"
    )
    for measure, values in evaluation.calls.items():
        mean = statistics.fmean(values)
        median = statistics.median(values)
        lines.append(f"{measure}: n={len(values)} mean {mean:.3f} median {median:.3f}")
    return "\n".join(lines)


def append_row(path: Path, row: dict[str, Any]) -> None:
    """Append a row to a CSV file; write the header first if the file is new."""
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="nano, a folder of weights, or the address of a server")
    parser.add_argument("--minutes", type=float, default=10.0, help="length of each world (10)")
    parser.add_argument("--questions", type=int, default=200, help="number of questions (200)")
    parser.add_argument(
        "--method",
        choices=tuple(METHODS),
        default="video-rlm",
        help="method to evaluate (video-rlm)",
    )
    parser.add_argument(
        "--seeds", choices=tuple(RANGES), default="selection", help="range of seeds (selection)"
    )
    parser.add_argument(
        "--first-world",
        type=int,
        default=0,
        help="number of the first world in the range; ten questions per world (0)",
    )
    parser.add_argument("--in-flight", type=int, default=6, help="questions at the same time (6)")
    parser.add_argument(
        "--drawn", action="store_true", help="draw the frames of short worlds too, encode no file"
    )
    parser.add_argument("--csv", type=Path, help="CSV file to append the summary to")
    args = parser.parse_args()
    with serve(args.model, data_parallel=copies_for(args.in_flight)) as vlm:
        evaluation = evaluate_nano(
            vlm,
            args.minutes * 60,
            args.questions,
            method=args.method,
            seed_range=args.seeds,
            first_world=args.first_world,
            in_flight=args.in_flight,
            drawn=args.drawn,
        )
    print(report(evaluation))
    if args.csv:
        asked = {"method": args.method, "seeds": args.seeds, "minutes": args.minutes}
        append_row(args.csv, {**asked, **summary(evaluation.rows)})


if __name__ == "__main__":
    main()
