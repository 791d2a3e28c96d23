"""`play` and `play_rule`: episodes of policies and of rules on fixed tasks.

Rules are policies that do not learn, with which a learned policy is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlaskit.evaluation.tables import RIGHT_FROM
from atlaskit.gym import CELL_KINDS, KINDS, as_action
from examples.policies import greedy_policy, random_policy
from nano.policy.features import IS_SHOWN, is_said, quoted
from nano.policy.query import Floats
from nano.policy.task import PolicyEnv

Chooser = Callable[[Floats, NDArray[np.bool_], np.random.Generator], NDArray[np.int64]]
"""Chooses an action for each of n observations, (n, features), given the masks, (n, actions)."""
Rule = Callable[[PolicyEnv, np.random.Generator], int]
"""Chooses the next action of one environment."""


def task_number(seed: int) -> int:
    """Return the number of the question that a trial asks about a world, drawn by its seed."""
    return int(np.random.default_rng(seed).integers(2**31))


def play(
    make: Callable[[], PolicyEnv], seeds: Sequence[int], choose: Chooser, seed: int = 0
) -> list[dict[str, Any]]:
    """Play one episode in each world, all at the same time; return a row for each episode.

    Args:
        make: Makes an environment.
        seeds: Seeds of the worlds.
        choose: Chooses the actions.
        seed: Seed of what `choose` draws.
    """
    rng = np.random.default_rng(seed)
    envs = [make() for _ in seeds]
    seen: list[Floats] = [
        env.begin(world, task_number(world)) for env, world in zip(envs, seeds, strict=True)
    ]
    actions = [list[str]() for _ in envs]
    playing = list(range(len(envs)))
    while playing:
        masks = np.stack([envs[i].action_masks() for i in playing])
        chosen = choose(np.stack([seen[i] for i in playing]), masks, rng)
        for i, action in zip(list(playing), chosen, strict=True):
            actions[i].append(in_words(envs[i], int(action)))
            observation, _, terminated, truncated, _ = envs[i].step(int(action))
            seen[i] = observation.astype(np.float32, copy=False)
            if terminated or truncated:
                playing.remove(i)
    return [_row(*each) for each in zip(envs, seeds, actions, strict=True)]


def play_rule(
    env: PolicyEnv, seeds: Sequence[int], rule: Rule, seed: int = 0
) -> list[dict[str, Any]]:
    """Play one episode in each world by a rule; return a row for each episode."""
    rng = np.random.default_rng(seed)
    rows = []
    for world in seeds:
        env.begin(world, task_number(world))
        actions = list[str]()
        while not env.episode.is_over:
            action = rule(env, rng)
            actions.append(in_words(env, action))
            env.step(action)
        rows.append(_row(env, world, actions))
    return rows


def in_words(env: PolicyEnv, number: int) -> str:
    """Return an action, given by its number, in words: "expand 5", "backtrack", "answer 2"."""
    action = env.decode(number)
    kind = KINDS[action["kind"]]
    if kind == "finished" and env.question.kind != "when":
        return f"answer {action['answer']}"
    return f"{kind} {action['cell']}" if kind in CELL_KINDS else kind


def _row(env: PolicyEnv, world: int, actions: list[str]) -> dict[str, Any]:
    measures = env.episode.measures()
    return {
        "world": world,
        "question": env.question.text,
        "category": env.question.category,
        "reward": round(measures.reward, 6),
        "score": measures.score,
        "right": measures.score >= RIGHT_FROM,
        "steps": measures.steps,
        "actions": "; ".join(actions),
    }


def at_random(env: PolicyEnv, rng: np.random.Generator) -> int:
    """Take any legal action."""
    return int(random_policy(env, rng))


def oracle(env: PolicyEnv, rng: np.random.Generator) -> int:
    """Act as an agent that knows the true answer and where it is shown."""
    return int(greedy_policy(env))


def likeness(env: PolicyEnv, rng: np.random.Generator) -> int:
    """Open the cell most like the question's words; answer once a frame shows what is asked for.

    The rule uses the same eyes and words as the learned policy. If several cells are equally like
    the question, it draws one. A cell in which a quoted line is spoken is the most like. For a
    when-question, the rule keeps the cells that show the object before it answers.
    """
    memory = env.memory
    observation = env.observation
    grid = env.state.grid
    shown = env.read_grid(observation)
    is_last_step = env.steps >= env.max_steps - 1
    if env.question.kind == "when":
        shows = memory.query.target(shown, np.ones(grid.size, np.float32)) > IS_SHOWN
        keep = [i for i in observation.legal["add_to_scratchpad"] if shows[i] and grid.depth > 0]
        if keep and not is_last_step:
            return int(env.encode(as_action("add_to_scratchpad", keep[0])))
        if len(env.state.scratchpad) or is_last_step:
            return int(env.encode(as_action("finished")))
    elif is_last_step or memory.found_s is not None:
        support = (memory.support * memory.target[:, None]).max(axis=0)
        best = np.flatnonzero(support >= support.max() - 1e-6)
        return int(env.encode(as_action("finished", answer=int(rng.choice(best)))))
    opened = {
        path[-1] for path in memory.opened if len(path) == grid.depth + 1 and path[:-1] == grid.path
    }
    unopened = [cell for cell in observation.legal["expand"] if cell not in opened]
    if grid.depth > 0 or not unopened:
        if "backtrack" in observation.legal:
            return int(env.encode(as_action("backtrack")))
        return int(env.encode(as_action("finished")))
    goal = memory.query.goal
    named = goal.object_names or goal.scene or goal.shape
    like = memory.query.likeness(shown) if named else np.zeros(grid.size, np.float32)
    lines = quoted(memory.query, observation)
    like = like + is_said(grid, lines)
    for line in lines:
        like[grid.cell_at(max(grid.start_s, line.start_s)).index] += 1
    scores = like[unopened]
    best = np.flatnonzero(scores >= scores.max() - 1e-3)
    return int(env.encode(as_action("expand", unopened[int(rng.choice(best))])))


RULES: dict[str, Rule] = {"random": at_random, "likeness": likeness, "greedy (an oracle)": oracle}
"""The rules with which a learned policy is compared, by their names in tables."""
