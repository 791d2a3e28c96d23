"""`atlaskit experiments` and `atlaskit run`: run notebooks headless."""

from __future__ import annotations

import argparse
from pathlib import Path

from atlaskit.cli.evaluate import literal
from atlaskit.errors import AtlasError
from atlaskit.experiments.notebook import run_notebook
from atlaskit.experiments.runner import run_all


def add_experiments_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `experiments` to the commands of the command line."""
    running = commands.add_parser(
        "experiments",
        help="run all notebooks headless, on one server, and make a page of them",
        description="Killed, the same command goes on where it was: what was asked is in the cache.",
    )
    running.set_defaults(run=_experiments)
    running.add_argument("--notebooks", type=Path, default=Path("notebooks"), help="their folder (notebooks)")
    running.add_argument("--out", type=Path, default=Path("figures"), help="where all of it goes (figures)")
    running.add_argument("--scale", default="small", help="smoke, small or full (small)")
    running.add_argument("--only", default="", metavar="03,08", help="those whose names begin so")
    running.add_argument(
        "--model",
        default="",
        help="for all of them: oracle, or what vLLM serves: nano, a folder, a name, an address (each its own)",
    )
    running.add_argument(
        "--data", default="", metavar="FOLDER", help="of LongVideoBench or Video-MME, for the benchmarks"
    )
    running.add_argument("--workers", type=int, help="regions explored at once, in each search")
    running.add_argument("--replay", action="store_true", help="ask no model: only what is recorded counts")


def add_run_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `run` to the commands."""
    running = commands.add_parser("run", help="run notebooks headless")
    running.set_defaults(run=_run)
    running.add_argument("notebooks", type=Path, nargs="+")
    running.add_argument("--out", type=Path, default=Path("figures"), help="where executed notebooks go (figures)")
    running.add_argument(
        "-p",
        nargs=2,
        action="append",
        default=[],
        dest="parameters",
        metavar=("NAME", "VALUE"),
        help="a parameter, which all of them must declare",
    )


def _experiments(options: argparse.Namespace) -> int:
    ran = run_all(
        options.notebooks,
        options.out,
        scale=options.scale,
        only=[start for start in options.only.split(",") if start],
        model=str(Path(options.model).resolve()) if options.model and Path(options.model).is_dir() else options.model,
        data=str(Path(options.data).resolve()) if options.data else "",
        workers=options.workers,
        replay=options.replay,
    )
    failed = [each for each in ran if each.failure]
    print(f"{len(ran) - len(failed)} of {len(ran)} notebooks ran to their ends: {options.out / 'index.html'}")
    if failed:
        raise AtlasError(" ".join(each.failure for each in failed))
    return 0


def _run(options: argparse.Namespace) -> int:
    parameters = {name: literal(value) for name, value in options.parameters}
    for notebook in options.notebooks:
        run_notebook(notebook, options.out, parameters)
    return 0
