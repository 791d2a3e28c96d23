"""The families of models that are served in tests: their tiny models, and tokens an image."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from atlaskit.models.serving import install
from support.paths import SUPPORT


@dataclass(frozen=True)
class TinyFamily:
    """A tiny model of random weights of one family."""

    name: str
    """As in the table of docs/models.md."""
    folder: str
    """Name of its folder, and of what `families/make.py` creates."""
    image_tokens: Callable[[int, int], int] | None
    """Tokens of an image by its width and height in pixels. None: by rules too long to repeat."""
    thinks: bool = False


def squares(side: int) -> Callable[[int, int], int]:
    """Return the tokens of an image in which a token stands for a square of a side in pixels."""
    return lambda width, height: max(1, round(width / side)) * max(1, round(height / side))


def fixed(tokens: int) -> Callable[[int, int], int]:
    """Return the tokens of an image where all images have the same number."""
    return lambda width, height: tokens


IN_CI = (
    TinyFamily("Qwen3-VL", "qwen3-vl", squares(32)),
    TinyFamily("Qwen3.5 (experts, thinks)", "qwen3.5", squares(32), thinks=True),
)
MORE = (
    TinyFamily("Qwen2.5-VL", "qwen2.5-vl", squares(28)),
    TinyFamily("InternVL 3", "internvl", None),
    TinyFamily("Gemma 3", "gemma-3", fixed(256)),
    TinyFamily("LLaVA-OneVision", "llava-onevision", None),
    TinyFamily("SmolVLM", "smolvlm", None),
    TinyFamily("GLM-4.1V (thinks)", "glm-4.1v-thinking", squares(28), thinks=True),
    TinyFamily("MiniCPM-V 4.6 (thinks)", "minicpm-v-4.6", None, thinks=True),
)


def chosen() -> tuple[TinyFamily, ...]:
    """Return the families to test: two, all with FAMILIES=all, or those of FAMILIES=name,name."""
    wanted = os.environ.get("FAMILIES", "")
    if not wanted:
        return IN_CI
    return tuple(each for each in IN_CI + MORE if wanted == "all" or each.folder in wanted.split(","))


def make_families(families: tuple[TinyFamily, ...], directory: Path) -> None:
    """Create the models in folders of a directory. Nothing is downloaded."""
    script = SUPPORT / "families" / "make.py"
    names = [each.folder for each in families]
    subprocess.run([install.interpreter(), script, directory, *names], check=True, capture_output=True)
