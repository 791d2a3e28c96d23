"""Policies for the gym that need no model: a random one, a blind one, and one that knows the truth.

`rollout` plays an episode. `trials` plays policies on AtlasWorlds, and returns a row for each
episode. Notebook 13 and the recipe of nano use these policies.
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
"""Longest cell at the ends of several intervals, as a share of the total length of the intervals.
The greedy policy takes the first share for which the steps of the episode suffice."""
STEPS_A_CELL = 1.6
"""Mean number of steps to keep a cell, including those that lead to it."""


def random_policy(env: Env, rng: np.random.Generator) -> Any:
    """Return a legal action, drawn uniformly."""
    base = base_env(env)
    legal = base.legal_actions()
    return base.encode(legal[int(rng.integers(len(legal)))])


def uniform_policy(env: Env) -> Any:
    """Return the action of an agent that keeps equally spaced cells of the root grid, blindly.

    The agent keeps as many cells as it may, at most all. Then it finishes, with the first choice if
    an answer is needed.
    """
    base = base_env(env)
    cells = base.atlas.root.size
    most = min(base.rewarded.most_kept or cells, cells)
    kept = len(base.state.scratchpad)
    if kept < most:
        add = as_action("add_to_scratchpad", (2 * kept + 1) * cells // (2 * most))
        if add in base.legal_actions():
            return base.encode(add)
    return base.encode(as_action("finished"))


def greedy_policy(env: Env) -> Any:
    """Return the action of an agent that knows the true answer and when its evidence is shown.

    The agent puts a frame of each evidence interval into the scratchpad. To get there, it opens (or
    marks) the cell that contains the middle of the next interval. Then it finishes with the true
    answer. For a when-question, it collects the finest cells at both ends of the answer. For a
    question about several intervals, it collects the largest cells within each interval, and
    smaller ones at the ends. If no answer is needed and the number of frames is limited, it keeps
    one frame of each of the longest events.
    """
    base = base_env(env)
    state = base.state
    grid = state.grid
    truth = base.question.answer
    finish = base.encode(as_action("finished", answer=truth if isinstance(truth, int) else 0))
    missing = [goal for goal in _goals(base) if not state.scratchpad.within(*goal)]
    for goal in missing:
        middle_s = sum(goal) / 2
        if grid.start_s <= middle_s < grid.end_s:
            action = _towards(base, goal, middle_s)
            if action is not None:
                return base.encode(action)
            if state.rules.traversal == "dfs":
                # The goal lies between two frames, so no other grid shows it.
                return finish
    if missing and "backtrack" in base.observation.legal:
        return base.encode(as_action("backtrack"))
    return finish


def rollout(env: Env, policy: Policy, seed: int | None = None) -> tuple[float, int]:
    """Play one episode; return the sum of its rewards and its number of steps."""
    env.reset(seed=seed)
    total = 0.0
    steps = 0
    is_over = False
    while not is_over:
        _, reward, terminated, truncated, _ = env.step(policy(env))
        total += float(reward)
        steps += 1
        is_over = terminated or truncated
    return total, steps


def trials(
    tasks: Mapping[str, Mapping[str, Policy]],
    seeds: Iterable[int],
    *,
    kinds: Collection[str] = DRAWN,
    duration_s: float = 600.0,
    **settings: Any,
) -> pd.DataFrame:
    """Play policies on worlds, and return a row for each episode.

    All policies of a task play the same question about each world. From world to world, the
    questions of the task take turns.

    Args:
        tasks: For each task, by its name in `TASKS`, the policies that play it, by name.
        seeds: Seeds of the worlds, such as `aw.seeds("development")[:50]`.
        kinds: The kinds of question that are asked.
        duration_s: Duration of a world in seconds.
        **settings: Other arguments of `AtlasEnv`. Unless `pixels=True`, observations are not drawn:
            a policy gets the environment itself, and renders only the images that it looks at.

    Returns:
        A table with the columns `task`, `policy`, `video`, `seed`, `id`, `kind`, `score`, `reward`,
        `steps`, `truth` (the evidence, as intervals in seconds) and `kept` (the cells of the kept
        frames, as intervals in seconds).
        `ak.statistics.accuracy(rows, by=["task", "policy"])` has the means with their intervals.

    Raises:
        InputError: A task is unknown, or has no question about a world.

    Examples:
        >>> from examples.policies import trials, uniform_policy
        >>> rows = trials({"summary": {"uniform": uniform_policy}}, [1_000_000], duration_s=60, k=2)
        >>> rows["policy"].tolist()
        ['uniform']
    """
    import pandas as pd

    policies_of = {named_task(name): policies for name, policies in tasks.items()}
    rows = list[dict[str, Any]]()
    for number, seed in enumerate(seeds):
        # All tasks of a world share its cache, so each of its frames is rendered once.
        env_settings = {"cache": Cache(None), "pixels": False, **settings}
        worlds = {
            has_anomaly: aw.world(seed, duration_s, size=WORLD_SIZE, anomaly=has_anomaly)
            for has_anomaly in {task.anomaly for task in policies_of}
        }
        for task, policies in policies_of.items():
            world = worlds[task.anomaly]
            questions = [question for question in task.of(world) if question.kind in kinds]
            if not questions:
                raise InputError(
                    f"The task {task.name!r} has no question of kind {', '.join(kinds)} about "
                    f"{world!r}."
                )
            question = questions[number % len(questions)]
            rows += _played(task, policies, world, question, env_settings)
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
    """Return the AtlasEnv below wrappers.

    Raises:
        InputError: The innermost environment is not an AtlasEnv.
    """
    base = env.unwrapped
    if not isinstance(base, AtlasEnv):
        raise InputError(f"This policy needs an AtlasEnv; got a {type(base).__name__}.")
    return base


def _goals(env: AtlasEnv) -> tuple[Span, ...]:
    """Return the intervals that need evidence, in seconds.

    For a when-question, these are two intervals as long as a finest cell, one at each end of the
    answer. For a question about several intervals, they are the cells that cover these.
    """
    question = env.question
    rules = env.atlas.rules
    k = env.atlas.k
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
    """Return the cells that cover intervals: large ones within, and smaller ones at the ends.

    Args:
        env: The environment.
        spans: The intervals in seconds.
        deepest: The depth of the smallest cells.
        error: See `ERRORS`.
    """
    longest_at_ends_s = error * sum(end_s - start_s for start_s, end_s in spans)
    lengths_s: list[float] = []
    for depth in range(deepest + 1):
        lengths_s.append(resolution_s(env.atlas.rules.duration_s, env.atlas.k, depth))
        if lengths_s[-1] <= longest_at_ends_s:
            break
    return tuple(cell for span in spans for cell in _cells_of(span, lengths_s))


def _cells_of(span: Span, lengths_s: Sequence[float]) -> Iterator[Span]:
    """Yield the cells of the first length within an interval, and of the others at its ends."""
    cell_s, *shorter_s = lengths_s
    for number in range(int(span[0] / cell_s), math.ceil(span[1] / cell_s)):
        start_s = number * cell_s
        end_s = (number + 1) * cell_s
        if span[0] <= start_s and end_s <= span[1]:
            yield start_s, end_s
        elif shorter_s:
            yield from _cells_of((max(span[0], start_s), min(span[1], end_s)), shorter_s)
        elif span[0] <= (number + 0.5) * cell_s < span[1]:
            yield start_s, end_s


def _towards(env: AtlasEnv, goal: Span, middle_s: float) -> dict[str, int] | None:
    """Return the action that keeps evidence of a goal or leads to it; None if no action does.

    `middle_s` is the middle of the goal, which the current grid contains.
    """
    grid = env.state.grid
    legal = env.legal_actions()
    deeper = "expand" if env.state.rules.traversal == "dfs" else "mark_promising"
    nearer = as_action(deeper, grid.cell_at(middle_s).index)
    answers_by_interval = env.question.kind == "when" and env.rewarded.needs_answer
    if answers_by_interval and not env.question.several and nearer in legal:
        return nearer  # a coarse cell would give a coarse interval
    in_goal = [cell.index for cell in grid.cells if goal[0] <= cell.midpoint_s < goal[1]]
    is_too_coarse = grid.resolution_s >= 1.5 * (goal[1] - goal[0])
    if env.question.several and env.rewarded.needs_answer and is_too_coarse:
        in_goal = []  # such a cell covers time outside all intervals
    for index in in_goal:
        add = as_action("add_to_scratchpad", index)
        if add in legal:
            return add
    return nearer if nearer in legal else None
