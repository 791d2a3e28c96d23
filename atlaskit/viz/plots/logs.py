"""A run condensed to lines: each round's scores, visits and review (the paper's exploration trace)."""

from __future__ import annotations

from collections.abc import Iterator

from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import dead_cells
from atlaskit.environment.memory import DeadZones
from atlaskit.environment.notation import clock
from atlaskit.errors import printable
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.viz.plots.runs import probes_for


def log(result: Result) -> Iterator[str]:
    """Yield a run's lines; those of a round are indented below its number."""
    zones, size = DeadZones(), result.settings["k"] ** 2
    for number in range(1, result.rounds + 1):
        yield f"round {number}"
        for probe in probes_for(number, result):
            ranked = sorted(probe["scores"].items(), key=lambda item: (-item[1], int(item[0])))
            when = f"made during round {number - 1}" if probe["ahead"] else "made before the round"
            yield f"  probe     {', '.join(f'{cell}: {score:.2f}' for cell, score in ranked)}  ({when})"
        judged = [event for event in result.trace.of("review") if event.round == number]
        reports = [event for event in result.trace.of("report") if event.round == number]
        for report in reports:
            yield f"  worker {report.worker}  {_visited(report, result)}"
        for review in judged:
            yield f"  review    {_reviewed(review)}"
        zones = zones.add_all(span for event in (*reports, *judged) for span in event["dead_s"])
        yield f"  black     {len(black_cells(result, zones))} of {size} cells"


def black_cells(result: Result, zones: DeadZones | None = None) -> frozenset[int]:
    """Return the root's cells that are black, in the end or given some dead zones."""
    root = Grid(0.0, result.sheet.video.duration_s, result.settings["k"])
    return dead_cells(root, result.dead_zones if zones is None else zones)


def _visited(report: Event, result: Result) -> str:
    """Say where a worker went, what it did, and what came of it."""
    steps = [s for s in result.trace.of("step") if (s.round, s.worker) == (report.round, report.worker)]
    start_s, end_s = report["interval_s"]
    place = f"cell {'/'.join(map(str, report['path'])):<3} {clock(start_s):>7}–{clock(end_s):<7}"
    did = " → ".join(step["action"]["name"] for step in steps)
    kept = ", ".join(f"[{item['label']}] {clock(item['timestamp_s'])}" for item in report["kept"])
    came = f"kept {kept}" if kept else "ruled out" if report["dead_s"] else "nothing new"
    return f"{place}  {did:<26}  {came}"


def _reviewed(review: Event) -> str:
    """Say what a review concluded."""
    conclusion = review["conclusion"]
    cells = ", ".join(map(str, conclusion.get("explore", ())))
    action = conclusion.get("action", "")
    return printable(f"{review['reasoning']} {action}{f': look in {cells}' if cells else ''}")
