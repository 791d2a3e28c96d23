"""`Expert`: the teacher as a model: answers every call by rules, from the frames shown and the
prompt.

The oracle knows where everything is. The teacher recognises the content of each frame without
error, but it knows only the frames of the cells in view, the text of the prompt, and how
AtlasWorlds are built. So a model can learn everything that it does. It thinks before it acts: its
thought scans the cells one by one, and the action follows from the thought.
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
"""Settings of a search that the teacher expects, and with it nano."""


class Expert:
    """The teacher for all questions about the world of one script, as a model that `ask` accepts.

    Attributes:
        script: Script of the world.
        name: Name of this model in traces and cache keys.
        parameters: Parameters of this model in cache keys.
        preset: That of nano.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.name = f"nano@expert:{script.name}"
        self.preset = PRESET  # so that it is shown and asked what nano is
        self.parameters: Mapping[str, Any] = {"version": 2}

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a request.

        Raises:
            AssertionError: The question is not worded as AtlasWorld words its own.
        """
        written = self.answer(request.facts)
        try:
            answer = request.schema.model_validate(written)
        except ValidationError:
            # The student nano weighs the choice that it makes, other models are told to weigh each.
            rest = set(range(len(request.facts.question.choices))) - {written["answer"]}  # type: ignore[attr-defined]
            others = [
                {"choice": choice, "supporting": [], "contradicting": []} for choice in sorted(rest)
            ]
            answer = request.schema.model_validate(
                {**written, "weighed": [*written["weighed"], *others]}
            )
        text = to_json(answer)
        return Reply(answer, text, estimated_usage(request, text))

    def answer(self, call: Any) -> dict[str, Any]:
        """Answer a call by the JSON object that its schema asks for."""
        goal = goal_of(call.question)
        match call:
            case TaskCall():
                return {
                    "search_task": goal.search_task,
                    **({"traversal": "dfs"} if call.chooses_traversal else {}),
                }
            case ProbeCall():
                return answer_probe(
                    self.scan(goal, call.observation, call.closed, for_probe=True), call.top
                )
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
        """Return what each cell of a view shows; None for a black cell."""
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
        """Scan the cells of a view, with the subtitle lines that the prompt lists."""
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
        is_new_view = call.begins  # otherwise an earlier step holds the thought about this view
        scan = self.scan(goal, observation, call.opened)
        action = choose_action(scan, self.contents(observation), observation.legal, is_new_view)
        return {"thought": scan.thought if is_new_view else "Go on.", "action": action}

    def _answer_glance(self, call: GlanceCall, goal: Goal) -> dict[str, Any]:
        contents, cells = self.contents(call.observation), call.observation.view.cells
        evidence = [
            Evidence(
                cell.midpoint_s,
                cell.start_s,
                cell.end_s,
                describe(content),
                0.5,
                label=str(cell.index),
            )
            for cell, content in zip(cells, contents, strict=True)
            if content is not None
            and goal.matches(content)
            and cell.index in call.observation.legal["add_to_scratchpad"]
        ]
        labelled = bool(call.observation.legal["add_to_scratchpad"])
        return answer_decision(call.question, goal, evidence, labelled=labelled, by_cell=True)
