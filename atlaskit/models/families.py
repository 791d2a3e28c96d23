"""`Family`: what is known of a family of vision-language models, found by a model's name.

A family decides how large an image token is, whether the model thinks before it answers, how that
is turned off, and which of vLLM's parsers separates the thought from the answer. A model that
belongs to no family listed here has the defaults of `Family`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
    Family("Qwen3-VL Thinking", r"qwen3-vl.*thinking|qwen3-omni.*thinking", 32, True, "deepseek_r1"),
    Family("Qwen3-VL", r"qwen3-?vl|qwen3-omni"),
    Family("Qwen3.5 and later", r"qwen-?3\.[5-9]|qwen-?[4-9]", 32, True, "qwen3", NO_THINKING, True),
    Family("Qwen2.5-VL and Qwen2-VL", r"qwen-?2(\.5)?-?(vl|omni)|qvq", 28),
    Family("GLM-4.5V and 4.6V", r"glm-?4\.?[5-9]v|glm4v-moe|glm-?5", 28, True, "glm45", NO_THINKING),
    Family("GLM-4.1V Thinking", r"glm-?4(\.1)?v.*thinking", 28, True, "glm45"),
    Family("GLM-4V", r"glm-?4(\.1)?v|glm-ocr", 28),
    Family("Kimi-VL Thinking", r"kimi-vl.*thinking", 28, True, "kimi_k2"),
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
    Family("OpenAI, thinking", r"(^|/)(gpt-5(?!.*chat)|o[1-9]\b)", 32, True),
    Family("OpenAI", r"(^|/)(chatgpt|gpt)-?4", 32),
    Family("Gemini", r"gemini-(2\.[5-9]|[3-9])", 48, True),
    Family("Claude", r"claude", 28),
)
"""The families in the order in which they are tried: the first whose pattern matches counts."""


def family_of(name: str) -> Family:
    """Return the family of a model by its name: a hub id, a folder, or "folder@hash"."""
    lowered = name.lower()
    return next((each for each in FAMILIES if re.search(each.pattern, lowered)), Family("other", ""))
