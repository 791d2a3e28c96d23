"""Questions with their videos: what the loader of every dataset returns.

* `Case`: one question, a function that opens its video, and the dataset's own columns.
* `model_for`: the model that answers a case.
* `Benchmark`: a sequence of cases of one dataset that can be filtered (`where`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast, overload

from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.protocol import Model
from atlaskit.video.video import Video

MakesModel: TypeAlias = Callable[[Any], Model]
"""Makes the model that answers the questions about one world, such as a class of oracles."""


@dataclass(frozen=True)
class Case:
    """One question and a function that opens its video."""

    question: Question
    video: str
    """Name of the video. Confidence intervals treat the questions about one video as one cluster,
    since their results are not independent."""
    opened: Callable[[], Video] = field(repr=False, compare=False)
    """Opens the video; picklable, because evaluations may run in other processes."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The values of the dataset's own columns, such as duration group, level or topic."""
    world: Any = field(default=None, repr=False, compare=False)
    """What an oracle knows of the video, such as the script of a synthetic one; None for a film.
    This package only passes it on, so it may be of any type."""


def model_for(vlm: Model | MakesModel, case: Case) -> Model:
    """Return the model that answers a case.

    Args:
        vlm: A model, or a function that makes a model from `case.world`.
        case: The case to answer.

    Raises:
        InputError: `vlm` is a function and the case has no world.
    """
    # The class of a model has `complete` too, but it makes a model.
    if not isinstance(vlm, type) and hasattr(vlm, "complete"):
        return cast(Model, vlm)
    if case.world is None:
        raise InputError(
            f"An oracle answers only questions about a world of its own, and {case.question.id!r} "
            "has no world; pass a model."
        )
    return cast(MakesModel, vlm)(case.world)


@dataclass(frozen=True)
class Benchmark(Sequence[Case]):
    """The cases of a dataset whose videos exist; indexing gives a case, slicing a benchmark."""

    name: str
    cases: tuple[Case, ...]
    missing: tuple[str, ...] = ()
    """Videos that have questions but no file, as the dataset names them."""
    dataset: str = ""
    """Name of the published dataset whose metric applies (`ak.metrics`); "" if there is none. A
    part of a benchmark has the same `dataset`, even if its `name` differs."""

    def where(self, **facts: Any) -> Benchmark:
        """Return the cases with the given facts.

        Example: `where(duration_group=(900, 3600), category="S2O")`.

        Args:
            **facts: For each column, the accepted value or a collection of accepted values. The
                columns are the keys of `Case.facts`, and "category". If a case has several values
                in a column, such as several types of a question, one accepted value suffices.

        Raises:
            InputError: No case has such a column, or no case matches.
        """
        columns = {"category"}
        for case in self.cases:
            columns.update(case.facts)
        for name in facts:
            if name not in columns:
                listed = ", ".join(sorted(columns))
                raise InputError(f"{self.name} has no column {name!r}; its columns are {listed}.")
        matching = tuple(case for case in self.cases if _matches(case, facts))
        if not matching:
            raise InputError(f"No question of {self.name} matches {facts}.")
        return replace(self, cases=matching)

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> Benchmark: ...
    def __getitem__(self, index: int | slice) -> Case | Benchmark:
        if isinstance(index, slice):
            return replace(self, cases=self.cases[index])
        return self.cases[index]

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __repr__(self) -> str:
        videos = len({case.video for case in self.cases})
        missing = f", {len(self.missing)} videos missing" if self.missing else ""
        return f"<{self.name}: {len(self.cases)} questions about {videos} videos{missing}>"


def _matches(case: Case, facts: Mapping[str, Any]) -> bool:
    """Return whether a case has an accepted value in every column."""
    values = {**case.facts, "category": case.question.category}
    return all(_is_accepted(values.get(column), accepted) for column, accepted in facts.items())


def _is_accepted(value: Any, accepted: Any) -> bool:
    """Return whether a value is accepted, or one of its items if it is a tuple."""
    values = value if isinstance(value, tuple) else (value,)
    if isinstance(accepted, Collection) and not isinstance(accepted, str):
        return value in accepted or any(each in accepted for each in values)
    return accepted in values
