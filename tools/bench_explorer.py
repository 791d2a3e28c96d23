"""Measure clicks in the explorer in a real JupyterLab and Chromium, on ten-hour videos.

The time runs from the click to the painted view: of a cell opened for the first time, of one opened
before, and back at the root grid; beside it stands the time that the kernel alone needs for such a
view. Then 500 clicks show whether the memory of the kernel and of the page grows.
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
def explorer_notebook(video: str) -> Iterator[Book]:
    """Open a notebook with an explorer of the video that a line of Python makes."""
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
    """Click an element; return the milliseconds until the new view is painted."""
    return float(book.page.evaluate(CLICK, selector))


def open_cell(book: Book, index: int) -> float:
    """Open a cell of the root grid; return the milliseconds that took."""
    return click(book, f'[data-index="{index}"]')


def go_back(book: Book) -> float:
    """Go back to the root grid; return the milliseconds that took."""
    return click(book, ".controls button")


def kernel_ms(book: Book, index: int) -> float:
    """Return the milliseconds the kernel alone takes to render a view with an empty cache."""
    code = (
        "from dataclasses import replace\n"
        f"view = replace(explorer.view.expand({index}), cache=ak.Cache(None))\n"
        "began = time.perf_counter(); view.jpeg(); print(1e3 * (time.perf_counter() - began))"
    )
    return float(book.evaluate(code))


def row(label: str, times_ms: list[float]) -> None:
    """Print one line of the table."""
    print(
        f"  {label:<46}{statistics.median(times_ms):8.0f} ms  (worst of {len(times_ms)}: {max(times_ms):.0f} ms)",
        flush=True,
    )


def bench_clicks(book: Book, cells: int) -> None:
    """Time clicks on some new cells, and then on the same cells again."""
    open_cell(book, 63), go_back(book)  # warm up the page
    cold, back, again = [], [], []
    for index in range(cells):
        cold.append(open_cell(book, index))
        back.append(go_back(book))
    for index in range(cells):
        again.append(open_cell(book, index))
        back.append(go_back(book))
    alone = [kernel_ms(book, index) for index in range(cells, 2 * cells)]
    row("click on a new cell, until painted", cold)
    row("such a view, rendered by the kernel alone", alone)
    row("click on a cell opened before, until painted", again)
    row("back to the root grid, until painted", back)


def bench_memory(book: Book, cells: int) -> None:
    """Print the memory of the kernel and of the page over clicks into cells and back."""
    session = book.context.new_cdp_session(book.page)
    print(f"  {'clicks':>8}{'kernel, MB resident':>24}{'page, MB of script heap':>26}")
    for done in range(0, CLICKS + 1, 2):
        if done % 100 == 0:
            session.send("HeapProfiler.collectGarbage")
            heap = session.send("Runtime.getHeapUsage")["usedSize"] / 2**20
            print(f"  {done:>8}{float(book.evaluate(RESIDENT)):>24.1f}{heap:>26.1f}", flush=True)
        open_cell(book, done // 2 % cells)
        go_back(book)


def bench(label: str, video: str, timed: int, cycled: int) -> None:
    """Time clicks on `timed` cells of a video; measure memory while clicking through `cycled`."""
    print(f"\nThe explorer on {label}, 8×8 cells of 120 px, in JupyterLab")
    with explorer_notebook(video) as book:
        bench_clicks(book, timed)
        bench_memory(book, cycled)


def main(folder: Path, hours: int = 10) -> None:
    """Measure a drawn world and, unless `hours` is 0, a temporary file of that length."""
    if CHROMIUM is None:
        print("\nThe explorer was not measured: there is no chromium on the PATH")
        return
    bench("a drawn world of 10 hours", DRAWN, timed=10, cycled=64)
    if not hours:
        return
    folder.mkdir(parents=True, exist_ok=True)
    short = bench_video.minute(folder / "minute-1080p.mp4")
    path = bench_video.repeated(short, folder / f"{hours}h-explorer.mp4", 60 * hours)
    try:
        opening = f"video = ak.open_video({str(path.absolute())!r})"
        bench(f"a file of {hours} hours, 1080p25 H.264", opening, timed=4, cycled=8)  # a new cell is slow here
    finally:
        path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=bench_video.MEDIA)
    parser.add_argument("--hours", type=int, default=10, help="length of the file; 0: only the drawn world")
    options = parser.parse_args()
    main(options.folder, options.hours)
