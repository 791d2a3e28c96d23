"""`static_picture`: what a notebook shows of the explorer where no kernel runs."""

from __future__ import annotations

from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import clock
from atlaskit.runs.narrate import MAX_LISTED, span_text, spans_text
from atlaskit.viz.html.markup import MAX_WIDTH_PX, Html, card, guarded, paragraph, untrusted
from atlaskit.viz.html.reprs.images import lazy_image
from atlaskit.viz.html.reprs.memory import timeline_image
from atlaskit.viz.html.timeline import Lane
from atlaskit.viz.palette import DEAD, FOUND
from atlaskit.viz.widgets.explorer.describe import Marks
from atlaskit.viz.widgets.explorer.navigation import Location, show


def static_picture(atlas: Atlas, location: Location, marks: Marks) -> Html:
    """Return the image of a location and a timeline of the video as HTML."""
    return card(
        guarded("The image", lambda: lazy_image(show(atlas, location).picture, MAX_WIDTH_PX)),
        guarded("The timeline", lambda: _timeline(atlas, location, marks)),
    )


def _timeline(atlas: Atlas, location: Location, marks: Marks) -> str:
    grid = show(atlas, Location(location.path)).observation.view.grid
    span, zones = (grid.start_s, grid.end_s), marks.dead_zones.intervals
    moments = [(item.timestamp_s, item.label) for item in marks.evidence]
    lanes = [Lane("shown", outlined=[span])]
    if moments:
        lanes.append(Lane("evidence", moments=moments, colour=FOUND))
    if zones:
        lanes.append(Lane("dead zones", zones, colour=DEAD))
    found = ", ".join(f"{label} at {clock(time_s)}" for time_s, label in moments[:MAX_LISTED]) or "none"
    words = f"Shown: {span_text(span)}. Evidence: {found}. Dead zones: {spans_text(zones) if zones else 'none'}."
    return card(timeline_image(lanes, atlas.video.duration_s, words), paragraph(untrusted(words)))
