"""`Preset` and `Family`: what suits a model, chosen by its name: grid, cell size, steps and serving
options; its image tokens, and how it thinks.

The only module that knows models by name. A preset is looked up once, where a model is opened, and
lies on it from then on (`preset_of`). A package brings a model of its own as `Shipped`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from atlaskit.guests import MODELS, load, registered
from atlaskit.models.protocol import Model, Request

NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}
"""What turns thinking off in the chat templates of Qwen, GLM, Gemma 4, MiniCPM-V and others."""


@dataclass(frozen=True)
class Family:
    """Models of one kind."""

    name: str
    pattern: str
    """Regular expression that a lower-case model name of the family contains."""
    patch: int = 32
    """Side, in pixels, of the square that one image token stands for."""
    thinks: bool = False
    """Whether its models think before they answer, unless they are told not to."""
    reasoning_parser: str = ""
    """vLLM's parser of its thoughts (`--reasoning-parser`); "" for none."""
    no_thinking: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a request that turn thinking off on a server that serves open weights; {} where the
    model always thinks, or never does."""
    linear_attention: bool = False
    """Whether its models have layers of linear attention (gated delta networks). vLLM 0.32 computes
    them on a CPU in bfloat16 alone."""


FAMILIES = (
    Family("Qwen3-VL Thinking", r"qwen3-vl.{0,40}thinking|qwen3-omni.{0,40}thinking", 32, True, "deepseek_r1"),
    Family("Qwen3-VL", r"qwen3-?vl|qwen3-omni"),
    Family("Qwen3.5 and later", r"qwen-?3\.[5-9]|qwen-?[4-9]", 32, True, "qwen3", NO_THINKING, True),
    Family("Qwen2.5-VL and Qwen2-VL", r"qwen-?2(\.5)?-?(vl|omni)|qvq", 28),
    Family("GLM-4.5V and 4.6V", r"glm-?4\.?[5-9]v|glm4v-moe|glm-?5", 28, True, "glm45", NO_THINKING),
    Family("GLM-4.1V Thinking", r"glm-?4(\.1)?v.{0,40}thinking", 28, True, "glm45"),
    Family("GLM-4V", r"glm-?4(\.1)?v|glm-ocr", 28),
    Family("Kimi-VL Thinking", r"kimi-vl.{0,40}thinking", 28, True, "kimi_k2"),
    Family("Kimi-K2.5", r"kimi-k2\.?[5-9]", 28, True, "kimi_k2", {"chat_template_kwargs": {"thinking": False}}),
    Family("Kimi-VL", r"kimi-vl", 28),
    Family("MiniCPM-V 4.5", r"minicpm-?v-?4[._]5", 28, True, "minicpmv", NO_THINKING),
    Family("MiniCPM-V 4.6 and later", r"minicpm-?v-?(4[._][6-9]|[5-9])", 28, True, "minicpmv", NO_THINKING, True),
    Family("MiniCPM-V", r"minicpm-?[vo]", 28),
    Family("InternVL and Intern-S1", r"intern-?(vl|s1)", 28),
    Family("Gemma 4", r"gemma-?4", 48, False, "gemma4", NO_THINKING),
    Family("Gemma 3", r"gemma-?3", 56),
    Family("LLaVA", r"llava", 14),
    Family("SmolVLM and Idefics3", r"smolvlm|idefics", 64),
    Family("Magistral", r"magistral", 28, True, "mistral"),
    Family("Mistral and Pixtral", r"mistral|ministral|pixtral", 28),
    Family("DeepSeek-VL2", r"deepseek-?vl", 28),
    Family("Step3", r"step-?3", 28, True, "step3"),
    Family("OpenAI, thinking", r"(^|/)(gpt-5(?!.{0,40}chat)|o[1-9]\b)", 32, True),
    Family("OpenAI", r"(^|/)(chatgpt|gpt)-?4", 32),
    Family("Gemini", r"gemini-(2\.[5-9]|[3-9])", 48, True),
    Family("Claude", r"claude", 28),
)
"""The families in the order in which they are tried: the first whose pattern matches counts."""


PATTERNS = {family.name: re.compile(family.pattern) for family in FAMILIES}


def family_of(name: str) -> Family:
    """Return the family of a model by its name: a hub id, a folder, or "folder@hash"."""
    lowered = name.lower()
    return next((each for each in FAMILIES if PATTERNS[each.name].search(lowered)), Family("other", ""))


@dataclass(frozen=True)
class Preset:
    """Defaults for one model."""

    k: int = 8
    """Cells along each side of a grid."""
    cell: int = 320
    """Side of a cell, in pixels; of a native cell, the longer side."""
    fit: Literal["native", "contain"] = "native"
    """How a frame fills its cell: in a cell of the video's shape, or on a grey square."""
    ruled: bool = True
    """Whether sheets have gutters, strips for text, and hatched dead cells, or labels in corners
    and black cells."""
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
    context: int = 100_000
    """Tokens of subtitles that a prompt may hold beside many frames, at four characters each."""
    words: Callable[[Any], Request] | None = field(default=None, repr=False)
    """Returns the request of a call of Video-RLM in the words that the model was taught; None for a
    model that reads and writes freely."""
    caution: Callable[[Any, Any], str] | None = field(default=None, repr=False)
    """Says of a video and a question what the model was not taught of them, as a sentence that its
    name precedes; "" if there is nothing. None: nothing to say of any."""
    torchvision: bool = True
    """Whether a CPU server uses the Python part of torchvision to prepare images, if the kit
    installed it. Without it, transformers uses Pillow; not every family can."""
    prefix_caching: bool = True
    """Whether vLLM caches prefixes of prompts. With an encoder, it then dies at the first request
    ("CrossAttentionManager does not support caching", vLLM 0.32)."""


WHISPER = Preset(prefix_caching=False)
"""Speech models of that family, by any name with "whisper" in it."""


@dataclass(frozen=True)
class Shipped:
    """A model that a package brings with its weights, under the name of its entry point."""

    weights: Path
    """The folder of its weights."""
    preset: Preset


def shipped() -> dict[str, Shipped]:
    """Return the models that installed packages bring, by their names."""
    return {name: load(MODELS, name) for name in registered(MODELS)}


def preset_named(name: str) -> Preset:
    """Return the preset of a model by its name.

    A model folder is served as "folder@hash"; the part before the @ decides.
    """
    own = name.partition("@")[0]
    if own in registered(MODELS):
        brought: Shipped = load(MODELS, own)
        return brought.preset
    return WHISPER if "whisper" in name.lower() else Preset()


def preset_of(model: object) -> Preset:
    """Return the preset that lies on a model; the defaults for a model or a function without."""
    own = getattr(model, "preset", None)
    return own if isinstance(own, Preset) else Preset()


def preset_for(model: Model | str | Callable[..., Model]) -> Preset:
    """Return the preset of a model, or of a model's name."""
    return preset_named(model) if isinstance(model, str) else preset_of(model)


def cell_for(vlm: Model, size: int | None) -> int:
    """Return the size of a cell in pixels: the user's choice; for None, what suits the model."""
    return preset_of(vlm).cell if size is None else size
