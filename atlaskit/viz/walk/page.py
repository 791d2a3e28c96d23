"""The page that holds one run, and the CSS and JavaScript of the walkthrough.

    save, html                              a run as one HTML file
    script, style                           the scripts and styles of the page and the widgets

Scripts and styles are small files, each of which uses those before it. They are joined to one text,
so that neither a page nor a widget loads anything. The content security policy of the page allows
the hash of a single script, and the JavaScript module of a widget has no imports.
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
from atlaskit.viz.html.reprs import result as result_html
from atlaskit.viz.walk import steps
from atlaskit.viz.walk.pictures import Pictures, pictures
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.walk.steps import summarize

PANE = ("dom", "filters", "map", "strips", "details", "regions", "pane")
"""The scripts that show the steps of one run."""
PAGE = (*PANE, "page")
"""The scripts of a page that holds one run with all of its images."""
PANES = (*PANE, "beside")
"""The scripts that show one run or two, whose steps and images the kernel sends."""


def script(*names: str) -> str:
    """Return scripts of this package joined to one."""
    return "\n".join(_read("script", f"{name}.js") for name in names)


def style(*names: str) -> str:
    """Return stylesheets of this package joined to one."""
    return "".join(_read("style", f"{name}.css") for name in names)


def page_template() -> str:
    """Return the HTML of a page, as a `string.Template`."""
    return _read(".", "page.html")


def _read(folder: str, name: str) -> str:
    return (Path(__file__).parent / folder / name).read_text(encoding="utf-8")


MAX_TOTAL_BYTES = 6_000_000
"""Most bytes of all images together, as JPEG; in base64, as in the page, they take a third more."""
MAX_IMAGES = 800
"""Most distinct images in a page. So many have some 7 kB each; smaller ones would be illegible."""
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
    run = open_run(result)
    code = script(*PAGE)
    found = pictures(run)
    summary = summarize(run, found)
    images, missing = _embed(found)
    content = {
        "run": summary,
        "steps": list(steps.steps(run, found)),
        "pictures": images,
        "missing": missing,
    }
    lines = filter(None, [summary["answer"], *summary["notes"]])
    paragraphs = [tag("p", untrusted(text, 2_000)) for text in lines]
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    return Template(page_template()).substitute(
        policy=(
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src "
            f"'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        ),
        title=escape(plain_text(result.question.text, 100)),
        style=style("design", "walk"),
        question=untrusted(result.question.text, 2_000),
        answer="".join(paragraphs),
        summary=guarded("The result", lambda: result_html(result)),
        run=_embedded_json(content),
        script=code,
    )


def _embedded_json(value: Any) -> str:
    """Return JSON without characters that could end a script block or begin another."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)


def _embed(found: Pictures) -> tuple[list[str], dict[int, str]]:
    """Return the images as data URIs, and by index the reasons why some cannot be shown.

    The URI of an image that cannot be shown is empty. The map and the last sheet are embedded
    first, since a page of a long run does not have room for all images.
    """
    max_bytes = MAX_TOTAL_BYTES // max(1, min(MAX_IMAGES, len(found.images)))
    uris = [""] * len(found.images)
    missing = dict[int, str]()
    order = sorted(
        range(len(found.images)), key=lambda number: number not in (found.map, found.sheet)
    )
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
