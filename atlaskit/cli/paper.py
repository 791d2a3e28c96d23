"""`atlaskit paper`: makes the paper's tables and figures on a dataset, by the paper's protocol."""

from __future__ import annotations

import argparse
import sys
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
    add_total_options,
    agrees,
    budget_of,
    named_model,
    print_estimates,
    with_consent,
)
from atlaskit.cli.outputs import add_output, count, part_of, path_of, positive, shown_table
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
"""By dataset: the questions of the paper's tables, and whether the paper uses its subtitles."""
TABLES = (("table-1", "long"), ("table-2", "10hr"))
"""The paper's tables, and their videos: the long ones alone, or each among ten hours of others."""
FIGURES = ("03", "04", "05", "06", "08")
"""The notebooks of the paper's Figures 5a, 6, 1 and 5b, and of its error analysis."""
UNIFORM = "uniform"
CAPTIONS = "captions"
VIDEO_RLM = "video-rlm"
ROWS = (UNIFORM, CAPTIONS, VIDEO_RLM)
"""The methods of the paper's tables that need only one model."""
FRAMES = 160
"""Frames of uniform sampling in the paper's tables."""
MOST_PER_IMAGE = 64
"""The most frames that uniform sampling shows in an image here."""
MOST_FRAMES = MOST_PER_IMAGE * MOST_IMAGES
"""The most frames that one request holds."""
SETTINGS: dict[str, dict[str, Any]] = {
    UNIFORM: {"frames": FRAMES, "size": 320},
    VIDEO_RLM: {"search": PAPER},
}
"""The settings of a method, where the paper names them."""
EXAMPLES = """examples:
  atlaskit paper data/LongVideoBench --model Qwen/Qwen3-VL-8B-Instruct --first 30 --estimate 3
  atlaskit paper data/LongVideoBench --model MODEL --method uniform video-rlm \\
    --shard 1/4 --out figures/1"""


def add_paper_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `paper` subcommand to the parser."""
    parser = commands.add_parser(
        "paper",
        description=(
            "Compare uniform sampling, captions, and the search with the paper's settings, on the "
            "long videos of\na dataset and on the same videos among ten hours of others. If the "
            "command is interrupted, run it\nagain."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_paper)
    parser.add_argument(
        "data", type=path_of, help="folder of the dataset, LongVideoBench or Video-MME"
    )
    add_model_options(parser)
    add_output(
        parser,
        "--out",
        default=Path("figures/paper"),
        metavar="FOLDER",
        help="folder for tables and figures (default figures/paper)",
    )
    parser.add_argument(
        "--method",
        nargs="+",
        choices=tuple(METHODS),
        default=list(ROWS),
        metavar="METHOD",
        help=(
            f"the rows of each table, of {', '.join(METHODS)} (default {' '.join(ROWS)}); uniform "
            "and video-rlm together add a row: as many uniform frames as video-rlm took tokens"
        ),
    )
    parser.add_argument("--first", type=count, metavar="N", help="ask the first N questions")
    parser.add_argument(
        "--hours",
        type=positive,
        default=10.0,
        metavar="N",
        help="hours of video among which Table 2 hides each video (default 10)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="random seed for the place of each video in --hours (default 0)",
    )
    parser.add_argument(
        "--parallel",
        type=count,
        default=4,
        metavar="N",
        help="questions that are asked at the same time (default 4)",
    )
    parser.add_argument(
        "--shard",
        type=part_of,
        metavar="I/N",
        help="ask only part I of N; `atlaskit merge` joins the rows of a method",
    )
    parser.add_argument(
        "--rerun",
        choices=("failures",),
        help="keep the rows in the folder, and ask only the questions that failed",
    )
    add_output(
        parser,
        "--traces",
        metavar="FOLDER",
        help="folder to save each run in, for `atlaskit browse`",
    )
    parser.add_argument(
        "--notebooks",
        type=path_of,
        metavar="FOLDER",
        help="folder of atlaskit's notebooks, to draw the figures as well",
    )
    add_budget_options(parser)
    add_total_options(parser)
    add_cache_option(parser)


@dataclass
class _Table:
    """One table of the paper: a row for each method, which is made from the answers to questions.

    The answers of each row are a table of `atlaskit evaluate` in a file of its own.
    """

    options: argparse.Namespace
    name: str
    """The number of the table: "table-1" or "table-2"."""
    split: str
    """The questions by name, such as "videomme-long"."""
    cases: Benchmark
    command: dict[str, Any]
    """The command on the card of each row, for `atlaskit evaluate --like`."""
    ask: dict[str, partial[pd.DataFrame]]
    """For each row by name, `evaluate` with its settings, which asks the questions."""
    part: dict[str, Any] = field(default_factory=dict)
    """The shard on the card of each row; empty without `--shard`."""
    found: dict[str, pd.DataFrame] = field(default_factory=dict)
    """The answers so far, by the name of the row."""

    @property
    def stem(self) -> Path:
        """The path with which the names of the table's files begin."""
        return cast(Path, self.options.out) / f"{self.name}-{self.split}"

    def estimate(self, total: Budget) -> None:
        """Print the expected cost of each row, from a sample of the questions."""
        print(f"\n{self.name}, {self.split}")
        rows = print_estimates(self.options, self.ask, self.cases, total)
        more, _ = self.equal_tokens(rows)
        print_estimates(self.options, more, self.cases, total)

    def fill(self, spending: Spending) -> None:
        """Ask the questions of every row."""
        for name, ask in self.ask.items():
            self.row(name, ask, spending)
        more, wanted = self.equal_tokens(self.found)
        for name, ask in more.items():
            self.row(name, ask, spending)
            if wanted > MOST_FRAMES:
                print(
                    f"For as many tokens as the search took, uniform would need {wanted:,} "
                    f"frames; a request holds {MOST_FRAMES:,}."
                )

    def row(self, name: str, ask: partial[pd.DataFrame], spending: Spending) -> None:
        """Ask the questions of one row, and save the answers.

        Args:
            name: The method, for instance "uniform", or the method and its frames, "uniform, 320
                frames".
            ask: `evaluate` with the settings of the row.
            spending: The limits of all questions together, and what they have taken.
        """
        suffix = name.replace(", ", "-").replace(" ", "-")
        path = self.stem.with_name(f"{self.stem.name}-{suffix}.csv")
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
        command: dict[str, Any] = {**self.command, "method": [method]}
        if "frames" in ask.keywords:
            settings = list[list[str]]()
            for key in ("frames", "size", "per_image"):
                if key in ask.keywords:
                    settings.append([key, str(ask.keywords[key])])
            command["settings"] = settings
        if method == VIDEO_RLM:
            command["search"] = "paper"
        rows.attrs["command"] = command
        if self.part:
            rows.attrs[SHARD] = self.part
        if earlier is not None:
            rows = with_retried(earlier, {method: rows})
        tables.save(rows, path)
        self.found[name] = rows

    def equal_tokens(
        self, found: dict[str, pd.DataFrame]
    ) -> tuple[dict[str, partial[pd.DataFrame]], int]:
        """Return a further row, in which uniform sampling takes as many tokens as the search.

        Args:
            found: The answers of the other rows, by name.

        Returns:
            `evaluate` with the settings of the row, by its name, and the number of frames that take
            as many tokens, which may be more than a request holds; ({}, 0) unless both methods have
            rows.
        """
        tokens = {name: rows["tokens"].mean() for name, rows in found.items()}
        if not tokens.get(UNIFORM) or not tokens.get(VIDEO_RLM):
            return {}, 0
        wanted = round(FRAMES * tokens[VIDEO_RLM] / tokens[UNIFORM])
        settings = frames_near(wanted)
        name = f"{UNIFORM}, {settings['frames']} frames"
        return {name: partial(self.ask[UNIFORM], **settings)}, wanted

    def write(self) -> None:
        """Write the table with the published rows below ours, and the costs; print both."""
        import pandas as pd

        to = UNIFORM if UNIFORM in self.found else next(iter(self.found))
        ours = statistics.comparison(self.found, to).rename(columns={"method": "system"})
        ours = ours.assign(
            source="this run", failed=[_failures(rows) for rows in self.found.values()]
        )
        rows = [vars(each) for each in published(cast(Split, self.split))]
        theirs = pd.DataFrame(rows).drop(columns="split")
        columns = [
            "system",
            "questions",
            "score",
            "low",
            "high",
            "difference",
            "difference_low",
            "difference_high",
            "p",
            "tokens",
            "failed",
            "subtitles",
            "source",
        ]
        whole = pd.concat([ours, theirs], ignore_index=True)[columns]
        whole.to_csv(self.stem.with_suffix(".csv"), index=False)
        print(
            f"\n{self.name}, {self.split}: {self.stem}.csv, and {self.stem}-*.csv, the rows of "
            "each system with cards."
        )
        print(f"Differences are those to {to}, question by question.")
        print(shown_table(whole, index=False, na_rep="", float_format="{:,.3g}".format))
        costs = pd.DataFrame(
            [{"system": name, **cost_of(answers)} for name, answers in self.found.items()]
        )
        path = self.stem.with_name(f"{self.stem.name}-costs.csv")
        costs.to_csv(path, index=False)
        print(f"\nWhat a question costs, with its share of what is paid once a video: {path}")
        print(shown_table(costs.set_index("system").T, na_rep="", float_format="{:,.4g}".format))


def _paper(options: argparse.Namespace) -> int:
    name = dataset_in(options.data).load.__name__  # which is its key in DATASETS
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
    vlm = as_model(spec, cache, data_parallel=copies_for(options.parallel))
    how: dict[str, Any] = {
        "vlm": with_consent(vlm, options),
        "cache": cache,
        "prices": prices,
        "parallel": options.parallel,
        "traces": options.traces,
    }
    budget = budget_of(options, prices)
    if budget is not None:
        how["budget"] = budget
    ask: dict[str, partial[pd.DataFrame]] = {}
    for method in dict.fromkeys(options.method):
        ask[method] = partial(evaluate, method=method, **{**how, **SETTINGS.get(method, {})})
    command = command_of(options, spec)
    command["benchmark"] = name
    command["root"] = str(options.data.absolute())
    command["where"] = [[column, str(value)] for column, value in where.items()]
    if not has_subtitles:
        command["no_subtitles"] = True
    hidden_cases = ten_hour(
        asked,
        among=dataset,
        seed=options.seed,
        duration_s=3600 * options.hours,
        progress=True,
    )
    paper_tables = list[_Table]()
    for table, suffix in TABLES:
        own_command = dict(command)
        if suffix == "long":
            own_command.pop("hours", None)
        paper_table = _Table(
            options=options,
            name=table,
            split=f"{name}-{suffix}",
            cases=asked if suffix == "long" else hidden_cases,
            command=own_command,
            ask=ask,
            part=part,
        )
        paper_tables.append(paper_table)
    # This identifies the evaluation: all runs of it share the total.
    line = canonical_json([str(options.data.absolute()), command_of(options, spec), part])
    spending = Spending(total or Budget(), cache, line)
    try:
        if options.estimate is not None:
            for each in paper_tables:
                each.estimate(spending.limits)
            if not agrees(options):
                return 0
        for each in paper_tables:
            each.fill(spending)
            each.write()
    except EvaluationStopped as stopped:
        print(f"atlaskit: {stopped}", file=sys.stderr)
        return 1
    failures = 0
    for each in paper_tables:
        failures += sum(map(_failures, each.found.values()))
    if failures:
        print(
            f"atlaskit: {failures} rows had a failed call; the same command with --rerun failures "
            "asks them again.",
            file=sys.stderr,
        )
    status = _figures(options, str(spec))
    return 1 if failures else status


def _figures(options: argparse.Namespace, model: str) -> int:
    """Run the notebooks of the figures, if their folder is given; return the exit status."""
    if options.notebooks is None:
        return 0
    given: dict[str, Any] = {"data": str(options.data.resolve())}
    if options.first is not None:
        given["first"] = options.first
    ran = run_all(options.notebooks, options.out, only=FIGURES, model=model, given=given)
    failures = [each.failure for each in ran if each.failure]
    if failures:
        print(f"atlaskit: {' '.join(failures)}", file=sys.stderr)
    return int(bool(failures))


def _failures(rows: pd.DataFrame) -> int:
    return int((rows["failure"] != "").sum())


def frames_near(wanted: int) -> dict[str, int]:
    """Return the settings of uniform sampling for about `wanted` frames in full images.

    Few frames are shown as 16 an image, many as MOST_PER_IMAGE. There are at most as many images
    as a request can hold.
    """
    per_image = 16 if wanted <= 16 * MOST_IMAGES else MOST_PER_IMAGE
    images = min(max(1, round(wanted / per_image)), MOST_IMAGES)
    return {"frames": images * per_image, "per_image": per_image}
