"""Plain words of the walkthrough: actions as verbs, why a visit ended, what an answer cites."""

from __future__ import annotations

from typing import Any

from atlaskit.runs.events import ActionData
from atlaskit.viz.html.phrases import MAX_LISTED

ACTION_VERBS = {
    "Expand": "opens a cell",
    "Backtrack": "goes back to the grid above",
    "MarkPromising": "marks cells as promising",
    "Zoom": "looks at a frame",
    "Investigate": "looks before or after a frame",
    "AddToScratchpad": "adds evidence",
    "Finished": "leaves its region",
}
"""What an agent does with an action, as a filter names it; the action's name follows."""

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
    match action.name:
        case "Expand":
            return f"opens {named}"
        case "MarkPromising":
            return f"marks {named} as promising"
        case "Zoom":
            return f"looks at the frame of {named}"
        case "Investigate":
            return f"looks just {action.direction or 'before or after'} {named}"
        case "AddToScratchpad":
            return f"adds evidence from {named}"
    return ACTION_VERBS[action.name]


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
