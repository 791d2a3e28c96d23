"""A page of results as a browser shows it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Request


class RenderedPage:
    """A page as a browser rendered it: what it tried to load, its errors, its text and images."""

    def __init__(self, browser: Browser, page: Path) -> None:
        context = browser.new_context(viewport={"width": 1200, "height": 1000})
        self.requests = list[str]()
        self.errors = list[str]()
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
