"""Measure the search of many films with oracles: found, calls, and what the scout "words" saves.

Worlds of two hours are cut into 500 films of mixed lengths (a fifth of them two seconds, some ten
minutes), drawn on demand. The same questions are asked of the world as one video. An oracle knows
the script, so these figures say how good the search is, not how good a model is. Intervals are
95 %, clustered by world.

    python tools/bench_collections.py --worlds 4
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import pandas as pd
from tqdm import tqdm

import atlaskit as ak
import atlasworld as aw
from atlaskit.environment.question import ABSENT

DURATION_S, FILMS = 7_200, 500
SINGLE = ("SSS", "WHEN", "OCR", "S2A")
"""Categories of questions that one event answers."""
MISSES = (0.0, 0.1)


def ends_of(seed: int) -> list[float]:
    """Return the seconds at which the films of a world end: mixed lengths, most of them short."""
    rng = random.Random(seed)
    ends_s = sorted({float(round(rng.uniform(1, DURATION_S - 1))) for _ in range(FILMS - 1)})
    return [*ends_s, float(DURATION_S)]


def rows_of(seed: int, misses: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Yield a row for each question that is asked of a world, whole and as films."""
    world = aw.world(seed, DURATION_S, questions=40)
    films = aw.films_of(world, ends_of(seed))
    asked = [question for question in world.questions if question.category in SINGLE]
    absent = [case.question for case in world.cases(drawn=True, absent=True)][:4]
    absent = [question for question in absent if question.answer == ABSENT]
    for miss in misses:
        eye = partial(aw.Oracle, world, miss=miss)
        ways: dict[str, tuple[Any, dict[str, Any]]] = {
            "one video": (world.drawn, {}),
            "500 films": (films, {}),
            "500 films, words": (films, {"scouts": ["words"]}),
        }
        for way, (video, changes) in ways.items():
            for question in [*asked, *absent]:
                search = ak.Search(traversal="looks", cell=32, **changes)
                result = ak.ask(
                    video, question, vlm=eye(), search=search, budget=ak.Budget(calls=100)
                )
                yield {
                    "seed": seed,
                    "miss": miss,
                    "asked of": way,
                    "is absent": question.answer == ABSENT,
                    "right": bool(result.is_right),
                    "calls": result.total.calls,
                }


def of_world(seed: int) -> list[dict[str, Any]]:
    """Return the rows of a world; views and replies stay in the memory of this process."""
    return list(rows_of(seed, MISSES))


def main(worlds: int) -> int:
    """Print the table."""
    with ProcessPoolExecutor(2) as pool:
        batches = list(tqdm(pool.map(of_world, range(worlds)), total=worlds, unit="world"))
    rows = pd.DataFrame([row for batch in batches for row in batch])
    by = ["is absent", "miss", "asked of"]
    table = rows.groupby(by, sort=False).agg(
        questions=("right", "size"),
        right=("right", "mean"),
        calls=("calls", "mean"),
        within_30=("calls", lambda calls: (calls <= 30).mean()),
    )
    print(table.round(3).to_string())
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=4, help="number of worlds, seeds from 0")
    sys.exit(main(parser.parse_args().worlds))
