"""What is written into agents' images can be read at the widths to which models scale them."""

import io
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image, ImageOps

from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import clock
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.render import Sheet, View
from atlasworld import World

WIDTH = 1365
"""Pixels of the longer side to which the coarsest family scales an image down."""
HEIGHTS = (64, 32, 52, 40, 88)
"""Heights in pixels at which tesseract is shown a strip, one after the other until it reads it."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract reads the images; CI has it"),
]


def scaled(image: Image.Image) -> Image.Image:
    """Return an image as a model gets it: scaled down, as JPEG."""
    buffer, size = io.BytesIO(), (WIDTH, round(image.height * WIDTH / image.width))
    image.resize(size, Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=90)
    return Image.open(buffer).convert("L")


def unread(picture: View | Sheet, texts: Mapping[int, str], columns: int, directory: Path) -> dict[int, str]:
    """Return what the upper strips of cells say, by place, and tesseract does not read."""
    image, (cell_width, cell_height) = scaled(picture.image), picture.cell_size
    scale, left_over = image.width / picture.size[0], dict(texts)
    for height in HEIGHTS:
        paths = list[Path]()
        for place in left_over:
            row, column = divmod(place, columns)
            left, top = column * cell_width * scale, row * cell_height * scale
            right, bottom = left + (cell_width - picture.look.gutter) * scale, top + picture.look.strip * scale
            strip = image.crop((round(left), round(top), round(right), round(bottom)))
            size = round(strip.width * height / strip.height), height
            paths.append(directory / f"{place}.png")
            ImageOps.expand(ImageOps.invert(strip.resize(size, Image.Resampling.LANCZOS)), 20, 235).save(paths[-1])
        (directory / "paths.txt").write_text("\n".join(map(str, paths)))
        command = ["tesseract", str(directory / "paths.txt"), "-", "--psm", "7"]
        words = subprocess.run(command, capture_output=True, check=True).stdout.decode()
        read = dict(zip(left_over, map(plain, words.split("\f")), strict=False))
        left_over = {place: text for place, text in left_over.items() if read[place] != plain(text)}
        if not left_over:
            break
    return left_over


def plain(text: str) -> str:
    """Return the letters and digits of a text, those alike as one: a lone I is read as 1."""
    return "".join(filter(str.isalnum, text)).upper().translate(str.maketrans("ILOSZ", "11052"))


def test_every_number_label_and_time_is_read(world: World, shared_cache: Cache, tmp_path: Path) -> None:
    atlas = Atlas(world.drawn, k=8, cell=320, fit="native", ruled=True, cache=shared_cache)
    view = atlas.observe(atlas.start(dead_zones=DeadZones().add(0.0, 20.0))).view
    alive = [cell for cell in view.cells if cell.index not in view.dead]
    texts = {cell.index: f"{cell.index} {clock(cell.midpoint_s)}" for cell in alive}
    assert len(alive) == 62 and unread(view, texts, 8, tmp_path) == {}
    times_s = [10.0 + 22.2 * number for number in range(26)]
    pad = Scratchpad().add([Evidence(time_s, time_s - 0.4, time_s + 0.4, "", 0.9, "Said.") for time_s in times_s])
    sheet = atlas.sheet(pad)
    texts = {place: f"{item.label} {clock(item.timestamp_s)}" for place, item in enumerate(sheet.scratchpad)}
    assert unread(sheet, texts, 6, tmp_path) == {}
