"""What happens in a run, as events: the form of each kind, and how it is made of what happened.

Together they are enough to walk through a run without a model, and to draw each of its pictures again: a view is named
by its key and by what it takes to draw it. No wall-clock times: the trace of a replay is the trace of the run, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from atlaskit.environment.actions import Action, AddToScratchpad, MarkPromising
from atlaskit.environment.grid import Grid
from atlaskit.environment.observation import Observation
from atlaskit.environment.render import Sheet, View
from atlaskit.errors import InputError, first_fault
from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import Reply
from atlaskit.models.usage import Usage


@dataclass(frozen=True)
class Event:
    """One thing that happened. `round` counts from 1, 0 is before and after the rounds; `worker` counts from 0.

    What `data` holds goes by `kind`: see FORMS.
    """

    kind: str
    round: int = 0
    worker: int | None = None
    data: dict[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
        return (self.data or {})[name]


class EventData(BaseModel):
    """Base of all forms: what is listed, and nothing else. Intervals are [start, end) in seconds."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


Seconds = Annotated[list[float], Field(min_length=2, max_length=2)]
"""An interval."""
Cell = Annotated[int, Field(ge=0)]
Path = list[Cell]
"""The cells that were opened on the way from the root: names a grid."""


class ViewData(EventData):
    """A grid that was shown."""

    key: str
    path: Path
    dead: list[Cell] = Field(description="the black cells")


class ShownData(EventData):
    """A frame or a context scan that was shown beside a grid."""

    key: str
    dead: list[Cell] = Field(description="the black frames of a scan")


class SheetData(EventData):
    """The scratchpad as it was shown."""

    key: str
    labels: list[str]


class EvidenceData(EventData):
    """An item of M+: its image is the frame at `timestamp_s`."""

    timestamp_s: float
    start_s: float
    end_s: float
    description: str
    confidence: float
    subtitle: str
    label: str


class UsageData(EventData):
    """What a call cost."""

    calls: int
    prompt_tokens: int
    cached_tokens: int
    image_tokens: int
    completion_tokens: int
    estimated: bool


class ActionData(EventData):
    """An action: its name, and what it takes. What is claimed of cells is in the evidence."""

    name: Literal["Expand", "Backtrack", "MarkPromising", "Zoom", "Investigate", "AddToScratchpad", "Finished"]
    cell: Cell | None = None
    cells: list[Cell] | None = None
    direction: Literal["before", "after"] | None = None


class CallData(EventData):
    """What every event of an answered call holds."""

    usage: UsageData
    reasoning_text: str = Field(description="what a model that thinks aloud thought")


class StartData(EventData):
    """A run begins."""

    question: dict[str, Any]
    settings: dict[str, Any]


class TaskData(CallData):
    """The Master said what to look for, and chose a traversal where it was to."""

    search_task: str
    traversal: str = Field(description="the strategy that the run goes by")


class ProbeData(CallData):
    """The Master scored cells of the masked root."""

    view: ViewData
    offered: list[Cell] = Field(description="the cells that could be named")
    scores: dict[str, float]
    reasoning: str
    ahead: bool = Field(description="whether it looked while the workers of this round were under way")


class AssignmentData(EventData):
    """Where one worker is sent."""

    path: Path
    interval_s: Seconds
    traversal: Literal["dfs", "bfs"]
    calls: int = Field(description="what it may make")
    had_evidence: list[str] = Field(description="labels of what was found there before")


class AssignData(EventData):
    """Workers are sent out; their numbers are their places in the list."""

    sorties: list[AssignmentData]
    dead_zones_s: list[Seconds] = Field(description="what they are told is ruled out")


class StepData(CallData):
    """A worker did something."""

    view: ViewData
    interval_s: Seconds
    depth: int
    action: ActionData
    problem: str = Field(description="why it was not possible; empty if it was")
    shown: ShownData | None
    found: list[EvidenceData] = Field(description="labelled as the worker saw them")
    marked: list[Path]
    thought: str


class ReportData(EventData):
    """A worker came back, and M+ and M− took in what it brought."""

    path: Path
    interval_s: Seconds
    stop: Literal["finished", "plateau", "steps", "budget", "failed"]
    kept: list[EvidenceData] = Field(description="as they now stand in M+")
    marked: list[Path]
    dead_s: list[Seconds] = Field(description="what M− gained")
    is_open: bool = Field(description="whether the region was not searched as far as meant")


class ReviewData(CallData):
    """The Master judged the evidence (uncertainty analysis)."""

    view: ViewData
    sheet: SheetData
    reasoning: str
    choices: list[dict[str, Any]] = Field(description="each choice weighed; none for other questions")
    conclusion: dict[str, Any]
    sufficient: bool = Field(description="whether the judgement counts as sufficient")
    erased: list[str] = Field(description="labels that left M+")
    dead_s: list[Seconds] = Field(description="what M− gained by that")
    queued: list[Path] = Field(description="regions that joined the frontier")


class DecisionData(CallData):
    """The Master answered: from the evidence, or where there is none from the masked root."""

    view: ViewData | None
    sheet: SheetData | None
    answer: dict[str, Any]


class CiteData(EventData):
    """The cells that an answer from the root rests on became evidence."""

    view: ViewData
    interval_s: Seconds
    found: list[EvidenceData]


class CaptionData(CallData):
    """A clip was described, for an answer from captions."""

    interval_s: Seconds
    caption: str


class FailureData(EventData):
    """A call failed for good. That costs a step; nothing that was found is lost."""

    step: str = Field(description="the kind of event it would have been")
    reason: str
    view: ViewData | None = Field(description="what the call showed")
    sheet: SheetData | None
    usage: UsageData


class StopData(EventData):
    """The run ended."""

    stop: str
    rounds: int
    calls: int


FORMS: dict[str, type[EventData]] = {
    "start": StartData,
    "task": TaskData,
    "probe": ProbeData,
    "assign": AssignData,
    "step": StepData,
    "report": ReportData,
    "review": ReviewData,
    "decision": DecisionData,
    "cite": CiteData,
    "caption": CaptionData,
    "failure": FailureData,
    "stop": StopData,
}
"""What the data of each kind of event holds."""


def data_of(event: Event) -> EventData:
    """Return what an event holds, checked; raise InputError for one of an unknown kind, or of another form."""
    if event.kind not in FORMS:
        raise InputError(f"{event.kind[:40]!r} is no kind of event that this atlaskit knows.")
    try:
        return FORMS[event.kind].model_validate(event.data)
    except ValidationError as error:
        field, fault = first_fault(error)
        raise InputError(f"This is no {event.kind!r} as this atlaskit knows it: {field or 'data'}: {fault}.") from error


def seen_in(observation: Observation) -> dict[str, Any]:
    """Return what it takes to draw an observation's grid again, and its key."""
    view = observation.view
    return {"key": view.key, "path": list(view.grid.path), "dead": sorted(view.dead)}


def shown_in(observation: Observation) -> dict[str, Any] | None:
    """Return the same of the frame or scan that was looked at beside the grid, if any."""
    match observation.looking_at:
        case None:
            return None
        case View() as scan:
            return {"key": scan.key, "dead": sorted(scan.dead)}
        case still:
            return {"key": still.key, "dead": []}


def sheet_seen(sheet: Sheet) -> dict[str, Any]:
    """Return which evidence a sheet shows, and its key."""
    return {"key": sheet.key, "labels": list(sheet.scratchpad.labels)}


def interval_s(grid: Grid) -> Seconds:
    """Return a grid's interval."""
    return [grid.start_s, grid.end_s]


def described(action: Action) -> dict[str, Any]:
    """Return an action's name and what it takes; what is claimed of cells is in the evidence."""
    match action:
        case AddToScratchpad(items):
            return {"name": "AddToScratchpad", "cells": [item.cell for item in items]}
        case MarkPromising(cells):
            return {"name": "MarkPromising", "cells": list(cells)}
        case _:
            return {"name": type(action).__name__, **vars(action)}


def paid(reply: Reply) -> dict[str, Any]:
    """Return what an answered call cost, and what a model that thinks aloud thought."""
    return {"usage": reply.usage.to_json(), "reasoning_text": reply.reasoning}


def failed(step: str, error: ModelError, usage: Usage, told: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what is noted of a call that failed for good; of what would have been `told` of it, what it showed."""
    shown = {name: (told or {}).get(name) for name in ("view", "sheet")}
    return {"step": step, "reason": str(error), "usage": usage.to_json(), **shown}
