"""Measure the search in many films: right answers, calls, and what the scout "words" saves.

Worlds of two hours are cut at random seconds into 500 films, drawn on demand. The same questions
are asked about the world as one video. An oracle that knows the script gives the answers, so the
figures say how good the search is, not how good a model is.

    python tools/bench_collections.py --worlds 4
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pandas as pd
from tqdm import tqdm

import atlaskit as ak
import atlasworld as aw
from atlaskit.environment.question import ABSENT

DURATION_S = 7_200
FILMS = 500
SINGLE = ("SSS", "WHEN", "OCR", "S2A")
"""Categories of questions that one event answers."""
MISSES = (0.0, 0.1)
"""Shares of what it sees that the oracle overlooks."""


def ends_of(seed: int) -> list[float]:
    """Return the seconds at which the films of a world end, drawn uniformly over the world."""
    rng = random.Random(seed)
    ends_s = sorted({float(round(rng.uniform(1, DURATION_S - 1))) for _ in range(FILMS - 1)})
    return [*ends_s, float(DURATION_S)]


def rows_of(seed: int, misses: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Yield a row for each question that is asked of a world, whole and as films."""
    world = aw.world(seed, DURATION_S, questions=40)
    films = aw.films_of(world, ends_of(seed))
    questions = [question for question in world.questions if question.category in SINGLE]
    for case in world.cases(drawn=True, absent=True)[:4]:
        if case.question.answer == ABSENT:
            questions.append(case.question)
    for miss in misses:
        arms: dict[str, tuple[Any, dict[str, Any]]] = {
            "one video": (world.drawn, {}),
            "500 films": (films, {}),
            "500 films, words": (films, {"scouts": ["words"]}),
        }
        for arm, (video, changes) in arms.items():
            for question in questions:
                search = ak.Search(traversal="looks", cell=32, **changes)
                result = ak.ask(
                    video,
                    question,
                    vlm=aw.Oracle(world, miss=miss),
                    search=search,
                    budget=ak.Budget(calls=100),
                )
                yield {
                    "seed": seed,
                    "miss": miss,
                    "asked of": arm,
                    "is absent": question.answer == ABSENT,
                    "right": bool(result.is_right),
                    "calls": result.total.calls,
                }


def all_rows_of(seed: int) -> list[dict[str, Any]]:
    """Return the rows of a world as a list, which can be sent between processes."""
    return list(rows_of(seed, MISSES))


def main(worlds: int) -> int:
    """Print the table."""
    with ProcessPoolExecutor(2) as pool:
        batches = list(tqdm(pool.map(all_rows_of, range(worlds)), total=worlds, unit="world"))
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
