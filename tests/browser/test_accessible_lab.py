"""Widgets and displays in a real JupyterLab: axe, light and dark, wide and narrow; keys alone."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.axe import SIZES, overflowing, violations
from playwright.sync_api import Locator, Page, expect
from support.jupyter import SIZE, TIMEOUT_S, Book, Notebooks, Tab

from atlasworld import World

pytestmark = [pytest.mark.browser, pytest.mark.long]

SETUP = """
import atlaskit as ak, atlasworld as aw, pandas as pd
from IPython.display import display
world = aw.world(5, 600, questions=16, size=(320, 180), directory={world!r})
cache, video = ak.Cache({folder!r} + "/cache"), world.drawn
question = next(each for each in world.questions if each.category == "COUNT")
small = ak.Search(k=4, cell=48)
asked = dict(cache=cache, search=small, budget=ak.Budget(calls=24))
result, other = (ak.ask(video, question, vlm=aw.Oracle(world, miss=miss), **asked) for miss in (0.2, 0.5))
each = dict(vlm=aw.Oracle, cache=cache, progress=False, traces={folder!r} + "/traces")
cases = world.cases(drawn=True)[:3]
rows = [ak.evaluate(cases, search=small, budget=ak.Budget(calls=12), **each), ak.evaluate(cases, "uniform", **each)]
rows = pd.concat(rows, ignore_index=True)
"""
LIVE = """
class Stopping(aw.Oracle):
    calls = 0
    def complete(self, request, **options):
        self.calls += 1
        if self.calls > 9: raise KeyboardInterrupt
        return super().complete(request, **options)
try: ak.ask(video, question, vlm=Stopping(world), show=True, workers=2, search=small, cache=ak.Cache(None))
except KeyboardInterrupt: pass
"""
PARTS = {
    "explorer": "ak.widgets.GridExplorer(video, result=result, cache=cache)",
    "viewer": "ak.widgets.TraceViewer(result)",
    "two": "ak.widgets.TraceViewer(result, other)",
    "table": "ak.widgets.RunTable(rows, cache=cache)",
    "displays": "observation = ak.Atlas(video, k=4, cell=96, cache=cache).reset()\n"
    "for shown in (video, observation.view, observation, result.sheet, result, other.trace): display(shown)",
    "live": LIVE,
    "figures": "import matplotlib.pyplot as plt\nak.plots.path(result); plt.show()",
}
"""Code of the cells after the first one, by a name."""
NOT_OURS = {"figures image-alt"}
"""JupyterLab gives the images of matplotlib no text, and has no place for one."""


@pytest.fixture
def window(tab: Tab) -> Iterator[Page]:
    """The page of JupyterLab, which gets its size and theme back."""
    yield tab.page
    tab.page.set_viewport_size(SIZE)  # type: ignore[arg-type]
    theme(tab.page, "JupyterLab Light")


def theme(page: Page, name: str) -> None:
    """Change the theme, and wait until the page has its colours."""
    page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", name)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-name", name, timeout=TIMEOUT_S * 1000)
    page.wait_for_function(
        "(light) => getComputedStyle(document.body).getPropertyValue('--jp-layout-color0').trim() !== '' &&"
        " document.body.dataset.jpThemeLight === light",
        arg=str("Light" in name).lower(),
    )


def resize(page: Page, size: str) -> None:
    """Give the window a size, without the side bar, which would take most of a narrow one."""
    page.set_viewport_size({"width": SIZES[size]["width"], "height": 2400})  # so that pictures show all
    page.evaluate(
        """async () => {
          const { commands, shell } = window.jupyterapp;
          if (!shell.leftCollapsed) await commands.execute("application:toggle-left-area");
        }"""
    )


def ready(book: Book) -> dict[str, Locator]:
    """Return the outputs by name, once the widgets show their content."""
    parts = {name: book.output(cell) for cell, name in enumerate(PARTS, start=1)}
    parts["explorer"].locator(".explorer img").first.wait_for()
    for name, panes in (("viewer", 1), ("two", 2)):
        expect(parts[name].locator(".heading")).to_have_count(panes)
        parts[name].locator(".heading").first.wait_for()
    table = parts["table"]
    table.get_by_role("button", name="open the run of row 0", exact=True).click()
    table.locator(".heading").first.wait_for()
    table.get_by_role("button", name="tokens", exact=True).click()
    return parts


def test_nothing_in_jupyterlab_bars_anyone(window: Page, notebooks: Notebooks, world: World, tmp_path: Path) -> None:
    setup = SETUP.format(world=str(world.directory), folder=str(tmp_path))
    book = notebooks(setup, *PARTS.values())
    parts = ready(book)
    faults = list[str]()
    for size, scheme in zip((*SIZES, "wide"), ("Light", "Dark", "Dark High Contrast"), strict=True):
        resize(window, size)
        theme(window, f"JupyterLab {scheme}")
        for number, (name, part) in enumerate(parts.items(), start=1):
            part.scroll_into_view_if_needed()
            place = f".jp-NotebookPanel .jp-Cell:nth-child({number + 1} of .jp-Cell) .jp-Cell-outputArea"
            found = [each for each in violations(window, place) if f"{name} {each}".partition(":")[0] not in NOT_OURS]
            faults += [f"{name} {size} {scheme} {each}" for each in found]
            for inner in ("", " .atlaskit-walk", " .explorer"):  # JupyterLab's own boxes scroll
                faults += [f"{name} {size} sticks out: {each}" for each in overflowing(window, place + inner)]
    assert not faults, "\n".join(faults)


CONTROLS = """(root) => {
  const all = root.querySelectorAll("button, select, input, textarea, summary, a[href], [tabindex='0']");
  const stops = [root, ...all].filter((each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility());
  stops.forEach((each, index) => { each.dataset.stop = index; });
  return stops.map((each) => `${each.tagName} ${each.getAttribute("aria-label") ?? each.textContent}`.slice(0, 60));
}"""
FOCUSED = """(root) => {
  const at = document.activeElement, style = getComputedStyle(at);
  if (!root.contains(at)) return null;
  const isMarked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  return [Number(at.dataset.stop ?? -1), isMarked, at.outerHTML.slice(0, 120)];
}"""


def walk_through(page: Page, root: Locator) -> None:
    """Press Tab from a widget's start to its end: each control is on the way and can be seen."""
    controls = root.evaluate(CONTROLS)
    root.evaluate("(root) => { root.tabIndex = Math.max(0, root.tabIndex); root.focus({ focusVisible: true }); }")
    visited = [0]
    for _ in range(len(controls) + 5):
        page.keyboard.press("Tab")
        focused = root.evaluate(FOCUSED)
        if focused is None:
            break
        stop, is_marked, html = focused
        assert is_marked, f"the focus cannot be seen on {html}"
        expect(page.locator(":focus"), f"the focus is outside the window on {html}").to_be_in_viewport()
        visited.append(stop)
    else:
        raise AssertionError("Tab does not lead out of the widget")
    left_out = [control for stop, control in enumerate(controls) if stop not in visited]
    assert not left_out, f"Tab does not reach {left_out}"


def test_the_viewer_works_by_keyboard_alone(window: Page, notebooks: Notebooks, world: World, tmp_path: Path) -> None:
    book = notebooks(SETUP.format(world=str(world.directory), folder=str(tmp_path)), PARTS["viewer"], PARTS["two"])
    keys = window.keyboard
    walker, both = (book.output(cell).locator("section.atlaskit-walk").first for cell in (1, 2))
    heading = walker.locator(".heading")
    expect(heading).to_have_text(re.compile("^Step 0 "))
    walk_through(window, walker)
    expect(both.locator(".heading")).to_have_count(2)
    walk_through(window, both)

    walker.locator(".next").focus()
    keys.press("Enter")
    expect(heading).to_have_text(re.compile("^Step 1 "))
    choice = walker.get_by_role("group", name="Filters").locator("select").first
    choice.focus()
    for arrow in ("ArrowRight", "ArrowDown"):  # elsewhere a key of the viewer, and one of JupyterLab
        before = choice.input_value()
        keys.press(arrow)
        assert choice.input_value() != before, "an arrow changes the filter and nothing else"
    walker.locator("summary").first.focus()
    for shortcuts in ("ab", "ddx"):  # two cells more, and two fewer
        keys.type(shortcuts)
        assert len(book.cells()) == 3, "JupyterLab's shortcuts for cells work only outside of the widget"
    book.page.locator(".jp-NotebookPanel .jp-InputPrompt").first.click()
    keys.press("b")
    assert len(book.cells()) == 4, "and outside they do"
