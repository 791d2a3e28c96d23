"""Asks many questions by one method, and makes a table of it: one tidy row a question (paper §4).

Knows nothing of datasets: it goes through `Case`s. What was answered before comes out of the cache, so that an
evaluation that was killed goes on where it was, and one that was finished costs nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from tqdm.auto import tqdm

from atlaskit.baselines import METHODS
from atlaskit.benchmarks.atlasworld import World
from atlaskit.benchmarks.case import Case
from atlaskit.cache import Cache
from atlaskit.errors import AtlasError, InputError, check_whole
from atlaskit.model import Model
from atlaskit.result import Result
from atlaskit.usage import Usage

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("calls", "prompt_tokens", "cached_tokens", "image_tokens", "completion_tokens", "effective_tokens", "tokens")
"""What is told of a question's usage: of both roles together, and of each."""

PLAIN = (str, int, float, bool, type(None))


def evaluate(
    cases: Iterable[Case],
    method: str | Callable[..., Result] = "video-rlm",
    *,
    vlm: Model | Callable[[World], Model],
    parallel: int = 4,
    cache: Cache | None = None,
    progress: bool = True,
    **settings: Any,
) -> pd.DataFrame:
    """Ask every question by a method, and return a row for each, in their order.

    `method` is one of `baselines.METHODS` by name, or any function with the signature of `ask`; `settings` go to it.
    `vlm` is a model, or for worlds what makes one of a world: `vlm=ak.Oracle`. `parallel` questions are under way at
    once; the rows do not depend on it, but for the seconds.

    The truth must be known. A question that fails is a row with its `failure`, which counts as wrong; nothing is left
    out. `score` is `Question.score`: 1 or 0 for choices and counts, F1 for words, temporal IoU for intervals; `right`
    is a score of at least 0.5. The table's `attrs` tell method, model, settings and versions. Raises InputError where
    there is nothing to ask, or no such method.
    """
    asked = list(cases)
    check_whole("parallel", parallel)
    if not asked:
        raise InputError("There are no questions to ask: the list of cases is empty.")
    unknown = next((case.question.id for case in asked if case.question.answer is None), None)
    if unknown is not None:
        raise InputError(f"The true answer of {unknown!r} is not known, so it cannot be scored: leave it out.")
    answer, name = _method(method)
    models = {id(case.world): _model(vlm, case) for case in asked}

    def one(case: Case) -> dict[str, Any]:
        return row(case, name, answer, vlm=models[id(case.world)], cache=cache, **settings)

    import pandas as pd

    rows: list[dict[str, Any]] = []
    with ThreadPoolExecutor(parallel) as pool, tqdm(total=len(asked), unit="question", disable=not progress) as bar:
        try:
            for each in pool.map(one, asked):
                rows.append(each)
                right = sum(told["right"] for told in rows) / len(rows)
                bar.set_postfix_str(f"{right:.0%} right, {sum(told['tokens'] for told in rows):,} tokens")
                bar.update()
        except BaseException:  # an interrupt: what was not begun is not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    table = pd.DataFrame(rows)
    table.attrs = {
        "method": name,
        "models": sorted({model.name for model in models.values()}),
        "parameters": next(dict(model.parameters) for model in models.values()),
        "settings": {key: value if isinstance(value, PLAIN) else repr(value) for key, value in settings.items()},
        "versions": {package: version(package) for package in ("atlaskit", "numpy", "pillow", "av", "pydantic")},
    }
    return table


def row(case: Case, name: str, answer: Callable[..., Result], **settings: Any) -> dict[str, Any]:
    """Ask one question, and return what is told of it."""
    question, began = case.question, time.monotonic()
    told: dict[str, Any] = {
        "id": question.id,
        "video": case.video,
        "method": name,
        "kind": question.kind,
        "category": question.category,
        "misleading_subtitle": question.misleading_subtitle,
        **case.facts,
    }
    try:
        result = answer(case.opened(), question, **settings)
    except AtlasError as error:
        usage = getattr(error, "usage", Usage())
        nothing = {"prediction": None, "score": 0.0, "right": False, **_counts(usage), "stop": "failed"}
        return {**told, **nothing, "failure": str(error), "seconds": time.monotonic() - began}
    score = question.score(result.prediction)
    by_role = {f"{role}_{key}": n for role, usage in result.usage.items() for key, n in _counts(usage).items()}
    return {
        **told,
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
        "frames_decoded": result.spent.frames_decoded,
        "calls_paid": result.spent.calls,
        "stop": result.stop,
        "failure": result.failure,
        "seconds": time.monotonic() - began,
    }


def _counts(usage: Usage) -> dict[str, int]:
    return {name: getattr(usage, name) for name in COUNTS}


def _method(method: str | Callable[..., Result]) -> tuple[Callable[..., Result], str]:
    if callable(method):
        return method, str(getattr(method, "__name__", type(method).__name__))
    if method not in METHODS:
        raise InputError(f"A method is {', '.join(METHODS)}, or a function like ask; got {method!r:.80}.")
    return METHODS[method], method


def _model(vlm: Model | Callable[[World], Model], case: Case) -> Model:
    if not isinstance(vlm, type) and hasattr(vlm, "complete"):
        return cast(Model, vlm)
    if case.world is None:
        raise InputError(f"{case.question.id!r} is about no world, so no oracle can know it: give a model.")
    return cast(Callable[[World], Model], vlm)(case.world)
