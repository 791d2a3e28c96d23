"""Plain words of the walkthrough: actions as verbs, why a visit ended, what an answer cites."""

from __future__ import annotations

from typing import Any

from atlaskit.environment.actions import ACTIONS
from atlaskit.runs.events import ActionData
from atlaskit.viz.html.phrases import MAX_LISTED

STOP_WORDS = {
    "finished": "it was done",
    "plateau": "it found nothing more (plateau)",
    "steps": "it had no steps left",
    "budget": "the budget was used up",
    "failed": "its calls failed",
}
"""Why a worker's visit ended, by the stop of its report."""


def action_text(action: ActionData) -> str:
    """Return what an agent does with an action on its cells: "opens cell 5"."""
    cells = [action.cell] if action.cell is not None else action.cells or []
    more = f" and {len(cells) - MAX_LISTED} more" if len(cells) > MAX_LISTED else ""
    named = f"cell{'' if len(cells) == 1 else 's'} {', '.join(map(str, cells[:MAX_LISTED]))}{more}"
    kinds = [kind for kind in ACTIONS.values() if kind.type.__name__ == action.name]
    for kind in kinds:
        if kind.given in ({}, {"direction": action.direction}):
            return kind.phrase.format(cells=named)
    return f"{kinds[0].verb} of {named}"


def action_verb(name: str) -> str:
    """Return what an agent does with an action, as a filter names it; the action's name follows."""
    return next(kind.verb for kind in ACTIONS.values() if kind.type.__name__ == name)


def labels_cited_by(answer: dict[str, Any]) -> list[str]:
    """Return the evidence that a decision cites for its answer as a whole or for its choice."""
    judgements = answer.get("weighed")
    taken = [
        judgement
        for judgement in (judgements if isinstance(judgements, list) else [])
        if isinstance(judgement, dict) and judgement.get("choice") == answer.get("answer")
    ]
    cited = [each.get("supporting") for each in (answer, *taken)]
    return [label for labels in cited if isinstance(labels, list) for label in labels if isinstance(label, str)]
