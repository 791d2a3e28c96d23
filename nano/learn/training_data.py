"""The training data of a folder, loaded: trajectories, synthetic examples and labelled frames."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

NO_CELL = "-: "
"""End of the reply to a listening example without the line."""


@dataclass
class TrainingData:
    """The training data of a folder.

    Attributes:
        values: Values of each attribute of a cell's content.
        varying: Words that vary within sentences.
        counts: Counts in words, from zero.
        trajectories: Groups of examples from searches.
        held_out: Groups that are not trained on, of trajectories and synthetic examples.
        synthetic: Groups of each synthetic kind.
        frames: Pixels of labelled frames, (frames, height, width, 3).
        labels: Index of each attribute's value, (frames, attributes).
        boxes: Centre (x, y) and diameter of the object in pixels of the cell, (frames, 3).
    """

    values: list[list[str]]
    varying: list[str]
    counts: list[str]
    trajectories: list[dict[str, Any]]
    held_out: list[dict[str, Any]]
    synthetic: dict[str, list[dict[str, Any]]]
    frames: np.ndarray
    labels: np.ndarray
    boxes: np.ndarray

    @cached_property
    def by_step(self) -> dict[str, list[dict[str, Any]]]:
        """Groups of trajectories that contain each kind of call."""
        found: dict[str, list[dict[str, Any]]] = {}
        for group in self.trajectories:
            for step in {example["step"] for example in group["examples"]}:
                found.setdefault(step, []).append(group)
        return found

    @property
    def objects(self) -> list[tuple[str, str]]:
        """Every pair of a colour and a shape."""
        _, _, colours, shapes, _ = self.values
        return [(colour, shape) for colour in colours for shape in shapes if colour and shape]

    @property
    def sizes(self) -> list[int]:
        """Number of values of each attribute."""
        return [len(part) for part in self.values]


def load(folder: Path) -> TrainingData:
    """Load the training data; hold out a fiftieth of the groups of each kind."""
    trajectories, held_out = _split(_read_groups(folder, "lessons"), 80)
    synthetic = {}
    for kind in ("reading", "hearing", "overhearing", "searching", "judging", "straying"):
        synthetic[kind], more = _split(_read_groups(folder, kind), 15)
        held_out += more
    naming = (
        [each for each in group["examples"] if NO_CELL not in each["reply"]]
        for group in synthetic["hearing"]
    )
    synthetic["naming"] = [
        {**group, "examples": found}
        for group, found in zip(synthetic["hearing"], naming, strict=True)
        if found
    ]
    arrays = [
        np.concatenate([np.load(p) for p in sorted(folder.glob(f"tiles-*-{part}.npy"))])
        for part in "xyp"
    ]
    values, varying, counts = (
        json.loads((folder / f"{n}.json").read_text()) for n in ("values", "varying", "counts")
    )
    return TrainingData(
        values, [*varying, *counts], counts, trajectories, held_out, synthetic, *arrays
    )


def _split(
    groups: list[dict[str, Any]], most: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Shuffle groups and hold out a fiftieth of them, at least one and at most `most`."""
    random.Random(1).shuffle(groups)
    held_out = max(1, min(most, len(groups) // 50))
    return groups[held_out:], groups[:held_out]


def _read_groups(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [
        json.loads(line) for path in sorted(folder.glob(f"{kind}-*.jsonl")) for line in path.open()
    ]


def tokenizer_texts(data: TrainingData) -> Iterator[str]:
    """Yield the prompts and replies on which the tokenizer trains."""
    # The two kinds left out have the same words as "searching" and "hearing".
    some = (
        groups[:600]
        for kind, groups in data.synthetic.items()
        if kind not in ("straying", "overhearing")
    )
    synthetic = [group for groups in some for group in groups]
    for group in [*data.trajectories[:8000], *synthetic]:
        for example in group["examples"][:3]:
            yield group["prefix"] + example["rest"]
            yield example["reply"]
