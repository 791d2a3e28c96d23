"""Tiny models of the families that cut an image into tiles, or scale it to one size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    InternVLConfig,
    InternVLForConditionalGeneration,
    LlavaOnevisionConfig,
    LlavaOnevisionForConditionalGeneration,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)

from families.common import (
    GREY,
    chat_template,
    text_settings,
    write_json,
    write_processors,
    write_tokenizer,
    write_weights,
)

CHATML = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
NEWLINES = ("\n", "\n\n", "\n\n\n", "\n\n\n\n")
"""Tokens of Gemma that vLLM looks up."""
SIGLIP = ("vision_tower.", "vision_tower.vision_model.")
"""How transformers 5 saves a tower of SigLIP, and how published weights have it."""
LIKELY = {'"': 6.0}


def tower(image: int, patch: int) -> dict[str, Any]:
    """Return the settings of a vision tower for square images."""
    return {
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
        "image_size": image, "patch_size": patch,
    }  # fmt: skip


def write_internvl(folder: Path) -> None:
    """Write a tiny InternVL 3: tiles of 448 px with 256 tokens each, and one of the whole image."""
    extra = {
        "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }  # fmt: skip
    template = chat_template("<|im_start|>ROLE\n", "<|im_end|>\n", "<IMG_CONTEXT>\n")
    special = (*CHATML, *extra.values())
    tokenizer = write_tokenizer(folder, special, template, "<|im_end|>", extra_special_tokens=extra)
    size = {"height": 448, "width": 448}
    tiles = {"crop_to_patches": True, "min_patches": 1, "max_patches": 12}
    write_processors(folder, "InternVL", "GotOcr2ImageProcessor", size=size, **tiles)
    write_json(
        folder,
        video_preprocessor_config={
            "size": size, "processor_class": "InternVLProcessor", **GREY,
            "video_processor_type": "InternVLVideoProcessor",
        },
        processor_config={"processor_class": "InternVLProcessor", "image_seq_length": 256},
    )  # fmt: skip
    config = InternVLConfig(
        vision_config={**tower(448, 14), "image_size": [448, 448], "patch_size": [14, 14]},
        text_config=text_settings(tokenizer, model_type="qwen2", num_attention_heads=2),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        tie_word_embeddings=False,
    )
    write_weights(folder, InternVLForConditionalGeneration, config, tokenizer, LIKELY)


def write_gemma3(folder: Path) -> None:
    """Write a tiny Gemma 3: 256 tokens an image of any size."""
    extra = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    special = ("<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>", *extra.values())
    template = chat_template("<start_of_turn>ROLE\n", "<end_of_turn>\n", "<start_of_image>")
    tokenizer = write_tokenizer(
        folder, special, template, "<end_of_turn>", NEWLINES, bos_token="<bos>", extra_special_tokens=extra
    )
    write_processors(folder, "Gemma3", "Gemma3ImageProcessor", size={"height": 896, "width": 896})
    write_json(folder, processor_config={"processor_class": "Gemma3Processor", "image_seq_length": 256})
    text = text_settings(tokenizer, model_type="gemma3_text", bos_token_id=tokenizer.bos_token_id, sliding_window=1024)
    rope = text["rope_parameters"]
    text["rope_parameters"] = {"sliding_attention": {**rope, "rope_theta": 1e4}, "full_attention": rope}
    config = Gemma3Config(
        text_config={**text, "query_pre_attn_scalar": 64},
        vision_config={**tower(896, 14), "model_type": "siglip_vision_model", "vision_use_head": False},
        mm_tokens_per_image=256,
        boi_token_index=tokenizer.convert_tokens_to_ids("<start_of_image>"),
        eoi_token_index=tokenizer.convert_tokens_to_ids("<end_of_image>"),
        image_token_index=tokenizer.convert_tokens_to_ids("<image_soft_token>"),
        tie_word_embeddings=False,
    )
    write_weights(folder, Gemma3ForConditionalGeneration, config, tokenizer, LIKELY, SIGLIP)


def write_llava_onevision(folder: Path) -> None:
    """Write a tiny LLaVA-OneVision: tiles of 384 px with 729 tokens each, reduced to nine tiles."""
    special = (*CHATML, "<image>", "<video>")
    template = chat_template("<|im_start|>ROLE\n", "<|im_end|>\n", "<image>\n")
    tokenizer = write_tokenizer(folder, special, template, "<|im_end|>")
    pinpoints = [[384 * rows, 384 * columns] for rows in range(1, 7) for columns in range(1, 7)]
    images = {"size": {"height": 384, "width": 384}, "processor_class": "LlavaOnevisionProcessor", **GREY}
    tiles = {"image_grid_pinpoints": pinpoints, "image_processor_type": "LlavaOnevisionImageProcessor"}
    write_json(
        folder,
        preprocessor_config={**images, **tiles},
        video_preprocessor_config={**images, "video_processor_type": "LlavaOnevisionVideoProcessor"},
        processor_config={
            "processor_class": "LlavaOnevisionProcessor", "num_image_tokens": 729,
            "vision_aspect_ratio": "anyres_max_9",
            "vision_feature_select_strategy": "full", "image_token": "<image>", "video_token": "<video>",
        },
    )  # fmt: skip
    config = LlavaOnevisionConfig(
        vision_config={**tower(384, 14), "model_type": "siglip_vision_model", "vision_use_head": False},
        text_config=text_settings(tokenizer, model_type="qwen2", num_attention_heads=2),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=pinpoints,
        vision_feature_layer=-1,
    )
    write_weights(folder, LlavaOnevisionForConditionalGeneration, config, tokenizer, LIKELY, SIGLIP)


def write_smolvlm(folder: Path) -> None:
    """Write a tiny SmolVLM: tiles of 512 px with 64 tokens each, and one of the whole image."""
    own = ("<fake_token_around_image>", "<image>", "<global-img>", "<end_of_utterance>")
    tiles = tuple(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7))
    template = chat_template("<|im_start|>ROLE: ", "<end_of_utterance>\n", "<image>")
    extra = {
        "fake_image_token": own[0], "image_token": own[1], "global_image_token": own[2],
        "end_of_utterance_token": own[3],
    }  # fmt: skip
    tokenizer = write_tokenizer(
        folder, (*CHATML, *own, *tiles), template, "<end_of_utterance>", extra_special_tokens=extra
    )
    write_json(
        folder,
        preprocessor_config={
            "image_processor_type": "SmolVLMImageProcessor", "processor_class": "SmolVLMProcessor",
            "do_image_splitting": True, "do_pad": True, "resample": 1, "size": {"longest_edge": 2048},
            "max_image_size": {"longest_edge": 512}, **GREY,
        },
        processor_config={"processor_class": "SmolVLMProcessor", "image_seq_len": 64},
    )  # fmt: skip
    config = SmolVLMConfig(
        vision_config=tower(512, 16),
        text_config=text_settings(tokenizer, model_type="llama"),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=tokenizer.pad_token_id,
        scale_factor=4,
    )
    write_weights(folder, SmolVLMForConditionalGeneration, config, tokenizer, LIKELY)
