"""axe-core, which checks pages for what bars people: names, roles, contrast, order, focus.

Only findings of impact "serious" or "critical" count. The lighter ones are advice, and many of them
speak of a whole page, of which a widget is a part.
"""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

GRAVE = ("serious", "critical")
SIZES = {"wide": {"width": 1100, "height": 900}, "narrow": {"width": 400, "height": 800}}
"""The windows in which pages are checked."""
RUN = """async (include) => {
  const { violations } = await axe.run(include.length ? { include } : document, { resultTypes: ["violations"] });
  return violations.flatMap(({ id, impact, help, nodes }) => nodes.map((node) => ({
    id, impact, help, html: node.html.slice(0, 300), target: node.target.join(" "),
    why: [...node.any, ...node.all, ...node.none].map(({ message }) => message).join("; "),
  })));
}"""
OVERFLOW = """(selector) => [...document.querySelectorAll(selector)].flatMap((root) => {
  const right = Math.min(root.getBoundingClientRect().right, document.documentElement.clientWidth);
  const scrolls = (node) => node && node !== root.parentElement &&
    (!["visible"].includes(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
  return [...root.querySelectorAll("*")].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.width > 0 && box.right > right + 1 && !scrolls(node);
  }).map((node) => node.outerHTML.slice(0, 160));
})"""


def violations(page: Page, *within: str) -> list[str]:
    """Return what axe finds that is grave, in a page or in the elements that match selectors."""
    for selector in within:
        assert page.locator(selector).count(), f"no element is {selector}, so nothing would be checked"
    if not page.evaluate("() => Boolean(window.axe)"):
        page.evaluate(AXE_SCRIPT)
    found: list[dict[str, Any]] = page.evaluate(RUN, list(within))
    grave = [each for each in found if each["impact"] in GRAVE]
    return [f"{each['id']}: {each['target']} {each['html']}\n    {each['why']}" for each in grave]


def overflowing(page: Page, selector: str) -> list[str]:
    """Return the elements that stick out of their part of the page to the right, as HTML."""
    found: list[str] = page.evaluate(OVERFLOW, selector)
    return found
