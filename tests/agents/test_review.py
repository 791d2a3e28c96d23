"""Reviews (uncertainty analysis): sufficiency, erasing, and where to look next."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from support.model_doubles import Overruled
from support.searches import of_category, search

from atlaskit.agents.schemas import review_schema
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad, gaps
from atlaskit.environment.question import Question
from atlaskit.models.protocol import Request


class TestReview:
    QUESTION = Question("Which?", ("a", "b"))

    def answer(self, **conclusion: Any) -> dict[str, Any]:
        choices = [{"choice": i, "supporting": ["A"], "contradicting": [], "sufficient": i == 0} for i in range(2)]
        return {"reasoning": "", "choices": choices, "erase": [], "conclusion": conclusion}

    def test_sufficiency_requires_supporting_labels_and_a_search_for_contradictions(self) -> None:
        schema = review_schema(len(self.QUESTION.choices), 600.0, ("A", "C"), (3, 4))
        whole = {"action": "final_decision", "looked_for_to_contradict": "another colour", "supporting": ["A"]}
        schema.model_validate(self.answer(**whole))
        for bad in (
            {"supporting": []},
            {"supporting": ["B"]},
            {"looked_for_to_contradict": " "},
            {"looked_for_to_contradict": ""},
            {"explore": [3]},
        ):
            with pytest.raises(ValidationError):
                schema.model_validate(self.answer(**{**whole, **bad}))
        go_on = {"action": "continue", "explore": [3], "intervals": [{"start_s": 5.0, "end_s": 2.0}]}
        schema.model_validate(self.answer(**go_on))
        for bad in ({"explore": [5]}, {"intervals": [{"start_s": -1.0, "end_s": 2.0}]}, {"supporting": ["A"]}):
            with pytest.raises(ValidationError):
                schema.model_validate(self.answer(**{**go_on, **bad}))

    def test_a_conclusion_without_a_proven_choice_does_not_count(self, long_world: World, cache: Cache) -> None:
        def judge_nothing_proven(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
            return {**answer, "choices": [{**choice, "sufficient": False} for choice in answer["choices"]]}

        model = Overruled(Oracle(long_world), review=judge_nothing_proven)
        result = search(long_world, of_category(long_world, "S2A"), cache, model, max_rounds=3)
        assert result.stop == "rounds" and not any(event.sufficient for event in result.trace.of("review"))

    def test_min_rounds_delays_sufficiency(self, long_world: World, shared_cache: Cache) -> None:
        for least in (1, 3):
            result = search(long_world, of_category(long_world, "S2A"), shared_cache, min_rounds=least)
            assert (result.stop, result.rounds) == ("sufficient", least) and len(result.trace.of("review")) == 1

    def test_gaps_are_the_open_time_between_evidence(self) -> None:
        pad = Scratchpad().add(Evidence(t, t - 5, t + 5, "", 1.0) for t in (300.0, 100.0, 110.0))
        zones = DeadZones().add(0, 95).add(400, 500)
        found = [(gap.start_s, gap.end_s, gap.after, gap.before) for gap in gaps(pad, zones, (0.0, 600.0))]
        assert found == [(115.0, 295.0, "C", "A"), (305.0, 400.0, "A", ""), (500.0, 600.0, "A", "")]

    def test_intervals_become_regions_that_are_explored_next(self, long_world: World, cache: Cache) -> None:
        """Reversed, crossing a cell border, empty or dead: each interval is handled."""
        spans = [(2008.0, 2000.0), (562.4, 562.6), (50.0, 50.0), (30_000.0, 36_000.0)]

        def name_intervals(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
            intervals = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans]
            return {**answer, "conclusion": {"action": "continue", "explore": [], "intervals": intervals}}

        model = Overruled(Oracle(long_world), review=name_intervals)
        result = search(
            long_world, of_category(long_world, "S2A"), cache, model, max_rounds=2, workers=3, traversal="dfs"
        )
        queued = result.trace.of("review")[0].queued
        assert queued[:4] == ((3, 35), (3, 36), (0, 63), (1, 0)), "the smallest regions, on both sides of a cell border"
        assert len(queued) == 4, "an interval of hours means root cells, not a region"
        second = [sortie.path for sortie in result.trace.of("assign")[1].sorties]
        assert len(second) == 3 and all(path in queued or 53 <= path[0] <= 63 for path in second)

    def test_a_region_whose_evidence_is_erased_becomes_dead(self, long_world: World, cache: Cache) -> None:
        def erase(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
            go_on = {"action": "continue", "explore": [], "intervals": []}
            weighed = [{**choice, "supporting": []} for choice in answer["choices"]]
            erase = list(request.facts.sheet.scratchpad.labels)  # type: ignore[attr-defined]
            return {**answer, "choices": weighed, "erase": erase, "conclusion": go_on}

        model = Overruled(Oracle(long_world), review=erase)
        result = search(long_world, of_category(long_world, "S2A"), cache, model, max_rounds=1, traversal="dfs")
        (review,) = result.trace.of("review")
        assert review.erased == ("A",) and "A" not in result.evidence.labels, "no label is given twice"
        assert review.dead_s == (result.trace.of("report")[0].interval_s,)

    def test_supporting_evidence_is_not_erased(self, long_world: World, cache: Cache) -> None:
        def erase(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
            return {**answer, "erase": list(request.facts.sheet.scratchpad.labels)[:8]}  # type: ignore[attr-defined]

        model = Overruled(Oracle(long_world), review=erase)
        result = search(long_world, of_category(long_world, "SSS"), cache, model)
        assert result.is_right and len(result.evidence) == 4
