"""Creates the tiny models of families, each in a folder of its name.

.venv-serve/serve-cpu/bin/python tests/server/families/make.py DIRECTORY FAMILY…

Qwen and GLM-4V take images of any size, Idefics3 scales them to one; Whisper takes sound.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from tokenizers import processors
from transformers import (
    Glm4vConfig,
    Glm4vForConditionalGeneration,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen3_5MoeConfig,
    Qwen3_5MoeForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
)
from transformers.models.whisper.tokenization_whisper import LANGUAGES

sys.path.insert(0, str(Path(__file__).parents[1]))
from families.common import (
    LINEAR,
    PROSE,
    TEXT,
    chat_template,
    squares,
    text_settings,
    trained,
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


def write_idefics3(folder: Path) -> None:
    """Write a tiny Idefics3, which has nano's architecture: 64 tokens an image of 512×512 px."""
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    image = ("<fake_token_around_image>", "<image>", "<global-img>")
    special = ("<pad>", "<bos>", "<eos>", "<end_of_utterance>", *image, *tiles)
    template = "<bos>" + chat_template("ROLE: ", "<end_of_utterance>\n", "<image>")
    tokenizer = write_tokenizer(folder, special, template, "<end_of_utterance>", bos_token="<bos>")
    size = {"longest_edge": 512}
    write_processors(
        folder, "Idefics3", "Idefics3ImageProcessor", size=size, max_image_size=size, do_image_splitting=False
    )
    write_json(folder, processor_config={"processor_class": "Idefics3Processor", "image_seq_len": 64})
    vision = {
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
        "image_size": 512, "patch_size": 32,
    }  # fmt: skip
    config = Idefics3Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
        vision_config=vision,
        text_config=text_settings(
            tokenizer, model_type="llama", bos_token_id=tokenizer.bos_token_id, hidden_size=256, intermediate_size=512
        ),
    )
    write_weights(folder, Idefics3ForConditionalGeneration, config, tokenizer, LIKELY)


WHISPER = ["<|startoftranscript|>", *(f"<|{code}|>" for code in LANGUAGES), "<|translate|>", "<|transcribe|>"]
WHISPER += ["<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]
"""Whisper's special tokens, in its order; the times come after them."""
STEPS = 1500


def write_whisper(folder: Path) -> None:
    """Write a Whisper of half a million parameters, which hears nonsense with times."""
    end, (start, *_, untimed) = "<|endoftext|>", WHISPER
    tokenizer = trained(PROSE[:1], 512)
    tokenizer.add_special_tokens([end, *WHISPER])
    tokenizer.add_tokens([f"<|{step * 0.02:.2f}|>" for step in range(STEPS + 1)])
    ids = {name: tokenizer.token_to_id(name) for name in (end, start, untimed, "<|0.00|>", "<|30.00|>")}
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start}:0 {untimed}:0 $A:0 {end}:0",
        pair=f"{start}:0 {untimed}:0 $A:0 $B:1 {end}:1",
        special_tokens=[(name, ids[name]) for name in (start, untimed, end)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]
    ends = dict.fromkeys(("bos_token", "eos_token", "pad_token", "unk_token"), end)
    settings = {"tokenizer_class": "WhisperTokenizer", "processor_class": "WhisperProcessor", "errors": "replace"}
    settings |= {**ends, "additional_special_tokens": WHISPER, "model_max_length": 1024, "return_attention_mask": False}
    write_json(folder, tokenizer_config=settings, vocab=vocabulary["vocab"])
    merges = [" ".join(pair) if isinstance(pair, list) else pair for pair in vocabulary["merges"]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    WhisperFeatureExtractor(feature_size=80).save_pretrained(folder)
    tower = {"layers": 2, "attention_heads": 2, "ffn_dim": 128}
    sizes = {f"{part}_{name}": size for part in ("encoder", "decoder") for name, size in tower.items()}
    config = WhisperConfig(
        **sizes,
        d_model=64,
        vocab_size=ids["<|30.00|>"] + 1,
        max_source_positions=STEPS,
        max_target_positions=448,
        init_std=0.2,  # wide, so that what it hears depends on the sound
        decoder_start_token_id=ids[start],
        bos_token_id=ids[end],
        eos_token_id=ids[end],
        pad_token_id=ids[end],
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    torch.manual_seed(0)
    model = WhisperForConditionalGeneration(config).to(torch.float32)
    with torch.no_grad():  # words with times among them, which change from place to place
        model.model.decoder.embed_positions.weight *= 6
        model.model.decoder.embed_tokens.weight[ids["<|0.00|>"] :] *= 0.8
        model.model.decoder.embed_tokens.weight[ids[start] : ids["<|0.00|>"]] *= 0.1
    model.generation_config.eos_token_id = ids[end]
    model.generation_config.decoder_start_token_id = ids[start]
    model.save_pretrained(folder)


WRITERS = {
    "tiny-whisper": write_whisper,
    "idefics3": write_idefics3,
    "qwen3-vl": write_qwen3_vl,
    "qwen3.5": write_qwen3_5,
    "glm-4.1v-thinking": write_glm4v,
}

if __name__ == "__main__":
    for family in sys.argv[2:]:
        folder = Path(sys.argv[1]) / family
        folder.mkdir(parents=True, exist_ok=True)
        WRITERS[family](folder)
