"""`Preset`: grid, cell size, steps and serving options for a model, chosen by its name (nano's are
here).

The only module that knows models by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from atlaskit.models.protocol import Model


@dataclass(frozen=True)
class Preset:
    """Defaults for one model."""

    k: int = 8
    """Cells along each side of a grid."""
    cell: int = 320
    """Side of a cell, in pixels; of a native cell, the longer side."""
    fit: Literal["native", "contain"] = "native"
    """How a frame fills its cell: in a cell of the video's shape, or on a grey square."""
    steps: int = 12
    """Most steps of a worker in one region."""
    plateau: int | None = None
    """Steps without new evidence after which a worker stops. None: the search's own default."""
    compile_on_cpu: bool = False
    """Whether vLLM compiles the model on a CPU. That pays off for a small model only."""
    copy_per_core: bool = False
    """Whether a CPU serves many questions best by a copy of the model on each core. That is so if
    vLLM takes longer to schedule a step than a core takes to compute it."""
    no_forcing: bool = False
    """Whether vLLM's grammar lets the model choose its tokens (`no_forcing` of llguidance)."""
    only_atlasworlds: bool = False
    """Whether the model knows no videos but the kit's synthetic ones."""
    only_one_interval: bool = False
    """Whether the model was taught to answer when-questions with one interval alone."""
    words: str = ""
    """The module whose `request` puts the calls of Video-RLM in the words that the model was
    taught; empty for a model that reads and writes freely. nano was taught words without the hints
    of scouts, so for it they only rank the frontier."""
    torchvision: bool = True
    """Whether a CPU server uses the Python part of torchvision to prepare images, if the kit
    installed it. Without it, transformers uses Pillow; not every family can."""
    prefix_caching: bool = True
    """Whether vLLM caches prefixes of prompts. With an encoder, it then dies at the first request
    ("CrossAttentionManager does not support caching", vLLM 0.32)."""


NANO = Preset(
    k=4,
    cell=128,
    fit="contain",
    steps=40,
    plateau=39,
    compile_on_cpu=True,
    copy_per_core=True,
    no_forcing=True,
    torchvision=False,
    only_atlasworlds=True,
    only_one_interval=True,
    words="atlaskit.nano.words",
)
"""The model that comes with the kit. It was trained on this grid of square cells alone, and has
tokens of its own that span what a JSON schema fixes and what it leaves open
('{"search_task":"Find'). Pillow prepared the images that it was trained on."""
WHISPER = Preset(prefix_caching=False)
"""Speech models of that family, by any name with "whisper" in it."""

PRESETS = {"nano": NANO}
"""Presets by model name. Every other model has the defaults of `Preset`."""
SHIPPED = {"nano": Path(__file__).parents[1] / "nano" / "weights"}
"""Folders of the weights that come with the kit, by model name."""


def preset_for(model: Model | str | Callable[..., Model]) -> Preset:
    """Return the preset of a model or of a model's name.

    A model folder is served as "folder@hash"; the part before the @ decides. A function that makes
    models has no name, and so the defaults.
    """
    name = model if isinstance(model, str) else getattr(model, "name", "")
    name = name if isinstance(name, str) else ""
    return PRESETS.get(name.partition("@")[0]) or (WHISPER if "whisper" in name.lower() else Preset())


def cell_for(vlm: Model, size: int | None) -> int:
    """Return the size of a cell in pixels: the user's choice; for None, what suits the model."""
    return preset_for(vlm).cell if size is None else size
