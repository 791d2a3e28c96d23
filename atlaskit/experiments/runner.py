"""All notebooks in their order, against one server, and a page of what came of them: `make experiments`.

A notebook that fails stops nothing: the others run, and the page says what failed. What was asked before comes out of
the cache, so that a run that was killed goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atlaskit.errors import AtlasError, InputError, check_whole
from atlaskit.experiments.notebook import NotebookError, declared_in, run_notebook
from atlaskit.experiments.report import Ran, made_since, title, write_html, write_index
from atlaskit.models.serving.server import serve

ORACLE = "oracle"
SCALES: dict[str, dict[str, Any]] = {
    "smoke": {
        "worlds": 2,
        "questions": 1,
        "hours": 0.2,
        "minutes": [10, 12],
        "calls": 8,
        "depths": [0, 1],
        "worker_counts": [1, 3],
        "latency_s": 0.02,
    },
    "small": {},
    "full": {"worlds": 30, "questions": 12, "minutes": [10, 60, 180, 300, 600], "worker_counts": [1, 3, 5, 7, 16]},
}
"""Parameters of a scale, for those notebooks that have them; at `small` each keeps its own."""


def run_all(
    folder: Path,
    out: Path,
    *,
    scale: str = "small",
    only: Sequence[str] = (),
    model: str = "",
    data: str = "",
    workers: int | None = None,
    replay: bool = False,
) -> list[Ran]:
    """Run the notebooks of a folder in the order of their names, and write `index.html` beside what they made; what is
    not run this time stays on the page as it was.

    `only` names some by how their names begin. `model` is served once for all of them; without it, each asks whom it
    names itself. Of an oracle, which is a program, nothing has to be recorded, so `replay` is for what else is asked.
    Raises InputError before anything runs: for an unknown scale, no such notebook, or a parameter that none has;
    ServerError where the model cannot be served.
    """
    if scale not in SCALES:
        raise InputError(f"A scale is {', '.join(SCALES)}, got {scale!r:.40}.")
    if workers is not None:
        check_whole("workers", workers)
    notebooks = _chosen(folder, only)
    declared = {notebook: declared_in(notebook) for notebook in notebooks}
    given: dict[str, Any] = {"data": data} if data else {}
    given |= {} if workers is None else {"workers": workers}
    if missing := [name for name in given if not any(name in names for names in declared.values())]:
        raise InputError(f"None of these notebooks has {missing[0]}, so it cannot be set for them.")
    ran = []
    with _served(model, replay) as address:
        for number, notebook in enumerate(notebooks, start=1):
            own = declared[notebook]
            parameters = {**SCALES[scale], **given, **({"model": address} if model else {})}
            parameters = {name: value for name, value in parameters.items() if name in own}
            asks_oracle = parameters.get("model", own.get("model", "").strip("\"'")) == ORACLE
            parameters |= {"replay": True} if replay and "replay" in own and not asks_oracle else {}
            done = _run(notebook, out, parameters, {"scale": scale, "model": model or "its own", "replay": replay})
            ran.append(done)
            write_index(out, [done])  # at once: who is killed finds what was done
            print(f"[{number}/{len(notebooks)}] {notebook.stem}: {_told(done)}", flush=True)
    return ran


def _chosen(folder: Path, only: Sequence[str]) -> list[Path]:
    notebooks = sorted(folder.glob("*.ipynb"))
    if not notebooks:
        raise InputError(f"There are no notebooks in {folder}.")
    for start in only:
        if not any(notebook.name.startswith(start) for notebook in notebooks):
            names = ", ".join(notebook.stem for notebook in notebooks)
            raise InputError(f"No notebook in {folder} begins with {start!r:.40}; there are {names}.")
    return [notebook for notebook in notebooks if not only or notebook.name.startswith(tuple(only))]


@contextmanager
def _served(model: str, replay: bool) -> Iterator[str]:
    """Serve a model while notebooks run; yield what they are told of it. Nothing is started for an oracle, for none, or
    where all replies are recorded."""
    if model in (ORACLE, "") or replay:
        yield model
        return
    with serve(model) as vlm:
        yield vlm.base_url


def _run(notebook: Path, out: Path, parameters: Mapping[str, Any], settings: Mapping[str, Any]) -> Ran:
    began, since_s, failure = time.monotonic(), time.time(), ""
    try:
        executed = run_notebook(notebook, out, parameters)
    except NotebookError as error:
        executed, failure = out / notebook.name, str(error)
    if notebook.name in made_since(out, notebook.stem, since_s):
        write_html(executed)
    return Ran(
        notebook.stem,
        title(notebook),
        datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        time.monotonic() - began,
        settings,
        parameters,
        made_since(out, notebook.stem, since_s),  # not what an earlier run left, where this one failed
        failure,
    )


def _told(ran: Ran) -> str:
    return f"{ran.failure or 'done'} ({ran.seconds:.1f} s)"


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
