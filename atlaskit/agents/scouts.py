"""Scouts: cheap signals of where in a video to look first, made without the model.

`ak.Search(scouts=)` takes the name "words" (subtitles that share words with the question), or any
function of this form:

    def late(sight, grid):
        "Name the last cells, for a question about the end."
        return Hints({cell.index: Hint(0.6, "near the end") for cell in grid.cells[-3:]})

A scout returns hints: which cells of a grid to look at first, and why. They must depend only on the
sight (the scout's inputs) and the grid. Hints are never evidence. They go into prompts, and help
to rank the regions of the root grid: the weighted hint or the master's score counts, whichever is
higher.
Their reasons may hold untrusted text, such as subtitle lines, and are therefore made printable and
short.
"""

from __future__ import annotations

import json
import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from atlaskit.agents.index import K1, Index
from atlaskit.agents.index import words as words_of
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.places import places_of
from atlaskit.environment.question import Question
from atlaskit.errors import InputError, printable
from atlaskit.runs import events
from atlaskit.runs.events import HintRecord
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Video

__all__ = ["SCOUTS", "Hint", "Hints", "Scout", "Sight", "words"]

T = TypeVar("T")

LEAST = 0.5
"""The lowest score of a hint that goes into prompts and ranks regions; others are only recorded."""
MOST_TOLD = 8
"""The most hints in one prompt: those with the highest scores."""
LONGEST_REASON = 300
"""Characters of a reason; the rest is cut off."""
LONGEST_QUOTE = 120
"""Characters of the text that a reason quotes; the rest is cut off."""
SPREADS = 4.0
"""A value stands out fully if it is so many median absolute deviations above the median."""
ENOUGH_WORDS = 4
"""Number of rare words shared with the question at which a line has full relevance. Therefore a
line that repeats the whole question counts no more than a line that answers it."""
NEIGHBOUR = 0.5
"""Share of the score of a neighbour that a line receives, since sentences span lines."""
NEAR_S = 2.0
"""The longest gap, in seconds, between two lines of one sentence."""
STANDS_OUT = 0.15
"""A value that is less than this above the median never stands out fully."""


@dataclass(frozen=True)
class Hint:
    """A scout's score of one cell, and its reason.

    Raises:
        InputError: The score is not a number in [0, 1], or the reason is not a text.

    Examples:
        >>> ak.scouts.Hint(0.8, 'said there: "Goal!"')
        Hint(score=0.8, reason='said there: "Goal!"')
    """

    score: float
    """From 0 (nothing speaks for the cell) to 1."""
    reason: str = ""
    """Why, in a few words that go into prompts, such as `said there: "Goal!"`."""

    def __post_init__(self) -> None:
        is_number = isinstance(self.score, int | float) and not isinstance(self.score, bool)
        if not is_number or not 0 <= self.score <= 1:
            raise InputError(f"The score of a hint is a number in [0, 1]; got {self.score!r:.40}.")
        if not isinstance(self.reason, str):
            raise InputError(f"The reason of a hint is a text; got {self.reason!r:.40}.")


@dataclass(frozen=True)
class Hints:
    """The hints of one scout about the cells of one grid.

    Examples:
        >>> ak.scouts.Hints({12: ak.scouts.Hint(0.8, 'said there: "Goal!"')}).by_cell[12].score
        0.8
    """

    by_cell: Mapping[int, Hint] = field(default_factory=dict)
    """Hints by the index of their cell; cells without a hint are left out."""
    note: str = ""
    """Why there are no hints, if the scout could not look."""


@dataclass(frozen=True)
class Sight:
    """The inputs of a scout in a run. All scouts of the run, and all grids, share them.

    Examples:
        >>> sight = ak.scouts.Sight(video, question, "find it", ak.Cache(None))
        >>> sight.lines == tuple(sorted(video.subtitles.lines, key=lambda line: line.start_s))
        True
    """

    video: Video
    question: Question
    search_task: str
    cache: Cache
    subtitles: bool = True
    """Whether the run uses the video's subtitles."""
    _once: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The subtitle lines that the run may use, sorted by time and then by text."""
        lines = self.video.subtitles.lines if self.subtitles else ()
        return tuple(sorted(lines, key=lambda line: (line.start_s, line.end_s, line.text)))

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return the value of `make`, which is called once in a run for each name."""
        if name not in self._once:
            self._once[name] = make()
        return self._once[name]  # type: ignore[no-any-return]


class Scout(Protocol):
    """Any function that says which cells of a grid to look at first.

    Prompts say that the hints were made without seeing a frame. A scout that looks at frames has an
    attribute `looks_at_frames = True`, and prompts then do not say so.

    Examples:
        >>> def middle(sight, grid):
        ...     return ak.scouts.Hints({grid.size // 2: ak.scouts.Hint(1.0, "it is the middle")})
        >>> ak.ask(video, question, vlm=vlm, search=ak.Search(scouts=[middle])).is_right
        True
    """

    def __call__(self, sight: Sight, grid: Grid, /) -> Hints:
        """Return hints about cells of the grid; the same for the same sight and grid."""


def words(sight: Sight, grid: Grid) -> Hints:
    """Name cells whose subtitles share words with the question, the choices and the search task.

    A line belongs to the cell in which its middle lies. Words that many lines share weigh little
    (BM25). A line scores by how far its relevance stands out among the best lines of all cells of
    the root grid. A line proves nothing, and may mislead.

    Examples:
        >>> by_name = ak.Search(scouts=["words"])
        >>> ak.ask(video, question, vlm=vlm, search=by_name).is_right
        True
    """
    if not sight.subtitles:
        return Hints(note="The run uses no subtitles.")
    if not sight.video.subtitles.lines:
        return Hints(note="The video has no subtitles.")
    root = replace(grid, path=(), shift=())
    lines = sight.once(f"words {grid.k}", lambda: _scored_lines(sight, root))
    middle_of = attrgetter("middle_s")
    hints = dict[int, Hint]()
    for cell in grid.cells:
        first = bisect_left(lines, cell.start_s, key=middle_of)
        last = bisect_left(lines, cell.end_s, key=middle_of)
        best = max(lines[first:last], key=lambda line: line.score, default=None)
        if best is None or not best.score:
            continue
        quote = json.dumps(printable(best.line.text, LONGEST_QUOTE), ensure_ascii=False)
        places = places_of(sight.video, best.line.start_s, best.line.start_s)
        where = f"in {places[0]}" if places else "there"
        hints[cell.index] = Hint(best.score, f"said {where}: {quote}")
    return Hints(hints)


class ScoredLine(NamedTuple):
    """A subtitle line and how far it stands out, in [0, 1]."""

    middle_s: float
    score: float
    line: Line


def _scored_lines(sight: Sight, root: Grid) -> list[ScoredLine]:
    """Return the subtitle lines with their scores, in order of their middles."""
    middles_s = [(line.start_s + line.end_s) / 2 for line in sight.lines]
    values = relevance(sight)
    starts_s = [cell.start_s for cell in root.cells]
    best = [0.0] * root.size
    for middle_s, value in zip(middles_s, values, strict=True):
        cell = max(0, bisect_right(starts_s, middle_s) - 1)
        best[cell] = max(best[cell], value)
    scores = standouts(values, best, STANDS_OUT)
    lines = list(map(ScoredLine, middles_s, scores, sight.lines))
    lines.sort(key=lambda line: line.middle_s)
    return lines


class _Text(NamedTuple):
    """A text in the form that `Index` searches."""

    words: str


def relevance(sight: Sight, said: Sequence[Line] | None = None) -> list[float]:
    """Return the relevance of each line for the question, in [0, 1].

    The query has each word once for the question, once for the choices and once for the search
    task. The relevance of a line is its BM25 score for this query, divided by the score of
    ENOUGH_WORDS words that occur in no other line. A line also receives a share of the score of the
    line before and the line after it, unless that line scores higher: of a sentence that spans two
    lines, the one that says more stands for both.

    Args:
        sight: The question, the search task and the subtitle lines.
        said: Other lines, in order of time; None means the subtitle lines.
    """
    lines = sight.lines if said is None else said
    question = sight.question
    query = list[str]()
    for text in (question.text, " ".join(question.choices), sight.search_task):
        query += sorted(set(words_of(text)))
    scores = Index([_Text(line.text) for line in lines]).scores(" ".join(query)).tolist()
    spread = list(scores)
    for at in range(1, len(lines)):
        if lines[at].start_s - lines[at - 1].end_s > NEAR_S:
            continue
        if scores[at - 1] <= scores[at]:
            spread[at] += NEIGHBOUR * scores[at - 1]
        if scores[at] <= scores[at - 1]:
            spread[at - 1] += NEIGHBOUR * scores[at]
    # BM25 of a word that occurs once, in one of the lines: its IDF divided by 1 + k1.
    enough = ENOUGH_WORDS * math.log1p((len(lines) - 0.5) / 1.5) / (1 + K1)
    return [round(min(1.0, score / enough), 6) for score in spread]


def standouts(values: Sequence[float], usual: Sequence[float], least: float) -> list[float]:
    """Return how far each value stands out above the median of usual ones, in [0, 1].

    Args:
        values: The values.
        usual: The usual values, at least one.
        least: A value that is less than this above the median never stands out fully.
    """
    median = statistics.median(usual)
    reach = max(SPREADS * statistics.median(abs(value - median) for value in usual), least)
    scores = list[float]()
    for value in values:
        share = (value - median) / reach
        if not math.isfinite(share):  # a model of images and text may return NaN
            share = 0.0
        scores.append(round(min(1.0, max(0.0, share)), 6))
    return scores


SCOUTS: dict[str, Scout] = {"words": words}
"""The scouts that have a name."""


@dataclass(frozen=True)
class Survey:
    """The hints of all scouts in one run, computed once for each search task and grid."""

    scouts: Mapping[str, Scout] = field(default_factory=dict)
    """The scouts by name; none by default."""
    is_in_prompts: bool = True
    """Whether hints go into prompts. If not, they only rank the regions of the root grid."""
    sight_of: Callable[[str], Sight] | None = None
    """Returns the inputs of the scouts for a search task; None without scouts."""
    _sights: dict[str, Sight] = field(default_factory=dict, init=False)
    _hints: dict[tuple[str, Grid], dict[str, Hints]] = field(default_factory=dict, init=False)

    def look(self, search_task: str, grid: Grid) -> dict[str, Hints]:
        """Return the hints of each scout about a grid, by the scout's name.

        Raises:
            InputError: A scout does not return hints about cells of the grid.
        """
        if not self.scouts or self.sight_of is None:
            return {}
        if (search_task, grid) not in self._hints:
            if search_task not in self._sights:
                self._sights[search_task] = self.sight_of(search_task)
            sight = self._sights[search_task]
            hints = dict[str, Hints]()
            for name, scout in self.scouts.items():
                hints[name] = checked(name, scout(sight, grid), grid)
            self._hints[search_task, grid] = hints
        return self._hints[search_task, grid]

    def record(self, search_task: str, grid: Grid) -> Iterator[events.Scout]:
        """Yield the event that records the hints of each scout about a grid."""
        for name, hints in self.look(search_task, grid).items():
            yield events.Scout(
                scout=name,
                path=grid.path,
                hints=tuple(_records(hints, self.scouts[name])),
                note=hints.note,
            )

    def hints_for(
        self, search_task: str, grid: Grid, cells: Collection[int]
    ) -> tuple[HintRecord, ...]:
        """Return the hints about some cells for a prompt: at most MOST_TOLD, best first."""
        if not self.is_in_prompts:
            return ()
        about = list[HintRecord]()
        for name, hints in self.look(search_task, grid).items():
            for hint in _records(hints, self.scouts[name]):
                if hint.cell in cells and hint.score >= LEAST:
                    about.append(hint)
        about.sort(key=lambda hint: (-hint.score, hint.cell))
        return tuple(about[:MOST_TOLD])

    def prior(self, search_task: str, region: Grid) -> float:
        """Return the prior of a region, in [0, 1]: the best score of a hint about it.

        Scouts give hints about the region as a cell of the grid above it.
        """
        if not self.scouts:
            return 0.0
        # A region that is visited again, shifted to show what lies between its frames, has the same
        # prior.
        region = replace(region, shift=())
        best = 0.0
        for hints in self.look(search_task, region.parent()).values():
            hint = hints.by_cell.get(region.path[-1])
            if hint is not None and hint.score >= LEAST:
                best = max(best, hint.score)
        return best

    def recorded(self) -> dict[str, Any]:
        """Return the scouts as a run's settings record them; nothing if there are none."""
        if not self.scouts:
            return {}
        return {"scouts": list(self.scouts), "hints_told": self.is_in_prompts}


def _records(hints: Hints, scout: Scout) -> Iterator[HintRecord]:
    """Yield the hints of a scout as events record them."""
    looked = getattr(scout, "looks_at_frames", False) is True
    for cell, hint in hints.by_cell.items():
        yield HintRecord(cell=cell, score=hint.score, reason=hint.reason, looked=looked)


def checked(name: str, hints: object, grid: Grid) -> Hints:
    """Check the hints that a scout returned; return them with printable, short reasons.

    Hints with a score of 0 are left out.

    Raises:
        InputError: The scout did not return `Hints` about cells of the grid.
    """
    if (
        not isinstance(hints, Hints)
        or not isinstance(hints.by_cell, Mapping)
        or not isinstance(hints.note, str)
    ):
        raise InputError(
            f"The scout {name} must return ak.scouts.Hints; it returned {hints!r:.80}."
        )
    for cell, hint in hints.by_cell.items():
        if not isinstance(hint, Hint):
            raise InputError(
                f"The scout {name} must return ak.scouts.Hints of ak.scouts.Hint; it returned "
                f"{hints!r:.80}."
            )
        if type(cell) is not int or not 0 <= cell < grid.size:
            raise InputError(
                f"The scout {name} must name cells from 0 to {grid.size - 1}; it named "
                f"{cell!r:.40}."
            )
    by_cell = dict[int, Hint]()
    for cell in sorted(hints.by_cell):
        hint = hints.by_cell[cell]
        if hint.score:
            reason = printable(hint.reason or f"named by the scout {name}", LONGEST_REASON)
            by_cell[cell] = Hint(float(hint.score), reason)
    return Hints(by_cell, printable(hints.note, LONGEST_REASON))


def resolve_scouts(scouts: Iterable[str | Scout]) -> dict[str, Scout]:
    """Return scouts by their names in results and traces, in the given order.

    Args:
        scouts: Names in SCOUTS, or functions of a scout's form. A scout given twice counts once.

    Raises:
        InputError: A value is neither a name nor such a function, or two different functions have
            the same name.
    """
    if isinstance(scouts, str) or not isinstance(scouts, Iterable):
        raise InputError(f'scouts is a list of scouts, such as ("words",); got {scouts!r:.80}.')
    found: dict[str, Scout] = {}
    for scout in scouts:
        if isinstance(scout, str) and scout in SCOUTS:
            name = scout
            scout = SCOUTS[scout]
        elif not callable(scout):
            raise InputError(f'A scout is "words" or a function; got {scout!r:.80}.')
        else:
            try:
                signature(scout).bind(None, None)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"A scout is callable as scout(sight, grid); {scout!r:.80} is not ({error})."
                ) from error
            name = printable(str(getattr(scout, "__name__", type(scout).__name__)), 100)
        if found.setdefault(name, scout) != scout:
            raise InputError(
                f"Two different scouts have the name {name}: rename one of the functions."
            )
    return found


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
