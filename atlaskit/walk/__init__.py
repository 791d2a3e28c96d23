"""A run as one HTML file that opens in any browser, without a network, and can be walked through event by event.

    walk.save(result, "run.html")

The page carries its style, its script and its pictures. Whatever a stranger said, in a video, a question or a reply, is
in it as text: what stands in the page from the start was escaped by `displays`, and what the script shows lies in a
block of JSON that cannot end early and is put into the page as text only. Besides, the page's own policy lets no other
script run, and nothing be loaded. Without scripts it shows the result as a notebook does.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from atlaskit import replay
from atlaskit.displays import kinds
from atlaskit.displays.markup import Html, bounded, part, strange, tag, told
from atlaskit.errors import AtlasError, InputError, reason
from atlaskit.memory import Evidence
from atlaskit.render import Picture, Sheet, Still, View, clock
from atlaskit.replay import Shown
from atlaskit.result import Result
from atlaskit.walk import steps

MOST_PAGE_BYTES = 6_000_000
"""Of all pictures together, as JPEG; in a page they take a third more."""
MOST_PICTURES = 800
"""Different ones in a page; each of them then has 7 kB, and smaller ones show nothing."""
_UNSAFE = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def save(result: Result, path: str | Path) -> None:
    """Write a run as one HTML file to walk through; its pictures are drawn again where the cache has them no more.

    A picture that cannot be drawn is a sentence in its place. Raises InputError where the file cannot be written.
    """
    page = html(result)
    try:
        Path(path).write_text(page, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written: {reason(error)}.") from error


def html(result: Result) -> str:
    """Return the page that `save` writes."""
    script, style, frame = (_ours(name) for name in ("walk.js", "walk.css", "walk.html"))
    images, seen, trouble = _pictures(result)
    walked = [{**step, "saw": seen.get(place, [])} for place, step in enumerate(steps.steps(result))]
    left_out = len(result.trace) - len(walked)
    notes = [f"Pictures are missing: {trouble}"] if trouble else []
    notes += [f"The last {left_out:,} events are not shown."] if left_out else []
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(frame).substitute(
        policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'",
        title=escape(told(result.question.text, 100)),
        style=style,
        question=strange(result.question.text, 2_000),
        answer=_answer(result),
        notes="".join(tag("p", strange(note, 600)) for note in notes),
        evidence=_evidence(result, len(walked)),
        summary=part("The result", lambda: kinds.result(result)),
        run=_json({"steps": walked, "pictures": images}),
        script=script,
    )


def _ours(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _json(value: Any) -> str:
    """Return JSON that can stand in a page: no sign in it ends the block, or begins anything."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)


def _answer(result: Result) -> Html:
    if result.answer is None:
        return tag("p", "No answer could be had.")
    verdict = {True: "which is right", False: "which is wrong", None: ""}[result.is_right]
    return tag("p", "Answer: ", tag("strong", strange(result.answer, 2_000)), f", {verdict}" if verdict else "")


def _evidence(result: Result, count: int) -> Html:
    """Return every frame of evidence with a link to the step that found it."""
    if not len(result.evidence):
        return tag("p", "No frame was kept as evidence.")
    finders = steps.Finders(result.trace)
    rows = [_found(item, finders.of(item.timestamp_s), count) for item in result.evidence]
    return tag("ul", *rows)


def _found(item: Evidence, place: int | None, count: int) -> Html:
    words = strange(f"[{item.label}] {clock(item.timestamp_s)} {item.description}", 160)
    if place is None or place >= count:
        return tag("li", words)
    return tag("li", tag("a", words, f" (step {place})", href=f"#step={place}"))


def _pictures(result: Result) -> tuple[list[str], dict[int, list[tuple[int | None, str]]], str]:
    """Return each different picture once, as a data URI; of each event the places of its pictures there and what they
    are of; and why some are missing, empty if none is.
    """
    shown, trouble = list[Shown](), ""
    try:
        for each in replay.pictures(result.trace, result.sheet.video, result.sheet.cache):
            shown.append(each)
    except ValueError as error:  # a baseline's pictures are not noted, other code draws others, half a letter is no key
        trouble = reason(error)
    different = {each.picture.key: each.picture for each in shown}
    most_bytes = MOST_PAGE_BYTES // max(1, min(MOST_PICTURES, len(different)))
    images, places, failures = list[str](), dict[str, int](), dict[str, str]()
    for number, (key, picture) in enumerate(different.items()):
        try:
            if number >= MOST_PICTURES:
                raise InputError("There are too many pictures for one page.")
            jpeg = bounded(picture.jpeg(), kinds.WIDEST_PX, most_bytes)
        except (AtlasError, OSError) as error:
            failures[key] = f" It cannot be shown: {reason(error)}"
        else:
            places[key] = len(images)
            images.append(f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}")
    seen: dict[int, list[tuple[int | None, str]]] = {}
    for each in shown:
        key = each.picture.key
        words = told(_told_of(each.picture) + failures.get(key, ""), 1_000)
        seen.setdefault(each.place, []).append((places.get(key), words))
    return images, seen, trouble


def _told_of(picture: Picture) -> str:
    match picture:
        case View():
            return kinds.grid_told(picture)
        case Still():
            return f"The frame at {clock(picture.time_s)}, in full."
        case Sheet():
            return f"The frames of evidence: {_listed(picture.scratchpad.labels)}."
    return "What was shown."


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(labels) or "none"
