"""`log`: the run as lines of text, round by round (paper's exploration trace)."""

from __future__ import annotations

from collections.abc import Iterator

from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import dead_cells
from atlaskit.errors import printable
from atlaskit.runs.events import Probe, Report, Review
from atlaskit.runs.narrate import agent, summary
from atlaskit.runs.replay import memories
from atlaskit.runs.result import Result
from atlaskit.viz.plots.runs import events_of_round, probes_for, steps_of


def log(result: Result) -> Iterator[str]:
    """Yield the lines of a run's log; each round is a heading and indented lines."""
    root = Grid(*result.within, result.settings["k"])
    zones = {event.round: after.dead_zones for event, after in zip(result.trace, memories(result.trace), strict=True)}
    for number in range(1, result.rounds + 1):
        yield f"round {number}"
        kinds = (events_of_round(result, kind, number) for kind in (Report, Review))
        for event in (*probes_for(number, result), *(event for events in kinds for event in events)):
            steps = steps_of(event, result) if isinstance(event, Report) else []
            actions = f" · {' → '.join(step.action.name for step in steps)}" if steps else ""
            ahead = " (scored ahead)" if isinstance(event, Probe) and event.ahead else ""
            yield printable(f"  {agent(event).lower():<9} {summary(event)}{ahead}{actions}", 1_000)
        yield f"  black     {len(dead_cells(root, zones[number]))} of {root.size} cells"
