"""`features`: the observation of the policy, numbers that compare frames with the question.

All features follow from what the eyes see in frames, from subtitle lines, from the words of the
question and from the agent's own actions. No feature depends on the true answer. The vector has
three parts: a row for each cell of the grid, a row for each answer, and the situation. Each feature
is between -1 and 1. `Memory` holds what the agent has seen in the episode so far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import Grid
from atlaskit.video.subtitles import Line
from nano.policy.query import GOALS, Floats, Query, index_of, something
from nano.teacher.goal import objects_in
from nano.teacher.labels import VALUES

CELL_FEATURES = 28
"""Length of the row of a cell."""
ANSWER_FEATURES = 14
"""Length of the row of an answer."""
DEPTHS = 4
"""Number of depths of grids that are told apart."""
SITUATION_FEATURES = len(GOALS) + DEPTHS + 9
"""Length of the part that describes the situation."""
IS_SHOWN = 0.5
"""Probability above which a frame counts as one that shows what is looked for."""
NEAR_S = 20.0
"""Gap between two sightings, in seconds, at which their nearness has fallen to 1/e."""


@dataclass
class Memory:
    """What an agent has seen and opened in one episode."""

    query: Query
    duration_s: float
    """Duration of the video in seconds."""
    n_answers: int
    """Number of rows for answers, whatever the number of choices."""
    times_s: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    """Times of the frames seen, in order, each once."""
    target: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    """How surely each of these frames shows what the question asks about: `Query.target`."""
    support: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    """How surely each of these frames shows what each choice names: `Query.support`."""
    opened: set[tuple[int, ...]] = field(default_factory=set)
    """Paths of the grids that were opened."""

    def see(self, observation: Observation, shown: Floats) -> None:
        """Add the frames of the current grid, unless this grid was added before.

        Args:
            observation: What the current state shows.
            shown: Probabilities of what each cell's frame shows, (cells, values).
        """
        grid = observation.state.grid
        if grid.path in self.opened:
            return
        self.opened.add(grid.path)
        times_s = np.array([cell.midpoint_s for cell in grid.cells], np.float32)
        target = self.query.target(shown, is_said(grid, quoted(self.query, observation)))
        support = self.query.support(shown)
        if not len(self.times_s):
            self.support = np.zeros((0, support.shape[1]), np.float32)
        times_s = np.concatenate([self.times_s, times_s])
        order = np.argsort(times_s, kind="stable")
        self.times_s = times_s[order]
        self.target = np.concatenate([self.target, target])[order]
        self.support = np.concatenate([self.support, support])[order]

    @property
    def found_s(self) -> float | None:
        """Time of the frame that most surely shows what is asked about; None if no frame does."""
        best = int(self.target.argmax())
        return float(self.times_s[best]) if self.target[best] > IS_SHOWN else None

    @property
    def sightings(self) -> int:
        """Number of runs of successive frames that show what the question asks about."""
        is_shown = np.concatenate([[False], self.target > IS_SHOWN])
        return int(np.sum(is_shown[1:] & ~is_shown[:-1]))


def features(memory: Memory, observation: Observation, shown: Floats, steps_left: float) -> Floats:
    """Return the vector of a state: the rows of the cells, of the answers, and the situation.

    Args:
        memory: What was seen so far, the current grid included.
        observation: What the current state shows.
        shown: Probabilities of what each cell's frame shows, (cells, values).
        steps_left: Share of the episode's steps that are left, from 0 to 1.
    """
    cells = _cell_rows(memory, observation, shown)
    answers = _answer_rows(memory, observation)
    situation = _situation(memory, observation, cells[:, 3], steps_left)
    return np.concatenate([cells.ravel(), answers.ravel(), situation]).astype(np.float32)


def quoted(query: Query, observation: Observation) -> list[Line]:
    """Return the subtitle lines of the current grid that the question quotes."""
    quote = query.goal.line
    if not quote:
        return []
    return [line for line in observation.subtitles if line.text == quote]


def is_said(grid: Grid, lines: list[Line]) -> Floats:
    """Return 1 for each cell during whose frame one of these lines is spoken, else 0, (cells,)."""
    said = [
        any(line.start_s <= cell.midpoint_s < line.end_s for line in lines) for cell in grid.cells
    ]
    return np.array(said, np.float32)


def _cell_rows(memory: Memory, observation: Observation, shown: Floats) -> Floats:
    """Return the row of each cell of the current grid, (cells, CELL_FEATURES)."""
    query = memory.query
    state = observation.state
    grid = state.grid
    rows = np.zeros((grid.size, CELL_FEATURES), np.float32)

    # What the frame of the cell shows.
    lines = quoted(query, observation)
    said = is_said(grid, lines)
    target = query.target(shown, said)
    asked_object = query.object(shown)
    rows[:, 0] = query.scene(shown)
    rows[:, 1] = asked_object
    rows[:, 2] = query.shape(shown)
    rows[:, 3] = target
    rows[:, 4] = something(shown)
    rows[:, 5] = 1 - shown[:, index_of("word", "")]
    rows[:, 6] = query.support(shown).max(axis=1, initial=0.0)
    wanted = list(query.goal.object_names)
    if wanted or query.goal.scene or query.goal.shape:
        rows[:, 27] = query.likeness(shown)

    # What the frames of the cells before and after show, and whether it is the same.
    neighbour = asked_object if asked_object.any() else target
    rows[1:, 7] = neighbour[:-1]
    rows[:-1, 8] = neighbour[1:]
    for column, (first, second) in ((9, ("place", "light")), (11, ("colour", "shape"))):
        same = _same(shown, first) * _same(shown, second)
        rows[1:, column] = same
        rows[:-1, column + 1] = same

    # What is spoken in the cell.
    starts_s = np.array([cell.start_s for cell in grid.cells])
    ends_s = starts_s + grid.resolution_s
    for line in lines:
        rows[:, 13] = np.maximum(rows[:, 13], (line.start_s < ends_s) & (starts_s < line.end_s))
    rows[:, 14] = said
    rows[:, 15] = _named(observation, wanted)
    objects_of_choices = [name for choice in query.choices for name in objects_in(choice)]
    rows[:, 16] = _named(observation, objects_of_choices)

    # What the agent did with the cell, and where the cell is.
    opened = [path[-1] for path in memory.opened if path and path[:-1] == grid.path]
    rows[opened, 17] = 1
    kept = state.scratchpad.within(grid.start_s, grid.end_s)
    rows[[grid.cell_at(item.timestamp_s).index for item in kept], 18] = 1
    rows[:, 19] = np.arange(grid.size) / grid.size
    found_s = memory.found_s
    if found_s is not None:
        cells_away = (starts_s + grid.resolution_s / 2 - found_s) / grid.resolution_s
        rows[:, 20] = np.clip(cells_away / 4, -1, 1)
        rows[:, 21] = np.exp(-np.abs(cells_away))

    # All frames seen within the cell, which include the frame of the cell itself.
    edges = np.searchsorted(memory.times_s, [*starts_s, grid.end_s])
    rows[:, 22] = np.maximum.reduceat(memory.target, edges[:-1])
    rows[:, 23] = np.minimum(1, np.log1p(np.diff(edges)) / math.log(18))
    rows[:, 24] = np.maximum.reduceat(memory.support.max(axis=1, initial=0.0), edges[:-1])

    # What may be done with the cell.
    rows[list(observation.legal["expand"]), 25] = 1
    rows[list(observation.legal["add_to_scratchpad"]), 26] = 1
    return rows


def _same(shown: Floats, attribute: str) -> Floats:
    """Return how surely each frame and the next show the same value of an attribute."""
    first = index_of(attribute, "")
    part = shown[:, first : first + len(VALUES[attribute])]
    same: Floats = np.sum(part[1:] * part[:-1], axis=1)
    return same


def _named(observation: Observation, objects: list[str]) -> Floats:
    """Return 1 for each cell in which a line names one of these objects, else 0, (cells,)."""
    grid = observation.state.grid
    named = np.zeros(grid.size, np.float32)
    for line in observation.subtitles:
        if objects and any(name in line.text for name in objects):
            middle_s = (line.start_s + line.end_s) / 2
            if grid.start_s <= middle_s < grid.end_s:
                named[grid.cell_at(middle_s).index] = 1
    return named


def _answer_rows(memory: Memory, observation: Observation) -> Floats:
    """Return the row of each answer, (n_answers, ANSWER_FEATURES); zeros beyond the choices."""
    query = memory.query
    rows = np.zeros((memory.n_answers, ANSWER_FEATURES), np.float32)
    count = len(query.choices)
    if not count:
        return rows
    rows[:count, 0] = 1

    # Frames that show the choice; in the first two columns, only those that fit the question too.
    items = observation.state.scratchpad.items
    kept = np.isin(memory.times_s, np.array([item.timestamp_s for item in items], np.float32))
    backed = memory.support * memory.target[:, None]
    rows[:count, 1] = backed.max(axis=0)
    rows[:count, 2] = backed[kept].max(axis=0, initial=0.0)
    rows[:count, 3] = memory.support.max(axis=0)
    rows[:count, 4] = rows[:count, 1] / max(1e-3, float(rows[:count, 1].sum()))

    # When the choice is first seen, and how close to what the question asks about.
    first_s = np.array([_first_s(memory, choice) for choice in range(count)])
    rows[:count, 5] = np.minimum(first_s / memory.duration_s, 1.0)
    rows[int(first_s.argmin()), 6] = np.isfinite(first_s.min())
    found_s = memory.found_s
    if found_s is not None:
        near = np.array([_nearness(memory, choice, found_s) for choice in range(count)])
        rows[:count, 7] = near
        rows[int(near.argmax()), 8] = near.max() > 0

    # The words and numbers of the choice.
    rows[:count, 9] = [
        any(name in query.goal.line for name in objects_in(choice)) for choice in query.choices
    ]
    for index, choice in enumerate(query.choices):
        if choice.isdecimal():
            rows[index, 10] = int(choice) == memory.sightings
            rows[index, 11] = np.clip((int(choice) - memory.sightings) / 4, -1, 1)
            rows[index, 12] = min(1.0, int(choice) / 8)
    rows[:count, 13] = _shares_of_frames(memory)
    return rows


def _first_s(memory: Memory, choice: int) -> float:
    """Return when a choice is first seen in the video, in seconds; infinity if it was not seen."""
    is_shown = memory.support[:, choice] > IS_SHOWN
    return float(memory.times_s[int(is_shown.argmax())]) if is_shown.any() else math.inf


def _nearness(memory: Memory, choice: int, found_s: float) -> float:
    """Return how close to a time a choice was seen, from 1 (at that time) to 0 (far away or never).

    If the question asks for what comes before or after, only sightings on that side count.
    """
    gaps_s = memory.times_s[memory.support[:, choice] > IS_SHOWN] - found_s
    if memory.query.goal.side == "after":
        gaps_s = gaps_s[gaps_s > 0]
    elif memory.query.goal.side == "before":
        gaps_s = gaps_s[gaps_s < 0]
    return math.exp(-float(np.abs(gaps_s).min()) / NEAR_S) if len(gaps_s) else 0.0


def _shares_of_frames(memory: Memory) -> Floats:
    """Return for each choice its share of the frames that show a choice, (choices,)."""
    counts = (memory.support > IS_SHOWN).sum(axis=0)
    shares: Floats = (counts / max(1, int(counts.sum()))).astype(np.float32)
    return shares


def _situation(
    memory: Memory, observation: Observation, target: Floats, steps_left: float
) -> Floats:
    """Return the features of the situation as a whole, (SITUATION_FEATURES,).

    `target` is how surely each cell of the current grid shows what the question asks about.
    """
    query = memory.query
    state = observation.state
    goal = np.eye(len(GOALS))[GOALS.index(query.goal.type)]
    depth = np.eye(DEPTHS)[min(state.depth, DEPTHS - 1)]
    side = {"after": 1.0, "before": -1.0}.get(query.goal.side, 0.0)
    kept = min(1.0, len(state.scratchpad) / 4)
    best_of_choices = memory.support.max(axis=0, initial=0.0)
    seen_choices = float(best_of_choices.mean()) if len(best_of_choices) else 0.0
    numbers = [
        side,
        steps_left,
        kept,
        min(1.0, len(memory.opened) / 17),
        memory.target.max(initial=0.0),
        target.max(),
        seen_choices,
        float(observation.looking_at is not None),
        min(1.0, memory.sightings / 4),
    ]
    return np.concatenate([goal, depth, numbers])
