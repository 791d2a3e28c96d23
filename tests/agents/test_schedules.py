"""`schedule="continuous"`: no worker waits for another, and the result depends on replies alone."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Unpack

import pytest
from support.invariants import check_books, check_grounded, check_memory, check_search
from support.model_doubles import Counting, Flaky, Slow
from support.searches import of_category, search, search_small

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.runs import replay
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.viz.live.snapshots import Snapshot

FLOW = {"schedule": "continuous"}


@pytest.fixture(scope="module")
def halted(small_world: World) -> tuple[Result, list[Event], Cache]:
    """A run that ended while workers were under way, the events it emitted, and its cache."""
    cache, events = Cache(None), list[Event]()
    for seed in range(40):
        oracle = Slow(Oracle(small_world, 0.6, 0.3, seed), seed)
        question = small_world.questions[seed % len(small_world.questions)]
        events.clear()
        result = search_small(small_world, question, oracle, cache, workers=9, on_event=events.append, **FLOW)
        if any(event["stop"] == "halted" for event in result.trace.of("report")):
            return result, events, cache
    raise AssertionError("no run ended while workers were under way")


def test_what_is_under_way_at_the_end_is_cut_at_one_logical_time(
    halted: tuple[Result, list[Event], Cache], small_world: World
) -> None:
    result, *_ = halted
    cut = [event for event in result.trace.of("report") if event["stop"] == "halted"]
    assert all(event["is_open"] and not event["kept"] and not event["dead_s"] for event in cut)
    assert "halted" in result.stops.worker
    check_grounded(result)
    check_books(result, Budget(calls=200))
    check_memory(result)
    check_search(result)
    assert result.spent.calls >= result.total.calls, "calls beyond the end are paid, and no part of the run"


def test_it_replays_without_a_call(halted: tuple[Result, list[Event], Cache], small_world: World) -> None:
    """The recording may lack a call that another timing would begin before the end."""
    result, _, cache = halted
    oracle = Oracle(small_world, 0.6, 0.3, seed=result.settings["parameters"]["seed"])
    for threads in (1, 6):
        model = Counting(oracle)
        options = {"workers": 9, "threads": threads, "replay": True}
        again = search_small(small_world, result.question, model, cache, **options, **FLOW)
        assert (again.to_json(), model.calls) == (result.to_json(), [])


def test_a_call_that_was_not_recorded_ends_a_replay(small_world: World) -> None:
    with pytest.raises(Unrecorded):
        search_small(small_world, small_world.questions[0], Oracle(small_world), Cache(None), replay=True, **FLOW)


def test_its_trace_is_read_drawn_and_followed(
    halted: tuple[Result, list[Event], Cache], small_world: World, tmp_path: Path
) -> None:
    result, events, cache = halted
    result.trace.save(tmp_path / "run.jsonl")
    assert Trace.load(tmp_path / "run.jsonl").to_json() == result.trace.to_json()
    memory = replay.memory(result.trace)
    assert (memory.scratchpad.items, memory.dead_zones) == (result.evidence.items, result.dead_zones)
    assert len(list(replay.pictures(result.trace, small_world.drawn, cache))) > 0  # each is compared with its key
    snapshot = Snapshot()
    for event in events:  # as they happened
        snapshot = snapshot.after_event(event)
    assert snapshot.is_over and not snapshot.visits


def test_a_free_worker_does_not_wait_for_a_slow_one(long_world: World, cache: Cache) -> None:
    """One visit hangs until others have been assigned after it: in rounds it never would end."""
    has_second_round, question = threading.Event(), of_category(long_world, "SSS")

    class Hanging(Oracle):
        """Hangs in the third call of a visit, when all others end with their second."""

        is_used = False

        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            if request.step == "step" and len(request.facts.actions) == 2 and not Hanging.is_used:
                Hanging.is_used = True
                assert has_second_round.wait(60)
            return super().complete(request, **control)

    def notice(event: Event) -> None:
        if event.kind == "assign" and event.round > 1:
            has_second_round.set()

    result = search(long_world, question, cache, Hanging(long_world), workers=3, on_event=notice, **FLOW)
    assert Hanging.is_used and result.is_right
    order = [(event.kind, event.round) for event in result.trace if event.kind in ("assign", "report")]
    assert order.index(("assign", 2)) < len(order) - 1 - order[::-1].index(("report", 1))


@pytest.mark.parametrize(
    ("stop", "options"),
    [
        ("explored", {"k": 3, "budget": Budget()}),
        ("rounds", {"max_rounds": 2}),
        ("calls", {"budget": Budget(calls=20)}),
        ("tokens", {"budget": Budget(tokens=30_000)}),
    ],
)
def test_each_stop(long_world: World, cache: Cache, stop: str, options: dict[str, object]) -> None:
    result = search(long_world, of_category(long_world, "T2O"), cache, Oracle(long_world, 1.0), **FLOW, **options)
    assert result.stop == stop and result.prediction is not None
    check_books(result, options.get("budget", Budget(calls=200)))  # type: ignore[arg-type]
    check_search(result)


def test_failures_cost_steps_and_leave_regions_open(long_world: World, cache: Cache) -> None:
    flaky = Flaky(Oracle(long_world), 0.3, 1, ("step", "review", "probe"))
    result = search(long_world, of_category(long_world, "SSS"), cache, flaky, **FLOW)
    assert flaky.failed and result.is_right
    check_memory(result)


def test_a_model_that_is_gone_ends_the_run(long_world: World, cache: Cache) -> None:
    result = search(long_world, of_category(long_world, "T2O"), cache, Flaky(Oracle(long_world), 1.0), **FLOW)
    assert result.stop == "model" and result.dead_zones.intervals == ()


def test_no_two_visits_of_a_slot_overlap(halted: tuple[Result, list[Event], Cache]) -> None:
    under_way = Counter[int]()
    for event in halted[0].trace:
        if event.kind == "assign":
            under_way.update(sortie["worker"] for sortie in event["sorties"])
        elif event.kind == "report":
            under_way[event.worker or 0] -= 1
        assert set(under_way.values()) <= {0, 1}
    assert not under_way.total()


def test_unknown_schedules_are_refused(small_world: World, cache: Cache) -> None:
    with pytest.raises(InputError, match="schedule is one of rounds, continuous; got 'free'"):
        search(small_world, small_world.questions[0], cache, schedule="free")
