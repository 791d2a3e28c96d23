"""The curriculum: decides which examples train when.

Synthetic examples come first, to read and then to search; trajectories follow. nano/trials.md gives
the reasons.
"""

from __future__ import annotations

import random
from typing import Any, Literal

import language
from training_data import TrainingData

STEP_SHARES = {"step": 0.45, "probe": 0.2, "review": 0.15, "decision": 0.15, "task": 0.05}
"""Shares of the kinds of calls among the groups of trajectories."""
READING_END, SYNTHETIC_END, NAMING_END = 0.075, 0.27, 0.45
"""Up to the first share of the language model's stage, most groups are to read; up to the second,
all groups are synthetic; up to the third, the line of a listening example is always among the
view's. Where half of them had no such line, models learned nothing for 3,400 steps but to reply
that there is none."""
LISTENING, LISTENING_LATER = 0.18, 0.14
"""Share of the groups after READING_END that are to listen: before NAMING_END, and after it, when
half of them have dense subtitles and the line can be missing."""
JUDGING, JUDGING_FINISH = 0.22, 0.12
"""Share of the groups that judge evidence: after READING_END, and in the finish."""
SYNTHETIC_VIEWS = 0.18
"""Share of the groups with synthetic views, once there are trajectories."""
STRAYING_START, STRAYING, STRAYING_FINISH = 0.62, 0.15, 0.25
"""From the first share of the stage on, share of the groups with views of long worlds: up to the
finish, and in it. Trajectories have too few non-filler scenes; without these groups, models forgot
half of what they knew."""
READS_FIRST, READS = 0.85, 0.2
"""Share of reading among the groups with synthetic views, up to READING_END and after it."""
LONG, VERY_LONG = 5000, 9000
"""Characters of a prefix from which on groups are drawn less often: with the subtitles of a whole
long world, a step takes half a minute instead of 1.5 s."""


Progress = float | Literal["finish"]
"""The share of the stage that is done, or "finish" for its last part."""


def sample_group(
    data: TrainingData, rng: random.Random, progress: Progress
) -> tuple[dict[str, Any], int]:
    """Draw a group; return it with the number of its examples to take.

    A step takes few examples each of many groups: a model that sees few views per step learns
    nothing for a long time.
    """
    draw = rng.random()
    if progress == "finish":
        done, judging, straying = 1.0, JUDGING_FINISH, STRAYING_FINISH
    else:
        done, judging, straying = progress, JUDGING, STRAYING
    listening = LISTENING if done < NAMING_END else LISTENING_LATER
    if done >= READING_END and draw < listening:
        kind = "naming" if done < NAMING_END else rng.choice(("hearing", "overhearing"))
        return rng.choice(data.synthetic[kind]), 10
    if done >= READING_END and draw < listening + judging:
        return rng.choice(data.synthetic["judging"]), 5
    if done >= STRAYING_START and draw >= 1 - straying:
        return rng.choice(data.synthetic["straying"]), 3
    if done < SYNTHETIC_END or draw < listening + judging + SYNTHETIC_VIEWS:
        reads = rng.random() < (READS_FIRST if done < READING_END else READS)
        return rng.choice(data.synthetic["reading" if reads else "searching"]), 3
    return _sample_trajectory_group(data, rng), 4


def _sample_trajectory_group(data: TrainingData, rng: random.Random) -> dict[str, Any]:
    """Draw a group of trajectories by kind of call; replace an unsuitable one up to three times."""
    (step,) = rng.choices(list(STEP_SHARES), list(STEP_SHARES.values()))
    groups = data.by_step.get(step) or data.trajectories
    group = rng.choice(groups)
    for _ in range(3):
        length = len(group["prefix"])
        is_long = rng.random() < (0.9 if length > VERY_LONG else 0.5 if length > LONG else 0.0)
        is_small = len(group["examples"]) < 3 and rng.random() < 0.5
        if not (is_long or is_small or not any(map(language.is_eventful, group["examples"]))):
            break
        group = rng.choice(groups)
    return group
