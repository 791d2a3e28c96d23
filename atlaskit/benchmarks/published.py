"""Published results of other systems, to stand beside a figure: never a row of a table of ours.

They are of other models, prompts and numbers of frames. Each has its source.
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
"""The questions that published numbers are about: a benchmark, its longest videos, or these
concatenated to ten hours."""
VIDEOATLAS = "Table 1 of the VideoAtlas paper"
TEN_HOURS = "Table 2 of the VideoAtlas paper"
DVD = "Deep Video Discovery, arXiv 2505.18079"
COLLECTED = "a collection of published results, Nov. 2026"
REPOSTED = "reposted figures of the makers of the models, Nov. 2026"
SECOND_HAND = (COLLECTED, REPOSTED)
"""Sources that repeat what others report: nobody compared these numbers with the first source."""
QWEN = "its model card, Nov. 2026: 2 fps, up to 2,048 frames and 224K tokens of video"
EXTREMEWHEN = "ExtremeWhenBench, arXiv 2606.12300"
COMET = "CoMET-Bench, arXiv 2606.15320"


@dataclass(frozen=True)
class Published:
    """What the authors of a system report, or others report of it."""

    system: str
    """The system and its model."""
    split: Split
    score: float
    """Accuracy, or another `metric`, in [0, 1]."""
    source: str
    """Where the number is from."""
    subtitles: bool | None = False
    """Whether the model got subtitles; None where the source does not say it."""
    tokens: int | None = None
    """Mean tokens a question, as the source counts them; None where it has none."""
    metric: str = "accuracy"
    """What the score is."""

    @property
    def is_second_hand(self) -> bool:
        """Whether the source repeats what others report."""
        return self.source.startswith(SECOND_HAND)


LONG: tuple[Split, ...] = ("longvideobench-long", "videomme-long")
TEN: tuple[Split, ...] = ("longvideobench-10hr", "videomme-10hr")
RESULTS: tuple[Published, ...] = (
    Published("Gemini 4 Argon", "lvbench", 0.917, REPOSTED, None),
    Published("GPT-6 Astra", "lvbench", 0.875, REPOSTED, None),
    Published("Opus 5.5", "lvbench", 0.837, REPOSTED, None),
    Published("Qwen3.5-35B-A3B, native video", "lvbench", 0.714, QWEN, None),
    Published("Qwen3.5-35B-A3B, native video", "mlvu", 0.856, QWEN, None),
    Published(
        "an open Video-LLM, directly", "extremewhen", 0.053, EXTREMEWHEN, None, metric="mIoU"
    ),
    Published("retrieval, then grounding", "extremewhen", 0.354, EXTREMEWHEN, None, metric="mIoU"),
    Published("GPT-5", "comet", 0.101, COMET, None, metric="F1@0.5"),
    Published("Gemini 3 Flash", "comet", 0.146, COMET, None, metric="F1@0.5"),
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
    *(
        Published(system, split, score, VIDEOATLAS, subtitles)
        for system, scores in (
            ("GPT-4o", (0.667, 0.653)),
            ("GPT-5", (0.726, 0.818)),
            ("Gemini-3-Flash", (0.745, None)),
            ("Claude-Opus-4.5", (0.672, 0.776)),
            ("InternVL3.5-241B", (0.671, 0.729)),
            ("GLM-4.5V-106B", (0.767, 0.746)),
            ("MR.Video (Gemini, GPT-4o)", (0.616, 0.618)),
            ("VideoARM (Qwen3-VL-235B)", (None, 0.549)),
            ("VideoARM (o3, 4o)", (0.764, 0.812)),
        )
        for split, score, subtitles in zip(LONG, scores, (None, False), strict=True)
        if score is not None
    ),
    *(
        Published(system, split, score, source, subtitles, tokens)
        for system, long, ten_hours in (
            (
                "uniform, 160 frames (Qwen3.5-35B-A3B)",
                (0.615, 0.638),
                ((0.492, 212_000), (0.506, 232_000)),
            ),
            (
                "LLM over captions (GPT-4o, Qwen3.5-35B-A3B)",
                (0.624, 0.642),
                ((0.621, 207_000), (0.360, 235_000)),
            ),
            ("Video-RLM (Qwen3.5-35B-A3B)", (0.525, 0.504), ((0.477, 146_000), (0.497, 403_000))),
            ("Video-RLM (Gemini-3-Flash)", (0.720, 0.762), ((0.701, 307_000), (0.691, 390_000))),
        )
        for splits, scores, source in (
            (LONG, [(score, None) for score in long], VIDEOATLAS),
            (TEN, ten_hours, TEN_HOURS),
        )
        for split, (score, tokens), subtitles in zip(splits, scores, (True, False), strict=True)
    ),
)
"""LongVideoBench has subtitles, of which the paper's own rows make use; Video-MME is without. The
paper does not say it of the models on LongVideoBench whose numbers it quotes."""


def published(split: Split) -> tuple[Published, ...]:
    """Return what is published about a benchmark, as reference lines for `plots.pareto`.

    Args:
        split: "lvbench", "mlvu", "extremewhen" or "comet"; "longvideobench-long" or
            "videomme-long", their long videos; or "longvideobench-10hr" or "videomme-10hr".

    Raises:
        InputError: If nothing is known about it.

    Examples:
        >>> best = max(ak.benchmarks.published("lvbench"), key=lambda each: each.score)
        >>> best.system, best.score
        ('Gemini 4 Argon', 0.917)
    """
    if split not in get_args(Split):
        raise InputError(f"split must be {', '.join(get_args(Split))}; got {split!r:.80}.")
    return tuple(result for result in RESULTS if result.split == split)
