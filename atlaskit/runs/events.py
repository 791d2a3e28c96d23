"""The kinds of events of a run, which a trace saves: each is a frozen dataclass.

The events suffice to walk through a run without a model and to draw each of its images again: the
record of a view holds its key and the parameters to render it. Events hold no wall-clock times, so
the trace of a replay equals the trace of the run, byte for byte. Intervals are [start, end) in
seconds. `runs/narrate` describes an event in words.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, dataclass_transform

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from atlaskit.environment.actions import ACTIONS, Action, cells_of, name_of
from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import Shift
from atlaskit.environment.image import WIDEST_PX
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Span
from atlaskit.environment.render import Sheet, View
from atlaskit.models.protocol import ModelError, Reply, Usage

Cell = Annotated[int, Field(ge=0)]
Path = tuple[Cell, ...]
"""The cells that lead from the root grid to a grid, which it identifies."""
Paid = Annotated[Usage, BeforeValidator(Usage.from_json)]
"""The usage of a call, retries included."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record:
    """Base class of events and their parts, which are frozen dataclasses.

    Their JSON leaves out fields that have their defaults.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]
    __pydantic_config__ = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        row = dict[str, Any]()
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                row[field.name] = _plain(value)
        return row


def _plain(value: Any) -> Any:
    """Return a value of a field as plain JSON."""
    if isinstance(value, Record | Evidence | Usage):
        return value.to_json()
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


class ViewRecord(Record):
    """The view of a grid that an agent was shown."""

    key: str
    path: Path
    dead: tuple[Cell, ...]
    """Indices of the black cells."""
    shift: Shift = ()
    """(depth, number): by how many half cells of which depth the grid is moved; () if it is not."""
    stretch_s: Span | None = None
    """The interval of a grid over any stretch of the video; None for the root grid and those below
    it."""
    k: Annotated[int, Field(ge=0, le=WIDEST_PX)] = 0
    """Cells in a row and in a column of such a grid; 0 for the others."""
    first: Cell = 0
    """The number of its first cell, where several sheets were shown at once."""

    @classmethod
    def of(cls, observation: Observation) -> ViewRecord:
        """Return the record of an observation's view."""
        view = observation.view
        return cls(
            key=view.key,
            path=view.grid.path,
            dead=tuple(sorted(view.dead)),
            shift=view.grid.shift,
        )

    @classmethod
    def over(cls, observation: Observation) -> ViewRecord:
        """Return the record of a view over any stretch of the video."""
        view = observation.view
        return cls(
            key=view.key,
            path=(),
            dead=tuple(sorted(view.dead)),
            stretch_s=view.grid.interval_s,
            k=view.grid.k,
            first=view.first,
        )


class ShownRecord(Record):
    """A still or a context scan that a worker was shown beside a view."""

    key: str
    dead: tuple[Cell, ...]
    """Indices of the black frames of a scan."""

    @classmethod
    def of(cls, observation: Observation) -> ShownRecord | None:
        """Return the record of the image shown beside a view; None if there is none."""
        image = observation.looking_at
        if image is None:
            return None
        dead = tuple(sorted(image.dead)) if isinstance(image, View) else ()
        return cls(key=image.key, dead=dead)


class SheetRecord(Record):
    """The sheet of the scratchpad that the master was shown."""

    key: str
    labels: tuple[str, ...]

    @classmethod
    def of(cls, sheet: Sheet) -> SheetRecord:
        """Return the record of a sheet."""
        return cls(key=sheet.key, labels=sheet.scratchpad.labels)


def action_names() -> list[str]:
    """Return the names of the actions, each once."""
    return list(dict.fromkeys(kind.type.__name__ for kind in ACTIONS.values()))


def _known_action(name: str) -> str:
    """Return a name; raise ValueError if no action has it."""
    if name not in action_names():
        raise ValueError(f"is no action; the actions are {', '.join(action_names())}")
    return name


ACTION_SCHEMA = WithJsonSchema({"type": "string", "enum": action_names()})
"""The JSON Schema of an action's name, in docs/trace.schema.json."""


class ActionRecord(Record):
    """An action, by its name and arguments; an agent's claims about cells are in the evidence."""

    name: Annotated[str, AfterValidator(_known_action), ACTION_SCHEMA]
    cell: Cell | None = None
    cells: tuple[Cell, ...] | None = None
    direction: Literal["before", "after"] | None = None

    @classmethod
    def of(cls, action: Action) -> ActionRecord:
        """Return the record of an action."""
        name = type(action).__name__
        if ACTIONS[name_of(action)].takes in ("cells", "claims"):
            return cls(name=name, cells=cells_of(action))
        return cls(name=name, **vars(action))

    @property
    def all_cells(self) -> tuple[int, ...]:
        """The cells that the action names."""
        if self.cell is not None:
            return (self.cell,)
        return self.cells or ()


class HintRecord(Record):
    """A scout's hint about one cell."""

    cell: Cell
    score: float
    reason: str
    looked: bool = False
    """Whether the scout looked at frames."""


class UnfollowedRecord(Record):
    """An interval that a review named and that cannot be searched."""

    interval_s: Span
    reason: Literal["outside", "seen"]
    """The interval lies outside the searched one, or was seen as finely as possible."""


class SortieRecord(Record):
    """A region assigned to one worker."""

    path: Path
    interval_s: Span
    traversal: Literal["dfs", "bfs"]
    calls: int
    """The calls that the worker may make."""
    had_evidence: tuple[str, ...]
    """Labels of the evidence found there before."""
    shift: Shift = ()
    stretches_s: tuple[Span, ...] = ()
    """The stretches of a look, which lie within the interval; () for a region of the tree."""

    @property
    def spans_s(self) -> tuple[Span, ...]:
        """The intervals to which the worker is sent."""
        return self.stretches_s or (self.interval_s,)


class Event(Record):
    """Base of all kinds of events: one entry of a run's record."""

    kind: ClassVar[str]
    """The name of the kind: that of its class, in lower case."""
    round: Annotated[int, Field(ge=0)] = 0
    """The round, from 1; 0 before and after the rounds."""
    worker: Annotated[int, Field(ge=0)] | None = None
    """The worker's number in its round, from 0; None for the master."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = cls.__name__.lower()

    def to_json(self) -> dict[str, Any]:
        """Return the kind and the fields as plain JSON values."""
        return {"kind": self.kind, **super().to_json()}


class Call(Event):
    """Base of events that record a call with a reply."""

    usage: Paid
    reasoning_text: str
    """The separate reasoning of a model that thinks before it answers."""
    answered_by: str = ""
    """The model that answered in place of the one that was asked."""


def paid(reply: Reply) -> dict[str, Any]:
    """Return the fields of a Call that come from its reply, by name."""
    return {
        "usage": reply.usage,
        "reasoning_text": reply.reasoning,
        "answered_by": reply.model if reply.is_substitute else "",
    }


class Start(Event):
    """The run began."""

    question: dict[str, Any]
    settings: dict[str, Any]


class Task(Call):
    """The master made the search task and, if it had to, chose the traversal."""

    search_task: str
    traversal: str
    """The strategy of the run."""


class Scout(Event):
    """A scout said which cells of a grid to look at first, before any frame was seen."""

    scout: str
    path: Path
    hints: tuple[HintRecord, ...]
    """The scout's hints, in the order of the cells."""
    note: str
    """Why there are no hints, if the scout failed."""


class Probe(Call):
    """The master scored cells of the masked root grid."""

    view: ViewRecord
    offered: tuple[Cell, ...]
    """The cells that the master could name."""
    scores: dict[int, float]
    reasoning: str
    ahead: bool
    """Whether the probe ran in parallel with the workers of this round."""


class Assign(Event):
    """Regions were assigned to workers; a worker's number is its index in the list."""

    sorties: tuple[SortieRecord, ...]
    dead_zones_s: tuple[Span, ...]
    """The dead zones that all workers were given."""


class Step(Call):
    """A worker made a call and took an action."""

    view: ViewRecord
    interval_s: Span
    depth: int
    action: ActionRecord
    problem: str
    """Why the action was not possible; empty if it was."""
    shown: ShownRecord | None
    found: tuple[Evidence, ...]
    """The evidence that the worker added, labelled as it saw it."""
    marked: tuple[Path, ...]
    thought: str
    hints: tuple[HintRecord, ...] = ()
    """The hints of scouts that the conversation about the view began with."""


class Plan(Call):
    """The master looked at the whole video and planned a search by looks."""

    view: ViewRecord
    interval_s: Span
    """The searched interval."""
    reasoning: str
    search_task: str
    settled_by: Literal["one", "first", "last", "all"]
    """Which of the moments that are searched for determine the answer."""
    lasts_s: float
    """The least duration, in seconds, of the event that is searched for."""
    found: tuple[Evidence, ...]
    """The cells of the sheet that became evidence."""
    wanted_s: tuple[Span, ...]
    """The stretches to be seen first."""


class Look(Call):
    """A worker looked at some stretches of the video, each as one sheet."""

    views: tuple[ViewRecord, ...]
    intervals_s: tuple[Span, ...]
    """The stretches, in the order of their sheets."""
    note: str
    found: tuple[Evidence, ...]
    """The evidence of the look, not yet labelled."""
    wanted_s: tuple[Span, ...]
    """The stretches that it asked to be seen next."""

    def __post_init__(self) -> None:
        if len(self.views) != len(self.intervals_s):
            raise ValueError("each of its views needs one of its intervals_s")

    @property
    def steps_s(self) -> tuple[float, ...]:
        """The step in seconds of each sheet."""
        steps_s = list[float]()
        for view, (start_s, end_s) in zip(self.views, self.intervals_s, strict=True):
            steps_s.append((end_s - start_s) / max(1, view.k) ** 2)
        return tuple(steps_s)


class Report(Event):
    """A worker finished, and its result was merged into M+ and M−."""

    path: Path
    interval_s: Span
    stop: Literal["finished", "plateau", "steps", "budget", "failed"]
    shift: Shift = ()
    kept: tuple[Evidence, ...]
    """The worker's evidence, as M+ now holds it."""
    marked: tuple[Path, ...]
    dead_s: tuple[Span, ...]
    """Intervals that became dead zones."""
    alive_s: tuple[Span, ...] = ()
    """Intervals that are no longer dead zones, since evidence was found there."""
    is_open: bool
    """Whether the region was not explored to the end."""


class Review(Call):
    """The master judged whether the evidence suffices (uncertainty analysis, paper §3.2)."""

    view: ViewRecord
    sheet: SheetRecord | None
    """The sheet of the evidence; None in a search by looks that has none."""
    reasoning: str
    choices: list[dict[str, Any]]
    """The judgement of each choice; empty for other questions."""
    conclusion: dict[str, Any]
    sufficient: bool
    """Whether the evidence counts as sufficient."""
    erased: tuple[str, ...]
    """Labels of the evidence removed from M+."""
    dead_s: tuple[Span, ...]
    """Intervals that became dead zones because of this."""
    queued: tuple[Path, ...]
    """Paths of the regions added to the frontier."""
    alive_s: tuple[Span, ...] = ()
    """Intervals of these regions that are no longer dead zones."""
    unfollowed: tuple[UnfollowedRecord, ...] = ()
    """The intervals that it named and that cannot be searched."""
    wanted_s: tuple[Span, ...] = ()
    """The stretches to be seen next, in a search by looks."""


class Vote(Call):
    """A decision that was outvoted, or that agrees with the one that counts."""

    step: Literal["decision"]
    answer: dict[str, Any]


class Decision(Call):
    """The master answered, from the evidence or, if there is none, from the masked root grid."""

    view: ViewRecord | None
    sheet: SheetRecord | None
    answer: dict[str, Any]


class Cite(Event):
    """The cells behind an answer from the root grid became evidence."""

    view: ViewRecord
    interval_s: Span
    found: tuple[Evidence, ...]


class Turn(Call):
    """A method other than Video-RLM made a call before its decision."""

    step: str
    """The purpose of the call, such as clip, search or inspect."""
    intervals_s: tuple[Span, ...]
    """The parts of the video that the prompt showed or described."""
    told: str
    """The part of the prompt that was not in earlier turns."""
    answer: dict[str, Any]


class Failure(Event):
    """A call failed for good, which costs a step and no evidence."""

    step: str
    """The kind of event that the call would have become."""
    reason: str
    view: ViewRecord | None
    """The view that the call showed."""
    sheet: SheetRecord | None
    usage: Paid

    @classmethod
    def of(cls, step: str, error: ModelError, **more: Any) -> Failure:
        """Return the event of a failed call.

        Args:
            step: The kind of event that the call would have become.
            error: The error of the call.
            **more: Other fields of the event; `view` and `sheet` are None by default.
        """
        return cls(
            step=step,
            reason=str(error),
            usage=error.usage,
            **{"view": None, "sheet": None, **more},
        )


class Stop(Event):
    """The run ended."""

    stop: str
    rounds: int
    calls: int


KINDS: dict[str, type[Event]] = {
    each.kind: each for each in (*Event.__subclasses__(), *Call.__subclasses__())
}
"""The class of each kind of event."""
del KINDS["call"]  # a base class
