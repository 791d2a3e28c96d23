"""One round of self-training: searches questions in three settings, trains on the shortest right
search.

`python -m atlaskit.nano.self_training nano cache/nano/whole/material OUT` searches each question in
three ways and keeps the successful search with the fewest calls. nano then continues to train on
the calls of these searches, together with the synthetic examples of the training data. With `--by
teacher`, it trains on the teacher's replies in the states that its searches reached (see `dagger`).
The new weights are in OUT/nano.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from tqdm import tqdm

from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.environment.question import Question
from atlaskit.models.presets import SHIPPED
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import serve
from atlaskit.nano import dagger
from atlaskit.nano.data.examples import RecordedExample, group_by_prefix
from atlaskit.nano.data.shards import write_groups
from atlaskit.nano.teacher.labels import TRAINING_SEED
from atlaskit.nano.train import run_training

FIRST_SEED = TRAINING_SEED + 900_000
"""Seed of the first searched world; the recipe uses none of these worlds otherwise."""
SEARCH_SETTINGS = (
    {"traversal": "dfs", "workers": 4},
    {"traversal": "auto", "workers": 2},
    {"traversal": "dfs", "workers": 1},
)
"""Settings of the attempts at each question. The model answers equal prompts equally, so its
attempts differ in these settings alone."""
SUCCESS_SCORE = 0.5
"""Least score of a successful attempt."""
MAX_CALLS = 80
"""Limit on the calls of an attempt."""
Supervision = Literal["reward", "teacher"]


@dataclass(frozen=True)
class Attempt:
    """One search for the answer to a question.

    Attributes:
        score: Score of the answer, from 0 to 1.
        calls: Number of calls that the search made.
        examples: The calls with the model's replies.
    """

    score: float
    calls: int
    examples: list[RecordedExample] = field(repr=False)

    @property
    def is_successful(self) -> bool:
        """Whether the score is at least `SUCCESS_SCORE`."""
        return self.score >= SUCCESS_SCORE


def attempt(vlm: Model, world: World, question: Question, settings: dict[str, Any]) -> Attempt:
    """Search for the answer to a question once; `settings` are keyword arguments of `ask`."""
    student = dagger.make_student(vlm, world, records_teacher=False)
    result = dagger.search(student, world, question, MAX_CALLS, **settings)
    return Attempt(question.score(result.prediction), result.spent.calls, student.examples)


def best_attempt(attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the successful attempt with the fewest calls; None if no attempt was successful."""
    return min((each for each in attempts if each.is_successful), key=lambda each: each.calls, default=None)


def attempts_by_question(vlm: Model, worlds: Sequence[World], in_flight: int = 6) -> Iterator[list[Attempt]]:
    """Yield the attempts at each question, `in_flight` of them at the same time."""
    jobs = [
        (world, question, settings) for world in worlds for question in world.questions for settings in SEARCH_SETTINGS
    ]
    with ThreadPoolExecutor(in_flight) as pool:
        attempts = pool.map(lambda job: attempt(vlm, *job), jobs)
        bar = tqdm(attempts, total=len(jobs), desc="searches", unit="search")
        yield from map(list, zip(*[iter(bar)] * len(SEARCH_SETTINGS), strict=True))


def write_best_attempts(path: Path, vlm: Model, worlds: Sequence[World]) -> str:
    """Write the examples of the best attempts; return a sentence about the attempts."""
    by_question = list(attempts_by_question(vlm, worlds))
    best = [found for attempts in by_question if (found := best_attempt(attempts))]
    write_groups(path, (group for each in best for group in group_by_prefix(each.examples)))
    first = [attempts[0] for attempts in by_question]
    return (
        f"{len(by_question)} questions. First attempts: {statistics.fmean(each.is_successful for each in first):.0%} "
        f"successful, {statistics.fmean(each.calls for each in first):.1f} calls on average. Best of "
        f"{len(SEARCH_SETTINGS)} attempts: {len(best) / len(by_question):.0%} successful, "
        f"{statistics.fmean(each.calls for each in best) if best else 0.0:.1f} calls on average."
    )


def self_train(model: str, data: Path, out: Path, worlds: int, share: float, by: Supervision) -> Path:
    """Train a model on examples from its own searches.

    Args:
        model: "nano" or a folder of weights.
        data: Folder of the training data, for its synthetic examples.
        out: Folder for the examples, checkpoints and new weights.
        worlds: Number of worlds to search: ten-minute worlds by reward, worlds of all lengths by
            teacher.
        share: Share of the full recipe's steps to take.
        by: "reward" to train on the best searches, "teacher" to train on the teacher's replies in
            them.

    Returns:
        The folder of the new weights.
    """
    own_data = out / "material"
    dagger.link_synthetic(data, own_data)
    best = own_data / "lessons-own.jsonl"
    if by == "teacher":
        with serve(model) as vlm:
            dagger.write_dagger_examples(own_data, vlm, worlds)
    elif not best.exists():
        drawn = [atlasworld(FIRST_SEED + number, 600.0, questions=20, size=(640, 360)) for number in range(worlds)]
        with serve(model) as vlm:
            print(write_best_attempts(best, vlm, drawn))
    return run_training(own_data, out, share, _weights(model))


def _weights(model: str) -> Path:
    return Path(SHIPPED.get(model, model))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="nano, or a folder of weights")
    parser.add_argument("material", type=Path, help="training data that `make nano` wrote, for its synthetic examples")
    parser.add_argument("out", type=Path, help="folder for the examples, checkpoints and new weights")
    parser.add_argument("--worlds", type=int, default=15, help="number of worlds to search (15)")
    parser.add_argument("--share", type=float, default=0.15, help="share of the full recipe's steps to take (0.15)")
    parser.add_argument(
        "--by",
        choices=get_args(Supervision),
        default="reward",
        help="train on its best searches, or on the teacher's replies in them (reward)",
    )
    args = parser.parse_args()
    if not (_weights(args.model) / "config.json").is_file():
        parser.error(f"There are no weights in {args.model!r}; pass nano or a folder of weights.")
    if not args.material.is_dir():
        parser.error(f"There is no folder {str(args.material)!r}; run `make nano`, which writes the training data.")
    weights = self_train(args.model, args.material, args.out, args.worlds, args.share, args.by)
    print(f"Evaluate it by: python -m atlaskit.nano.evaluate {weights}")


if __name__ == "__main__":
    main()
