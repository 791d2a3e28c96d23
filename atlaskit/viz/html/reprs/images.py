"""Displays of a video, a view and a still."""

from __future__ import annotations

from atlaskit.caching.cache import cache_in_use
from atlaskit.environment.image import LazyImage
from atlaskit.environment.notation import clock, listed
from atlaskit.environment.render import Still, View
from atlaskit.environment.render import view as make_view
from atlaskit.video.playlist import Playlist
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import (
    MAX_WIDTH_PX,
    SMALL_WIDTH_PX,
    Html,
    card,
    fact_table,
    guarded,
    jpeg_image,
    paragraph,
    untrusted,
)
from atlaskit.viz.html.phrases import duration_text, span_text, title

OVERVIEW_CELL_PX = SMALL_WIDTH_PX // 8
"""Side of a cell in a video's overview, which has 8×8 cells as the root grid has by default."""


def video(video: Video) -> Html:
    """Show the facts of a video, and its root grid at a small size.

    The grid samples the frames that are fastest to decode. They go to the cache that was opened
    last, since a video has none of its own.
    """
    width, height = video.size
    rows: list[tuple[str, object]] = [
        ("duration", f"{clock(video.duration_s)} ({video.duration_s:,.3f} s)"),
        ("frames", f"{width}×{height} px, {video.fps:g} fps"),
        ("subtitles", f"{len(video.subtitles):,} lines" if len(video.subtitles) else "none"),
        ("fingerprint", untrusted(video.fingerprint, 16)),
    ]
    if isinstance(video, Playlist):
        rows.insert(0, ("parts", len(video.parts)))

    def overview() -> View:
        return make_view(video, cell=OVERVIEW_CELL_PX, sampling="auto", cache=cache_in_use())

    return card(
        title("Video", video.name),
        guarded("The facts", lambda: fact_table(rows)),
        guarded("The overview", lambda: jpeg_image(overview().jpeg, view_caption(overview()), SMALL_WIDTH_PX)),
        guarded("The description", lambda: paragraph(_cells_text(overview()))),
    )


def view(view: View, max_width_px: int = MAX_WIDTH_PX) -> Html:
    """Show a view and describe its grid."""
    return card(
        guarded("The image", lambda: jpeg_image(view.jpeg, view_caption(view), max_width_px)),
        guarded("The description", lambda: paragraph(untrusted(view.video.name), " · ", _cells_text(view))),
    )


def still(still: Still, max_width_px: int = MAX_WIDTH_PX) -> Html:
    """Show one frame and its time."""
    at = f"at {clock(still.time_s)}"
    return card(
        jpeg_image(still.jpeg, f"The frame of {still.video.name} {at}.", max_width_px),
        paragraph(untrusted(still.video.name), " · frame ", at),
    )


def lazy_image(shown: LazyImage) -> Html:
    """Show the image that an agent looks at beside the grid, at a small size."""
    match shown:
        case View():
            return view(shown, SMALL_WIDTH_PX)
        case Still():
            return still(shown, SMALL_WIDTH_PX)
    return jpeg_image(shown.jpeg, "The requested image.", SMALL_WIDTH_PX)


def view_caption(view: View) -> str:
    """Return a sentence that describes a view, for its alt text."""
    return f"A contact sheet of {view.video.name}: {_cells_text(view)}."


def _cells_text(view: View) -> str:
    """Return a view's cells, interval, depth and dead cells."""
    grid, dead = view.grid, sorted(view.dead)
    has_depth = (grid.root_start_s, grid.root_end_s) == (0.0, view.video.duration_s)  # a context scan has none
    parts = [
        f"{grid.k}×{grid.k} cells of {duration_text(grid.span_s / grid.size)}",
        span_text((grid.start_s, grid.end_s)),
        *([f"depth {grid.depth}"] if has_depth else []),
        *([f"dead cells (black): {listed(dead)}"] if dead else []),
    ]
    return " · ".join(parts)
