"""A policy for the gym that uses pixels: `ScanPolicy` scans the video, then keeps chosen frames.

A policy is a function from an environment to its next action. `ScanPolicy` is a baseline beside
`greedy_policy`: it uses pixels and the words of the question, never the truth. A function chooses
the frames to keep. The functions in this module use only colours: they find cuts, and compare each
frame with the other frames of its shot. Notebook 13 uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import ImageColor

from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.gym import AtlasEnv, as_action
from atlaskit.video.readers import Pixels
from examples.policies import Env, base_env

Choose: TypeAlias = Callable[[Question, Pixels, int], Sequence[int]]
"""A function that returns the indices of the frames to keep. Its arguments are the question, the
frames in order of time, (n, height, width, 3), and the largest number of frames to keep."""

CUT = 0.25
"""Least share of the picture whose colours change at a cut."""
APART = 4
"""Least number of frames between two frames that `most_changed` chooses."""
VIVID = ("red", "orange", "yellow", "green", "blue", "purple", "white", "pink")
NAMES = (*VIVID, "black", "grey", "lightblue", "navy", "darkgreen", "beige")
"""Names of colours, of which each pixel gets the nearest; objects have the vivid ones."""
LEVELS = 6
"""Number of levels of red, of green and of blue to which colours are rounded."""


class ScanPolicy:
    """A policy that opens every cell of the root grid once, and then keeps the frames it chooses.

    It needs depth-first traversal, two steps for each root cell, and a few for each frame to keep.
    A policy remembers the frames of its episode, so use it for one environment at a time.

    Examples:
        >>> from atlaskit.gym import AtlasEnv
        >>> from examples.pixel_policies import ScanPolicy, most_changed
        >>> from examples.policies import rollout
        >>> env = AtlasEnv(video, question, task="summary", k=4, cell=32, max_steps=96)
        >>> reward, steps = rollout(env, ScanPolicy(most_changed))
    """

    def __init__(self, choose: Choose) -> None:
        """Take the function that chooses frames: `named_colour`, `rarest`, `most_changed`, …"""
        self.choose = choose
        self._seen: dict[int, Pixels] = {}
        self._chosen: list[int] | None = None

    def __call__(self, env: Env) -> Any:
        """Return the next action.

        Raises:
            InputError: The environment is not an `AtlasEnv`, or searches breadth-first.
        """
        base = base_env(env)
        if base.state.rules.traversal != "dfs":
            raise InputError("A ScanPolicy opens cells and goes back, so it needs traversal='dfs'.")
        if base.steps == 0:
            self._seen = {}
            self._chosen = None
        if self._chosen is None:
            return base.encode(self._look(base))
        return base.encode(self._keep(base, self._chosen))

    def _look(self, env: AtlasEnv) -> dict[str, int]:
        """Return the action that opens the next root cell; once all were open, choose frames."""
        if env.state.depth > 0:
            self._seen[env.state.grid.path[0]] = frames_of(env)
            return as_action("backtrack")
        following = len(self._seen)
        if following < env.atlas.root.size and env.observation.legal["expand"]:
            return as_action("expand", following)
        frames = [self._seen[cell] for cell in sorted(self._seen)] or [frames_of(env)]
        most = env.rewarded.most_kept or len(frames) * len(frames[0])
        self._chosen = sorted(self.choose(env.question, np.concatenate(frames), most))[:most]
        return self._keep(env, self._chosen)

    def _keep(self, env: AtlasEnv, chosen: list[int]) -> dict[str, int]:
        """Return the action that keeps the next chosen frame, or leads to it."""
        kept = len(env.state.scratchpad)
        if kept >= len(chosen):
            return as_action("finished")
        root_cell, cell = divmod(chosen[kept], env.atlas.root.size)
        if env.state.depth == 0 and self._seen:
            return as_action("expand", root_cell)
        if self._seen and env.state.grid.path[0] != root_cell:
            return as_action("backtrack")
        return as_action("add_to_scratchpad", cell)


def frames_of(env: AtlasEnv) -> Pixels:
    """Return the frames of the current grid, (k², height, width, 3), in order of time."""
    view = env.observation.view
    width, height = view.cell_size
    pixels = np.asarray(view.image)
    k = view.grid.k
    return pixels.reshape(k, height, k, width, 3).swapaxes(1, 2).reshape(k * k, height, width, 3)


def named_colour(question: Question, frames: Pixels, most: int) -> Sequence[int]:
    """Choose frames that have more of the question's colour than is usual in their shot.

    No frame is chosen if the question names no vivid colour, or if no frame has more of it.
    """
    named = [VIVID.index(word) for word in question.text.split() if word in VIVID]
    if not named:
        return ()
    pixels = _within_margins(frames)
    new = _above_ground(_vivid(pixels), _shots(_palette(pixels)))[:, named[0]]
    return _runs(new, len(frames) if question.several else 1)


def rarest(question: Question, frames: Pixels, most: int) -> Sequence[int]:
    """Choose frames with a vivid colour that is unusual in their shot and in all other shots."""
    pixels = _within_margins(frames)
    shots = _shots(_palette(pixels))
    new = _above_ground(_vivid(pixels), shots)
    elsewhere = [
        np.delete(new, range(shot.start, shot.stop), axis=0).max(axis=0, initial=0)
        for shot in shots
    ]
    rare = [
        new[shot] - most_of_others for shot, most_of_others in zip(shots, elsewhere, strict=True)
    ]
    return _runs(np.concatenate(rare).max(axis=1), 1)


def most_changed(question: Question, frames: Pixels, most: int) -> Sequence[int]:
    """Choose frames, apart in time, whose colours differ most from those usual in their shot."""
    palette = _palette(_within_margins(frames))
    chosen = list[int]()
    change = _above_ground(palette, _shots(palette)).sum(axis=1)
    while len(chosen) < most and change.max() >= 0:
        best = int(change.argmax())
        chosen.append(best)
        change[max(0, best - APART) : best + APART + 1] = -1
    return chosen


def _within_margins(frames: Pixels) -> NDArray[np.int64]:
    """Return the pixels of frames, (n, pixels, 3), without rows and columns that never change."""
    changes = np.ptp(frames, axis=0).any(axis=-1)
    inside = frames[:, changes.any(axis=1)][:, :, changes.any(axis=0)]
    return inside.reshape(len(frames), -1, 3).astype(int)


def _palette(pixels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each of LEVELS³ colours in each frame, (n, colours)."""
    levels = pixels * LEVELS // 256
    return _shares((levels[..., 0] * LEVELS + levels[..., 1]) * LEVELS + levels[..., 2], LEVELS**3)


def _shares(colours: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return the share of each of `count` colours in each frame, (n, count).

    `colours` has the number of the colour of each pixel, (n, pixels).
    """
    counts = np.stack([np.bincount(row, minlength=count) for row in colours])
    return np.asarray(counts / max(1, colours.shape[1]))


def _shots(palette: NDArray[np.float64]) -> list[slice]:
    """Return the frames of each shot; a shot ends where the palette changes."""
    changes = np.abs(np.diff(palette, axis=0)).sum(axis=1) / 2
    cuts = [0, *(np.flatnonzero(changes > CUT) + 1).tolist(), len(palette)]
    return [slice(first, last) for first, last in pairwise(cuts)]


def _above_ground(shares: NDArray[np.float64], shots: Sequence[slice]) -> NDArray[np.float64]:
    """Return by how much each share exceeds its median in the shot; 0 where it does not."""
    above: NDArray[np.float64] = np.concatenate(
        [shares[shot] - np.median(shares[shot], axis=0) for shot in shots]
    )
    return above.clip(0)


def _vivid(pixels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each frame the share of pixels that are nearest to each vivid colour."""
    away = [((pixels - ImageColor.getrgb(name)) ** 2).sum(axis=-1) for name in NAMES]
    return _shares(np.argmin(away, axis=0), len(NAMES))[:, : len(VIVID)]


def _runs(scores: NDArray[np.float64], most: int) -> list[int]:
    """Return the frames of the best runs, at most `most` runs.

    A run is a series of neighbours that score at least half as high as the best frame.
    """
    high = scores >= max(scores.max() / 2, 1e-9)
    chosen = list[int]()
    while len(scores) and most and high.any():
        first = last = int(np.where(high, scores, -1).argmax())
        while first > 0 and high[first - 1]:
            first -= 1
        while last + 1 < len(scores) and high[last + 1]:
            last += 1
        chosen += range(first, last + 1)
        high[first : last + 1] = False
        most -= 1
    return chosen
