"""`pictures` and `memory` (`ak.replay`): redraw a run's images and rebuild its memory from a trace.

A trace may come from an untrusted source. The worst that an invalid one causes is an InputError,
and an image is accepted only if its key equals the key that the run recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.actions import Investigate, Zoom
from atlaskit.environment.atlas import Atlas, Observation
from atlaskit.environment.grid import Grid
from atlaskit.environment.image import WIDEST_PX, LazyImage
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.render import Sheet, View
from atlaskit.environment.tiles import PATCH_PX, Fit, Labels
from atlaskit.errors import InputError, first_fault, printable
from atlaskit.runs.events import (
    ActionRecord,
    Cite,
    Decision,
    Event,
    Look,
    Plan,
    Report,
    Review,
    SheetRecord,
    Start,
    Step,
    ViewRecord,
)
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.video import Sampling, Video

__all__ = ["Memory", "ShownImage", "memories", "memory", "pictures"]

WIDEST_SHEET_PX = 2 * WIDEST_PX
"""The longest side of a sheet. A trace can list any number of frames, and drawing each takes
memory."""

What = Literal["view", "shown", "sheet"]


@dataclass(frozen=True)
class ShownImage:
    """One image that a run showed. Nothing is decoded until it is looked at.

    Examples:
        >>> first = next(ak.replay.pictures(result.trace, video))
        >>> first.what, first.event.kind
        ('view', 'plan')
    """

    place: int
    """The event's index in its trace. `memory(trace, upto=shown.place)` is the master's memory at
    that moment."""
    event: Event
    what: What
    """The field of the event that records the image: "view" for a grid, "shown" for the still or
    scan beside it, "sheet" for the evidence."""
    picture: LazyImage
    """A `View` of a grid or a scan; a `Still`, a frame at full resolution; or a `Sheet`."""


class Memory(NamedTuple):
    """The master's memory at one moment of a run.

    Examples:
        >>> ak.replay.memory(result.trace).scratchpad.labels == result.evidence.labels
        True
    """

    scratchpad: Scratchpad = Scratchpad()
    """M+."""
    dead_zones: DeadZones = DeadZones()
    """M−."""


def memory(trace: Trace, upto: int | None = None) -> Memory:
    """Return the master's memory after the first `upto` events of a run, or at its end.

    Raises:
        InputError: If the trace contradicts itself, or an event is invalid.

    Examples:
        >>> ak.replay.memory(result.trace).scratchpad == result.evidence
        True
    """
    current = Memory()
    for later in memories(trace, upto):
        current = later
    return current


def memories(trace: Trace, upto: int | None = None) -> Iterator[Memory]:
    """Yield the master's memory after each of the first `upto` events of a run, or of all.

    Raises:
        InputError: While iterating, if the trace contradicts itself, or an event is invalid.

    Examples:
        >>> len(list(ak.replay.memories(result.trace))) == len(result.trace.events)
        True
    """
    current = Memory()
    for index, event in enumerate(trace.events[:upto]):
        with _naming(index, event):
            current = after(event, current)
        yield current


def pictures(trace: Trace, video: AnyVideo, cache: Cache | None = None) -> Iterator[ShownImage]:
    """Yield every image that a run showed, in the order of its events.

    Each is drawn when it is first looked at.

    Args:
        trace: The trace of the run.
        video: The video of the run, its file, or a list of files.
        cache: The cache for frames and images.

    Raises:
        InputError: If the trace is of another video. While iterating, if an image cannot be drawn
            from its event, or differs from the one that the run showed.

    Examples:
        >>> first = next(ak.replay.pictures(result.trace, video))
        >>> first.picture.image.size == first.picture.size
        True
    """
    return _shown_images(trace, atlas_of(trace, as_video(video, cache), cache or default_cache()))


def _shown_images(trace: Trace, atlas: Atlas) -> Iterator[ShownImage]:
    current = Memory()
    judged = None  # the sheet of the last review
    before = current  # the memory before that review
    for index, event in enumerate(trace):
        with _naming(index, event):
            # Draw before the event changes the memory: a review saw the evidence that it erased.
            if isinstance(event, Review):
                judged = event.sheet
                before = current
            # A review that answers is also recorded as the decision, with the sheet that it saw.
            is_review = isinstance(event, Decision) and event.sheet == judged
            images = list(_images(event, before if is_review else current, atlas))
            current = after(event, current)
        for what, image in images:
            yield ShownImage(index, event, what, image)


@contextmanager
def _naming(index: int, event: Event) -> Iterator[None]:
    """Name the event in the message of an InputError that is raised in this block."""
    try:
        yield
    except InputError as error:
        fault = printable(str(error), 300)
        raise InputError(
            f"Event {index}, {event.kind[:40]!r}, cannot be replayed: {fault}"
        ) from error


class _DrawingSettings(BaseModel):
    """The settings of a run on which its images depend; others are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)

    video: str
    k: Annotated[int, Field(le=WIDEST_PX)]
    cell: Annotated[int, Field(le=WIDEST_PX)]
    max_depth: int
    fit: Fit
    patch: Annotated[int, Field(ge=1, le=WIDEST_PX)] = PATCH_PX
    """Recorded only by runs with native cells."""
    ruled: bool = False
    """Recorded only by runs whose sheets have gutters and strips."""
    labels: Labels = "index"
    """Recorded only by searches by looks."""
    sampling: Sampling
    within: list[float] | None = None
    """Recorded only by runs that searched a part of the video."""


def atlas_of(trace: Trace, video: Video, cache: Cache) -> Atlas:
    """Return the environment of a run.

    Raises:
        InputError: If the trace is of another video or of a method without grids, or does not have
            exactly one valid start.
    """
    starts = trace.of(Start)
    if len(starts) != 1:
        raise InputError(
            f"The trace of a run must have exactly one start; this one has {len(starts)}."
        )
    recorded = starts[0].settings
    method = recorded.get("method")
    if "k" not in recorded and method not in (None, "video-rlm", "composite"):
        name = printable(str(method), 60)
        raise InputError(f"The trace of a run of {name} has no grids that could be drawn again.")
    try:
        settings = _DrawingSettings.model_validate(recorded)
    except ValidationError as error:
        field, fault = first_fault(error)
        raise InputError(f"The settings in this trace are invalid: {field}: {fault}.") from error
    if settings.video != video.fingerprint:
        expected = settings.video[:12]
        actual = video.fingerprint[:12]
        raise InputError(
            f"The trace is of another video ({expected!r}…) than {video.name} ({actual!r}…)."
        )
    within: Any = settings.within  # Atlas checks that it is an interval of the video
    return Atlas(
        video,
        k=settings.k,
        cell=settings.cell,
        max_depth=settings.max_depth,
        fit=settings.fit,
        labels=settings.labels,
        sampling=settings.sampling,
        cache=cache,
        patch=settings.patch,
        within=within,
        ruled=settings.ruled,
    )


def views_of(event: Event) -> tuple[ViewRecord, ...]:
    """Return the views of grids that an event showed, in order."""
    if isinstance(event, Look):
        return event.views
    view = getattr(event, "view", None)
    return (view,) if isinstance(view, ViewRecord) else ()


def _images(event: Event, current: Memory, atlas: Atlas) -> Iterator[tuple[What, LazyImage]]:
    """Yield the images that an event records."""
    views = views_of(event)
    sheet = getattr(event, "sheet", None)
    for view in views:
        image: LazyImage = _masked(_observation(view, atlas).view, view.dead)
        yield "view", _checked(image, view.key)
    if isinstance(event, Step) and event.shown is not None:
        image = _still_or_scan(event.view, event.action, atlas)
        if isinstance(image, View):
            image = _masked(image, event.shown.dead)
        yield "shown", _checked(image, event.shown.key)
    if sheet is not None:
        yield "sheet", _checked(_sheet(sheet, current.scratchpad, atlas), sheet.key)


def _checked(image: LazyImage, key: str) -> LazyImage:
    """Return the image; raise InputError if it does not have the key."""
    if image.key != key:
        raise InputError(
            "the image differs from the one that the run showed; it was changed, or other code "
            "made it."
        )
    return image


def _still_or_scan(view: ViewRecord, action: ActionRecord, atlas: Atlas) -> LazyImage:
    """Return the still or scan that an action asked for."""
    match action:
        case ActionRecord(name="Zoom", cell=int(cell)):
            looking_at: Zoom | Investigate = Zoom(cell)
        case ActionRecord(
            name="Investigate", cell=int(cell), direction="before" | "after" as direction
        ):
            looking_at = Investigate(cell, direction)
        case _:
            raise InputError(f"{action.name} with these fields shows no image.")
    _check_cells([cell], atlas.root)
    image = _observation(view, atlas, looking_at).looking_at
    assert image is not None
    return image


def _observation(
    view: ViewRecord, atlas: Atlas, looking_at: Zoom | Investigate | None = None
) -> Observation:
    """Return the observation of a recorded grid, without its dead cells.

    Args:
        view: The record of the grid's view.
        atlas: The environment of the run.
        looking_at: The action that showed a still or a scan beside the view.

    Raises:
        InputError: The grid is deeper than `max_depth` of the run.
    """
    if len(view.path) > atlas.rules.max_depth:
        raise InputError(
            f"its path leads to depth {len(view.path)}; max_depth of the run is "
            f"{atlas.rules.max_depth}."
        )
    grid = replace(atlas.root, path=tuple(view.path), shift=view.shift)
    if view.stretch_s is not None:
        grid = Grid(*view.stretch_s, view.k)
    observation = atlas.observe(replace(atlas.start(grid), looking_at=looking_at))
    return replace(observation, view=replace(observation.view, first=view.first))


def _masked(view: View, dead: Sequence[int]) -> View:
    _check_cells(dead, view.grid)
    return replace(view, dead=frozenset(dead))


def _check_cells(cells: Sequence[int], grid: Grid) -> None:
    """Raise InputError for a cell that a grid does not have."""
    for cell in cells:
        grid.expand(cell)


def _sheet(recorded: SheetRecord, scratchpad: Scratchpad, atlas: Atlas) -> Sheet:
    sheet = atlas.sheet(scratchpad)
    shown = sheet.scratchpad
    if tuple(recorded.labels) != shown.labels:
        actual = ", ".join(recorded.labels)[:80]
        expected = ", ".join(shown.labels)[:80]
        raise InputError(
            f"its sheet shows the evidence {actual!r}, but the scratchpad then held {expected!r}."
        )
    for item in shown:
        atlas.video.check_time(item.timestamp_s)
    if max(sheet.size) > WIDEST_SHEET_PX:
        raise InputError(
            f"its sheet would be {max(sheet.size)} pixels wide; the limit is {WIDEST_SHEET_PX}."
        )
    return sheet


def after(event: Event, before: Memory) -> Memory:
    """Return the master's memory after an event.

    Args:
        event: The event.
        before: The memory before it.

    Raises:
        InputError: If the event contradicts the memory.
    """
    scratchpad, zones = before
    match event:
        case Report(kept=items, dead_s=dead_s, alive_s=alive_s):
            return Memory(
                _with_evidence(items, scratchpad), zones.add_all(dead_s).without_all(alive_s)
            )
        case Review(erased=labels, dead_s=dead_s, alive_s=alive_s):
            missing = [label for label in labels if label not in scratchpad.labels]
            if missing:
                raise InputError(
                    f"it erases the evidence {missing[0]!r}, which the scratchpad does not hold."
                )
            return Memory(scratchpad.erase(labels), zones.add_all(dead_s).without_all(alive_s))
        case Cite(found=items) | Plan(found=items):
            return Memory(_with_evidence(items, scratchpad), zones)
    return before


def _with_evidence(items: Sequence[Evidence], scratchpad: Scratchpad) -> Scratchpad:
    """Return the scratchpad with items added.

    Raises:
        InputError: The scratchpad does not then hold the items as they are, for instance because it
            had other evidence with the same label.
    """
    extended = scratchpad.add(items)
    added = set(extended)
    conflicting = [item for item in items if item not in added]
    if conflicting:
        raise InputError(
            f"its evidence {conflicting[0].label[:40]!r} conflicts with the scratchpad."
        )
    return extended


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
