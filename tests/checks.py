"""What must hold of every result, whatever a model says."""

from __future__ import annotations

from atlaskit.budget import Budget
from atlaskit.result import Result


def check_grounded(result: Result) -> None:
    """Promise 4, read from the trace: each item was a visible, open cell of the view in which it was given."""
    given = {}
    for event in (*result.trace.of("step"), *result.trace.of("cite")):
        for item in event["found"]:
            start_s, end_s = event["interval_s"]
            assert start_s <= item["start_s"] <= item["timestamp_s"] <= item["end_s"] <= end_s
            given[item["timestamp_s"]] = item
    for item in result.evidence:
        assert 0 <= item.timestamp_s < result.sheet.video.duration_s
        assert given[item.timestamp_s]["start_s"] == item.start_s


def check_books(result: Result, budget: Budget, largest: int = 3200, workers: int = 4) -> None:
    """Promise 10: what is charged is what the events cost, and within the budget but for the calls in flight."""
    calls = sum(event["usage"]["calls"] for event in result.trace if event.data and "usage" in event.data)
    tokens = sum(
        event["usage"]["prompt_tokens"] + event["usage"]["completion_tokens"]
        for event in result.trace
        if event.data and "usage" in event.data
    )
    assert result.total.tokens == tokens
    assert result.total.calls == calls
    if budget.calls is not None:
        assert result.total.calls <= budget.calls
    if budget.tokens is not None:
        assert result.total.tokens <= budget.tokens + workers * largest
