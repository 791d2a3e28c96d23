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


def heading(text: str) -> dict[str, str]:
    return {"cell_type": "markdown", "source": text}


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


@pytest.mark.parametrize(("kind", "shown"), [(io.StringIO, " 50%|█  | 1/2\n"), (Terminal, "1/2\n")])
def test_a_section_begins_on_its_own_line(monkeypatch: pytest.MonkeyPatch, kind: type[io.StringIO], shown: str) -> None:
    out = kind()
    monkeypatch.setattr(sys, "stderr", out)
    with Console("book.ipynb") as console:
        for text in BAR[:2]:
            console.stderr.write(text)
        console.cell_starts(cell=heading("## The model\n\ntext"), cell_index=3)
        console.cell_starts(cell={"cell_type": "code", "source": "# no heading"}, cell_index=4)
        console.cell_starts(cell=heading("only text"), cell_index=5)
    assert shown in out.getvalue()
    assert re.search(r"\n +\d+ s  The model\n", out.getvalue()) and "no heading" not in out.getvalue()


def test_the_section_is_shown_again_while_nothing_is_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with Console("book.ipynb", heartbeat_s=0.01) as console:
        console.cell_starts(cell=heading("# Slow"), cell_index=0)
        while log.getvalue().count("s  Slow\n") < 3:
            pass


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


def test_no_bar_is_a_widget() -> None:
    """A widget's static form keeps the state in which it was first shown."""
    package = Path(sys.modules["atlaskit"].__file__ or "").parent
    assert not [path for path in package.rglob("*.py") if re.search(r"tqdm\.(auto|notebook)", path.read_text())]


@pytest.mark.long
def test_figures_go_where_the_executed_copy_goes(tmp_path: Path) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    code = "open(f'{figures_dir}/a.csv', 'w').write('x')"
    notebook = write_notebook(folder / "a.ipynb", "figures_dir = '../figures'", code)
    run_notebook(notebook, tmp_path / "out")
    assert (tmp_path / "out" / "a.csv").exists() and not (tmp_path / "figures").exists()
    (tmp_path / "elsewhere").mkdir()
    run_notebook(notebook, tmp_path / "out", {"figures_dir": str(tmp_path / "elsewhere")})
    assert (tmp_path / "elsewhere" / "a.csv").exists()
