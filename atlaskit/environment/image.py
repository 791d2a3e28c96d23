"""`LazyImage`: an image with a key that is rendered when first read, and then cached as JPEG.

The key is the hash of what an image is made of, never of its pixels, so it is known before anything
is decoded. This module knows nothing of grids and frames: see `render` for the kinds of images.
"""

from __future__ import annotations

import io
import json
from abc import ABC, abstractmethod
from typing import Any

from PIL import Image

from atlaskit.caching.cache import Cache, Transient
from atlaskit.errors import AtlasError, CacheError, reason

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
        """Hash of everything that the image is made of; reading it decodes nothing."""

    @property
    @abstractmethod
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""

    @abstractmethod
    def _paint(self) -> tuple[Image.Image, dict[str, Any]]:
        """Render the image, and the note that is cached inside it.

        A true value of `passing` in the note says that the image must not be cached: a frame could
        not be read this time, or the video stands in for another.
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
        except (OSError, ValueError) as error:  # an intact entry that is no image: somebody stored it
            raise CacheError(f"{self.cache} holds a broken image ({reason(error)}): prune its images.") from error
        return image

    def small(self, size: tuple[int, int]) -> Image.Image:
        """Return the image scaled down to fit (width, height) in pixels, with its aspect ratio."""
        image = Image.open(io.BytesIO(self.jpeg()), formats=["JPEG"])
        image.draft("RGB", size)  # the decoder scales down by itself, which is many times faster
        shrunk = image.convert("RGB")
        shrunk.thumbnail(size, Image.Resampling.LANCZOS)
        return shrunk

    def _render_jpeg(self) -> bytes:
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
        except (AtlasError, OSError):  # the HTML representation (`viz.html`) states the error instead
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


MAX_PIXELS = 2**28
"""Most pixels of an image that is taken from elsewhere."""


def is_jpeg(value: bytes) -> bool:
    """Return whether bytes are a complete JPEG of at most MAX_PIXELS."""
    try:
        with Image.open(io.BytesIO(value), formats=["JPEG"]) as image:
            if image.width * image.height > MAX_PIXELS:
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
