"""`atlaskit demo`: a film, a question about it, how the answer was found, and what to try next."""

from __future__ import annotations

import argparse
import csv
import inspect
import io
import shutil
import sys
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
    asking,
    named_model,
    told_of_kept,
)
from atlaskit.cli.outputs import add_output
from atlaskit.errors import InputError, printable
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import as_model
from atlaskit.video.subtitles.files import subtitles_beside
from atlaskit.viz import walk

MINUTES, WORLDS = 5, 1
"""Length of the film, and how many there are."""
ASKED = 10
"""Questions in the table."""
EXAMPLES = """examples:
  atlaskit demo
  atlaskit demo --model http://127.0.0.1:8000/v1 Qwen/Qwen3-VL-8B-Instruct"""


def add_demo_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `demo` subcommand to the parser."""
    parser = commands.add_parser(
        "demo",
        description=(
            "Make a film of five minutes with questions about it, ask one, and write how the "
            "answer was found as a page. It needs no model and no network."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_demo)
    add_model_options(parser, "a scripted oracle, not a model, gives the answers")
    add_yes_option(parser)
    told = "folder for the film, its questions and the page (default atlaskit-demo)"
    add_output(parser, "--out", default=Path("atlaskit-demo"), metavar="FOLDER", help=told)
    add_cache_option(parser)


def _demo(options: argparse.Namespace) -> int:
    name = next((each for each in guests.registered(guests.ORACLES) if _is_benchmark(each)), None)
    if name is None:
        raise InputError("No installed package brings films with questions, so there is no demo.")
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    print(f"Making a film of {MINUTES} minutes, which takes half a minute …", flush=True)
    cases = _questions(name, options.cache / name)
    film = _film(cases[0], out)
    _write_table(cases[:ASKED], film.name, out / "questions.csv")
    cache = Cache(options.cache)
    spec = named_model(options)
    case = cases[0]
    vlm: Model
    if spec is None:
        vlm = model_for(partial(guests.load(guests.ORACLES, name), miss=0.0, confuse=0.0), case)
        print("A scripted oracle, not a model, gives the answers (--model asks a model).")
    else:
        vlm = asking(as_model(spec, cache, keep=True), options)
    with told_of_kept(vlm):
        result = ask(case.opened(), case.question, vlm=vlm, cache=cache, show=True)
    print(result)
    walk.save(result, out / "run.html")
    shown = printable(str(out), 120)
    print(
        f"\nHow it was found, step by step: open {shown}/run.html in a browser. Next, try\n"
        f"  atlaskit explore {shown}/{film.name}\n"
        f'  atlaskit ask {shown}/{film.name} "{case.question.text}" --model MODEL\n'
        f"  atlaskit evaluate {shown}/questions.csv --model MODEL\n"
        "and then a film of your own.",
        file=sys.stdout,
    )
    return 0


def _is_benchmark(name: str) -> bool:
    return name in guests.registered(guests.BENCHMARKS)


def _questions(name: str, root: Path) -> Sequence[Case]:
    """Return the questions with choices about one film, which is made on first use."""
    load: Callable[..., Benchmark] = guests.load(guests.BENCHMARKS, name)
    taken = inspect.signature(load).parameters
    size = {"worlds": WORLDS, "minutes": MINUTES}
    bench = load(root, **{key: value for key, value in size.items() if key in taken})
    return [case for case in bench if case.question.kind == "choice"]


def _film(case: Case, out: Path) -> Path:
    """Copy a case's film, and the subtitles beside it, to a folder; return the film."""
    source = Path(str(getattr(case.opened(), "path", "")))
    film = out / f"film{source.suffix}"
    shutil.copyfile(source, film)
    lines = subtitles_beside(source)
    if lines is not None:
        shutil.copyfile(lines, film.with_suffix(lines.suffix))
    return film


def _write_table(cases: Sequence[Case], film: str, path: Path) -> None:
    """Write questions as a table that `evaluate` takes, and that a person can go on with."""
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
