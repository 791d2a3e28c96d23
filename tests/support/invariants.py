"""Invariants of every result, whatever the model replies."""

from __future__ import annotations

from atlaskit.agents.budget import Budget
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones
from atlaskit.models.protocol import Usage
from atlaskit.runs.events import Call, Failure
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace


def check_grounded(result: Result) -> None:
    """Check promise 4 in the trace: each item is a cell of the view that the agent saw."""
    named = {}
    for event in (*result.trace.of("step"), *result.trace.of("cite")):
        for item in event.found:
            start_s, end_s = event.interval_s
            assert start_s <= item.start_s <= item.timestamp_s <= item.end_s <= end_s
            named[item.timestamp_s] = item
    for item in result.evidence:
        assert 0 <= item.timestamp_s < result.sheet.video.duration_s
        assert named[item.timestamp_s].start_s == item.start_s


def check_books(result: Result, budget: Budget, largest: int = 3200, workers: int = 4) -> None:
    """Check promise 10: the usage is the sum of the events', and within the budget.

    Args:
        result: The result.
        budget: Its budget.
        largest: Maximum tokens of one call; calls in flight may exceed the budget.
        workers: Maximum number of calls in flight.
    """
    calls = sum(event.usage.calls for event in result.trace if isinstance(event, Call | Failure))
    tokens = sum(
        event.usage.prompt_tokens + event.usage.completion_tokens
        for event in result.trace
        if isinstance(event, Call | Failure)
    )
    assert result.total.tokens == tokens
    assert result.total.calls == calls
    if budget.calls is not None:
        assert result.total.calls <= budget.calls
    if budget.tokens is not None:
        assert result.total.tokens <= budget.tokens + workers * largest
    if budget.effective_tokens is not None:
        assert result.total.effective_tokens <= budget.effective_tokens + workers * largest
    if budget.usd is not None and budget.prices is not None:
        dearest = budget.prices.usd(Usage(prompt_tokens=largest, completion_tokens=largest))
        assert budget.prices.usd(result.total) <= budget.usd + workers * dearest


def check_memory(result: Result) -> None:
    """Check that the dead zones are the regions that were explored to the end without findings."""
    explored = DeadZones()
    reopened = [index for index, event in enumerate(result.trace) if event.kind == "reopen"]
    for index, event in enumerate(result.trace):
        if event.kind != "report":
            continue
        start_s, end_s = event.interval_s
        if event.is_open:
            assert event.stop != "finished" and event.dead_s == ()
            continue
        explored = explored.add(start_s, end_s)
        if event.shift:  # what it was shifted from is ruled out with it
            explored = explored.add_all([grid_s(result, event.path)])
        if any(index < later for later in reopened):
            continue  # the second look may have opened it again
        if not len(result.evidence.within(start_s, end_s)):
            unmarked = DeadZones(tuple(sorted(grid_s(result, path) for path in event.marked)))
            assert all(result.dead_zones.covers(a, b) for a, b in unmarked.outside(start_s, end_s))
    for start_s, end_s in result.dead_zones.intervals:
        assert explored.covers(start_s, end_s)
        assert not len(result.evidence.within(start_s, end_s))


def check_search(result: Result) -> None:
    """Check that assigned regions are distinct and not dead, and that events fit their forms."""
    assert Trace.of_rows("it", result.trace.to_json()) == result.trace
    visits: dict[tuple[int, ...], int] = {}
    rounds = [event.round for event in result.trace.of("assign")]
    assert len(set(rounds)) == len(rounds), "each assignment has a round of its own"
    for event in result.trace.of("assign"):
        zones = DeadZones(event.dead_zones_s)
        paths = [(assignment.shift, *assignment.path) for assignment in event.sorties]
        assert 1 <= len(set(paths)) == len(paths) <= result.settings["workers"]
        for assignment in event.sorties:
            assert not zones.covers(*assignment.interval_s)
            assert len(assignment.path) <= result.settings["max_depth"]
        for path in paths:
            visits[path] = visits.get(path, 0) + 1
    repeated = {path: count for path, count in visits.items() if count > 1}
    reports = result.trace.of("report")
    left_open = {(event.shift, *event.path) for event in reports if event.is_open}
    assert set(repeated.values()) <= {2}, "no region is visited more than twice"
    assert repeated.keys() <= left_open, "only a region that stayed open is visited twice"


def grid_s(result: Result, path: list[int]) -> tuple[float, float]:
    """Return the interval of a region in seconds, by its path."""
    grid = Grid(0.0, result.sheet.video.duration_s, result.settings["k"], tuple(path))
    return grid.start_s, grid.end_s
