"""`Eyes`: nano's shipped vision tower and connector, which tell what each cell shows.

The class computes what Idefics3 computes for one tile, from the files of the weights alone, so
transformers is not needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image

from atlasworld.nano.model import WEIGHTS
from nano.teacher.labels import VALUES

# The next five are those of `learn/architecture` and `learn/codebook`.
WIDTH = 256
"""Width of a visual token."""
HEADS = 4
"""Attention heads per layer of the vision tower."""
LAYERS = 4
"""Layers of the vision tower."""
PATCH_PX = 16
"""Side of a patch in pixels."""
SHARPNESS = 10.0
"""Factor from the projection onto a direction to the score of its value."""
SIZES = [len(values) for values in VALUES.values()]
"""Number of values of each attribute."""
PARTS = ("model.vision_model.", "model.connector.")
"""Prefixes of the names of the tensors that make up the eyes."""


class Eyes:
    """Reads what cells of 128 pixels show, as `learn/vision` trained the weights to do."""

    def __init__(self, folder: str | Path | None = None) -> None:
        """Load the weights.

        Args:
            folder: Folder of a model that `make nano` made; the shipped model by default.
        """
        self._folder = Path(folder or WEIGHTS)
        self._weights = _read_weights(self._folder)
        # The directions of the values, as `learn/codebook` makes them.
        generator = torch.Generator().manual_seed(0)
        drawn = torch.randn(WIDTH, WIDTH, generator=generator, dtype=torch.float64)
        self._directions = torch.linalg.qr(drawn)[0].float()[: sum(SIZES)]

    @torch.inference_mode()
    def read(self, cells: Sequence[Image.Image]) -> NDArray[np.float32]:
        """Return the probability of each value of each attribute of `VALUES`, (cells, values).

        Args:
            cells: Images of 128×128 pixels.
        """
        pixels = torch.from_numpy(np.stack([np.asarray(cell.convert("RGB")) for cell in cells]))
        tokens = self._tokens(pixels.float().div_(127.5).sub_(1))
        scores = (SHARPNESS * tokens @ self._directions.T).split(SIZES, dim=1)
        return torch.cat([score.softmax(1) for score in scores], 1).numpy()

    def _tokens(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the visual token of each tile: (n, 128, 128, 3) in [-1, 1] to (n, WIDTH)."""
        n = len(pixels)
        across = pixels.shape[1] // PATCH_PX
        patches = pixels.view(n, across, PATCH_PX, across, PATCH_PX, 3).permute(0, 1, 3, 5, 2, 4)
        patches = patches.reshape(n, across**2, 3 * PATCH_PX**2)
        kernel = self._of("vision_model.embeddings.patch_embedding.weight").flatten(1)
        hidden = F.linear(patches, kernel, self._of("vision_model.embeddings.patch_embedding.bias"))
        hidden = hidden + self._of("vision_model.embeddings.position_embedding.weight")
        for layer in range(LAYERS):
            hidden = self._layer(hidden, f"vision_model.encoder.layers.{layer}")
        hidden = self._norm(hidden, "vision_model.post_layernorm")
        return F.linear(
            hidden.reshape(n, -1), self._of("connector.modality_projection.proj.weight")
        )

    def _layer(self, hidden: torch.Tensor, name: str) -> torch.Tensor:
        """Return the output of one layer of the vision tower, (n, patches, width)."""
        normed = self._norm(hidden, f"{name}.layer_norm1")
        heads = [
            self._linear(normed, f"{name}.self_attn.{part}_proj")
            .unflatten(-1, (HEADS, -1))
            .transpose(1, 2)
            for part in "qkv"
        ]
        attended = F.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        hidden = hidden + self._linear(attended, f"{name}.self_attn.out_proj")
        normed = self._norm(hidden, f"{name}.layer_norm2")
        inner = F.gelu(self._linear(normed, f"{name}.mlp.fc1"), approximate="tanh")
        return hidden + self._linear(inner, f"{name}.mlp.fc2")

    def _linear(self, inputs: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(inputs, self._of(f"{name}.weight"), self._of(f"{name}.bias"))

    def _norm(self, inputs: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(
            inputs, inputs.shape[-1:], self._of(f"{name}.weight"), self._of(f"{name}.bias"), 1e-6
        )

    def _of(self, name: str) -> torch.Tensor:
        return self._weights[f"model.{name}"]


def _read_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of the eyes in 32 bits, from safetensors files in bfloat16."""
    index = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    names = [name for name in index if name.startswith(PARTS)]
    tensors = {}
    for file in sorted({index[name] for name in names}):
        data = (folder / file).read_bytes()
        begin = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:begin])
        for name in names:
            if index[name] != file:
                continue
            first, last = header[name]["data_offsets"]
            buffer = bytearray(data[begin + first : begin + last])
            values = torch.frombuffer(buffer, dtype=torch.bfloat16)
            tensors[name] = values.float().view(header[name]["shape"])
    return tensors
