"""`atlaskit paper`: the paper's tables and figures on a dataset, by the paper's protocol."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit.agents.settings import PAPER
from atlaskit.benchmarks.case import Benchmark
from atlaskit.benchmarks.datasets.registry import DATASETS, dataset_in
from atlaskit.benchmarks.published import published
from atlaskit.benchmarks.tenhour import ten_hour
from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.model import (
    add_budget_options,
    add_model_options,
    add_money_options,
    asking,
    budget_of,
    goes_on,
    named_model,
)
from atlaskit.cli.outputs import add_output, count, positive
from atlaskit.cli.tables import rows_of
from atlaskit.errors import InputError
from atlaskit.evaluation import statistics, tables
from atlaskit.evaluation.costs import Spending
from atlaskit.evaluation.runner import EvaluationStopped, evaluate
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
UNIFORM, VIDEO_RLM, NATIVE = "uniform", "video-rlm", "native"
FRAMES = 160
EXAMPLES = """examples:
  atlaskit paper data/LongVideoBench --model Qwen/Qwen3-VL-8B-Instruct --first 30 --estimate 3"""


def add_paper_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `paper` subcommand to the parser."""
    parser = commands.add_parser(
        "paper",
        description="Uniform sampling, then the search with the paper's settings, on the long videos and on ten hours. "
        "If it is interrupted, run the same command again.",
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_paper)
    parser.add_argument("data", type=Path, help="folder of the dataset")
    add_model_options(parser)
    told = "folder for tables and figures (default figures/paper)"
    add_output(parser, "--out", default=Path("figures/paper"), metavar="FOLDER", help=told)
    parser.add_argument("--first", type=count, metavar="N", help="ask the first N questions")
    told = "add a row for native video (a server that takes videos: docs/evaluation.md)"
    parser.add_argument("--native", action="store_true", help=told)
    parser.add_argument("--hours", type=positive, default=10.0, help="hours of Table 2's videos (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the positions in ten hours (default 0)")
    parser.add_argument("--parallel", type=count, default=4, help="questions in flight at once (default 4)")
    parser.add_argument("--notebooks", type=Path, help="folder of the notebooks, to draw the figures as well")
    add_budget_options(parser)
    add_money_options(parser)
    add_cache_option(parser)


def _paper(options: argparse.Namespace) -> int:
    name = dataset_in(options.data).load.__name__  # its key, by which it is one of DATASETS
    if name not in PROTOCOL:
        raise InputError(f"The paper asks {' and '.join(PROTOCOL)}; {options.data} holds {name}.")
    spec, cache = named_model(options), Cache(options.cache)
    if spec is None:
        raise InputError("Name a model: --model Qwen/Qwen3-VL-8B-Instruct, or the address of an endpoint.")
    where, has_subtitles = PROTOCOL[name]
    asked = DATASETS[name].load(options.data, subtitles=has_subtitles).where(**where)[: options.first]
    prices = None if options.prices is None else read_prices(options.prices)
    total = budget_of(options, prices, "total_")
    how: dict[str, Any] = {
        "vlm": asking(as_model(spec, cache, data_parallel=copies_for(options.parallel)), options),
        "cache": cache,
    }
    how |= {"prices": prices, "parallel": options.parallel}
    how |= {} if (budget := budget_of(options, prices)) is None else {"budget": budget}
    spending = None if total is None else Spending(total)
    try:
        for table, suffix in TABLES:
            long = asked if suffix == "long" else ten_hour(asked, seed=options.seed, duration_s=3600 * options.hours)
            if not _table(options, table, f"{name}-{suffix}", long, how, spending):
                return 0
    except EvaluationStopped as stopped:
        print(f"atlaskit: {stopped}", file=sys.stderr)
        return 1
    if options.notebooks is not None:
        given = {"data": str(options.data.resolve()), **({"first": options.first} if options.first else {})}
        ran = run_all(options.notebooks, options.out, only=FIGURES, model=str(spec), given=given)
        if failed := [each.failure for each in ran if each.failure]:
            print(f"atlaskit: {' '.join(failed)}", file=sys.stderr)
            return 1
    return 0


def frames_near(wanted: int) -> dict[str, int]:
    """Return how many frames to show, in all and in an image: no more than a request holds."""
    per_image = 16 if wanted <= 16 * MOST_IMAGES else 64
    images = min(max(1, round(wanted / per_image)), MOST_IMAGES)
    return {"frames": images * per_image, "per_image": per_image}


def _rows(
    home: Path, name: str, ask: Callable[..., pd.DataFrame], cases: Benchmark, spending: Spending | None
) -> pd.DataFrame:
    """Ask the questions of a row of the table, with its rows so far in a file that is followed."""
    path = home.with_name(f"{home.name}-{name.replace(', ', '-').replace(' ', '-')}.csv")
    rows = rows_of(ask, cases, path, name, spending)
    tables.save(rows, path)
    return rows


def _table(
    options: argparse.Namespace,
    table: str,
    split: Any,
    cases: Benchmark,
    how: dict[str, Any],
    spending: Spending | None,
) -> bool:
    """Ask the questions of a table, write it beside the published rows; return whether to go on."""
    import pandas as pd

    sampling = {"frames": FRAMES, "size": 320}
    ask: dict[str, Callable[..., pd.DataFrame]] = {
        UNIFORM: partial(evaluate, method=UNIFORM, **{**how, **sampling}),
        VIDEO_RLM: partial(evaluate, method=VIDEO_RLM, **{**how, "search": PAPER}),
    }
    if options.native:
        ask[NATIVE] = partial(evaluate, method=NATIVE, **how)
    if options.estimate is not None and not goes_on(options, ask, cases, spending.limits if spending else None):
        return False
    home = options.out / f"{table}-{split}"
    found = {name: _rows(home, name, each, cases, spending) for name, each in ask.items()}
    tokens = {name: rows["tokens"].mean() for name, rows in found.items()}
    if tokens[UNIFORM] and tokens[VIDEO_RLM]:
        wanted = round(FRAMES * tokens[VIDEO_RLM] / tokens[UNIFORM])
        more = frames_near(wanted)
        name = f"{UNIFORM}, {more['frames']} frames"
        found[name] = _rows(home, name, partial(ask[UNIFORM], **more), cases, spending)
        if wanted > more["frames"]:
            print(f"As many tokens as the search took would be {wanted:,} frames; a request holds {more['frames']:,}.")
    ours = statistics.comparison(found, UNIFORM).rename(columns={"method": "system"})
    ours = ours.assign(source="this run", failed=[int((rows["failure"] != "").sum()) for rows in found.values()])
    theirs = pd.DataFrame([vars(each) for each in published(split)]).drop(columns="split")
    shown = ["system", "questions", "score", "low", "high", "difference", "difference_low", "difference_high", "p"]
    whole = pd.concat([ours, theirs], ignore_index=True)[[*shown, "tokens", "failed", "subtitles", "source"]]
    whole.to_csv(home.with_suffix(".csv"), index=False)
    print(f"\n{table}, {split}: {home}.csv, and {home}-*.csv, the rows of each system with their cards.")
    print(f"Differences are those to {UNIFORM}, question by question.")
    print(whole.to_string(index=False, na_rep="", float_format="{:,.3g}".format))
    return True
