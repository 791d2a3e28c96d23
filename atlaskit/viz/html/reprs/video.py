"""Display of a video: its facts and a small root grid."""

from __future__ import annotations

from atlaskit.caching.cache import cache_in_use
from atlaskit.environment.grid import clock
from atlaskit.environment.render import View
from atlaskit.environment.render import view as make_view
from atlaskit.video.playlist import Playlist
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import (
    SHARP,
    SMALL_WIDTH_PX,
    Html,
    card,
    fact_table,
    guarded,
    jpeg_image,
    paragraph,
    untrusted,
)
from atlaskit.viz.html.phrases import title
from atlaskit.viz.html.reprs.images import view_caption, view_description

OVERVIEW_CELL_PX = SHARP * SMALL_WIDTH_PX // 8
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
        return make_view(video, cell=OVERVIEW_CELL_PX, sampling="keyframe", cache=cache_in_use())

    return card(
        title("Video", video.name),
        guarded("The facts", lambda: fact_table(rows)),
        guarded("The overview", lambda: jpeg_image(overview().jpeg, view_caption(overview()), SMALL_WIDTH_PX)),
        guarded("The description", lambda: paragraph(view_description(overview()))),
    )
