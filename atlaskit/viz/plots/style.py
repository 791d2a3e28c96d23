"""The style of all figures, their colours, what each says about its sample, and `save`.

A figure of a table states n, and what its intervals are. One drawn from fewer than ten questions
says that it shows nothing else than that it runs. A figure of a single run is an illustration: it
has its question as title, and no n.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from atlaskit.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRUTH, DEAD = "#009E73", "#30343b"
"""The ground truth; dead zones."""
INK, MUTED = "#181c24", "#59626d"
"""Text, and text of less weight."""
GRID_LINE, REFERENCE_LINE = "#e6e8ec", "#595959"
"""Lines behind data; lines and notes in a figure that are not data."""
CATEGORICAL = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#f0e442",
    "#000000",
)
"""Series of a figure, in the order of use. Okabe–Ito: distinct for colour-blind readers."""


def categorical(index: int) -> str:
    """Return the colour of a series by its index; the ninth series has that of the first."""
    return CATEGORICAL[index % len(CATEGORICAL)]


def beside_truth(index: int) -> str:
    """Return the colour of a series, by its index, in a figure in which green is the truth."""
    colours = [colour for colour in CATEGORICAL if colour.lower() != TRUTH.lower()]
    return colours[index % len(colours)]


MARKERS = "osD^vP*X"
"""Markers of series, in the order of use."""
SMALL_PT, NOTE_PT, TITLE_PT = 7.0, 7.5, 10.0
"""Size of the smallest type, of a note and text beside data, and of a title, in points."""
LETTER = 0.62
"""Width of a letter, as a share of its size, and of what stands on the left of the axes."""
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1, 1), "title": ""}
"""Where the legend of a figure of a table is, as `seaborn.move_legend` takes it."""
FEW = 10
"""From this number of questions on, a figure is more than a sign that it runs."""
_STYLE = str(Path(__file__).with_name("figures.mplstyle"))


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply the style of all figures within a `with` block.

    A style context restores every rcParam when it ends. One of them is the interactive mode, which
    a notebook's inline backend switches on when pyplot loads it, and without which it displays no
    figure. pyplot loads its backend with the first figure, so the backend is loaded here, before
    the context begins.
    """
    import matplotlib.pyplot as plt
    from cycler import cycler

    # The public function of pyplot that loads the backend without making a figure.
    plt.draw_if_interactive()  # type: ignore[no-untyped-call]
    with plt.style.context([_STYLE, {"axes.prop_cycle": cycler(color=CATEGORICAL)}]):
        yield


@contextmanager
def styled_axes(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Iterator[Axes]:
    """Apply the style within a `with` block, and yield the axes to draw on.

    Args:
        ax: Axes to draw on; None makes a new figure.
        figsize: Width and height of a new figure in inches; None takes those of the style.
    """
    import matplotlib.pyplot as plt

    with figure_style():
        yield plt.subplots(figsize=figsize)[1] if ax is None else ax


def sample(sizes: Iterable[int], each: str = "") -> str:
    """Return what a figure says about the number of questions that it is drawn from.

    Args:
        sizes: Numbers of questions, such as one for each point.
        each: What each of them is the number of, such as "a point"; empty for the whole figure.
    """
    found = list(sizes)
    least = min(found)
    most = max(found)
    n = f"n = {most}" if least == most else f"n = {least} to {most}"
    if most < FEW:
        return f"{n}: shows that it runs, nothing else"
    return f"{n} questions {each}".rstrip()


def set_note(ax: Axes, *parts: str) -> None:
    """Write the parts that are not empty above the axes, joined and wrapped."""
    text = " · ".join(filter(None, parts))
    look: dict[str, Any] = (
        {"color": INK, "weight": "bold"} if "nothing else" in text else {"color": MUTED}
    )
    set_title(ax, text, fontsize=NOTE_PT, **look)


def set_title(ax: Axes, text: str, *, share: float = 1.0, **look: Any) -> None:
    """Write a text verbatim above the axes, wrapped to the figure's width, or to a share of it."""
    points = look.get("fontsize", TITLE_PT) * (1.1 if "weight" in look else 1)
    letters = round(share * figure_of(ax).get_figwidth() * 72 / points / LETTER)
    lines = [textwrap.fill(line, letters) for line in text.split("\n")]
    ax.set_title("\n".join(lines), **look)


def duration_label(duration_s: float) -> str:
    """Return the axis label of a duration: 0.146 s, 12.5 min, 10 h."""
    if duration_s < 60:
        return f"{duration_s:.3g} s"
    if duration_s < 3600:
        return f"{duration_s / 60:.3g} min"
    return f"{duration_s / 3600:.3g} h"


def figure_of(ax: Axes) -> Figure:
    """Return the figure that holds the axes.

    Raises:
        InputError: The axes belong to no figure.
    """
    figure = ax.get_figure(root=True)
    if figure is None:
        raise InputError(
            "These axes belong to no figure, so there is nothing to save; pass axes of a figure."
        )
    return figure


def save(ax: Axes, directory: str | Path, name: str) -> list[Path]:
    """Write the figure that holds `ax` to `directory`, which is made, as PNG and as SVG.

    Returns:
        Both paths, the PNG first: `directory/name.png` and `directory/name.svg`.

    Raises:
        InputError: The axes belong to no figure.

    Examples:
        >>> ax = ak.plots.resolutions([60, 3_600, 36_000])
        >>> [path.name for path in ak.plots.save(ax, "figures", "resolutions")]
        ['resolutions.png', 'resolutions.svg']
    """
    figure = figure_of(ax)
    paths = [Path(directory) / f"{name}.{form}" for form in ("png", "svg")]
    Path(directory).mkdir(parents=True, exist_ok=True)
    with figure_style():
        for path in paths:
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


def label_ends(ax: Axes, labels: Sequence[str]) -> None:
    """Write names at the last points of the first lines with markers, so that none overlap.

    Call it when the axes have their scales: in place of a legend, which the eye must go back to.
    """
    figure = figure_of(ax)
    figure.draw_without_rendering()
    lines = []
    for line in ax.lines:
        has_markers = line.get_marker() not in ("None", "", None)
        if has_markers and np.size(line.get_xydata()):
            lines.append(line)
    ends = []
    wanted = []
    for line in lines[: len(labels)]:
        points = np.asarray(line.get_xydata(), float)
        end = tuple(points[np.isfinite(points).all(axis=1)][-1])  # it need not reach the last x
        ends.append(end)
        wanted.append(ax.transAxes.inverted().transform(ax.transData.transform(end))[1])
    line_height = 1.4 * NOTE_PT * figure.dpi / 72 / ax.bbox.height  # as a share of the axes
    heights = [line_height * (label.count("\n") + 1) for label in labels]
    order = sorted(range(len(labels)), key=wanted.__getitem__)
    tops = dict[int, float]()
    free = 0.0
    top = 1.0
    for index in order:
        tops[index] = free = max(wanted[index] + heights[index] / 2, free + heights[index])
    for index in reversed(order):
        tops[index] = min(tops[index], top)
        top = tops[index] - heights[index]
    look: dict[str, Any] = {
        "textcoords": ax.transAxes,
        "va": "center",
        "fontsize": NOTE_PT,
        "annotation_clip": False,
    }
    for index, (label, end) in enumerate(zip(labels, ends, strict=True)):
        arrow = {
            "arrowstyle": "-",
            "color": lines[index].get_color(),
            "shrinkA": 1,
            "shrinkB": 3,
            "relpos": (0, 0.5),
        }
        ax.annotate(label, end, (1.04, tops[index] - heights[index] / 2), arrowprops=arrow, **look)
