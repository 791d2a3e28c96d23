"""`ask_each`: asks one question of each of many films, and returns a table with one row a film."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit.benchmarks.case import Case, MakesModel
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.question import Kind, Question, as_question, spans_of
from atlaskit.errors import InputError
from atlaskit.evaluation.runner import evaluate
from atlaskit.models.protocol import Model
from atlaskit.video.collection import Collection
from atlaskit.video.folder import Videos, open_videos
from atlaskit.video.video import Video

if TYPE_CHECKING:
    import pandas as pd


def ask_each(
    films: Collection | Videos,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str | MakesModel,
    kind: Kind | None = None,
    cache: Cache | None = None,
    traces: str | Path | None = None,
    parallel: int = 4,
    progress: bool = True,
    **settings: Any,
) -> pd.DataFrame:
    """Ask one question of each film of a collection, and return a table with one row a film.

    This is `evaluate` with a question whose true answers are not known. After an interruption, the
    same call continues. After completion, it makes no model calls.

    Args:
        films: The collection, or what `open_videos` takes.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, as for `ask`.
        kind: The form of the answer, as for `ask`.
        cache: Where frames and replies are stored; None for the default one.
        traces: A folder to save each run in, so that `ak.widgets.RunTable` and `atlaskit browse`
            open it.
        parallel: How many films are asked at once.
        progress: Whether a bar is shown.
        **settings: Further arguments of `evaluate` (such as `on_rows`, and `total`, the budget of
            all films together) and of `ask` (such as `search`, and `budget`, that of each film).

    Returns:
        The columns of `evaluate`; `video` has the name of the film. Before them stand, for a
        question of kind "when", `start_s` and `end_s`, the first interval of the answer in seconds
        of the film, and `began`, when the film's recording began, if that is known for any film.

    Raises:
        InputError: As for `evaluate` and `open_videos`.
        EvaluationStopped: The model refuses all questions, or the total is reached.

    Examples:
        >>> asked = ak.Question(question.text, question.choices)
        >>> rows = ak.ask_each("*.mp4", asked, vlm=vlm, progress=False)
        >>> rows[["video", "stop"]].values.tolist()
        [['match.mp4', 'sufficient']]
    """
    store = cache or default_cache()
    collection = films if isinstance(films, Collection) else open_videos(films, cache=store)
    asked = as_question(question, choices, kind)
    if asked.answer is not None:
        raise InputError("A question that is asked of each film has no one true answer.")
    cases = list[Case]()
    for film, part in zip(collection.films, collection.parts, strict=True):
        film_question = replace(asked, id=f"{len(cases):05d} {film.name}"[:200])
        cases.append(Case(film_question, video=film.name, opened=partial(_itself, part)))
    rows = evaluate(
        cases,
        vlm=vlm,
        cache=store,
        traces=traces,
        parallel=parallel,
        progress=progress,
        scored=False,
        **settings,
    )
    if any(film.began for film in collection.films):
        rows.insert(0, "began", [str(film.began or "") for film in collection.films])
    if asked.kind == "when":
        spans_s = [_first_span(prediction) for prediction in rows["prediction"]]
        rows.insert(0, "end_s", [end_s for _, end_s in spans_s])
        rows.insert(0, "start_s", [start_s for start_s, _ in spans_s])
    return rows


def _itself(video: Video) -> Video:
    """Return the video. `Case.opened` must be a function that can be pickled, unlike a lambda."""
    return video


def _first_span(prediction: Any) -> tuple[float | None, float | None]:
    """Return the first interval of a prediction; no times if it has none."""
    spans_s = spans_of(prediction)
    if not spans_s:
        return None, None
    return spans_s[0]
