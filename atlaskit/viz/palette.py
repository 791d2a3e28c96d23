"""The colours that figures, pages and widgets share (truth, dead zones, text, series)."""

TRUTH, DEAD = "#009E73", "#30343b"
"""The ground truth; dead zones."""
INK, MUTED = "#181c24", "#59626d"
"""Text, and text of less weight."""
GRID_LINE, REFERENCE_LINE = "#e6e8ec", "#595959"
"""Lines behind data; lines and notes in a figure that are not data."""
CATEGORICAL = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
"""Series of a figure, in the order of use. Okabe–Ito: distinct for colour-blind readers."""


def categorical(index: int) -> str:
    """Return the colour of a series by its index; the ninth series has that of the first."""
    return CATEGORICAL[index % len(CATEGORICAL)]


def beside_truth(index: int) -> str:
    """Return the colour of a series, by its index, in a figure in which green is the truth."""
    colours = [colour for colour in CATEGORICAL if colour.lower() != TRUTH.lower()]
    return colours[index % len(colours)]
