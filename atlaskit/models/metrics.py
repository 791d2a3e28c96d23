"""What a vLLM server counts of itself: tokens, and the hits of its prefix and image caches."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

NAMES = {
    "prompt_tokens": "vllm:prompt_tokens_total",
    "completion_tokens": "vllm:generation_tokens_total",
    "prefix_queries": "vllm:prefix_cache_queries_total",
    "prefix_hits": "vllm:prefix_cache_hits_total",
    "image_queries": "vllm:mm_cache_queries_total",
    "image_hits": "vllm:mm_cache_hits_total",
}


@dataclass(frozen=True)
class ServerMetrics:
    """Sums since the server started, of all who use it. Subtract two to see what lies between them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    prefix_queries: int = 0
    """Prompt tokens that were looked up in the prefix cache."""
    prefix_hits: int = 0
    """Those of them that were there."""
    image_queries: int = 0
    """Images that were looked up in the cache of processed images."""
    image_hits: int = 0

    @property
    def prefix_hit_rate(self) -> float:
        """Share of prompt tokens that needed no computing, in [0, 1]; 0 where there were none."""
        return self.prefix_hits / self.prefix_queries if self.prefix_queries else 0.0

    @property
    def image_hit_rate(self) -> float:
        """Share of images that needed no processing, in [0, 1]; 0 where there were none."""
        return self.image_hits / self.image_queries if self.image_queries else 0.0

    def __sub__(self, before: ServerMetrics) -> ServerMetrics:
        return ServerMetrics(**{f.name: getattr(self, f.name) - getattr(before, f.name) for f in fields(self)})

    def __str__(self) -> str:
        return (
            f"prefix cache {self.prefix_hit_rate:.0%} of {self.prefix_queries:,} prompt tokens, "
            f"image cache {self.image_hit_rate:.0%} of {self.image_queries:,} images"
        )


def read_counters(page: str, model: str) -> ServerMetrics:
    """Read a model's counters off a server's /metrics page, the sum of its engines; ValueError where it has none."""
    label = 'model_name="{}"'.format(model.replace("\\", r"\\").replace('"', r"\""))
    sums: dict[str, int] = {}
    for field, name in NAMES.items():
        for labels, value in re.findall(rf"^{re.escape(name)}\{{(.*)\}} (\S+)$", page, re.MULTILINE):
            if label in labels:
                sums[field] = sums.get(field, 0) + round(float(value))
    if not sums:
        raise ValueError(f"no counters of {model}")
    return ServerMetrics(**sums)
