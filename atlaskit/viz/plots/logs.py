"""`log`: the run as lines of text, round by round (paper's exploration trace)."""

from __future__ import annotations

from collections.abc import Iterator

from atlaskit.environment.grid import Grid, clock
from atlaskit.environment.mdp import dead_cells
from atlaskit.environment.memory import DeadZones
from atlaskit.errors import printable
from atlaskit.runs.events import Probe, Report, Review
from atlaskit.runs.result import Result
from atlaskit.viz.plots.runs import steps_of


def log(result: Result) -> Iterator[str]:
    """Yield the lines of a run's log; each round is a heading and indented lines."""
    dead_zones, size = DeadZones(), result.settings["k"] ** 2
    for number in range(1, result.rounds + 1):
        yield f"round {number}"
        # made in this round, or ahead, beside the workers of the round before
        for probe in [probe for probe in result.trace.of(Probe) if probe.round + probe.ahead == number]:
            yield f"  probe     {_probe_line(probe, number)}"
        reports = [report for report in result.trace.of(Report) if report.round == number]
        reviews = [review for review in result.trace.of(Review) if review.round == number]
        for report in reports:
            yield f"  worker {report.worker}  {_visit_line(report, result)}"
        for review in reviews:
            yield f"  review    {_review_line(review)}"
        dead_zones = dead_zones.add_all(span for report in reports for span in report.dead_s)
        dead_zones = dead_zones.add_all(span for review in reviews for span in review.dead_s)
        yield f"  black     {len(black_cells(result, dead_zones))} of {size} cells"


def black_cells(result: Result, dead_zones: DeadZones | None = None) -> frozenset[int]:
    """Return the black cells of the root, for `dead_zones` or else for those of the result."""
    root = Grid(*result.within, result.settings["k"])
    return dead_cells(root, result.dead_zones if dead_zones is None else dead_zones)


def _probe_line(probe: Probe, round_number: int) -> str:
    """Return the scores of a probe, the highest first, and when the probe was made."""
    ranked = sorted(probe.scores.items(), key=lambda item: (-item[1], item[0]))
    scores = ", ".join(f"{cell}: {score:.2f}" for cell, score in ranked)
    when = f"made during round {round_number - 1}" if probe.ahead else "made before the round"
    return f"{scores}  ({when})"


def _visit_line(report: Report, result: Result) -> str:
    """Return the region of a visit, the actions in it, and what it changed in memory."""
    start_s, end_s = report.interval_s
    region = f"cell {'/'.join(map(str, report.path)):<3} {clock(start_s):>7}–{clock(end_s):<7}"
    actions = " → ".join(step.action.name for step in steps_of(report, result))
    evidence = ", ".join(f"[{item.label}] {clock(item.timestamp_s)}" for item in report.kept)
    outcome = f"kept {evidence}" if evidence else "ruled out" if report.dead_s else "nothing new"
    return f"{region}  {actions:<26}  {outcome}"


def _review_line(review: Review) -> str:
    """Return the reasoning of a review, its conclusion, and the cells it sends workers to."""
    conclusion = review.conclusion
    cells = ", ".join(map(str, conclusion.get("explore", ())))
    action = conclusion.get("action", "")
    return printable(f"{review.reasoning} {action}{f': look in {cells}' if cells else ''}")
