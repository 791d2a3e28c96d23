"""A new action, as an exercise: a row of the table and an effect are all that it takes."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.model_doubles import Babbler, Counting, Overruled
from support.searches import search_small, text_of
from support.stand_ins import CHOICE

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import ACTIONS, Action, ActionKind
from atlaskit.environment.mdp import EFFECTS, State
from atlaskit.models.protocol import Request
from atlaskit.runs.events import Step
from atlaskit.runs.trace import Trace
from atlaskit.viz.walk.pictures import Pictures
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.walk.steps import steps as walk_steps
from atlasworld import World


@dataclass(frozen=True)
class Skip(Action):
    """Rule a cell out for the rest of the visit, unseen."""

    cell: int


def skip(state: State, action: Skip) -> State:
    cell = state.grid.cells[action.cell]
    return replace(state, dead_zones=state.dead_zones.add(cell.start_s, cell.end_s))


def skip_two(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
    """Skip the first two cells that may be skipped, and then be done."""
    call: Any = request.facts
    action = {"action": "skip", "cell": call.observation.legal["skip"][0]}
    if len(call.turns) == 2:
        action = {"action": "finished"}
    return {"thought": "Not there.", "action": action}


@pytest.fixture(autouse=True)
def _has_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two modules: the table, and what an action does."""
    row = ActionKind(
        Skip,
        "cell",
        lambda state: [cell.index for cell in state.alive],
        help="rule a cell out that cannot matter.",
        past="- skipped {start}–{end}",
        phrase="skips {cells}",
        verb="skips a cell",
        result="Skipped: {cells}.",
    )
    monkeypatch.setitem(ACTIONS, "skip", row)
    monkeypatch.setitem(EFFECTS, Skip, skip)


def test_a_worker_takes_the_new_action_and_a_person_reads_of_it(world: World, cache: Cache, tmp_path: Path) -> None:
    model = Counting(Overruled(Babbler(1), step=skip_two))
    result = search_small(world, CHOICE, model, cache, traversal="dfs", budget=Budget(calls=12), workers=1)
    requests = [request for request in model.requests if request.step == "step"]
    first, second = text_of(requests[0]), text_of(requests[1])
    assert '{"action": "skip", "cell": <cell>}: rule a cell out that cannot matter.' in first
    assert re.search(r"[:;] [a-z_ ,]*\bskip\b[a-z_ ,]* with 0–15;", first)
    assert "Skipped: 0." in second and re.search(r"[:;] [a-z_ ,]*\bskip\b[a-z_ ,]* with 1–15;", second)
    steps = result.trace.of(Step)
    assert [step.action.name for step in steps[:3]] == ["Skip", "Skip", "Finished"]
    assert steps[0].action.to_json() == {"name": "Skip", "cell": 0} and not steps[0].problem
    told = [step["what"] for step in walk_steps(open_run(result), Pictures())]
    assert "skips cell 0" in told and "skips cell 1" in told
    result.trace.save(tmp_path / "run.jsonl")
    assert Trace.load(tmp_path / "run.jsonl").of(Step)[0] == steps[0]
