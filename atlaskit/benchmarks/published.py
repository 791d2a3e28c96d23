"""Published results of other systems, for reference lines in figures.

These results are never rows of our own tables, because they come from other models, prompts and
numbers of frames. Each result names its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from atlaskit.errors import InputError

Split = Literal[
    "lvbench",
    "mlvu",
    "longvideobench-long",
    "videomme-long",
    "longvideobench-10hr",
    "videomme-10hr",
    "extremewhen",
    "comet",
]
"""The questions that a published number is about: those of a benchmark, those about its long videos
only, or those about videos that were joined to ten hours."""
VIDEOATLAS = "Table 1 of the VideoAtlas paper"
TEN_HOURS = "Table 2 of the VideoAtlas paper"
DVD = "Deep Video Discovery, arXiv 2505.18079"
COLLECTED = "a collection of published results, Nov. 2026"
REPOSTED = "reposted figures of the makers of the models, Nov. 2026"
SECOND_HAND = (COLLECTED, REPOSTED)
"""Sources that only repeat others' reports. We did not compare their numbers with the originals."""
QWEN = "its model card, Nov. 2026: 2 fps, up to 2,048 frames and 224K tokens of video"
EXTREMEWHEN = "ExtremeWhenBench, arXiv 2606.12300"
COMET = "CoMET-Bench, arXiv 2606.15320"


@dataclass(frozen=True)
class Published:
    """One number that somebody reports for a system."""

    system: str
    """The system, with its model."""
    split: Split
    score: float
    """Accuracy, or the value of another `metric`, in [0, 1]."""
    source: str
    """The publication that the number is from; after a semicolon, a remark, if any."""
    subtitles: bool | None = False
    """Whether the model got subtitles; None where the source does not say."""
    tokens: int | None = None
    """Mean tokens of a question, as the source counts them; None where the source has none."""
    metric: str = "accuracy"
    """Name of the metric."""

    @property
    def is_second_hand(self) -> bool:
        """Whether the source is one of SECOND_HAND."""
        return self.source.startswith(SECOND_HAND)


RESULTS: tuple[Published, ...] = (
    Published("Gemini 4 Argon", "lvbench", 0.917, REPOSTED, subtitles=None),
    Published("GPT-6 Astra", "lvbench", 0.875, REPOSTED, subtitles=None),
    Published("Opus 5.5", "lvbench", 0.837, REPOSTED, subtitles=None),
    Published("Qwen3.5-35B-A3B, native video", "lvbench", 0.714, QWEN, subtitles=None),
    Published("Qwen3.5-35B-A3B, native video", "mlvu", 0.856, QWEN, subtitles=None),
    Published(
        "an open Video-LLM, directly",
        "extremewhen",
        0.053,
        EXTREMEWHEN,
        subtitles=None,
        metric="mIoU",
    ),
    Published(
        "retrieval, then grounding",
        "extremewhen",
        0.354,
        EXTREMEWHEN,
        subtitles=None,
        metric="mIoU",
    ),
    Published("GPT-5", "comet", 0.101, COMET, subtitles=None, metric="F1@0.5"),
    Published("Gemini 3 Flash", "comet", 0.146, COMET, subtitles=None, metric="F1@0.5"),
    Published("DVD (o3)", "lvbench", 0.742, DVD),
    Published("DVD (o3)", "longvideobench-long", 0.686, COLLECTED),
    Published("DVD (o3)", "videomme-long", 0.673, COLLECTED),
    Published("AVP (Gemini-2.5-Pro)", "lvbench", 0.748, COLLECTED),
    Published("AVP (Gemini-2.5-Pro)", "longvideobench-long", 0.700, COLLECTED),
    Published("AVP (Gemini-2.5-Pro)", "videomme-long", 0.819, COLLECTED),
    Published("MR.Video", "lvbench", 0.608, COLLECTED),
    Published("MR.Video", "videomme-long", 0.634, f"{COLLECTED}; {VIDEOATLAS} has 61.8 %"),
    Published("VideoTree", "lvbench", 0.288, COLLECTED),
    Published("VideoTree", "longvideobench-long", 0.392, COLLECTED),
    Published("VideoTree", "videomme-long", 0.531, COLLECTED),
    Published("VideoAgent", "lvbench", 0.293, COLLECTED),
    Published("VideoAgent", "longvideobench-long", 0.476, COLLECTED),
    Published("VideoAgent", "videomme-long", 0.464, COLLECTED),
    Published("WorldMM (GPT)", "lvbench", 0.619, COLLECTED),
    Published("WorldMM (GPT)", "videomme-long", 0.766, COLLECTED),
    Published("GPT-4o", "longvideobench-long", 0.667, VIDEOATLAS, subtitles=None),
    Published("GPT-4o", "videomme-long", 0.653, VIDEOATLAS),
    Published("GPT-5", "longvideobench-long", 0.726, VIDEOATLAS, subtitles=None),
    Published("GPT-5", "videomme-long", 0.818, VIDEOATLAS),
    Published("Gemini-3-Flash", "longvideobench-long", 0.745, VIDEOATLAS, subtitles=None),
    Published("Claude-Opus-4.5", "longvideobench-long", 0.672, VIDEOATLAS, subtitles=None),
    Published("Claude-Opus-4.5", "videomme-long", 0.776, VIDEOATLAS),
    Published("InternVL3.5-241B", "longvideobench-long", 0.671, VIDEOATLAS, subtitles=None),
    Published("InternVL3.5-241B", "videomme-long", 0.729, VIDEOATLAS),
    Published("GLM-4.5V-106B", "longvideobench-long", 0.767, VIDEOATLAS, subtitles=None),
    Published("GLM-4.5V-106B", "videomme-long", 0.746, VIDEOATLAS),
    Published(
        "MR.Video (Gemini, GPT-4o)", "longvideobench-long", 0.616, VIDEOATLAS, subtitles=None
    ),
    Published("MR.Video (Gemini, GPT-4o)", "videomme-long", 0.618, VIDEOATLAS),
    Published("VideoARM (Qwen3-VL-235B)", "videomme-long", 0.549, VIDEOATLAS),
    Published("VideoARM (o3, 4o)", "longvideobench-long", 0.764, VIDEOATLAS, subtitles=None),
    Published("VideoARM (o3, 4o)", "videomme-long", 0.812, VIDEOATLAS),
    Published(
        "uniform, 160 frames (Qwen3.5-35B-A3B)",
        "longvideobench-long",
        0.615,
        VIDEOATLAS,
        subtitles=True,
    ),
    Published("uniform, 160 frames (Qwen3.5-35B-A3B)", "videomme-long", 0.638, VIDEOATLAS),
    Published(
        "uniform, 160 frames (Qwen3.5-35B-A3B)",
        "longvideobench-10hr",
        0.492,
        TEN_HOURS,
        subtitles=True,
        tokens=212_000,
    ),
    Published(
        "uniform, 160 frames (Qwen3.5-35B-A3B)", "videomme-10hr", 0.506, TEN_HOURS, tokens=232_000
    ),
    Published(
        "LLM over captions (GPT-4o, Qwen3.5-35B-A3B)",
        "longvideobench-long",
        0.624,
        VIDEOATLAS,
        subtitles=True,
    ),
    Published("LLM over captions (GPT-4o, Qwen3.5-35B-A3B)", "videomme-long", 0.642, VIDEOATLAS),
    Published(
        "LLM over captions (GPT-4o, Qwen3.5-35B-A3B)",
        "longvideobench-10hr",
        0.621,
        TEN_HOURS,
        subtitles=True,
        tokens=207_000,
    ),
    Published(
        "LLM over captions (GPT-4o, Qwen3.5-35B-A3B)",
        "videomme-10hr",
        0.36,
        TEN_HOURS,
        tokens=235_000,
    ),
    Published(
        "Video-RLM (Qwen3.5-35B-A3B)", "longvideobench-long", 0.525, VIDEOATLAS, subtitles=True
    ),
    Published("Video-RLM (Qwen3.5-35B-A3B)", "videomme-long", 0.504, VIDEOATLAS),
    Published(
        "Video-RLM (Qwen3.5-35B-A3B)",
        "longvideobench-10hr",
        0.477,
        TEN_HOURS,
        subtitles=True,
        tokens=146_000,
    ),
    Published("Video-RLM (Qwen3.5-35B-A3B)", "videomme-10hr", 0.497, TEN_HOURS, tokens=403_000),
    Published(
        "Video-RLM (Gemini-3-Flash)", "longvideobench-long", 0.72, VIDEOATLAS, subtitles=True
    ),
    Published("Video-RLM (Gemini-3-Flash)", "videomme-long", 0.762, VIDEOATLAS),
    Published(
        "Video-RLM (Gemini-3-Flash)",
        "longvideobench-10hr",
        0.701,
        TEN_HOURS,
        subtitles=True,
        tokens=307_000,
    ),
    Published("Video-RLM (Gemini-3-Flash)", "videomme-10hr", 0.691, TEN_HOURS, tokens=390_000),
)
"""All results. In its own rows, the paper uses subtitles on LongVideoBench and none on Video-MME.
It does not say whether the models that it quotes used subtitles on LongVideoBench."""


def published(split: Split) -> tuple[Published, ...]:
    """Return the published results on a benchmark, as reference lines for `plots.pareto`.

    Args:
        split: "lvbench", "mlvu", "extremewhen" or "comet"; "longvideobench-long" or
            "videomme-long", their long videos; or "longvideobench-10hr" or "videomme-10hr".

    Raises:
        InputError: If no number is known for the split.

    Examples:
        >>> best = max(ak.benchmarks.published("lvbench"), key=lambda each: each.score)
        >>> best.system, best.score
        ('Gemini 4 Argon', 0.917)
    """
    if split not in get_args(Split):
        raise InputError(f"split must be {', '.join(get_args(Split))}; got {split!r:.80}.")
    return tuple(result for result in RESULTS if result.split == split)
