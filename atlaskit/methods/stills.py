"""The stage that methods of single frames share: a caption of each frame that they look at.

`Album.describe` asks every method's calls in identical words, which depend on the frame alone, so
the cache has them for the next method and the next question that looks at the same frame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlaskit.agents.settings import fit_for, recorded_fit
from atlaskit.environment.grid import Grid, clock
from atlaskit.environment.question import Span
from atlaskit.environment.render import Frame, View, check_cells
from atlaskit.environment.tiles import Fit
from atlaskit.errors import check_whole
from atlaskit.methods.prompts import StillCall
from atlaskit.methods.run import MethodRun
from atlaskit.models.presets import cell_for
from atlaskit.models.protocol import Request
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Video


@dataclass(frozen=True)
class Note:
    """One frame, with what the model wrote about it and what is said at that moment."""

    time_s: float
    caption: str
    said: tuple[Line, ...]

    @property
    def row(self) -> str:
        """The note as a row of a prompt."""
        said = " ".join(line.text for line in self.said)
        return " ".join([f"Frame at {clock(self.time_s)}: {self.caption}", *([f"Said: {said}"] if said else [])])


@dataclass(frozen=True)
class StillSettings:
    """How single frames are shown. Methods with equal settings share their captions."""

    cell: int
    fit: Fit
    patch: int
    subtitles: bool

    @classmethod
    def of(cls, run: MethodRun, size: int | None, fit: Fit | None, subtitles: bool, *, k: int = 1) -> StillSettings:
        """Return the settings that suit the run's model.

        Args:
            run: The run.
            size: Width and height of a frame in pixels; None for what suits the model.
            fit: How a frame fills its cell; None for what suits the model.
            subtitles: Whether the run uses the subtitles.
            k: Cells in a row of the largest sheet that the method shows.

        Raises:
            InputError: If such a sheet cannot be made.
        """
        cell, (fit, patch) = cell_for(run.vlm, size), fit_for(run.vlm, fit)
        check_cells(k, cell, fit, patch)
        return cls(cell, fit, patch, subtitles)

    def recorded(self) -> dict[str, Any]:
        """Return what a run records of them."""
        return {"cell": self.cell, **recorded_fit(self.fit, self.patch), "subtitles": self.subtitles}

    def frame(self, run: MethodRun, time_s: float) -> Frame:
        """Return the image of a frame."""
        return Frame(run.video, time_s, self.cell, self.fit, run.cache, self.patch)

    def sheet(self, run: MethodRun, grid: Grid) -> View:
        """Return a sheet of frames, in cells of the same size."""
        return View(run.video, grid, self.cell, self.fit, "index", cache=run.cache, patch=self.patch)

    def lines(self, run: MethodRun, time_s: float) -> tuple[Line, ...]:
        """Return the lines that are said at a time; none if the run uses no subtitles."""
        return tuple(run.video.subtitles.between(time_s, math.nextafter(time_s, math.inf))) if self.subtitles else ()


@dataclass(frozen=True)
class Album:
    """The frames that a run has looked at, each described once."""

    run: MethodRun
    settings: StillSettings
    threads: int = 4
    notes: dict[float, Note] = field(default_factory=dict)
    """By time in seconds, in the order in which they were described."""

    def __post_init__(self) -> None:
        check_whole("threads", self.threads)

    def describe(self, times_s: Iterable[float]) -> list[Note]:
        """Return the notes of the frames at some times, in order of time.

        Each is one call, unless this run has made it. A frame whose call fails is left out, and
        `run.failure` says so; so are those for which the budget does not suffice.

        Raises:
            Unreachable: If the model never answers.
        """
        wanted_s = sorted(set(times_s))

        def request(time_s: float) -> Request:
            return StillCall(self.settings.frame(self.run, time_s), self.settings.lines(self.run, time_s)).request()

        missing_s = [time_s for time_s in wanted_s if time_s not in self.notes]
        video = self.run.video
        for time_s, answer in self.run.answers(missing_s, request, lambda s: [moment_of(video, s)], self.threads):
            self.notes[time_s] = Note(time_s, answer.caption, self.settings.lines(self.run, time_s))
        return [self.notes[time_s] for time_s in wanted_s if time_s in self.notes]


def moment_of(video: Video, time_s: float) -> Span:
    """Return the interval in seconds during which about one frame is shown."""
    return time_s, min(video.duration_s, time_s + 1 / video.fps)


def moments_of(video: Video, notes: Sequence[Note]) -> list[Span]:
    """Return the interval of each note's frame."""
    return [moment_of(video, note.time_s) for note in notes]


def rows_of(notes: Sequence[Note]) -> str:
    """Return notes as text, a row each."""
    return "\n".join(note.row for note in notes)
