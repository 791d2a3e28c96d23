"""A run as one HTML file that opens in any browser, without a network, and can be walked through event by event.

    walk.save(result, "run.html")

The page carries its style, its script and its pictures. Whatever a stranger said, in a video, a question or a reply, is
in it as text: what stands in the page from the start was escaped by `displays`, and what the script shows lies in a
block of JSON that cannot end early and is put into the page as text only. Besides, the page's own policy lets no other
script run, and nothing be loaded. Without scripts it shows the result as a notebook does.

The script and the words are those of `widgets.TraceViewer`: the page walks like the widget.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from atlaskit.errors import AtlasError, InputError, reason
from atlaskit.runs.result import Result
from atlaskit.viz.html import reprs
from atlaskit.viz.html.markup import part, strange, tag, told
from atlaskit.viz.walk import assets, steps
from atlaskit.viz.walk.pictures import Pictures, Size, pictures
from atlaskit.viz.walk.source import opened
from atlaskit.viz.walk.summary import head

MOST_PAGE_BYTES = 6_000_000
"""Of all pictures together, as JPEG; in a page they take a third more."""
MOST_PICTURES = 800
"""Different ones in a page; each of them then has 7 kB, and smaller ones show nothing."""
_UNSAFE = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})

Seen = list[tuple[int | None, str, Size | None]]
"""The pictures of one event: each one's place among those of the page, what it is of, and its size."""


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
    run, script = opened(result), assets.script(*assets.PAGE)
    found = pictures(run)
    images, seen = _drawn(found)
    walked = [{**step, "saw": seen.get(place, [])} for place, step in enumerate(steps.steps(run))]
    about = head(run)
    if found.trouble:
        about["notes"].insert(0, told(f"Pictures are missing: {found.trouble}", 600))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(assets.frame()).substitute(
        policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'",
        title=escape(told(result.question.text, 100)),
        style=assets.style("page", "walk"),
        question=strange(result.question.text, 2_000),
        answer="".join(tag("p", strange(words, 2_000)) for words in (about["answer"], *about["notes"])),
        summary=part("The result", lambda: reprs.result(result)),
        run=_json({"run": about, "steps": walked, "pictures": images}),
        script=script,
    )


def _json(value: Any) -> str:
    """Return JSON that can stand in a page: no sign in it ends the block, or begins anything."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)


def _drawn(found: Pictures) -> tuple[list[str], dict[int, Seen]]:
    """Return each picture once, as a data URI; and of each event the places of its pictures there."""
    most_bytes = MOST_PAGE_BYTES // max(1, min(MOST_PICTURES, len(found.sights)))
    images, places, failures = list[str](), dict[int, int](), dict[int, str]()
    for number, sight in enumerate(found.sights):
        try:
            if number >= MOST_PICTURES:
                raise InputError("There are too many pictures for one page.")
            jpeg = sight.jpeg(reprs.WIDEST_PX, most_bytes)
        except AtlasError as error:
            failures[number] = f" It cannot be shown: {reason(error)}"
        else:
            places[number] = len(images)
            images.append(f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}")

    def seen(number: int, words: str) -> tuple[int | None, str, Size | None]:
        return places.get(number), told(words + failures.get(number, ""), 1_000), found.sights[number].size

    return images, {place: [seen(*each) for each in those] for place, those in found.at.items()}
