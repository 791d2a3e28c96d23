"""Colours, sizes and labels of all figures, and `save` (PNG and SVG)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from atlaskit.errors import InputError
from atlaskit.viz.palette import CATEGORICAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "osD^vP*X"
"""Markers of series, in the order of use."""
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


def save(ax: Axes, directory: str | Path, name: str) -> list[Path]:
    """Write the figure that holds `ax` to `directory` as PNG and as SVG.

    Returns:
        Both paths, the PNG first: `directory/name.png` and `directory/name.svg`.

    Raises:
        InputError: The axes belong to no figure.
    """
    figure = ax.get_figure(root=True)
    if figure is None:
        raise InputError("These axes belong to no figure, so there is nothing to save; pass axes of a figure.")
    paths = [Path(directory) / f"{name}.{form}" for form in ("png", "svg")]
    with figure_style():
        for path in paths:
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
