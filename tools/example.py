"""Make the figures of docs/example.md and fill in every number and log that it quotes.

Run it as `.venv/bin/python tools/example.py`. The page repeats the example of the paper's appendix
on a synthetic video. Its prose is written by hand; this script writes what lies between
`<!--name-->` and `<!--/-->`. The run is deterministic: the same code gives the same run.
"""

from __future__ import annotations

import math
import re
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import atlaskit as ak
import atlasworld as aw
from atlaskit.environment.grid import Grid, clock
from atlaskit.environment.mdp import dead_cells
from atlaskit.environment.memory import DeadZones
from atlaskit.environment.render import with_look
from atlaskit.errors import printable
from atlaskit.runs.events import Probe, Report, Review, Step
from atlaskit.runs.result import Result
from atlaskit.video.video import Video
from atlasworld import World

WORLD_SEED = 5
DURATION_S = 1500
QUESTION = "How many times does a yellow star appear in the video?"
MISS = 0.3
ORACLE_SEED = 71
"""The first seed of an oracle that gives the right answer in WANTED_ROUNDS rounds."""
WANTED_ROUNDS = 8
"""Rounds of the paper's run."""
SEEDS_TRIED = 100
WORKERS = 3
TRAVERSAL = "dfs"
PAPER_FRAMES = 90_117
"""Frames of the paper's video."""
PAPER_SHARE = 0.047
"""Share of the frames that were seen in the paper's run."""
CELL_PX = 112
SHEET_PX = 240
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/example.md"
FIGURES = ROOT / "docs/example"
QUOTED = re.compile(r"<!--(\w+)-->(.*?)<!--/-->", re.DOTALL)


def main() -> None:
    """Run the example on the encoded world, draw its figures and fill in the page."""
    world = make_world("cache/atlasworld", progress=True)
    counts = try_seeds(world)
    cache = ak.Cache("cache")
    result = run(world, world.video, cache)
    FIGURES.mkdir(exist_ok=True)
    draw(result, cache)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(fill(page, quotes(world, result) | counts), encoding="utf-8")
    print(result)


def make_world(directory: str | Path, progress: bool = False) -> World:
    """Return the example's world; its video is encoded when it is first needed."""
    return aw.world(
        WORLD_SEED, DURATION_S, categories=("TALLY",), directory=directory, progress=progress
    )


def run(
    world: World, video: Video, cache: ak.Cache, seed: int = ORACLE_SEED, cell: int = 320
) -> Result:
    """Run the example's question with an oracle of a seed."""
    oracle = aw.Oracle(world, miss=MISS, seed=seed)
    question = world.question(QUESTION)
    search = ak.Search(traversal=TRAVERSAL, cell=cell)
    return ak.ask(video, question, vlm=oracle, workers=WORKERS, search=search, cache=cache)


def draw(result: Result, cache: ak.Cache) -> None:
    """Draw the view of the root grid before and after the run, the scratchpad, and the path."""
    before = ak.view(
        result.sheet.video, cell=CELL_PX, fit=result.sheet.look.fit, labels="index", cache=cache
    )
    after = replace(before, dead=dead_cells(before.grid, result.dead_zones))
    sheet = with_look(result.sheet, cell=SHEET_PX)
    for name, figure in {"root_before": before, "root_after": after, "scratchpad": sheet}.items():
        figure.image.save(FIGURES / f"{name}.jpg", quality=82)
    ak.plots.save(ak.plots.path(result), FIGURES, "path")[1].unlink()  # the PNG is enough


def try_seeds(world: World) -> dict[str, str]:
    """Return how often the oracle is right over many seeds.

    Raises:
        SystemExit: If `ORACLE_SEED` is not the first seed that is right in `WANTED_ROUNDS` rounds.
    """
    with tempfile.TemporaryDirectory() as folder:
        results = [
            run(world, world.drawn, ak.Cache(folder), seed, cell=16) for seed in range(SEEDS_TRIED)
        ]
    right = [seed for seed, result in enumerate(results) if result.is_right]
    fitting = [seed for seed in right if results[seed].rounds == WANTED_ROUNDS]
    if fitting[:1] != [ORACLE_SEED]:
        raise SystemExit(
            f"ORACLE_SEED must be the first seed that is right in {WANTED_ROUNDS} rounds; got "
            f"{ORACLE_SEED}, and these seeds are: {fitting}. Set ORACLE_SEED in tools/example.py "
            "to the first of them."
        )
    exhausted = sum(result.stop == "explored" for result in results)
    return {
        "last_seed": str(SEEDS_TRIED - 1),
        "right": str(len(right)),
        "exhausted": str(exhausted),
    }


def fill(page: str, texts: dict[str, str]) -> str:
    """Return the page with every quotation replaced.

    Raises:
        KeyError: If the page quotes a name that has no text.
    """
    return QUOTED.sub(lambda match: f"<!--{match[1]}-->{texts[match[1]]}<!--/-->", page)


def quotes(world: World, result: Result) -> dict[str, str]:
    """Return every text that the page quotes from the run, by name."""
    video = result.sheet.video
    total = result.total
    trace = result.trace
    root = Grid(0.0, video.duration_s, result.settings["k"])
    opened = Grid(0.0, video.duration_s, result.settings["k"], (0,))
    (task,) = trace.of("task")
    (decision,) = trace.of("decision")
    frames = round(video.duration_s * video.fps)
    seen = frames_seen(result)
    black = len(black_cells(result))
    visits = trace.of("report")
    unused = ""
    if trace.of("probe")[-1].ahead:
        unused = "The last probe was made for a round that did not take place."
    return {
        "question": QUESTION,
        "world_seed": str(WORLD_SEED),
        "miss_percent": f"{MISS:.0%}".replace("%", " %"),
        "oracle_seed": str(ORACLE_SEED),
        "workers": str(WORKERS),
        "minutes": f"{video.duration_s / 60:g}",
        "frames": f"{frames:,}",
        "fps": f"{video.fps:g}",
        "root_cell_s": f"{root.resolution_s:.1f}",
        "opened_cell_s": f"{opened.resolution_s:.2f}",
        "task": task.search_task,
        "traversal": task.traversal,
        "log": "\n".join(["", "```text", *log(result), "```", ""]),
        "rounds": str(result.rounds),
        "visits": str(len(visits)),
        "empty_visits": str(sum(not visit.kept for visit in visits)),
        "black": f"{black} of {root.size}",
        "unused": unused,
        "overlooked": overlooked(world, result),
        "evidence": f"\n{evidence_table(world, result)}\n",
        "kept": str(len(result.evidence)),
        "lie": lie(world, result),
        "twice": twice(world, result),
        "reasoning": decision.answer["reasoning"],
        "cited": ", ".join(f"[{label}]" for label in decision.answer["supporting"]),
        "answer": str(result.answer),
        "truth": str(result.question.answer),
        "verdict": "right" if result.is_right else "wrong",
        "stop": result.stop,
        "calls": str(total.calls),
        "master_calls": str(result.usage["master"].calls),
        "worker_calls": str(result.usage["worker"].calls),
        "tokens": f"{total.tokens / 1000:.0f}K",
        "image_share": f"{total.image_tokens / total.tokens:.0%}".replace("%", " %"),
        "coverage": percent(result.explored),
        "seen": f"{seen:,}",
        "seen_share": percent(seen / frames),
        "paper_fps": f"{PAPER_FRAMES / 1500:.0f}",
        "paper_seen": f"{PAPER_FRAMES * PAPER_SHARE:,.0f}",
        "paper_grids": f"{PAPER_FRAMES * PAPER_SHARE / root.size:.0f}",
        "seen_of_paper": percent(seen / PAPER_FRAMES),
        "grids": str(len(grids_seen(result))),
    }


def percent(share: float) -> str:
    """Format a share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def grids_seen(result: Result) -> set[tuple[int, ...]]:
    """Return the grids that an agent saw, each as the path of cells from the root grid."""
    return {event.view.path for event in result.trace if event.kind in ("probe", "step", "review")}


def frames_seen(result: Result) -> int:
    """Count the distinct frames in the views that an agent saw.

    Evidence frames and stills need not be counted: each was in a view before.
    """
    video = result.sheet.video
    frames = set[int]()
    for path in grids_seen(result):
        grid = Grid(0.0, video.duration_s, result.settings["k"], path)
        frames.update(int(cell.midpoint_s * video.fps) for cell in grid.cells)
    return len(frames)


def evidence_table(world: World, result: Result) -> str:
    """Return the scratchpad as a Markdown table with the number of the star in each frame."""
    spans = sorted(world.question(QUESTION).positions_s)
    rounds = dict[str, int]()
    for report in result.trace.of("report"):
        rounds |= {item.label: report.round for item in report.kept}
    rows = ["| label | time | round | star | description |", "|---|---|---|---|---|"]
    for item in result.evidence:
        star = bisect_right(spans, (item.timestamp_s, math.inf))
        rows.append(
            f"| [{item.label}] | {clock(item.timestamp_s)} | {rounds[item.label]} | {star} | "
            f"{item.description} |"
        )
    return "\n".join(rows)


def overlooked(world: World, result: Result) -> str:
    """Return a sentence about the black cells during which a star is on screen."""
    cells = Grid(0.0, result.sheet.video.duration_s, result.settings["k"]).cells
    spans = world.question(QUESTION).positions_s
    black = black_cells(result)
    missed = list[str]()
    visible = list[str]()
    for cell in cells:
        if cell.index in black and any(cell.overlaps(*span) for span in spans):
            missed.append(str(cell.index))
            if any(start_s <= cell.midpoint_s < end_s for start_s, end_s in spans):
                visible.append(str(cell.index))
    if not missed:
        return "In this run no black cell contains a star."
    cells_text = f"cell{'s' if len(missed) > 1 else ''} {' and '.join(missed)}"
    before = f" (the root grid even shows it in {' and '.join(visible)})" if visible else ""
    return (
        f"In this run a yellow star is on screen during {cells_text}{before}, and the oracle "
        "overlooked it there. The count is right only because such a star extends into the "
        "neighbouring cell, where a worker found it."
    )


def lie(world: World, result: Result) -> str:
    """Return a sentence about an evidence frame with a misleading subtitle; "" if there is none."""
    lies = [line.text for line in world.script.lines if line.misleading]
    for item, text in product(result.evidence, lies):
        if text in item.subtitle:
            said = f"The subtitle of [{item.label}] says “{text}”, which is false"
            return f"{said}: only what a frame shows counts."
    return ""


def twice(world: World, result: Result) -> str:
    """Return the groups of evidence frames that show the same star."""
    pad = result.evidence
    shared = list[str]()
    for span in world.question(QUESTION).positions_s:
        labels = [f"[{item.label}]" for item in pad.within(*span)]
        if len(labels) > 1:
            shared.append(" and ".join(labels))
    return f"{', '.join(shared)} do" if shared else "none do"


def log(result: Result) -> Iterator[str]:
    """Yield the lines of a run's log; each round is a heading and indented lines."""
    dead_zones = DeadZones()
    size = result.settings["k"] ** 2
    for number in range(1, result.rounds + 1):
        yield f"round {number}"
        for probe in result.trace.of(Probe):
            # A probe for this round was made in it, or ahead of it in the round before.
            if probe.round + probe.ahead == number:
                yield f"  probe     {_probe_line(probe, number)}"
        for report in result.trace.of(Report):
            if report.round == number:
                yield f"  worker {report.worker}  {_visit_line(report, result)}"
                dead_zones = dead_zones.add_all(report.dead_s)
        for review in result.trace.of(Review):
            if review.round == number:
                yield f"  review    {_review_line(review)}"
                dead_zones = dead_zones.add_all(review.dead_s)
        yield f"  black     {len(black_cells(result, dead_zones))} of {size} cells"


def black_cells(result: Result, dead_zones: DeadZones | None = None) -> frozenset[int]:
    """Return the black cells of the root grid, by `dead_zones` or else by those of the result."""
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
    actions = list[str]()
    for step in result.trace.of(Step):
        if (step.round, step.worker) == (report.round, report.worker):
            actions.append(step.action.name)
    evidence = ", ".join(f"[{item.label}] {clock(item.timestamp_s)}" for item in report.kept)
    outcome = "ruled out" if report.dead_s else "nothing new"
    if evidence:
        outcome = f"kept {evidence}"
    return f"{region}  {' → '.join(actions):<26}  {outcome}"


def _review_line(review: Review) -> str:
    """Return the reasoning of a review, its conclusion, and the cells it sends workers to."""
    conclusion = review.conclusion
    cells = ", ".join(map(str, conclusion.get("explore", ())))
    action = conclusion.get("action", "")
    return printable(f"{review.reasoning} {action}{f': look in {cells}' if cells else ''}")


if __name__ == "__main__":
    main()
