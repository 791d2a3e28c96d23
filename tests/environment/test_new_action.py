"""A new action, as an exercise: a row of the table and an effect are all that it takes."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import pytest
from support.asking import ask
from support.model_doubles import Babbler
from support.searches import text_of

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import ACTIONS, Action, ActionKind, cells_of, name_of
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.mdp import EFFECTS, State
from atlaskit.errors import IllegalAction
from atlaskit.models.protocol import CallControl, Reply, Request, json_schema
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


class Skipping(Babbler):
    """A worker that skips the first two cells that it may skip, and then is done."""

    def __init__(self) -> None:
        super().__init__(1)
        self.steps = list[Request]()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        reply = super().complete(request, **control)
        if request.step != "step":
            return reply
        self.steps.append(request)
        call: Any = request.facts
        action = {"action": "skip", "cell": call.observation.legal["skip"][0]}
        if len(call.turns) == 2:
            action = {"action": "finished"}
        text = json.dumps({"thought": "Not there.", "action": action})
        return replace(reply, answer=request.schema.model_validate_json(text), text=text)


@pytest.fixture
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


@pytest.mark.usefixtures("_has_skip")
def test_the_environment_has_the_new_action(world: World, cache: Cache) -> None:
    atlas = Atlas(world.drawn, k=4, cell=32, cache=cache)
    assert atlas.state.legal["skip"] == tuple(range(16))
    seen = atlas.step(Skip(5))
    assert seen.view.dead == {5} and 5 not in seen.legal["skip"]
    with pytest.raises(IllegalAction, match="Skip cannot take cell 5 here"):
        atlas.step(Skip(5))
    assert (name_of(Skip(3)), cells_of(Skip(3))) == ("skip", (3,))


@pytest.mark.usefixtures("_has_skip")
def test_a_worker_takes_the_new_action_and_a_person_reads_of_it(world: World, cache: Cache, tmp_path: Path) -> None:
    model = Skipping()
    options: dict[str, Any] = {"k": 4, "cell": 32, "traversal": "dfs", "budget": Budget(calls=12), "workers": 1}
    result = ask(world.drawn, world.questions[0], vlm=model, cache=cache, **options)
    first, second = text_of(model.steps[0]), text_of(model.steps[1])
    assert '{"action": "skip", "cell": <cell>}: rule a cell out that cannot matter.' in first
    assert re.search(r"[:;] [a-z_ ,]*\bskip\b[a-z_ ,]* with 0–15;", first)
    assert "Skipped: 0." in second and re.search(r"[:;] [a-z_ ,]*\bskip\b[a-z_ ,]* with 1–15;", second)
    schema = json_schema(model.steps[0].schema)["$defs"]
    assert schema["Skip"]["properties"]["action"]["const"] == "skip"
    steps = result.trace.of(Step)
    assert [step.action.name for step in steps[:3]] == ["Skip", "Skip", "Finished"]
    assert steps[0].action.to_json() == {"name": "Skip", "cell": 0} and not steps[0].problem
    told = [step["what"] for step in walk_steps(open_run(result), Pictures())]
    assert "skips cell 0" in told and "skips cell 1" in told
    result.trace.save(tmp_path / "run.jsonl")
    assert Trace.load(tmp_path / "run.jsonl").of(Step)[0] == steps[0]
