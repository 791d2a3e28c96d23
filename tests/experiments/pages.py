"""Checks of executed notebooks and of the HTML pages made from them."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
from PIL import Image
from playwright.sync_api import Browser, Request

from atlaskit.experiments.page import write_html

MAX_BYTES = 10_000_000


def count_images(executed: Path) -> int:
    """Count the images in the outputs of a notebook; one in several formats counts once."""
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
    """Check that the HTML page of a notebook embeds every image of its outputs; return how many."""
    page = write_html(executed)
    parsed = ParsedPage(page.read_text(encoding="utf-8"))
    assert len(parsed.images) == count_images(executed)
    for source in parsed.images:
        match = re.match(r"data:image/(png|jpeg);base64,", source)
        assert match, source[:80]
        Image.open(io.BytesIO(base64.b64decode(source[match.end() :]))).load()
    assert page.stat().st_size < MAX_BYTES
    assert not any("widget" in (script.get("type") or "") for script in parsed.scripts)
    assert not [link for link in parsed.links if not link.startswith("data:")]
    return len(parsed.images)


class RenderedPage:
    """A page as a browser rendered it: what it tried to load, its errors, its text and images."""

    def __init__(self, browser: Browser, page: Path) -> None:
        context = browser.new_context(viewport={"width": 1200, "height": 1000})
        self.requests, self.errors = list[str](), list[str]()
        tab = context.new_page()
        context.route("**/*", lambda route: route.continue_() if self._is_own(route.request.url) else route.abort())
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.on("requestfailed", self._failed)
        tab.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.goto(page.as_uri())
        tab.wait_for_load_state("load")
        self.requests = [
            url for url in self.requests if url != page.as_uri() and not url.startswith(("data:", "blob:"))
        ]
        self.title = tab.title()
        self.text = tab.evaluate("() => document.body.innerText")
        self.broken = tab.evaluate("() => [...document.images].filter((each) => !each.naturalWidth).map((e) => e.src)")
        self.images = tab.evaluate("() => document.images.length")
        self.handlers = tab.evaluate(
            "() => [...document.querySelectorAll('*')].filter((e) => e.onerror || e.onload || e.onmouseover).length"
        )
        context.close()

    def _failed(self, request: Request) -> None:
        if request.failure == "csp":  # blocked by the page's own policy, so never sent
            self.requests.remove(request.url)

    @staticmethod
    def _is_own(url: str) -> bool:
        return url.startswith(("file:", "data:"))


class ParsedPage(HTMLParser):
    """The images, scripts and links of a page, from its source alone."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.images, self.links, self.scripts = list[str](), list[str](), list[dict[str, str | None]]()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        if tag == "img":
            self.images.append(attributes["src"] or "")
        if tag == "script":
            self.scripts.append(attributes)
        if tag != "a":
            self.links += [value for name, value in attrs if name in ("src", "href", "data", "srcset") and value]
