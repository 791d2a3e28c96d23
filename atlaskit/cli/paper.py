"""`atlaskit paper`: the paper's tables and figures on a dataset, by the paper's protocol."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from atlaskit.agents.budget import Budget
from atlaskit.agents.settings import PAPER
from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets.registry import DATASETS, dataset_in
from atlaskit.benchmarks.published import Split, published
from atlaskit.benchmarks.tenhour import ten_hour
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import canonical_json
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.model import (
    add_budget_options,
    add_model_options,
    add_money_options,
    agrees,
    asking,
    budget_of,
    named_model,
    print_estimates,
)
from atlaskit.cli.outputs import add_output, count, part_of, positive
from atlaskit.cli.tables import command_of, rows_of
from atlaskit.errors import InputError
from atlaskit.evaluation import statistics, tables
from atlaskit.evaluation.baselines import METHODS
from atlaskit.evaluation.costs import Spending, cost_of
from atlaskit.evaluation.runner import EvaluationStopped, evaluate
from atlaskit.evaluation.tables import SHARD, failed, shard, with_retried
from atlaskit.experiments.runner import run_all
from atlaskit.models.prices import read_prices
from atlaskit.models.protocol import MOST_IMAGES
from atlaskit.models.serving.server import as_model, copies_for

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL: dict[str, tuple[dict[str, Any], bool]] = {
    "longvideobench": ({"duration_group": 3600}, True),
    "videomme": ({"duration": "long"}, False),
}
"""By dataset: which questions the paper's tables are about, and whether it uses subtitles."""
TABLES = (("table-1", "long"), ("table-2", "10hr"))
"""The paper's tables, and which questions: on the videos alone, or among ten hours of others."""
FIGURES = ("03", "04", "05", "06", "08")
"""The notebooks of the paper's Figures 3a, 3b, 4 and 1, and of its error analysis."""
UNIFORM = "uniform"
CAPTIONS = "captions"
VIDEO_RLM = "video-rlm"
ROWS = (UNIFORM, CAPTIONS, VIDEO_RLM)
"""The rows of the paper's tables that one model can make."""
FRAMES = 160
SETTINGS: dict[str, dict[str, Any]] = {
    UNIFORM: {"frames": FRAMES, "size": 320},
    VIDEO_RLM: {"search": PAPER},
}
"""What the paper says of a row's settings."""
EXAMPLES = """examples:
  atlaskit paper data/LongVideoBench --model Qwen/Qwen3-VL-8B-Instruct --first 30 --estimate 3
  atlaskit paper data/LongVideoBench --model MODEL --method uniform video-rlm \\
    --shard 1/4 --out figures/1"""


def add_paper_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `paper` subcommand to the parser."""
    parser = commands.add_parser(
        "paper",
        description=(
            "Uniform sampling, captions, and the search with the paper's settings, on the long "
            "videos and on\nten hours. If it is interrupted, run the same command again."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_paper)
    parser.add_argument("data", type=Path, help="folder of the dataset")
    add_model_options(parser)
    told = "folder for tables and figures (default figures/paper)"
    add_output(parser, "--out", default=Path("figures/paper"), metavar="FOLDER", help=told)
    told = (
        f"rows of each table (default {' '.join(ROWS)}); after video-rlm, uniform frames for as "
        "many tokens"
    )
    parser.add_argument(
        "--method", nargs="+", choices=tuple(METHODS), default=list(ROWS), help=told
    )
    parser.add_argument("--first", type=count, metavar="N", help="ask the first N questions")
    parser.add_argument(
        "--hours", type=positive, default=10.0, help="hours of Table 2's videos (default 10)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the positions in ten hours (default 0)"
    )
    parser.add_argument(
        "--parallel", type=count, default=4, help="questions in flight at once (default 4)"
    )
    told = "ask part I of N; `atlaskit merge` joins the rows of a system"
    parser.add_argument("--shard", type=part_of, metavar="I/N", help=told)
    told = "keep the rows in the folder, and ask only the questions that failed"
    parser.add_argument("--rerun", choices=("failures",), help=told)
    add_output(
        parser,
        "--traces",
        metavar="FOLDER",
        help="folder to save each run in, for `atlaskit browse`",
    )
    parser.add_argument(
        "--notebooks", type=Path, help="folder of the notebooks, to draw the figures as well"
    )
    add_budget_options(parser)
    add_money_options(parser)
    add_cache_option(parser)


@dataclass
class _Table:
    """One table of the paper: its questions, what asks them in each row, and the rows so far."""

    options: argparse.Namespace
    name: str
    split: str
    cases: Benchmark
    command: dict[str, Any]
    """What a row's card keeps, for `atlaskit evaluate --like`."""
    ask: dict[str, Callable[..., pd.DataFrame]]
    part: dict[str, Any] = field(default_factory=dict)
    found: dict[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """What the names of its files begin with."""
        return cast(Path, self.options.out) / f"{self.name}-{self.split}"

    def estimate(self, spending: Spending | None) -> None:
        """Print what each row will take, from some of the questions."""
        print(f"\n{self.name}, {self.split}")
        total = spending.limits if spending else None
        rows = print_estimates(self.options, self.ask, self.cases, total)
        more, _ = self.equal_tokens(rows)
        print_estimates(self.options, more, self.cases, total)

    def fill(self, spending: Spending | None) -> None:
        """Ask the questions of every row."""
        for name, ask in self.ask.items():
            self.row(name, ask, spending)
        more, wanted = self.equal_tokens(self.found)
        for name, ask in more.items():
            self.row(name, ask, spending)
            if wanted > frames_near(wanted)["frames"]:
                most = frames_near(wanted)["frames"]
                print(
                    f"As many tokens as the search took would be {wanted:,} frames; a request "
                    f"holds {most:,}."
                )

    def row(self, name: str, ask: Callable[..., pd.DataFrame], spending: Spending | None) -> None:
        """Ask the questions of one row, with its rows so far in a file that is followed."""
        path = self.home.with_name(
            f"{self.home.name}-{name.replace(', ', '-').replace(' ', '-')}.csv"
        )
        earlier = None
        cases = self.cases
        method = name.partition(",")[0]
        if self.options.rerun and path.exists():
            earlier = tables.load(path)
            cases = replace(cases, cases=tuple(failed(earlier, cases, method)))
        if earlier is not None and not len(cases):
            self.found[name] = earlier
            return
        print(f"{self.name}, {name}: {len(cases)} questions", file=sys.stderr, flush=True)
        rows = rows_of(ask, cases, path, method, spending, earlier=earlier)
        own: dict[str, Any] = {"method": [method]}
        if isinstance(ask, partial) and "frames" in ask.keywords:
            given = {
                key: ask.keywords[key]
                for key in ("frames", "size", "per_image")
                if key in ask.keywords
            }
            own["settings"] = [[key, str(value)] for key, value in given.items()]
        if method == VIDEO_RLM:
            own["search"] = "paper"
        rows.attrs |= {
            "command": {**self.command, **own},
            **({SHARD: self.part} if self.part else {}),
        }
        if earlier is not None:
            rows = with_retried(earlier, {method: rows})
        tables.save(rows, path)
        self.found[name] = rows

    def equal_tokens(
        self, found: dict[str, pd.DataFrame]
    ) -> tuple[dict[str, Callable[..., pd.DataFrame]], int]:
        """Return the row of uniform frames for as many tokens as the search took, and how many."""
        tokens = {name: rows["tokens"].mean() for name, rows in found.items()}
        if not tokens.get(UNIFORM) or not tokens.get(VIDEO_RLM):
            return {}, 0
        wanted = round(FRAMES * tokens[VIDEO_RLM] / tokens[UNIFORM])
        more = frames_near(wanted)
        return {f"{UNIFORM}, {more['frames']} frames": partial(self.ask[UNIFORM], **more)}, wanted

    def write(self) -> None:
        """Write the table, beside the published rows, and print it."""
        import pandas as pd

        to = UNIFORM if UNIFORM in self.found else next(iter(self.found))
        ours = statistics.comparison(self.found, to).rename(columns={"method": "system"})
        ours = ours.assign(
            source="this run", failed=[_failures(rows) for rows in self.found.values()]
        )
        theirs = pd.DataFrame([vars(each) for each in published(cast(Split, self.split))]).drop(
            columns="split"
        )
        shown = [
            "system",
            "questions",
            "score",
            "low",
            "high",
            "difference",
            "difference_low",
            "difference_high",
            "p",
        ]
        whole = pd.concat([ours, theirs], ignore_index=True)[
            [*shown, "tokens", "failed", "subtitles", "source"]
        ]
        whole.to_csv(self.home.with_suffix(".csv"), index=False)
        print(
            f"\n{self.name}, {self.split}: {self.home}.csv, and {self.home}-*.csv, the rows of "
            "each system with cards."
        )
        print(f"Differences are those to {to}, question by question.")
        print(whole.to_string(index=False, na_rep="", float_format="{:,.3g}".format))
        costs = pd.DataFrame(
            [{"system": name, **cost_of(rows)} for name, rows in self.found.items()]
        )
        path = self.home.with_name(f"{self.home.name}-costs.csv")
        costs.to_csv(path, index=False)
        print(f"\nWhat a question costs, with its share of what is paid once a video: {path}")
        print(costs.set_index("system").T.to_string(na_rep="", float_format="{:,.4g}".format))


def _paper(options: argparse.Namespace) -> int:
    name = dataset_in(options.data).load.__name__  # its key, by which it is one of DATASETS
    if name not in PROTOCOL:
        raise InputError(f"The paper asks {' and '.join(PROTOCOL)}; {options.data} holds {name}.")
    spec = named_model(options)
    cache = Cache(options.cache)
    if spec is None:
        raise InputError(
            "Name a model: --model Qwen/Qwen3-VL-8B-Instruct, or the address of an endpoint."
        )
    where, has_subtitles = PROTOCOL[name]
    dataset = DATASETS[name].load(options.data, subtitles=has_subtitles)
    asked = dataset.where(**where)[: options.first]
    part = dict[str, Any]()
    if options.shard is not None:
        asked, part = shard(asked, *options.shard)
    prices = None if options.prices is None else read_prices(options.prices)
    total = budget_of(options, prices, "total_")
    how: dict[str, Any] = {
        "vlm": asking(as_model(spec, cache, data_parallel=copies_for(options.parallel)), options),
        "cache": cache,
        "prices": prices,
        "parallel": options.parallel,
        "traces": options.traces,
    }
    if (budget := budget_of(options, prices)) is not None:
        how["budget"] = budget
    methods = list(dict.fromkeys(options.method))
    ask: dict[str, Callable[..., pd.DataFrame]] = {
        each: partial(evaluate, method=each, **{**how, **SETTINGS.get(each, {})})
        for each in methods
    }
    conditions = [[column, str(value)] for column, value in where.items()]
    command = command_of(options, spec) | {
        "benchmark": name,
        "root": str(options.data.absolute()),
        "where": conditions,
    }
    command |= {} if has_subtitles else {"no_subtitles": True}
    made = []
    for table, suffix in TABLES:
        is_long = suffix == "long"
        length_s = 3600 * options.hours
        if is_long:
            cases = asked
        else:
            cases = ten_hour(
                asked, among=dataset, seed=options.seed, duration_s=length_s, progress=True
            )
        own = {key: value for key, value in command.items() if not (is_long and key == "hours")}
        made.append(_Table(options, table, f"{name}-{suffix}", cases, own, ask, part))
    line = canonical_json([str(options.data.absolute()), command_of(options, spec), part])
    spending = Spending(total or Budget(), cache, line)
    try:
        if options.estimate is not None:
            for each in made:
                each.estimate(spending)
            if not agrees(options):
                return 0
        for each in made:
            each.fill(spending)
            each.write()
    except EvaluationStopped as stopped:
        print(f"atlaskit: {stopped}", file=sys.stderr)
        return 1
    lost = 0
    for each in made:
        lost += sum(map(_failures, each.found.values()))
    if lost:
        print(
            f"atlaskit: {lost} rows had a failed call; the same line with --rerun failures asks "
            "them.",
            file=sys.stderr,
        )
    return max(_figures(options, str(spec)), int(lost > 0))


def _figures(options: argparse.Namespace, model: str) -> int:
    """Run the notebooks of the figures, if their folder is given; return the exit status."""
    if options.notebooks is None:
        return 0
    given = {
        "data": str(options.data.resolve()),
        **({"first": options.first} if options.first else {}),
    }
    ran = run_all(options.notebooks, options.out, only=FIGURES, model=model, given=given)
    lost = [each.failure for each in ran if each.failure]
    if lost:
        print(f"atlaskit: {' '.join(lost)}", file=sys.stderr)
    return int(bool(lost))


def _failures(rows: pd.DataFrame) -> int:
    return int((rows["failure"] != "").sum())


def frames_near(wanted: int) -> dict[str, int]:
    """Return how many frames to show, in all and in an image: no more than a request holds."""
    per_image = 16 if wanted <= 16 * MOST_IMAGES else 64
    images = min(max(1, round(wanted / per_image)), MOST_IMAGES)
    return {"frames": images * per_image, "per_image": per_image}
