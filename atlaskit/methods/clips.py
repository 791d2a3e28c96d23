"""The stage that methods share: a record of each clip of a video, paid once per video.

`describe_clips` asks every method's calls in identical words, so the cache has them for the next
method and the next question. `clip_grids` divides a video for it and for `captions`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from atlaskit.agents.settings import fit_for, recorded_fit
from atlaskit.environment.grid import Grid, clock
from atlaskit.environment.question import Span
from atlaskit.environment.render import View, check_cells
from atlaskit.environment.tiles import Fit
from atlaskit.errors import InputError, check_whole
from atlaskit.methods.prompts import ClipCall
from atlaskit.methods.run import MethodRun
from atlaskit.models.presets import cell_for
from atlaskit.models.protocol import Request
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Video

CLIP_S = 10.0
"""Length of a clip in seconds, as most of these methods have it."""
CLIP_K = 3
"""A clip is shown on a sheet of 3×3 cells: about one frame a second."""


@dataclass(frozen=True)
class Clip:
    """One clip, with what the model wrote about it and what is said in it."""

    index: int
    """Its number in the video, from 0: the only name by which models speak of clips."""
    start_s: float
    end_s: float
    caption: str
    subjects: tuple[tuple[str, str], ...]
    """(name, appearance) of each."""
    on_screen_text: str
    said: tuple[Line, ...]

    @property
    def span(self) -> Span:
        """Its interval in seconds."""
        return self.start_s, self.end_s

    @property
    def words(self) -> str:
        """Everything that is known of the clip, as text to search."""
        subjects = (f"{name} {appearance}" for name, appearance in self.subjects)
        return "\n".join([self.caption, *subjects, self.on_screen_text, *(line.text for line in self.said)])

    @property
    def row(self) -> str:
        """The clip as a paragraph of a prompt."""
        subjects = "; ".join(f"{name} ({appearance})" for name, appearance in self.subjects)
        parts = {"Seen": subjects, "On screen": self.on_screen_text, "Said": " ".join(line.text for line in self.said)}
        more = [f"{name}: {text}" for name, text in parts.items() if text]
        return " ".join([f"Clip {self.index} ({clock(self.start_s)}–{clock(self.end_s)}): {self.caption}", *more])


@dataclass(frozen=True)
class ClipSettings:
    """How clips are cut and shown. Methods with equal settings share their records."""

    clip_s: float
    cell: int
    fit: Fit
    patch: int
    subtitles: bool

    @classmethod
    def of(
        cls, run: MethodRun, clip_s: float, size: int | None, fit: Fit | None, subtitles: bool, *, k: int = CLIP_K
    ) -> ClipSettings:
        """Return the settings that suit the run's model.

        Args:
            run: The run.
            clip_s: Length of a clip in seconds.
            size: Width and height of a frame's cell in pixels; None for what suits the model.
            fit: How a frame fills its cell; None for what suits the model.
            subtitles: Whether the run uses the subtitles.
            k: Cells in a row of the largest sheet that the method shows.

        Raises:
            InputError: If the length is no positive number, or such a sheet cannot be made.
        """
        if not 0 < clip_s < math.inf:
            raise InputError(f"clip_s must be a positive number of seconds; got {clip_s!r:.40}.")
        cell, (fit, patch) = cell_for(run.vlm, size), fit_for(run.vlm, fit)
        check_cells(k, cell, fit, patch)
        return cls(float(clip_s), cell, fit, patch, subtitles)

    def recorded(self) -> dict[str, Any]:
        """Return what a run records of them."""
        own = {"clip_s": self.clip_s, "cell": self.cell, "subtitles": self.subtitles}
        return {**own, **recorded_fit(self.fit, self.patch)}

    def grids(self, run: MethodRun) -> list[Grid]:
        """Return the sheet of each clip of the run's video."""
        return clip_grids(run.video, self.clip_s, CLIP_K)

    def spans(self, run: MethodRun) -> tuple[Span, ...]:
        """Return the interval of each clip of the run's video."""
        return tuple((grid.start_s, grid.end_s) for grid in self.grids(run))

    def view(self, run: MethodRun, grid: Grid) -> View:
        """Return the image of a clip, or of any other stretch of the video."""
        return View(run.video, grid, self.cell, self.fit, "index", cache=run.cache, patch=self.patch)

    def lines(self, run: MethodRun, span: Span) -> tuple[Line, ...]:
        """Return the lines that are said in an interval; none if the run uses no subtitles."""
        return tuple(run.video.subtitles.between(*span)) if self.subtitles else ()


def describe_clips(run: MethodRun, settings: ClipSettings, *, threads: int = 4) -> list[Clip]:
    """Return the records of a video's clips, in order of time.

    Each is one call, which depends on no question. A clip whose call fails is left out, and
    `run.failure` says so; so are those for which the budget does not suffice.

    Args:
        run: The run that makes the calls.
        settings: How the clips are cut and shown.
        threads: Clips that are described at the same time.

    Raises:
        Unreachable: If the model never answers.
    """
    check_whole("threads", threads)
    grids, spans = settings.grids(run), settings.spans(run)

    def request(index: int) -> Request:
        return ClipCall(settings.view(run, grids[index]), settings.lines(run, spans[index])).request()

    clips = []
    for index, answer in run.answers(range(len(grids)), request, lambda index: [spans[index]], threads):
        span = spans[index]
        subjects = tuple((each.name, each.appearance) for each in answer.subjects)
        clips.append(Clip(index, *span, answer.caption, subjects, answer.on_screen_text, settings.lines(run, span)))
    return clips


def clip_grids(video: Video, clip_s: float, k: int) -> list[Grid]:
    """Return a grid of k×k cells for each clip of a video; the last one may be shorter."""
    count = max(1, math.ceil(video.duration_s / clip_s - 1e-9))
    edges = [min(number * clip_s, video.duration_s) for number in range(count)] + [video.duration_s]
    return [Grid(start_s, end_s, k) for start_s, end_s in pairwise(edges)]


def in_order(clips: Iterable[Clip]) -> list[Clip]:
    """Return clips in order of time, each once."""
    return sorted({clip.index: clip for clip in clips}.values(), key=lambda clip: clip.index)


def rows_of(clips: Sequence[Clip]) -> str:
    """Return clips as text, a paragraph each."""
    return "\n".join(clip.row for clip in clips)
