"""`atlaskit experiments` and `atlaskit run`: run notebooks headless."""

from __future__ import annotations

import argparse
from pathlib import Path

from atlaskit.cli.evaluate import literal
from atlaskit.cli.model import add_model_options, named_model
from atlaskit.cli.outputs import add_output
from atlaskit.cli.words import count
from atlaskit.errors import AtlasError
from atlaskit.experiments.notebook import run_notebook
from atlaskit.experiments.report import refresh_index, write_html
from atlaskit.experiments.runner import run_all

EXAMPLES = """examples:
  atlaskit experiments --scale smoke --model oracle
  atlaskit experiments --only 03,08 --scale full --out results"""
GIVEN = ("seeds", "data", "first", "workers")
"""The options that are parameters of notebooks."""
RUN_EXAMPLES = """examples:
  atlaskit run notebooks/01_quickstart.ipynb -p model oracle
  atlaskit run notebooks/*.ipynb --out results"""


def add_experiments_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `experiments` subcommand to the parser."""
    parser = commands.add_parser(
        "experiments",
        help="run all notebooks headless against one server and write a results page",
        description="If it is interrupted, run the same command again: it continues from the cached replies.",
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_experiments)
    parser.add_argument(
        "--notebooks", type=Path, default=Path("notebooks"), help="folder of the notebooks (default notebooks)"
    )
    add_output(parser, "--out", default=Path("figures"), metavar="FOLDER", help="output folder (default figures)")
    parser.add_argument("--scale", default="small", help="smoke, small or full (default small)")
    parser.add_argument("--only", default="", metavar="03,08", help="run only notebooks whose names start so")
    add_model_options(parser, "the one that the notebooks name; oracle is a program that knows the answers")
    parser.add_argument(
        "--seeds",
        metavar="RANGE",
        help="range of the synthetic worlds' seeds (default test; selection at the scale smoke)",
    )
    told = "folder of LongVideoBench or Video-MME, to ask its questions in place of the notebooks' own"
    parser.add_argument("--data", type=_folder, metavar="FOLDER", help=told)
    parser.add_argument("--first", type=count, metavar="N", help="ask the first N questions of --data")
    parser.add_argument("--workers", type=count, help="regions explored in each round")
    parser.add_argument("--replay", action="store_true", help="use cached replies only; make no model call")


def add_run_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `run` subcommand to the parser."""
    parser = commands.add_parser(
        "run",
        help="run notebooks headless with papermill",
        epilog=RUN_EXAMPLES,
    )
    parser.set_defaults(run=_run)
    parser.add_argument("notebooks", type=Path, nargs="+", help="notebook files")
    told = "folder for the executed notebooks (default figures)"
    add_output(parser, "--out", default=Path("figures"), metavar="FOLDER", help=told)
    parser.add_argument(
        "-p",
        nargs=2,
        action="append",
        default=[],
        dest="parameters",
        metavar=("NAME", "VALUE"),
        help="set a parameter, which every notebook must declare (default: as the notebooks have it)",
    )


def _experiments(options: argparse.Namespace) -> int:
    spec = named_model(options)
    ran = run_all(
        options.notebooks,
        options.out,
        scale=options.scale,
        only=[start for start in options.only.split(",") if start],
        model=None if spec is None else str(spec),
        given={name: value for name in GIVEN if (value := getattr(options, name)) is not None},
        replay=options.replay,
    )
    failed = [each for each in ran if each.failure]
    print(f"{len(ran) - len(failed)} of {len(ran)} notebooks finished: {options.out / 'index.html'}")
    if failed:
        raise AtlasError(" ".join(each.failure for each in failed))
    return 0


def _run(options: argparse.Namespace) -> int:
    parameters = {name: literal(value) for name, value in options.parameters}
    for notebook in options.notebooks:
        print(f"As a page: {write_html(run_notebook(notebook, options.out, parameters))}", flush=True)
    refresh_index(options.out)
    return 0


def _folder(text: str) -> str:
    return str(Path(text).resolve())
