"""`PolicyEnv`: `AtlasDiscrete-v0` on drawn worlds, with features in place of pixels."""

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

K, N_ANSWERS = 4, 8
CLOSE_LOOKS = ("zoom", "investigate_before", "investigate_after")
"""Kinds of action that the policy does not choose."""
CHOSEN = tuple(kind for kind in CELL_KINDS if kind not in CLOSE_LOOKS)
SIZE = K * K * CELL_FEATURES + N_ANSWERS * ANSWER_FEATURES + SITUATION_FEATURES
"""Length of an observation."""


ReadGrid = Callable[[Observation], Floats]
"""Returns the probabilities of what each cell of the current grid shows, (cells, values)."""


class Reader(Protocol):
    """Whatever reads cells; `Eyes` does."""

    def read(self, cells: Sequence[Image.Image]) -> Floats:
        """Return the probabilities of what each cell shows, (cells, values)."""
        ...


class GridReader:
    """Reads the grids of drawn worlds, each once."""

    def __init__(self, reader: Reader) -> None:
        """Take the reader."""
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
        # A drawn frame can always be read.
        shown = self._reader.read([tile for tile in tiles if tile is not None])
        return shown.astype(np.float16)


class PolicyEnv(DiscreteAtlasEnv):
    """`DiscreteAtlasEnv` on the worlds of given seeds, whose observation are the features.

    Actions, masks, rules and reward are those of `AtlasDiscrete-v0`. Nothing is rendered but the
    frames that the eyes read.
    """

    def __init__(self, worlds: Sequence[int], read_grid: ReadGrid, **settings: Any) -> None:
        """Take the worlds, and the settings of `AtlasEnv` but the grid and the size of cells.

        Args:
            worlds: Seeds of the worlds that tasks are drawn from.
            read_grid: Returns the probabilities of what each cell of a grid shows.
            **settings: Other arguments of `AtlasEnv`.
        """
        self.worlds, self.read_grid = worlds, read_grid
        super().__init__(k=K, cell=CELL_PX, n_answers=N_ANSWERS, **settings)
        self.observation_space = spaces.Box(-1, 1, (SIZE,), np.float32)  # type: ignore[assignment]

    def begin(self, world: int, number: int) -> Floats:
        """Begin an episode on one question of a world; return its first observation.

        Args:
            world: The world's seed.
            number: Which of its questions that an action can answer, counted round.
        """
        drawn, cache = _world(world, self.duration_s)
        asked = [question for question in drawn.questions if question.kind in DRAWN]
        question = asked[number % len(asked)]
        atlas = Atlas(drawn.drawn, cache=cache, **self._atlas_settings)
        self.episode = AtlasEpisode(atlas, question, self.max_steps, self.step_cost)
        self.memory = Memory(Query.of(question), self.duration_s, self.n_answers)
        self._has_begun = True
        return self._pixels()

    def legal_actions(self) -> list[dict[str, int]]:
        """Return every legal action; the frames of drawn worlds can always be decoded."""
        if self._is_over:
            return []
        return legal_actions(moves_of(self.observation.legal), self._n_possible_answers)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which numbers the policy may choose, bool (n,): the legal ones but close looks.

        Zoom and investigate show images that the eyes do not read, so to this policy they would be
        steps that change nothing. All answers to a when-question are one, its evidence, so it has
        one number.
        """
        legal, mask = self.observation.legal, np.zeros(self.action_space.n, np.bool_)  # type: ignore[attr-defined]
        if self._is_over:
            return mask
        for kind, cells in zip(
            CHOSEN,
            (legal["expand"], legal["mark_promising"], legal["add_to_scratchpad"]),
            strict=True,
        ):
            mask[CELL_KINDS.index(kind) * K * K + np.array(cells, np.int64)] = True
        mask[self._backtrack] = "backtrack" in legal
        mask[self._backtrack + 1 : self._backtrack + 1 + max(1, len(self.question.choices))] = True
        return mask

    def _info(self, illegal: str = "") -> dict[str, Any]:
        """Return why the last action was illegal; the policy needs nothing else."""
        return {"illegal": illegal}

    def _begin(self, rng: np.random.Generator) -> None:
        self.begin(int(self.worlds[int(rng.integers(len(self.worlds)))]), int(rng.integers(2**31)))

    def _pixels(self) -> NDArray[Any]:
        """Return the features; the name is that of the method which makes the observation."""
        shown = self.read_grid(self.observation)
        self.memory.see(self.observation, shown)
        return features(self.memory, self.observation, shown, 1 - self.steps / self.max_steps)


@lru_cache(maxsize=512)
def _world(seed: int, duration_s: float) -> tuple[World, Cache]:
    """Return a world, and a cache in memory of its frames, about a megabyte of them."""
    return aw.world(seed, duration_s, size=WORLD_SIZE), Cache(None)
