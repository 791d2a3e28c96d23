"""All notebooks in their order, against one server, and a page of what came of them: `make experiments`.

A notebook that fails stops nothing: the others run, and the page says what failed. What was asked before comes out of
the cache, so that a run that was killed goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atlaskit.errors import InputError, check_whole
from atlaskit.experiments.notebook import NotebookError, declared_in, run_notebook
from atlaskit.experiments.report import NotebookRun, made_since, title, write_html, write_index
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
) -> list[NotebookRun]:
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


def _run(notebook: Path, out: Path, parameters: Mapping[str, Any], settings: Mapping[str, Any]) -> NotebookRun:
    began, since_s, failure = time.monotonic(), time.time(), ""
    try:
        executed = run_notebook(notebook, out, parameters)
    except NotebookError as error:
        executed, failure = out / notebook.name, str(error)
    if notebook.name in made_since(out, notebook.stem, since_s):
        write_html(executed)
    return NotebookRun(
        notebook.stem,
        title(notebook),
        datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        time.monotonic() - began,
        settings,
        parameters,
        made_since(out, notebook.stem, since_s),  # not what an earlier run left, where this one failed
        failure,
    )


def _told(ran: NotebookRun) -> str:
    return f"{ran.failure or 'done'} ({ran.seconds:.1f} s)"
