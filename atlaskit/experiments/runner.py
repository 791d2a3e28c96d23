"""Runs notebooks with one model and collects their results on one page: `make experiments`.

A notebook that fails does not stop the others; the page shows the failure. Replies are cached, so
rerunning after an interruption makes only the calls that are missing.
"""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atlaskit.errors import InputError
from atlaskit.experiments.notebook import NotebookError, declared_in, run_apart, run_notebook
from atlaskit.experiments.page import NotebookRun, record_run, write_index
from atlaskit.guests import MODELS, registered
from atlaskit.models.client import VLM
from atlaskit.models.names import resolve_model
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
"""Parameters of each scale, for the notebooks that declare them. "small" keeps the notebooks' own
values."""
TOGETHER = 2
"""Notebooks that are replayed at the same time. A replay needs a processor core, and no server."""


@dataclass(frozen=True)
class _AskedModel:
    """The model that the notebooks ask."""

    words: str
    """The words of its `ModelSpec`: the value of the notebooks' parameter `model`."""
    vlm: VLM | None = None
    """The client of its server; None if `run_all` serves no model."""

    def answered_calls(self) -> int | None:
        """Return how many calls the server has answered; None if it does not count them."""
        if self.vlm is None or not self.vlm.dialect.counters:
            return None
        try:
            return self.vlm.counters()["requests"]
        except ModelError:  # the server died, which the notebooks that call it report
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
    """Run notebooks one by one, those of a folder by their names, and write a results page.

    Notebooks that are not run this time keep their earlier section on the page, `index.html`, under
    the conditions that `write_index` names. A replay runs several at the same time.

    Args:
        places: Notebooks, or folders of notebooks.
        out: Folder for executed notebooks, figures, tables and the page.
        scale: Name of a set of parameters in `SCALES`.
        only: Prefixes of the names of the notebooks to run; empty for all.
        model: The words of a `ModelSpec`, or "oracle"; None for the model that the notebooks name.
            A model on this machine is served once for all notebooks that have a parameter `model`.
            If only one of them has it, that notebook starts the server itself at its first call.
        given: Parameters for those notebooks that have them, such as `seeds`, `data`, `first` and
            `workers`.
        replay: Whether to use cached replies only. An oracle is no model, and answers again.

    Raises:
        InputError: The scale is unknown, a prefix matches no notebook, or no notebook has one of
            the parameters. Nothing has run then.
        ServerError: The model cannot be served.
    """
    if scale not in SCALES:
        raise InputError(f"scale must be {', '.join(SCALES)}; got {scale!r:.40}.")
    notebooks = _chosen([places] if isinstance(places, Path) else places, only)
    declared = {notebook: declared_in(notebook) for notebook in notebooks}
    for name in given or {}:
        if not any(name in names for names in declared.values()):
            raise InputError(f"None of these notebooks has a parameter {name}.")
    asking = sum("model" in names for names in declared.values())
    if model is None:
        model = _model_of(declared)
    settings = {"scale": scale, "model": model, **(given or {}), "replay": replay}
    runs = []
    with _serving(model, 0 if replay else asking) as asked:
        parameters = {**SCALES[scale], **(given or {}), "model": asked.words}
        if replay and model != ORACLE:
            parameters["replay"] = True
        before = asked.answered_calls()
        for number, run in enumerate(_runs(declared, out, parameters, settings), start=1):
            runs.append(run)
            write_index(out, [run])  # after each notebook, in case this run is interrupted
            after = asked.answered_calls()
            summary = _summary(run, before, after, notebooks[number:])
            print(f"[{number}/{len(notebooks)}] {run.name}: {summary}", flush=True)
            before = after
    return runs


def _chosen(places: Sequence[Path], only: Sequence[str]) -> list[Path]:
    """Return the notebooks in some places; only those with certain prefixes, if there are any.

    Args:
        places: See `run_all`.
        only: Prefixes of names.

    Raises:
        InputError: A place has no notebook, or no notebook has one of the prefixes.
    """
    found = list[Path]()
    for place in places:
        notebooks = [place]
        if place.is_dir():
            notebooks = sorted(place.glob("*.ipynb"))
        if not notebooks:
            raise InputError(f"There are no notebooks in {place}.")
        found += notebooks
    for notebook in found:
        if not notebook.is_file():
            raise InputError(f"There is no notebook {notebook}.")
    if not only:
        return found
    chosen = set[Path]()
    for prefix in only:
        matching = {notebook for notebook in found if notebook.name.startswith(prefix)}
        if not matching:
            names = ", ".join([notebook.stem for notebook in found])
            raise InputError(f"No notebook starts with {prefix!r:.40}; there are {names}.")
        chosen |= matching
    return sorted(chosen, key=found.index)


def _model_of(declared: Mapping[Path, Mapping[str, str]]) -> str:
    """Return the value of the first parameter `model` in the notebooks; "oracle" without one."""
    for names in declared.values():
        if "model" in names:
            return str(ast.literal_eval(names["model"]))
    return ORACLE


@contextmanager
def _serving(model: str, asking: int) -> Iterator[_AskedModel]:
    """Serve a model while notebooks run, if several of them ask it, and yield what they ask.

    Args:
        model: The words of a `ModelSpec`, whose options stay the same, or "oracle".
        asking: How many notebooks ask the model; 0 for a replay, which needs no server.
    """
    if model == ORACLE:
        yield _AskedModel(model)
        return
    spec = ModelSpec.parse(model)
    if spec.model == ORACLE:
        raise InputError("The oracle is a program and takes no options of a model: leave them out.")
    if Path(spec.model).is_dir() and spec.model not in registered(MODELS):
        spec = replace(spec, model=str(Path(spec.model).resolve()))
    if not asking:
        yield _AskedModel(str(spec))
        return
    if asking == 1 and not is_address(spec.model):
        resolve_model(spec.model)  # raises for an unknown name, before the notebook runs
        yield _AskedModel(str(spec))
        return
    with serve(spec, data_parallel="auto") as vlm:
        yield _AskedModel(str(replace(spec, model=vlm.base_url)), vlm)


def _runs(
    declared: Mapping[Path, Mapping[str, str]],
    out: Path,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Iterator[NotebookRun]:
    """Run notebooks, each with the parameters that it declares, and yield their runs in order."""
    own = dict[Path, dict[str, Any]]()
    for path, names in declared.items():
        own[path] = {name: parameters[name] for name in parameters if name in names}
    if not settings["replay"]:
        for path, values in own.items():
            yield _run(path, out, values, settings)
        return
    print(
        f"Replaying at most {TOGETHER} notebooks at a time; each is shown when it has ended.",
        file=sys.stderr,
        flush=True,
    )
    with ThreadPoolExecutor(TOGETHER) as pool:
        yield from pool.map(lambda path: _run(path, out, own[path], settings, is_apart=True), own)


def _run(
    notebook: Path,
    out: Path,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
    is_apart: bool = False,
) -> NotebookRun:
    """Run a notebook and return the record of the run, also if the notebook fails.

    Args:
        notebook: The notebook.
        out: See `run_all`.
        parameters: The parameters that the notebook declares.
        settings: The arguments of `run_all` that the page shows.
        is_apart: Whether to run the notebook in another process.
    """
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
    """Return how a notebook ended, its seconds and calls, and which notebooks are still to come.

    Args:
        run: The run of the notebook.
        before: The calls that the server had answered before; None if it does not count them.
        after: The calls that it had answered afterwards.
        to_come: The notebooks that follow.
    """
    took = f"{run.seconds:.1f} s"
    if before is not None and after is not None:
        took += f", {after - before:,} calls"
    summary = f"{run.failure or 'done'} ({took})"
    if to_come:
        numbers = [path.stem.partition("_")[0] for path in to_come]
        summary += f"; still to come: {', '.join(numbers)}"
    return summary
