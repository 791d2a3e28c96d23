"""`Location` and `Shown`: where the explorer is, where it can go, and the image that is there.

A location is a state of the environment: a grid is reached by Expand, a frame by Zoom, and the time
before or after a cell by Investigate. The environment's legal set says which cells can be opened.
The explorer adds two things. Unless a run says otherwise, cells open down to single frames: the
last grid has about one cell for each frame, and so it may have fewer cells than K². And a frame can
be named by its time. This module knows nothing about pages or threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Expand, Investigate, Zoom
from atlaskit.environment.atlas import Atlas, Observation
from atlaskit.environment.grid import SUB_SECOND, Cell, Grid
from atlaskit.environment.image import WIDEST_PX, LazyImage
from atlaskit.environment.mdp import State, transition
from atlaskit.environment.question import Span
from atlaskit.environment.render import Still, View, with_look
from atlaskit.errors import IllegalAction, InputError
from atlaskit.runs.replay import atlas_of
from atlaskit.runs.result import Result
from atlaskit.video.readers import TIME_STEP_S
from atlaskit.video.video import SAMPLINGS, Video

Look = Literal["grid", "frame", "before", "after"]
"""What is shown: a grid, the frame of one of its cells, or the time just before or after a cell."""

SCAN_CELL_PX = 320
"""Width and height of a cell in the image of the time before or after a cell."""
STEP_PX = 40
"""The width of cells is a multiple of this, so that pages of similar widths share images."""
DEFAULTS: dict[str, Any] = {
    "k": 8,
    "cell": 120,
    "fit": "native",
    "sampling": "keyframe",
    "patch": 1,
}
"""The settings of the environment. A native cell is rounded to whole patches of a model; with
patches of one pixel it has exactly the video's shape."""
OFFERED_K = (4, 6, 8, 12, 16)
"""The numbers of cells per side that the page offers."""
MORE_THAN_ONE = 1.001
"""A cell can be opened if it lasts at least this many frames. More than 1, since the length of a
cell of exactly one frame may be rounded up."""


@dataclass(frozen=True)
class Location:
    """What the explorer shows: a grid, or one cell of it in more detail."""

    path: tuple[int, ...] = ()
    """Cells that lead from the root grid to the grid."""
    look: Look = "grid"
    """What is shown: see `Look`."""
    cell: int | None = None
    """The cell that is shown in more detail; None for the grid itself."""
    time_s: float | None = None
    """Time of the frame, if it is not the one that represents the cell."""

    def __post_init__(self) -> None:
        if self.look not in get_args(Look) or (self.look == "grid") != (self.cell is None):
            raise InputError(
                "A location is a grid without a cell, or frame, before or after with a cell; "
                f"got {self.look!r} and {self.cell!r:.80}."
            )
        if self.time_s is not None and self.look != "frame":
            raise InputError(f"Only a frame has a time; got {self.time_s!r:.80} for {self.look!r}.")

    @classmethod
    def from_json(cls, location: object) -> Location:
        """Return the location that a page names; raise InputError if it is invalid."""
        match location:
            case {"path": [*path], "look": look, "cell": cell, **others} if all(
                type(index) is int for index in path
            ):
                time_s = others.get("time_s")
                if type(cell) in (int, type(None)) and (
                    time_s is None or isinstance(time_s, int | float)
                ):
                    return cls(tuple(path), look, cell, None if time_s is None else float(time_s))
        raise InputError(
            "A location needs path (cell indices), look and cell (an index or null); got "
            f"{location!r:.80}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the location as plain JSON values."""
        time = {} if self.time_s is None else {"time_s": self.time_s}
        return {"path": list(self.path), "look": self.look, "cell": self.cell, **time}

    @property
    def parent(self) -> Location:
        """The grid of a frame, or the grid above a grid; the root grid is its own parent."""
        return Location(self.path if self.look != "grid" else self.path[:-1])


@dataclass(frozen=True)
class Shown:
    """What is shown at a location. Nothing is decoded until the image is requested."""

    location: Location
    observation: Observation
    picture: LazyImage
    """A `View`, or a `Still` at full resolution."""
    time_s: float | None = None
    """Time of the frame, if a frame is shown."""

    @property
    def cell(self) -> Cell | None:
        """The cell that is shown in more detail."""
        if self.location.cell is None:
            return None
        return self.observation.view.cells[self.location.cell]

    @property
    def span_s(self) -> Span:
        """The interval that is shown: of the time around a cell, of the cell, or of the grid."""
        if isinstance(self.picture, View):
            return self.picture.grid.start_s, self.picture.grid.end_s
        assert self.cell is not None
        return self.cell.start_s, self.cell.end_s

    def check_readable(self) -> None:
        """Decode the frame, if a frame is shown; raise IllegalAction if it cannot be decoded."""
        if isinstance(self.picture, Still) and self.picture.unreadable:
            if self.location.time_s is None:
                raise IllegalAction(
                    f"Cell {self.location.cell} is unreadable: its frame cannot be decoded."
                )
            raise IllegalAction(f"The frame at {self.time_s:.3f} s cannot be decoded.")


def make_atlas(video: Video, result: Result | None, given: dict[str, Any], cache: Cache) -> Atlas:
    """Return the environment to explore.

    Args:
        video: The video.
        result: A run, whose settings are the defaults.
        given: The settings that the user gave, of k, cell, fit, sampling and max_depth.
        cache: Where images are cached.

    Raises:
        InputError: A setting is out of its range, or the result is of another video.
    """
    of_run = {} if result is None else _settings_of(result, video, cache)
    options = {**DEFAULTS, **of_run, **given}
    if "max_depth" in options:
        return Atlas(video, labels="time", cache=cache, **options)
    k = Grid(0.0, video.duration_s, options["k"]).k  # raises an error for an invalid k
    depth = Atlas.deepest(video.duration_s, video.fps, k)
    atlas = Atlas(video, labels="time", cache=cache, max_depth=depth, **options)
    atlas.rules = replace(atlas.rules, min_span_s=min(SUB_SECOND, MORE_THAN_ONE / video.fps))
    atlas.state = atlas.start()
    return atlas


def _settings_of(result: Result, video: Video, cache: Cache) -> dict[str, Any]:
    """Return the settings on which the images of a run depend; none if it showed no grids."""
    if result.settings.get("video", video.fingerprint) != video.fingerprint:
        raise InputError(
            f"The result is of another video than {video.name}: explore the video that was asked "
            "about."
        )
    if "max_depth" not in result.settings:
        return {}
    atlas = atlas_of(result.trace, video, cache)
    settings: dict[str, Any] = {"max_depth": atlas.rules.max_depth}
    for name in ("k", "cell", "fit", "sampling", "patch"):
        settings[name] = getattr(atlas, name)
    return settings


def state_of(atlas: Atlas, location: Location) -> State:
    """Return the environment's state at a location; raise IllegalAction if there is none."""
    state = atlas.start(traversal="dfs")  # in "bfs", which a run may have, Expand is illegal
    for cell in location.path:
        state = _opened(atlas, state, cell)
    match location.look, location.cell:
        case "frame", int(cell):
            return transition(state, Zoom(cell))
        case ("before" | "after") as direction, int(cell):
            return transition(state, Investigate(cell, direction))
    return state


def show(atlas: Atlas, location: Location, width_px: int = 0) -> Shown:
    """Return what is shown at a location.

    Args:
        atlas: The environment.
        location: The location.
        width_px: Width of the page that shows the image, in device pixels. The page draws times and
            marks itself. 0 for an image without a page, with times drawn in its cells.

    Raises:
        IllegalAction: The location is not in the video.
        InputError: The location's time is not in the video or not in its cell.
    """
    observation = atlas.observe(state_of(atlas, location))
    if location.look != "frame" or location.cell is None:
        return Shown(location, observation, _picture_of(observation, width_px))
    if location.time_s is None:
        moment_s = observation.view.moments[location.cell]
        return Shown(location, observation, _picture_of(observation, 0), moment_s)
    atlas.video.check_time(location.time_s)
    cell = observation.view.cells[location.cell]
    if not cell.start_s <= location.time_s < cell.end_s:
        raise InputError(
            f"Cell {location.cell} is from {cell.start_s} to {cell.end_s} s; got "
            f"{location.time_s} s."
        )
    still = Still(atlas.video, location.time_s, atlas.cache)
    return Shown(location, observation, still, location.time_s)


def with_cells(atlas: Atlas, k: object, sampling: object) -> Atlas:
    """Return an environment whose grids have other cells.

    Args:
        atlas: The environment as it is.
        k: Cells per side, one of OFFERED_K; any other value leaves them as they are.
        sampling: Which frame represents a cell; an unknown value leaves it as it is.
    """
    new_k = k if isinstance(k, int) and k in OFFERED_K else atlas.k
    new_sampling = next((each for each in SAMPLINGS if each == sampling), atlas.sampling)
    if (new_k, new_sampling) == (atlas.k, atlas.sampling):
        return atlas
    if atlas.rules.min_span_s < SUB_SECOND and atlas.within is None:
        # The cells open down to single frames, so their deepest grid must be found again.
        # `make_atlas` always spans the whole video, so it is not for one with `within`.
        options: dict[str, Any] = {"cell": atlas.cell, "fit": atlas.fit, "patch": atlas.patch}
        options |= {"k": new_k, "sampling": new_sampling}
        return make_atlas(atlas.video, None, options, atlas.cache)
    deepest = Atlas.deepest(atlas.root.end_s - atlas.root.start_s, atlas.video.fps, new_k)
    max_depth = min(atlas.rules.max_depth, deepest)
    return replace(atlas, k=new_k, sampling=new_sampling, max_depth=max_depth)


def grid_near(atlas: Atlas, time_s: float, span_s: float) -> Location:
    """Return the location of the grid that contains a time and is nearest to `span_s` long."""
    path = frame_at(atlas, time_s).path
    state = atlas.start(traversal="dfs")
    spans_s = [state.grid.span_s]
    for cell in path:
        state = _opened(atlas, state, cell)
        spans_s.append(state.grid.span_s)
    depth = min(range(len(spans_s)), key=lambda depth: abs(math.log(spans_s[depth] / span_s)))
    return Location(path[:depth])


def frame_at(atlas: Atlas, time_s: float, depth: int | None = None) -> Location:
    """Return the location of the frame that is shown at a time.

    Args:
        atlas: The environment.
        time_s: Time in seconds.
        depth: The greatest depth of the grid to which the frame belongs; None for no limit.

    Raises:
        InputError: The time is outside the video.
    """
    atlas.video.check_time(time_s)
    state = atlas.start(traversal="dfs")
    path = list[int]()
    while depth is None or len(path) < depth:
        cell = state.grid.cell_at(time_s).index
        if cell not in state.legal["expand"]:
            break
        path.append(cell)
        state = _opened(atlas, state, cell)
    return Location(tuple(path), "frame", state.grid.cell_at(time_s).index, time_s)


def moved(atlas: Atlas, location: Location, *, frames: int = 0, seconds: float = 0.0) -> Location:
    """Return the location some frames or seconds from a frame; no further than the first and last.

    Frames are counted at the mean rate of their file. A move by frames leads to the middle of a
    frame's time, so that rounding never finds the frame beside it.

    Args:
        atlas: The environment.
        location: A location that shows a frame.
        frames: Number of frames to move later; earlier if negative.
        seconds: Number of seconds to move later; earlier if negative.

    Raises:
        InputError: The location shows no frame.
    """
    from_s = show(atlas, location).time_s
    if from_s is None:
        raise InputError(f"Only from a frame can one move by frames; this is {location.look!r}.")
    part, local_s = atlas.video.locate(from_s)
    time_s = from_s + seconds
    if frames:
        part_start_s = from_s - local_s
        time_s = part_start_s + (frame_number(part, local_s) + frames + 0.5) / part.fps
    return frame_at(atlas, clamped(time_s, atlas.video), len(location.path))


def clamped(time_s: float, video: Video) -> float:
    """Return a time in seconds, moved into the video: at most to the middle of its last frame."""
    last_s = video.duration_s - min(0.5 / video.fps, video.duration_s / 2)
    return min(max(time_s, 0.0), last_s)


def frame_number(part: Video, time_s: float) -> int:
    """Return the index of the frame of a file that is shown at a time, at its mean rate."""
    return math.floor((time_s + TIME_STEP_S) * part.fps)


def _opened(atlas: Atlas, state: State, cell: int) -> State:
    """Return the state after a cell was opened.

    If cells open down to single frames, and the new cells would be shorter than a frame, the grid
    gets about one cell for each frame of the opened cell.
    """
    opened = transition(state, Expand(cell))
    grid = opened.grid
    fps = atlas.video.fps
    if opened.rules.min_span_s >= SUB_SECOND or grid.resolution_s * fps >= 1:
        return opened
    first = math.floor((grid.start_s + TIME_STEP_S) * fps)
    last = math.ceil((grid.end_s - TIME_STEP_S) * fps)
    k = max(2, math.isqrt(last - first - 1) + 1)  # the least with a cell for each frame
    # The cells that are left over show later frames; at the end of the video, earlier ones.
    first = max(0, min(first, math.floor(atlas.video.duration_s * fps) - k * k))
    frames = Grid(first / fps, min((first + k * k) / fps, atlas.video.duration_s), k)
    return replace(opened, grid=frames)


def _picture_of(observation: Observation, width_px: int) -> LazyImage:
    """Return the image to show, with cells as large as `width_px` allows: see `show`."""
    picture = observation.looking_at or observation.view
    if not isinstance(picture, View):
        return picture
    if not width_px:
        if picture is observation.view:
            return picture
        return with_look(picture, cell=SCAN_CELL_PX)
    width, height = picture.cell_size
    side = width_px / picture.grid.k * max(1.0, height / width)
    # A cell larger than the video's frames would show no more.
    most = min(max(picture.video.size), WIDEST_PX // picture.grid.k)
    return with_look(
        picture,
        cell=max(STEP_PX, min(math.ceil(side / STEP_PX) * STEP_PX, most)),
        labels="none",
        ruled=False,
    )
