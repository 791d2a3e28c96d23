"""`words`: the cells in which something is said that shares words with the question (BM25)."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from atlaskit.agents.index import K1, Index
from atlaskit.agents.index import words as words_of
from atlaskit.agents.scouts.hints import Hint, Hints, Usual, quoted
from atlaskit.agents.scouts.sight import Sight
from atlaskit.environment.grid import Grid
from atlaskit.video.subtitles import Line

ENOUGH_WORDS = 4
"""A line that shares so many rare words has all the relevance that a line can have. So a line that
repeats the whole question counts no more than one that answers it."""
NEIGHBOUR = 0.5
"""Share of the scores of the lines before and after that a line gets: sentences span lines."""
NEAR_S = 2.0
"""Seconds between two lines that may be of one sentence."""
STANDS_OUT = 0.15
"""Relevance above the usual from which a line may stand out fully."""


def words(sight: Sight, grid: Grid) -> Hints:
    """Name the cells in which what is said shares words with question, choices and search task.

    A line counts for the cell in which its middle lies. Words that many lines share weigh little,
    and a line counts by how far it stands out above what is usual in the video: above the median,
    over the root grid's cells, of the best line of each. A line proves nothing, and may mislead.

    Examples:
        >>> by_name = ak.Search(scouts=["words"])
        >>> ak.ask(video, question, vlm=vlm, search=by_name).is_right
        True
    """
    if not sight.subtitles:
        return Hints(note="The run uses no subtitles.")
    if not sight.video.subtitles.lines:
        return Hints(note="The video has no subtitles.")
    spoken = sight.once(f"words {grid.k}", lambda: Spoken.of(sight, Grid(grid.root_start_s, grid.root_end_s, grid.k)))
    return Hints({cell: Hint(score, f"said there: {quoted(line.text)}") for cell, (score, line) in spoken.best(grid)})


@dataclass(frozen=True)
class _Text:
    words: str


@dataclass(frozen=True)
class Spoken:
    """The lines of a video in order of their middles, with how far each stands out."""

    lines: tuple[Line, ...]
    scores: tuple[float, ...]

    @classmethod
    def of(cls, sight: Sight, root: Grid) -> Spoken:
        """Return the lines that a scout may use, scored for the question."""
        lines, relevances = sight.lines, relevance(sight)
        best = dict.fromkeys(range(root.size), 0.0)
        starts_s = [cell.start_s for cell in root.cells]
        for line, value in zip(lines, relevances, strict=True):
            cell = max(0, bisect_right(starts_s, _middle(line)) - 1)
            best[cell] = max(best[cell], value)
        usual = Usual.of(list(best.values()), STANDS_OUT)
        ranked = sorted(zip(lines, map(usual.standout, relevances), strict=True), key=lambda each: _middle(each[0]))
        return cls(tuple(line for line, _ in ranked), tuple(score for _, score in ranked))

    def best(self, grid: Grid) -> list[tuple[int, tuple[float, Line]]]:
        """Return the best line of each cell that has one which stands out; the first of equals."""
        found = []
        for cell in grid.cells:
            first, last = bisect_left(self._middles, cell.start_s), bisect_left(self._middles, cell.end_s)
            if first < last and (score := max(self.scores[first:last])):
                found.append((cell.index, (score, self.lines[self.scores.index(score, first, last)])))
        return found

    @cached_property
    def _middles(self) -> list[float]:
        return [_middle(line) for line in self.lines]


def relevance(sight: Sight) -> list[float]:
    """Return the relevance of each line for the question, in [0, 1].

    It is the line's BM25 score for a query in which each word counts once for the question, once
    for the choices and once for the search task, as a share of what ENOUGH_WORDS words of one line
    alone would score.
    """
    lines, question = sight.lines, sight.question
    texts = (question.text, " ".join(question.choices), sight.search_task)
    query = " ".join(word for text in texts for word in sorted(set(words_of(text))))
    scores = Index([_Text(line.text) for line in lines]).scores(query).tolist()
    rare = math.log1p((len(lines) - 0.5) / 1.5) / (1 + K1)
    enough = ENOUGH_WORDS * rare
    return [round(min(1.0, score / enough), 6) for score in _with_neighbours(lines, scores)]


def _with_neighbours(lines: Sequence[Line], scores: Sequence[float]) -> list[float]:
    """Add to the score of each line a share of those right before and after it that have no more.

    So of a sentence that spans two lines, the one that says more stands for both.
    """
    spread = list(scores)
    for at in range(1, len(lines)):
        if lines[at].start_s - lines[at - 1].end_s <= NEAR_S:
            spread[at] += NEIGHBOUR * scores[at - 1] * (scores[at - 1] <= scores[at])
            spread[at - 1] += NEIGHBOUR * scores[at] * (scores[at] <= scores[at - 1])
    return spread


def _middle(line: Line) -> float:
    return (line.start_s + line.end_s) / 2
