"""Counts ("3 calls"), percentages, durations and intervals as text, for all displays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from atlaskit.environment.notation import clock, interval
from atlaskit.viz.html.markup import Html, paragraph, tag, untrusted

MAX_LISTED = 12
"""Most items of an enumeration in a sentence."""


def title(kind: str, name: str) -> Html:
    """Return the title of a display in bold: the kind of object, if any, and its name."""
    return paragraph(tag("strong", kind, ": " if kind else "", untrusted(name, 1_000)))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural: 1 frame, 1,200 frames."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def omitted(count: int, noun: str, where: str = "") -> str:
    """Return a paragraph that says how many items are not shown; empty for none."""
    if count <= 0:
        return ""
    return paragraph(f"{count:,} more {noun}{' is' if count == 1 else 's are'} not shown{where}.")


def percent(share: float) -> str:
    """Return a share in [0, 1] in whole percent: 38 %."""
    return f"{100 * share:.0f} %"


def duration_text(seconds: float) -> str:
    """Return a duration: in seconds below a minute, else as a clock shows it."""
    return f"{seconds:,.3g} s" if seconds < 60 else clock(seconds)


def span_text(span: Sequence[float]) -> str:
    """Return the interval [start, end), in seconds, as clock times."""
    return interval(span[0], span[1])


def value_text(value: Any, longest: int = 300) -> str:
    """Return a value of a model's answer as text: a text as it is, anything else as JSON; cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else f"{text[:longest]}…"


def spans_text(spans: Sequence[Sequence[float]], max_listed: int = MAX_LISTED) -> str:
    """Return intervals in seconds as clock times: the first ones, and how many more there are."""
    more = [f"and {len(spans) - max_listed:,} more"] if len(spans) > max_listed else []
    return ", ".join([*map(span_text, spans[:max_listed]), *more]) or "nothing"
