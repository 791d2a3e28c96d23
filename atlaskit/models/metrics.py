"""`ServerMetrics`: reads vLLM's /metrics: tokens, hits of prefix and image cache
(`vlm.counters()`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

from atlaskit import limits

NAMES = {
    "prompt_tokens": "vllm:prompt_tokens_total",
    "completion_tokens": "vllm:generation_tokens_total",
    "prefix_queries": "vllm:prefix_cache_queries_total",
    "prefix_hits": "vllm:prefix_cache_hits_total",
    "image_queries": "vllm:mm_cache_queries_total",
    "image_hits": "vllm:mm_cache_hits_total",
    "requests": "vllm:request_success_total",
}
"""vLLM's Prometheus name of each field of `ServerMetrics`."""
FIELDS = {name: field for field, name in NAMES.items()}
ENGINE = re.compile(r'engine="(\d{1,6})"')


@dataclass(frozen=True)
class ServerMetrics:
    """Totals since the server started, over all its clients.

    Subtract an earlier reading from a later one to get the counts of the time between.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    prefix_queries: int = 0
    """Prompt tokens that the server looked up in its prefix cache."""
    prefix_hits: int = 0
    """Prompt tokens that it found there."""
    image_queries: int = 0
    """Images that the server looked up in its cache of processed images."""
    image_hits: int = 0
    """Images that it found there."""
    requests: int = 0
    """Requests that the server answered."""

    @property
    def prefix_hit_rate(self) -> float:
        """Share of prompt tokens found in the prefix cache, in [0, 1]; 0 without queries."""
        return self.prefix_hits / self.prefix_queries if self.prefix_queries else 0.0

    @property
    def image_hit_rate(self) -> float:
        """Share of images found in the cache of processed images, in [0, 1]; 0 without queries."""
        return self.image_hits / self.image_queries if self.image_queries else 0.0

    def __sub__(self, before: ServerMetrics) -> ServerMetrics:
        return ServerMetrics(**{f.name: getattr(self, f.name) - getattr(before, f.name) for f in fields(self)})

    def __str__(self) -> str:
        return (
            f"prefix cache {self.prefix_hit_rate:.0%} of {self.prefix_queries:,} prompt tokens, "
            f"image cache {self.image_hit_rate:.0%} of {self.image_queries:,} images"
        )


def metrics_url(base_url: str) -> str:
    """Return where a vLLM server publishes its counters, by the address of its API."""
    return f"{base_url.removesuffix('/v1')}/metrics"


def engines_in(page: str, model: str) -> int:
    """Return how many engines of a model a server's /metrics page counts, at least 1.

    Engines count only if they are numbered from 0: a request names its engine by the number.
    """
    label = _label(model)
    rows = [labels for field, labels, _ in _rows(page) if field == "prompt_tokens" and label in labels]
    found = {number for labels in rows for number in ENGINE.findall(labels)}
    return len(found) if found == set(map(str, range(len(found)))) and found else 1


def read_metrics(page: str, model: str) -> ServerMetrics:
    """Read a model's counters from a server's /metrics page, summed over its engines.

    Raises:
        ValueError: If the page has no counters of this model.
    """
    label = _label(model)
    totals: dict[str, int] = {}
    for field, labels, value in _rows(page):
        if label in labels:
            totals[field] = totals.get(field, 0) + round(float(value))
    if not totals:
        raise ValueError(f"no counters of {model}")
    return ServerMetrics(**totals)


def _rows(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield the field, the labels and the value of each line of a page that counts a field."""
    for line in page[: limits.JSON].split("\n"):
        name, _, rest = line.partition("{")
        labels, is_counter, value = rest.rpartition("} ")
        if is_counter and name in FIELDS:
            yield FIELDS[name], labels, value


def _label(model: str) -> str:
    """Return the label of a model's lines, as Prometheus writes it."""
    return 'model_name="{}"'.format(model.replace("\\", r"\\").replace('"', r"\""))
