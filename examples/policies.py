"""Play the gym by policies that need no model: by chance, blindly, or with the truth at hand.

`rollout` plays an episode; `trials` plays policies on drawn worlds, and returns a row for each
episode. Notebook 13 and the recipe of nano play these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium
import numpy as np

import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import resolution_s, sub_second_depth
from atlaskit.environment.question import Question, Span, Spans, spans_of
from atlaskit.errors import InputError
from atlaskit.gym import DRAWN, AtlasEnv, Task, as_action
from atlaskit.gym.tasks import WORLD_SIZE, named_task
from atlasworld import World

if TYPE_CHECKING:
    import pandas as pd

Env: TypeAlias = gymnasium.Env[Any, Any]
Policy: TypeAlias = Callable[[Env], Any]
"""A function from an environment to its next action, in the form of its action space."""

ERRORS = (0.04, 0.08, 0.16, 0.32, 1.0)
"""How long a cell at the end of one of several intervals may be, as a share of all that they cover:
the first that the episode's steps allow."""
STEPS_A_CELL = 1.6
"""Steps to keep a cell, with those that lead to it."""


def random_policy(env: Env, rng: np.random.Generator) -> Any:
    """Return a legal action, drawn uniformly."""
    base = base_env(env)
    legal = base.legal_actions()
    return base.encode(legal[int(rng.integers(len(legal)))])


def uniform_policy(env: Env) -> Any:
    """Return the action of an agent that keeps cells of the root grid at equal distances, unseen.

    It keeps as many as it may, or all; then it finishes, with the first choice if one is needed.
    """
    base = base_env(env)
    cells = base.atlas.root.size
    most, kept = min(base.rewarded.most_kept or cells, cells), len(base.state.scratchpad)
    add = as_action("add_to_scratchpad", (2 * kept + 1) * cells // (2 * most))
    return base.encode(
        add if kept < most and add in base.legal_actions() else as_action("finished")
    )


def greedy_policy(env: Env) -> Any:
    """Return the action of an agent that knows the true answer and when its evidence is shown.

    It puts a frame of each evidence interval into the scratchpad. To get there, it opens (or marks)
    the cell that contains the middle of the next interval. Then it finishes with the true answer.
    For a when-question, it collects the finest cells at both ends of the answer; for one of several
    intervals, the largest cells that lie within each, and finer ones at its ends. If frames are
    limited and nothing is answered, it keeps one of each of the longest events.
    """
    base = base_env(env)
    state, grid, truth = base.state, base.state.grid, base.question.answer
    finish = base.encode(as_action("finished", answer=truth if isinstance(truth, int) else 0))
    missing = [goal for goal in _goals(base) if not state.scratchpad.within(*goal)]
    for goal in missing:
        middle_s = sum(goal) / 2
        if grid.start_s <= middle_s < grid.end_s:
            action = _towards(base, goal, middle_s)
            if action is not None:
                return base.encode(action)
            if (
                state.rules.traversal == "dfs"
            ):  # the goal lies between two frames, so no other grid shows it
                return finish
    return (
        base.encode(as_action("backtrack"))
        if missing and "backtrack" in base.observation.legal
        else finish
    )


def rollout(env: Env, policy: Policy, seed: int | None = None) -> tuple[float, int]:
    """Play one episode; return (the sum of its rewards, its number of steps)."""
    env.reset(seed=seed)
    total, steps, is_over = 0.0, 0, False
    while not is_over:
        _, reward, terminated, truncated, _ = env.step(policy(env))
        total, steps, is_over = total + float(reward), steps + 1, terminated or truncated
    return total, steps


def trials(
    tasks: Mapping[str, Mapping[str, Policy]],
    seeds: Iterable[int],
    *,
    kinds: Collection[str] = DRAWN,
    duration_s: float = 600.0,
    **settings: Any,
) -> pd.DataFrame:
    """Play policies on worlds, and return how each episode went.

    There is one question of each task about each world, which all policies of the task play; the
    questions of a task take turns from world to world.

    Args:
        tasks: For each task, by its name in `TASKS`, the policies that play it, by name.
        seeds: Seeds of the worlds, such as `aw.seeds("development")[:50]`.
        kinds: The kinds of question that are asked.
        duration_s: Duration of a world in seconds.
        **settings: Other arguments of `AtlasEnv`. Unless `pixels=True`, observations are not drawn:
            a policy gets the environment, and sees what it looks at.

    Returns:
        A table with the columns `task`, `policy`, `video`, `seed`, `id`, `kind`, `score`, `reward`,
        `steps`, `truth` (intervals in seconds) and `kept` (the cells of the kept frames, likewise).
        `ak.statistics.accuracy(rows, by=["task", "policy"])` has the means with their intervals.

    Raises:
        InputError: A task is unknown, or a world has no question of it.

    Examples:
        >>> from examples.policies import trials, uniform_policy
        >>> rows = trials({"summary": {"uniform": uniform_policy}}, [1_000_000], duration_s=60, k=2)
        >>> rows["policy"].tolist()
        ['uniform']
    """
    import pandas as pd

    asked = {named_task(name): policies for name, policies in tasks.items()}
    rows = list[dict[str, Any]]()
    are_odd = {task.anomaly for task in asked}
    for number, seed in enumerate(seeds):  # a world is painted once for all of its tasks
        own = {"cache": Cache(None), "pixels": False, **settings}
        worlds = {
            is_odd: aw.world(seed, duration_s, size=WORLD_SIZE, anomaly=is_odd)
            for is_odd in are_odd
        }
        for task, policies in asked.items():
            world = worlds[task.anomaly]
            questions = [question for question in task.of(world) if question.kind in kinds]
            if not questions:
                raise InputError(
                    f"The task {task.name!r} has no question of kind {', '.join(kinds)} about "
                    f"{world!r}."
                )
            rows += _played(task, policies, world, questions[number % len(questions)], own)
    return pd.DataFrame(rows)


def _played(
    task: Task,
    policies: Mapping[str, Policy],
    world: World,
    question: Question,
    settings: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Yield a row for each policy that plays a question about a world."""
    env = AtlasEnv(world.drawn, question, task=task.name, **settings)
    for name, policy in policies.items():
        reward, steps = rollout(env, policy)
        yield {
            "task": task.name,
            "policy": name,
            "video": world.name,
            "seed": world.script.seed,
            "id": question.id,
            "kind": question.kind,
            "score": env.episode.score,
            "reward": reward,
            "steps": steps,
            "truth": question.evidence_s,
            "kept": tuple((item.start_s, item.end_s) for item in env.state.scratchpad),
        }


def base_env(env: Env) -> AtlasEnv:
    """Return the AtlasEnv below wrappers; raise InputError if there is none."""
    base = env.unwrapped
    if not isinstance(base, AtlasEnv):
        raise InputError(f"This policy needs an AtlasEnv; got a {type(base).__name__}.")
    return base


def _goals(env: AtlasEnv) -> tuple[Span, ...]:
    """Return the intervals that need evidence.

    For a when-question, these are as long as a finest cell, one at each end of the answer; for one
    of several intervals, the cells that cover these.
    """
    question, rules, k = env.question, env.atlas.rules, env.atlas.k
    if not env.rewarded.needs_answer:
        longest = sorted(question.evidence_s, key=lambda span: span[0] - span[1])
        return tuple(sorted(longest[: env.rewarded.most_kept]))
    if not isinstance(question.answer, tuple):
        return question.positions_s
    deepest = min(rules.max_depth, sub_second_depth(rules.duration_s, k))
    if question.several:
        covers = (_cells_within(env, spans_of(question.answer), deepest, error) for error in ERRORS)
        return next((cells for cells in covers if STEPS_A_CELL * len(cells) <= env.max_steps), ())
    ((start_s, end_s),) = spans_of(question.answer)
    finest_s = resolution_s(rules.duration_s, k, deepest)
    return (start_s, min(end_s, start_s + finest_s)), (max(start_s, end_s - finest_s), end_s)


def _cells_within(env: AtlasEnv, spans: Spans, deepest: int, error: float) -> Spans:
    """Return the cells that cover intervals: the largest within them, and smaller ones at the ends.

    Args:
        env: The environment.
        spans: The intervals in seconds.
        deepest: The depth of the smallest cells.
        error: See `ERRORS`.
    """
    rules, k = env.atlas.rules, env.atlas.k
    lengths_s = [resolution_s(rules.duration_s, k, depth) for depth in range(deepest + 1)]
    coarsest_s = error * sum(end_s - start_s for start_s, end_s in spans)
    lengths_s = lengths_s[
        : 1 + next((n for n, length_s in enumerate(lengths_s) if length_s <= coarsest_s), deepest)
    ]
    return tuple(cell for span in spans for cell in _cells_of(span, lengths_s))


def _cells_of(span: Span, lengths_s: Sequence[float]) -> Iterator[Span]:
    """Yield the cells of the first length within an interval, and of the others at its ends."""
    cell_s, *shorter_s = lengths_s
    for number in range(int(span[0] / cell_s), math.ceil(span[1] / cell_s)):
        start_s, end_s = number * cell_s, (number + 1) * cell_s
        if span[0] <= start_s and end_s <= span[1]:
            yield start_s, end_s
        elif shorter_s:
            yield from _cells_of((max(span[0], start_s), min(span[1], end_s)), shorter_s)
        elif span[0] <= (number + 0.5) * cell_s < span[1]:
            yield start_s, end_s


def _towards(env: AtlasEnv, goal: Span, middle_s: float) -> dict[str, int] | None:
    """Return the action that collects evidence of a goal or leads to it; None if there is none."""
    grid, legal = env.state.grid, env.legal_actions()
    deeper = "expand" if env.state.rules.traversal == "dfs" else "mark_promising"
    in_goal = [cell.index for cell in grid.cells if goal[0] <= cell.midpoint_s < goal[1]]
    if (
        env.question.several and env.rewarded.needs_answer
    ):  # a longer cell covers what no interval holds
        in_goal = [index for index in in_goal if grid.resolution_s < 1.5 * (goal[1] - goal[0])]
    nearer = as_action(deeper, grid.cell_at(middle_s).index)
    is_one_interval = (
        env.question.kind == "when" and not env.question.several and env.rewarded.needs_answer
    )
    if not is_one_interval or nearer not in legal:  # a coarse cell would give a coarse interval
        for index in in_goal:
            if (add := as_action("add_to_scratchpad", index)) in legal:
                return add
    return nearer if nearer in legal else None
