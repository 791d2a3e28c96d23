"""The probe for the next round, which runs beside the workers."""

from __future__ import annotations

import threading
from typing import Unpack

from support.searches import of_category, search

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import CallControl, Request


def covered(span: list[float]) -> list[int]:
    root = Grid(0.0, 36_000.0, 8)
    return [cell.index for cell in root.cells if span[0] <= cell.start_s and cell.end_s <= span[1]]


class TestLookAhead:
    def test_the_next_probe_runs_beside_the_workers(self, long_world: World, cache: Cache) -> None:
        """Each waits until the other has begun, so without overlap this test would time out."""
        barrier, has_met = threading.Barrier(2), threading.Event()

        class Overlapping(Oracle):
            def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
                is_second_probe = request.step == "probe" and seen.append("probe") is None and len(seen) == 2
                is_first_step = request.step == "step" and not has_met.is_set()
                if is_second_probe or is_first_step:
                    barrier.wait(60)
                    has_met.set()
                return super().complete(request, **control)

        seen: list[str] = []
        question = of_category(long_world, "S2A")
        result = search(long_world, question, cache, Overlapping(long_world), workers=1, min_rounds=2)
        assert has_met.is_set() and [event.ahead for event in result.trace.of("probe")][:2] == [False, True]

    def test_it_does_not_offer_cells_being_explored(self, long_world: World, shared_cache: Cache) -> None:
        result = search(
            long_world, of_category(long_world, "SSS"), shared_cache, Oracle(long_world, 0.6), traversal="dfs"
        )
        events, ahead = list(result.trace), 0
        for place, event in enumerate(events):
            if event.kind == "probe" and event.ahead:
                ahead += 1
                sent = next(e for e in reversed(events[:place]) if e.kind == "assign")
                assert sent.round == event.round
                assert not {sortie.path[0] for sortie in sent.sorties} & set(event.offered)
                black = {cell for span in sent.dead_zones_s for cell in covered(span)}
                assert set(event.view.dead) == black, "it sees the same dead zones as the workers"
        assert ahead > 1 and ahead + 1 >= result.rounds > 2

    def test_it_happens_only_with_ample_budget(self, long_world: World, shared_cache: Cache) -> None:
        question, oracle = of_category(long_world, "SSS"), Oracle(long_world, 0.6)
        for options in ({"look_ahead": False}, {"budget": Budget(tokens=10**6)}, {"budget": Budget(calls=15)}):
            result = search(long_world, question, shared_cache, oracle, max_rounds=3, **options)
            assert not any(event.ahead for event in result.trace.of("probe"))
            assert len(result.trace.of("probe")) == result.rounds
        last = search(long_world, question, shared_cache, oracle, max_rounds=2)
        assert [event.ahead for event in last.trace.of("probe")] == [False, True], (
            "no probe for a round that cannot follow"
        )

    def test_a_failed_probe_costs_a_call_and_is_repeated(self, long_world: World, cache: Cache) -> None:
        probes: list[Request] = []

        class FailsOnce(Oracle):
            def complete(self, request: Request, **control: Unpack[CallControl]):  # type: ignore[no-untyped-def]
                if request.step == "probe":
                    probes.append(request)
                    if len(probes) == 2:
                        raise ModelError("the network is down")
                return super().complete(request, **control)

        result = search(long_world, of_category(long_world, "S2A"), cache, FailsOnce(long_world), min_rounds=2)
        assert [event.step for event in result.trace.of("failure")] == ["probe"]
        assert [event.ahead for event in result.trace.of("probe")][:2] == [False, False] and result.is_right
