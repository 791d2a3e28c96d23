"""Displays of a view and a still."""

from __future__ import annotations

from collections.abc import Iterable

from atlaskit.environment.grid import Grid, clock, listed
from atlaskit.environment.image import LazyImage
from atlaskit.environment.render import Still, View
from atlaskit.runs.narrate import span_text
from atlaskit.viz.html.markup import MAX_WIDTH_PX, SMALL_WIDTH_PX, Html, card, guarded, jpeg_image, paragraph, untrusted
from atlaskit.viz.html.phrases import duration_text


def view(view: View, max_width_px: int = MAX_WIDTH_PX) -> Html:
    """Show a view and describe its grid."""
    return card(
        guarded("The image", lambda: jpeg_image(view.jpeg, view_caption(view), max_width_px)),
        guarded("The description", lambda: paragraph(untrusted(view.video.name), " · ", view_description(view))),
    )


def still(still: Still, max_width_px: int = MAX_WIDTH_PX) -> Html:
    """Show one frame and its time."""
    at = f"at {clock(still.time_s)}"
    return card(
        jpeg_image(still.jpeg, f"The frame of {still.video.name} {at}.", max_width_px),
        paragraph(untrusted(still.video.name), " · frame ", at),
    )


def lazy_image(shown: LazyImage, max_width_px: int = SMALL_WIDTH_PX) -> Html:
    """Show a view or a still, such as what an agent looks at beside the grid."""
    match shown:
        case View():
            return view(shown, max_width_px)
        case Still():
            return still(shown, max_width_px)
    return jpeg_image(shown.jpeg, "The requested image.", max_width_px)


FRAMES = {"midpoint": "", "keyframe": "keyframes", "shots": "shots"}
"""What the cells of a view show, by its sampling; nothing of the paper's rule."""


def view_caption(view: View) -> str:
    """Return a sentence that describes a view, for its alt text."""
    return f"A contact sheet of {view.video.name}: {view_description(view)}."


def view_description(view: View) -> str:
    """Return a view's cells, interval, depth, dead cells, and frames if not the middle ones."""
    grid, frames = view.grid, FRAMES[view.look.sampling]
    has_depth = (grid.root_start_s, grid.root_end_s) == (0.0, view.video.duration_s)  # a context scan has none
    return f"{grid_description(grid, view.dead, has_depth=has_depth)}{f' · {frames}' if frames else ''}"


def grid_description(grid: Grid, dead: Iterable[int], *, has_depth: bool = True) -> str:
    """Return a grid's cells, interval, depth and dead cells."""
    dead = sorted(dead)
    parts = [
        f"{grid.k}×{grid.k} cells of {duration_text(grid.span_s / grid.size)}",
        span_text((grid.start_s, grid.end_s)),
        *([f"depth {grid.depth}"] if has_depth else []),
        *([f"dead cells (black): {listed(dead)}"] if dead else []),
    ]
    return " · ".join(parts)
