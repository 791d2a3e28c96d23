"""`Benchmark`: a sequence of cases of one dataset that can be filtered (`where`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from atlaskit.benchmarks.case import Case
from atlaskit.errors import InputError


@dataclass(frozen=True)
class Benchmark(Sequence[Case]):
    """The cases of a dataset whose videos exist; indexing gives a case, slicing a benchmark."""

    name: str
    cases: tuple[Case, ...]
    missing: tuple[str, ...] = ()
    """Videos that have questions but no file, as the dataset names them."""
    dataset: str = ""
    """Name of the published dataset whose metric applies (`ak.metrics`); "" if there is none. A
    part of a benchmark may have another name; its dataset is the same."""

    def where(self, **facts: Any) -> Benchmark:
        """Return the cases with the given facts.

        Example: `where(duration_group=(900, 3600), category="S2O")`.

        Args:
            **facts: For each column, a value or a collection of accepted values. The columns are
                the keys of `Case.facts`, and "category". A column of several values, such as the
                types of a question, matches if one of them is accepted.

        Raises:
            InputError: No case has such a column, or no case matches.
        """
        columns = sorted({"category", *(name for case in self.cases for name in case.facts)})
        unknown = [name for name in facts if name not in columns]
        if unknown:
            raise InputError(f"{self.name} has no column {unknown[0]!r}; its columns are {', '.join(columns)}.")
        matching = tuple(case for case in self.cases if all(_matches(case, *fact) for fact in facts.items()))
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


def _matches(case: Case, column: str, accepted: Any) -> bool:
    value = case.question.category if column == "category" else case.facts.get(column)
    values = value if isinstance(value, tuple) else (value,)
    if isinstance(accepted, Collection) and not isinstance(accepted, str):
        return value in accepted or any(each in accepted for each in values)
    return any(bool(each == accepted) for each in values)
