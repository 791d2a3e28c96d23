"""`atlaskit demo`: makes a film, asks a question about it, and shows how the answer was found."""

from __future__ import annotations

import argparse
import csv
import filecmp
import inspect
import io
import shlex
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from atlaskit import guests
from atlaskit.agents.search import ask
from atlaskit.benchmarks.case import Benchmark, Case, model_for
from atlaskit.caching.cache import Cache
from atlaskit.caching.files import write_whole
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.model import (
    add_model_options,
    add_yes_option,
    named_model,
    server_notice,
    with_consent,
)
from atlaskit.cli.outputs import add_output
from atlaskit.errors import InputError, printable
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import as_model
from atlaskit.video.subtitles.files import subtitles_beside
from atlaskit.viz import walk

MINUTES = 5
"""Length of the film."""
MOST_QUESTIONS = 10
"""Questions in the table."""
EXAMPLES = """examples:
  atlaskit demo
  atlaskit demo --model http://127.0.0.1:8000/v1 Qwen/Qwen3-VL-8B-Instruct"""


def add_demo_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `demo` subcommand to the parser."""
    parser = commands.add_parser(
        "demo",
        description=(
            "Make a film of five minutes with questions about it, ask one of them, and write how "
            "the answer\nwas found as a page. It needs no model and no network."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_demo)
    add_model_options(parser, "a scripted oracle, not a model, gives the answers")
    add_yes_option(parser)
    add_output(
        parser,
        "--out",
        default=Path("atlaskit-demo"),
        metavar="FOLDER",
        help="folder for the film, its questions and the page (default atlaskit-demo)",
    )
    add_cache_option(parser)


def _demo(options: argparse.Namespace) -> int:
    benchmarks = guests.registered(guests.BENCHMARKS)
    names = [each for each in guests.registered(guests.ORACLES) if each in benchmarks]
    if not names:
        raise InputError("No installed package brings films with questions, so there is no demo.")
    name = names[0]
    spec = named_model(options)
    cache = Cache(options.cache)
    out: Path = options.out
    print(f"Making a film of {MINUTES} minutes, which takes half a minute …", flush=True)
    cases = _questions(name, options.cache / name)
    case = cases[0]
    film = _copy_film(case, out)
    _write_table(cases[:MOST_QUESTIONS], film.name, out / "questions.csv")
    vlm: Model
    if spec is None:
        vlm = model_for(partial(guests.load(guests.ORACLES, name), miss=0.0, confuse=0.0), case)
        print("A scripted oracle, not a model, gives the answers (--model asks a model).")
    else:
        vlm = with_consent(as_model(spec, cache, keep=True), options)
    with server_notice(vlm):
        result = ask(case.opened(), case.question, vlm=vlm, cache=cache, show=True)
    print(result)
    walk.save(result, out / "run.html")
    shown = printable(str(out))
    film_here = shlex.quote(f"{shown}/{film.name}")
    table_here = shlex.quote(f"{shown}/questions.csv")
    words = [shlex.quote(printable(case.question.text))]
    for choice in case.question.choices:
        words += ["--choice", shlex.quote(printable(choice))]
    question = " ".join(words)
    print(
        f"\nHow it was found, step by step: open {shown}/run.html in a browser. Next, try\n"
        f"  atlaskit explore {film_here}\n"
        f"  atlaskit ask {film_here} {question} --model MODEL\n"
        f"  atlaskit evaluate {table_here} --model MODEL\n"
        "and then a film of your own."
    )
    return 0


def _questions(name: str, root: Path) -> Sequence[Case]:
    """Return the questions with choices about one film, which is made on first use.

    Args:
        name: The benchmark of the film.
        root: The folder for the film.
    """
    load: Callable[..., Benchmark] = guests.load(guests.BENCHMARKS, name)
    accepted = inspect.signature(load).parameters
    size = {"worlds": 1, "minutes": MINUTES}
    options = {key: value for key, value in size.items() if key in accepted}
    bench = load(root, **options)
    return [case for case in bench if case.question.kind == "choice"]


def _copy_film(case: Case, out: Path) -> Path:
    """Copy a case's film, and the subtitles beside it, to a folder; return the path of the copy.

    Raises:
        InputError: The folder has another file of that name, which would be overwritten.
    """
    source = Path(str(getattr(case.opened(), "path", "")))
    film = out / f"film{source.suffix}"
    copies = {film: source}
    lines = subtitles_beside(source)
    if lines is not None:
        copies[film.with_suffix(lines.suffix)] = lines
    for copy, original in copies.items():
        if copy.exists() and not filecmp.cmp(copy, original, shallow=False):
            raise InputError(
                f"{printable(str(copy), 200)} is there already and is not the demo's: name another "
                "folder with --out."
            )
    out.mkdir(parents=True, exist_ok=True)
    for copy, original in copies.items():
        shutil.copyfile(original, copy)
    return film


def _write_table(cases: Sequence[Case], film: str, path: Path) -> None:
    """Write questions as a table that `evaluate` reads.

    An existing table stays as it is, since a person may have added questions to it.
    """
    if path.exists():
        return
    most = max(len(case.question.choices) for case in cases)
    letters = [chr(ord("A") + number) for number in range(most)]
    text = io.StringIO()
    table = csv.DictWriter(text, ["video", "question", *letters, "answer", "category"])
    table.writeheader()
    for case in cases:
        question = case.question
        row = dict(zip(letters, question.choices, strict=False))
        row |= {"video": film, "question": question.text, "category": question.category}
        if isinstance(question.answer, int):
            row["answer"] = letters[question.answer]
        table.writerow(row)
    write_whole(path, text.getvalue())
