"""Builds one row of the table: asks one question with one method and lists result, cost and search
columns.

Runs on a thread of this process or on a Ray node, so everything a row needs comes as an argument.
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
"""Columns of a question's usage: of both roles together and, with the role as prefix, of each."""
OF_VIDEO = ("calls", "tokens", "image_tokens", "text_tokens", "cached_tokens", "completion_tokens")
"""What is counted apart where it is paid once a video: columns `video_calls`, and so on. Tokens of
text are those of the prompt that encode no image."""
OF_RESULTS = frozenset(
    {
        *("id", "video", "question", "choices", "truth", "method", "kind", "category"),
        *("misleading_subtitle", "prediction", "answer", "score", "right", "trace"),
        *("estimated", "rounds", "checks", "evidence", "coverage", "depth", "k", "fingerprint"),
        *(
            "model_seconds",
            "queue_seconds",
            "frames_decoded",
            "decoding_seconds",
            "calls_paid",
            "stop",
            "failure",
        ),
        *("seconds", "question_tokens", "text_tokens", "usd", "video_usd"),
        *COUNTS,
        *(f"video_{name}" for name in OF_VIDEO),
    }
)
"""Columns that every row has of its own, whatever the columns of its dataset; but `positions`,
which LongVideoBench has too."""
ASIDE = "aside"
"""What a row brings beside its columns: `Aside`."""
REFUSED = frozenset({401, 403, 404})
"""Statuses with which an endpoint refuses all calls alike: wrong key, or no such model or path."""


class Aside(NamedTuple):
    """What the evaluation is told of a question beside the columns of its row."""

    refusal: str = ""
    """Why no other question can be answered either; "" if they may."""
    total: Usage = Usage()
    per_video: Usage = Usage()
    video: str = ""
    """The fingerprint of what shares the preparation of the video."""
    settings: Mapping[str, Any] = {}
    """All settings of the run, as they were resolved."""
    is_stopped: bool = False
    """Whether the question was given up, since the evaluation's total is reached."""


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
        vlm: A model, or a function that makes one for a world.
        settings: Keyword arguments of `answer`.
        cancel: The row stops at its next model call once this is set.
        traces: The folder to save the result in, if any.
        prices: The prices of the row's columns of costs in USD, if any.
        spending: What counts the calls against the evaluation's total, if it has one.

    Returns:
        The row, and under ASIDE what is no column of it.

    Raises:
        KeyboardInterrupt: If `cancel` is set.
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
        # An invalid setting makes every question fail alike; one bad video does not.
        refusal = model.refusal or (str(error) if type(error) is InputError else "")
        return row | {ASIDE: Aside(refusal, total=usage)}
    by_role = dict[str, int]()
    for role, usage in result.usage.items():
        by_role |= {f"{role}_{name}": count for name, count in _counts(usage).items()}
    is_known = case.question.answer is not None
    score = case.question.score(result.prediction) if is_known else math.nan
    lost = next((call.failure for call in reversed(result.calls) if call.failure), "")
    return {
        **_question_columns(case, name),
        "prediction": result.prediction,
        "answer": result.answer_in_words,
        "score": score,
        "right": score >= RIGHT_FROM,
        **_counts(result.total),
        "estimated": result.total.estimated,
        **by_role,
        **_costs(result.total, result.per_video, result.settings.get("video", ""), prices),
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
        "failure": result.failure or lost,  # of any call: what was lost may have changed the answer
        "seconds": now_s() - started_s,
        ASIDE: Aside(
            model.refusal if result.prediction is None else "",
            result.total,
            result.per_video,
            result.settings.get("video", ""),
            result.settings,
        ),
        **({} if traces is None else {"trace": str(_save_result(result, traces))}),
    }


def failure_row(
    name: str,
    case: Case,
    reason: str,
    usage: Usage = Usage(),
    seconds: float = 0.0,
    prices: Prices | None = None,
) -> dict[str, Any]:
    """Return the row of a question that failed; it counts as wrong."""
    costs = {**_counts(usage), **_costs(usage, Usage(), "", prices)}
    no_answer = {
        "prediction": None,
        "answer": "",
        "score": 0.0,
        "right": False,
        **costs,
        "estimated": usage.estimated,
        "stop": "failed",
    }
    return {**_question_columns(case, name), **no_answer, "failure": reason, "seconds": seconds}


def _save_result(result: Result, folder: Path) -> Path:
    """Save a result under its question's id and the hash of its JSON; return the path.

    The hash gives another run of the same question a file of its own.
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
    return {name: getattr(usage, name) for name in COUNTS} | {
        "text_tokens": usage.prompt_tokens - usage.image_tokens
    }


def _costs(
    total: Usage, per_video: Usage, fingerprint: str, prices: Prices | None
) -> dict[str, Any]:
    """Return the columns that tell what is paid once a video from what is paid for each question.

    The fingerprint says which rows share their calls: rows with the same `video` need not, since a
    ten-hour variant of a video has a fingerprint of its own.
    """
    usd = {} if prices is None else {"usd": prices.usd(total), "video_usd": prices.usd(per_video)}
    return {
        "fingerprint": fingerprint,
        **{
            f"video_{name}": amount
            for name, amount in _counts(per_video).items()
            if name in OF_VIDEO
        },
        "question_tokens": total.tokens - per_video.tokens,
        **usd,
    }


@dataclass
class _WatchedModel(ModelWrapper):
    """A model that raises KeyboardInterrupt once it is cancelled, and notes why it refuses all.

    Python delivers Ctrl-C only to the main thread, so the others need this.
    """

    cancel: threading.Event | None
    spending: Spending | None
    question: int
    """The number of the question for `spending`."""
    refusal: str = ""
    """What every other question would meet too: a status or a kind of error; "" if nothing did."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Forward the call unless it is cancelled, or the total is reached; count what it cost."""
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
        """Note an error that every other question would meet too."""
        if isinstance(error, ServerError | Unreachable) and getattr(error, "live", True):
            self.refusal = type(error).__name__
        elif (
            isinstance(error, ModelError)
            and error.live
            and (error.is_final or error.status in REFUSED)
        ):
            self.refusal = str(error.status)
