"""The one style of all figures, and writing them to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from atlaskit.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE = str(Path(__file__).with_name("figures.mplstyle"))


def colour(number: int) -> str:
    """Return a colour of the style that is drawn in, by its place. Its name, "C0", would be looked up where the figure
    is shown, in whatever style holds there."""
    from matplotlib.colors import to_hex

    return to_hex(f"C{number % 8}")


def save(ax: Axes, directory: str | Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG; return both paths."""
    import matplotlib.pyplot as plt

    paths = [Path(directory) / f"{name}.{form}" for form in ("png", "svg")]
    figure = ax.get_figure(root=True)
    if figure is None:
        raise InputError("These axes are in no figure, so there is nothing to write.")
    with plt.style.context(STYLE):
        for file in paths:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
    return paths
