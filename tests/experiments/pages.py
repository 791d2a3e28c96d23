"""Checks of executed notebooks and of the HTML pages made from them."""

from __future__ import annotations

from pathlib import Path

import nbformat
from playwright.sync_api import Browser, Request


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
