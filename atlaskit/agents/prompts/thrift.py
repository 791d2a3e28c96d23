"""Parts of prompts that are shorter than the usual ones, for runs with `thrift`.

They appear only where a measure of `thrift` asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from atlaskit.agents.verbalize import evidence_text
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.notation import listed
from atlaskit.environment.observation import Observation

MAY_FINISH = (
    "With what you keep or queue, say whether that leaves nothing more to do in this stretch (finished: true), which "
    "saves a turn; say finished: false to go on."
)
SMALL_FRAMES = "The small frames at its bottom are those that you judged before; larger ones are new."


@dataclass(frozen=True)
class Recalled:
    """What the master made of the root sheet when it last saw it."""

    scores: tuple[tuple[int, float], ...]
    """The cells that it named, with their scores, best first."""
    reasoning: str

    @classmethod
    def of(cls, answer: Any) -> Recalled:
        """Return what the answer to a probe says."""
        return cls(tuple((ranked.cell, ranked.score) for ranked in answer.top), answer.reasoning)


def short_evidence_text(scratchpad: Scratchpad, left_out: int = 0, judged: Collection[str] | None = None) -> str:
    """Return the evidence as `evidence_text` does, but in short rows for what was judged before.

    Args:
        scratchpad: The evidence to list.
        left_out: How many items of the run's evidence are not in it.
        judged: Labels of the items that get short rows; None means all.
    """
    rows = evidence_text(scratchpad, left_out).split("\n")
    short = {item.label for item in scratchpad} if judged is None else set(judged)
    by_time = sorted(scratchpad, key=lambda item: item.timestamp_s)
    for place, item in enumerate(by_time, start=1):
        if item.label in short:
            rows[place] = _short_row(item)
    return "\n".join(rows)


def _short_row(item: Evidence) -> str:
    return f"[{item.label}] {item.description} ({item.timestamp_s:.1f} s)"


def recalled_text(observation: Observation, recalled: Recalled) -> str:
    """Return what a review has in place of the root sheet: its cells, and what the master said."""
    view, grid = observation.view, observation.view.grid
    scores = ", ".join(f"{cell}: {score:.2f}" for cell, score in recalled.scores) or "none"
    return "\n".join(
        [
            f"The sheet of the whole video, which you have seen, is not shown again. It has {grid.k}×{grid.k} cells: "
            f"cell 0 begins at {grid.start_s:.3f} s, and each lasts {grid.resolution_s:.3f} s.",
            f"When you last saw it, you scored these cells: {scores}. You said: "
            f"{json.dumps(recalled.reasoning, ensure_ascii=False)}",
            *([f"Ruled out by now: {listed(sorted(view.dead))}."] if view.dead else []),
        ]
    )
