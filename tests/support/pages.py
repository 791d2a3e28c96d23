"""What a notebook, executed or as HTML, holds."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import nbformat
from PIL import Image
from playwright.sync_api import Browser, Request

from atlaskit.experiments.report import write_html

OF_THE_TEMPLATE = {"cdnjs.cloudflare.com", "cdn.jsdelivr.net", "unpkg.com"}
"""Where nbconvert's own template would load formulas, widgets and diagrams from."""
MOST_BYTES = 10_000_000


def plain_html(executed: Path) -> Path:
    """Write a notebook as `jupyter nbconvert --to html` does."""
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter().from_notebook_node(nbformat.read(executed, as_version=4))
    path = executed.with_name(f"{executed.stem}_plain.html")
    path.write_text(body, encoding="utf-8")
    return path


WRITERS: list[Callable[[Path], Path]] = [write_html, plain_html]


def meant(executed: Path) -> int:
    """How many pictures the outputs of a notebook hold, each counted once however many forms it has."""
    count = 0
    for cell in nbformat.read(executed, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                count += data["text/html"].count("<img ")
            else:
                count += any(kind.startswith("image/") for kind in data)
    return count


def check_pictures(executed: Path) -> int:
    """Check that both pages of a notebook show all pictures of its outputs by themselves; return how many."""
    for write in WRITERS:
        page = write(executed)
        seen = Seen(page.read_text(encoding="utf-8"))
        assert len(seen.pictures) == meant(executed)
        for source in seen.pictures:
            match = re.match(r"data:image/(png|jpeg);base64,", source)
            assert match, source[:80]
            Image.open(io.BytesIO(base64.b64decode(source[match.end() :]))).load()
        assert page.stat().st_size < MOST_BYTES
        assert not any("widget" in (script.get("type") or "") for script in seen.scripts)
        assert write is plain_html or not [refers for refers in seen.refers if not refers.startswith("data:")]
    return meant(executed)


class Looked:
    """What came of a page in a browser: what it asked for, said and ran."""

    def __init__(self, browser: Browser, page: Path) -> None:
        context = browser.new_context(viewport={"width": 1200, "height": 1000})
        self.asked, self.wrong = list[str](), list[str]()
        tab = context.new_page()
        context.route("**/*", lambda route: route.continue_() if self._is_own(route.request.url) else route.abort())
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.on("requestfailed", self._failed)
        tab.on("dialog", lambda dialog: (self.wrong.append(dialog.message), dialog.dismiss()))
        tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        tab.goto(page.as_uri())
        tab.wait_for_load_state("load")
        self.asked = [url for url in self.asked if url != page.as_uri() and not url.startswith(("data:", "blob:"))]
        self.title = tab.title()
        self.text = tab.evaluate("() => document.body.innerText")
        self.blank = tab.evaluate("() => [...document.images].filter((each) => !each.naturalWidth).map((e) => e.src)")
        self.pictures = tab.evaluate("() => document.images.length")
        self.strange = tab.evaluate(
            "() => [...document.querySelectorAll('*')].filter((e) => e.onerror || e.onload || e.onmouseover).length"
        )
        context.close()

    def _failed(self, request: Request) -> None:
        if request.failure == "csp":  # never sent: the page's own policy says so
            self.asked.remove(request.url)

    @staticmethod
    def _is_own(url: str) -> bool:
        return url.startswith(("file:", "data:"))


class Seen(HTMLParser):
    """The pictures, scripts and references of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.pictures, self.refers, self.scripts = list[str](), list[str](), list[dict[str, str | None]]()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert not any(name.startswith("on") for name in given), (tag, given)
        if tag == "img":
            self.pictures.append(given["src"] or "")
        if tag == "script":
            self.scripts.append(given)
        if tag != "a":
            self.refers += [value for name, value in attrs if name in ("src", "href", "data", "srcset") and value]
