"""Invariants of every result, whatever the model replies."""

from collections.abc import Mapping
from dataclasses import replace

from atlaskit.agents.budget import Budget
from atlaskit.agents.looking import LASTS_S
from atlaskit.environment.grid import SUB_SECOND, Grid
from atlaskit.environment.mdp import Rules
from atlaskit.environment.memory import DeadZones, Seen
from atlaskit.models.protocol import Usage
from atlaskit.runs import replay
from atlaskit.runs.events import Call, Event, Failure, Step
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace


def check_all(result: Result, budget: Budget | None = None, workers: int = 4) -> None:
    """Check all of them."""
    check_grounded(result)
    check_books(result, budget or Budget(calls=200), workers=workers)
    check_memory(result)
    check_search(result)
    if result.prediction is not None:
        assert replace(result.question, answer=None).in_words(result.prediction) == result.answer


def check_grounded(result: Result) -> None:
    """Check promise 4 in the trace: each item is a cell of the view that the agent saw."""
    named = set[tuple[float, float]]()
    for look in result.trace.of("look"):
        for item in look.found:
            inside = [(a, b) for a, b in look.intervals_s if a <= item.start_s and item.end_s <= b]
            assert inside and item.start_s <= item.timestamp_s <= item.end_s
            named.add((item.timestamp_s, item.start_s))
    for event in (event for kind in ("step", "cite", "plan") for event in result.trace.of(kind)):
        for item in event.found:
            start_s, end_s = event.interval_s
            assert item.start_s <= item.timestamp_s <= item.end_s
            assert is_scanned(event, result.settings["k"]) or (start_s <= item.start_s and item.end_s <= end_s)
            named.add((item.timestamp_s, item.start_s))
    for item in result.evidence:
        assert 0 <= item.timestamp_s < result.sheet.video.duration_s
        assert (item.timestamp_s, item.start_s) in named


def is_scanned(event: Event, k: int) -> bool:
    """Return whether frames of a context scan were named: their numbers follow the cells'."""
    return isinstance(event, Step) and event.action is not None and max(event.action.cells, default=0) >= k**2


def check_books(result: Result, budget: Budget, workers: int = 4) -> None:
    """Check promise 10: the usage is the sum of the events', and within the budget.

    The calls in flight, one a worker, may exceed it.
    """
    costs = [event.usage for event in result.trace if isinstance(event, Call | Failure)]
    largest = max((cost.tokens for cost in costs), default=0)
    assert result.total == sum(costs, Usage())
    if budget.calls is not None:
        assert result.total.calls <= budget.calls
    if budget.tokens is not None:
        assert result.total.tokens <= budget.tokens + workers * largest
    if budget.effective_tokens is not None:
        assert result.total.effective_tokens <= budget.effective_tokens + workers * largest
    if budget.usd is not None and budget.prices is not None:
        dearest = budget.prices.usd(Usage(prompt_tokens=largest, completion_tokens=largest))
        assert budget.prices.usd(result.total) <= budget.usd + workers * dearest


def check_counters(result: Result, server: Mapping[str, float]) -> None:
    """Check the usage against what a server counted during the run."""
    total = result.total
    assert (server["prompt_tokens"], server["completion_tokens"]) == (total.prompt_tokens, total.completion_tokens)
    assert (server["prefix_queries"], server["prefix_hits"]) == (total.prompt_tokens, total.cached_tokens)
    assert server["image_queries"] == sum(len(call.views) * call.usage.calls for call in result.calls)
    assert server["prefix_hits"] < server["prefix_queries"] and server["image_hits"] > 0


def check_looks(result: Result) -> None:
    """Check that nothing is shown twice, and that what is dead was seen and holds nothing."""
    grain_s = next((plan.lasts_s for plan in result.trace.of("plan")), LASTS_S)
    seen, shown = Seen(), DeadZones()
    for event in result.trace.of("look"):
        for view, (start_s, end_s) in zip(event.views, event.intervals_s, strict=True):
            grid = Grid(start_s, end_s, view.k)
            assert seen.unseen(start_s, end_s, grid.resolution_s), "no stretch is shown twice at a step"
            assert grid.resolution_s >= 0.99 / result.sheet.video.fps, "no sheet is finer than frames"
            seen = seen.add(start_s, end_s, grid.resolution_s)
            shown = shown.add(start_s, end_s)
    for start_s, end_s in result.dead_zones.intervals:
        assert shown.covers(start_s, end_s) and not seen.unseen(start_s, end_s, grain_s)
        assert not len(result.evidence.within(start_s, end_s))
    assert replay.memory(result.trace) == (result.evidence, result.dead_zones)
    for event in result.trace.of("assign"):
        assert 1 <= len(event.sorties) <= result.settings["workers"]


def check_memory(result: Result) -> None:
    """Check that what is dead was opened, or seen as finely as can be, and holds no evidence."""
    if result.settings["traversal"] == "looks":
        check_looks(result)
        return
    settings, duration_s = result.settings, result.sheet.video.duration_s
    start_s, end_s = settings.get("within", (0.0, duration_s))
    rules = Rules(duration_s, settings["max_depth"], min_span_s=settings.get("min_span_s", SUB_SECOND))
    sorties = {(e.round, worker): each for e in result.trace.of("assign") for worker, each in enumerate(e.sorties)}
    searched = dict[tuple[int, int], DeadZones]()
    for event in result.trace.of("step"):
        place = (event.round, event.worker)
        grid = Grid(start_s, end_s, settings["k"], event.view.path, event.view.shift)
        if event.depth > len(sorties[place].path) or not rules.can_open(grid):
            searched[place] = searched.get(place, DeadZones()).add(*event.interval_s)
    everything = DeadZones().add_all(span for zones in searched.values() for span in zones.intervals)
    for span in result.dead_zones.intervals:
        assert everything.covers(*span), "some agent was shown it"
        assert not len(result.evidence.within(*span))
    opened_again = [i for i, e in enumerate(result.trace) if getattr(e, "alive_s", ())]
    for index, event in enumerate(result.trace):
        if event.kind != "report":
            continue
        if event.is_open:
            assert event.stop != "finished" and event.dead_s == ()
        elif not any(index < later for later in opened_again) and not len(result.evidence.within(*event.interval_s)):
            marked = [grid_s(result, path) for path in event.marked]
            for span in searched.get((event.round, event.worker), DeadZones()).without_all(marked).intervals:
                assert result.dead_zones.covers(*span)


def check_search(result: Result) -> None:
    """Check that assigned regions are distinct and not dead, and that events fit their forms."""
    assert Trace.of_rows("it", result.trace.to_json()) == result.trace
    if result.settings["traversal"] == "looks":
        return
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
