"""The counters of a vLLM server."""

from __future__ import annotations

import pytest
from support.loopback import Loop

from atlaskit.errors import InputError
from atlaskit.models.client import VLM
from atlaskit.models.errors import ModelError
from atlaskit.models.metrics import ServerMetrics, engines_in, read_metrics

PAGE = """# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
vllm:prompt_tokens_total{engine="0",model_name="a b"} 100.0
vllm:prompt_tokens_total{engine="1",model_name="a b"} 23.0
vllm:prompt_tokens_total{engine="0",model_name="other"} 9000.0
vllm:prefix_cache_queries_total{engine="0",model_name="a b"} 1.23e+02
vllm:prefix_cache_hits_total{engine="0",model_name="a b"} 41.0
vllm:mm_cache_queries_total{engine="0",model_name="a b"} 4.0
vllm:mm_cache_hits_total{engine="0",model_name="a b"} 3.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="a b"} 5.0
vllm:request_success_total{engine="1",finished_reason="length",model_name="a b"} 2.0
"""


def test_counters_are_summed_over_the_engines_of_a_model() -> None:
    metrics = read_metrics(PAGE, "a b")
    assert metrics == ServerMetrics(123, 0, 123, 41, 4, 3, 7)
    assert metrics.prefix_hit_rate == pytest.approx(1 / 3) and metrics.image_hit_rate == 0.75
    assert metrics - metrics == ServerMetrics() and ServerMetrics().prefix_hit_rate == 0
    with pytest.raises(ValueError, match="no counters"):
        read_metrics("<html>", "a b")
    odd = PAGE.replace('"a b"', r'"a \"b\" \\ c"')
    assert read_metrics(odd, 'a "b" \\ c').prompt_tokens == 123


@pytest.mark.parametrize(
    ("page", "engines"),
    [
        (PAGE, 2),
        (PAGE.replace('engine="1"', 'engine="0"'), 1),
        (PAGE.replace('engine="0"', 'engine="3"'), 1),
        ("<html>", 1),
        ("", 1),
    ],
)
def test_the_engines_of_a_model_are_counted(page: str, engines: int) -> None:
    """Only if a request can name each of them: their numbers begin with 0."""
    assert engines_in(page, "a b") == engines
    assert engines_in(page, "other") == 1


def test_an_endpoint_without_counters_is_an_error(loop: Loop) -> None:
    with pytest.raises(InputError, match="no counters"):
        VLM(loop.url, "loop", dialect="hosted").counters()
    with pytest.raises(ModelError, match="No model answers"):
        VLM("http://127.0.0.1:9/v1", "loop", dialect="vllm").counters()
