"""Tiny models of GLM-4V and MiniCPM-V."""

from __future__ import annotations

from pathlib import Path

from families.common import GREY, TEXT, chat_template, write_json, write_tokenizer, write_weights
from transformers import (
    Glm4vConfig,
    Glm4vForConditionalGeneration,
    MiniCPMV4_6Config,
    MiniCPMV4_6ForConditionalGeneration,
)

LIKELY = {'"': 4.0, "</think>": 2.5}


def write_glm4v(folder: Path) -> None:
    """Write a tiny GLM-4.1V: images of any size, a token for each square of 28 px."""
    special = (
        "<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|begin_of_image|>",
        "<|end_of_image|>", "<|image|>", "<|begin_of_video|>", "<|end_of_video|>", "<|video|>",
    )  # fmt: skip
    image = "<|begin_of_image|><|image|><|end_of_image|>"
    template = "[gMASK]<sop>" + chat_template("<|ROLE|>\n", "", image, "<think>", "<think></think>\n")
    tokenizer = write_tokenizer(folder, special, template, "<|user|>", ("<think>", "</think>"))
    images = {
        "patch_size": 14, "temporal_patch_size": 2, "merge_size": 2, "processor_class": "Glm4vProcessor", **GREY,
        "size": {"shortest_edge": 112 * 112, "longest_edge": 4096 * 4096},
    }  # fmt: skip
    write_json(
        folder,
        preprocessor_config={**images, "image_processor_type": "Glm4vImageProcessor"},
        video_preprocessor_config={**images, "video_processor_type": "Glm4vVideoProcessor"},
    )
    text = {**TEXT, "vocab_size": len(tokenizer), "num_attention_heads": 2, "num_key_value_heads": 2}
    del text["head_dim"]
    rope = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5, "mrope_section": [4, 6, 6]}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
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
    config = Glm4vConfig(text_config={**text, **ends, "rope_parameters": rope}, vision_config=vision, **ids)
    write_weights(folder, Glm4vForConditionalGeneration, config, tokenizer, LIKELY)


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
    images = {"processor_class": "MiniCPMV4_6Processor", "max_slice_nums": 9, "scale_resolution": 448, **GREY}
    write_json(
        folder,
        preprocessor_config={**images, "image_processor_type": "MiniCPMV4_6ImageProcessor"},
        video_preprocessor_config={**images, "video_processor_type": "MiniCPMV4_6VideoProcessor"},
        processor_config={"processor_class": "MiniCPMV4_6Processor"},
    )
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [3, 3, 2], "partial_rotary_factor": 0.25}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    linear = {
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_num_key_heads": 1,
        "linear_num_value_heads": 2,
    }  # fmt: skip
    text = {
        **TEXT, **ends, **linear, "model_type": "qwen3_5_text", "vocab_size": len(tokenizer),
        "rope_parameters": {**rope, "mrope_interleaved": True},
    }  # fmt: skip
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
    write_weights(folder, MiniCPMV4_6ForConditionalGeneration, config, tokenizer, LIKELY)
