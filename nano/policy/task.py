"""`PolicyEnv`: `AtlasDiscrete-v0` on AtlasWorlds, with features in place of pixels.

The worlds are *drawn*: their frames are rendered on demand, without a video file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from PIL import Image

import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas, Observation
from atlaskit.environment.render import View
from atlaskit.environment.tiles import read_tiles
from atlaskit.gym import CELL_KINDS, DRAWN, AtlasEpisode, DiscreteAtlasEnv
from atlaskit.gym.actions import legal_actions, moves_of
from atlaskit.gym.tasks import WORLD_SIZE
from atlasworld import World
from nano.policy.features import (
    ANSWER_FEATURES,
    CELL_FEATURES,
    SITUATION_FEATURES,
    Memory,
    features,
)
from nano.policy.query import Floats, Query
from nano.teacher.labels import CELL_PX

K = 4
"""A grid has K×K cells."""
N_ANSWERS = 8
"""Number of answers that actions can give, whatever the number of choices."""
CLOSE_LOOKS = ("zoom", "investigate_before", "investigate_after")
"""Kinds of action that the policy does not choose."""
CHOSEN = tuple(kind for kind in CELL_KINDS if kind not in CLOSE_LOOKS)
"""Kinds of action on a cell that the policy chooses."""
SIZE = K * K * CELL_FEATURES + N_ANSWERS * ANSWER_FEATURES + SITUATION_FEATURES
"""Length of an observation."""


ReadGrid = Callable[[Observation], Floats]
"""Returns the probabilities of what each cell of the current grid shows, (cells, values)."""


class Reader(Protocol):
    """Tells what images of cells show, as `Eyes` does."""

    def read(self, cells: Sequence[Image.Image]) -> Floats:
        """Return the probabilities of what each cell shows, (cells, values)."""
        ...


class GridReader:
    """Reads the grids of drawn worlds, each only once."""

    def __init__(self, reader: Reader) -> None:
        """Take the reader of the cells."""
        self._reader = reader
        self._known: dict[tuple[str, float, float], NDArray[np.float16]] = {}

    def __call__(self, observation: Observation) -> Floats:
        """Return the probabilities of what each cell of the current grid shows, (cells, values)."""
        view = observation.view
        key = (view.video.fingerprint, view.grid.start_s, view.grid.end_s)
        if key not in self._known:
            self._known[key] = self._read(view)
        return self._known[key].astype(np.float32)

    def _read(self, view: View) -> NDArray[np.float16]:
        tiles, _ = read_tiles(view.video, view.moments, (CELL_PX, CELL_PX), "contain", view.cache)
        # No tile is None: a frame that is rendered on demand can always be read.
        shown = self._reader.read([tile for tile in tiles if tile is not None])
        return shown.astype(np.float16)


class PolicyEnv(DiscreteAtlasEnv):
    """`DiscreteAtlasEnv` on the worlds of given seeds, with features as observations.

    Actions, rules and reward are those of `AtlasDiscrete-v0`. Only the frames that the eyes read
    are rendered.
    """

    def __init__(self, worlds: Sequence[int], read_grid: ReadGrid, **settings: Any) -> None:
        """Make an environment.

        Args:
            worlds: Seeds of the worlds that tasks are drawn from.
            read_grid: Returns the probabilities of what each cell of a grid shows.
            **settings: Other arguments of `AtlasEnv`, except `k`, `cell` and `n_answers`.
        """
        self.worlds, self.read_grid = worlds, read_grid
        super().__init__(k=K, cell=CELL_PX, n_answers=N_ANSWERS, **settings)
        self.observation_space = spaces.Box(-1, 1, (SIZE,), np.float32)  # type: ignore[assignment]

    def begin(self, world: int, number: int) -> Floats:
        """Begin an episode on one question of a world; return its first observation.

        Args:
            world: The world's seed.
            number: Number of the question among those that an action can answer, modulo their
                count.
        """
        drawn_world, cache = _world(world, self.duration_s)
        answerable = [question for question in drawn_world.questions if question.kind in DRAWN]
        question = answerable[number % len(answerable)]
        atlas = Atlas(drawn_world.drawn, cache=cache, **self._atlas_settings)
        self.episode = AtlasEpisode(atlas, question, self.max_steps, self.step_cost)
        self.memory = Memory(Query.of(question), self.duration_s, self.n_answers)
        self._has_begun = True
        return self._pixels()

    def legal_actions(self) -> list[dict[str, int]]:
        """Return every legal action; no cell is left out, since all frames can be read."""
        if self._is_over:
            return []
        return legal_actions(moves_of(self.observation.legal), self._n_possible_answers)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions, by number, the policy may choose: the legal ones but close looks.

        Zoom and investigate show images that the eyes do not read, so for this policy they would be
        steps that change nothing. The answer to a when-question is the evidence that was kept, so
        there is only one number for it.

        Returns:
            Booleans, (actions,).
        """
        legal = self.observation.legal
        mask = np.zeros(self.action_space.n, np.bool_)  # type: ignore[attr-defined]
        if self._is_over:
            return mask
        for kind in CHOSEN:
            first = CELL_KINDS.index(kind) * K * K
            mask[first + np.array(legal[kind], np.int64)] = True
        mask[self._backtrack] = "backtrack" in legal
        first_answer = self._backtrack + 1
        mask[first_answer : first_answer + max(1, len(self.question.choices))] = True
        return mask

    def _info(self, illegal: str = "") -> dict[str, Any]:
        """Return why the last action was illegal; the policy needs nothing else."""
        return {"illegal": illegal}

    def _begin(self, rng: np.random.Generator) -> None:
        """Begin an episode on a random question of a random world."""
        world = self.worlds[int(rng.integers(len(self.worlds)))]
        self.begin(int(world), int(rng.integers(2**31)))

    def _pixels(self) -> NDArray[Any]:
        """Return the features; `DiscreteAtlasEnv` makes its observations with this method."""
        shown = self.read_grid(self.observation)
        self.memory.see(self.observation, shown)
        return features(self.memory, self.observation, shown, 1 - self.steps / self.max_steps)


@lru_cache(maxsize=512)
def _world(seed: int, duration_s: float) -> tuple[World, Cache]:
    """Return a world, and a cache in memory for its frames, which take about a megabyte."""
    return aw.world(seed, duration_s, size=WORLD_SIZE), Cache(None)
