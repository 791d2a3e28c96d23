"""Schedules: when a search probes, sends workers and reviews: in rounds, or continuously."""

from collections.abc import Callable

from atlaskit.agents.loop import Search, Stop
from atlaskit.agents.options import Schedule
from atlaskit.agents.schedules.continuous import explore_continuously
from atlaskit.agents.schedules.rounds import explore_in_rounds

SCHEDULES: dict[Schedule, Callable[[Search], Stop]] = {"rounds": explore_in_rounds, "continuous": explore_continuously}
"""The schedules, by name."""
