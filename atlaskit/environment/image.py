"""`LazyImage`: an image with a key that is rendered when first read, and then cached as JPEG.

The key is the hash of an image's recipe, never of its pixels, so it is known before anything is
decoded. The functions below draw text and letterboxes into images. This module knows nothing of
grids and frames: see `render` for the kinds of images.
"""

from __future__ import annotations

import io
import json
import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from atlaskit import limits
from atlaskit.caching.cache import Cache, Transient
from atlaskit.errors import AtlasError, CacheError, reason
from atlaskit.video.readers import LETTERBOX

IMAGE_QUALITY = 90
"""JPEG quality of an image."""
WIDEST_PX = 8192
"""Largest side of a view: more than models accept, less than Pillow accepts without a warning."""
SHOWN_PX = 960
"""Maximum width at which a notebook displays an image."""


class LazyImage(ABC):
    """An image that is rendered on first use and cached by its key. A notebook displays it."""

    cache: Cache

    @property
    @abstractmethod
    def key(self) -> str:
        """Hash of the image's recipe; reading it decodes nothing."""

    @property
    @abstractmethod
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""

    @abstractmethod
    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        """Render the image; return it and the note that is stored in the header of its JPEG.

        If `passing` is true in the note, the image is not cached: a frame could not be read this
        time, or the frames only resemble those of the video (see `Video.is_stand_in`).
        """

    def jpeg(self) -> bytes:
        """Return the image as JPEG bytes."""
        return self.cache.remember(self.key, self._render_jpeg, fits=self._fits)

    def png(self) -> bytes:
        """Return the image as PNG bytes."""
        buffer = io.BytesIO()
        self.image.save(buffer, "PNG")
        return buffer.getvalue()

    @property
    def image(self) -> Image.Image:
        """The image.

        Raises:
            CacheError: The cached JPEG has the right header but cannot be decoded.
        """
        image = Image.open(io.BytesIO(self.jpeg()))
        try:
            image.load()  # not `convert`, whose extra copy doubles the time
        except (OSError, ValueError) as error:
            # The entry is intact but not an image, so other code stored it.
            raise CacheError(
                f"{self.cache} holds a broken image ({reason(error)}): prune its images."
            ) from error
        return image

    def small(self, size: tuple[int, int]) -> Image.Image:
        """Return the image scaled down to fit (width, height) in pixels, with its aspect ratio."""
        image = Image.open(io.BytesIO(self.jpeg()), formats=["JPEG"])
        image.draft("RGB", size)  # the decoder itself can scale down, which is many times faster
        shrunk = image.convert("RGB")
        shrunk.thumbnail(size, Image.Resampling.LANCZOS)
        return shrunk

    def _render_jpeg(self) -> bytes:
        """Return the new image as JPEG bytes, marked if it must not be cached."""
        image, note = self._paint()
        jpeg = to_jpeg(image, IMAGE_QUALITY, comment=json.dumps(note).encode())
        return Transient(jpeg) if note.get("passing") else jpeg

    def _fits(self, jpeg: bytes) -> bool:
        """Return whether cached bytes are a JPEG of this size with a note.

        A cache from elsewhere may hold anything.
        """
        try:
            image = Image.open(io.BytesIO(jpeg), formats=["JPEG"])
            return image.size == self.size and isinstance(note_in(image), dict)
        except (OSError, ValueError, KeyError, RecursionError):
            return False

    def _note(self) -> dict[str, Any]:
        """Return the note in the image; render the image if it is not cached."""
        return note_in(Image.open(io.BytesIO(self.jpeg())))

    def _repr_jpeg_(self) -> tuple[bytes, dict[str, int]] | None:
        try:
            return self.jpeg(), {"width": min(self.size[0], SHOWN_PX)}
        except (AtlasError, OSError):
            # The HTML representation (`viz.html`) states the error instead.
            return None


def note_in(image: Image.Image) -> dict[str, Any]:
    """Return the note that rendering stored in an image.

    Returns:
        For a view, `unreadable` lists the cells whose frames cannot be decoded; for a still it is a
        bool. `passing` says whether a frame could not be read at that time.

    Raises:
        KeyError: The image has no note.
        ValueError: The note is not JSON.
    """
    note: dict[str, Any] = json.loads(image.info["comment"])
    return note


def is_jpeg(value: bytes) -> bool:
    """Return whether bytes are a complete JPEG of at most limits.PIXELS pixels."""
    try:
        with Image.open(io.BytesIO(value), formats=["JPEG"]) as image:
            if image.width * image.height > limits.PIXELS:
                return False
            image.load()
        return True
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False


def to_jpeg(image: Image.Image, quality: int, comment: bytes = b"") -> bytes:
    """Return an image as JPEG bytes without chroma subsampling, with a comment in its header."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, subsampling=0, comment=comment)
    return buffer.getvalue()


Font = ImageFont.FreeTypeFont | ImageFont.ImageFont

DEAD = (0, 0, 0)
"""RGB of dead cells, which lie in dead zones, and of nothing else."""
GUTTER = (128, 128, 128)
"""RGB of the lines between cells, and of the hatching of dead cells."""
UNREADABLE = (110, 30, 60)
"""RGB of the hatching of a frame that cannot be decoded."""
PLATE = (24, 28, 36)
"""RGB of the background of text."""


@lru_cache(maxsize=32)
def font(points: int) -> Font:
    """Return Pillow's built-in font at a size."""
    return ImageFont.load_default(points)


def burn(image: Image.Image, corner: tuple[int, int], text: str, points: int) -> None:
    """Draw white text on a dark plate, legible on any frame.

    Args:
        image: Image to draw into.
        corner: Left and top edge of the plate in pixels.
        text: One line of text.
        points: Font size.
    """
    draw = ImageDraw.Draw(image)
    typeface = font(points)
    x = corner[0] + points // 3
    y = corner[1] + points // 6
    left, _, right, _ = draw.textbbox((x, y), text, font=typeface)
    plate = (left - points // 3, corner[1], right + points // 3, corner[1] + round(points * 1.4))
    draw.rectangle(plate, fill=PLATE)
    draw.text((x, y), text, fill=(255, 255, 255), font=typeface)


def hatch(image: Image.Image, colour: tuple[int, int, int]) -> None:
    """Draw diagonal lines over an image."""
    width, height = image.size
    longer = max(image.size)
    draw = ImageDraw.Draw(image)
    for offset in range(-height, width, max(8, longer // 12)):
        draw.line([(offset, height), (offset + height, 0)], fill=colour, width=max(2, longer // 60))


def strip_of(text: str, size: tuple[int, int], right: str = "") -> Image.Image:
    """Return a strip with one line of white text on a dark background.

    Args:
        text: Text at the left end. The font shrinks to 8 points if the strip is too narrow, and
            what still does not fit is cut off.
        size: (width, height) of the strip in pixels.
        right: Text at the right end.
    """
    width, height = size
    strip = Image.new("RGB", size, PLATE)
    points = max(8, round(height * 0.8))
    edge = height // 6
    while points > 8 and font(points).getlength(f"{text}  {right}") > width - 2 * edge:
        points -= 1
    draw = ImageDraw.Draw(strip)
    white = (255, 255, 255)
    typeface = font(points)
    draw.text((edge, height // 2), text, fill=white, font=typeface, anchor="lm")
    draw.text((width - edge, height // 2), right, fill=white, font=typeface, anchor="rm")
    return strip


def wrap(text: str, typeface: Font, width: int) -> list[str]:
    """Return a text as lines of at most `width` pixels; a longer word gets a line of its own."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if typeface.getlength(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return list(filter(None, lines))


def points_for(size: tuple[int, int], share: int) -> int:
    """Return a font size: the side of a square with the cell's area, divided by `share`."""
    return math.isqrt(size[0] * size[1]) // share


def letterboxed(tile: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Return a tile centred on a grey background of (width, height) pixels."""
    background = Image.new("RGB", size, LETTERBOX)
    background.paste(tile, ((size[0] - tile.width) // 2, (size[1] - tile.height) // 2))
    return background


def unreadable_tile(size: tuple[int, int]) -> Image.Image:
    """Return the tile for a frame that cannot be decoded: hatched, with the word "unreadable".

    Args:
        size: (width, height) in pixels.
    """
    width, height = size
    tile = Image.new("RGB", size, LETTERBOX)
    hatch(tile, UNREADABLE)
    burn(tile, (width // 8, height // 2 - width // 16), "unreadable", max(10, width // 8))
    return tile
