"""Displays of a run's evidence (M+): the scratchpad and its sheet."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from atlaskit.environment.grid import clock
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.render import Sheet
from atlaskit.runs.narrate import MAX_LISTED, counted, percent, span_text
from atlaskit.viz.html.markup import (
    SMALL_WIDTH_PX,
    Html,
    card,
    guarded,
    jpeg_image,
    paragraph,
    table,
    untrusted,
)
from atlaskit.viz.html.phrases import omitted, title

MAX_ITEMS = 64
"""Most evidence frames in one display: those with the highest confidence."""


def sheet(sheet: Sheet) -> Html:
    """Show the frames of a scratchpad, and the table of its evidence."""
    return card(evidence_image(sheet), guarded("The evidence", lambda: evidence_table(sheet.scratchpad)))


def scratchpad(scratchpad: Scratchpad) -> Html:
    """Show a scratchpad as a table; it has no video, so its frames cannot be shown."""
    return card(title("Scratchpad", f"{counted(len(scratchpad), 'frame')} of evidence"), evidence_table(scratchpad))


def evidence_image(sheet: Sheet) -> Html:
    """Return the sheet of a scratchpad as one image.

    A sheet that fits is shown as it is, so frames that were drawn before are not decoded again.
    """

    def draw() -> str:
        shown = sheet.scratchpad.surest(MAX_ITEMS)
        if not len(shown):
            return no_evidence()
        frames = ", ".join(f"{item.label} at {clock(item.timestamp_s)}" for item in islice(shown, MAX_LISTED))
        more = f", and {len(shown) - MAX_LISTED} more" if len(shown) > MAX_LISTED else ""
        shown_sheet = replace(sheet, scratchpad=shown)
        return jpeg_image(shown_sheet.jpeg, f"Evidence frames: {frames}{more}.", SMALL_WIDTH_PX)

    return guarded("The evidence frames", draw)


def evidence_table(scratchpad: Scratchpad) -> Html:
    """Return the evidence of a scratchpad as a table in order of time."""
    if not len(scratchpad):
        return no_evidence()
    shown = sorted(scratchpad.surest(MAX_ITEMS), key=lambda item: item.timestamp_s)
    rows = (
        (
            untrusted(item.label, 8),
            clock(item.timestamp_s),
            span_text((item.start_s, item.end_s)),
            percent(item.confidence),
            untrusted(item.description, 300),
            untrusted(item.subtitle, 200) if item.subtitle else "",
        )
        for item in shown
    )
    columns = ("label", "time", "cell", "confidence", "description", "subtitle")
    return card(table("Evidence in order of time", columns, rows), omitted(len(scratchpad) - len(shown), "frame"))


def no_evidence(why: str = "") -> Html:
    """Return what takes the place of an empty scratchpad, and what the answer rests on instead."""
    return paragraph(f"Evidence: {why}." if why else "There is no evidence.")
