"""Run all notebooks against one server and collect their results on one page: `make experiments`.

A notebook that fails does not stop the others; the page shows the failure. Replies are cached, so
an interrupted run continues where it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from atlaskit.errors import InputError, check_whole
from atlaskit.experiments.notebook import NotebookError, declared_in, run_notebook
from atlaskit.experiments.record import NotebookRun
from atlaskit.experiments.report import record_run, write_index
from atlaskit.models.serving.server import serve
from atlaskit.models.spec import ModelSpec

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
"""Parameters of each scale, for notebooks that declare them; `small` is the notebooks' own."""


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
) -> list[NotebookRun]:
    """Run the notebooks of a folder in the order of their names and write `index.html` beside them.

    Notebooks that are not run this time keep their earlier section on the page.

    Args:
        folder: Folder of the notebooks.
        out: Folder for executed notebooks, figures, tables and the page.
        scale: Name of a set of parameters in `SCALES`.
        only: Prefixes of the names of the notebooks to run; empty for all.
        model: The words of a `ModelSpec`, or "oracle". A model on this machine is served once for
            all notebooks. Empty to let each notebook use its own.
        data: Folder of a dataset, for notebooks that have a parameter `data`.
        workers: Regions explored in each round, for notebooks that have a parameter `workers`.
        replay: Use cached replies only. Notebooks that ask an oracle ignore it: an oracle is a
            program that runs again.

    Raises:
        InputError: Before anything runs, for an unknown scale, a prefix that matches no notebook,
            or a parameter that no notebook has.
        ServerError: The model cannot be served.
    """
    if scale not in SCALES:
        raise InputError(f"scale must be {', '.join(SCALES)}; got {scale!r:.40}.")
    if workers is not None:
        check_whole("workers", workers)
    notebooks = _chosen(folder, only)
    declared = {notebook: declared_in(notebook) for notebook in notebooks}
    given: dict[str, Any] = {"data": data} if data else {}
    given |= {} if workers is None else {"workers": workers}
    if missing := [name for name in given if not any(name in names for names in declared.values())]:
        raise InputError(f"None of these notebooks has a parameter {missing[0]}.")
    settings = {"scale": scale, "model": model or "its own", **given, "replay": replay}
    runs = []
    with _serving(model, replay) as address:
        for number, notebook in enumerate(notebooks, start=1):
            own = declared[notebook]
            parameters = {**SCALES[scale], **given, **({"model": address} if model else {})}
            parameters = {name: value for name, value in parameters.items() if name in own}
            asks_oracle = parameters.get("model", own.get("model", "").strip("\"'")) == ORACLE
            parameters |= {"replay": True} if replay and "replay" in own and not asks_oracle else {}
            run = _run(notebook, out, parameters, settings)
            runs.append(run)
            write_index(out, [run])  # after each notebook, in case this run is interrupted
            print(f"[{number}/{len(notebooks)}] {notebook.stem}: {_summary(run)}", flush=True)
    return runs


def _chosen(folder: Path, only: Sequence[str]) -> list[Path]:
    notebooks = sorted(folder.glob("*.ipynb"))
    if not notebooks:
        raise InputError(f"There are no notebooks in {folder}.")
    for start in only:
        if not any(notebook.name.startswith(start) for notebook in notebooks):
            names = ", ".join(notebook.stem for notebook in notebooks)
            raise InputError(f"No notebook in {folder} starts with {start!r:.40}; there are {names}.")
    return [notebook for notebook in notebooks if not only or notebook.name.startswith(tuple(only))]


@contextmanager
def _serving(model: str, replay: bool) -> Iterator[str]:
    """Serve a model while notebooks run, and yield the words that name it in a notebook's folder.

    For an oracle, no model or a replay, start nothing. The options of the model's client stay.
    """
    if model in (ORACLE, ""):
        yield model
        return
    spec = ModelSpec.parse(model)
    if spec.model == ORACLE:
        raise InputError("The oracle is a program and takes no options of a model: leave them out.")
    if Path(spec.model).is_dir():
        spec = replace(spec, model=str(Path(spec.model).resolve()))
    if replay:
        yield str(spec)
        return
    with serve(spec) as vlm:
        yield str(replace(spec, model=vlm.base_url))


def _run(notebook: Path, out: Path, parameters: Mapping[str, Any], settings: Mapping[str, Any]) -> NotebookRun:
    began_s, failure = time.time(), ""
    try:
        run_notebook(notebook, out, parameters)
    except NotebookError as error:
        failure = str(error)
    return record_run(notebook, out, began_s=began_s, settings=settings, parameters=parameters, failure=failure)


def _summary(run: NotebookRun) -> str:
    return f"{run.failure or 'done'} ({run.seconds:.1f} s)"
