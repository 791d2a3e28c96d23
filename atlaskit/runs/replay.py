"""A run drawn again from its trace: every picture that it showed, and what it remembered, without a model.

Untrusted: a trace may come from a stranger. Whatever it holds, the worst that comes of it is an InputError; and what it
says of a picture is believed only where the picture that is made of it has the key that the run noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.actions import Investigate, Zoom
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.image import WIDEST_PX, LazyImage
from atlaskit.environment.memory import MAX_SHEET_ITEMS, DeadZones, Evidence, Scratchpad
from atlaskit.environment.observation import Observation
from atlaskit.environment.render import Sheet, View
from atlaskit.environment.tiles import Fit
from atlaskit.errors import InputError, first_fault, printable
from atlaskit.runs.events import (
    ActionData,
    CiteData,
    DecisionData,
    Event,
    EventData,
    EvidenceData,
    FailureData,
    ProbeData,
    ReportData,
    ReviewData,
    SheetData,
    StartData,
    StepData,
    ViewData,
    data_of,
)
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Sampling, Video

WIDEST_SHEET_PX = 2 * WIDEST_PX
"""Pixels of the side of the largest sheet: a trace can name any number of frames, and each takes memory to draw."""

What = Literal["view", "shown", "sheet"]


@dataclass(frozen=True)
class ShownImage:
    """One picture that a run showed. Nothing is decoded before it is looked at."""

    place: int
    """The event's place in its trace, from 0. What was remembered then is `memory(trace, upto=shown.place)`."""
    event: Event
    what: What
    """The event's field that names it: a grid, the frame or scan that was looked at beside it, or the evidence."""
    picture: LazyImage
    """A `View`; a `Still`, if it is a frame at full size; a `Sheet`, if it is the evidence."""


class Memory(NamedTuple):
    """What the Master remembers at one moment of a run."""

    scratchpad: Scratchpad = Scratchpad()
    """M+."""
    dead_zones: DeadZones = DeadZones()
    """M−."""


def memory(trace: Trace, upto: int | None = None) -> Memory:
    """Return what was remembered after the first `upto` events of a run, or at its end.

    Raises InputError for a trace that contradicts itself, or holds what is no event.
    """
    remembered = Memory()
    for each in memories(trace, upto):
        remembered = each
    return remembered


def memories(trace: Trace, upto: int | None = None) -> Iterator[Memory]:
    """Yield what was remembered after each of the first `upto` events of a run, or of all.

    Raises InputError on the way for a trace that contradicts itself, or holds what is no event.
    """
    remembered = Memory()
    for place, event in enumerate(trace.events[:upto]):
        with _told_of(place, event):
            remembered = after(data_of(event), remembered)
        yield remembered


def pictures(trace: Trace, video: Video, cache: Cache | None = None) -> Iterator[ShownImage]:
    """Yield every picture that a run showed, in the order of its events; each is made when it is first looked at.

    Raises InputError for a trace of another video, at once; and on the way for an event that does not say how to draw
    its picture, or says it so that another picture comes of it.
    """
    return _walked(trace, atlas_of(trace, video, cache or default_cache()))


def _walked(trace: Trace, atlas: Atlas) -> Iterator[ShownImage]:
    remembered = Memory()
    for place, event in enumerate(trace):
        with _told_of(place, event):
            form = data_of(event)
            # Before the event changes the memory: a review saw what it then erased.
            shown = [ShownImage(place, event, what, picture) for what, picture in _drawn(form, remembered, atlas)]
            remembered = after(form, remembered)
        yield from shown


@contextmanager
def _told_of(place: int, event: Event) -> Iterator[None]:
    """Say of which event an error is."""
    try:
        yield
    except InputError as error:
        raise InputError(
            f"Event {place}, {event.kind[:40]!r}, cannot be replayed: {printable(str(error), 300)}"
        ) from error


class _Settings(BaseModel):
    """What of a run's settings it takes to draw its pictures; the others do not matter here."""

    model_config = ConfigDict(extra="ignore", strict=True)

    video: str
    k: Annotated[int, Field(le=WIDEST_PX)]
    cell: Annotated[int, Field(le=WIDEST_PX)]
    max_depth: int
    fit: Fit
    sampling: Sampling


def atlas_of(trace: Trace, video: Video, cache: Cache) -> Atlas:
    """Return the environment that the run was in; raise InputError for a trace of another video, or of no run."""
    starts = [form for form in map(data_of, trace.of("start")) if isinstance(form, StartData)]
    if len(starts) != 1:
        raise InputError(f"The trace of a run begins once, and this one has {len(starts)} starts.")
    try:
        settings = _Settings.model_validate(starts[0].settings)
    except ValidationError as error:
        field, fault = first_fault(error)
        raise InputError(f"The settings in this trace cannot be drawn by: {field}: {fault}.") from error
    if settings.video != video.fingerprint:
        other, this = settings.video[:12], video.fingerprint[:12]
        raise InputError(f"The trace is of another video ({other!r}…) than {video.name} ({this!r}…).")
    k, cell, fit, sampling = settings.k, settings.cell, settings.fit, settings.sampling
    return Atlas(video, k, cell, settings.max_depth, fit, sampling=sampling, cache=cache)


def _drawn(form: EventData, remembered: Memory, atlas: Atlas) -> Iterator[tuple[What, LazyImage]]:
    """Yield the pictures that an event names."""
    if (
        isinstance(form, ProbeData | StepData | ReviewData | DecisionData | CiteData | FailureData)
        and form.view is not None
    ):
        yield "view", _same(_view(form.view, atlas), form.view.key)
    if isinstance(form, StepData) and form.shown is not None:
        beside = _beside(form.view, form.action, atlas)
        picture = _masked(beside, form.shown.dead) if isinstance(beside, View) else beside
        yield "shown", _same(picture, form.shown.key)
    if isinstance(form, ReviewData | DecisionData | FailureData) and form.sheet is not None:
        yield "sheet", _same(_sheet(form.sheet, remembered.scratchpad, atlas), form.sheet.key)


def _same(picture: LazyImage, key: str) -> LazyImage:
    """Return the picture; raise InputError where it is not the one with this key."""
    if picture.key != key:
        raise InputError(
            "another picture comes of it now than the run showed: the trace was changed, or made by other code."
        )
    return picture


def _view(seen: ViewData, atlas: Atlas) -> View:
    return _masked(_observed(seen, atlas).view, seen.dead)


def _beside(seen: ViewData, did: ActionData, atlas: Atlas) -> LazyImage:
    """Return the frame or scan that an action asked to see of a grid."""
    match did:
        case ActionData(name="Zoom", cell=int(cell)):
            looking_at: Zoom | Investigate = Zoom(cell)
        case ActionData(name="Investigate", cell=int(cell), direction="before" | "after" as direction):
            looking_at = Investigate(cell, direction)
        case _:
            raise InputError(f"{did.name}, as it stands there, shows no picture.")
    _check_cells([cell], atlas.root)
    picture = _observed(seen, atlas, looking_at).looking_at
    assert picture is not None
    return picture


def _observed(seen: ViewData, atlas: Atlas, looking_at: Zoom | Investigate | None = None) -> Observation:
    """Return what is seen of a grid, nothing blacked out."""
    if len(seen.path) > atlas.rules.max_depth:
        raise InputError(f"its path leads to depth {len(seen.path)}, and the run's own was {atlas.rules.max_depth}.")
    state = atlas.start(replace(atlas.root, path=tuple(seen.path)))
    return atlas.observe(replace(state, looking_at=looking_at))


def _masked(view: View, dead: Sequence[int]) -> View:
    _check_cells(dead, view.grid)
    return replace(view, dead=frozenset(dead))


def _check_cells(cells: Sequence[int], grid: Grid) -> None:
    """Raise InputError for a cell that a grid does not have."""
    for cell in cells:
        grid.expand(cell)


def _sheet(seen: SheetData, scratchpad: Scratchpad, atlas: Atlas) -> Sheet:
    shown = scratchpad.surest(MAX_SHEET_ITEMS)
    if tuple(seen.labels) != shown.labels:
        there, then = ", ".join(seen.labels)[:80], ", ".join(shown.labels)[:80]
        raise InputError(f"its sheet shows the evidence {there!r}, and what was kept then is {then!r}.")
    for item in shown:
        atlas.video.check_time(item.timestamp_s)
    sheet = Sheet(atlas.video, shown, atlas.cell, atlas.fit, atlas.cache)
    if max(sheet.size) > WIDEST_SHEET_PX:
        raise InputError(f"its sheet would be {max(sheet.size)} pixels wide; {WIDEST_SHEET_PX} are drawn at most.")
    return sheet


def after(form: EventData, remembered: Memory) -> Memory:
    """Return what is remembered after an event, by what was remembered before it.

    Raises InputError where the event contradicts that.
    """
    scratchpad, zones = remembered
    match form:
        case ReportData(kept=kept, dead_s=dead_s):
            return Memory(_kept(kept, scratchpad), zones.add_all(dead_s))
        case ReviewData(erased=labels, dead_s=dead_s):
            missing = [label for label in labels if label not in scratchpad.labels]
            if missing:
                raise InputError(f"it erases the evidence {missing[0]!r}, which was not there.")
            return Memory(scratchpad.erase(labels), zones.add_all(dead_s))
        case CiteData(found=found):
            return Memory(_kept(found, scratchpad), zones)
    return remembered


def _kept(items: Sequence[EvidenceData], scratchpad: Scratchpad) -> Scratchpad:
    """Return the scratchpad with these items, which say themselves how they then stand in it."""
    found = [Evidence(**item.model_dump()) for item in items]
    after = scratchpad.add(found)
    there = set(after)
    strange = [item for item in found if item not in there]
    if strange:
        raise InputError(f"its evidence {strange[0].label[:40]!r} does not go with what was kept before.")
    return after
