"""Creates a tiny untrained Idefics3 with its tokenizer, from a seed. Nothing is downloaded.

    .venv-serve/bin/python tests/server/tiny_model.py FOLDER

It has 4 million parameters and encodes an image of 512×512 px in 64 tokens. Its answers are
nonsense, in whatever form a grammar enforces.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from transformers import Idefics3Config, Idefics3ForConditionalGeneration, PreTrainedTokenizerFast

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[2] / "nano" / "learn")]
from families.common import PROSE, trained
from tokenizer import write_processor_config

IMAGE_PX, PATCH_PX, SHUFFLE = 512, 32, 2
CONTEXT = 32768
TEMPLATE = (
    "<bos>{% for message in messages %}{{ message['role'] | capitalize }}:"
    "{% if message['content'] is string %} {{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %} {{ part['text'] }}{% elif part['type'] == 'image' %}<image>{% endif %}"
    "{% endfor %}{% endif %}<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)
SPECIAL = ["<pad>", "<bos>", "<eos>", "<end_of_utterance>", "<fake_token_around_image>", "<image>", "<global-img>"]


def write_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Train a tokenizer and write it with a chat template."""
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    tokenizer = trained(PROSE[:1], 2048, [*SPECIAL, *tiles])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<bos>",
        eos_token="<end_of_utterance>",
        pad_token="<pad>",
        additional_special_tokens=[*SPECIAL[4:], *tiles],
        clean_up_tokenization_spaces=False,
        model_max_length=CONTEXT,
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    (folder / "chat_template.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    return fast


def write_weights(folder: Path, tokenizer: PreTrainedTokenizerFast, seed: int) -> None:
    """Draw random weights from a seed."""
    torch.manual_seed(seed)
    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in SPECIAL}
    ends = {"bos_token_id": ids["<bos>"], "eos_token_id": ids["<end_of_utterance>"], "pad_token_id": ids["<pad>"]}
    text = {
        "model_type": "llama",
        "vocab_size": len(tokenizer),
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "max_position_embeddings": CONTEXT,
        "rope_theta": 1e6,
        "rms_norm_eps": 1e-5,
        "initializer_range": 0.2,  # wide, so that answers depend on the prompt
        "tie_word_embeddings": False,
        **ends,
    }
    vision = {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "image_size": IMAGE_PX,
        "patch_size": PATCH_PX,
    }
    config = Idefics3Config(
        image_token_id=ids["<image>"],
        scale_factor=SHUFFLE,
        pad_token_id=ids["<pad>"],
        tie_word_embeddings=False,
        vision_config=vision,
        text_config=text,
    )
    config.bos_token_id, config.eos_token_id = ends["bos_token_id"], ends["eos_token_id"]
    model = Idefics3ForConditionalGeneration(config).to(torch.bfloat16)
    with torch.no_grad():  # a likely closing quote, so that its texts end
        model.lm_head.weight[tokenizer.convert_tokens_to_ids('"')] *= 4
    model.generation_config.eos_token_id = ends["eos_token_id"]
    model.save_pretrained(folder)


def make(folder: Path, seed: int = 0) -> None:
    """Write the model: processor, tokenizer and weights."""
    folder.mkdir(parents=True, exist_ok=True)
    tokens = (IMAGE_PX // PATCH_PX // SHUFFLE) ** 2
    write_processor_config(folder, IMAGE_PX, IMAGE_PX, tokens)  # one tile
    write_weights(folder, write_tokenizer(folder), seed)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
