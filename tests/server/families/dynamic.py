"""Tiny models of the families that take images of any size: Qwen, GLM-4V, MiniCPM-V."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import (
    Glm4vConfig,
    Glm4vForConditionalGeneration,
    MiniCPMV4_6Config,
    MiniCPMV4_6ForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3_5MoeConfig,
    Qwen3_5MoeForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

from families.common import (
    LINEAR,
    TEXT,
    chat_template,
    squares,
    text_settings,
    write_json,
    write_processors,
    write_tokenizer,
    write_weights,
)

SPECIAL = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|video_pad|>",
)  # fmt: skip
IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
VIDEO = "<|vision_start|><|video_pad|><|vision_end|>"
IMAGES = "Qwen2VLImageProcessor"
LIKELY = {'"': 4.0}
THINKING = {**LIKELY, "</think>": 2.5}


def qwen_tokenizer(folder: Path, thinks: bool = False) -> tuple[PreTrainedTokenizerFast, dict[str, int]]:
    """Write Qwen's tokenizer and return it with the ids that its configurations hold."""
    thought = ("<think>\n", "<think>\n\n</think>\n\n") if thinks else ()
    template = chat_template("<|im_start|>ROLE\n", "<|im_end|>\n", IMAGE, *thought, video=VIDEO)
    tokenizer = write_tokenizer(folder, SPECIAL, template, "<|im_end|>", ("<think>", "</think>") if thinks else ())
    names = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    return tokenizer, {name: tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}


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
    write_processors(folder, "Qwen3VL", IMAGES, "Qwen3VLVideoProcessor", **squares(16, 65536))
    config = Qwen3VLConfig(
        text_config=text_settings(tokenizer, mrope_section=[12, 10, 10], mrope_interleaved=True),
        vision_config={**vision_settings(16), "deepstack_visual_indexes": [0]},
        **ids,
    )
    write_weights(folder, Qwen3VLForConditionalGeneration, config, tokenizer, LIKELY)


def write_qwen2_5_vl(folder: Path) -> None:
    """Write a tiny Qwen2.5-VL."""
    tokenizer, ids = qwen_tokenizer(folder)
    write_processors(folder, "Qwen2_5_VL", IMAGES, "Qwen2VLVideoProcessor", **squares(14, 3136))
    vision = {
        "depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 2, "out_hidden_size": TEXT["hidden_size"],
        "patch_size": 14, "spatial_merge_size": 2, "fullatt_block_indexes": [1], "window_size": 112,
    }  # fmt: skip
    text = text_settings(tokenizer, mrope_section=[12, 10, 10])
    del text["head_dim"]  # it has none: hidden size by heads
    config = Qwen2_5_VLConfig(text_config={**text, "num_attention_heads": 2}, vision_config=vision, **ids)
    write_weights(folder, Qwen2_5_VLForConditionalGeneration, config, tokenizer, LIKELY)


def write_qwen3_5(folder: Path) -> None:
    """Write a tiny Qwen3.5: experts, three layers of linear attention and one of full attention."""
    tokenizer, ids = qwen_tokenizer(folder, thinks=True)
    write_processors(folder, "Qwen3VL", IMAGES, "Qwen3VLVideoProcessor", **squares(16, 65536))
    text = {
        **text_settings(tokenizer, mrope_section=[3, 3, 2], mrope_interleaved=True, partial_rotary_factor=0.25),
        **LINEAR,
        "moe_intermediate_size": 64, "shared_expert_intermediate_size": 64, "num_experts": 4, "num_experts_per_tok": 2,
    }  # fmt: skip
    del text["intermediate_size"]
    config = Qwen3_5MoeConfig(text_config=text, vision_config=vision_settings(16), **ids)
    write_weights(folder, Qwen3_5MoeForConditionalGeneration, config, tokenizer, {**LIKELY, "</think>": 1.5})


def write_glm4v(folder: Path) -> None:
    """Write a tiny GLM-4.1V: images of any size, a token for each square of 28 px."""
    special = (
        "<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|begin_of_image|>",
        "<|end_of_image|>", "<|image|>", "<|begin_of_video|>", "<|end_of_video|>", "<|video|>",
    )  # fmt: skip
    image = "<|begin_of_image|><|image|><|end_of_image|>"
    template = "[gMASK]<sop>" + chat_template("<|ROLE|>\n", "", image, "<think>", "<think></think>\n")
    tokenizer = write_tokenizer(folder, special, template, "<|user|>", ("<think>", "</think>"))
    write_processors(folder, "Glm4v", "Glm4vImageProcessor", "Glm4vVideoProcessor", **squares(14, 112 * 112))
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    text = text_settings(tokenizer, 1e4, partial_rotary_factor=0.5, mrope_section=[4, 6, 6], **heads)
    del text["head_dim"]
    vision = {
        "depth": 2, "hidden_size": 64, "num_heads": 2, "intermediate_size": 128, "out_hidden_size": TEXT["hidden_size"],
        "image_size": 336, "patch_size": 14,
    }  # fmt: skip
    names = {
        "image_token_id": "<|image|>", "video_token_id": "<|video|>", "image_start_token_id": "<|begin_of_image|>",
        "image_end_token_id": "<|end_of_image|>", "video_start_token_id": "<|begin_of_video|>",
        "video_end_token_id": "<|end_of_video|>",
    }  # fmt: skip
    ids = {name: tokenizer.convert_tokens_to_ids(token) for name, token in names.items()}
    config = Glm4vConfig(text_config=text, vision_config=vision, **ids)
    write_weights(folder, Glm4vForConditionalGeneration, config, tokenizer, THINKING)


def write_minicpmv(folder: Path) -> None:
    """Write a tiny MiniCPM-V 4.6: 64 tokens for each slice of 448 px and for the whole."""
    extra = {
        "image_token": "<|image_pad|>", "video_token": "<|video_pad|>", "image_start_token": "<image>",
        "image_end_token": "</image>", "slice_start_token": "<slice>", "slice_end_token": "</slice>",
        "image_id_start_token": "<image_id>", "image_id_end_token": "</image_id>",
    }  # fmt: skip
    special = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *extra.values())
    thought = ("<think>\n", "<think>\n\n</think>\n\n")
    template = chat_template("<|im_start|>ROLE\n", "<|im_end|>\n", "<|image_pad|>", *thought)
    tokenizer = write_tokenizer(
        folder, special, template, "<|im_end|>", ("<think>", "</think>"), extra_special_tokens=extra
    )
    slices = {"max_slice_nums": 9, "scale_resolution": 448}
    write_processors(folder, "MiniCPMV4_6", "MiniCPMV4_6ImageProcessor", "MiniCPMV4_6VideoProcessor", **slices)
    write_json(folder, processor_config={"processor_class": "MiniCPMV4_6Processor"})
    rope = {"mrope_section": [3, 3, 2], "partial_rotary_factor": 0.25, "mrope_interleaved": True}
    text = text_settings(tokenizer, model_type="qwen3_5_text", **rope, **LINEAR)
    vision = {
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 2,
        "image_size": 980, "patch_size": 14, "insert_layer_id": 1,
    }  # fmt: skip
    config = MiniCPMV4_6Config(
        text_config=text,
        vision_config=vision,
        insert_layer_id=1,
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
    )
    write_weights(folder, MiniCPMV4_6ForConditionalGeneration, config, tokenizer, THINKING)
