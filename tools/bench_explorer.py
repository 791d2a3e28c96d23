"""What a click in the explorer takes, in a real JupyterLab and Chromium, on ten hours: a drawn world, and a file.

From the click to the picture on the screen: of a cell that was never looked at, of one that was, and of the way back;
beside what the kernel alone needs for such a grid. Then 500 clicks, and what memory the kernel and the page hold.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bench_video
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.jupyter import CHROMIUM, Book, Lab, Tab
from support.notebooks import write_notebook

CLICKS = 500
DRAWN = "video = ak.benchmarks.atlasworld(0, 36_000, questions=1, directory=folder).drawn"
CLICK = """async (selector) => {
  const explorer = document.querySelector(".explorer"), stage = explorer.querySelector(".stage");
  const began = performance.now();
  const painted = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      observer.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - began)));
    });
    observer.observe(stage, { childList: true });
  });
  explorer.querySelector(selector).click();
  return painted;
}"""
RESIDENT = "print(next(int(line.split()[1]) for line in open('/proc/self/status') if 'VmRSS' in line) / 1024)"


@contextmanager
def opened(video: str) -> Iterator[Book]:
    """Open a notebook with an explorer of a video, which a line of Python makes."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        lab = Lab(Path(folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        start = f"import time, atlaskit as ak\nfolder = {folder!r}\n{video}"
        show = "explorer = ak.widgets.GridExplorer(video, cache=ak.Cache(folder + '/cache'))\nexplorer"
        book = Book(Tab(browser, lab), write_notebook(lab.folder / "bench.ipynb", start, show))
        try:
            book.run()
            book.output(1).locator(".explorer").wait_for()
            yield book
        finally:
            book.close()
            browser.close()
            lab.close()


def click(book: Book, selector: str) -> float:
    """Click, and return the milliseconds until the picture that follows is painted."""
    return float(book.page.evaluate(CLICK, selector))


def open_cell(book: Book, index: int) -> float:
    """Open a cell of the root grid, and return how long that took."""
    return click(book, f'[data-index="{index}"]')


def go_back(book: Book) -> float:
    """Go back to the root grid, and return how long that took."""
    return click(book, ".controls button")


def alone_ms(book: Book, index: int) -> float:
    """Return what the kernel alone needs to draw a grid for the first time, with a cache of its own."""
    code = (
        "from dataclasses import replace\n"
        f"view = replace(explorer.view.expand({index}), cache=ak.Cache(None))\n"
        "began = time.perf_counter(); view.jpeg(); print(1e3 * (time.perf_counter() - began))"
    )
    return float(book.evaluate(code))


def row(what: str, times_ms: list[float]) -> None:
    """Print one line of the table."""
    print(
        f"  {what:<46}{statistics.median(times_ms):8.0f} ms  (worst of {len(times_ms)}: {max(times_ms):.0f} ms)",
        flush=True,
    )


def bench_clicks(book: Book, cells: int) -> None:
    """Time clicks on so many cells that were never looked at, and then on the same."""
    open_cell(book, 63), go_back(book)  # what a page does once
    cold, back, again = [], [], []
    for index in range(cells):
        cold.append(open_cell(book, index))
        back.append(go_back(book))
    for index in range(cells):
        again.append(open_cell(book, index))
        back.append(go_back(book))
    alone = [alone_ms(book, index) for index in range(cells, 2 * cells)]
    row("a click on a cell never looked at, painted", cold)
    row("such a grid drawn by the kernel alone", alone)
    row("a click on a cell looked at before, painted", again)
    row("back to the whole video, painted", back)


def bench_memory(book: Book, cells: int) -> None:
    """Print what the kernel and the page hold while one clicks on, through so many cells and back each time."""
    session = book.context.new_cdp_session(book.page)
    print(f"  {'clicks':>8}{'kernel, MB resident':>24}{'page, MB of script heap':>26}")
    for done in range(0, CLICKS + 1, 2):
        if done % 100 == 0:
            session.send("HeapProfiler.collectGarbage")
            heap = session.send("Runtime.getHeapUsage")["usedSize"] / 2**20
            print(f"  {done:>8}{float(book.evaluate(RESIDENT)):>24.1f}{heap:>26.1f}", flush=True)
        open_cell(book, done // 2 % cells)
        go_back(book)


def bench(what: str, video: str, cold: int, walked: int) -> None:
    """Measure one video: `cold` cells one by one, and `walked` while memory is looked at."""
    print(f"\nThe explorer on {what}, 8×8 cells of 120 px, in JupyterLab")
    with opened(video) as book:
        bench_clicks(book, cold)
        bench_memory(book, walked)


def main(folder: Path, hours: int = 10) -> None:
    """Measure the drawn world and, unless `hours` is 0, a file of that length, made for it and removed again."""
    if CHROMIUM is None:
        print("\nThe explorer was not measured: there is no chromium on the PATH")
        return
    bench("a drawn world of 10 hours", DRAWN, cold=10, walked=64)
    if not hours:
        return
    folder.mkdir(parents=True, exist_ok=True)
    short = bench_video.minute(folder / "minute-1080p.mp4")
    path = bench_video.repeated(short, folder / f"{hours}h-explorer.mp4", 60 * hours)
    try:
        opening = f"video = ak.open_video({str(path.absolute())!r})"
        bench(f"a file of {hours} hours, 1080p25 H.264", opening, cold=4, walked=8)  # many frames for each cold one
    finally:
        path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("cache/bench"))
    parser.add_argument("--hours", type=int, default=10, help="length of the file; 0: only the drawn world")
    options = parser.parse_args()
    main(options.folder, options.hours)
