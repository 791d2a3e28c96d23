"""A real JupyterLab in a headless Chromium, for tests: notebooks are opened, run, clicked, keyed through and looked at.

    def test_something(notebooks: Notebooks) -> None:
        book = notebooks("import atlaskit as ak", "ak.widgets.GridExplorer(video)")   # written, opened and run
        book.output(1).get_by_role("button", name="back").click()

The server has folders, a port and a token of its own, and asks nobody for news. A page that asks for anything outside
this machine is refused it, and that is noted (`Tab.strangers`), as is what goes wrong in its console (`Tab.errors`);
after each test both must be empty. Chromium is Debian's: Playwright's own would have to be downloaded.

To load JupyterLab's page takes ten seconds of a CPU, to start a kernel two. So all tests have one tab and one kernel,
in which their notebooks are opened one after the other; a notebook that is closed leaves nothing in either.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from nbconvert import HTMLExporter
from PIL import Image
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Route, sync_playwright

from atlaskit.models.serving import supervisor
from support.notebooks import write_notebook

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
PATIENCE_S = 180
"""How long a test waits for what has to come; a machine may be busy."""
SIZE = {"width": 1280, "height": 1600}
HARMLESS = {
    "debugger": "Could not restore the debugger state",  # JupyterLab's debugger, of a kernel or tab that is just ending
    "model not found": "widget model not found",  # JupyterLab of any widget whose kernel has gone since
}
"""What JupyterLab's console says with nothing wrong: a name, and the words by which it is known."""
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    "docmanager-extension/plugin": {"autosave": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # every output is in the page, also far down
}

FORGET = """
import sys
if "ipywidgets" in sys.modules:
    sys.modules["ipywidgets"].Widget.close_all()
get_ipython().run_line_magic("reset", "-sf")
"""
"""Closes what a notebook shows, and forgets its names."""

Notebooks = Callable[..., "Book"]


class Lab:
    """A JupyterLab server on a folder, which is ended by `close`, or when this process ends, however that comes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.token, self.port = folder / "notebooks", secrets.token_hex(16), _free_port()
        home = folder / "home"
        self.folder.mkdir()
        for name, values in SETTINGS.items():
            file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))
        self.log = folder / "lab.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, supervisor.__file__, str(os.getpid()), str(home), *self._command()],
                cwd=self.folder,
                env=self._environment(home),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait()

    def _command(self) -> list[str]:
        options = {
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self.port,
            "ServerApp.port_retries": 0,
            "ServerApp.root_dir": self.folder,
            "IdentityProvider.token": self.token,
            "LabApp.extension_manager": "readonly",
            "LabApp.expose_app_in_browser": True,
        }
        jupyter = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
        return [*jupyter, *(f"--{name}={value}" for name, value in options.items())]

    @staticmethod
    def _environment(home: Path) -> dict[str, str]:
        """The user's own settings, kernels' history and workspaces are neither read nor written."""
        own = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_WORKSPACES_DIR")
        places = {name: str(home / name.lower()) for name in (*own, "IPYTHONDIR")}
        settings = {"JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "PYTHONPATH": str(ROOT)}
        return {**os.environ, **places, **settings}

    def _wait(self) -> None:
        address, until = f"http://127.0.0.1:{self.port}/api?token={self.token}", time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
                return
            time.sleep(0.2)
        self.close()
        raise AssertionError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}")

    def address(self, notebook: Path | None = None) -> str:
        """Where JupyterLab opens, with a notebook or nothing in it."""
        place = f"/tree/{notebook.name}" if notebook else ""
        return f"http://127.0.0.1:{self.port}/lab{place}?reset&token={self.token}"

    def close(self) -> None:
        """End the server; it ends its kernels."""
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Tab:
    """JupyterLab in a tab of a browser, in which notebooks are opened and closed."""

    def __init__(self, browser: Browser, lab: Lab) -> None:
        self.lab = lab
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self.kernel: str | None = None
        """The id of the kernel that all notebooks share, once there is one."""
        self.context = browser.new_context(viewport=SIZE)  # type: ignore[arg-type]
        self.context.set_default_timeout(PATIENCE_S * 1000)
        self.context.route("**/*", self._only_here)
        self.page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self._note(str(error)))
        self.page.goto(self.lab.address())
        self.page.wait_for_function("() => window.jupyterapp?.restored.then(() => true)")

    def _only_here(self, route: Route) -> None:
        if urlsplit(route.request.url).hostname == "127.0.0.1":
            return route.continue_()
        self.strangers.append(route.request.url)
        return route.abort()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._note(f"{message.text} ({message.location.get('url', '')})")

    def _note(self, said: str) -> None:
        if not any(words in said for words in HARMLESS.values()):
            self.errors.append(said)

    def wrong(self) -> list[str]:
        """Return what went wrong since this was last asked."""
        wrong = [*self.errors, *(f"asked for {address}" for address in self.strangers)]
        self.errors.clear()
        self.strangers.clear()
        return wrong

    def close(self) -> None:
        """Close the tab; the kernel ends with the server."""
        self.context.close()


class Book:
    """A notebook that is open in JupyterLab."""

    def __init__(self, tab: Tab, path: Path) -> None:
        self.tab, self.lab, self.path, self.page = tab, tab.lab, path, tab.page
        self._others: list[Page] = []
        self.open()

    def open(self) -> None:
        """Open the notebook as it is on disk, or open it anew; the kernel stays as it is."""
        self.page.evaluate(
            """async ([path, id]) => {
              const { commands, shell } = window.jupyterapp;
              shell.currentWidget?.context?.path === path && shell.currentWidget.dispose();
              const kernel = id ? { id } : { name: "python3" };
              const panel = await commands.execute("docmanager:open", { path, factory: "Notebook", kernel });
              shell.activateById(panel.id);
            }""",
            [self.path.name, self.tab.kernel],
        )
        self._ready()
        self.tab.kernel = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.id"
        )

    def reload(self) -> None:
        """Load JupyterLab's page anew, with the notebook as it is on disk; the kernel stays as it is."""
        self.page.goto(self.lab.address(self.path))
        self._ready()

    def _ready(self) -> None:
        self.page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
        self.page.wait_for_function(
            """(path) => {
              const panel = window.jupyterapp?.shell.currentWidget;
              return panel?.context?.path === path && panel.sessionContext.isReady;
            }""",
            arg=self.path.name,
        )
        self.idle()

    def command(self, name: str) -> None:
        """Run a command of JupyterLab's, as its menus do, and wait for its end."""
        self.page.evaluate("async (name) => { await window.jupyterapp.commands.execute(name); }", name)

    def theme(self, name: str) -> None:
        """Change the theme of JupyterLab, which other notebooks see too."""
        self.page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", name)

    def run(self) -> None:
        """Run all cells and wait for the kernel to be idle; raise AssertionError for a cell that fails."""
        self.command("notebook:run-all-cells")
        self.idle()
        outputs = [output for cell in self.cells() for output in cell.get("outputs", [])]
        failed = [f"{each['ename']}: {each['evalue']}" for each in outputs if each["output_type"] == "error"]
        assert not failed, f"{self.path.name}: {failed[0]}"

    def cells(self) -> list[dict[str, Any]]:
        """Return the notebook's cells as they are in the page."""
        cells: list[dict[str, Any]] = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"
        )
        return cells

    def idle(self) -> None:
        """Wait for the kernel to be idle."""
        self.page.wait_for_function(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
        )

    def evaluate(self, code: str) -> str:
        """Run Python in the notebook's kernel, outside its cells; return what it printed."""
        script = """async (code) => {
          const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
          const future = kernel.requestExecute({ code, store_history: false }), said = [];
          future.onIOPub = ({ header, content }) => {
            if (header.msg_type === "stream") said.push(content.text);
            if (header.msg_type === "error") said.push(`${content.ename}: ${content.evalue}`);
          };
          await future.done;
          return said.join("");
        }"""
        return str(self.page.evaluate(script, code)).strip()

    def save(self) -> dict[str, Any]:
        """Save the notebook, and return it."""
        self.command("docmanager:save")
        saved: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return saved

    def exported(self) -> Page:
        """Open the saved notebook as nbconvert's HTML, in a tab of its own, without a kernel or a network.

        What nbconvert's own page asks of the network, for formulas and widgets, is refused it and not noted.
        """
        self.save()
        html, _ = HTMLExporter().from_filename(str(self.path))
        self.path.with_suffix(".html").write_text(html, encoding="utf-8")
        page, noted = self.tab.context.new_page(), len(self.tab.strangers)
        self._others.append(page)
        page.goto(f"http://127.0.0.1:{self.lab.port}/files/{self.path.stem}.html?token={self.lab.token}")
        del self.tab.strangers[noted:]
        return page

    def restart(self) -> None:
        """Restart the kernel by the menu, and wait for the new one."""
        before = self.evaluate("import os; print(os.getpid())")
        self.page.evaluate("() => { window.jupyterapp.commands.execute('kernelmenu:restart'); }")
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        self.page.locator(".jp-Dialog").wait_for(state="detached")
        self.idle()
        assert self.evaluate("import os; print(os.getpid())") != before

    def output(self, cell: int) -> Locator:
        """What a code cell has put out; 0 is the first cell."""
        return self.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(cell).locator(".jp-Cell-outputArea")

    def close(self) -> None:
        """Close the notebook and all that was opened with it, and leave the kernel as if it were new."""
        for page in self._others:
            page.close()
        self.evaluate(FORGET)
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")


def shot(place: Locator) -> Image.Image:
    """Return what a part of the page looks like."""
    place.scroll_into_view_if_needed()
    return Image.open(io.BytesIO(place.screenshot(animations="disabled"))).convert("RGB")


def difference(shown: Image.Image, meant: Image.Image) -> float:
    """Return how far apart two pictures of the same shape are: the mean over all values, of 255.

    The larger one is made as small as the other; so the kit's own rendering is what a screenshot is held against, and
    no picture of another machine's fonts has to be kept.
    """
    size = min(shown.size, meant.size)
    first, second = (np.asarray(picture.convert("RGB").resize(size), float) for picture in (shown, meant))
    return float(np.abs(first - second).mean())


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One server for all tests."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the PATH")
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests; while it is open, an event loop runs in this thread."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the PATH")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def tab(lab: Lab, browser: Browser) -> Iterator[Tab]:
    """One tab and one kernel for all notebooks."""
    tab = Tab(browser, lab)
    yield tab
    tab.close()


@pytest.fixture
def notebooks(tab: Tab) -> Iterator[Notebooks]:
    """Write a notebook of some cells, open it in JupyterLab and run it; what goes wrong in the page fails the test."""
    books: list[Book] = []

    def opened(*sources: str) -> Book:
        book = Book(tab, write_notebook(tab.lab.folder / f"book-{secrets.token_hex(4)}.ipynb", *sources))
        books.append(book)
        book.run()
        return book

    yield opened
    for book in books:
        book.close()
    wrong = tab.wrong()
    assert not wrong, f"The page of {', '.join(book.path.name for book in books)}: {wrong}"
