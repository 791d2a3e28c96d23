"""`AtlasTaskset` and `AtlasSearchEnv`: episodes as an environment package of verifiers (v1).

The episode plays the user: each turn is an image and words, each reply of the model is one action
as JSON. `AtlasTask` scores the finished trace. verifiers finds the classes through a module that
exports them, whose name is the id of the task set (`docs/rl-recipes.md`).
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from typing import Any

from atlaskit.errors import missing

try:
    import verifiers.v1 as vf
except ModuleNotFoundError as error:
    raise ImportError(missing("atlaskit.gym.verifiers", "verifiers>=0.4,<0.5")) from error

from atlaskit.benchmarks.atlasworld.seeds import DEVELOPMENT
from atlaskit.environment.image import IMAGE_QUALITY, to_jpeg
from atlaskit.environment.mdp import Traversal
from atlaskit.gym.episode import AtlasEpisode, Measures, Turn
from atlaskit.gym.words import task_words

__all__ = ["AtlasData", "AtlasSearchConfig", "AtlasSearchEnv", "AtlasTask", "AtlasTaskset", "AtlasTasksetConfig"]

REPLY = (
    'Reply with one action as JSON and nothing else, such as {"action": "expand", "cell": 5}, {"action": '
    '"add_to_scratchpad", "cell": 5, "description": "a red kite"}, {"action": "backtrack"} or {"action": "answer", '
    '"answer": 2}.'
)
"""How a model acts."""
SETTINGS = ("duration_s", "max_steps", "step_cost", "k", "cell", "traversal")
"""The fields of `AtlasTasksetConfig` that are arguments of `AtlasEpisode.drawn`."""
MOST_BRACES = 20
"""How many braces of a reply are tried as the beginning of an action."""
MEASURES = "atlaskit"
"""Where a trace's `info` keeps the measures of its episode."""


class AtlasTasksetConfig(vf.TasksetConfig):
    """Which worlds are searched, and how; `--env.taskset.*`."""

    n_seeds: int = 1000
    """Tasks in the set: the worlds of seeds `first_seed`, `first_seed` + 1, …"""
    first_seed: int = DEVELOPMENT[0]
    duration_s: float = 600.0
    """Duration of a world in seconds."""
    max_steps: int = 12
    step_cost: float = 0.01
    k: int = 4
    """A grid has k×k cells."""
    cell: int = 160
    """Width and height of a cell in pixels."""
    traversal: Traversal = "dfs"
    asked: str = "answer"
    """What is asked and rewarded: one of `atlaskit.gym.TASKS`."""


class AtlasData(vf.TaskData):
    """What an episode is made of: the arguments of `AtlasEpisode.drawn`."""

    seed: int
    settings: dict[str, Any]


class AtlasTask(vf.Task[AtlasData, vf.State, vf.TaskConfig]):
    """Scores a trace by the measures that `AtlasSearchEnv` left in it."""

    @vf.reward
    async def reward(self, trace: vf.Trace) -> float:
        """Return the score of the answer minus the cost of the steps."""
        return Measures(**trace.info[MEASURES]).reward if MEASURES in trace.info else 0.0

    @vf.metric
    async def measures(self, trace: vf.Trace) -> dict[str, float]:
        """Return what else was measured, by name, without what is not known."""
        return {name: float(value) for name, value in trace.info.get(MEASURES, {}).items() if value is not None}


class AtlasTaskset(vf.Taskset[AtlasTask, AtlasTasksetConfig]):
    """One task for each seed, and so for each world and its question."""

    def load(self) -> Iterator[AtlasTask]:
        """Yield the tasks in order of their seeds."""
        look = {"task": self.config.asked, **{name: getattr(self.config, name) for name in SETTINGS}}
        words = f"{task_words(self.config.traversal)}\n{REPLY}"
        for seed in range(self.config.first_seed, self.config.first_seed + self.config.n_seeds):
            data = AtlasData(name=f"atlasworld {seed}", system_prompt=words, seed=seed, settings=look)
            yield AtlasTask(data, self.config.task)


class AtlasSearchConfig(vf.EnvConfig):
    """The one seat: a chat without tools, so nothing that the model writes is executed."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})


class AtlasSearchEnv(vf.Env[AtlasSearchConfig]):
    """Plays the user: shows an image and words, and takes the model's reply as an action."""

    async def run(self, task: AtlasTask, agents: vf.Agents) -> None:
        """Play one episode, and leave its measures in the trace before the task scores it."""
        # In threads: worlds are drawn and frames rendered, while other episodes wait for the model.
        episode = await asyncio.to_thread(begin, task.data)
        turn = await asyncio.to_thread(episode.observe)
        async with agents.player.interaction(task) as interaction:
            while not episode.is_over:
                segment = await interaction.turn([as_message(turn)])
                if segment.terminated:
                    break
                turn = await asyncio.to_thread(reply_to, episode, segment.last_reply)
            interaction.trace.info[MEASURES] = asdict(episode.measures())


def begin(data: AtlasData) -> AtlasEpisode:
    """Return the episode of a task."""
    return AtlasEpisode.drawn(data.seed, **data.settings)


def reply_to(episode: AtlasEpisode, reply: str) -> Turn:
    """Take the action in a model's reply; return the next turn."""
    action = action_in(reply)
    if action is not None:
        return episode.act(action)
    episode.refuse(f"The reply has no JSON object. {REPLY}")
    return episode.observe()


def action_in(reply: str) -> dict[str, Any] | None:
    """Return the first JSON object in a reply; None if there is none."""
    for start in islice((index for index, sign in enumerate(reply) if sign == "{"), MOST_BRACES):
        with suppress(ValueError, RecursionError):  # no JSON begins here
            found: dict[str, Any] = json.JSONDecoder().raw_decode(reply, start)[0]
            repr(found)  # what is nested too deeply to be quoted in an error is no action either
            return found
    return None


def as_message(turn: Turn) -> vf.UserMessage:
    """Return a turn as a message of the user: the image, then the words."""
    data = base64.b64encode(to_jpeg(turn.image.convert("RGB"), IMAGE_QUALITY)).decode()
    image = vf.ImageUrlContentPart(image_url=vf.ImageUrlSource(url=f"data:image/jpeg;base64,{data}"))
    return vf.UserMessage(content=[image, vf.TextContentPart(text=turn.words)])
