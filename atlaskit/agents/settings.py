"""`Search`: the settings of a search, the two searches with a name, and the checks on a model.

"paper" is the search of the paper. "best" has the settings that measured best on development seeds
(see the page "How the search works"), as far as a model can use them.
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
from atlaskit.errors import InputError, ModelWarning, check_flags, check_whole, printable
from atlaskit.models.names import family_of, preset_for, preset_of
from atlaskit.models.protocol import Model
from atlaskit.video.video import SAMPLINGS, Sampling, Video

Named = Literal["paper", "best"]
"""The names of the two named searches."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """How Video-RLM searches. `Search()` is the search of the paper.

    Raises:
        InputError: A setting has a value that it cannot have.

    Examples:
        >>> search = ak.Search(traversal="dfs", min_rounds=2)
        >>> ak.ask(video, question, vlm=vlm, search=search).settings["traversal"]
        'dfs'
    """

    k: int | None = None
    """A grid has k×k cells. None: the number that suits the model (8 for an unknown model)."""
    cell: int | None = None
    """Width and height of a cell in pixels; of a native cell, the longer of the two. None: the size
    that suits the model (320 for an unknown model)."""
    fit: Fit | None = None
    """How a frame fills its cell: native (the cell has the video's shape, rounded to the model's
    image tokens), contain (a square cell, the frame on grey) or stretch (a square cell, filled).
    None: the one that suits the model (native for an unknown model)."""
    sampling: Sampling = "midpoint"
    """Which frame stands for a cell: midpoint, keyframe (fast) or shots (the frame of the shot in
    the cell that is least like the film around it)."""
    max_depth: int | Literal["auto"] = "auto"
    """How deep workers may go, from 0 (the root grid alone) to D_max; auto is the first depth whose
    cells are shorter than `min_span_s`."""
    min_span_s: float = SUB_SECOND
    """A cell that is shorter than this many seconds is not opened. A smaller number gives deeper
    grids, without which a video of a minute cannot be explored."""
    cells: Cells = "compact"
    """How prompts describe the cells: compact, or one by one (full, as in the paper)."""
    traversal: Literal["auto", "dfs", "bfs", "beam", "looks"] | Strategy = "auto"
    """Which regions are explored, and how: looks (first the stretches that the model asks for, each
    on a sheet of its own, then the whole video at a step as long as the event that is searched
    for), dfs, bfs, beam, auto (dfs or bfs, which the master chooses from the question alone) or, in
    Python, a function of the form that `ak.strategies` describes."""
    steps: int | None = None
    """The most calls of a worker in its region. None: the number that suits the model (12 for an
    unknown model)."""
    plateau: int | None = None
    """A worker's visit ends after so many steps in a row that bring nothing new: no evidence, no
    marked cell, no newly opened grid. None: the number that suits the model, or else half of the
    steps, but enough of them to reach the deepest level."""
    min_rounds: int = 1
    """Rounds before the evidence may count as sufficient. The plan of a search by looks counts as
    one."""
    max_rounds: int | None = None
    """The most rounds. None: no limit."""
    look_ahead: bool = True
    """Whether the next probe runs at the same time as the workers. This saves time, but wastes a
    call if no round follows."""
    votes: int | None = 1
    """The most decisions that are asked for; the answer of the majority counts. More than one need
    a model with a temperature. None: five if the model has a temperature, else one."""
    scouts: Sequence[str | Scout] = ()
    """Signals of where to look first that do not come from the model: words (subtitles that share
    words with the question) or, in Python, functions."""
    threads: int | None = None
    """Workers that run at the same time; no result depends on it. None: all workers of a round."""
    sample: int = 0
    """The number of this sample, to ask a model with a temperature several times. Each sample has
    its own replies in the cache."""

    def __post_init__(self) -> None:
        self._check_grid()
        self._check_limits()
        resolve_strategy(self.traversal)
        resolve_scouts(self.scouts)
        if self.votes is not None:
            check_whole("votes", self.votes)
        check_whole("sample", self.sample, least=0)
        check_flags(look_ahead=self.look_ahead)

    def _check_grid(self) -> None:
        for name in ("k", "cell"):
            value = getattr(self, name)
            if value is not None and type(value) is not int:
                check_whole(name, value)
        # `Grid` and `Look` check the values. A value that is not given is replaced by a valid one.
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
        if self.sampling not in SAMPLINGS:
            known = ", ".join(SAMPLINGS)
            raise InputError(f"sampling is one of {known}; got {self.sampling!r:.80}.")

    def _check_limits(self) -> None:
        for name in ("steps", "max_rounds", "threads"):
            value = getattr(self, name)
            if value is not None:
                check_whole(name, value)
        steps = self.steps
        if self.plateau is not None:
            # A worker with one step has room for no plateau but 0, which means none.
            least = 1 if steps is not None and steps > 1 else 0
            check_whole("plateau", self.plateau, least)
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
        """Return these settings with the grid and the steps that suit a model, unless they are set.

        `ask` does this by itself. Call it if another model must see the same grids:
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
        # The plateau of a preset belongs to its number of steps.
        if self.plateau is None and suited.get("steps", self.steps) == preset.steps:
            suited["plateau"] = preset.plateau
        return replace(self, **suited)

    @classmethod
    def named(cls, name: Named, **changes: Any) -> Search:
        """Return the settings of a named search, some of them changed.

        Raises:
            InputError: No search has that name, or a setting has a value that it cannot have.

        Examples:
            >>> ak.Search.named("best", sampling="keyframe").traversal
            'looks'
        """
        return replace(named_search(name), **changes)

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self.changed().items()]
        return f"Search({', '.join(shown)})"

    def with_plateau(self, max_depth: int) -> Search:
        """Return the settings with a plateau; if none is set, it is half of the steps.

        The plateau has at least as many steps as it takes to reach the deepest level.
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
"""Number of votes on the decision if `Search.votes` is None and the model's replies vary."""
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
    """Return the settings with which a model searches, with the grid and the steps that suit it.

    For a model that was trained on fixed prompts, "best" is the paper's search.

    Args:
        search: The settings, or their name.
        vlm: The model, or a function that makes a model for a world.
        **changes: Settings to change.

    Raises:
        InputError: No search has that name, or the model cannot be used with a setting.
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
    """Return the settings of a named search, or settings as they are; else raise InputError."""
    if isinstance(search, Search):
        return search
    if not isinstance(search, str) or search not in NAMED:
        raise InputError(f'search is "paper", "best" or ak.Search(…); got {search!r:.80}.')
    return NAMED[search]


def fit_for(vlm: Model, fit: Fit | None) -> tuple[Fit, int]:
    """Return how frames fill their cells, and the patch size to which native cells are rounded.

    Args:
        vlm: The model that looks at the cells.
        fit: The user's choice; None for the fit that suits the model.
    """
    return fit or preset_of(vlm).fit, family_of(vlm.name).patch


def recorded_fit(look: Look) -> dict[str, Any]:
    """Return a look's settings as a run records them: the patch only if the cells depend on it."""
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

    Python shows the warning once; each result repeats it.
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
