"""What must hold of every result, whatever a model says."""

from __future__ import annotations

from atlaskit.agents.budget import Budget
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones
from atlaskit.runs.events import DATA_CLASSES
from atlaskit.runs.result import Result


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
    if budget.effective_tokens is not None:
        assert result.total.effective_tokens <= budget.effective_tokens + workers * largest


def check_memory(result: Result) -> None:
    """What is ruled out was searched as far as meant and holds no evidence; and all that was, and holds none, is."""
    searched = DeadZones()
    for event in result.trace.of("report"):
        start_s, end_s = event["interval_s"]
        if event["is_open"]:
            assert event["dead_s"] == [] and event["stop"] != "finished"
            continue
        searched = searched.add(start_s, end_s)
        if not len(result.evidence.within(start_s, end_s)):
            unmarked = DeadZones(tuple(sorted(grid_s(result, path) for path in event["marked"])))
            assert all(result.dead_zones.covers(a, b) for a, b in unmarked.outside(start_s, end_s))
    for start_s, end_s in result.dead_zones.intervals:
        assert searched.covers(start_s, end_s)
        assert not len(result.evidence.within(start_s, end_s))


def check_search(result: Result) -> None:
    """Who is sent where: to open regions, all different, none dead; and each event is of its form."""
    for event in result.trace:
        DATA_CLASSES[event.kind].model_validate(event.data)
    visits: dict[tuple[int, ...], int] = {}
    for event in result.trace.of("assign"):
        zones = DeadZones(tuple(tuple(span) for span in event["dead_zones_s"]))
        paths = [tuple(sortie["path"]) for sortie in event["sorties"]]
        assert 1 <= len(set(paths)) == len(paths) <= result.settings["workers"]
        for sortie in event["sorties"]:
            assert not zones.covers(*sortie["interval_s"])
            assert len(sortie["path"]) <= result.settings["max_depth"]
        for path in paths:
            visits[path] = visits.get(path, 0) + 1
    again = {path: count for path, count in visits.items() if count > 1}
    opened = {tuple(event["path"]) for event in result.trace.of("report") if event["is_open"]}
    assert set(again.values()) <= {2} and again.keys() <= opened, "only what was not searched as far as meant"


def grid_s(result: Result, path: list[int]) -> tuple[float, float]:
    """Return the interval of a region."""
    grid = Grid(0.0, result.sheet.video.duration_s, result.settings["k"], tuple(path))
    return grid.start_s, grid.end_s
