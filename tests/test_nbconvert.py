"""Executed notebooks as HTML: every picture without a kernel, a network or widget state, and text as text."""

from __future__ import annotations

import base64
import io
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from books import write_notebook
from models import ATTACK
from PIL import Image
from playwright.sync_api import Browser, Request

from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.errors import InputError
from atlaskit.experiments import report
from atlaskit.experiments.notebook import NotebookError, run_notebook
from atlaskit.experiments.report import write_html

MOST_BYTES = 10_000_000
OF_THE_TEMPLATE = {"cdnjs.cloudflare.com", "cdn.jsdelivr.net", "unpkg.com"}
"""Where nbconvert's own template would load formulas, widgets and diagrams from."""


class Seen(HTMLParser):
    """The pictures, scripts and references of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.pictures, self.refers, self.scripts = list[str](), list[str](), list[dict[str, str | None]]()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert not any(name.startswith("on") for name in given), (tag, given)
        if tag == "img":
            self.pictures.append(given["src"] or "")
        if tag == "script":
            self.scripts.append(given)
        if tag != "a":
            self.refers += [value for name, value in attrs if name in ("src", "href", "data", "srcset") and value]


def plain_html(executed: Path) -> Path:
    """Write a notebook as `jupyter nbconvert --to html` does."""
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter().from_notebook_node(nbformat.read(executed, as_version=4))
    path = executed.with_name(f"{executed.stem}_plain.html")
    path.write_text(body, encoding="utf-8")
    return path


def meant(executed: Path) -> int:
    """How many pictures the outputs of a notebook hold, each counted once however many forms it has."""
    count = 0
    for cell in nbformat.read(executed, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                count += data["text/html"].count("<img ")
            else:
                count += any(kind.startswith("image/") for kind in data)
    return count


WRITERS: list[Callable[[Path], Path]] = [write_html, plain_html]


def check_pictures(executed: Path) -> int:
    """Check that both pages of a notebook show all pictures of its outputs by themselves; return how many."""
    for write in WRITERS:
        page = write(executed)
        seen = Seen(page.read_text(encoding="utf-8"))
        assert len(seen.pictures) == meant(executed)
        for source in seen.pictures:
            match = re.match(r"data:image/(png|jpeg);base64,", source)
            assert match, source[:80]
            Image.open(io.BytesIO(base64.b64decode(source[match.end() :]))).load()
        assert page.stat().st_size < MOST_BYTES
        assert not any("widget" in (script.get("type") or "") for script in seen.scripts)
        assert write is plain_html or not [refers for refers in seen.refers if not refers.startswith("data:")]
    return meant(executed)


def test_a_widget_without_its_state_is_its_static_picture(tmp_path: Path) -> None:
    """What a notebook keeps of a widget when its state is not stored: nbconvert then takes the next best form."""
    picture = '<img src="data:image/png;base64,iVBORw0KGgo=" alt="a map">'
    view = {"model_id": "0" * 32, "version_major": 2, "version_minor": 0}
    data = {"application/vnd.jupyter.widget-view+json": view, "text/html": picture, "text/plain": "GridExplorer"}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("explorer")])
    notebook.cells[0].outputs = [nbformat.v4.new_output("display_data", data)]
    nbformat.write(notebook, tmp_path / "widget.ipynb")
    for write in WRITERS:
        html = write(tmp_path / "widget.ipynb").read_text(encoding="utf-8")
        assert 'alt="a map"' in html and "0" * 32 not in html


def test_a_page_that_begins_otherwise_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "a.ipynb")
    monkeypatch.setattr(report, "HEAD", re.compile("(never)"))
    with pytest.raises(InputError, match=r"nbconvert makes of a.ipynb begins as no other"):
        write_html(tmp_path / "a.ipynb")
    assert not (tmp_path / "a.html").exists()


class Looked:
    """What came of a page in a browser: what it asked for, said and ran."""

    def __init__(self, browser: Browser, page: Path) -> None:
        context = browser.new_context(viewport={"width": 1200, "height": 1000})
        self.asked, self.wrong = list[str](), list[str]()
        tab = context.new_page()
        context.route("**/*", lambda route: route.continue_() if self._is_own(route.request.url) else route.abort())
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.on("requestfailed", self._failed)
        tab.on("dialog", lambda dialog: (self.wrong.append(dialog.message), dialog.dismiss()))
        tab.on("pageerror", lambda error: self.wrong.append(str(error)))
        tab.goto(page.as_uri())
        tab.wait_for_load_state("load")
        self.asked = [url for url in self.asked if url != page.as_uri() and not url.startswith(("data:", "blob:"))]
        self.title = tab.title()
        self.text = tab.evaluate("() => document.body.innerText")
        self.blank = tab.evaluate("() => [...document.images].filter((each) => !each.naturalWidth).map((e) => e.src)")
        self.pictures = tab.evaluate("() => document.images.length")
        self.strange = tab.evaluate(
            "() => [...document.querySelectorAll('*')].filter((e) => e.onerror || e.onload || e.onmouseover).length"
        )
        context.close()

    def _failed(self, request: Request) -> None:
        if request.failure == "csp":  # never sent: the page's own policy says so
            self.asked.remove(request.url)

    @staticmethod
    def _is_own(url: str) -> bool:
        return url.startswith(("file:", "data:"))


HOSTILE_BOOK = (
    "import atlaskit as ak; import pandas as pd",
    """
video = ak.open_video(film, subtitles="embedded" if not subtitles else subtitles)
video
""",
    "atlas = ak.Atlas(video, k=4, cell=32, cache=cache); atlas.reset()",
    """
result = ak.ask(video, ATTACK, ["a circle", ATTACK[:-1]], vlm=Spiteful(5), k=4, cell=32, cache=cache,
                workers=3, budget=ak.Budget(calls=30), show=True)
""",
    "print(result); print(video.name); result",
    "result.trace",
    "result.evidence",
    "pd.DataFrame(item.to_json() for item in result.evidence)",
    "ak.plots.trace_log(result).figure",
    "ak.plots.scratchpad(result).figure",
    "for item in result.evidence.surest(1): raise ValueError(item.description + ATTACK)",
)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook about a file whose name, subtitles and model say what would run; its last cell fails, so too."""
    folder = tmp_path_factory.mktemp("hostile")
    film = atlasworld(seed=3, duration_s=40, questions=1, size=(114, 64), directory=folder / "film")
    source = film.video.path  # type: ignore[attr-defined]
    name = "<img src=x onerror=document.title='run'>\u202e.mp4"
    shutil.copy(source, folder / name)
    said = ATTACK.replace("-->", "--").replace("\x1b", "")  # as a subtitle file can hold it
    cues = [f"{n + 1}\n00:00:{n:02d},000 --> 00:00:{n + 1:02d},000\n{said}" for n in range(40)]
    lines = "\n\n".join(cues)
    (folder / "words.srt").write_text(lines, encoding="utf-8")
    begin = f"""
import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})
import atlaskit as ak; from models import ATTACK, Spiteful
film, subtitles, cache = {str(folder / name)!r}, {str(folder / "words.srt")!r}, ak.Cache({str(folder / "cache")!r})
"""
    notebook = write_notebook(folder / "hostile.ipynb", "n = 0", begin, *HOSTILE_BOOK)
    with pytest.raises(NotebookError, match="ValueError"):
        run_notebook(notebook, folder / "out")
    return folder / "out" / "hostile.ipynb"


@pytest.mark.browser
@pytest.mark.parametrize("write", WRITERS)
def test_what_strangers_say_runs_nothing(hostile: Path, browser: Browser, write: Callable[[Path], Path]) -> None:
    looked = Looked(browser, write(hostile))
    assert looked.title in ("hostile", "Notebook") and looked.strange == 0
    assert "<script>document.title='run'</script>" in looked.text and "<img src=x onerror=" in looked.text
    assert looked.blank == [] and looked.pictures == meant(hostile) > 5
    assert not [url for url in looked.asked if "127.0.0.1" in url or url.startswith("file:")]
    if write is write_html:
        assert looked.asked == [] and looked.wrong == []
    else:
        assert {url.split("/")[2] for url in looked.asked} <= OF_THE_TEMPLATE


@pytest.mark.browser
def test_these_tests_can_fail(tmp_path: Path, browser: Browser) -> None:
    """What is no text runs in nbconvert's own page; in ours it does not, by the page's policy."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])
    notebook.cells[0].outputs = [nbformat.v4.new_output("display_data", {"text/html": ATTACK})]
    nbformat.write(notebook, tmp_path / "raw.ipynb")
    plain, ours = (Looked(browser, write(tmp_path / "raw.ipynb")) for write in (plain_html, write_html))
    assert plain.title == "run" and plain.blank and plain.strange
    assert ours.title == "raw" and ours.asked == []
