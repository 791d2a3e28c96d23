"""What the terminal and a log file show of a notebook while it runs."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import nbformat
import pytest
from support.notebooks import write_notebook

from atlaskit.experiments.console import Console
from atlaskit.experiments.notebook import run_notebook
from atlaskit.experiments.report import write_html

BAR = ["\r  0%|   | 0/2", "\r 50%|█  | 1/2", "\r100%|██ | 2/2\n"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Answering(io.StringIO):
    """A log file that writes a file as soon as it is told that the kernel waits for that file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def write(self, text: str) -> int:
        if "waiting" in text:
            self._path.touch()
        return super().write(text)


def test_a_log_file_gets_a_line_for_the_last_state_of_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with Console("book.ipynb") as console:
        for text in [*BAR, "one\ntw", "o\n"]:
            console.stderr.write(text)
    assert log.getvalue().splitlines() == ["▸ book.ipynb …", "100%|██ | 2/2", "one", "two"]


def test_a_terminal_gets_each_state_of_a_bar_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Console("book.ipynb") as console:
        for text in BAR:
            console.stderr.write(text)
    assert terminal.getvalue().endswith("".join(BAR))


def test_a_step_is_shown_before_its_cell_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cell ends only when what it wrote to standard error has been shown."""
    log = Answering(tmp_path / "shown")
    monkeypatch.setattr(sys, "stderr", log)
    wait = f"""
import pathlib, sys, time
print("waiting", file=sys.stderr)
for _ in range(600):
    if pathlib.Path({str(tmp_path / "shown")!r}).exists():
        break
    time.sleep(0.1)
else:
    raise TimeoutError
"""
    notebook = write_notebook(tmp_path / "a.ipynb", "n = 0", wait)
    cells = nbformat.read(notebook, as_version=4)
    cells.cells.insert(1, nbformat.v4.new_markdown_cell("## Installing"))
    nbformat.write(cells, notebook)
    run_notebook(notebook, tmp_path / "out")
    shown = log.getvalue()
    assert shown.index("Installing") < shown.index("waiting") < shown.index("✓")


def test_a_bar_in_the_executed_copy_and_its_page_is_complete(tmp_path: Path) -> None:
    code = "import tqdm\nwith tqdm.tqdm(total=3) as bar:\n    for _ in range(3):\n        bar.refresh(); bar.update()"
    executed = run_notebook(write_notebook(tmp_path / "a.ipynb", "n = 0", code), tmp_path / "out")
    for path in (executed, write_html(executed)):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"(\d+)%\|", text) == ["100"], path
