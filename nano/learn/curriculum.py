"""The curriculum: decides which kinds of examples the language model trains on, and when.

Synthetic examples come first: mostly reading, then all other kinds. Trajectories follow.
nano/trials.md gives the reasons, and `nano.data.synthetic` explains the kinds.

The shares of the stage in this module are those of its main part; a last part, the *finish*,
follows with a mixture of its own.
"""

from __future__ import annotations

import random
from typing import Any, Literal

import language
from training_data import TrainingData

STEP_SHARES = {"step": 0.45, "probe": 0.2, "review": 0.15, "decision": 0.15, "task": 0.05}
"""Shares of the kinds of calls among the groups of trajectories."""
READING_END = 0.075
"""Share of the stage up to which most groups are reading examples."""
SYNTHETIC_END = 0.27
"""Share of the stage up to which all groups are synthetic."""
NAMING_END = 0.45
"""Share of the stage up to which the line of a hearing example is always one of the view. When half
of these examples had no such line, models learned nothing for 3,400 steps but to reply that the
line is not there."""
HEARING = 0.18
"""Share of hearing examples among the groups, from READING_END to NAMING_END."""
HEARING_LATER = 0.14
"""The same after NAMING_END, when half of these groups have dense subtitles (overhearing) and the
line can be missing."""
JUDGING = 0.22
"""Share of judging examples among the groups, from READING_END to the finish."""
JUDGING_FINISH = 0.12
"""Share of judging examples among the groups in the finish."""
SYNTHETIC_VIEWS = 0.18
"""Share of reading and searching examples among the groups, once there are trajectories."""
STRAYING_START = 0.62
"""Share of the stage from which on there are straying examples. Trajectories have few non-filler
scenes; without straying examples, models forgot half of what they knew about such scenes."""
STRAYING = 0.15
"""Share of straying examples among the groups, from STRAYING_START to the finish."""
STRAYING_FINISH = 0.25
"""Share of straying examples among the groups in the finish."""
READS_FIRST = 0.85
"""Probability that a reading or searching example is a reading one, up to READING_END."""
READS = 0.2
"""The same after READING_END."""
LONG, VERY_LONG = 5000, 9000
"""Characters of a prefix above which a group is drawn less often. With the subtitles of a whole
long world, a step takes half a minute instead of 1.5 s."""

Progress = float | Literal["finish"]
"""The share of the stage's main part that is done, or "finish"."""


def sample_group(
    data: TrainingData, rng: random.Random, progress: Progress
) -> tuple[dict[str, Any], int]:
    """Draw a group; return the group and how many of its examples to take.

    A step takes few examples each of many groups: a model that sees few views per step learns
    nothing for a long time.
    """
    draw = rng.random()
    if progress == "finish":
        done, judging, straying = 1.0, JUDGING_FINISH, STRAYING_FINISH
    else:
        done, judging, straying = progress, JUDGING, STRAYING
    hearing = HEARING if done < NAMING_END else HEARING_LATER
    if done >= READING_END and draw < hearing:
        kind = "naming" if done < NAMING_END else rng.choice(("hearing", "overhearing"))
        return rng.choice(data.synthetic[kind]), 10
    if done >= READING_END and draw < hearing + judging:
        return rng.choice(data.synthetic["judging"]), 5
    if done >= STRAYING_START and draw >= 1 - straying:
        return rng.choice(data.synthetic["straying"]), 3
    if done < SYNTHETIC_END or draw < hearing + judging + SYNTHETIC_VIEWS:
        reading = READS_FIRST if done < READING_END else READS
        kind = "reading" if rng.random() < reading else "searching"
        return rng.choice(data.synthetic[kind]), 3
    return _sample_trajectory_group(data, rng), 4


def _sample_trajectory_group(data: TrainingData, rng: random.Random) -> dict[str, Any]:
    """Draw a group of trajectories by kind of call; replace an unsuitable one up to three times.

    Some of the long and of the small groups are unsuitable, and so are all groups without an
    eventful example.
    """
    (step,) = rng.choices(list(STEP_SHARES), list(STEP_SHARES.values()))
    groups = data.by_step.get(step) or data.trajectories
    group = rng.choice(groups)
    for _ in range(3):
        length = len(group["prefix"])
        if length > VERY_LONG:
            rejected_share = 0.9
        elif length > LONG:
            rejected_share = 0.5
        else:
            rejected_share = 0.0
        is_too_long = rng.random() < rejected_share
        is_too_small = len(group["examples"]) < 3 and rng.random() < 0.5
        is_eventful = any(map(language.is_eventful, group["examples"]))
        if is_eventful and not is_too_long and not is_too_small:
            break
        group = rng.choice(groups)
    return group
