"""The x axis of bars in groups: a group for each value, in it a bar for each model."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlaskit.viz.plots.style import NOTE_PT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUP_WIDTH, BAR_SHARE = 0.8, 0.8
"""Width of a group, of the distance between groups; of that, the share that its bars fill."""
LINE_PT = 9.5
"""Height of a line of tick labels, in points."""
NAME_CHARS = 11
"""Longest line of a model's name below its bar, in characters."""


@dataclass(frozen=True)
class Bars:
    """Where bars are: groups by name, and in each a bar for each model, "" where none is named."""

    groups: Sequence[str]
    models: Sequence[str]

    @property
    def width(self) -> float:
        """The width of a bar."""
        return GROUP_WIDTH * (BAR_SHARE if len(self.models) > 1 else 0.7) / len(self.models)

    def x(self, group: int, model: str) -> float:
        """Return the middle of a bar."""
        step = GROUP_WIDTH / len(self.models)
        return group + step * (self.models.index(model) - (len(self.models) - 1) / 2)

    def label(self, ax: Axes, notes: Mapping[tuple[int, str], str]) -> None:
        """Write the names of groups below the axis, and above them the models and a note a bar.

        Args:
            ax: Axes of the bars.
            notes: What stands below the bar of a group and a model; without an entry, no bar.
        """
        ax.set_xlim(-0.55, len(self.groups) - 0.45)
        if len(self.models) == 1:
            notes_of = [notes.get((index, self.models[0]), "") for index in range(len(self.groups))]
            names = [f"{name}\n{note}".strip() for name, note in zip(self.groups, notes_of, strict=True)]
            ax.set_xticks(range(len(self.groups)), names)
        else:
            texts = {at: "\n".join([*textwrap.wrap(at[1], NAME_CHARS), note]).strip() for at, note in notes.items()}
            places = [self.x(*at) for at in notes]
            ax.set_xticks(places, [texts[at] for at in notes], minor=True, fontsize=NOTE_PT, parse_math=False)
            lines = max(text.count("\n") + 1 for text in texts.values())
            ax.set_xticks(range(len(self.groups)), self.groups)
            ax.tick_params(axis="x", which="major", pad=4 + LINE_PT * lines, length=0)
            ax.tick_params(axis="x", which="minor", length=0)
        ax.grid(axis="x", visible=False)
