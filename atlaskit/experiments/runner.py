"""Run notebooks against one server and collect their results on one page: `make experiments`.

A notebook that fails does not stop the others; the page shows the failure. Replies are cached, so
an interrupted run continues where it stopped.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atlaskit.errors import InputError
from atlaskit.experiments.notebook import NotebookError, declared_in, run_apart, run_notebook
from atlaskit.experiments.page import NotebookRun
from atlaskit.experiments.report import record_run, write_index
from atlaskit.guests import MODELS, registered
from atlaskit.models.client import VLM
from atlaskit.models.protocol import ModelError
from atlaskit.models.serving.server import serve
from atlaskit.models.spec import ModelSpec, is_address

ORACLE = "oracle"
SCALES: dict[str, dict[str, Any]] = {
    "smoke": {
        "worlds": 2,
        "questions": 1,
        "written": 8,
        "seeds": "selection",
        "hours": 0.5,
        "minutes": [20, 30],
        "captioned": [20],
        "compared": [20],
        "calls": 16,
        "depths": [0, 1, 2],
        "worker_counts": [1, 3],
        "served_worker_counts": [1, 3],
        "latency_s": 0.02,
        "episodes": 4,
    },
    "small": {},
    "full": {
        "worlds": 30,
        "questions": 12,
        "minutes": [20, 60, 180, 300, 600],
        "captioned": [20, 60, 180, 300, 600],
        "compared": [20, 60, 180, 300, 600],
        "depths": [0, 1, 2, 3, 4],
        "served_worlds": 30,
        "served_minutes": 600,
        "served_worker_counts": [1, 3, 5, 7, 16],
        "episodes": 200,
    },
}
"""Parameters of each scale, for notebooks that declare them; `small` is the notebooks' own."""
TOGETHER = 2
"""Notebooks that are replayed at a time: a replay waits for no server and keeps one core busy."""


@dataclass(frozen=True)
class _Asked:
    """The model that notebooks ask.

    Attributes:
        words: What names it in a notebook's folder.
        vlm: The client of its server, or None if no server is needed.
    """

    words: str
    vlm: VLM | None = None

    def answered(self) -> int | None:
        """Return how many calls the server has answered; None if it does not count them."""
        if self.vlm is None or not self.vlm.dialect.counters:
            return None
        try:
            return self.vlm.counters()["requests"]
        except ModelError:  # a server that died fails the notebooks that ask it, and they say so
            return None


def run_all(
    places: Path | Sequence[Path],
    out: Path,
    *,
    scale: str = "small",
    only: Sequence[str] = (),
    model: str | None = None,
    given: Mapping[str, Any] | None = None,
    replay: bool = False,
) -> list[NotebookRun]:
    """Run notebooks in the order of their names and write `index.html` beside what they made.

    Notebooks that are not run this time keep their earlier section on the page.

    Args:
        places: Notebooks, or folders of them.
        out: Folder for executed notebooks, figures, tables and the page.
        scale: Name of a set of parameters in `SCALES`.
        only: Prefixes of the names of the notebooks to run; empty for all.
        model: The words of a `ModelSpec`, or "oracle"; None for the one that the notebooks name. A
            model on this machine is served once for all notebooks that ask one; a single notebook
            starts it itself, if it makes a call.
        given: Parameters for those notebooks that have them, such as `seeds`, `data`, `first` and
            `workers`.
        replay: Use cached replies only. Oracles are programs and run again.

    Raises:
        InputError: Before anything runs, for an unknown scale, a prefix that matches no notebook,
            or a parameter that no notebook has.
        ServerError: The model cannot be served.
    """
    if scale not in SCALES:
        raise InputError(f"scale must be {', '.join(SCALES)}; got {scale!r:.40}.")
    notebooks = _chosen([places] if isinstance(places, Path) else places, only)
    declared = {notebook: declared_in(notebook) for notebook in notebooks}
    given = given or {}
    if missing := [name for name in given if not any(name in names for names in declared.values())]:
        raise InputError(f"None of these notebooks has a parameter {missing[0]}.")
    model = _named_by(declared) if model is None else model
    settings = {"scale": scale, "model": model, **given, "replay": replay}
    runs = []
    asking = 0 if replay else sum("model" in names for names in declared.values())
    with _serving(model, asking) as asked:
        parameters = {**SCALES[scale], **given, "model": asked.words}
        parameters |= {"replay": True} if replay and model != ORACLE else {}
        before = asked.answered()
        for number, run in enumerate(_runs(declared, out, parameters, settings), start=1):
            runs.append(run)
            write_index(out, [run])  # after each notebook, in case this run is interrupted
            after = asked.answered()
            summary = _summary(run, before, after, notebooks[number:])
            print(f"[{number}/{len(notebooks)}] {run.name}: {summary}", flush=True)
            before = after
    return runs


def _chosen(places: Sequence[Path], only: Sequence[str]) -> list[Path]:
    """Return the notebooks in some places whose names begin with one of the words, if any."""
    found = list[Path]()
    for place in places:
        notebooks = sorted(place.glob("*.ipynb")) if place.is_dir() else [place]
        if not notebooks:
            raise InputError(f"There are no notebooks in {place}.")
        found += notebooks
    if missing := next((notebook for notebook in found if not notebook.is_file()), None):
        raise InputError(f"There is no notebook {missing}.")
    for start in only:
        if not any(notebook.name.startswith(start) for notebook in found):
            names = ", ".join(notebook.stem for notebook in found)
            raise InputError(f"No notebook starts with {start!r:.40}; there are {names}.")
    return [notebook for notebook in found if not only or notebook.name.startswith(tuple(only))]


def _named_by(declared: Mapping[Path, Mapping[str, str]]) -> str:
    """Return the model that notebooks name, by the first that names one."""
    for names in declared.values():
        if "model" in names:
            return str(ast.literal_eval(names["model"]))
    return ORACLE


@contextmanager
def _serving(model: str, asking: int) -> Iterator[_Asked]:
    """Serve a model while notebooks run, and yield it. The options of the model's client stay.

    Args:
        model: The words of a `ModelSpec`, or "oracle".
        asking: How many of the notebooks ask it.
    """
    if model == ORACLE:
        yield _Asked(model)
        return
    spec = ModelSpec.parse(model)
    if spec.model == ORACLE:
        raise InputError("The oracle is a program and takes no options of a model: leave them out.")
    if Path(spec.model).is_dir() and spec.model not in registered(MODELS):
        spec = replace(spec, model=str(Path(spec.model).resolve()))
    if not asking or (asking == 1 and not is_address(spec.model)):
        yield _Asked(str(spec))
        return
    with serve(spec, data_parallel="auto") as vlm:
        yield _Asked(str(replace(spec, model=vlm.base_url)), vlm)


def _runs(
    declared: Mapping[Path, Mapping[str, str]],
    out: Path,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Iterator[NotebookRun]:
    """Run notebooks, each with the parameters that it declares, and yield their runs in order."""
    own = {
        path: {name: parameters[name] for name in parameters if name in names}
        for path, names in declared.items()
    }
    if not settings["replay"]:
        yield from (_run(path, out, values, settings) for path, values in own.items())
        return
    with ThreadPoolExecutor(TOGETHER) as pool:
        yield from pool.map(lambda path: _run(path, out, own[path], settings, is_apart=True), own)


def _run(
    notebook: Path,
    out: Path,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
    is_apart: bool = False,
) -> NotebookRun:
    began_s = time.time()
    failure = ""
    try:
        if is_apart:
            print(run_apart(notebook, out, parameters), end="", flush=True)
        else:
            run_notebook(notebook, out, parameters)
    except NotebookError as error:
        failure = str(error)
    return record_run(
        notebook, out, began_s=began_s, settings=settings, parameters=parameters, failure=failure
    )


def _summary(
    run: NotebookRun, before: int | None, after: int | None, to_come: Sequence[Path]
) -> str:
    """Return how a notebook ended, its seconds and calls, and which notebooks are still to come."""
    calls = "" if before is None or after is None else f", {after - before:,} calls"
    if to_come:
        left = f"; still to come: {', '.join(path.stem.partition('_')[0] for path in to_come)}"
    else:
        left = ""
    return f"{run.failure or 'done'} ({run.seconds:.1f} s{calls}){left}"
