"""`atlaskit run`: run notebooks headless, one or all, and collect results on one page."""

from __future__ import annotations

import argparse
from pathlib import Path

from atlaskit.cli.evaluate import literal
from atlaskit.cli.model import add_model_options, named_model
from atlaskit.cli.outputs import add_output
from atlaskit.errors import AtlasError
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
            "Several that ask a model on this machine share one server. If it is interrupted, run "
            "the same\ncommand again: it continues from the cached replies."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_run)
    told = "notebook files, or a folder of them (default notebooks)"
    parser.add_argument("notebooks", type=Path, nargs="*", default=[Path("notebooks")], help=told)
    add_output(
        parser,
        "--out",
        default=Path("figures"),
        metavar="FOLDER",
        help="output folder (default figures)",
    )
    parser.add_argument("--scale", default="small", help="smoke, small or full (default small)")
    parser.add_argument(
        "--only", default="", metavar="03,08", help="run only notebooks whose names start so"
    )
    add_model_options(
        parser, "the one that the notebooks name; oracle is a program that knows the answers"
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
    told = (
        "folder of LongVideoBench or Video-MME, to ask its questions in place of the notebooks' own"
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help=told)
    parser.add_argument(
        "--replay", action="store_true", help="use cached replies only; make no model call"
    )


def _run(options: argparse.Namespace) -> int:
    spec = named_model(options)
    given = {name: literal(value) for name, value in options.parameters}
    if options.data is not None:
        given["data"] = str(options.data.resolve())
    model = given.pop("model", None)
    ran = run_all(
        options.notebooks,
        options.out,
        scale=options.scale,
        only=[start for start in options.only.split(",") if start],
        model=model if spec is None else str(spec),
        given=given,
        replay=options.replay,
    )
    failed = [each for each in ran if each.failure]
    print(
        f"{len(ran) - len(failed)} of {len(ran)} notebooks finished: {options.out / 'index.html'}"
    )
    if failed:
        raise AtlasError(" ".join(each.failure for each in failed))
    return 0
