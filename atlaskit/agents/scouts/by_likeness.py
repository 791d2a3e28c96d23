"""`likeness`: the cells whose frames resemble the question, by a model of text and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlaskit.agents.index import cosines, query_of
from atlaskit.agents.scouts.hints import Hint, Hints, Usual
from atlaskit.agents.scouts.sight import Sight
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.render import Frame, View
from atlaskit.errors import InputError, check_whole
from atlaskit.models.cached_embedding import embed, embed_images
from atlaskit.models.embedding import Embedder
from atlaskit.models.errors import ModelError, Refused, Unreachable

FRAME_PX = 320
"""Longer side of a frame as the embedder gets it."""
SMALLEST_PX = 16
"""Side of the cells of a view that is only asked for the times of its frames."""
STANDS_OUT = 0.02
"""Cosine above the usual one from which a frame may stand out fully."""


def likeness(embedder: Embedder, most_frames: int = 64) -> Likeness:
    """Return a scout that compares frames of the root grid with the question.

    It takes keyframes, spread evenly over the cells, and asks the embedder for their vectors and
    for that of the question with its choices and the search task. A cell counts by how far its best
    frame's cosine stands out above what is usual. It looks at the root grid only.

    Args:
        embedder: A model of text and images, such as `ak.Embedder(URL, "openai/clip-vit-…")`.
        most_frames: The most frames of a video. Each is one call of the embedder, once a video:
            vectors are cached. Calls of an embedder are no part of a run's calls, budget and costs,
            except for their time.

    Raises:
        InputError: If it is no embedder, or the number of frames is below 1.

    Examples:
        >>> embedder = ak.Embedder("http://127.0.0.1:8002/v1", "some-clip", image_prompt="")
        >>> scout = ak.scouts.likeness(embedder)  # for ak.Search(scouts=[scout])
    """
    if not isinstance(embedder, Embedder):
        raise InputError(f'likeness needs an ak.Embedder("http://…/v1", MODEL); got {embedder!r:.80}.')
    check_whole("most_frames", most_frames)
    return Likeness(embedder, most_frames)


@dataclass(frozen=True)
class Likeness:
    """The scout that `likeness` returns.

    If the embedder fails in passing, or the time is up, there are no hints, and the note says so.

    Raises:
        Unreachable: When it looks, if no embedder answers at its address.
        Refused: When it looks, if the endpoint rejects the request.
        Unrecorded: In a replay, if the cache knows neither the hints nor the vectors.
    """

    embedder: Embedder
    most_frames: int

    @property
    def __name__(self) -> str:
        """Its name in traces and settings."""
        return f"likeness({self.embedder.name}, {self.most_frames})"

    def __call__(self, sight: Sight, grid: Grid) -> Hints:
        """Name the cells whose frames resemble the question."""
        if grid.path:
            return Hints()
        told = {"prefix": self.embedder.query_prefix, "prompt": self.embedder.image_prompt}
        query = f"{query_of(sight.question)} {sight.search_task}"
        try:
            scores = sight.kept(
                "likeness", grid, lambda: self._scores(sight, grid, query), model=self.__name__, query=query, **told
            )
        except (Unreachable, Refused):
            raise  # the address, the key or the name is wrong: no other video can be compared either
        except ModelError as error:
            return Hints(note=str(error))
        return Hints({cell: Hint(score, "a frame resembles what is asked") for cell, score in (scores or {}).items()})

    def _scores(self, sight: Sight, grid: Grid, query: str) -> dict[int, float]:
        # Vectors and frames are no part of what a replay needs, since it has the scores.
        cache, clock = sight.cache.watched(), {"deadline_s": sight.deadline_s, "cancel": sight.cancel}
        texts = [f"{self.embedder.query_prefix}{query}"]
        (wanted,) = embed(self.embedder, texts, cache, replay=sight.is_replay, **clock)  # type: ignore[arg-type]
        frames = self._frames(sight, grid, cache)
        pictures = [Frame(sight.video, time_s, FRAME_PX, "native", cache) for _, time_s in frames]
        vectors = embed_images(self.embedder, pictures, cache, replay=sight.is_replay, **clock)  # type: ignore[arg-type]
        if len(wanted) != vectors.shape[1]:
            raise InputError(f"{self.embedder.name} gives vectors of other lengths for texts than for images.")
        best: dict[int, float] = {}
        for (cell, _), cosine in zip(frames, cosines(vectors, wanted).tolist(), strict=True):
            best[cell] = max(cosine, best.get(cell, -1.0))
        usual = Usual.of(list(best.values()), STANDS_OUT)
        return {cell: usual.standout(cosine) for cell, cosine in best.items()}

    def _frames(self, sight: Sight, grid: Grid, cache: Cache) -> list[tuple[int, float]]:
        """Return cells and the times of their keyframes: at most `most_frames`, evenly spread."""
        each = min(grid.size, self.most_frames // grid.size)
        if each < 2:
            moments_s = _keyframes_s(sight, grid, cache)
            return [(cell, moments_s[cell]) for cell in spread(grid.size, self.most_frames)]
        within = {cell: _keyframes_s(sight, grid.expand(cell), cache) for cell in range(grid.size)}
        return [(cell, moments_s[at]) for cell, moments_s in within.items() for at in spread(grid.size, each)]


def spread(count: int, most: int) -> list[int]:
    """Return at most `most` numbers below `count`, evenly spread."""
    most = min(count, most)
    return [(2 * number + 1) * count // (2 * most) for number in range(most)]


def _keyframes_s(sight: Sight, grid: Grid, cache: Cache) -> Sequence[float]:
    """Return the time of the keyframe nearest the middle of each cell, or of its middle."""
    return View(sight.video, grid, SMALLEST_PX, sampling="keyframe", cache=cache).moments
