"""Make README's first picture, `docs/tour.jpg`: `.venv/bin/python tools/tour.py`, where there is a chromium.

Notebook 10 in a real JupyterLab: a run stepped through beside the map it was made on.
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
cache = ak.Cache({str(ROOT / "cache")!r})
world = ak.benchmarks.atlasworld(7, 600, directory={str(ROOT / "cache/atlasworld")!r})
question = next(question for question in world.questions if question.category == "SSS")
result = ak.ask(world.video, question, vlm=ak.Oracle(world, miss=0.3, confuse=0.2), cache=cache)""",
    "ak.widgets.GridExplorer(world.video, result=result, cache=cache)",
    "ak.widgets.TraceViewer(result)",
)
STEPS = 60
"""Into the run."""
SETTLES_MS = 4000
GAP, QUALITY = 24, 82


def main() -> None:
    """Open the widgets, step into the run, and put both pictures beside each other."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        book = Book(Tab(browser, lab), write_notebook(lab.folder / "tour.ipynb", *CELLS))
        try:
            book.run()
            explorer, viewer = book.output(1).locator(".explorer"), book.output(2).locator(".pane")
            explorer.locator(".stage img").wait_for()
            viewer.locator("input[type=range]").first.focus()
            for _ in range(STEPS):
                book.page.keyboard.press("ArrowRight")
            book.page.wait_for_timeout(SETTLES_MS)
            parts = [shot(explorer), shot(viewer)]
        finally:
            book.close()
            browser.close()
            lab.close()
    size = sum(part.width for part in parts) + GAP, max(part.height for part in parts)
    whole = Image.new("RGB", size, "white")
    left = 0
    for part in parts:
        whole.paste(part, (left, 0))
        left += part.width + GAP
    whole.save(ROOT / "docs/tour.jpg", quality=QUALITY, optimize=True)


if __name__ == "__main__":
    main()
