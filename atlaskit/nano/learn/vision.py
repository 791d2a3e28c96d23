"""The first lesson: to see. The tower and the connector learn to say of one cell all that it shows.

Every value of every part of a sight (a colour, a place, the word of a caption …) has a direction of its own in the
space of tokens, at right angles to all others. A visual token is to be the sum of the directions of what its cell
shows, and the words for these things begin as the same directions: so what is seen is in the language of what is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from architecture import CELL, PATCH, WIDTH, patches, quickly
from transformers import Idefics3ForConditionalGeneration

TOLD = ("place", "light", "colour", "shape", "word", "patches")
"""What is told of how it goes."""
BATCH, PEAK = 128, 1e-3
BROAD = 0.1
"""Share of that pace at which the connector learns, which sums up thousands of numbers: at the whole of it, a visual
token was a hundred times too long within ten steps, and what the tower had learned was lost."""
GLIMPSES = 3
"""How many squares are learned from in the time that one tile takes."""
SQUARE = 4
"""Patches of the side of a square."""
GREY = 128
"""Of the ground that a frame lies on."""
COMMON, SHARED = 200, 0.5
"""Which direction all tokens have in common, and how much of it."""
SHARP = 10.0
"""How much the likeness to a direction counts, when a value is read off a visual token."""
PLATE = (24, 28, 36)


@lru_cache(maxsize=1)
def directions_all(seed: int = 0) -> torch.Tensor:
    """Return as many directions as there can be at right angles, (WIDTH, WIDTH)."""
    drawn = torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.linalg.qr(drawn)[0].float()


def directions(sizes: list[int]) -> torch.Tensor:
    """Return one direction for each value of each part, (sum of sizes, WIDTH), all at right angles."""
    return directions_all()[: sum(sizes)]


def summed(values: torch.Tensor, sizes: list[int], book: torch.Tensor) -> torch.Tensor:
    """Return what a visual token should be: (n, parts) indices to (n, WIDTH).

    Beside what is seen, it has a share of the direction that all tokens have in common.
    """
    offsets = torch.tensor([sum(sizes[:i]) for i in range(len(sizes))], device=values.device)
    common = SHARED * directions_all()[COMMON].to(book.device)
    return book[values.long() + offsets].sum(1) + common


def read_off(seen: torch.Tensor, sizes: list[int], book: torch.Tensor) -> list[torch.Tensor]:
    """Return the scores of each part's values: (n, WIDTH) to one (n, size) a part."""
    return list((SHARP * seen @ book.T).split(sizes, dim=1))


def boxed(frames: np.ndarray, rng: np.random.Generator | None = None) -> torch.Tensor:
    """Return frames on their grey ground, in [-1, 1]; with a generator, disturbed, and with a number's plate."""
    n, height, *_ = frames.shape
    top = (CELL - height) // 2
    tiles = np.full((n, CELL, CELL, 3), GREY, np.uint8)
    tiles[:, top : top + height] = frames
    if rng is not None:
        for tile in tiles:
            if rng.random() < 0.6:
                right = int(rng.integers(10, 24))
                tile[:14, :right] = PLATE
                tile[3:11, 3 : right - 3] = rng.integers(24, 255, (8, right - 6, 1))
    made = torch.from_numpy(tiles).permute(0, 3, 1, 2).float().div_(127.5).sub_(1)
    if rng is not None:
        made += torch.randn(n, 1, 1, 1) * 0.03
        if rng.random() < 0.2:
            made += torch.randn_like(made) * 0.03
    return made


def batches(
    frames: np.ndarray, values: np.ndarray, places: np.ndarray, size: int, seed: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield tiles, their values, and which patches the object covers, for ever; one tile in fifty is black."""
    rng = np.random.default_rng(seed)
    middles = (np.arange(CELL // PATCH) + 0.5) * PATCH
    while True:
        chosen = np.sort(rng.integers(0, len(frames), size))
        tiles, told = boxed(frames[chosen], rng), torch.from_numpy(values[chosen].astype(np.int64))
        x, y, across = places[chosen].T[:, :, None]
        reach = across / 2 + PATCH / 4
        wide, high = np.abs(middles - x) < reach, np.abs(middles - y) < reach
        covered = torch.from_numpy(high[:, :, None] & wide[:, None, :] & (across > 0)[:, :, None]).flatten(1)
        black = torch.from_numpy(rng.random(size) < 0.02)
        tiles[black], told[black], covered[black] = -1.0, 0, False
        yield tiles, told, covered


def glimpses(
    frames: np.ndarray, values: np.ndarray, places: np.ndarray, size: int, seed: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Yield squares of SQUARE × SQUARE patches cut out of tiles around their objects, with the values of the tiles, the
    places of the patches, and which of them the object covers."""
    rng, across = np.random.default_rng(seed), CELL // PATCH
    top, middles = (CELL - frames.shape[1]) // 2, (np.arange(SQUARE) + 0.5) * PATCH
    inner = np.arange(SQUARE)
    while True:
        chosen = np.sort(rng.integers(0, len(frames), size))
        where = places[chosen]
        corner = np.where(
            where[:, 2:] > 0,
            np.round(where[:, :2] / PATCH - SQUARE / 2 + rng.uniform(-0.9, 0.9, (size, 2))),
            rng.integers(0, across - SQUARE + 1, (size, 2)),
        )
        corner = corner.clip(0, across - SQUARE).astype(int)
        tiles = np.full((size, SQUARE * PATCH, SQUARE * PATCH, 3), GREY, np.uint8)
        for tile, frame, (x, y) in zip(tiles, frames[chosen], corner * PATCH, strict=True):
            first, last = max(y - top, 0), min(y - top + len(tile), len(frame))
            if last > first:
                tile[first + top - y : last + top - y] = frame[first:last, x : x + len(tile)]
        x, y, wide = (where - np.pad(corner * PATCH, ((0, 0), (0, 1)))).T[:, :, None]
        reach = wide / 2
        high, broad = np.abs(middles - y) < reach, np.abs(middles - x) < reach
        covered = torch.from_numpy(high[:, :, None] & broad[:, None, :]).flatten(1)
        rows, columns = corner[:, 1:] + inner, corner[:, :1] + inner
        at = torch.from_numpy(rows[:, :, None] * across + columns[:, None, :]).flatten(1)
        made = torch.from_numpy(tiles).permute(0, 3, 1, 2).float().div_(127.5).sub_(1)
        yield made, torch.from_numpy(values[chosen].astype(np.int64)), at, covered


def waves(count: int, width: int) -> torch.Tensor:
    """Return sines and cosines of the places of a square of patches: what is near looks alike, from the beginning."""
    side, quarter = math.isqrt(count), width // 4
    pace = torch.exp(torch.arange(quarter) * -(math.log(100.0) / quarter)) * 1.5
    along = torch.arange(side)[:, None] * pace
    one = torch.cat([along.sin(), along.cos()], 1)
    down, across = one[:, None].expand(-1, side, -1), one[None].expand(side, -1, -1)
    return torch.cat([down, across], 2).reshape(count, width)


class Learner(torch.nn.Module):
    """The tower and the connector, and what teaches them.

    Beside the whole cell, each patch is asked for the colour and shape of the object that covers it: without that,
    shapes stayed at chance, since nothing says which patches belong together.
    """

    def __init__(self, model: Idefics3ForConditionalGeneration, sizes: list[int]) -> None:
        super().__init__()
        self.tower, self.connector = model.model.vision_model, model.model.connector
        narrow = model.config.vision_config.hidden_size
        self.parts = torch.nn.Linear(narrow, sizes[2] + sizes[3])
        self.pooled = torch.nn.Linear(narrow, sum(sizes[:4]))
        self.sizes, self.book, self._model = sizes, directions(sizes).to(model.device), [model]
        self.tower.config._attn_implementation = "eager"  # in bfloat16, PyTorch's own goes back slowly on a CPU
        with torch.no_grad():
            self.connector.modality_projection.proj.weight *= 0.05  # or the first tokens are far too long
            places = self.tower.embeddings.position_embedding.weight
            places.copy_(0.5 * waves(*places.shape))
        narrow_in = [weight for name, weight in self.named_parameters() if not name.startswith("connector.")]
        groups = [{"params": narrow_in}, {"params": list(self.connector.parameters()), "share": BROAD}]
        self.guide = torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.98), weight_decay=0.05)

    def glimpse(
        self, tiles: torch.Tensor, told: torch.Tensor, at: torch.Tensor, covered: torch.Tensor
    ) -> tuple[float, dict[str, float]]:
        """Learn from squares around objects: each patch, and all together, say what there is."""
        tiles, told, at, covered = (each.to(self.book.device) for each in (tiles, told, at, covered))
        with quickly(tiles.device):
            parts = patches(self._model[0], tiles, at)
            local, whole = self.parts(parts), self.pooled(parts.mean(1))
        loss = self._of_patches(local.float(), told, covered)
        scores = whole.float().split(self.sizes[:4], dim=1)
        for part, score in enumerate(scores):
            loss = loss + F.cross_entropy(score, told[:, part])
        self._learn(loss)
        return float(loss.detach()), self._right(scores, local, told, covered)

    def _right(
        self, scores: Sequence[torch.Tensor], local: torch.Tensor, told: torch.Tensor, covered: torch.Tensor
    ) -> dict[str, float]:
        """Return the share that is right, of each part and of the patches."""
        with torch.no_grad():
            shapes = local[..., self.sizes[2] :].argmax(2) == told[:, 3, None]
            right = [(score.argmax(1) == told[:, part]).float().mean() for part, score in enumerate(scores)]
        shares = zip(TOLD, right, strict=False)
        return {**{name: float(share) for name, share in shares}, "patches": float(shapes[covered].float().mean())}

    def _of_patches(self, local: torch.Tensor, told: torch.Tensor, covered: torch.Tensor) -> torch.Tensor:
        loss = torch.zeros((), device=local.device)
        for part, score in zip((2, 3), local.split(self.sizes[2:4], dim=2), strict=True):
            each = F.cross_entropy(score.flatten(0, 1), (told[:, part, None] * covered).flatten(), reduction="none")
            loss = loss + each.mean() + each[covered.flatten()].mean()
        return loss

    def _learn(self, loss: torch.Tensor) -> None:
        self.guide.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.guide.step()

    def step(self, tiles: torch.Tensor, told: torch.Tensor, covered: torch.Tensor) -> tuple[float, dict[str, float]]:
        """Learn from one batch; return the loss, and the share that was right of each part and of the patches."""
        tiles, told, covered = (each.to(self.book.device) for each in (tiles, told, covered))
        with quickly(tiles.device):
            parts = patches(self._model[0], tiles)
            seen, local = self.connector(parts).squeeze(1), self.parts(parts)
        seen, local = seen.float(), local.float()
        scores = read_off(seen, self.sizes, self.book)
        loss = 2.0 * (seen - summed(told, self.sizes, self.book)).pow(2).sum(1).mean()
        for part, score in enumerate(scores):
            loss = loss + F.cross_entropy(score, told[:, part])
        self._learn(loss + self._of_patches(local, told, covered))
        return float(loss.detach()), self._right(scores, local, told, covered)
