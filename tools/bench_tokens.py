"""Measure what each measure of `thrift` saves: tokens of a question by call and part, and in all.

A part of `make bench`. An oracle answers questions about ten-hour AtlasWorlds on grids as a
Qwen3-VL gets them: 8×8 native cells of 320 px, an image token for each 32×32 px, a text token for
each 4 characters. Nothing is decoded but what evidence checks; the sizes of pictures are known.
Worlds are of the development seeds. With `--write FILE`, the tables also replace those between the
markers of a Markdown page.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from bench_search import KINDS, page_and_worlds, publish, questions_of
from numpy.typing import NDArray
from tqdm import tqdm

import atlaskit as ak
import atlasworld as aw
from atlaskit.agents.settings import MEASURES
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.environment.tiles import Look
from atlaskit.evaluation.intervals import Interval, bootstrap_bounds, interval
from atlaskit.models.protocol import CHARACTERS_A_TOKEN, CallControl, Image, ModelWrapper, Reply, Request
from atlasworld.ranges import seeds

WORLDS = 6
"""Seeds, each with a world for every kind of question."""
ORACLES = {"perfect": (0.0, 0.0), "weak": (0.1, 0.1), "weaker": (0.3, 0.3), "overlooking": (0.7, 0.0)}
"""`miss` and `confuse` of each oracle. The last one leaves most of the video dead."""
QWEN: dict[str, Any] = {"k": 8, "cell": 320, "fit": "native"}
OFF = "off"
VARIANTS: dict[str, dict[str, Any]] = {
    OFF: {},
    "`look_ahead=False`": {"look_ahead": False},
    **{f"`{name}`": {"thrift": (name,)} for name in MEASURES},
    "both": {"thrift": MEASURES},
}
BLOCK = 16
"""Tokens of a block of the prefix cache, as on a GPU."""
SAID = "Said in this time"
EVIDENCE = "Evidence kept"


@dataclass
class Counted(ModelWrapper):
    """Counts a run's tokens by kind of call and part, and those that a prefix cache would hit."""

    variant: str
    by_call: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    by_part: Counter[str] = field(default_factory=Counter)
    tokens: int = 0
    hits: int = 0
    _seen: list[list[str | Image]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """A name of its own, so that no reply comes from another run's part of the cache."""
        return f"{self.model.name} {self.variant}"

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the oracle's reply, and count what the call costs."""
        reply = self.model.complete(request, **control)
        kind = kind_of_call(request)
        self.calls[kind] += 1
        self.by_call[kind] += reply.usage.tokens
        self.by_part.update(parts_of(request))
        self.by_part["replies"] += reply.usage.completion_tokens
        self.tokens += reply.usage.tokens
        self.hits += self._cached(request)
        return reply

    def _cached(self, request: Request) -> int:
        """Return the tokens of the longest prefix of whole blocks that an earlier prompt had."""
        parts = [part for message in request.messages for part in message.parts]
        longest = max((shared_tokens(parts, earlier) for earlier in self._seen), default=0)
        self._seen.append(parts)
        return longest // BLOCK * BLOCK


def kind_of_call(request: Request) -> str:
    """Return the step of a call; of a worker's, its number within the conversation about a view."""
    turns = sum(message.speaker == "assistant" for message in request.messages)
    return request.step if request.step != "step" else f"step {min(turns + 1, 3)}{' and later' * (turns > 1)}"


def image_tokens(image: Image) -> int:
    """Return the tokens of an image."""
    return image.size[0] * image.size[1] // 32**2


def kind_of_image(image: Image) -> str:
    """Return which part of a prompt an image is."""
    match image:
        case Sheet():
            return "evidence sheet"
        case Still():
            return "frames at full size"
        case View(look=Look(labels="time")):
            return "context scans"
        case View() if not image.grid.path:
            return "root sheet"
        case _:
            return "workers' sheets"


def parts_of(request: Request) -> Iterator[str]:
    """Yield the name of its part for each token of a request."""
    counts = Counter[str]()
    for message in request.messages:
        for part in message.parts:
            if not isinstance(part, str):
                counts[kind_of_image(part)] += CHARACTERS_A_TOKEN * image_tokens(part)
                continue
            said = len(part) - part.index(SAID) if SAID in part else 0
            counts["subtitle lines"] += said
            name = "roles" if message.speaker == "system" else "evidence rows" if EVIDENCE in part else "other text"
            counts[name] += len(part) - said
    for name, characters in counts.items():
        yield from [name] * (characters // CHARACTERS_A_TOKEN)


def shared_tokens(parts: Sequence[str | Image], earlier: Sequence[str | Image]) -> int:
    """Return the tokens of the prefix that two prompts share."""
    characters, images = 0, 0
    for ours, theirs in zip(parts, earlier, strict=False):
        if isinstance(ours, str) and isinstance(theirs, str):
            shared = shared_characters(ours, theirs)
            characters += shared
            if shared < max(len(ours), len(theirs)):
                break
        elif isinstance(ours, str) or isinstance(theirs, str) or ours.key != theirs.key:
            break
        else:
            images += image_tokens(ours)
    return characters // CHARACTERS_A_TOKEN + images


def shared_characters(ours: str, theirs: str) -> int:
    """Return the length of the prefix that two texts share."""
    if ours == theirs:
        return len(ours)
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


@dataclass(frozen=True)
class Run:
    """The outcome of one run."""

    seed: int
    oracle: str
    variant: str
    right: bool
    calls: Counter[str]
    by_call: Counter[str]
    by_part: Counter[str]
    tokens: int
    hits: int


def runs_of(seed: int) -> list[Run]:
    """Run the questions of every kind about one seed's worlds, with every oracle and variant."""
    runs = []
    for kind in KINDS:
        world, questions = questions_of(seed, kind)
        cache = ak.Cache(None)
        for name, rates in ORACLES.items():
            oracle = aw.Oracle(world, *rates, seed)
            for variant, options in VARIANTS.items():
                for question in questions:
                    model = Counted(oracle, variant)
                    search = ak.Search(threads=1, **QWEN, **options)
                    result = ak.ask(world.drawn, question, vlm=model, search=search, cache=cache)
                    counts = (model.calls, model.by_call, model.by_part, model.tokens, model.hits)
                    runs.append(Run(seed, name, variant, bool(result.is_right), *counts))
    return runs


def profile(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the table: tokens of a question by call and by part, without thrift."""
    counts: list[tuple[str, Callable[[Run], Counter[str]]]] = [
        ("call", lambda run: run.by_call),
        ("part", lambda run: run.by_part),
    ]
    off = [run for run in runs if run.variant == OFF]
    yield f"| tokens a question | {' | '.join(ORACLES)} |"
    yield "|---|" + "---:|" * len(ORACLES)
    groups = [[run for run in off if run.oracle == name] for name in ORACLES]
    totals = [statistics.mean(run.tokens for run in group) for group in groups]
    yield f"| all | {' | '.join(f'{total:,.0f}' for total in totals)} |"
    for heading, count in counts:
        names = sorted({name for run in off for name in count(run)})
        rows = {name: [statistics.mean(count(run)[name] for run in group) for group in groups] for name in names}
        for name, means in sorted(rows.items(), key=lambda row: row[0] if heading == "call" else -row[1][0]):
            cells = [f"{mean:,.0f} ({mean / total:.1%})" for mean, total in zip(means, totals, strict=True)]
            yield f"| {heading}: {name} | {' | '.join(cells)} |"


def ablation(runs: Sequence[Run], oracle: str) -> Iterator[str]:
    """Yield the lines of the table: cost and accuracy of each variant, paired with "off"."""
    yield "| `thrift` | calls | tokens | share of tokens | share of effective tokens | right | difference |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    groups = {name: [run for run in runs if run.variant == name and run.oracle == oracle] for name in VARIANTS}
    off = groups[OFF]
    for name, group in groups.items():
        calls = statistics.mean(run.calls.total() for run in group)
        tokens = share(group, off, lambda run: run.tokens)
        effective = share(group, off, lambda run: run.tokens - run.hits)
        gains = [100.0 * (a.right - b.right) for a, b in zip(group, off, strict=True)]
        gain = interval(gains, [str(run.seed) for run in off], are_shares=False)
        right = statistics.mean(run.right for run in group)
        mean = statistics.mean(run.tokens for run in group)
        yield (
            f"| {name} | {calls:.1f} | {mean:,.0f} | {bounded(tokens, '.2f')} | {bounded(effective, '.2f')} | "
            f"{right:.1%} | {bounded(gain, '+.1f')} |"
        )


def share(group: Sequence[Run], off: Sequence[Run], cost: Callable[[Run], int]) -> Interval:
    """Return what a variant costs as a share of what the same questions cost without thrift."""
    return ratio_of_sums(list(map(cost, group)), list(map(cost, off)), [run.seed for run in off])


def ratio_of_sums(values: Sequence[float], before: Sequence[float], seeds_of: Sequence[object]) -> Interval:
    """Return the ratio of the sums of paired values, with its bootstrap interval over seeds."""
    _, places = np.unique(seeds_of, return_inverse=True)
    sums = np.bincount(places, values), np.bincount(places, before)

    def ratio(taken: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(taken @ sums[0] / (taken @ sums[1]), float)

    low, high = bootstrap_bounds(len(sums[0]), ratio, 0.95)
    return Interval(float(sums[0].sum() / sums[1].sum()), low, high)


def bounded(value: Interval, form: str) -> str:
    """Return a mean with its interval, as text."""
    return f"{value.mean:{form}} ({value.low:{form}} to {value.high:{form}})"


def main(page: Path | None = None, worlds: int = WORLDS) -> int:
    """Print all tables, and write them to a page if one is given."""
    used = seeds("development")[:worlds]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        batches = tqdm(pool.map(runs_of, used), "thrift", worlds, file=sys.stderr)
        runs = [run for batch in batches for run in batch]
    questions = len(runs) // len(ORACLES) // len(VARIANTS)
    tables = {"tokens": profile(runs)} | {f"thrift, {name}": ablation(runs, name) for name in ORACLES}
    publish(tables, page, f", {questions} questions about {worlds} worlds")
    return 0


if __name__ == "__main__":
    arguments = page_and_worlds(__doc__, WORLDS).parse_args()
    sys.exit(main(arguments.write, arguments.worlds))
