"""`DiscreteAtlasEnv`: the environment whose action is one number."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from atlaskit.environment.question import Question
from atlaskit.gym.actions import CELL_KINDS, KINDS, as_action
from atlaskit.gym.env import AtlasEnv
from atlaskit.gym.tasks import Source


class DiscreteAtlasEnv(AtlasEnv):
    """`AtlasEnv` with numbers for actions: 6·k² that name a cell, backtrack, and the answers.

    The number of kind c of `CELL_KINDS` at a cell is c·k² + cell; 6·k² is backtrack;
    6·k² + 1 + answer is finished.
    """

    def __init__(self, video: Source | None = None, question: Question | None = None, **settings: Any) -> None:
        """Take the same arguments as `AtlasEnv`."""
        super().__init__(video, question, **settings)
        self.action_space = spaces.Discrete(self._backtrack + 1 + self.n_answers)

    @property
    def _backtrack(self) -> int:
        """The number of backtrack."""
        return len(CELL_KINDS) * self.atlas.root.size

    def encode(self, action: dict[str, int]) -> int:
        """Return the number of a dictionary action."""
        kind = KINDS[action["kind"]]
        if kind in CELL_KINDS:
            return CELL_KINDS.index(kind) * self.atlas.root.size + int(action["cell"])
        return self._backtrack + (1 + int(action["answer"]) if kind == "finished" else 0)

    def decode(self, action: Any) -> dict[str, int]:
        """Return the dictionary action of a number; entries that its kind does not use are 0."""
        number = int(action)
        if number < self._backtrack:
            kind, cell = divmod(number, self.atlas.root.size)
            return as_action(CELL_KINDS[kind], cell)
        answer = number - self._backtrack - 1
        return as_action("finished", answer=answer) if answer >= 0 else as_action("backtrack")

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which numbers are legal, bool (n,), as sb3-contrib's MaskablePPO expects."""
        mask = np.zeros(self.action_space.n, np.bool_)  # type: ignore[attr-defined]  # a Discrete, by the constructor
        mask[[self.encode(action) for action in self.legal_actions()]] = True
        return mask
