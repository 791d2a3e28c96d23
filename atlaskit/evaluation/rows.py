"""`case_row`: asks one question by one method, and returns its row of the table.

The function runs on a thread of this process or on a Ray node, so all that it needs is passed in.
"""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from atlaskit.benchmarks.case import Case, MakesModel, model_for
from atlaskit.caching.cache import Cache
from atlaskit.errors import AtlasError, InputError
from atlaskit.evaluation.costs import Spending, TotalReached
from atlaskit.evaluation.tables import RIGHT_FROM
from atlaskit.models.prices import Prices
from atlaskit.models.protocol import (
    CallControl,
    Model,
    ModelError,
    ModelWrapper,
    Reply,
    Request,
    ServerError,
    Unreachable,
    Usage,
    now_s,
)
from atlaskit.runs.result import Result, choices_in_words, in_words

COUNTS = (
    "calls",
    "prompt_tokens",
    "cached_tokens",
    "image_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "effective_tokens",
    "tokens",
)
"""Columns of a question's usage. There is one of each for both roles together and, with the prefix
`master_` or `worker_`, one for each role."""
OF_VIDEO = ("calls", "tokens", "image_tokens", "text_tokens", "cached_tokens", "completion_tokens")
"""Amounts with a further column, such as `video_calls`, for the part that is paid once a video.
`text_tokens` are the tokens of the prompt that encode no image."""
OF_RESULTS = frozenset(
    {
        *("id", "video", "question", "choices", "truth", "method", "kind", "category"),
        *("misleading_subtitle", "prediction", "answer", "score", "right", "trace"),
        *("estimated", "rounds", "checks", "evidence", "coverage", "depth", "k", "fingerprint"),
        *("model_seconds", "queue_seconds", "frames_decoded", "decoding_seconds", "calls_paid"),
        *("stop", "failure", "seconds", "question_tokens", "text_tokens", "usd", "video_usd"),
        *COUNTS,
        *(f"video_{name}" for name in OF_VIDEO),
    }
)
"""Columns that a dataset may not have. `positions` is allowed, since LongVideoBench has it."""
ASIDE = "aside"
"""The key under which `case_row` adds an `Aside` to a row."""
REFUSED = frozenset({401, 403, 404})
"""HTTP statuses with which an endpoint refuses all calls: a wrong key, or no such model or path."""


class Aside(NamedTuple):
    """Facts about a question that `case_row` returns in addition to the columns of its row."""

    refusal: str = ""
    """Why all other questions would fail too; "" if they may succeed."""
    total: Usage = Usage()
    per_video: Usage = Usage()
    """The part of the total that prepared the video, for all questions about it."""
    video: str = ""
    """The fingerprint of the video, whose questions share the preparation."""
    settings: Mapping[str, Any] = {}
    """All settings of the run, as they were resolved."""
    is_stopped: bool = False
    """Whether the question was given up because the evaluation reached its total of costs."""


def case_row(
    case: Case,
    cache: Cache,
    *,
    name: str,
    answer: Callable[..., Result],
    vlm: Model | MakesModel,
    settings: Mapping[str, Any],
    cancel: threading.Event | None = None,
    traces: Path | None = None,
    prices: Prices | None = None,
    spending: Spending | None = None,
) -> dict[str, Any]:
    """Ask one question and return its row.

    Args:
        case: The question with its video.
        cache: The cache for frames and replies.
        name: The name of the method, for the row.
        answer: The method, a function with the signature of `ask`.
        vlm: A model, or a function that makes a model for a world.
        settings: Keyword arguments of `answer`.
        cancel: Once this is set, the question stops at its next model call.
        traces: The folder in which the result is saved; None to save none.
        prices: The prices of tokens; None for a row without costs in USD.
        spending: Counts the calls against the total of the evaluation; None without a total.

    Returns:
        The row, with an `Aside` under ASIDE.

    Raises:
        KeyboardInterrupt: `cancel` is set.
    """
    started_s = now_s()
    model = _WatchedModel(model_for(vlm, case), cancel, spending, id(case))
    try:
        result = answer(case.opened(), case.question, vlm=model, cache=cache, **settings)
    except TotalReached:
        return {ASIDE: Aside(is_stopped=True)}
    except AtlasError as error:
        model.note(error)
        usage = getattr(error, "usage", Usage())
        row = failure_row(name, case, str(error), usage, now_s() - started_s, prices)
        refusal = model.refusal
        if not refusal and type(error) is InputError:
            refusal = str(error)  # an invalid setting fails every question; a bad video does not
        return row | {ASIDE: Aside(refusal, total=usage)}
    by_role = dict[str, int]()
    for role, usage in result.usage.items():
        for column, count in _counts(usage).items():
            by_role[f"{role}_{column}"] = count
    score = math.nan
    if case.question.answer is not None:
        score = case.question.score(result.prediction)
    # A failed call may have changed the answer, so the row states the last failure.
    failure = result.failure
    if not failure:
        for call in result.calls:
            failure = call.failure or failure
    fingerprint = result.settings.get("video", "")
    row = {
        **_question_columns(case, name),
        "prediction": result.prediction,
        "answer": result.answer_in_words,
        "score": score,
        "right": score >= RIGHT_FROM,
        **_counts(result.total),
        "estimated": result.total.estimated,
        **by_role,
        **_costs(result.total, result.per_video, fingerprint, prices),
        "rounds": result.rounds,
        "checks": len(result.trace.of("review")),
        "evidence": len(result.evidence),
        "coverage": result.explored,
        "depth": max((step.depth for step in result.trace.of("step")), default=0),
        "k": result.settings.get("k") or math.nan,
        "model_seconds": sum(call.wall_s - call.queue_s for call in result.calls),
        "queue_seconds": sum(call.queue_s for call in result.calls),
        "frames_decoded": result.spent.frames_decoded,
        "decoding_seconds": result.spent.decoding_s,
        "calls_paid": result.spent.calls,
        "stop": result.stop,
        "failure": failure,
        "seconds": now_s() - started_s,
        ASIDE: Aside(
            refusal=model.refusal if result.prediction is None else "",
            total=result.total,
            per_video=result.per_video,
            video=fingerprint,
            settings=result.settings,
        ),
    }
    if traces is not None:
        row["trace"] = str(_save_result(result, traces))
    return row


def failure_row(
    name: str,
    case: Case,
    reason: str,
    usage: Usage = Usage(),
    seconds: float = 0.0,
    prices: Prices | None = None,
) -> dict[str, Any]:
    """Return the row of a question that failed; it counts as wrong if its true answer is known."""
    return {
        **_question_columns(case, name),
        "prediction": None,
        "answer": "",
        "score": math.nan if case.question.answer is None else 0.0,
        "right": False,
        **_counts(usage),
        **_costs(usage, per_video=Usage(), fingerprint="", prices=prices),
        "estimated": usage.estimated,
        "stop": "failed",
        "failure": reason,
        "seconds": seconds,
    }


def _save_result(result: Result, folder: Path) -> Path:
    """Save a result in a file named by its question's id and a hash of its JSON; return the path.

    Thanks to the hash, another run of the same question gets another file.
    """
    name = re.sub(r"[^0-9A-Za-z-]+", "_", result.question.id)[:60]
    path = folder / f"{name}-{hashlib.sha256(result.to_json().encode()).hexdigest()[:12]}.json"
    result.save(path)
    return path


def _question_columns(case: Case, name: str) -> dict[str, Any]:
    """Return the columns that do not depend on the answer."""
    question = case.question
    return {
        "id": question.id,
        "video": case.video,
        "question": question.text,
        "choices": choices_in_words(question),
        "truth": in_words(question, question.answer),
        "method": name,
        "kind": question.kind,
        "category": question.category,
        "positions": len(question.positions_s),
        "misleading_subtitle": question.misleading_subtitle,
        **case.facts,
    }


def _counts(usage: Usage) -> dict[str, int]:
    counts: dict[str, int] = {name: getattr(usage, name) for name in COUNTS}
    counts["text_tokens"] = usage.prompt_tokens - usage.image_tokens
    return counts


def _costs(
    total: Usage, per_video: Usage, fingerprint: str, prices: Prices | None
) -> dict[str, Any]:
    """Return the columns that separate the cost of preparing a video from that of a question.

    Rows with the same fingerprint share the preparation of their video. Rows with the same `video`
    may not, since a ten-hour variant of a video has another fingerprint.
    """
    columns: dict[str, Any] = {"fingerprint": fingerprint}
    for name, amount in _counts(per_video).items():
        if name in OF_VIDEO:
            columns[f"video_{name}"] = amount
    columns["question_tokens"] = total.tokens - per_video.tokens
    if prices is not None:
        columns["usd"] = prices.usd(total)
        columns["video_usd"] = prices.usd(per_video)
    return columns


@dataclass
class _WatchedModel(ModelWrapper):
    """The model of one question, which can be cancelled and whose costs and refusals are noted.

    `complete` raises KeyboardInterrupt once the evaluation is cancelled, since Python delivers
    Ctrl-C to the main thread alone. It counts calls against the total of the evaluation, and notes
    an error with which the model would refuse all other questions too.
    """

    cancel: threading.Event | None
    spending: Spending | None
    question: int
    """The number under which `spending` counts the calls."""
    refusal: str = ""
    """A status or a kind of error that all other questions would meet too; "" if there was none."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Forward a call, and count its cost.

        Raises:
            KeyboardInterrupt: The evaluation is cancelled.
            TotalReached: The evaluation has reached its total of costs.
        """
        if self.cancel is not None and self.cancel.is_set():
            raise KeyboardInterrupt
        if self.spending is not None:
            self.spending.check()
        try:
            reply = self.model.complete(request, **control)
        except AtlasError as error:
            self.note(error)
            self._count(getattr(error, "usage", Usage()))
            raise
        self._count(reply.usage)
        return reply

    def _count(self, usage: Usage) -> None:
        if self.spending is not None:
            self.spending.add(self.question, usage)

    def note(self, error: AtlasError) -> None:
        """Note an error that every other question would meet too.

        An error that is not live is left out: it was recorded in an earlier run, and is replayed.
        """
        if isinstance(error, ServerError | Unreachable) and getattr(error, "live", True):
            self.refusal = type(error).__name__
        elif (
            isinstance(error, ModelError)
            and error.live
            and (error.is_final or error.status in REFUSED)
        ):
            self.refusal = str(error.status)
