"""The kinds of events and the fields of each (pydantic), and functions that make them.

The events suffice to walk through a run without a model and to draw each of its images again: a
view is identified by its key and by what it takes to render it. They hold no wall-clock times, so
the trace of a replay equals the trace of the run, byte for byte.
"""

from __future__ import annotations

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


@dataclass(frozen=True)
class Event:
    """One entry of a run's record."""

    kind: str
    """One of the keys of DATA_CLASSES."""
    round: int = 0
    """The round, from 1; 0 before and after the rounds."""
    worker: int | None = None
    """The worker's number in its round, from 0; None for the master."""
    data: dict[str, Any] | None = None
    """The fields of the kind: those of its class in DATA_CLASSES."""

    def __getitem__(self, name: str) -> Any:
        return (self.data or {})[name]


class EventData(BaseModel):
    """Base of the data of all kinds; it forbids extra fields.

    Intervals are [start, end) in seconds.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


Seconds = Annotated[list[float], Field(min_length=2, max_length=2)]
"""An interval, [start, end)."""
Cell = Annotated[int, Field(ge=0)]
Path = list[Cell]
"""The cells that lead from the root grid to a grid, which it identifies."""


Shift = Annotated[int, Field(description="depth whose half cell the grid is moved by; 0 if it is not")]
"""The `shift` of a grid, which its path does not tell."""


class ViewData(EventData):
    """The view of a grid that an agent was shown."""

    key: str
    path: Path
    dead: list[Cell] = Field(description="indices of the black cells")
    shift: Shift = 0


class ShownData(EventData):
    """A still or a context scan that a worker was shown beside a view."""

    key: str
    dead: list[Cell] = Field(description="indices of the black frames of a scan")


class SheetData(EventData):
    """The sheet of the scratchpad that the master was shown."""

    key: str
    labels: list[str]
    halved: list[str] = Field(default=[], description="labels of the frames drawn at half the size")


class EvidenceData(EventData):
    """An item of evidence (M+); its image is the frame at `timestamp_s`."""

    timestamp_s: float
    start_s: float
    end_s: float
    description: str
    confidence: float
    subtitle: str
    label: str


class UsageData(EventData):
    """The usage of a call, retries included."""

    calls: int
    prompt_tokens: int
    cached_tokens: int
    image_tokens: int
    completion_tokens: int
    reasoning_tokens: int = Field(0, description="completion tokens that the model spent on its thought")
    estimated: bool


class ActionData(EventData):
    """An action, by its name and arguments; an agent's claims about cells are in the evidence."""

    name: Literal["Expand", "Backtrack", "MarkPromising", "Zoom", "Investigate", "AddToScratchpad", "Finished"]
    cell: Cell | None = None
    cells: list[Cell] | None = None
    direction: Literal["before", "after"] | None = None


class CallData(EventData):
    """Fields of every event that records a call with a reply."""

    usage: UsageData
    reasoning_text: str = Field(description="the separate reasoning of a model that thinks before it answers")
    answered_by: str = Field("", description="the model that answered in place of the one that was asked")


class StartData(EventData):
    """The run began."""

    question: dict[str, Any]
    settings: dict[str, Any]


class TaskData(CallData):
    """The master made the search task and, if it had to, chose the traversal."""

    search_task: str
    traversal: str = Field(description="the strategy of the run")


class HintData(EventData):
    """What a scout says of one cell."""

    cell: Cell
    score: float
    reason: str


class ScoutData(EventData):
    """A scout said which cells of a grid to look at first, before any frame was seen."""

    scout: str
    path: Path
    hints: list[HintData] = Field(description="its hints, in the order of the cells")
    note: str = Field(description="why there are none, if the scout could not look")


class ProbeData(CallData):
    """The master scored cells of the masked root grid."""

    view: ViewData
    offered: list[Cell] = Field(description="the cells that the master could name")
    scores: dict[str, float]
    reasoning: str
    ahead: bool = Field(description="whether the probe ran in parallel with the workers of this round")


class AssignmentData(EventData):
    """A region assigned to one worker."""

    path: Path
    interval_s: Seconds
    traversal: Literal["dfs", "bfs"]
    calls: int = Field(description="the calls that the worker may make")
    had_evidence: list[str] = Field(description="labels of the evidence found there before")
    shift: Shift = 0


class AssignData(EventData):
    """Regions were assigned to workers; a worker's number is its index in the list."""

    sorties: list[AssignmentData]
    dead_zones_s: list[Seconds] = Field(description="the dead zones that all workers were given")


class StepData(CallData):
    """A worker made a call and took an action."""

    view: ViewData
    interval_s: Seconds
    depth: int
    action: ActionData
    then: Literal["", "finished"] = Field("", description="what the same reply did after the action")
    problem: str = Field(description="why the action was not possible; empty if it was")
    shown: ShownData | None
    found: list[EvidenceData] = Field(description="the evidence that the worker added, labelled as it saw it")
    marked: list[Path]
    thought: str
    hints: list[HintData] = Field([], description="the hints of scouts that the conversation about the view began with")


class ReportData(EventData):
    """A worker finished, and its result was merged into M+ and M−."""

    path: Path
    interval_s: Seconds
    stop: Literal["finished", "plateau", "steps", "budget", "failed"]
    shift: Shift = 0
    kept: list[EvidenceData] = Field(description="the worker's evidence, as M+ now holds it")
    marked: list[Path]
    dead_s: list[Seconds] = Field(description="intervals that became dead zones")
    is_open: bool = Field(description="whether the region was not explored to the end")


class ReviewData(CallData):
    """The master judged whether the evidence suffices (uncertainty analysis, paper §3.2)."""

    view: ViewData | None = Field(description="null if the master was not shown the root grid again")
    sheet: SheetData
    reasoning: str
    choices: list[dict[str, Any]] = Field(description="the judgement of each choice; empty for other questions")
    conclusion: dict[str, Any]
    sufficient: bool = Field(description="whether the evidence counts as sufficient")
    erased: list[str] = Field(description="labels of the evidence removed from M+")
    dead_s: list[Seconds] = Field(description="intervals that thereby became dead zones")
    queued: list[Path] = Field(description="paths of the regions added to the frontier")


class VoteData(CallData):
    """A decision that was outvoted, or that agrees with the one that counts."""

    step: Literal["decision"]
    answer: dict[str, Any]


class ReopenData(EventData):
    """Ruled-out regions were opened again, half a cell shifted, for a second look."""

    paths: list[Path] = Field(description="paths of the regions")
    dead_zones_s: list[Seconds] = Field(description="the dead zones that remain")


class DecisionData(CallData):
    """The master answered, from the evidence or, if there is none, from the masked root grid."""

    view: ViewData | None
    sheet: SheetData | None
    answer: dict[str, Any]


class CiteData(EventData):
    """The cells behind an answer from the root grid became evidence."""

    view: ViewData
    interval_s: Seconds
    found: list[EvidenceData]


class CaptionData(CallData):
    """A clip was captioned, for an answer from captions."""

    interval_s: Seconds
    caption: str


class TurnData(CallData):
    """A method other than Video-RLM made a call before its decision."""

    step: str = Field(description="what the call is for, such as clip, search or inspect")
    intervals_s: list[Seconds] = Field(description="the parts of the video that the model was shown or told of")
    told: str = Field(description="what the model was told beyond the turns before")
    answer: dict[str, Any]


class FailureData(EventData):
    """A call failed for good, which costs a step and no evidence."""

    step: str = Field(description="the kind of event that the call would have become")
    reason: str
    view: ViewData | None = Field(description="the view that the call showed")
    sheet: SheetData | None
    usage: UsageData


class StopData(EventData):
    """The run ended."""

    stop: str
    rounds: int
    calls: int


DATA_CLASSES: dict[str, type[EventData]] = {
    "start": StartData,
    "task": TaskData,
    "scout": ScoutData,
    "probe": ProbeData,
    "assign": AssignData,
    "step": StepData,
    "report": ReportData,
    "review": ReviewData,
    "vote": VoteData,
    "reopen": ReopenData,
    "decision": DecisionData,
    "cite": CiteData,
    "caption": CaptionData,
    "turn": TurnData,
    "failure": FailureData,
    "stop": StopData,
}
"""The class of the data of each kind of event."""


def data_of(event: Event) -> EventData:
    """Return an event's data, validated.

    Raises:
        InputError: If the kind is unknown, or the data does not have the fields of the kind.
    """
    if event.kind not in DATA_CLASSES:
        raise InputError(f"{event.kind[:40]!r} is not a kind of event that this atlaskit knows.")
    try:
        return DATA_CLASSES[event.kind].model_validate(event.data)
    except ValidationError as error:
        field, fault = first_fault(error)
        raise InputError(f"The data of this {event.kind!r} is invalid: {field or 'data'}: {fault}.") from error


def view_data(observation: Observation) -> dict[str, Any]:
    """Return the fields of ViewData for the view of an observation."""
    view = observation.view
    return {"key": view.key, "path": list(view.grid.path), "dead": sorted(view.dead), **shift_data(view.grid)}


def shown_data(observation: Observation) -> dict[str, Any] | None:
    """Return the fields of ShownData for the still or scan beside a view; None if there is none."""
    match observation.looking_at:
        case None:
            return None
        case View() as scan:
            return {"key": scan.key, "dead": sorted(scan.dead)}
        case still:
            return {"key": still.key, "dead": []}


def sheet_data(sheet: Sheet) -> dict[str, Any]:
    """Return the fields of SheetData for a sheet: its key, its labels, those at half the size."""
    halved = {"halved": [label for label in sheet.scratchpad.labels if label in sheet.halved]} if sheet.halved else {}
    return {"key": sheet.key, "labels": list(sheet.scratchpad.labels), **halved}


def shift_data(grid: Grid) -> dict[str, int]:
    """Return the shift of a grid as a field of an event; no field if the grid is not shifted."""
    return {"shift": grid.shift} if grid.shift else {}


def interval_s(grid: Grid) -> Seconds:
    """Return the interval of a grid as a list."""
    return [grid.start_s, grid.end_s]


def action_data(action: Action) -> dict[str, Any]:
    """Return the fields of ActionData for an action; claims about cells are in the evidence."""
    match action:
        case AddToScratchpad(items):
            return {"name": "AddToScratchpad", "cells": [item.cell for item in items]}
        case MarkPromising(cells):
            return {"name": "MarkPromising", "cells": list(cells)}
        case _:
            return {"name": type(action).__name__, **vars(action)}


def call_data(reply: Reply) -> dict[str, Any]:
    """Return the fields of CallData for a reply."""
    answered_by = {"answered_by": reply.model} if reply.is_substitute else {}
    return {"usage": reply.usage.to_json(), "reasoning_text": reply.reasoning, **answered_by}


def failure_data(
    step: str, error: ModelError, *, view: dict[str, Any] | None = None, sheet: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the fields of FailureData for a call that failed for good.

    Args:
        step: The kind of event that the call would have become.
        error: Why it failed, and what it cost.
        view: The view that the call showed, as `view_data` returns it.
        sheet: The sheet that it showed, as `sheet_data` returns it.
    """
    return {"step": step, "reason": str(error), "usage": error.usage.to_json(), "view": view, "sheet": sheet}
