"""One round of self-training on sampled searches, by reward or by the teacher.

`python -m atlaskit.nano.self_training nano cache/nano/whole/material OUT` lets nano search each
question of development worlds several times, with sampled replies. It then continues to train on
these searches, together with the synthetic examples of the training data:

* `--by advantage`: policy gradient: each reply becomes more or less likely, by how much better than
  its group it did (`credit`);
* `--by best`: expert iteration: the shortest right search of each group;
* `--by teacher`: the teacher's replies in the states that nano's searches reach (`dagger`).

The new weights are in OUT/nano. The next round begins with them: `… OUT/nano MATERIAL OUT2 --round
1`.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.models.client import VLM
from atlaskit.models.named import copies_for
from atlaskit.models.presets import SHIPPED
from atlaskit.models.serving.server import serve
from atlaskit.nano import dagger
from atlaskit.nano.attempts import Attempt, groups_of_attempts
from atlaskit.nano.credit import reward, weighted_groups
from atlaskit.nano.data.examples import Group, group_by_prefix
from atlaskit.nano.data.shards import write_groups
from atlaskit.nano.teacher.labels import TRAINING_SEED
from atlaskit.nano.train import run_training

FIRST_SEED = TRAINING_SEED + 900_000
"""Seed of the first searched world; the recipe uses none of these worlds otherwise."""
TEMPERATURE = 1.0
"""Temperature of the replies: the gradient is that of the probabilities which were sampled from."""
QUESTIONS, IN_FLIGHT = 20, 16
"""Questions about each world, and searches at the same time."""
Supervision = Literal["advantage", "best", "teacher"]


def best_attempt(attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the successful attempt with the fewest calls; None if no attempt was successful."""
    return min((each for each in attempts if each.is_successful), key=lambda each: each.calls, default=None)


def best_groups(groups: Sequence[Sequence[Attempt]]) -> Iterator[Group]:
    """Yield the calls of the best attempt at each question as training data."""
    for attempts in groups:
        if best := best_attempt(attempts):
            yield from group_by_prefix(best.examples)


def described(groups: Sequence[Sequence[Attempt]]) -> dict[str, float]:
    """Return how the attempts of a round went: a row of the curve over rounds."""
    every = [each for attempts in groups for each in attempts]
    best = [found for attempts in groups if (found := best_attempt(attempts))]
    return {
        "questions": len(groups),
        "attempts": len(every),
        "right": statistics.fmean(each.is_successful for each in every),
        "calls": statistics.fmean(each.calls for each in every),
        "reward": statistics.fmean(map(reward, every)),
        "right_at_best": len(best) / len(groups),
        "calls_at_best": statistics.fmean(each.calls for each in best) if best else 0.0,
        "groups_that_differ": sum(len({each.is_successful for each in attempts}) > 1 for attempts in groups),
    }


def write_attempts(folder: Path, model: str, minutes: Sequence[float], first: int, by: Supervision) -> None:
    """Sample attempts in development worlds, and write what to train on and how they went.

    Args:
        folder: Folder of the training data; `attempts.json` has how they went.
        model: "nano" or a folder of weights.
        minutes: Length of each world.
        first: Number of the first world.
        by: "advantage" or "best".
    """
    worlds = [
        atlasworld(FIRST_SEED + first + number, 60 * length, questions=QUESTIONS, size=(640, 360))
        for number, length in enumerate(minutes)
    ]
    with serve(model, data_parallel=copies_for(IN_FLIGHT)) as greedy:
        vlm = VLM(greedy.base_url, greedy.name, temperature=TEMPERATURE)
        groups = list(groups_of_attempts(vlm, worlds, in_flight=IN_FLIGHT))
    row = described(groups)
    print(json.dumps(row))
    (folder / "attempts.json").write_text(json.dumps(row))
    write_groups(folder / "lessons-own.jsonl", (weighted_groups if by == "advantage" else best_groups)(groups))


def self_train(
    model: str, data: Path, out: Path, minutes: Sequence[float], share: float, by: Supervision, first: int = 0
) -> Path:
    """Train a model on its own searches.

    Args:
        model: "nano" or a folder of weights.
        data: Folder of the training data, for its synthetic examples.
        out: Folder for the examples, checkpoints and new weights.
        minutes: Length of each world to search; by teacher, only how many there are counts.
        share: Share of the full recipe's steps to take.
        by: "advantage", "best" or "teacher".
        first: Number of the first world.

    Returns:
        The folder of the new weights.
    """
    own_data = out / "material"
    dagger.link_synthetic(data, own_data)
    if by == "teacher":
        with serve(model) as vlm:
            dagger.write_dagger_examples(own_data, vlm, len(minutes))
    elif not (own_data / "lessons-own.jsonl").exists():
        write_attempts(own_data, model, minutes, first, by)
    return run_training(own_data, out, share, _weights(model))


def _weights(model: str) -> Path:
    return Path(SHIPPED.get(model, model))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="nano, or a folder of weights")
    parser.add_argument("material", type=Path, help="training data that `make nano` wrote, for its synthetic examples")
    parser.add_argument("out", type=Path, help="folder for the examples, checkpoints and new weights")
    parser.add_argument(
        "--minutes",
        type=float,
        nargs="+",
        default=[10.0, 10.0, 10.0, 60.0],
        help="length of each world to search (10 10 10 60)",
    )
    parser.add_argument("--round", type=int, default=0, help="number of the round, from 0: each has its own worlds (0)")
    parser.add_argument("--share", type=float, default=0.05, help="share of the full recipe's steps to take (0.05)")
    parser.add_argument(
        "--by", choices=get_args(Supervision), default="advantage", help="what its searches teach (advantage)"
    )
    args = parser.parse_args()
    if not (_weights(args.model) / "config.json").is_file():
        parser.error(f"There are no weights in {args.model!r}; pass nano or a folder of weights.")
    if not args.material.is_dir():
        parser.error(f"There is no folder {str(args.material)!r}; run `make nano`, which writes the training data.")
    first = args.round * len(args.minutes)
    weights = self_train(args.model, args.material, args.out, args.minutes, args.share, args.by, first)
    print(f"Evaluate it by: python -m atlaskit.nano.evaluate {weights}")


if __name__ == "__main__":
    main()
