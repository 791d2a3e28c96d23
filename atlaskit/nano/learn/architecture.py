"""The form of the model: an Idefics3 whose tiles are the cells of a sheet, one visual token each.

Needs PyTorch and transformers alone, as all of this folder: it runs where the kit is not installed.
"""

from __future__ import annotations

import torch
from transformers import Idefics3Config, Idefics3ForConditionalGeneration

K, CELL, PATCH = 4, 128, 16
WIDTH = 256
"""Of the language model, and of a visual token."""
HEADS = 4
"""Of each layer of it: with two, whatever was learned last was learned at the cost of what those heads did before."""
CONTEXT = 8192


def config(vocabulary: int, ids: dict[str, int]) -> Idefics3Config:
    """Return the architecture: about 9 million parameters."""
    ends = {"bos_token_id": ids["<bos>"], "eos_token_id": ids["<end>"], "pad_token_id": ids["<pad>"]}
    text = {
        "model_type": "llama",
        "vocab_size": vocabulary,
        "hidden_size": WIDTH,
        "intermediate_size": 768,
        "num_hidden_layers": 5,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": 128,
        "max_position_embeddings": CONTEXT,
        "rope_theta": 1e5,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
        **ends,
    }
    vision = {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "image_size": CELL,
        "patch_size": PATCH,
    }
    made = Idefics3Config(
        image_token_id=ids["<image>"],
        scale_factor=CELL // PATCH,
        pad_token_id=ids["<pad>"],
        tie_word_embeddings=True,
        vision_config=vision,
        text_config=text,
    )
    made.bos_token_id, made.eos_token_id = ends["bos_token_id"], ends["eos_token_id"]
    return made


def quickly(device: torch.device) -> torch.autocast:
    """Return a context that reckons in bfloat16, unless this is a processor that has no instructions for it: there it
    takes ten times as long as in 32 bits."""
    has_it = device.type != "cpu" or "AVX512" in torch.backends.cpu.get_cpu_capability()
    return torch.autocast(device.type, torch.bfloat16, enabled=has_it)


def patches(
    model: Idefics3ForConditionalGeneration, tiles: torch.Tensor, places: torch.Tensor | None = None
) -> torch.Tensor:
    """Return what the tower makes of each patch of each tile: (n, 3, side, side) in [-1, 1] to (n, patches, width).

    A tile is whole, or a smaller square cut out of one: then `places`, (n, patches), are those of its patches in the
    whole.

    The same as Idefics3's own pass over whole tiles, without its bookkeeping of padding; the convolution is written as
    one product of matrices, since as a convolution it is slow to learn on a CPU.
    """
    eyes, across = model.model.vision_model, tiles.shape[-1] // PATCH
    cut = eyes.embeddings.patch_embedding
    pixels = (
        tiles.view(-1, 3, across, PATCH, across, PATCH).permute(0, 2, 4, 1, 3, 5).reshape(-1, across**2, 3 * PATCH**2)
    )
    embedded = torch.nn.functional.linear(pixels, cut.weight.flatten(1), cut.bias)
    table = eyes.embeddings.position_embedding.weight
    embedded = embedded + (table if places is None else table[places])
    return eyes.post_layernorm(eyes.encoder(inputs_embeds=embedded).last_hidden_state)


def look(model: Idefics3ForConditionalGeneration, tiles: torch.Tensor) -> torch.Tensor:
    """Return the visual token of each tile: (n, 3, CELL, CELL) to (n, WIDTH)."""
    return model.model.connector(patches(model, tiles)).squeeze(1)
