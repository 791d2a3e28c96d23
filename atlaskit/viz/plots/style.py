"""The style of all figures: colours, sizes, titles, labels and notes; and `save`.

A figure of a table states its number of questions, n, and what its intervals are. With fewer than
ten questions, it says that it only shows that the evaluation runs. A figure of a single run is an
illustration: its title is the question, and it states no n.
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

TRUTH = "#009E73"
"""Colour of the ground truth."""
DEAD = "#30343b"
"""Colour of dead zones."""
INK = "#181c24"
"""Colour of text."""
MUTED = "#59626d"
"""Colour of less important text."""
GRID_LINE = "#e6e8ec"
"""Colour of lines behind data."""
REFERENCE_LINE = "#595959"
"""Colour of lines and notes in a figure that are not data."""
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
"""Colours of series, in the order of use: the palette of Okabe and Ito, which colour-blind readers
can tell apart."""


def categorical(index: int) -> str:
    """Return the colour of a series by its index. The ninth series has the colour of the first."""
    return CATEGORICAL[index % len(CATEGORICAL)]


def beside_truth(index: int) -> str:
    """Return the colour of a series, by its index, in a figure in which green is the truth."""
    colours = [colour for colour in CATEGORICAL if colour.lower() != TRUTH.lower()]
    return colours[index % len(colours)]


MARKERS = "osD^vP*X"
"""Markers of series, in the order of use."""
SMALL_PT = 7.0
"""Size of the smallest type, in points."""
NOTE_PT = 7.5
"""Size of a note and of text beside data, in points."""
TITLE_PT = 10.0
"""Size of a title, in points."""
LETTER = 0.62
"""Width of a letter of a title, as a share of its size. It is estimated generously, since the
labels on the left of the axes leave less than the figure's width."""
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1, 1), "title": ""}
"""Arguments of `seaborn.move_legend` that put a legend beside the axes."""
FEW = 10
"""A figure of fewer questions has the note FEW_NOTE."""
FEW_NOTE = "shows that it runs, nothing else"
_STYLE = str(Path(__file__).with_name("figures.mplstyle"))


@contextmanager
def figure_style() -> Iterator[None]:
    """Apply the style of all figures within a `with` block.

    A style context restores every rcParam when it ends. One of them is the interactive mode. A
    notebook's inline backend switches this mode on when pyplot loads the backend, and displays no
    figure without it. Since pyplot loads its backend with the first figure, the backend is loaded
    here, before the context begins.
    """
    import matplotlib.pyplot as plt
    from cycler import cycler

    # This public function of pyplot loads the backend without making a figure.
    plt.draw_if_interactive()  # type: ignore[no-untyped-call]
    with plt.style.context([_STYLE, {"axes.prop_cycle": cycler(color=CATEGORICAL)}]):
        yield


@contextmanager
def styled_axes(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Iterator[Axes]:
    """Apply the style within a `with` block, and yield the axes to draw on.

    Args:
        ax: Axes to draw on; None makes a new figure.
        figsize: Width and height of a new figure in inches; None for the default of the style.
    """
    import matplotlib.pyplot as plt

    with figure_style():
        if ax is None:
            _, ax = plt.subplots(figsize=figsize)
        yield ax


def sample(sizes: Iterable[int], each: str = "") -> str:
    """Return what a figure says about the number of questions that it is drawn from.

    Args:
        sizes: The number of questions in each unit of the figure.
        each: The name of such a unit, such as "a point"; empty for the whole figure.
    """
    counts = list(sizes)
    least = min(counts)
    most = max(counts)
    n = f"n = {most}" if least == most else f"n = {least} to {most}"
    if most < FEW:
        return f"{n}: {FEW_NOTE}"
    return f"{n} questions {each}".rstrip()


def set_note(ax: Axes, *parts: str) -> None:
    """Write the parts that are not empty above the axes, joined and wrapped."""
    text = " · ".join(filter(None, parts))
    look: dict[str, Any] = {"color": MUTED}
    if FEW_NOTE in text:
        look = {"color": INK, "weight": "bold"}
    set_title(ax, text, fontsize=NOTE_PT, **look)


def set_title(ax: Axes, text: str, *, share: float = 1.0, **look: Any) -> None:
    """Write a text above the axes, wrapped to the figure's width, or to a share of it."""
    points = look.get("fontsize", TITLE_PT)
    if "weight" in look:  # bold letters are wider
        points *= 1.1
    letters = round(share * figure_of(ax).get_figwidth() * 72 / points / LETTER)
    lines = [textwrap.fill(line, letters) for line in text.split("\n")]
    # Axes that were made outside `figure_style` would show what is between two dollar signs as a
    # formula.
    ax.set_title("\n".join(lines), parse_math=False, **look)


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
    """Write the figure that holds `ax` as PNG and as SVG; create `directory` if needed.

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
            # Without a date, an equal figure gives an equal SVG.
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


def label_ends(ax: Axes, labels: Sequence[str]) -> None:
    """Write labels, in place of a legend, beside the last points of lines, so that none overlap.

    Call it after the scales of the axes are set.

    Args:
        ax: The axes.
        labels: A label for each of the first lines that have markers.
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
        end = tuple(points[np.isfinite(points).all(axis=1)][-1])  # a line may end in NaNs
        ends.append(end)
        wanted.append(ax.transAxes.inverted().transform(ax.transData.transform(end))[1])
    line_height = 1.4 * NOTE_PT * figure.dpi / 72 / ax.bbox.height  # as a share of the axes
    heights = [line_height * (label.count("\n") + 1) for label in labels]
    tops = _tops_apart(wanted, heights)
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


def _tops_apart(wanted: Sequence[float], heights: Sequence[float]) -> dict[int, float]:
    """Return the top of each label, so that labels lie near the wanted middles without overlap.

    All values are shares of the height of the axes. Labels are first moved up as far as needed,
    then those above the axes are moved down.
    """
    order = sorted(range(len(heights)), key=wanted.__getitem__)
    tops = dict[int, float]()
    top = 0.0
    for index in order:
        top = max(wanted[index] + heights[index] / 2, top + heights[index])
        tops[index] = top
    bottom = 1.0
    for index in reversed(order):
        tops[index] = min(tops[index], bottom)
        bottom = tops[index] - heights[index]
    return tops
