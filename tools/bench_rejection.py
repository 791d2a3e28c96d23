"""Measure "not in this video": rejection F1, what it costs, and what it loses elsewhere.

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

WORLDS, QUESTIONS = 10, 6
"""Seeds, and questions about what each has; as many are about what it lacks."""
HOURS = (1, 10)
RATES = (0.0, 0.1, 0.3)
"""Rates of `miss` and `confuse`."""
GOALS = (0.95, 0.9, 0.75)
"""What rejection F1 should be at each."""


@dataclass(frozen=True)
class Asked:
    """One question that was asked."""

    hours: int
    rate: float
    scored: Scored
    calls: int
    foretold: int
    """The calls that a search for something absent is expected to take."""
    before: float | None
    """The score where the answer "not there" was not offered; None for what is not there."""


def calls_of_a_no(question: Question, duration_s: float, k: int, step_s: float, votes: int) -> int:
    """Return how many calls it takes to go through a video at a step: a plan, looks, a verdict.

    Each stretch that the plan asks for may cut a sheet in two. A count is voted for.
    """
    sheets = math.ceil(duration_s / (k * k * step_s)) + MOST_STRETCHES
    return 2 + math.ceil(sheets / SHEETS) + (votes if question.kind == "count" else 0)


def asked_of(seed: int) -> list[Asked]:
    """Ask the questions about one seed's worlds with every oracle."""
    found = []
    for hours in HOURS:
        size = {"size": (128, 72), "questions": QUESTIONS, "categories": tuple(ABSENTS)}
        world = aw.world(seed, 3600.0 * hours, clip_s=150, **size)  # type: ignore[arg-type]
        for rate in RATES:
            oracle, cache = aw.Oracle(world, rate, rate, seed), ak.Cache(None)
            how = {"vlm": oracle, "cache": cache, "search": replace(BEST, **SMALL)}
            for case in world.cases(drawn=True, absent=True):
                question = case.question
                result = ak.ask(world.drawn, question, **how)  # type: ignore[arg-type]
                before = None
                if question not in world.absent:
                    plain = replace(
                        question, may_be_absent=None if question.kind == "count" else False
                    )
                    before = plain.score(ak.ask(world.drawn, plain, **how).prediction)  # type: ignore[arg-type]
                scored = Scored(question, str(seed), {}, result.prediction)
                k = int(result.settings["k"])
                votes = int(result.settings["votes"])
                foretold = calls_of_a_no(question, world.drawn.duration_s, k, LASTS_S, votes)
                found.append(Asked(hours, rate, scored, result.total.calls, foretold, before))
    return found


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
            there = [each for each in rows if each.before is not None]
            losses = [
                100.0 * ((each.before or 0.0) - each.scored.question.score(each.scored.prediction))
                for each in there
            ]
            loss = paired(losses, [each.scored.video for each in there], are_shares=False).interval
            noes = [each for each in rows if each.before is None]
            calls = statistics.mean(each.calls for each in noes)
            within = statistics.mean(each.calls <= each.foretold for each in noes)
            cells = [
                str(hours),
                f"{rate:g}",
                str(len(rows)),
                bounded(measures["rejection F1"], ".3f"),
                f"{goal:g}",
            ]
            cells += [
                bounded(measures[name], ".1%") for name in ("false positives", "false rejections")
            ]
            cells += [
                bounded(loss, ".1f"),
                f"{calls:.1f} of {statistics.mean(each.foretold for each in noes):.1f}",
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
