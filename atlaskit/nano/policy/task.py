"""`PolicyEnv`: `AtlasDiscrete-v0` on drawn worlds, with features in place of pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from PIL import Image

from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.observation import Observation
from atlaskit.environment.tiles import read_tiles
from atlaskit.gym import CELL_KINDS, DRAWN, AtlasEpisode, DiscreteAtlasEnv
from atlaskit.gym.actions import legal_actions, moves_of
from atlaskit.gym.tasks import WORLD_SIZE
from atlaskit.nano.policy.features import ANSWER_FEATURES, CELL_FEATURES, SITUATION_FEATURES, Memory, features
from atlaskit.nano.policy.query import OFFSETS, Floats, Query
from atlaskit.nano.teacher.labels import CELL_PX, VALUES

K, N_ANSWERS = 4, 8
CLOSE_LOOKS = ("zoom", "investigate_before", "investigate_after")
"""Kinds of action that the policy does not choose."""
CHOSEN = tuple(kind for kind in CELL_KINDS if kind not in CLOSE_LOOKS)
N_VALUES = OFFSETS["word"] + len(VALUES["word"])
SIZE = K * K * CELL_FEATURES + N_ANSWERS * ANSWER_FEATURES + SITUATION_FEATURES
"""Length of an observation."""


CONTENTS = Kind("contents", 1)
"""What a reader sees in the cells of a grid. Left out: depth and path, which the interval
determines; the reader's name changes with its weights."""

ReadGrid = Callable[[Observation], Floats]
"""Returns the probabilities of what each cell of the current grid shows, (cells, values)."""


class Reader(Protocol):
    """Whatever reads cells; `Eyes` does."""

    @property
    def digest(self) -> str:
        """Names the reader, as part of the keys of what it read."""
        ...

    def read(self, cells: Sequence[Image.Image]) -> Floats:
        """Return the probabilities of what each cell shows, (cells, values)."""
        ...


class GridReader:
    """Reads the grids of drawn worlds, each once."""

    def __init__(self, reader: Reader, cache: Cache) -> None:
        """Take the reader, and where what it reads is kept."""
        self._reader, self._cache = reader, cache
        self._known: dict[str, Floats] = {}

    def __call__(self, observation: Observation) -> Floats:
        """Return the probabilities of what each cell of the current grid shows, (cells, values)."""
        video, grid = observation.view.video.fingerprint, observation.view.grid
        interval = {"start_s": grid.start_s, "end_s": grid.end_s}
        key = CONTENTS.key(video=video, **interval, k=grid.k, reader=self._reader.digest)
        if key not in self._known:
            entry = self._cache.remember(key, lambda: self._read(observation), fits=_is_entry)
            self._known[key] = np.frombuffer(entry, np.float16).reshape(K * K, N_VALUES).astype(np.float32)
        return self._known[key]

    def _read(self, observation: Observation) -> bytes:
        view = observation.view
        tiles, _ = read_tiles(view.video, view.moments, (CELL_PX, CELL_PX), "contain", view.cache)
        shown = self._reader.read([tile for tile in tiles if tile is not None])  # a drawn frame can always be read
        return shown.astype(np.float16).tobytes()


def _is_entry(entry: bytes) -> bool:
    return len(entry) == 2 * K * K * N_VALUES


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
        return [] if self._is_over else legal_actions(moves_of(self.observation.legal), self._n_possible_answers)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which numbers the policy may choose, bool (n,): the legal ones but close looks.

        Zoom and investigate show images that the eyes do not read, so to this policy they would be
        steps that change nothing. All answers to a when-question are one, its evidence, so it has
        one number.
        """
        legal, mask = self.observation.legal, np.zeros(self.action_space.n, np.bool_)  # type: ignore[attr-defined]
        if self._is_over:
            return mask
        for kind, cells in zip(CHOSEN, (legal.expand, legal.mark, legal.add), strict=True):
            mask[CELL_KINDS.index(kind) * K * K + np.array(cells, np.int64)] = True
        mask[self._backtrack] = legal.backtrack
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
    return atlasworld(seed, duration_s, size=WORLD_SIZE), Cache(None)
