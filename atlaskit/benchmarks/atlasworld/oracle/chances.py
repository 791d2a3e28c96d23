"""`Chances`: the oracle's random mistakes (`miss`, `confuse`), the same for the same call."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from atlaskit.caching.keys import canonical_json
from atlaskit.environment.question import Question


@dataclass(frozen=True)
class Chances:
    """The oracle's two error rates, and draws that decide when it errs.

    A draw depends on the seed, the world, the question and the matter to decide, never on the order
    of calls. The same run therefore always gets the same answers.

    Attributes:
        world: Name of the world.
        miss: Probability of overlooking something, in [0, 1].
        confuse: Probability of mistaking or misjudging something, in [0, 1].
        seed: Seed of the draws.
    """

    world: str
    miss: float
    confuse: float
    seed: int

    def draw(self, question: Question | None, *matter: Any) -> float:
        """Return a number in [0, 1) for a matter to decide; `question` is None for a caption."""
        text = canonical_json([self.seed, self.world, question.text if question else None, *matter])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48

    def misses(self, question: Question | None, *matter: Any) -> bool:
        """Return whether the oracle overlooks something."""
        return self.draw(question, *matter) < self.miss

    def confuses(self, question: Question, *matter: Any) -> bool:
        """Return whether the oracle mistakes or misjudges something."""
        return self.draw(question, *matter) < self.confuse
