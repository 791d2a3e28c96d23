"""`retrieval`: searches the records of a video's clips, and answers from the best ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from atlaskit.agents.index import Index, nearest, query_of
from atlaskit.agents.schemas import Answer, Words
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.errors import InputError
from atlaskit.methods.records import (
    CLIP_K,
    CLIP_S,
    Clip,
    clip_spans,
    describe_clips,
    in_order,
    rows_of,
)
from atlaskit.methods.run import Call, EvidenceCall, MethodRun, method
from atlaskit.models.embedding import Embedder, embed
from atlaskit.models.protocol import MOST_IMAGES, ModelError, Refused, Request, Unreachable, Usage
from atlaskit.runs.events import Failure
from atlaskit.runs.result import Result

Search: TypeAlias = Literal["words", "paraphrases"] | Embedder
"""How clips are found: see `retrieval`. It is not `ak.Search`, the settings of `ask`."""
FRAMES_K = 2
"""A retrieved clip is shown on a sheet of 2×2 frames."""
MOST_QUERIES = 4
"""The most queries that one call may write."""
SEARCHER = (
    "You write search queries for the archive of a long video. Its entries describe short clips: "
    "what happens, who and what is seen, text on screen, and what is said. The search compares "
    "words, so an entry that puts the same thing in other words is missed. Reply in JSON."
)
WRITE = (
    f"Write 1 to {MOST_QUERIES} short queries that would find the clips that answer the question "
    "below. Use words that such an entry may hold: other names for what is asked about, what "
    "must be seen or said at that moment, and what tells the choices apart, if there are any. Do "
    "not answer the question."
)


class QueriesAnswer(Answer):
    """Search queries."""

    queries: Annotated[list[Words], Field(min_length=1, max_length=MOST_QUERIES)]


@dataclass(frozen=True)
class QueriesCall(Call):
    """Write search queries for a question, without seeing the video."""

    question: Question

    def request(self) -> Request:
        """Return the request to the model."""
        return self.of("master", "queries", QueriesAnswer, SEARCHER, WRITE)


@method("retrieval", k=CLIP_K)
def retrieval(
    run: MethodRun,
    *,
    clip_s: float = CLIP_S,
    top: int = 16,
    search: Search = "words",
    frames: bool = True,
) -> Result:
    """Answer from the clips whose records match the question and its choices best.

    This is the simplest form of retrieval-augmented generation: one record per clip, paid once per
    video; a search over caption, subjects, text on screen and speech; and one call per question,
    which answers from the clips that were found, in order of time.

    Args:
        clip_s: Length of a clip in seconds.
        top: The most clips for the answer.
        search: How the clips are found. "words": by the words that they share with the question and
            its choices (BM25). "paraphrases": also by the words of up to four queries, which the
            model writes in one more call. An `ak.Embedder`: by the cosine of vectors; of its calls,
            the run's budget counts only the time.
        frames: Whether the model sees four frames of each clip that was found, beside its record.

    Raises:
        InputError: If an argument breaks a rule, or the model writes no free text.
        Unreachable: If the model never answers, or no server answers at the embedder's address.
        Refused: If the embedder's endpoint rejects the request.

    Examples:
        >>> ak.baselines.retrieval(video, question, vlm=vlm).settings["method"]
        'retrieval'
    """
    if search not in ("words", "paraphrases") and not isinstance(search, Embedder):
        raise InputError(
            'search must be "words", "paraphrases" or an ak.Embedder("http://…/v1", MODEL); got '
            f"{search!r:.80}."
        )
    if frames and top > MOST_IMAGES:
        raise InputError(
            f"top may be at most {MOST_IMAGES} with frames, one image a clip; got {top}."
        )
    index = Index(describe_clips(run, clip_spans(run, clip_s)))
    found = in_order(_find(run, index, search, top))
    views = list[View]()
    if frames:
        views = [run.view(clip.span, FRAMES_K) for clip in found]
    return run.decide(
        EvidenceCall(run.question, run.video.duration_s, rows_of(found), tuple(views))
    )


def _find(run: MethodRun, index: Index[Clip], search: Search, k: int) -> list[Clip]:
    """Return up to `k` clips for the question of a run, best first.

    If the model writes no paraphrases, the embedder fails for the moment, or the time is up, the
    clips are searched by the question's words, and `run.failure` says so.
    """
    query = query_of(run.question)
    if search == "paraphrases":
        queries = [query]
        answer = run.call(QueriesCall(run.question))
        if answer is not None:
            queries += answer.queries
        return index.search_all(queries, k)
    if isinstance(search, Embedder):
        found = _nearest(run, index, search, query, k)
        if found is not None:
            return found
    return index.search(query, k)


def _nearest(
    run: MethodRun, index: Index[Clip], embedder: Embedder, query: str, k: int
) -> list[Clip] | None:
    """Return the clips whose vectors are nearest to the query's; None if the embedder fails.

    Of the embedder's calls, the budget and the costs of the run count only the time.
    """
    clips = [clip for clip in index.clips if clip.words.strip()]
    texts = [clip.words for clip in clips]
    texts.append(f"{embedder.query_prefix}{query}")
    try:
        vectors = embed(
            embedder,
            texts,
            run.cache,
            replay=run.is_replay,
            deadline_s=run.meter.deadline_s,
            cancel=run.meter.cancel,
        )
    except (Unreachable, Refused):
        raise  # the address, the key or the name is wrong, also for any other question
    except ModelError as error:
        run.failure = f"{str(error).rstrip('.')}; the clips were searched by words instead."
        run.log(Failure.of("embedding", ModelError(str(error), Usage())))
        return None
    return nearest(clips, vectors[:-1], vectors[-1], k)
