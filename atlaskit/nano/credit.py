"""Who deserves the reward: the advantage of each recorded call over its group's, by role.

**Master** (task, probes, reviews): the reward of the search, less the mean reward of its group.
**Decision**: the score alone, less the mean score of the group; it costs one call in any case.
**Worker**: the return of its visit, less the mean return of the group's visits to the same region.
A visit is judged by the frames that it kept, not by the answer, to which it may have added nothing.

The advantages of each role are divided by their standard deviation, so that no role outweighs the
others, and bounded.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

from atlaskit.nano.attempts import Attempt, Visit
from atlaskit.nano.data.examples import Group, RecordedExample, group_by_prefix

CALL_COST = 0.005
"""What a call takes off the reward: 20 calls are worth a tenth of a right answer."""
FALSE_EVIDENCE = 0.5
"""What a visit loses that kept frames, none of which shows the answer."""
BOUND = 2.0
"""Largest absolute advantage, in standard deviations of its role."""

Role: TypeAlias = str
Scored: TypeAlias = tuple[RecordedExample, Role, float]


def reward(attempt: Attempt) -> float:
    """Return the score of an attempt less the cost of its calls."""
    return attempt.score - CALL_COST * attempt.calls


def visit_return(attempt: Attempt, visit: Visit) -> float:
    """Return what a visit achieved: evidence where the answer is shown, less the cost of its steps.

    Args:
        attempt: The search that the visit is a part of.
        visit: The visit.
    """
    steps = sum(1 for example in attempt.examples if example["visit"] == visit)
    times_s = attempt.kept.get(visit, ())
    is_right = any(start_s <= time_s < end_s for time_s in times_s for start_s, end_s in attempt.shown)
    found = 1.0 if is_right else -FALSE_EVIDENCE if times_s else 0.0
    return found - CALL_COST * steps


def advantages(groups: Sequence[Sequence[Attempt]]) -> Iterator[tuple[RecordedExample, float]]:
    """Yield each call of the attempts with its advantage, where it has one.

    Args:
        groups: The attempts at each question.
    """
    scored = [each for attempts in groups for each in _scored(attempts)]
    by_role: dict[Role, list[float]] = defaultdict(list)
    for _, role, value in scored:
        by_role[role].append(value)
    spread = {role: statistics.pstdev(values) or 1.0 for role, values in by_role.items()}
    for example, role, value in scored:
        if bounded := max(-BOUND, min(BOUND, value / spread[role])):
            yield example, bounded


def weighted_groups(groups: Sequence[Sequence[Attempt]]) -> Iterator[Group]:
    """Yield the calls that have an advantage as training data; each example's `weight` is its.

    Calls of different attempts are in groups of their own, because their replies to one prompt may
    differ.
    """
    weights = {id(example): value for example, value in advantages(groups)}
    for attempt in chain.from_iterable(groups):
        taught = (example for example in attempt.examples if id(example) in weights)
        yield from group_by_prefix({**example, "weight": weights[id(example)]} for example in taught)


def _scored(attempts: Sequence[Attempt]) -> Iterator[Scored]:
    """Yield the calls of a group's attempts with their roles and raw advantages."""
    over_rewards, over_scores = _over_mean(attempts, reward), _over_mean(attempts, lambda each: each.score)
    own_returns = [{visit: visit_return(attempt, visit) for visit in _visits(attempt)} for attempt in attempts]
    by_visit: dict[Visit, list[float]] = defaultdict(list)
    for visit, value in chain.from_iterable(own.items() for own in own_returns):
        by_visit[visit].append(value)
    means = {visit: statistics.fmean(values) for visit, values in by_visit.items()}
    for attempt, by_reward, by_score, own in zip(attempts, over_rewards, over_scores, own_returns, strict=True):
        for example in attempt.examples:
            if (visit := example["visit"]) is not None:
                yield example, "worker", own[visit] - means[visit]
            elif example["step"] == "decision":
                yield example, "decision", by_score
            else:
                yield example, "master", by_reward


def _visits(attempt: Attempt) -> Iterable[Visit]:
    """Return the visits of an attempt, each once."""
    return dict.fromkeys(example["visit"] for example in attempt.examples if example["visit"] is not None)


def _over_mean(attempts: Sequence[Attempt], value: Callable[[Attempt], Any]) -> list[float]:
    values = [float(value(each)) for each in attempts]
    return [each - statistics.fmean(values) for each in values]
