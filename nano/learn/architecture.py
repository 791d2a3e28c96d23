"""nano's architecture: an Idefics3 model that makes one visual token from each cell of a view.

Like every module of this folder, this one needs only PyTorch and transformers, so it runs where
atlaskit is not installed.
"""

from __future__ import annotations

import torch
from transformers import Idefics3Config, Idefics3ForConditionalGeneration

K = 4
"""A view has K×K cells."""
CELL_PX = 128
"""Side of a cell in pixels. A cell is one tile of Idefics3."""
PATCH_PX = 16
"""Side of a patch in pixels."""
WIDTH = 256
"""Width of the language model and of a visual token."""
HEADS = 4
"""Attention heads per layer of the language model. With two heads, each new skill displaced an
earlier one."""
CONTEXT = 8192
"""Longest prompt with its reply, in tokens."""


def model_config(vocabulary: int, ids: dict[str, int]) -> Idefics3Config:
    """Return the configuration of a model of about 9 million parameters.

    Args:
        vocabulary: Number of different tokens.
        ids: Id of each special token.
    """
    special = {
        "bos_token_id": ids["<bos>"],
        "eos_token_id": ids["<end>"],
        "pad_token_id": ids["<pad>"],
    }
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
        **special,
    }
    vision = {
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "image_size": CELL_PX,
        "patch_size": PATCH_PX,
    }
    config = Idefics3Config(
        image_token_id=ids["<image>"],
        scale_factor=CELL_PX // PATCH_PX,
        pad_token_id=ids["<pad>"],
        tie_word_embeddings=True,
        vision_config=vision,
        text_config=text,
    )
    config.bos_token_id, config.eos_token_id = special["bos_token_id"], special["eos_token_id"]
    return config


def autocast(device: torch.device) -> torch.autocast:
    """Return a context in which PyTorch computes in bfloat16.

    The context has no effect on a CPU without AVX-512, where bfloat16 is much slower than 32 bits.
    """
    is_fast = device.type != "cpu" or "AVX512" in torch.backends.cpu.get_cpu_capability()
    return torch.autocast(device.type, torch.bfloat16, enabled=is_fast)


def patch_features(
    model: Idefics3ForConditionalGeneration,
    tiles: torch.Tensor,
    positions: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the vision tower's output for each patch of each tile.

    Computes the same as Idefics3's own forward pass over whole tiles, without its handling of
    padding. The patch convolution is written as a matrix product, because its gradient as a
    convolution is slow on a CPU.

    Args:
        model: The model.
        tiles: Pixels in [-1, 1], (n, 3, side, side): whole tiles, or smaller squares cut out of
            tiles.
        positions: Position of each patch in the whole tile, (n, patches); None for whole tiles.

    Returns:
        Features, (n, patches, width of the vision tower).
    """
    tower = model.model.vision_model
    across = tiles.shape[-1] // PATCH_PX
    convolution = tower.embeddings.patch_embedding
    pixels = (
        tiles.view(-1, 3, across, PATCH_PX, across, PATCH_PX)
        .permute(0, 2, 4, 1, 3, 5)
        .reshape(-1, across**2, 3 * PATCH_PX**2)
    )
    embedded = torch.nn.functional.linear(pixels, convolution.weight.flatten(1), convolution.bias)
    table = tower.embeddings.position_embedding.weight
    embedded = embedded + (table if positions is None else table[positions])
    return tower.post_layernorm(tower.encoder(inputs_embeds=embedded).last_hidden_state)


def visual_tokens(model: Idefics3ForConditionalGeneration, tiles: torch.Tensor) -> torch.Tensor:
    """Return the visual token of each tile: (n, 3, CELL_PX, CELL_PX) to (n, WIDTH)."""
    return model.model.connector(patch_features(model, tiles)).squeeze(1)
