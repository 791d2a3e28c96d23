"""Frozen groups of the keywords of `ask`: `GridSettings`, `SearchLimits`, `Refinements` and
`CacheMode`.

`ask` takes keywords; it packs them into these frozen objects and passes the objects inward:
`GridSettings` to the environment, `SearchLimits` to the search, `CacheMode` to the model.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from atlaskit.agents.thrift import Thrift
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.observation import Cells
from atlaskit.environment.question import Span
from atlaskit.environment.tiles import PATCH_PX, Fit
from atlaskit.errors import InputError, check_whole
from atlaskit.models.cached import Cached
from atlaskit.models.families import family_of
from atlaskit.models.presets import preset_for
from atlaskit.models.protocol import Model
from atlaskit.video.video import SAMPLINGS, Sampling, Video


def fit_for(vlm: Model, fit: Fit | None) -> tuple[Fit, int]:
    """Return how frames fill their cells, and the patch that native cells are rounded to.

    Args:
        vlm: The model that looks at the cells.
        fit: The user's choice; None for what suits the model.
    """
    return preset_for(vlm).fit if fit is None else fit, family_of(vlm.name).patch


def cell_for(vlm: Model, size: int | None) -> int:
    """Return the size of a cell in pixels: the user's choice; for None, what suits the model."""
    return preset_for(vlm).cell if size is None else size


def recorded_fit(fit: Fit, patch: int) -> dict[str, Any]:
    """Return the settings that a run records of `fit_for`: the patch only where it counts."""
    return {"fit": fit, "patch": patch} if fit == "native" else {"fit": fit}


@dataclass(frozen=True)
class GridSettings:
    """How agents see the video, and how deep they may go."""

    k: int
    """A grid has k×k cells."""
    cell: int
    """Width and height of a cell in pixels; of a native cell, the longer of the two."""
    max_depth: int | Literal["auto"] = "auto"
    fit: Fit = "contain"
    subtitles: bool = True
    """Whether agents get the subtitles."""
    sampling: Sampling = "midpoint"
    """Which frame stands for a cell."""
    cells: Cells = "compact"
    """How prompts describe the cells."""
    patch: int = PATCH_PX
    """Side of the model's image token in pixels; native cells are rounded to it."""
    thrift: Thrift = frozenset()
    """Measures that spend fewer tokens on the same sight."""
    within: Span | None = None
    """The interval that is searched; None for the whole video."""
    between: Sampling | None = None
    """Which frame stands for a cell in a second look; None: as in the first."""

    def open(self, video: Video, cache: Cache) -> Atlas:
        """Return the environment of a video; raise InputError for settings it cannot have."""
        return Atlas(
            video,
            self.k,
            self.cell,
            self.max_depth,
            self.fit,
            subtitles=self.subtitles,
            sampling=self.sampling,
            cells=self.cells,
            cache=cache,
            patch=self.patch,
            within=self.within,
            between=self.between,
        )


@dataclass(frozen=True)
class SearchLimits:
    """What bounds a search, beside its budget.

    Raises:
        InputError: If a number is not an integer in its range.
    """

    workers: int
    """The most regions that are explored in a round."""
    steps: int
    """The most calls of a worker in its region."""
    plateau: int | None
    """Steps without new evidence that end a visit: fewer than `steps`, and 0 for workers with a
    single step. None until `with_plateau` has chosen it."""
    min_rounds: int
    """Rounds before the evidence may count as sufficient."""
    max_rounds: int | None
    look_ahead: bool
    """Whether the master makes the next probe while the workers are running."""

    def __post_init__(self) -> None:
        check_whole("workers", self.workers)
        check_whole("steps", self.steps)
        if self.plateau is not None:
            check_whole("plateau", self.plateau, min(1, self.steps - 1))
            if self.plateau >= self.steps:
                raise InputError(f"plateau must be less than the {self.steps} steps of a worker; got {self.plateau}.")
        check_whole("min_rounds", self.min_rounds)
        if self.max_rounds is not None:
            check_whole("max_rounds", self.max_rounds)
            if self.min_rounds > self.max_rounds:
                raise InputError(f"min_rounds must be at most max_rounds, {self.max_rounds}; got {self.min_rounds}.")

    def with_plateau(self, max_depth: int) -> SearchLimits:
        """Return the limits with a plateau, chosen where none was given.

        It is half of the steps, but enough steps to reach the deepest level.
        """
        if self.plateau is not None:
            return self
        return replace(self, plateau=min(self.steps - 1, max(self.steps // 2, max_depth + 1)))

    def plateau_of(self, steps: int) -> int:
        """Return the plateau of a worker that has so many steps; 0 means none."""
        return min(self.plateau or 0, steps - 1)

    def is_last(self, rounds: int) -> bool:
        """Return whether no round may follow after so many."""
        return self.max_rounds is not None and rounds >= self.max_rounds


@dataclass(frozen=True)
class Refinements:
    """Where a search goes beyond the paper's; by default nowhere.

    Raises:
        InputError: If a value is not one that the option takes.
    """

    second_look: bool | Sampling = False
    """Whether ruled-out regions are opened again, between the frames that were seen, or which
    frame stands for a cell then."""
    votes: int = 1
    """The most decisions of which the majority counts."""

    def __post_init__(self) -> None:
        check_whole("votes", self.votes)
        if not isinstance(self.second_look, bool) and self.second_look not in SAMPLINGS:
            known = ", ".join(SAMPLINGS)
            raise InputError(f"second_look is True, False or one of {known}; got {self.second_look!r:.80}.")

    @property
    def sampling_between(self) -> Sampling | None:
        """Which frame stands for a cell in a second look; None: as in the first."""
        return self.second_look if isinstance(self.second_look, str) else None

    def recorded(self) -> dict[str, Any]:
        """Return what is refined, as the settings of a run hold it: nothing by default."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) != field.default}


@dataclass(frozen=True)
class CacheMode:
    """How a run uses the replies in the cache."""

    sample: int = 0
    """Number of this sample; each number has replies of its own."""
    refresh: bool = False
    """Whether the model is called even if the cache has a reply, and the new reply replaces it."""
    replay: bool = False
    """Whether the model is never called; a missing reply then raises Unrecorded."""

    def open(self, model: Model, cache: Cache) -> Cached:
        """Return a model with cached replies; raise InputError for refresh with replay."""
        return Cached(model, cache, sample=self.sample, refresh=self.refresh, replay=self.replay)
