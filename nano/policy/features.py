"""`Memory` and `features`: what the policy sees, as numbers that compare frames with the question.

Everything follows from frames through the eyes, from subtitle lines, from the words of the question
and from the agent's own actions. Nothing says what is true. The vector has three parts: a row for
each cell of the grid, a row for each answer, and the situation.
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

CELL_FEATURES, ANSWER_FEATURES = 28, 14
DEPTHS = 4
SITUATION_FEATURES = len(GOALS) + DEPTHS + 9
IS_SHOWN = 0.5
"""Probability from which on a frame counts as one that shows something."""
NEAR_S = 20.0
"""Gap between two sightings, in seconds, at which their nearness has fallen to 1/e."""


@dataclass
class Memory:
    """What an agent has seen and opened in one episode."""

    query: Query
    duration_s: float
    n_answers: int
    times_s: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    """Times of the frames seen, in order, each once."""
    target: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    support: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    opened: set[tuple[int, ...]] = field(default_factory=set)
    """Paths of the grids that were opened."""

    def see(self, observation: Observation, shown: Floats) -> None:
        """Take in a grid; one that was seen before adds nothing.

        Args:
            observation: What the current state shows.
            shown: Probabilities of what each cell's frame shows, (cells, values).
        """
        grid = observation.state.grid
        if grid.path in self.opened:
            return
        self.opened.add(grid.path)
        times_s = np.array([cell.midpoint_s for cell in grid.cells], np.float32)
        support = self.query.support(shown)
        if not len(self.times_s):
            self.support = np.zeros((0, support.shape[1]), np.float32)
        times_s = np.concatenate([self.times_s, times_s])
        target = np.concatenate(
            [self.target, self.query.target(shown, is_said(grid, self._quoted(observation)))]
        )
        support = np.concatenate([self.support, support])
        order = np.argsort(times_s, kind="stable")
        self.times_s, self.target, self.support = times_s[order], target[order], support[order]

    @property
    def found_s(self) -> float | None:
        """Time of the frame that most surely shows what is asked about; None if none does."""
        best = int(self.target.argmax())
        return float(self.times_s[best]) if self.target[best] > IS_SHOWN else None

    @property
    def sightings(self) -> int:
        """How many runs of frames show what the question asks about."""
        is_shown = np.concatenate([[False], self.target > IS_SHOWN])
        return int(np.sum(is_shown[1:] & ~is_shown[:-1]))

    def _quoted(self, observation: Observation) -> list[Line]:
        return quoted(self.query, observation)


def features(memory: Memory, observation: Observation, shown: Floats, steps_left: float) -> Floats:
    """Return the vector of a state: the rows of the cells, of the answers, and the situation.

    Args:
        memory: What was seen so far, this grid included.
        observation: What the current state shows.
        shown: Probabilities of what each cell's frame shows, (cells, values).
        steps_left: Share of the steps that are left.
    """
    cells = _cell_rows(memory, observation, shown)
    answers = _answer_rows(memory, observation)
    situation = _situation(memory, observation, cells[:, 3], steps_left)
    return np.concatenate([cells.ravel(), answers.ravel(), situation]).astype(np.float32)


def quoted(query: Query, observation: Observation) -> list[Line]:
    """Return the lines in sight that the question quotes."""
    return [
        line for line in observation.subtitles if query.goal.line and line.text == query.goal.line
    ]


def is_said(grid: Grid, lines: list[Line]) -> Floats:
    """Return for each cell whether one of these lines is said at its frame."""
    at_s = [cell.midpoint_s for cell in grid.cells]
    return np.array(
        [any(line.start_s <= t < line.end_s for line in lines) for t in at_s], np.float32
    )


def _cell_rows(memory: Memory, observation: Observation, shown: Floats) -> Floats:
    query, state, grid, legal = (
        memory.query,
        observation.state,
        observation.state.grid,
        observation.legal,
    )
    lines, size = quoted(query, observation), grid.size
    target, object_ = query.target(shown, is_said(grid, lines)), query.object(shown)
    wanted, names = (
        list(query.goal.object_names),
        [name for choice in query.choices for name in objects_in(choice)],
    )
    found_s, rows = memory.found_s, np.zeros((size, CELL_FEATURES), np.float32)
    looks = target if not object_.any() else object_
    choice = query.support(shown).max(axis=1, initial=0.0)
    rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = (
        query.scene(shown),
        object_,
        query.shape(shown),
        target,
    )
    rows[:, 4], rows[:, 5], rows[:, 6] = (
        something(shown),
        1 - shown[:, index_of("word", "")],
        choice,
    )
    rows[1:, 7], rows[:-1, 8] = looks[:-1], looks[1:]
    for column, (first, second) in ((9, ("place", "light")), (11, ("colour", "shape"))):
        same = _same(shown, first) * _same(shown, second)
        rows[1:, column], rows[:-1, column + 1] = same, same
    rows[:, 14] = is_said(grid, lines)
    rows[:, 15], rows[:, 16] = _named(observation, wanted), _named(observation, names)
    starts_s = np.array([cell.start_s for cell in grid.cells])
    ends_s, at_s = starts_s + grid.resolution_s, starts_s + grid.resolution_s / 2
    for line in lines:
        rows[:, 13] = np.maximum(rows[:, 13], (line.start_s < ends_s) & (starts_s < line.end_s))
    rows[[path[-1] for path in memory.opened if path and path[:-1] == grid.path], 17] = 1
    rows[
        [
            grid.cell_at(item.timestamp_s).index
            for item in state.scratchpad.within(grid.start_s, grid.end_s)
        ],
        18,
    ] = 1
    rows[:, 19] = np.arange(size) / size
    if found_s is not None:
        away = (at_s - found_s) / grid.resolution_s
        rows[:, 20], rows[:, 21] = np.clip(away / 4, -1, 1), np.exp(-np.abs(away))
    edges = np.searchsorted(memory.times_s, [*starts_s, grid.end_s])
    # Each cell holds a frame that was seen: its own.
    rows[:, 22] = np.maximum.reduceat(memory.target, edges[:-1])
    rows[:, 23] = np.minimum(1, np.log1p(np.diff(edges)) / math.log(18))
    rows[:, 24] = np.maximum.reduceat(memory.support.max(axis=1, initial=0.0), edges[:-1])
    rows[list(legal["expand"]), 25] = 1
    rows[list(legal["add_to_scratchpad"]), 26] = 1
    rows[:, 27] = query.likeness(shown) if wanted or query.goal.scene or query.goal.shape else 0.0
    return rows


def _same(shown: Floats, attribute: str) -> Floats:
    """Return how surely each frame and the next show the same value of an attribute."""
    first = index_of(attribute, "")
    part = shown[:, first : first + len(VALUES[attribute])]
    same: Floats = np.sum(part[1:] * part[:-1], axis=1)
    return same


def _named(observation: Observation, objects: list[str]) -> Floats:
    """Return for each cell whether a line in it names one of these objects."""
    grid = observation.state.grid
    named = np.zeros(grid.size, np.float32)
    for line in observation.subtitles:
        if objects and any(name in line.text for name in objects):
            middle_s = (line.start_s + line.end_s) / 2
            if grid.start_s <= middle_s < grid.end_s:
                named[grid.cell_at(middle_s).index] = 1
    return named


def _answer_rows(memory: Memory, observation: Observation) -> Floats:
    query, rows = memory.query, np.zeros((memory.n_answers, ANSWER_FEATURES), np.float32)
    count = len(query.choices)
    if not count:
        return rows
    items, found_s = observation.state.scratchpad.items, memory.found_s
    kept = np.isin(memory.times_s, np.array([item.timestamp_s for item in items], np.float32))
    backed = memory.support * memory.target[:, None]
    rows[:count, 0] = 1
    rows[:count, 1] = backed.max(axis=0)
    rows[:count, 2] = backed[kept].max(axis=0, initial=0.0)
    rows[:count, 3] = memory.support.max(axis=0)
    rows[:count, 4] = rows[:count, 1] / max(1e-3, float(rows[:count, 1].sum()))
    first_s = np.array([_first_s(memory, choice) for choice in range(count)])
    rows[:count, 5] = np.minimum(first_s / memory.duration_s, 1.0)
    rows[int(first_s.argmin()), 6] = np.isfinite(first_s.min())
    if found_s is not None:
        near = np.array([_nearness(memory, choice, found_s) for choice in range(count)])
        rows[:count, 7] = near
        rows[int(near.argmax()), 8] = near.max() > 0
    rows[:count, 9] = [
        any(name in query.goal.line for name in objects_in(choice)) for choice in query.choices
    ]
    for index, choice in enumerate(query.choices):
        if choice.isdecimal():
            rows[index, 10] = int(choice) == memory.sightings
            rows[index, 11] = np.clip((int(choice) - memory.sightings) / 4, -1, 1)
            rows[index, 12] = min(1.0, int(choice) / 8)
    rows[:count, 13] = _shares_of_runs(memory)
    return rows


def _first_s(memory: Memory, choice: int) -> float:
    """Return when a choice is first seen in the video, in seconds; infinity if it was not seen."""
    is_shown = memory.support[:, choice] > IS_SHOWN
    return float(memory.times_s[int(is_shown.argmax())]) if is_shown.any() else math.inf


def _nearness(memory: Memory, choice: int, found_s: float) -> float:
    """Return how close a choice was seen to what was found, on the side that is asked for."""
    gaps_s = memory.times_s[memory.support[:, choice] > IS_SHOWN] - found_s
    if memory.query.goal.side:
        gaps_s = gaps_s[gaps_s > 0] if memory.query.goal.side == "after" else -gaps_s[gaps_s < 0]
    return math.exp(-float(np.abs(gaps_s).min()) / NEAR_S) if len(gaps_s) else 0.0


def _shares_of_runs(memory: Memory) -> Floats:
    """Return the share of the frames that show a choice, for each choice, among all that do."""
    counts = (memory.support > IS_SHOWN).sum(axis=0)
    shares: Floats = (counts / max(1, int(counts.sum()))).astype(np.float32)
    return shares


def _situation(
    memory: Memory, observation: Observation, target: Floats, steps_left: float
) -> Floats:
    query, state = memory.query, observation.state
    goal = np.eye(len(GOALS))[GOALS.index(query.goal.type)]
    depth = np.eye(DEPTHS)[min(state.depth, DEPTHS - 1)]
    side = {"after": 1.0, "before": -1.0}.get(query.goal.side, 0.0)
    kept = min(1.0, len(state.scratchpad) / 4)
    best_of_choices = memory.support.max(axis=0, initial=0.0)
    seen_choices = float(best_of_choices.mean()) if len(best_of_choices) else 0.0
    told = [
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
    return np.concatenate([goal, depth, told])
