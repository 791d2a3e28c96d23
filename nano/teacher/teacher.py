"""`Expert`: the teacher, a model that answers every call of a search by rules.

The oracle of AtlasWorld knows where everything is. The teacher recognises the content of each frame
without error, but it knows only the frames of the cells in view, the text of the prompt, and how
AtlasWorlds are built. A model that sees the same can therefore learn all that the teacher does. The
teacher thinks before it acts: its thought scans the cells one by one, and the action follows from
the thought.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Unpack

from pydantic import ValidationError

from atlaskit.agents.prompts import (
    DecisionCall,
    GlanceCall,
    ProbeCall,
    ReviewCall,
    StepCall,
    TaskCall,
)
from atlaskit.environment.atlas import Observation
from atlaskit.environment.memory import Evidence
from atlaskit.models.protocol import CallControl, Reply, Request
from atlasworld.generator import LONGEST_S
from atlasworld.nano.model import PRESET
from atlasworld.nano.words import listed_lines
from atlasworld.oracle.perception import estimated_usage
from atlasworld.timeline import Script
from nano.teacher.answers import (
    answer_decision,
    answer_probe,
    answer_review,
    choose_action,
    to_json,
)
from nano.teacher.goal import Goal, describe, goal_of, texts_by_cell
from nano.teacher.labels import CellContent, content_at
from nano.teacher.scan import Scan, scan_view

SETTINGS: dict[str, Any] = {
    name: getattr(PRESET, name) for name in ("k", "cell", "fit", "steps", "plateau")
}
"""Settings of a search that the teacher expects, and so does nano, which imitates the teacher."""


class Expert:
    """The teacher for all questions about one world, as a model that `ask` accepts.

    Attributes:
        script: Script of the world.
        name: Name of this model in traces and cache keys.
        parameters: Parameters of this model in cache keys.
        preset: The preset of nano, so that the teacher gets the views and prompts that nano gets.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.name = f"nano@expert:{script.name}"
        self.preset = PRESET
        self.parameters: Mapping[str, Any] = {"version": 2}

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request.

        Raises:
            AssertionError: AtlasWorld does not write such a question, or the teacher does not
                answer calls of this type.
        """
        written = self.answer(request.facts)
        try:
            answer = request.schema.model_validate(written)
        except ValidationError:
            # nano weighs only the choice that it makes; other models' schemas ask for all choices.
            rest = set(range(len(request.facts.question.choices))) - {written["answer"]}  # type: ignore[attr-defined]
            written["weighed"] += [
                {"choice": choice, "supporting": [], "contradicting": []} for choice in sorted(rest)
            ]
            answer = request.schema.model_validate(written)
        text = to_json(answer)
        return Reply(answer, text, estimated_usage(request, text))

    def answer(self, call: Any) -> dict[str, Any]:
        """Return the answer to a call, as the JSON object that nano's schema asks for."""
        goal = goal_of(call.question)
        match call:
            case TaskCall():
                plan = {"search_task": goal.search_task}
                if call.chooses_traversal:
                    plan["traversal"] = "dfs"
                return plan
            case ProbeCall():
                scan = self.scan(goal, call.observation, call.closed, for_probe=True)
                return answer_probe(scan, call.top)
            case StepCall():
                return self._answer_step(call, goal)
            case ReviewCall():
                return answer_review(
                    call.question, goal, list(call.sheet.scratchpad), call.open_cells
                )
            case DecisionCall():
                return answer_decision(
                    call.question, goal, list(call.sheet.scratchpad), labelled=True
                )
            case GlanceCall():
                return self._answer_glance(call, goal)
        raise AssertionError(f"The teacher does not answer calls of type {type(call).__name__}.")

    def contents(self, observation: Observation) -> list[CellContent | None]:
        """Return what the frame of each cell of a view shows; None for a black cell."""
        view = observation.view
        return [
            None if index in view.dead else content_at(self.script, time_s)
            for index, time_s in enumerate(view.moments)
        ]

    def scan(
        self,
        goal: Goal,
        observation: Observation,
        opened: Collection[int] = (),
        *,
        for_probe: bool = False,
    ) -> Scan:
        """Scan the cells of a view, with the subtitle lines that the prompt lists: `scan_view`."""
        return scan_view(
            goal,
            self.contents(observation),
            texts_by_cell(listed_lines(observation)),
            cell_s=observation.view.grid.resolution_s,
            is_long=self.script.duration_s > LONGEST_S,
            opened=opened,
            for_probe=for_probe,
        )

    def _answer_step(self, call: StepCall, goal: Goal) -> dict[str, Any]:
        observation = call.observation
        is_new_view = call.begins
        scan = self.scan(goal, observation, call.opened)
        action = choose_action(scan, self.contents(observation), observation.legal, is_new_view)
        # In a view that is not new, an earlier step of the conversation holds the thought.
        return {"thought": scan.thought if is_new_view else "Go on.", "action": action}

    def _answer_glance(self, call: GlanceCall, goal: Goal) -> dict[str, Any]:
        """Answer from the frames of one view, as if each frame that matches were evidence."""
        view = call.observation.view
        citable = call.observation.legal["add_to_scratchpad"]
        evidence = [
            Evidence(
                cell.midpoint_s,
                cell.start_s,
                cell.end_s,
                describe(content),
                0.5,
                label=str(cell.index),
            )
            for cell, content in zip(view.cells, self.contents(call.observation), strict=True)
            if content is not None and goal.matches(content) and cell.index in citable
        ]
        return answer_decision(call.question, goal, evidence, labelled=bool(citable), by_cell=True)
