"""`trials`: plays policies on drawn worlds, and returns a row for each episode."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.gym.env import AtlasEnv
from atlaskit.gym.policies import Policy, rollout
from atlaskit.gym.tasks import DRAWN, WORLD_SIZE, Task, named_task

if TYPE_CHECKING:
    import pandas as pd


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
        seeds: Seeds of the worlds, such as `ak.benchmarks.seeds("development")[:50]`.
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
        >>> from atlaskit.gym import trials, uniform_policy
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
        worlds = {is_odd: atlasworld(seed, duration_s, size=WORLD_SIZE, anomaly=is_odd) for is_odd in are_odd}
        for task, policies in asked.items():
            world = worlds[task.anomaly]
            questions = [question for question in task.of(world) if question.kind in kinds]
            if not questions:
                raise InputError(f"The task {task.name!r} has no question of kind {', '.join(kinds)} about {world!r}.")
            rows += _played(task, policies, world, questions[number % len(questions)], own)
    return pd.DataFrame(rows)


def _played(
    task: Task, policies: Mapping[str, Policy], world: World, question: Question, settings: Mapping[str, Any]
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
