"""`find`: the clips that belong to a question, by words, by paraphrases of it, or by embeddings.

Methods that search for what a question asks take `search`, and pass it on to `find`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from atlaskit.agents.index import Index, nearest, query_of
from atlaskit.errors import InputError
from atlaskit.methods.clips import Clip
from atlaskit.methods.prompts import QueriesCall
from atlaskit.methods.run import MethodRun
from atlaskit.models.cached_embedding import embed
from atlaskit.models.embedding import Embedder
from atlaskit.models.errors import ModelError, Refused, Unreachable
from atlaskit.models.protocol import Usage
from atlaskit.runs.events import Failure

Search: TypeAlias = Literal["words", "paraphrases"] | Embedder
"""How clips are found: "words" compares the words of the question and its choices with those of the
records (BM25); "paraphrases" asks the model for up to four queries first, one call a question, and
fuses what all of them find; an `ak.Embedder` compares vectors of the texts by their cosine."""


def check_search(search: object) -> None:
    """Raise InputError if there is no such search."""
    if search not in ("words", "paraphrases") and not isinstance(search, Embedder):
        raise InputError(
            f'search must be "words", "paraphrases" or an ak.Embedder("http://…/v1", MODEL); got {search!r:.80}.'
        )


def recorded_search(search: Search) -> dict[str, Any]:
    """Return what a run records of its search. Where the embedder runs is left out."""
    if not isinstance(search, Embedder):
        return {"search": search}
    return {"search": {"embedder": search.name, "query_prefix": search.query_prefix}}


def find(run: MethodRun, index: Index[Clip], search: Search, k: int) -> list[Clip]:
    """Return up to `k` clips for the question of a run, best first.

    If no paraphrase can be had, or a vector cannot because the embedder fails in passing or the
    time is up, the clips are searched by the question's words, and `run.failure` says so. Calls of
    an embedder are not part of a run's calls, budget and costs, except for its time.

    Args:
        run: The run that makes the calls.
        index: The clips.
        search: How they are found.
        k: The most clips to return.

    Raises:
        Unreachable: If no embedder answers at its address.
        Refused: If the embedder's endpoint rejects the request.
        Unrecorded: In a replay, if the cache does not know a vector.
    """
    query = query_of(run.question)
    if isinstance(search, Embedder):
        found = _nearest(run, index, search, query, k)
        return index.search(query, k) if found is None else found
    if search == "paraphrases":
        answer = run.call(QueriesCall(run.question).request())
        return index.search_all([query, *(answer.queries if answer is not None else ())], k)
    return index.search(query, k)


def _nearest(run: MethodRun, index: Index[Clip], embedder: Embedder, query: str, k: int) -> list[Clip] | None:
    """Return the clips whose vectors are nearest to the query's; None if they cannot be had."""
    clips = [clip for clip in index.clips if clip.words.strip()]
    texts = [*(clip.words for clip in clips), f"{embedder.query_prefix}{query}"]
    clock = {"deadline_s": run.meter.deadline_s, "cancel": run.meter.cancel}
    try:
        vectors = embed(embedder, texts, run.cache, replay=run.is_replay, **clock)  # type: ignore[arg-type]
    except (Unreachable, Refused):
        raise  # the address, the key or the name is wrong: no other question can be searched either
    except ModelError as error:
        run.failure = f"{str(error).rstrip('.')}; the clips were searched by words instead."
        run.log(Failure.of("embedding", ModelError(str(error), Usage())))
        return None
    return nearest(clips, vectors[:-1], vectors[-1], k)
