"""Executed notebooks as HTML, with their tables and captions, and what a terminal shows.

The pages show every image without a kernel, a network or widget state, and text only as text.
"""

import io
import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from experiments.pages import RenderedPage, count_images
from playwright.sync_api import Browser
from support.model_doubles import ATTACK
from support.notebooks import write_notebook
from support.paths import TESTS

import atlasworld as aw
from atlaskit.experiments.notebook import Console, NotebookError, run_notebook
from atlaskit.experiments.page import captions, write_html


def test_a_widget_without_stored_state_is_shown_as_its_image(tmp_path: Path) -> None:
    """Without the widget's state, nbconvert uses the next format of the output."""
    image = '<img src="data:image/png;base64,iVBORw0KGgo=" alt="a map">'
    view = {"model_id": "0" * 32, "version_major": 2, "version_minor": 0}
    data = {"application/vnd.jupyter.widget-view+json": view, "text/html": image, "text/plain": "GridExplorer"}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("explorer")])
    notebook.cells[0].outputs = [nbformat.v4.new_output("display_data", data)]
    nbformat.write(notebook, tmp_path / "widget.ipynb")
    html = write_html(tmp_path / "widget.ipynb").read_text(encoding="utf-8")
    assert 'alt="a map"' in html and "0" * 32 not in html


HOSTILE_CELLS = (
    "import atlaskit as ak; import pandas as pd",
    """
video = ak.open_video(path, subtitles="embedded" if not subtitles else subtitles)
video
""",
    "atlas = ak.Atlas(video, k=4, cell=32, cache=cache); atlas.reset()",
    """
result = ak.ask(video, ATTACK, ["a circle", ATTACK[:-1]], vlm=Spiteful(5), search=ak.Search(k=4, cell=32),
                cache=cache, workers=3, budget=ak.Budget(calls=30), show=True)
""",
    "print(result); print(video.name); result",
    "result.trace",
    "result.evidence",
    "pd.DataFrame(item.to_json() for item in result.evidence)",
    "ak.plots.path(result).figure",
    "for item in result.evidence.surest(1): raise ValueError(item.description + ATTACK)",
)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An executed notebook with script code in file name, subtitles, replies and error message."""
    folder = tmp_path_factory.mktemp("hostile")
    world = aw.world(seed=3, duration_s=40, questions=1, size=(114, 64), directory=folder / "world")
    source = world.video.path  # type: ignore[attr-defined]
    name = "<img src=x onerror=document.title='run'>\u202e.mp4"
    shutil.copy(source, folder / name)
    text = ATTACK.replace("-->", "--").replace("\x1b", "")  # what a subtitle file can hold
    (folder / "lines.srt").write_text(f"1\n00:00:01,000 --> 00:00:39,000\n{text}", encoding="utf-8")
    setup = f"""
import sys; sys.path.insert(0, {str(TESTS)!r})
import atlaskit as ak; from support.model_doubles import ATTACK, Spiteful
path, subtitles, cache = {str(folder / name)!r}, {str(folder / "lines.srt")!r}, ak.Cache({str(folder / "cache")!r})
"""
    notebook = write_notebook(folder / "hostile.ipynb", "n = 0", setup, *HOSTILE_CELLS)
    with pytest.raises(NotebookError, match="ValueError"):
        run_notebook(notebook, folder / "out")
    return folder / "out" / "hostile.ipynb"


@pytest.mark.long
@pytest.mark.browser
def test_untrusted_text_runs_nothing(hostile: Path, browser: Browser) -> None:
    page = RenderedPage(browser, write_html(hostile))
    assert page.title == "hostile" and page.handlers == 0 and page.requests == [] and page.errors == []
    assert "<script>document.title='run'</script>" in page.text and "<img src=x onerror=" in page.text
    assert page.broken == [] and page.images == count_images(hostile) > 5


def cell(kind: str, source: str) -> dict[str, str]:
    return {"cell_type": kind, "source": source}


def test_the_sentence_before_a_figure_is_on_that_figure() -> None:
    cells = [
        cell("markdown", "**Figure.** Left over."),
        cell("code", "rows = 1"),
        cell("markdown", "Some text.\n\n**Figure.** Two\nlines; the claim.\n\nMore text."),
        cell("code", "first = ak.plots.path(run)"),
        cell("code", "second = ak.plots.path(run)"),
        cell("markdown", "**Figure.** A.\n\n**Figure.** B."),
        cell("code", 'a = ak.plots.a(1)\nb = ak.plots.b(2)\nak.plots.save(b, folder, "09_b")'),
        cell("code", "%time x"),
        cell("code", 'ak.plots.save(first, folder, "09_first")\nak.plots.save(second, folder, "09_second")'),
        cell("code", 'ak.plots.save(a, folder, "09_a")\nother.save(a, folder, "09_other")'),
    ]
    assert captions(cells) == {"09_b": "B.", "09_first": "Two lines; the claim.", "09_a": "A."}


BAR = ["\r  0%|   | 0/2", "\r 50%|█  | 1/2", "\r100%|██ | 2/2\n"]


def test_a_log_file_gets_a_line_for_the_last_state_of_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with Console("book.ipynb") as console:
        for text in [*BAR, "one\ntw", "o\n"]:
            console.stderr.write(text)
    assert log.getvalue().splitlines() == ["▸ book.ipynb …", "100%|██ | 2/2", "one", "two"]


def test_a_bar_in_the_executed_copy_and_its_page_is_complete(tmp_path: Path) -> None:
    code = "import tqdm\nwith tqdm.tqdm(total=3) as bar:\n    for _ in range(3):\n        bar.refresh(); bar.update()"
    executed = run_notebook(write_notebook(tmp_path / "a.ipynb", "n = 0", code), tmp_path / "out")
    for path in (executed, write_html(executed)):
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"(\d+)%\|", text) == ["100"], path
