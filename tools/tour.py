"""Make docs/tour.jpg, a screenshot of the explorer beside one of the trace viewer.

Run it as `.venv/bin/python tools/tour.py`; it needs chromium. A real JupyterLab shows a run of an
oracle without errors, so the answer is right. The explorer shows the root grid with the evidence,
the viewer one step of a worker.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.jupyter import CHROMIUM, Book, Lab, Tab, shot
from support.notebooks import write_notebook

ROOT = Path(__file__).parents[1]
CELLS = (
    f"""import atlaskit as ak
import atlasworld as aw
cache = ak.Cache({str(ROOT / "cache")!r})
world = aw.world(7, 600, directory={str(ROOT / "cache/atlasworld")!r})
question = next(question for question in world.questions if question.category == "SSS")
result = ak.ask(world.video, question, vlm=aw.Oracle(world), cache=cache)
assert result.is_right""",
    "ak.widgets.GridExplorer(world.video, result=result, cache=cache)",
    "ak.widgets.TraceViewer(result)",
)
EVENT = 5
"""The event that the viewer shows: a worker adds evidence."""
SETTLE_MS = 4000
"""Time for the last image to load, in milliseconds."""
GAP = 24
QUALITY = 82


def main() -> None:
    """Open the widgets, step to the event, and save both screenshots side by side."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        book = Book(Tab(browser, lab), write_notebook(lab.folder / "tour.ipynb", *CELLS))
        try:
            book.run()
            explorer = book.output(1).locator(".explorer")
            viewer = book.output(2).locator(".pane")
            explorer.locator(".stage img").wait_for()
            viewer.locator("input[type=range]").first.focus()
            for _ in range(EVENT):
                book.page.keyboard.press("ArrowRight")
            book.page.wait_for_timeout(SETTLE_MS)
            parts = [shot(explorer), shot(viewer)]
        finally:
            book.close()
            browser.close()
            lab.close()
    width = sum(part.width for part in parts) + GAP
    height = max(part.height for part in parts)
    figure = Image.new("RGB", (width, height), "white")
    left = 0
    for part in parts:
        figure.paste(part, (left, 0))
        left += part.width + GAP
    figure.save(ROOT / "docs/tour.jpg", quality=QUALITY, optimize=True)


if __name__ == "__main__":
    main()
