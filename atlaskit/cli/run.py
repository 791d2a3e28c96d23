"""`atlaskit run`: run notebooks headless, one or all, and collect results on one page."""

from __future__ import annotations

import argparse
from pathlib import Path

from atlaskit.cli.evaluate import literal
from atlaskit.cli.model import add_model_options, named_model
from atlaskit.cli.outputs import add_output, path_of
from atlaskit.errors import AtlasError, InputError, printable
from atlaskit.experiments.runner import run_all

EXAMPLES = """examples:
  atlaskit run notebooks/01_quickstart.ipynb --model oracle
  atlaskit run --scale smoke --model oracle
  atlaskit run --only 03,08 --scale full -p seeds selection -p workers 8 --out results"""


def add_run_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `run` subcommand to the parser."""
    parser = commands.add_parser(
        "run",
        description=(
            "Notebooks that ask a model on this machine share one server. If the command is "
            "interrupted, run it\nagain: it continues from the cached replies."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_run)
    parser.add_argument(
        "notebooks",
        type=path_of,
        nargs="*",
        default=[Path("notebooks")],
        help="notebook files, or a folder of them (default notebooks)",
    )
    add_output(
        parser,
        "--out",
        default=Path("figures"),
        metavar="FOLDER",
        help="folder for the executed notebooks, figures, tables and a page (default figures)",
    )
    parser.add_argument(
        "--scale",
        default="small",
        help=(
            "how much is asked: smoke (a few questions, to see that it runs), small or full "
            "(default small)"
        ),
    )
    parser.add_argument(
        "--only", default="", metavar="03,08", help="run only notebooks whose names begin so"
    )
    add_model_options(
        parser, "the one that the notebooks name; oracle is a scripted oracle, not a model"
    )
    parser.add_argument(
        "-p",
        nargs=2,
        action="append",
        default=[],
        dest="parameters",
        metavar=("NAME", "VALUE"),
        help="set a parameter of those notebooks that declare it, such as seeds or workers",
    )
    parser.add_argument(
        "--data",
        type=path_of,
        metavar="FOLDER",
        help="ask the questions of LongVideoBench or Video-MME in this folder, not the notebooks'",
    )
    parser.add_argument(
        "--replay", action="store_true", help="use cached replies only; make no model call"
    )


def _run(options: argparse.Namespace) -> int:
    spec = named_model(options)
    given = {name: literal(value) for name, value in options.parameters}
    if options.data is not None:
        if not options.data.is_dir():
            raise InputError(f"--data names a folder, and there is none: {options.data}.")
        given["data"] = str(options.data.resolve())
    model = given.pop("model", None)
    if spec is not None:
        model = str(spec)
    runs = run_all(
        options.notebooks,
        options.out,
        scale=options.scale,
        only=[prefix for prefix in options.only.split(",") if prefix],
        model=model,
        given=given,
        replay=options.replay,
    )
    failed = [run for run in runs if run.failure]
    page = printable(str(options.out / "index.html"))
    print(f"{len(runs) - len(failed)} of {len(runs)} notebooks finished: {page}")
    if failed:
        raise AtlasError(" ".join(run.failure for run in failed))
    return 0
