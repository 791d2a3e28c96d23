"""Where cells and frames stand in an image: which arrangement of columns and rows, which corners.

Pure arithmetic; it knows nothing of pictures.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence


def squared(large: int, small: int = 0) -> tuple[int, int]:
    """Return how many columns and rows of frames a sheet has that is about as high as wide.

    Args:
        large: Frames that take a place each.
        small: Frames of half the width and height, in rows of their own below the large ones.
    """
    columns = max(1, math.ceil(math.sqrt(large + small / 4)))
    return columns, max(1, math.ceil(large / columns) + math.ceil(math.ceil(small / (2 * columns)) / 2))


def corners(
    labels: Sequence[str], small: Collection[str], columns: int, size: tuple[int, int]
) -> dict[str, tuple[int, int]]:
    """Return the left and top edge of each frame of a sheet in pixels, by its label.

    Args:
        labels: Labels of the frames, in their order.
        small: Labels of the frames of half the width and height.
        columns: Columns of large frames.
        size: (width, height) of a large frame in pixels.
    """
    width, height = size
    large = [label for label in labels if label not in small]
    top = math.ceil(len(large) / columns) * height
    placed = {}
    for position, label in enumerate(large):
        row, column = divmod(position, columns)
        placed[label] = (column * width, row * height)
    for position, label in enumerate(label for label in labels if label in small):
        row, column = divmod(position, 2 * columns)
        placed[label] = (column * width // 2, top + row * height // 2)
    return placed
