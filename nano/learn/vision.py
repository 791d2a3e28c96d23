"""Batches, augmentation and losses of the vision part, the vision tower and the connector.

The vision part learns to turn a whole cell (a *tile*) into its visual token. At first, the tower
alone trains on *crops*, which are small squares of a cell around the object.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from architecture import CELL_PX, PATCH_PX, autocast, patch_features
from codebook import codebook, target_tokens, value_scores
from transformers import Idefics3ForConditionalGeneration

MEASURES = ("place", "light", "colour", "shape", "word", "patches")
"""Columns of the learning curves: the share of each attribute that is predicted correctly, and the
share of patches whose shape is."""
BATCH = 128
"""Tiles in one step."""
PEAK_RATE = 1e-3
"""Highest learning rate."""
CONNECTOR_RATE = 0.1
"""Learning rate of the connector as a share of the tower's. The connector sums thousands of
numbers: at the full rate, visual tokens became a hundred times too long within ten steps, and the
tower lost what it had learned."""
CROPS_PER_TILE = 3
"""Crops in one step for each tile in one step; a step of either kind then takes as long."""
CROP_PATCHES = 4
"""Side of a crop in patches."""
GREY = 128
"""Grey level around a frame in its cell."""
NUMBER_GROUND = (24, 28, 36)
"""Colour of the rectangle behind a cell's number."""


def to_pixels(tiles: np.ndarray) -> torch.Tensor:
    """Convert tiles, (n, side, side, 3) in 0 … 255, to (n, 3, side, side) in [-1, 1]."""
    return torch.from_numpy(tiles).permute(0, 3, 1, 2).float().div_(127.5).sub_(1)


def letterbox(frames: np.ndarray, rng: np.random.Generator | None = None) -> torch.Tensor:
    """Place frames on the grey ground of their cells.

    Args:
        frames: Pixels, (n, height, CELL_PX, 3) in 0 … 255.
        rng: With a generator, some cells get a random number label, and pixels get noise.

    Returns:
        Tiles in [-1, 1], (n, 3, CELL_PX, CELL_PX).
    """
    n, height, *_ = frames.shape
    top = (CELL_PX - height) // 2
    tiles = np.full((n, CELL_PX, CELL_PX, 3), GREY, np.uint8)
    tiles[:, top : top + height] = frames
    if rng is not None:
        for tile in tiles:
            if rng.random() < 0.6:
                right = int(rng.integers(10, 24))
                tile[:14, :right] = NUMBER_GROUND
                tile[3:11, 3 : right - 3] = rng.integers(24, 255, (8, right - 6, 1))
    pixels = to_pixels(tiles)
    if rng is not None:
        pixels += torch.randn(n, 1, 1, 1) * 0.03
        if rng.random() < 0.2:
            pixels += torch.randn_like(pixels) * 0.03
    return pixels


def tile_batches(
    frames: np.ndarray, labels: np.ndarray, boxes: np.ndarray, size: int, seed: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield batches of whole tiles without end; one tile in fifty is black.

    Args:
        frames: Pixels, (frames, height, CELL_PX, 3).
        labels: Index of each attribute's value, (frames, attributes).
        boxes: Centre (x, y) and diameter of the object in pixels of the cell, (frames, 3).
        size: Tiles per batch.
        seed: Seed of the random choices.

    Yields:
        Tiles, their labels, and whether the object covers each patch, (size, patches).
    """
    rng = np.random.default_rng(seed)
    centres = (np.arange(CELL_PX // PATCH_PX) + 0.5) * PATCH_PX
    while True:
        chosen = np.sort(rng.integers(0, len(frames), size))
        tiles = letterbox(frames[chosen], rng)
        truth = torch.from_numpy(labels[chosen].astype(np.int64))
        x, y, diameter = boxes[chosen].T[:, :, None]
        reach = diameter / 2 + PATCH_PX / 4
        in_columns = np.abs(centres - x) < reach
        in_rows = np.abs(centres - y) < reach
        in_square = in_rows[:, :, None] & in_columns[:, None, :]
        covered = torch.from_numpy(in_square & (diameter > 0)[:, :, None]).flatten(1)
        black = torch.from_numpy(rng.random(size) < 0.02)
        tiles[black] = -1.0
        truth[black] = 0
        covered[black] = False
        yield tiles, truth, covered


def crop_batches(
    frames: np.ndarray, labels: np.ndarray, boxes: np.ndarray, size: int, seed: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield batches of squares of CROP_PATCHES × CROP_PATCHES patches around objects, without end.

    A tile without an object gives a random square. The arguments are those of `tile_batches`, with
    `size` crops per batch.

    Yields:
        Crops, the labels of their tiles, the position of each patch in the whole tile, and whether
        the object covers each patch; the last two have the shape (size, patches of a crop).
    """
    rng = np.random.default_rng(seed)
    across = CELL_PX // PATCH_PX
    side = CROP_PATCHES * PATCH_PX
    top = (CELL_PX - frames.shape[1]) // 2
    centres = (np.arange(CROP_PATCHES) + 0.5) * PATCH_PX
    inner = np.arange(CROP_PATCHES)
    while True:
        chosen = np.sort(rng.integers(0, len(frames), size))
        box = boxes[chosen]
        # The first patch (column, row) of each crop: the object stands near the middle of the crop.
        shift = rng.uniform(-0.9, 0.9, (size, 2))
        around_object = np.round(box[:, :2] / PATCH_PX - CROP_PATCHES / 2 + shift)
        anywhere = rng.integers(0, across - CROP_PATCHES + 1, (size, 2))
        corner = np.where(box[:, 2:] > 0, around_object, anywhere)
        corner = corner.clip(0, across - CROP_PATCHES).astype(int)
        corner_px = corner * PATCH_PX
        tiles = np.full((size, side, side, 3), GREY, np.uint8)
        for tile, frame, (x, y) in zip(tiles, frames[chosen], corner_px, strict=True):
            # Rows of the frame that the crop shows; grey lies above and below the frame.
            first = max(y - top, 0)
            last = min(y - top + side, len(frame))
            if last > first:
                tile[first + top - y : last + top - y] = frame[first:last, x : x + side]
        x, y, diameter = (box - np.pad(corner_px, ((0, 0), (0, 1)))).T[:, :, None]
        reach = diameter / 2
        in_rows = np.abs(centres - y) < reach
        in_columns = np.abs(centres - x) < reach
        covered = torch.from_numpy(in_rows[:, :, None] & in_columns[:, None, :]).flatten(1)
        rows = corner[:, 1:] + inner
        columns = corner[:, :1] + inner
        positions = torch.from_numpy(rows[:, :, None] * across + columns[:, None, :]).flatten(1)
        yield (
            to_pixels(tiles),
            torch.from_numpy(labels[chosen].astype(np.int64)),
            positions,
            covered,
        )


def sinusoidal_positions(count: int, width: int) -> torch.Tensor:
    """Return sines and cosines of the positions of a square of patches, (count, width).

    With these as initial position embeddings, nearby patches have similar embeddings.
    """
    side = math.isqrt(count)
    quarter = width // 4
    frequencies = torch.exp(torch.arange(quarter) * -(math.log(100.0) / quarter)) * 1.5
    angles = torch.arange(side)[:, None] * frequencies
    along = torch.cat([angles.sin(), angles.cos()], 1)
    down = along[:, None].expand(-1, side, -1)
    across = along[None].expand(side, -1, -1)
    return torch.cat([down, across], 2).reshape(count, width)


class VisionTrainer(torch.nn.Module):
    """Trains the tower and the connector, with two auxiliary heads.

    The first head predicts from each patch the colour and the shape of the object that covers the
    patch. Without its loss, shapes stayed at chance, because nothing says which patches belong
    together. The second head predicts the attributes of a crop from the mean of its patches.

    The names of the submodules (`tower`, `connector`, `parts`, `pooled`) are keys of checkpoints.

    Attributes:
        tower: The vision tower of the model.
        connector: The connector of the model.
        parts: Head that predicts colour and shape from each patch.
        pooled: Head that predicts all attributes but the word from the mean of the patches.
        optimizer: Optimizer of all weights of this module.
    """

    def __init__(self, model: Idefics3ForConditionalGeneration, sizes: list[int]) -> None:
        """Prepare the training of a model whose attributes have these numbers of values."""
        super().__init__()
        self.tower = model.model.vision_model
        self.connector = model.model.connector
        width = model.config.vision_config.hidden_size
        self.parts = torch.nn.Linear(width, sizes[2] + sizes[3])
        self.pooled = torch.nn.Linear(width, sum(sizes[:4]))
        self.sizes = sizes
        self.directions = codebook(sizes).to(model.device)
        self._model = [model]  # in a list, so that the whole model does not become a submodule
        # In bfloat16 on a CPU, the gradient of PyTorch's own attention is slow.
        self.tower.config._attn_implementation = "eager"
        with torch.no_grad():
            # Without this factor, the first visual tokens would be far too long.
            self.connector.modality_projection.proj.weight *= 0.05
            positions = self.tower.embeddings.position_embedding.weight
            positions.copy_(0.5 * sinusoidal_positions(*positions.shape))
        full_rate = [
            weight for name, weight in self.named_parameters() if not name.startswith("connector.")
        ]
        groups = [
            {"params": full_rate},
            {"params": list(self.connector.parameters()), "share": CONNECTOR_RATE},
        ]
        self.optimizer = torch.optim.AdamW(
            groups, lr=PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.05
        )

    def train_on_crops(
        self,
        tiles: torch.Tensor,
        truth: torch.Tensor,
        positions: torch.Tensor,
        covered: torch.Tensor,
    ) -> tuple[float, dict[str, float]]:
        """Take one step on crops, whose patches and their mean predict what the crop shows.

        The arguments are what `crop_batches` yields.

        Returns:
            The loss, and the share of each attribute and of the patches that is predicted
            correctly.
        """
        tiles, truth, positions, covered = (
            each.to(self.directions.device) for each in (tiles, truth, positions, covered)
        )
        with autocast(tiles.device):
            patches = patch_features(self._model[0], tiles, positions)
            local, whole = self.parts(patches), self.pooled(patches.mean(1))
        loss = self._patch_loss(local.float(), truth, covered)
        scores = whole.float().split(self.sizes[:4], dim=1)
        for attribute, score in enumerate(scores):
            loss = loss + F.cross_entropy(score, truth[:, attribute])
        self._update(loss)
        return float(loss.detach()), self._accuracy(scores, local, truth, covered)

    def train_on_tiles(
        self, tiles: torch.Tensor, truth: torch.Tensor, covered: torch.Tensor
    ) -> tuple[float, dict[str, float]]:
        """Take one step on whole tiles, from which the visual tokens and the patches are predicted.

        The arguments are what `tile_batches` yields.

        Returns:
            The loss, and the share of each attribute and of the patches that is predicted
            correctly.
        """
        tiles, truth, covered = (
            each.to(self.directions.device) for each in (tiles, truth, covered)
        )
        with autocast(tiles.device):
            patches = patch_features(self._model[0], tiles)
            tokens = self.connector(patches).squeeze(1)
            local = self.parts(patches)
        tokens = tokens.float()
        local = local.float()
        scores = value_scores(tokens, self.sizes, self.directions)
        targets = target_tokens(truth, self.sizes, self.directions)
        loss = 2.0 * (tokens - targets).pow(2).sum(1).mean()
        for attribute, score in enumerate(scores):
            loss = loss + F.cross_entropy(score, truth[:, attribute])
        self._update(loss + self._patch_loss(local, truth, covered))
        return float(loss.detach()), self._accuracy(scores, local, truth, covered)

    def _accuracy(
        self,
        scores: Sequence[torch.Tensor],
        local: torch.Tensor,
        truth: torch.Tensor,
        covered: torch.Tensor,
    ) -> dict[str, float]:
        """Return the share right of each attribute in `scores`, and of the shapes of patches.

        Only patches that an object covers count.
        """
        accuracy: dict[str, float] = {}
        with torch.no_grad():
            for attribute, score in enumerate(scores):
                right = score.argmax(1) == truth[:, attribute]
                accuracy[MEASURES[attribute]] = float(right.float().mean())
            shapes = local[..., self.sizes[2] :].argmax(2) == truth[:, 3, None]
            accuracy["patches"] = float(shapes[covered].float().mean())
        return accuracy

    def _patch_loss(
        self, local: torch.Tensor, truth: torch.Tensor, covered: torch.Tensor
    ) -> torch.Tensor:
        """Return the loss of colour and shape per patch.

        The loss is the mean over all patches plus the mean over those that an object covers.
        """
        loss = torch.zeros((), device=local.device)
        for attribute, score in zip((2, 3), local.split(self.sizes[2:4], dim=2), strict=True):
            target = (truth[:, attribute, None] * covered).flatten()
            each = F.cross_entropy(score.flatten(0, 1), target, reduction="none")
            loss = loss + each.mean() + each[covered.flatten()].mean()
        return loss

    def _update(self, loss: torch.Tensor) -> None:
        """Take one step of the optimizer against a loss."""
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.optimizer.step()
