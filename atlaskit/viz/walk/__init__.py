"""A run as one HTML file that any browser opens without a network, to walk through event by event.

    walk.save(result, "run.html")

The page embeds its style, script and images. Text of unknown origin, from a video, a question or a
reply, stays text: the static part of the page is escaped by `html.markup`; what the script shows is
a block of JSON that cannot end early, and the script inserts it as text only. In addition, the
page's content security policy allows no other script, and loads nothing. Without JavaScript the
page shows the result as a notebook does.

`widgets.TraceViewer` uses the same script and the same text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from atlaskit.caching.files import write_whole
from atlaskit.errors import AtlasError, InputError, reason
from atlaskit.runs.result import Result
from atlaskit.viz.html.markup import MAX_WIDTH_PX, SHARP, guarded, plain_text, tag, untrusted
from atlaskit.viz.html.reprs.result import result as result_html
from atlaskit.viz.walk import assets, steps
from atlaskit.viz.walk.pictures import Pictures, pictures
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.walk.summary import summarize

__all__ = ["html", "save"]

MAX_IMAGE_BYTES = 6_000_000
"""Most bytes of all images together, as JPEG; base64 in the page takes a third more."""
MAX_IMAGES = 800
"""Most distinct images in a page; each then has about 7 kB, and smaller ones would be illegible."""
_UNSAFE = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def save(result: Result, path: str | Path) -> None:
    """Write a run as one HTML file; images that the cache no longer holds are drawn again.

    A sentence takes the place of an image that cannot be drawn.

    Raises:
        InputError: The file cannot be written.

    Examples:
        >>> ak.walk.save(result, "run.html")
    """
    page = html(result)
    try:
        write_whole(path, page)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written: {reason(error)}.") from error


def html(result: Result) -> str:
    """Return the page that `save` writes.

    Examples:
        >>> ak.walk.html(result)[:15].lower()
        '<!doctype html>'
    """
    run, script = open_run(result), assets.script(*assets.PAGE)
    found = pictures(run)
    summary, (images, missing) = summarize(run, found), _embed(found)
    content = {"run": summary, "steps": list(steps.steps(run, found)), "pictures": images, "missing": missing}
    told = (summary["answer"], *summary["notes"])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(assets.page_template()).substitute(
        policy=f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'",
        title=escape(plain_text(result.question.text, 100)),
        style=assets.style("design", "walk"),
        question=untrusted(result.question.text, 2_000),
        answer="".join(tag("p", untrusted(text, 2_000)) for text in told if text),
        summary=guarded("The result", lambda: result_html(result)),
        run=_embedded_json(content),
        script=script,
    )


def _embedded_json(value: Any) -> str:
    """Return JSON without characters that could end a script block or begin another."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)


def _embed(found: Pictures) -> tuple[list[str], dict[int, str]]:
    """Return the images as data URIs, empty where one cannot be shown, and why, by index.

    The map and the last sheet come first: a page of a long run has no place for all images.
    """
    max_bytes = MAX_IMAGE_BYTES // max(1, min(MAX_IMAGES, len(found.images)))
    uris, missing = [""] * len(found.images), dict[int, str]()
    order = sorted(range(len(found.images)), key=lambda number: number not in (found.map, found.sheet))
    for place, number in enumerate(order):
        try:
            if place >= MAX_IMAGES:
                raise InputError(f"The page already holds {MAX_IMAGES} images, the most it can.")
            jpeg = found.images[number].jpeg(SHARP * MAX_WIDTH_PX, max_bytes)
        except AtlasError as error:
            missing[number] = plain_text(reason(error), 1_000)
        else:
            uris[number] = f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
    return uris, missing


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
