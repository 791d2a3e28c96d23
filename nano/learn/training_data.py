"""Loads the training data of a folder: trajectories, synthetic examples and labelled frames."""

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
"""End of the reply to a hearing example whose line no cell has."""


@dataclass
class TrainingData:
    """The training data of a folder. `nano.data.examples` explains groups of examples.

    Attributes:
        values: Values of each attribute of a cell's content.
        varying: Words that vary within sentences, which are otherwise fixed: values and counts.
        counts: Counts in words, from zero.
        trajectories: Groups of examples from searches.
        held_out: Groups of trajectories and synthetic examples that are kept for the evaluation.
        synthetic: Groups of each synthetic kind. The kind "naming" has those hearing examples whose
            line is spoken in the view.
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
        """For each kind of call, the groups of trajectories that contain it."""
        groups: dict[str, list[dict[str, Any]]] = {}
        for group in self.trajectories:
            for step in {example["step"] for example in group["examples"]}:
                groups.setdefault(step, []).append(group)
        return groups

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
    """Load the training data that `nano.data.shards` wrote.

    A fiftieth of the groups of each kind is held out.
    """
    trajectories, held_out = _split(_read_groups(folder, "lessons"), most=80)
    synthetic = {}
    for kind in ("reading", "hearing", "overhearing", "searching", "judging", "straying"):
        synthetic[kind], held_out_of_kind = _split(_read_groups(folder, kind), most=15)
        held_out += held_out_of_kind
    synthetic["naming"] = []
    for group in synthetic["hearing"]:
        examples = [each for each in group["examples"] if NO_CELL not in each["reply"]]
        if examples:
            synthetic["naming"].append({**group, "examples": examples})
    counts = json.loads((folder / "counts.json").read_text())
    return TrainingData(
        values=json.loads((folder / "values.json").read_text()),
        varying=[*json.loads((folder / "varying.json").read_text()), *counts],
        counts=counts,
        trajectories=trajectories,
        held_out=held_out,
        synthetic=synthetic,
        frames=_read_array(folder, "x"),
        labels=_read_array(folder, "y"),
        boxes=_read_array(folder, "p"),
    )


def _split(
    groups: list[dict[str, Any]], most: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Shuffle groups, and return those to train on and those held out.

    A fiftieth is held out, but at least one group and at most `most`.
    """
    random.Random(1).shuffle(groups)
    held_out = max(1, min(most, len(groups) // 50))
    return groups[held_out:], groups[:held_out]


def _read_groups(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Return the groups of all shards of one kind."""
    groups = []
    for path in sorted(folder.glob(f"{kind}-*.jsonl")):
        with path.open(encoding="utf-8") as file:
            groups += [json.loads(line) for line in file]
    return groups


def _read_array(folder: Path, part: str) -> np.ndarray:
    """Return one of the arrays of labelled frames: "x" (pixels), "y" (labels) or "p" (boxes)."""
    return np.concatenate([np.load(path) for path in sorted(folder.glob(f"tiles-*-{part}.npy"))])


def tokenizer_texts(data: TrainingData) -> Iterator[str]:
    """Yield the prompts and replies on which the tokenizer trains."""
    some_groups = data.trajectories[:8000]
    for kind, groups in data.synthetic.items():
        # These two kinds have the same words as "searching" and "hearing".
        if kind not in ("straying", "overhearing"):
            some_groups += groups[:600]
    for group in some_groups:
        for example in group["examples"][:3]:
            yield group["prefix"] + example["rest"]
            yield example["reply"]
