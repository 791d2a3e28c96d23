"""One round of improvement by its own searches: nano searches worlds to learn from, and learns from that.

`python -m atlaskit.nano.self_training nano cache/nano/whole/material OUT` asks it in some ways; keeps for each question the
search that found the answer in the fewest calls, if one did; and goes on teaching with these and with the drills of the
material. With `--by teacher` its lessons are what its teacher says of each place that it came to (`practice`). OUT/nano
is the model that comes of it.
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
from atlaskit.nano.dagger import link_drills, pupil, searched, write_practice
from atlaskit.nano.data.shards import write_rows
from atlaskit.nano.data.trajectories import grouped
from atlaskit.nano.teacher.labels import TRAINING_SEED
from atlaskit.nano.train import teach

FIRST = TRAINING_SEED + 900_000
"""Of the worlds that are asked about, from which nothing was learned yet."""
TRIES = ({"traversal": "dfs", "workers": 4}, {"traversal": "auto", "workers": 2}, {"traversal": "dfs", "workers": 1})
"""How each question is searched: the model says the same of the same, so that its searches differ by these alone."""
REWARDED = 0.5
"""From which score on a search counts as successful."""
MOST_CALLS = 80
By = Literal["reward", "teacher"]


@dataclass(frozen=True)
class Attempt:
    """One search for the answer to a question."""

    score: float
    calls: int
    lessons: list[dict[str, Any]] = field(repr=False)


def search(vlm: Model, world: World, question: Question, how: dict[str, Any]) -> Attempt:
    """Ask a question once, and write down every call."""
    who = pupil(vlm, world, is_taught=False)
    result = searched(who, world, question, MOST_CALLS, **how)
    return Attempt(question.score(result.prediction), result.spent.calls, who.lessons)


def best(tried: list[Attempt]) -> Attempt | None:
    """Return the successful search of the fewest calls, if one was successful."""
    return min((each for each in tried if each.score >= REWARDED), key=lambda each: each.calls, default=None)


def searches(vlm: Model, worlds: Sequence[World], in_flight: int = 6) -> Iterator[list[Attempt]]:
    """Yield what was tried for each question about some worlds, so many searches at a time."""
    asked = [(world, question, how) for world in worlds for question in world.questions for how in TRIES]
    with ThreadPoolExecutor(in_flight) as pool:
        done = pool.map(lambda each: search(vlm, *each), asked)
        bar = tqdm(done, total=len(asked), desc="searches", unit="search")
        yield from map(list, zip(*[iter(bar)] * len(TRIES), strict=True))


def write_own(path: Path, vlm: Model, worlds: Sequence[World]) -> str:
    """Write the lessons of the best searches, a group a line; return in a sentence what was found."""
    found = list(searches(vlm, worlds))
    kept = [one for tried in found if (one := best(tried))]
    write_rows(path, (group for one in kept for group in grouped(one.lessons)))
    first, mean = [tried[0] for tried in found], statistics.fmean
    right, calls = mean(each.score >= REWARDED for each in first), mean(each.calls for each in first)
    told = f"{len(found)} questions, asked the first way: {right:.0%} right in {calls:.1f} calls on average; "
    fewest = mean(one.calls for one in kept) if kept else 0.0
    return f"{told}in one of {len(TRIES)} ways: {len(kept) / len(found):.0%}, at best in {fewest:.1f}."


def improve(model: str, material: Path, out: Path, worlds: int, share: float, by: By) -> Path:
    """Teach a model its own best searches in so many ten-minute worlds, or what its teacher says of those in worlds of
    all lengths, for a share of the steps of the whole recipe; return the folder of the new weights."""
    lessons = out / "material"
    link_drills(material, lessons)
    own = lessons / "lessons-own.jsonl"
    if by == "teacher":
        with serve(model) as vlm:
            write_practice(lessons, vlm, worlds)
    elif not own.exists():
        asked = [atlasworld(FIRST + number, 600.0, questions=20, size=(640, 360)) for number in range(worlds)]
        with serve(model) as vlm:
            print(write_own(own, vlm, asked))
    return teach(lessons, out, share, _weights(model))


def _weights(model: str) -> Path:
    return Path(SHIPPED.get(model, model))


def main() -> None:
    """Do it, as the command line says."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("model", help="nano, or a folder of weights")
    asked.add_argument("material", type=Path, help="what `make nano` wrote, for its drills")
    asked.add_argument("out", type=Path)
    asked.add_argument("--worlds", type=int, default=15, help="that are asked about (15)")
    asked.add_argument("--share", type=float, default=0.15, help="of the steps of the whole recipe (0.15)")
    asked.add_argument("--by", choices=get_args(By), default="reward", help="who says what of its searches is learned")
    options = asked.parse_args()
    if not (_weights(options.model) / "config.json").is_file():
        asked.error(f"there are no weights in {options.model!r}: name nano, or a folder that holds them")
    if not options.material.is_dir():
        asked.error(f"there is no folder {str(options.material)!r}: `make nano` writes what is learned from")
    made = improve(options.model, options.material, options.out, options.worlds, options.share, options.by)
    print(f"Judge it by: python -m atlaskit.nano.evaluate {made}")


if __name__ == "__main__":
    main()
