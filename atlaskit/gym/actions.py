"""Numbered actions: kinds, masks, and the translation to actions of the environment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from atlaskit.environment.actions import ACTIONS, Action, Claim
from atlaskit.environment.atlas import Observation
from atlaskit.environment.mdp import LegalSet
from atlaskit.errors import IllegalAction

KINDS = tuple(ACTIONS)
"""The kinds of action, in the order of their numbers."""
CELL_KINDS = tuple(name for name, kind in ACTIONS.items() if kind.takes != "nothing")
"""The kinds that name a cell."""


def action_at(kind: str, cell: int, description: str = "", confidence: float = 1.0) -> Action:
    """Return the action of a kind at a cell; a kind that names no cell ignores it."""
    action_kind = ACTIONS[kind]
    if action_kind.takes == "claims":
        return action_kind.make([Claim(cell, description, confidence)])
    return action_kind.make([cell])


def as_action(kind: str, cell: int = 0, answer: int = 0) -> dict[str, int]:
    """Return an action of one of `KINDS` as a dictionary of numbers: see `action_space`."""
    return {"kind": KINDS.index(kind), "cell": cell, "answer": answer}


def as_move(action: Mapping[str, Any]) -> Action:
    """Return the action that a model's reply names: `{"action": "zoom", "cell": 5}`.

    An "answer" never comes here: `AtlasEpisode.act` takes it.

    Raises:
        IllegalAction: The dictionary names no action, or an argument of the action is missing or
            has a wrong type.
    """
    kind = action.get("action")
    cell = action.get("cell")
    if not isinstance(kind, str) or kind not in ACTIONS:
        raise IllegalAction(
            f"{kind!r:.80} is no action; the actions are {', '.join(ACTIONS)} and answer."
        )
    if kind not in CELL_KINDS:
        return action_at(kind, 0)
    if isinstance(cell, bool) or not isinstance(cell, int):
        raise IllegalAction(f"{kind} names a cell by its number; got {cell!r:.80}.")
    description = action.get("description", "")
    confidence = action.get("confidence", 1.0)
    if not isinstance(description, str):
        raise IllegalAction(f"The description of evidence is text; got {description!r:.80}.")
    if (
        isinstance(confidence, bool)
        or not isinstance(confidence, (int, float))
        or not 0 <= confidence <= 1
    ):
        raise IllegalAction(
            f"The confidence in evidence is a number from 0 to 1; got {confidence!r:.80}."
        )
    return action_at(kind, cell, description, float(confidence))


def action_space(n_cells: int, n_answers: int) -> spaces.Dict:
    """Return the space of dictionary actions."""
    return spaces.Dict(
        {
            "kind": spaces.Discrete(len(KINDS)),
            "cell": spaces.Discrete(n_cells),
            "answer": spaces.Discrete(n_answers),
        }
    )


def is_in(space: spaces.Space[Any], action: Any) -> bool:
    """Return whether a space contains an action, which may be any object."""
    try:
        return action in space
    except OverflowError:  # Gymnasium 1.0 raises it for integers of more than 64 bits
        return False


def legal_moves(observation: Observation) -> list[tuple[str, int]]:
    """Return every legal (kind, cell) of the current state, except finished.

    A cell whose frame cannot be decoded can be neither zoomed in on nor kept.

    Args:
        observation: The observation of the current state.
    """
    return moves_of(observation.legal, observation.view.unreadable)


def moves_of(legal: LegalSet, unreadable: Collection[int] = ()) -> list[tuple[str, int]]:
    """Return every (kind, cell) of a legal set, except finished; the cell of backtrack is 0.

    Args:
        legal: The legal set.
        unreadable: Cells whose frame cannot be decoded: they can be neither zoomed in on nor kept.
    """
    moves = list[tuple[str, int]]()
    for kind in CELL_KINDS:
        hidden = unreadable if kind in ("zoom", "add_to_scratchpad") else ()
        moves += [(kind, cell) for cell in legal[kind] if cell not in hidden]
    if "backtrack" in legal:
        moves.append(("backtrack", 0))
    return moves


def legal_actions(moves: Iterable[tuple[str, int]], n_answers: int) -> list[dict[str, int]]:
    """Return every legal action as a dictionary of numbers.

    Args:
        moves: Every legal (kind, cell), except finished.
        n_answers: The number of possible answers to the question.
    """
    actions = [as_action(kind, cell) for kind, cell in moves]
    for answer in range(n_answers):
        actions.append(as_action("finished", answer=answer))
    return actions


def masks(
    actions: Iterable[dict[str, int]], n_cells: int
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return two masks of actions: over kinds, int8 (8,), and over cells by kind, int8 (8, k²)."""
    kinds = np.zeros(len(KINDS), np.int8)
    cells = np.zeros((len(KINDS), n_cells), np.int8)
    for action in actions:
        kinds[action["kind"]] = 1
        if KINDS[action["kind"]] in CELL_KINDS:
            cells[action["kind"], action["cell"]] = 1
    return kinds, cells
