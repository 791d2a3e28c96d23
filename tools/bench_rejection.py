"""Measure the answer "not there": rejection F1, calls, and the loss on other questions.

A part of `make bench`. Oracles answer questions about AtlasWorlds of one and of ten hours: half are
about objects and words that a world has, half about ones that it lacks. Worlds are of the
development seeds; `--seeds test` is for the one measurement of a release. With `--write FILE`, the
table also replaces the one between the markers of a Markdown page.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

from bench_intervals import bounded
from bench_search import SMALL, page_and_worlds, publish
from tqdm import tqdm

import atlaskit as ak
import atlasworld as aw
from atlaskit.agents.looking import SHEETS
from atlaskit.agents.schemas import MOST_STRETCHES
from atlaskit.agents.settings import BEST
from atlaskit.environment.question import Question
from atlaskit.evaluation.intervals import paired
from atlaskit.evaluation.metrics.grounding import rejection
from atlaskit.evaluation.metrics.measure import Scored
from atlasworld.oracle.looks import LASTS_S
from atlasworld.questions import ABSENTS
from atlasworld.ranges import RANGES, seeds

WORLDS = 10
"""Number of seeds."""
QUESTIONS = 6
"""Questions about what each world has; as many are about what it lacks."""
HOURS = (1, 10)
RATES = (0.0, 0.1, 0.3)
"""Rates of `miss` and `confuse`."""
GOALS = (0.95, 0.9, 0.75)
"""The goal for rejection F1 at each rate."""


@dataclass(frozen=True)
class Asked:
    """One question that was asked."""

    hours: int
    rate: float
    scored: Scored
    calls: int
    predicted_calls: int
    """The calls that a search for something absent is expected to take."""
    score_without: float | None
    """The score if "not there" is no possible answer; None for a question about what is absent."""


def calls_of_a_no(question: Question, duration_s: float, k: int, step_s: float, votes: int) -> int:
    """Return the calls of a search that sees a whole video at a step and finds nothing.

    They are a plan, the looks and a review; votes are added for a count. Each stretch that the plan
    asks for may cut a sheet in two.
    """
    sheets = math.ceil(duration_s / (k * k * step_s)) + MOST_STRETCHES
    calls = 2 + math.ceil(sheets / SHEETS)
    if question.kind == "count":
        calls += votes
    return calls


def asked_of(seed: int) -> list[Asked]:
    """Ask the questions about one seed's worlds with every oracle."""
    rows = list[Asked]()
    search = replace(BEST, **SMALL)
    for hours in HOURS:
        world = aw.world(
            seed,
            3600.0 * hours,
            clip_s=150,
            size=(128, 72),
            questions=QUESTIONS,
            categories=tuple(ABSENTS),
        )
        for rate in RATES:
            oracle = aw.Oracle(world, miss=rate, confuse=rate, seed=seed)
            cache = ak.Cache(None)
            for case in world.cases(drawn=True, absent=True):
                question = case.question
                result = ak.ask(world.drawn, question, vlm=oracle, cache=cache, search=search)
                score_without = None
                if question not in world.absent:
                    may_be_absent = None if question.kind == "count" else False
                    plain = replace(question, may_be_absent=may_be_absent)
                    other = ak.ask(world.drawn, plain, vlm=oracle, cache=cache, search=search)
                    score_without = plain.score(other.prediction)
                predicted_calls = calls_of_a_no(
                    question,
                    duration_s=world.drawn.duration_s,
                    k=int(result.settings["k"]),
                    step_s=LASTS_S,
                    votes=int(result.settings["votes"]),
                )
                row = Asked(
                    hours=hours,
                    rate=rate,
                    scored=Scored(question, str(seed), {}, result.prediction),
                    calls=result.total.calls,
                    predicted_calls=predicted_calls,
                    score_without=score_without,
                )
                rows.append(row)
    return rows


def table(asked: Sequence[Asked]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        "| hours | oracle | n | rejection F1 | goal | false positives | false rejections "
        '| loss on what is there, points | calls of a "not there", of those predicted | within |'
    )
    yield "|---:|---:|---:|---|---:|---|---|---|---:|---:|"
    for hours in HOURS:
        for rate, goal in zip(RATES, GOALS, strict=True):
            rows = [each for each in asked if (each.hours, each.rate) == (hours, rate)]
            measures = {
                each.name: each.interval() for each in rejection([each.scored for each in rows])
            }
            losses = list[float]()
            videos = list[str]()
            absent = list[Asked]()
            for each in rows:
                if each.score_without is None:
                    absent.append(each)
                    continue
                score = each.scored.question.score(each.scored.prediction)
                losses.append(100.0 * (each.score_without - score))
                videos.append(each.scored.video)
            loss = paired(losses, videos, are_shares=False).interval
            calls = statistics.mean(each.calls for each in absent)
            predicted = statistics.mean(each.predicted_calls for each in absent)
            within = statistics.mean(each.calls <= each.predicted_calls for each in absent)
            cells = [
                str(hours),
                f"{rate:g}",
                str(len(rows)),
                bounded(measures["rejection F1"], ".3f"),
                f"{goal:g}",
                bounded(measures["false positives"], ".1%"),
                bounded(measures["false rejections"], ".1%"),
                bounded(loss, ".1f"),
                f"{calls:.1f} of {predicted:.1f}",
                f"{within:.0%}",
            ]
            yield f"| {' | '.join(cells)} |"


def main(page: str | None, worlds: int, name: str) -> int:
    """Ask about the first worlds of a range of seeds and print the table."""
    chosen = seeds(name)[:worlds]
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(chosen))) as pool:
        asked = [
            each for rows in tqdm(pool.map(asked_of, chosen), total=len(chosen)) for each in rows
        ]
    publish({f"rejection {name}": table(asked)}, page)
    return 0


if __name__ == "__main__":
    parser = page_and_worlds(__doc__, WORLDS)
    parser.add_argument("--seeds", choices=RANGES, default="development", help="range of the seeds")
    arguments = parser.parse_args()
    sys.exit(main(arguments.write, arguments.worlds, arguments.seeds))
