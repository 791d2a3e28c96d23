"""`random_policy`, `greedy_policy`, and a function that plays one episode."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import gymnasium
import numpy as np

from atlaskit.environment.grid import resolution_s, sub_second_depth
from atlaskit.environment.question import Span, spans_of
from atlaskit.errors import InputError
from atlaskit.gym.actions import as_action
from atlaskit.gym.env import AtlasEnv

Env: TypeAlias = gymnasium.Env[Any, Any]
Policy: TypeAlias = Callable[[Env], Any]
"""A function from an environment to its next action, in the form of its action space."""


def random_policy(env: Env, rng: np.random.Generator) -> Any:
    """Return a legal action, drawn uniformly."""
    base = _base(env)
    legal = base.legal_actions()
    return base.encode(legal[int(rng.integers(len(legal)))])


def greedy_policy(env: Env) -> Any:
    """Return the action of an agent that knows the true answer and when its evidence is shown.

    It puts a frame of each evidence interval into the scratchpad. To get there, it opens (or marks)
    the cell that contains the middle of the next interval. Then it finishes with the true answer.
    For a when-question, it collects the finest cells at both ends of the answer; for one of several
    intervals, the cells in each, at the first depth at which two fit in.
    """
    base = _base(env)
    state, grid, truth = base.state, base.state.grid, base.question.answer
    finish = base.encode(as_action("finished", answer=truth if isinstance(truth, int) else 0))
    missing = [goal for goal in _goals(base) if not state.scratchpad.within(*goal)]
    for goal in missing:
        middle_s = sum(goal) / 2
        if grid.start_s <= middle_s < grid.end_s:
            action = _towards(base, goal, middle_s)
            if action is not None:
                return base.encode(action)
            if state.rules.traversal == "dfs":  # the goal lies between two frames, so no other grid shows it
                return finish
    return base.encode(as_action("backtrack")) if missing and base.observation.legal.backtrack else finish


def rollout(env: Env, policy: Policy, seed: int | None = None) -> tuple[float, int]:
    """Play one episode; return (the sum of its rewards, its number of steps)."""
    env.reset(seed=seed)
    total, steps, is_over = 0.0, 0, False
    while not is_over:
        _, reward, terminated, truncated, _ = env.step(policy(env))
        total, steps, is_over = total + float(reward), steps + 1, terminated or truncated
    return total, steps


def _base(env: Env) -> AtlasEnv:
    base = env.unwrapped
    if not isinstance(base, AtlasEnv):
        raise InputError(f"This policy needs an AtlasEnv; got a {type(base).__name__}.")
    return base


def _goals(env: AtlasEnv) -> tuple[Span, ...]:
    """Return the intervals that need evidence.

    For a when-question, these are as long as a finest cell, one at each end of the answer; for one
    of several intervals, the cells that lie within these.
    """
    question, rules, k = env.question, env.atlas.rules, env.atlas.k
    if not isinstance(question.answer, tuple):
        return question.positions_s
    if question.several:
        return tuple(cell for span in spans_of(question.answer) for cell in _cells_within(env, span))
    ((start_s, end_s),) = spans_of(question.answer)
    finest_s = resolution_s(rules.duration_s, k, min(rules.max_depth, sub_second_depth(rules.duration_s, k)))
    return (start_s, min(end_s, start_s + finest_s)), (max(start_s, end_s - finest_s), end_s)


def _cells_within(env: AtlasEnv, span: Span) -> Iterator[Span]:
    """Yield the cells with their middles in an interval, at the first depth at which two fit in."""
    rules, k = env.atlas.rules, env.atlas.k
    deepest = min(rules.max_depth, sub_second_depth(rules.duration_s, k))
    depths = range(deepest + 1)
    fitting = (depth for depth in depths if 2 * resolution_s(rules.duration_s, k, depth) <= span[1] - span[0])
    cell_s = resolution_s(rules.duration_s, k, next(fitting, deepest))
    for number in range(int(span[0] / cell_s), math.ceil(span[1] / cell_s)):
        if span[0] <= (number + 0.5) * cell_s < span[1]:
            yield number * cell_s, (number + 1) * cell_s


def _towards(env: AtlasEnv, goal: Span, middle_s: float) -> dict[str, int] | None:
    """Return the action that collects evidence of a goal or leads to it; None if there is none."""
    grid, legal = env.state.grid, env.legal_actions()
    deeper = "expand" if env.state.rules.traversal == "dfs" else "mark_promising"
    in_goal = [cell.index for cell in grid.cells if goal[0] <= cell.midpoint_s < goal[1]]
    if env.question.several:  # a cell that is longer than the goal covers what no interval holds
        in_goal = [index for index in in_goal if grid.resolution_s < 1.5 * (goal[1] - goal[0])]
    nearer = as_action(deeper, grid.cell_at(middle_s).index)
    is_one_interval = env.question.kind == "when" and not env.question.several
    if not is_one_interval or nearer not in legal:  # a coarse cell would give a coarse interval
        for index in in_goal:
            if (add := as_action("add_to_scratchpad", index)) in legal:
                return add
    return nearer if nearer in legal else None
