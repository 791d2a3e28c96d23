"""Asks many questions by one method, and makes a table of it: one tidy row a question (paper §4).

Knows nothing of datasets: it goes through `Case`s. What was answered before comes out of the cache, so that an
evaluation that was killed goes on where it was, and one that was finished costs nothing.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from tqdm.auto import tqdm

from atlaskit.agents.baselines import METHODS, settings_of
from atlaskit.benchmarks.atlasworld import World
from atlaskit.benchmarks.case import Case, model_for
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.errors import AtlasError, InputError, check_whole, reason
from atlaskit.evaluation.executors import ENGINES, Engine, on_ray, on_threads
from atlaskit.evaluation.tables import column
from atlaskit.models.protocol import CallControl, Model, ModelWrapper, Reply, Request
from atlaskit.models.usage import Usage
from atlaskit.runs.result import Result

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("calls", "prompt_tokens", "cached_tokens", "image_tokens", "completion_tokens", "effective_tokens", "tokens")
"""What is told of a question's usage: of both roles together, and of each."""

OF_THE_RUN = ["calls_paid", "frames_decoded", "seconds"]
"""Columns that tell of this very run; all others are the same each time."""
OURS = frozenset({"vlm", "cache"})
"""Settings that all methods have and `evaluate` gives."""
PLAIN = (str, int, float, bool, type(None))


def evaluate(
    cases: Iterable[Case],
    method: str | Callable[..., Result] = "video-rlm",
    *,
    vlm: Model | Callable[[World], Model],
    parallel: int = 4,
    cache: Cache | None = None,
    progress: bool = True,
    engine: Engine = "local",
    address: str | None = None,
    traces: str | Path | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Ask every question by a method, and return a row for each, in their order.

    `method` is one of `baselines.METHODS` by name, or any function with the signature of `ask`; `settings` go to it.
    `vlm` is a model, or for worlds what makes one of a world: `vlm=ak.Oracle`. `parallel` questions are under way at
    once; the rows do not depend on it, but for the seconds.

    `engine="ray"` asks them as Ray tasks: on the cluster at `address` ("auto": the one that runs here), that which this
    process has joined, or a local one. The videos must lie in the same place on all nodes, and these must reach the
    model's address. Each node has its own cache; replies return to this one. The rows are the same.

    With `traces`, each result is saved to a file in that folder (which all nodes must share), and the column `trace`
    names it, "" for a question that failed: `ak.widgets.RunTable(rows)` opens it. Out of a full cache that costs no
    call, so an evaluation that was made without can be made again with it.

    The truth must be known. A question that fails is a row with its `failure`, which counts as wrong; nothing is left
    out. `score` is `Question.score`: 1 or 0 for choices and counts, F1 for words, temporal IoU for intervals; `right`
    is a score of at least 0.5. The table's `attrs` tell method, model, settings and versions. Raises InputError where
    there is nothing to ask, or no such method, setting or engine, and where a folder or file cannot be written.
    """
    asked = list(cases)
    check_whole("parallel", parallel)
    if not asked:
        raise InputError("There are no questions to ask: the list of cases is empty.")
    unknown = next((case.question.id for case in asked if case.question.answer is None), None)
    if unknown is not None:
        raise InputError(f"The true answer of {unknown!r} is not known, so it cannot be scored: leave it out.")
    if engine not in ENGINES:
        raise InputError(f"An engine is {' or '.join(ENGINES)}, got {engine!r:.80}.")
    answer, name = _method(method)
    _check_settings(name, answer, settings)
    models = [model_for(vlm, case) for case in {id(case.world): case for case in asked}.values()]
    cache = cache or default_cache()
    kept = None if traces is None else _folder(Path(traces))
    job = partial(row, name=name, answer=answer, settings=settings, traces=kept)
    if engine == "ray":
        rows_done = on_ray(asked, partial(job, vlm=vlm), parallel, cache, lost=partial(_failed, name), address=address)
    else:
        stop = threading.Event()
        rows_done = on_threads(asked, partial(job, vlm=vlm, stop=stop), parallel, cache, stop)

    import pandas as pd

    rows, right, tokens = dict[int, dict[str, Any]](), 0, 0
    with closing(rows_done), tqdm(total=len(asked), unit="question", disable=not progress) as bar:
        for place, each in rows_done:
            rows[place] = each
            right, tokens = right + each["right"], tokens + each["tokens"]
            bar.set_postfix_str(f"{right / len(rows):.0%} right, {tokens:,} tokens")
            bar.update()
    table = pd.DataFrame([rows[place] for place in sorted(rows)])
    table["prediction"] = column([rows[place]["prediction"] for place in sorted(rows)])
    if kept is not None:
        table["trace"] = [rows[place].get("trace", "") for place in sorted(rows)]
    table.attrs = {
        "method": name,
        "models": sorted({model.name for model in models}),
        "parameters": dict(models[0].parameters),
        "settings": {key: value if isinstance(value, PLAIN) else repr(value) for key, value in settings.items()},
        "versions": {package: version(package) for package in ("atlaskit", "numpy", "pillow", "av", "pydantic")},
    }
    return table


def row(
    case: Case,
    cache: Cache,
    *,
    name: str,
    answer: Callable[..., Result],
    vlm: Model | Callable[[World], Model],
    settings: Mapping[str, Any],
    stop: threading.Event | None = None,
    traces: Path | None = None,
) -> dict[str, Any]:
    """Ask one question, and return what is told of it, its result saved in the folder `traces` if there is one; with
    KeyboardInterrupt, as soon as `stop` is set."""
    began, model = time.monotonic(), model_for(vlm, case)
    try:
        given = model if stop is None else _Stoppable(model, stop)
        result = answer(case.opened(), case.question, vlm=given, cache=cache, **settings)
    except AtlasError as error:
        return _failed(name, case, str(error), getattr(error, "usage", Usage()), time.monotonic() - began)
    score = case.question.score(result.prediction)
    by_role = {f"{role}_{key}": n for role, usage in result.usage.items() for key, n in _counts(usage).items()}
    return {
        **_about(case, name),
        "prediction": result.prediction,
        "score": score,
        "right": score >= 0.5,
        **_counts(result.total),
        "estimated": result.total.estimated,
        **by_role,
        "rounds": result.rounds,
        "checks": len(result.trace.of("review")),
        "evidence": len(result.evidence),
        "coverage": result.coverage,
        "depth": max((event["depth"] for event in result.trace.of("step")), default=0),
        "k": result.settings.get("k"),
        "frames_decoded": result.spent.frames_decoded,
        "calls_paid": result.spent.calls,
        "stop": result.stop,
        "failure": result.failure,
        "seconds": time.monotonic() - began,
        **({} if traces is None else {"trace": str(_saved(result, traces))}),
    }


def _folder(path: Path) -> Path:
    """Return a folder for results as an absolute path, made if it is not there; raise InputError where it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be a folder for traces: {reason(error)}.") from error
    return path.absolute()


def _saved(result: Result, folder: Path) -> Path:
    """Save a result under its question and the hash of what it says: another run of the question is another file."""
    name = re.sub(r"[^0-9A-Za-z-]+", "_", result.question.id)[:60]
    path = folder / f"{name}-{hashlib.sha256(result.to_json().encode()).hexdigest()[:12]}.json"
    result.save(path)
    return path


def _about(case: Case, name: str) -> dict[str, Any]:
    """Return what is told of a question, however it was answered."""
    question = case.question
    return {
        "id": question.id,
        "video": case.video,
        "question": question.text,
        "method": name,
        "kind": question.kind,
        "category": question.category,
        "positions": len(question.positions_s),
        "misleading_subtitle": question.misleading_subtitle,
        **case.facts,
    }


def _failed(name: str, case: Case, why: str, usage: Usage = Usage(), seconds: float = 0.0) -> dict[str, Any]:
    """Return the row of a question that failed."""
    nothing = {"prediction": None, "score": 0.0, "right": False, **_counts(usage), "stop": "failed"}
    return {**_about(case, name), **nothing, "failure": why, "seconds": seconds}


@dataclass
class _Stoppable(ModelWrapper):
    """A model that is asked no more once nobody waits for its answers: threads hear of no Ctrl-C."""

    stop: threading.Event

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Let the model answer, if somebody waits for it."""
        if self.stop.is_set():
            raise KeyboardInterrupt
        return self.model.complete(request, **control)


def _counts(usage: Usage) -> dict[str, int]:
    return {name: getattr(usage, name) for name in COUNTS}


def _method(method: str | Callable[..., Result]) -> tuple[Callable[..., Result], str]:
    if callable(method):
        return method, str(getattr(method, "__name__", type(method).__name__))
    if method not in METHODS:
        raise InputError(f"A method is {', '.join(METHODS)}, or a function like ask; got {method!r:.80}.")
    return METHODS[method], method


def _check_settings(name: str, answer: Callable[..., Result], settings: Mapping[str, Any]) -> None:
    """Raise InputError for a setting that a method does not take: with a slip of the pen every question would fail."""
    taken = settings_of(answer)
    unknown = next((key for key in settings if taken is not None and key not in taken), None)
    if unknown is not None:
        told = ", ".join(each for each in taken or () if each not in OURS)
        raise InputError(f"{name} has no setting {unknown!r:.80}; it has {told}.")
