"""`Search`: the settings of a search, the two searches with a name, and the checks on a model.

"paper" is the search of the paper; "best" has the settings that measured best on development seeds
(see How the search works), as far as a model can use them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from atlaskit.agents.scouts import Scout, resolve_scouts
from atlaskit.agents.strategies import LOOKS, Strategy, resolve_strategy
from atlaskit.environment.atlas import Cells
from atlaskit.environment.grid import SUB_SECOND, Grid
from atlaskit.environment.question import Question
from atlaskit.environment.tiles import Fit, Look
from atlaskit.errors import InputError, ModelWarning, check_whole, printable
from atlaskit.models.names import family_of, preset_for, preset_of
from atlaskit.models.protocol import Model
from atlaskit.video.video import SAMPLINGS, Sampling, Video

Named = Literal["paper", "best"]
"""The names that a search has."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """How Video-RLM searches. `Search()` is the search of the paper.

    Raises:
        InputError: If a value is not one that its setting takes.

    Examples:
        >>> search = ak.Search(traversal="dfs", min_rounds=2)
        >>> ak.ask(video, question, vlm=vlm, search=search).settings["traversal"]
        'dfs'
    """

    k: int | None = None
    """A grid has k×k cells. None: the number that suits the model (8 if none is known)."""
    cell: int | None = None
    """Width and height of a cell in pixels; of a native cell, the longer of the two. None: the size
    that suits the model (320 if none is known)."""
    fit: Fit | None = None
    """How a frame fills its cell: native (the cell has the video's shape, rounded to the model's
    image tokens), contain (a square cell, the frame on grey) or stretch (a square cell, filled).
    None: the one that suits the model (native if none is known)."""
    sampling: Sampling = "midpoint"
    """Which frame stands for a cell: midpoint, keyframe (fast) or shots (of the shots in the
    cell, the one that is least like the film around it)."""
    max_depth: int | Literal["auto"] = "auto"
    """How deep workers may go, from 0 (the root grid alone) to D_max; auto is the first depth whose
    cells are shorter than `min_span_s`."""
    min_span_s: float = SUB_SECOND
    """Seconds below which a cell is not opened. With a smaller number, a video of a minute can be
    explored, and deeper levels differ."""
    cells: Cells = "compact"
    """How prompts describe the cells: compact, or one by one (full, as in the paper)."""
    traversal: Literal["auto", "dfs", "bfs", "beam", "looks"] | Strategy = "auto"
    """Which regions are explored, and how: looks (any stretch as a sheet of its own, then all at
    the step of the event that is searched for), dfs, bfs, beam, auto (dfs or bfs, the master's
    choice from the question alone) or, in Python, a function of the form that `ak.strategies`
    describes."""
    steps: int | None = None
    """The most calls of a worker in its region. None: the number that suits the model (12 if none
    is known)."""
    plateau: int | None = None
    """A visit ends after so many steps in a row that bring nothing new: no evidence, no mark, no
    sheet that it had not opened. None: the number that suits the model, or else half of the steps
    but enough to reach the deepest level."""
    min_rounds: int = 1
    """Rounds before the evidence may count as sufficient. The plan of a search by looks is one."""
    max_rounds: int | None = None
    """The most rounds. None: no limit."""
    look_ahead: bool = True
    """Whether the next probe runs beside the workers: this saves time, and wastes a call if no
    round follows."""
    votes: int | None = 1
    """The most decisions that are asked for; the answer of the majority counts. Above 1 the model
    needs a temperature. None: five if the model has a temperature, and one if it has none."""
    scouts: Sequence[str | Scout] = ()
    """Signals other than the model of where to look first: words (subtitles that share words with
    the question) or, in Python, functions."""
    threads: int | None = None
    """Workers that run at the same time; no result depends on it. None: all of a round."""
    sample: int = 0
    """Number of the sample, if a model with a temperature is asked several times. Each sample has
    its own replies in the cache."""

    def __post_init__(self) -> None:
        self._check_grid()
        self._check_limits()
        resolve_strategy(self.traversal)
        resolve_scouts(self.scouts)
        if self.votes is not None:
            check_whole("votes", self.votes)
        check_whole("sample", self.sample, least=0)
        if not isinstance(self.look_ahead, bool):
            raise InputError(f"look_ahead is True or False; got {self.look_ahead!r:.80}.")

    def _check_grid(self) -> None:
        for name in ("k", "cell"):
            value = getattr(self, name)
            if value is not None and type(value) is not int:
                check_whole(name, value)
        if self.k is not None:
            Grid(0.0, 1.0, self.k)
        if self.max_depth != "auto" and (type(self.max_depth) is not int or self.max_depth < 0):
            raise InputError(
                f'max_depth is "auto" or an integer from 0 to D_max; got {self.max_depth!r:.80}.'
            )
        if type(self.min_span_s) not in (int, float) or not 0 < self.min_span_s < math.inf:
            raise InputError(
                f"min_span_s is a number of seconds above 0; got {self.min_span_s!r:.80}."
            )
        cell = 16 if self.cell is None else self.cell
        fit = "native" if self.fit is None else self.fit
        Look(cell, fit).check(self.k or 2)
        if self.cells not in get_args(Cells):
            raise InputError(f'cells is "compact" or "full"; got {self.cells!r}.')
        known = ", ".join(SAMPLINGS)
        if self.sampling not in SAMPLINGS:
            raise InputError(f"sampling is one of {known}; got {self.sampling!r:.80}.")

    def _check_limits(self) -> None:
        steps = self.steps
        for name in ("steps", "max_rounds", "threads"):
            value = getattr(self, name)
            if value is not None:
                check_whole(name, value)
        if self.plateau is not None:
            check_whole("plateau", self.plateau, 0 if steps is None else min(1, steps - 1))
            if steps is not None and self.plateau >= steps:
                raise InputError(
                    f"plateau must be less than the {steps} steps of a worker; got {self.plateau}."
                )
        check_whole("min_rounds", self.min_rounds)
        if self.max_rounds is not None and self.min_rounds > self.max_rounds:
            raise InputError(
                f"min_rounds must be at most max_rounds, {self.max_rounds}; got {self.min_rounds}."
            )

    def suited_to(self, vlm: Model | str | Callable[..., Model]) -> Search:
        """Return these settings with the grid and the steps that suit a model where none are given.

        `ask` does so by itself. Do it where another model must see the same grids:
        `ak.evaluate(cases, vlm=other, search=ak.Search().suited_to(model))`.

        Args:
            vlm: A model, its name, or a function that makes a model for a world, such as the class
                of an oracle.

        Examples:
            >>> ak.Search(traversal="dfs").suited_to("Qwen/Qwen3-VL-8B-Instruct").k
            8
        """
        preset = preset_for(vlm)
        suited = dict[str, Any]()
        for name in ("k", "cell", "fit", "steps"):
            if getattr(self, name) is None:
                suited[name] = getattr(preset, name)
        if self.plateau is None and suited.get("steps", self.steps) == preset.steps:
            suited["plateau"] = preset.plateau
        return replace(self, **suited)

    @classmethod
    def named(cls, name: Named, **changes: Any) -> Search:
        """Return the settings of a named search, some of them changed.

        Raises:
            InputError: If no search has that name, or a value is not one that its setting takes.

        Examples:
            >>> ak.Search.named("best", sampling="keyframe").traversal
            'looks'
        """
        return replace(named_search(name), **changes)

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self.changed().items()]
        return f"Search({', '.join(shown)})"

    def with_plateau(self, max_depth: int) -> Search:
        """Return the settings with a plateau, chosen where none was given.

        It is half of the steps, but enough steps to reach the deepest level.
        """
        if self.plateau is not None or self.steps is None:
            return self
        return replace(self, plateau=min(self.steps - 1, max(self.steps // 2, max_depth + 1)))

    def changed(self) -> dict[str, Any]:
        """Return the settings that differ from the paper's, by name."""
        changed = dict[str, Any]()
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                changed[each.name] = value
        return changed


VOTES = 5
"""Votes on the decision if the search does not set them and the model's replies vary."""
PAPER = Search()
BEST = Search(
    sampling="shots",
    traversal="looks",
    scouts=("words",),
    votes=None,
)
NAMED: dict[str, Search] = {"paper": PAPER, "best": BEST}
"""The searches that have a name."""


def resolve_search(
    search: Search | str, vlm: Model | Callable[..., Model], **changes: Any
) -> Search:
    """Return the settings of a search by a model, with the grid and the steps that suit it.

    A model that was taught fixed prompts gets the paper's search as "best".

    Args:
        search: The settings, or their name.
        vlm: The model, or a function that makes one for a world.
        **changes: Settings to change.

    Raises:
        InputError: If no search has that name, or a setting does not go with the model.
    """
    chosen = named_search(search)
    is_taught = preset_of(vlm).words is not None
    if search == "best" and is_taught:
        chosen = PAPER
    chosen = replace(chosen, **changes)
    if chosen.votes is None:
        chosen = replace(chosen, votes=VOTES if can_vote(vlm) else 1)
    check_votes(vlm, chosen.votes or 1)
    if is_taught and (chosen.cells == "full" or chosen.traversal == LOOKS):
        name = printable(str(getattr(vlm, "name", vlm)), 60)
        raise InputError(
            f'{name} was taught prompts with cells="compact", of traversals other than "looks", '
            "and no others."
        )
    return chosen.suited_to(vlm)


def named_search(search: Search | str) -> Search:
    """Return settings by their name, or as they are; raise InputError for anything else."""
    if isinstance(search, Search):
        return search
    if not isinstance(search, str) or search not in NAMED:
        raise InputError(f'search is "paper", "best" or ak.Search(…); got {search!r:.80}.')
    return NAMED[search]


def fit_for(vlm: Model, fit: Fit | None) -> tuple[Fit, int]:
    """Return how frames fill their cells, and the patch size to which native cells are rounded.

    Args:
        vlm: The model that looks at the cells.
        fit: The user's choice; None for what suits the model.
    """
    return fit or preset_of(vlm).fit, family_of(vlm.name).patch


def recorded_fit(look: Look) -> dict[str, Any]:
    """Return the settings of a look as a run records them: the patch only if cells depend on it."""
    recorded: dict[str, Any] = {"fit": look.fit}
    if look.fit == "native":
        recorded["patch"] = look.patch
    if look.ruled:
        recorded["ruled"] = True
    return recorded


def can_vote(vlm: object) -> bool:
    """Return whether a model's replies to one request vary; at temperature 0 they are equal."""
    parameters = getattr(vlm, "parameters", None)  # a function that makes models has no parameters
    return not isinstance(parameters, Mapping) or parameters.get("temperature") != 0


def check_votes(vlm: Any, votes: int) -> None:
    """Raise InputError if a model would give the same vote several times."""
    if votes > 1 and not can_vote(vlm):
        raise InputError(
            f"votes={votes} asks {vlm.name} the same question several times, and at temperature 0 "
            "all replies are the same. Open the model with a temperature, for instance ak.VLM(…, "
            "temperature=0.7), or leave votes at 1."
        )


def caution(model: Model, video: Video, question: Question) -> str:
    """Return a warning if the model was not trained for such a video or question, else "".

    Python shows the warning once; each result states it.
    """
    fault_of = preset_of(model).caution
    fault = "" if fault_of is None else fault_of(video, question)
    if not fault:
        return ""
    message = f"{printable(model.name, 60)} {fault}"
    warnings.warn(message, ModelWarning, stacklevel=2)
    return message


def check_writes_freely(model: Model, method: str) -> None:
    """Raise InputError if a method needs free text of a model that only fills fixed forms."""
    if preset_of(model).words is not None:
        raise InputError(
            f"{method} needs a model that writes free text, and {printable(model.name, 60)} was "
            "taught the calls of Video-RLM alone: name another model, or use video-rlm, uniform "
            "or composite."
        )
