"""Tiny models of Qwen2.5-VL, Qwen3-VL and the mixture of experts Qwen3.5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from families.common import GREY, TEXT, chat_template, write_json, write_tokenizer, write_weights
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3_5MoeConfig,
    Qwen3_5MoeForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

SPECIAL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>",
)  # fmt: skip
IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
LIKELY = {'"': 4.0}


def qwen_tokenizer(folder: Path, thinks: bool = False) -> tuple[PreTrainedTokenizerFast, dict[str, int]]:
    """Write Qwen's tokenizer and return it with the ids that its configurations hold."""
    thought = ("<think>\n", "<think>\n\n</think>\n\n") if thinks else ()
    template = chat_template("<|im_start|>ROLE\n", "<|im_end|>\n", IMAGE, *thought)
    tokenizer = write_tokenizer(folder, SPECIAL, template, "<|im_end|>", ("<think>", "</think>") if thinks else ())
    names = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    return tokenizer, {name: tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}


def text_settings(tokenizer: PreTrainedTokenizerFast, sections: list[int], **more: Any) -> dict[str, Any]:
    """Return the settings of a language model whose positions have three parts."""
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    return {**TEXT, **ends, "vocab_size": len(tokenizer), "rope_parameters": {**rope, **more}}


def write_processors(folder: Path, patch: int, least: int, processor: str, video: str) -> None:
    """Write how images become patches: of any size, a token for each square of two by two.

    Args:
        folder: The model's folder.
        patch: Side of a patch in pixels.
        least: Pixels of the smallest image, to which smaller ones are enlarged.
        processor: Class of the processor.
        video: Class of its processor of videos.
    """
    common = {
        "patch_size": patch, "temporal_patch_size": 2, "merge_size": 2, "processor_class": processor, **GREY,
        "size": {"shortest_edge": least, "longest_edge": 4096 * 4096},
    }  # fmt: skip
    write_json(
        folder,
        preprocessor_config={**common, "image_processor_type": "Qwen2VLImageProcessor"},
        video_preprocessor_config={**common, "video_processor_type": video},
    )


def vision_settings(patch: int) -> dict[str, Any]:
    """Return the settings of the tower of Qwen3-VL and later."""
    return {
        # As little as possible: a sheet of 64 cells of 320 px has 25,600 patches.
        "depth": 1, "hidden_size": 32, "intermediate_size": 64, "num_heads": 1, "out_hidden_size": TEXT["hidden_size"],
        "patch_size": patch, "spatial_merge_size": 2, "num_position_embeddings": 256,
    }  # fmt: skip


def write_qwen3_vl(folder: Path) -> None:
    """Write a tiny Qwen3-VL."""
    tokenizer, ids = qwen_tokenizer(folder)
    write_processors(folder, 16, 65536, "Qwen3VLProcessor", "Qwen3VLVideoProcessor")
    config = Qwen3VLConfig(
        text_config=text_settings(tokenizer, [12, 10, 10], mrope_interleaved=True),
        vision_config={**vision_settings(16), "deepstack_visual_indexes": [0]},
        **ids,
    )
    write_weights(folder, Qwen3VLForConditionalGeneration, config, tokenizer, LIKELY)


def write_qwen2_5_vl(folder: Path) -> None:
    """Write a tiny Qwen2.5-VL."""
    tokenizer, ids = qwen_tokenizer(folder)
    write_processors(folder, 14, 3136, "Qwen2_5_VLProcessor", "Qwen2VLVideoProcessor")
    vision = {
        "depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 2, "out_hidden_size": TEXT["hidden_size"],
        "patch_size": 14, "spatial_merge_size": 2, "fullatt_block_indexes": [1], "window_size": 112,
    }  # fmt: skip
    text = text_settings(tokenizer, [12, 10, 10])
    del text["head_dim"]  # it has none: hidden size by heads
    config = Qwen2_5_VLConfig(text_config={**text, "num_attention_heads": 2}, vision_config=vision, **ids)
    write_weights(folder, Qwen2_5_VLForConditionalGeneration, config, tokenizer, LIKELY)


def write_qwen3_5(folder: Path) -> None:
    """Write a tiny Qwen3.5: experts, three layers of linear attention and one of full attention."""
    tokenizer, ids = qwen_tokenizer(folder, thinks=True)
    write_processors(folder, 16, 65536, "Qwen3VLProcessor", "Qwen3VLVideoProcessor")
    text = {
        **text_settings(tokenizer, [3, 3, 2], mrope_interleaved=True, partial_rotary_factor=0.25),
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 1,
        "linear_num_value_heads": 2,
        "moe_intermediate_size": 64, "shared_expert_intermediate_size": 64, "num_experts": 4, "num_experts_per_tok": 2,
    }  # fmt: skip
    del text["intermediate_size"]
    config = Qwen3_5MoeConfig(text_config=text, vision_config=vision_settings(16), **ids)
    write_weights(folder, Qwen3_5MoeForConditionalGeneration, config, tokenizer, {**LIKELY, "</think>": 1.5})
