"""Titles, notes of what is omitted, and durations, for all displays."""

from __future__ import annotations

from atlaskit.environment.grid import clock
from atlaskit.viz.html.markup import Html, paragraph, tag, untrusted


def title(kind: str, name: str) -> Html:
    """Return the title of a display in bold: the kind of object, if any, and its name."""
    return paragraph(tag("strong", kind, ": " if kind else "", untrusted(name, 1_000)))


def omitted(count: int, noun: str, where: str = "") -> str:
    """Return a paragraph that says how many items are not shown; empty for none."""
    if count <= 0:
        return ""
    return paragraph(f"{count:,} more {noun}{' is' if count == 1 else 's are'} not shown{where}.")


def duration_text(seconds: float) -> str:
    """Return a duration: in seconds below a minute, else as a clock shows it."""
    return f"{seconds:,.3g} s" if seconds < 60 else clock(seconds)
