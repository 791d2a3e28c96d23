"""The families of models that are served in tests: their tiny models, and tokens an image."""

import math
import os
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from atlaskit.models.serving import install


@dataclass(frozen=True)
class TinyFamily:
    """A tiny model of random weights of one family."""

    folder: str
    """Name of its folder, and of what `families/make.py` creates."""
    image_tokens: Callable[[int, int], int] | None
    """Tokens of an image by its width and height in pixels. None: by rules too long to repeat."""
    thinks: bool = False


def squares(side: int, least: int) -> Callable[[int, int], int]:
    """Return the tokens of an image in which each stands for a square, as `smart_resize` has it.

    An image of fewer than `least` pixels is enlarged.
    """

    def tokens(width: int, height: int) -> int:
        columns, rows = round(width / side), round(height / side)
        if columns * rows * side**2 >= least:
            return columns * rows
        scale = math.sqrt(least / (width * height)) / side
        return math.ceil(width * scale) * math.ceil(height * scale)

    return tokens


IN_CI = (TinyFamily("qwen3-vl", squares(32, 65536)), TinyFamily("qwen3.5", squares(32, 65536), thinks=True))
MORE = (TinyFamily("glm-4.1v-thinking", None, thinks=True),)


def chosen() -> tuple[TinyFamily, ...]:
    """Return the families to test: two, all with FAMILIES=all, or those of FAMILIES=name,name."""
    wanted = os.environ.get("FAMILIES", "")
    if not wanted:
        return IN_CI
    return tuple(each for each in IN_CI + MORE if wanted == "all" or each.folder in wanted.split(","))


def make_families(folders: Iterable[str], directory: Path) -> None:
    """Create models in folders of a directory. Nothing is downloaded."""
    script = Path(__file__).parent / "families" / "make.py"
    subprocess.run([install.interpreter(), script, directory, *folders], check=True, capture_output=True)
