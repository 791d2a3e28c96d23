"""Reads vLLM's /metrics: tokens, hits of prefix and image cache (`vlm.counters()`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from atlaskit import limits

FIELDS = {
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:generation_tokens_total": "completion_tokens",
    "vllm:prefix_cache_queries_total": "prefix_queries",  # prompt tokens that were looked up
    "vllm:prefix_cache_hits_total": "prefix_hits",
    "vllm:mm_cache_queries_total": "image_queries",  # images that were looked up
    "vllm:mm_cache_hits_total": "image_hits",
    "vllm:request_success_total": "requests",
}
"""The name of each counter here, by vLLM's for Prometheus."""
ENGINE = re.compile(r'engine="(\d{1,6})"')


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


def read_metrics(page: str, model: str) -> Counter[str]:
    """Read a model's counters from a server's /metrics page, summed over its engines.

    Raises:
        ValueError: If the page has no counters of this model.
    """
    label, totals = _label(model), Counter[str]()
    for field, labels, value in _rows(page):
        if label in labels:
            totals[field] += round(float(value))
    if not totals:
        raise ValueError(f"no counters of {model}")
    return totals


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
