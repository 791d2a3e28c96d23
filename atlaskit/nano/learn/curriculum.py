"""The curriculum: the teaching material in a folder, and what of it is learned when.

Drills come first, to read and then to find, and lessons from whole searches after them; docs/nano.md tells why.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import language
import numpy as np

SHARES = {"step": 0.45, "probe": 0.2, "review": 0.15, "decision": 0.15, "task": 0.05}
"""Of the kinds of calls among the groups of lessons."""
READING, DRILLING, NAMING = 0.075, 0.27, 0.45
"""Until the first part of the second stage, drills are mostly to read; until the second there is nothing but drills;
until the third, those to find what is named find it: where half the time nothing is found, that was all that was
learned in 3,400 steps."""
LISTENS, HEARING = 0.18, 0.14
"""Shares of the groups from the first part on: of drills to find what is named, and of those that may not find it, in
half of which much is said."""
NOT_NAMED = "-: "
"""The end of a reply to such a drill that finds nothing."""
DRILLED, JUDGING, JUDGING_LAST = 0.18, 0.22, 0.12
"""Shares of the groups: of drills on sheets, once there are lessons; and of those to judge what was found, from the
second part on, and at the finish."""
STRAYING, STRAYED, STRAYED_LAST = 0.62, 0.15, 0.25
"""From that part of the stage on, so many of the groups are drills on long sheets half or a little of which no filler
has, and so many at the finish: lessons have too few of these, and what was known of them after the drills was half
forgotten."""
BESIDE = {
    "overhearing": (0.14, 10),
    "hearing": (0.04, 10),
    "judging": (0.1, 5),
    "straying": (0.1, 3),
    "searching": (0.1, 3),
    "reading": (0.02, 3),
}
"""The drills beside the lessons of a model that goes on: the share of the groups, and how many of a group."""
READS_FIRST, READS = 0.85, 0.2
"""Of the drills on sheets, in the first part and after it."""
LONG, VERY_LONG = 5000, 9000
"""Characters of a start from which on groups are drawn less often: what is said in a whole film takes a step of 1.5 s
half a minute."""


Part = float | Literal["finish", "practice"]
"""Where a stage is: the share that lies behind, or its finish; or what is done by a model that goes on."""


@dataclass
class Lot:
    """The teaching material in a folder."""

    values: list[list[str]]
    varying: list[str]
    """Words that vary in sentences that stay the same."""
    counts: list[str]
    """Numbers in words, from zero."""
    rows: list[dict[str, Any]]
    """Groups of lessons from searches."""
    held: list[dict[str, Any]]
    """Groups that are not learned from: lessons and drills."""
    drills: dict[str, list[dict[str, Any]]]
    frames: np.ndarray
    codes: np.ndarray
    places: np.ndarray

    @cached_property
    def by_kind(self) -> dict[str, list[dict[str, Any]]]:
        """The groups of lessons that have a kind of call among them."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows:
            for kind in {example["step"] for example in row["examples"]}:
                found.setdefault(kind, []).append(row)
        return found

    @property
    def objects(self) -> list[tuple[str, str]]:
        """Every colour and shape that go together."""
        _, _, colours, shapes, _ = self.values
        return [(colour, shape) for colour in colours for shape in shapes if colour and shape]

    @property
    def sizes(self) -> list[int]:
        """How many values each part of a sight has."""
        return [len(part) for part in self.values]


def material(folder: Path) -> Lot:
    """Read the material; a fiftieth of the lessons and of each kind of drills is held back, to see how it goes."""
    rows, held = _parted(_rows(folder, "lessons"), 80)
    drills = {}
    for kind in ("reading", "hearing", "overhearing", "searching", "judging", "straying"):
        drills[kind], more = _parted(_rows(folder, kind), 15)
        held += more
    named = ([each for each in row["examples"] if NOT_NAMED not in each["reply"]] for row in drills["hearing"])
    drills["naming"] = [
        {**row, "examples": found} for row, found in zip(drills["hearing"], named, strict=True) if found
    ]
    parts = [np.concatenate([np.load(p) for p in sorted(folder.glob(f"tiles-*-{part}.npy"))]) for part in "xyp"]
    values, varying, counts = (json.loads((folder / f"{n}.json").read_text()) for n in ("values", "varying", "counts"))
    return Lot(values, [*varying, *counts], counts, rows, held, drills, *parts)


def _parted(rows: list[dict[str, Any]], most: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Shuffle groups of lessons, and hold some back: a fiftieth, at least one and at most so many."""
    random.Random(1).shuffle(rows)
    held = max(1, min(most, len(rows) // 50))
    return rows[held:], rows[:held]


def _rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob(f"{kind}-*.jsonl")) for line in path.open()]


def chosen(lot: Lot, rng: random.Random, part: Part) -> tuple[dict[str, Any], int]:
    """Draw a group of lessons, and how many of it to take: drills at first; then each kind of call has its share, and
    rather where there is something to be seen.

    Few of a group, and many groups: one step must see many sheets, or it learns nothing for long.
    """
    drawn = rng.random()
    if part == "practice":
        for kind, (share, count) in BESIDE.items():
            drawn -= share
            if drawn < 0:
                return rng.choice(lot.drills[kind]), count
        return _lesson(lot, rng), 4
    done, judges, strays = (1.0, JUDGING_LAST, STRAYED_LAST) if part == "finish" else (part, JUDGING, STRAYED)
    hears = LISTENS if done < NAMING else HEARING
    if done >= READING and drawn < hears:
        heard = "naming" if done < NAMING else rng.choice(("hearing", "overhearing"))
        return rng.choice(lot.drills[heard]), 10
    if done >= READING and drawn < hears + judges:
        return rng.choice(lot.drills["judging"]), 5
    if done >= STRAYING and drawn >= 1 - strays:
        return rng.choice(lot.drills["straying"]), 3
    if done < DRILLING or drawn < hears + judges + DRILLED:
        reads = rng.random() < (READS_FIRST if done < READING else READS)
        return rng.choice(lot.drills["reading" if reads else "searching"]), 3
    return _lesson(lot, rng), 4


def _lesson(lot: Lot, rng: random.Random) -> dict[str, Any]:
    """Draw a group of lessons from searches."""
    (kind,) = rng.choices(list(SHARES), list(SHARES.values()))
    rows = lot.by_kind.get(kind) or lot.rows
    row = rng.choice(rows)
    for _ in range(3):
        length = len(row["prefix"])
        is_long = rng.random() < (0.9 if length > VERY_LONG else 0.5 if length > LONG else 0.0)
        is_small = len(row["examples"]) < 3 and rng.random() < 0.5
        if not (is_long or is_small or not any(map(language.is_eventful, row["examples"]))):
            break
        row = rng.choice(rows)
    return row


def texts(lot: Lot) -> Iterator[str]:
    """Yield prompts and replies from which the tokenizer is made."""
    told = (rows[:600] for kind, rows in lot.drills.items() if kind not in ("straying", "overhearing"))
    # Which have the words of searching and of hearing.
    drills = [row for rows in told for row in rows]
    for row in [*lot.rows[:8000], *drills]:
        for example in row["examples"][:3]:
            yield row["prefix"] + example["rest"]
            yield example["reply"]
