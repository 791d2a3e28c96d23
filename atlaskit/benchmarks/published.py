"""Published results of other systems, to stand beside a figure: never a row of a table of ours.

They are of other models, prompts and numbers of frames, and without subtitles. Each has its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from atlaskit.errors import InputError

Split = Literal["lvbench", "longvideobench-long", "videomme-long"]
"""The questions that published numbers are about: a benchmark, or its longest videos."""
VIDEOATLAS = "Table 1 of the VideoAtlas paper"
DVD = "Deep Video Discovery, arXiv 2505.18079"
COLLECTED = "a collection of published results, Nov. 2026"
"""Second-hand: compared with the collection, not with each system's own paper."""


@dataclass(frozen=True)
class Published:
    """What the authors of a system report, or others report of it."""

    system: str
    """The system and its model."""
    split: Split
    score: float
    """Accuracy without subtitles, in [0, 1]."""
    source: str
    """Where the number is from."""


RESULTS = (
    Published("DVD (o3)", "lvbench", 0.742, DVD),
    Published("DVD (o3)", "longvideobench-long", 0.686, COLLECTED),
    Published("DVD (o3)", "videomme-long", 0.673, COLLECTED),
    Published("AVP (Gemini-2.5-Pro)", "lvbench", 0.748, COLLECTED),
    Published("AVP (Gemini-2.5-Pro)", "longvideobench-long", 0.700, COLLECTED),
    Published("AVP (Gemini-2.5-Pro)", "videomme-long", 0.819, COLLECTED),
    Published("VideoARM (o3, 4o)", "longvideobench-long", 0.764, VIDEOATLAS),
    Published("VideoARM (o3, 4o)", "videomme-long", 0.812, VIDEOATLAS),
    Published("MR.Video", "lvbench", 0.608, COLLECTED),
    Published("MR.Video", "longvideobench-long", 0.616, VIDEOATLAS),
    Published("MR.Video", "videomme-long", 0.634, f"{COLLECTED}; not checked: {VIDEOATLAS} has 61.8 %"),
    Published("VideoTree", "lvbench", 0.288, COLLECTED),
    Published("VideoTree", "longvideobench-long", 0.392, COLLECTED),
    Published("VideoTree", "videomme-long", 0.531, COLLECTED),
    Published("VideoAgent", "lvbench", 0.293, COLLECTED),
    Published("VideoAgent", "longvideobench-long", 0.476, COLLECTED),
    Published("VideoAgent", "videomme-long", 0.464, COLLECTED),
    Published("WorldMM (GPT)", "lvbench", 0.619, COLLECTED),
    Published("WorldMM (GPT)", "videomme-long", 0.766, COLLECTED),
    Published("Video-RLM (Gemini-3-Flash)", "longvideobench-long", 0.720, VIDEOATLAS),
    Published("Video-RLM (Gemini-3-Flash)", "videomme-long", 0.762, VIDEOATLAS),
)


def published(split: Split) -> tuple[Published, ...]:
    """Return what is published about a benchmark, as reference lines for `plots.pareto`.

    Args:
        split: "lvbench", or "longvideobench-long" or "videomme-long": their long videos.

    Raises:
        InputError: If nothing is known about it.

    Examples:
        >>> best = max(ak.benchmarks.published("lvbench"), key=lambda each: each.score)
        >>> best.system, best.score
        ('AVP (Gemini-2.5-Pro)', 0.748)
    """
    if split not in get_args(Split):
        raise InputError(f"split must be {', '.join(get_args(Split))}; got {split!r:.80}.")
    return tuple(result for result in RESULTS if result.split == split)
