"""`static_picture`: what a notebook shows of the explorer where no kernel runs."""

from __future__ import annotations

from typing import Any

from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import listed
from atlaskit.runs.narrate import span_text
from atlaskit.viz.html.markup import MAX_WIDTH_PX, Html, card, guarded, jpeg_image, paragraph, untrusted
from atlaskit.viz.html.reprs.memory import timeline_image
from atlaskit.viz.html.timeline import Lane
from atlaskit.viz.palette import DEAD, FOUND
from atlaskit.viz.widgets.explorer.describe import Marks, describe
from atlaskit.viz.widgets.explorer.navigation import Location, show


def static_picture(atlas: Atlas, location: Location, marks: Marks) -> Html:
    """Return the image of a location and a timeline of the video as HTML."""
    return card(
        guarded("The image", lambda: _image(atlas, location, marks)),
        guarded("The timeline", lambda: _timeline(atlas, location, marks)),
    )


def _image(atlas: Atlas, location: Location, marks: Marks) -> Html:
    shown = show(atlas, location)
    described = describe(atlas, shown, marks)
    words = _marks_text(described["cells"])
    return card(
        jpeg_image(shown.picture.jpeg, described["words"], MAX_WIDTH_PX),
        paragraph(untrusted(atlas.video.name), f" · {described['words']} ", words),
    )


def _timeline(atlas: Atlas, location: Location, marks: Marks) -> str:
    grid = show(atlas, Location(location.path)).observation.view.grid
    span = (grid.start_s, grid.end_s)
    lanes = [Lane("shown", outlined=[span])]
    moments = [(item.timestamp_s, item.label) for item in marks.evidence]
    if moments:
        lanes.append(Lane("evidence", moments=moments, colour=FOUND))
    if marks.dead_zones.intervals:
        lanes.append(Lane("dead zones", marks.dead_zones.intervals, colour=DEAD))
    return timeline_image(lanes, atlas.video.duration_s, f"Shown: {span_text(span)}.")


def _marks_text(cells: list[dict[str, Any]]) -> str:
    """Return sentences that name the cells with evidence and the dead cells."""
    found = [f"{', '.join(cell['found'])} in cell {index}" for index, cell in enumerate(cells) if cell["found"]]
    dead = [index for index, cell in enumerate(cells) if cell["dead"] == 1]
    sentences = [f"Evidence: {'; '.join(found)}."] if found else []
    return " ".join([*sentences, f"Dead cells: {listed(dead)}." if dead else ""])
