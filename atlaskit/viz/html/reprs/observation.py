"""The display of an observation: what an agent sees, and what it may do."""

from __future__ import annotations

from atlaskit.environment.actions import ACTIONS
from atlaskit.environment.atlas import Observation
from atlaskit.environment.grid import listed
from atlaskit.runs.narrate import MAX_LISTED, counted, percent, span_text
from atlaskit.viz.html.markup import SMALL_WIDTH_PX, Html, card, fact_table, guarded, paragraph, table, untrusted
from atlaskit.viz.html.phrases import omitted
from atlaskit.viz.html.reprs.images import lazy_image, view


def observation(seen: Observation) -> Html:
    """Show the state, the requested frame or scan if any, the view, legal actions and subtitles."""
    return card(
        guarded("The state", lambda: _state_table(seen)),
        lazy_image(seen.looking_at) if seen.looking_at is not None else "",
        view(seen.view, SMALL_WIDTH_PX),
        guarded("The subtitles", lambda: _subtitle_table(seen)),
    )


def _state_table(seen: Observation) -> Html:
    state, grid = seen.state, seen.state.grid
    legal = sorted(seen.legal.cells.items(), key=lambda each: not each[1])  # those without cells last
    actions = "; ".join(f"{ACTIONS[name].title}{f' {listed(cells)}' if cells else ''}" for name, cells in legal)
    rows: list[tuple[str, object]] = [
        ("grid", f"{span_text((grid.start_s, grid.end_s))}, depth {grid.depth} of at most {state.rules.max_depth}"),
        ("path", " → ".join(["root", *map(str, grid.path)])),
        ("traversal", state.rules.traversal),
        ("evidence", f"{counted(len(state.scratchpad), 'frame')}: {', '.join(state.scratchpad.labels) or 'none'}"),
        ("dead zones", f"{percent(state.dead_zones.coverage(grid.start_s, grid.end_s))} of this grid"),
        ("legal actions", untrusted(actions or "none", 2_000)),
    ]
    return fact_table(rows if not state.finished else [*rows, ("finished", True)])


def _subtitle_table(seen: Observation) -> str:
    lines = seen.subtitles
    if not lines:
        return paragraph("There are no subtitles in this interval.")
    rows = ((span_text((line.start_s, line.end_s)), untrusted(line.text, 200)) for line in lines[:MAX_LISTED])
    subtitles = table("Subtitles in this interval", ("time", "text"), rows)
    return card(subtitles, omitted(len(lines) - MAX_LISTED, "line"))
