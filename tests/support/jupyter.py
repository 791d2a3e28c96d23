"""A real JupyterLab in a headless Chromium, for tests that open, run and click notebooks.

    def test_something(notebooks: Notebooks) -> None:
        # Written to a file, opened in JupyterLab and run:
        book = notebooks("import atlaskit as ak", "ak.widgets.GridExplorer(video)")
        book.output(1).get_by_role("button", name="back").click()

The browser blocks each request of a page to another machine and records it (`Tab.strangers`); it
also records the errors in the page's console (`Tab.errors`). After each test both must be empty.
Loading JupyterLab takes ten seconds of CPU time: all tests share a tab and a kernel, and closing
a notebook removes everything it left in them.
"""

import contextlib
import io
import json
import os
import secrets
import shutil
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
from PIL import Image
from playwright.sync_api import Browser, ConsoleMessage, Locator, Route, expect, sync_playwright

from atlaskit.models.serving import supervisor
from atlaskit.models.serving.process import free_port
from support.notebooks import write_notebook

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
TIMEOUT_S = 180
"""Seconds that a test waits for JupyterLab or a page; long, since the machine may be busy."""
expect.set_options(timeout=TIMEOUT_S * 1000)
SIZE = {"width": 1280, "height": 1600}
IGNORED_ERRORS = (
    "Could not restore the debugger state",  # while a kernel or a tab closes
    "widget model not found",  # for a widget whose kernel has ended
)
"""Parts of messages of JupyterLab's console that report no fault."""
SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    "docmanager-extension/plugin": {"autosave": False},
    "notebook-extension/tracker": {"windowingMode": "none"},  # keeps outputs outside the viewport in the page
}

RESET_KERNEL = """
import sys
if "ipywidgets" in sys.modules:
    sys.modules["ipywidgets"].Widget.close_all()
get_ipython().run_line_magic("reset", "-sf")
"""
"""Code that closes the widgets of a notebook and deletes its variables."""

Notebooks = Callable[..., "Book"]


class Lab:
    """A JupyterLab server on a folder. It also stops when this process ends in any way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "notebooks"
        self.token = secrets.token_hex(16)
        self.port = free_port()
        home = folder / "home"
        self.folder.mkdir()
        for name, values in SETTINGS.items():
            file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values))
        self.log = folder / "lab.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, supervisor.__file__, str(os.getpid()), "", *self._command()],
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
        """Return environment variables that keep the user's settings and history out."""
        folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_WORKSPACES_DIR")
        paths = {name: str(home / name.lower()) for name in (*folders, "IPYTHONDIR")}
        settings = {"JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "PYTHONPATH": str(ROOT)}
        settings["ATLASKIT_DATA"] = str(home / "data")  # notes are kept for good, and these are no user's
        return {**os.environ, **paths, **settings}

    def _wait(self) -> None:
        address, deadline = f"http://127.0.0.1:{self.port}/api?token={self.token}", time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
                return
            time.sleep(0.2)
        self.close()
        raise AssertionError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}")

    def address(self, notebook: Path | None = None) -> str:
        """Return the URL of JupyterLab, or of a notebook in it."""
        path = f"/tree/{notebook.name}" if notebook else ""
        return f"http://127.0.0.1:{self.port}/lab{path}?reset&token={self.token}"

    def close(self) -> None:
        """Stop the server, which stops its kernels."""
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Tab:
    """A browser tab with JupyterLab, in which tests open and close notebooks."""

    def __init__(self, browser: Browser, lab: Lab) -> None:
        self.lab = lab
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self.kernel: str | None = None  # the id of the one that all notebooks share, once there is one
        self.context = browser.new_context(viewport=SIZE)  # type: ignore[arg-type]
        self.context.set_default_timeout(TIMEOUT_S * 1000)
        self.context.route("**/*", self._block_other_hosts)
        self.page = self.context.new_page()
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(self.lab.address())
        self.page.wait_for_function("() => window.jupyterapp?.restored.then(() => true)")

    def _block_other_hosts(self, route: Route) -> None:
        if urlsplit(route.request.url).hostname == "127.0.0.1":
            return route.continue_()
        self.strangers.append(route.request.url)
        return route.abort()

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(part in message.text for part in IGNORED_ERRORS):
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def take_faults(self) -> list[str]:
        """Return the errors and blocked requests since the last call, and clear them."""
        faults = [*self.errors, *(f"requested {address}" for address in self.strangers)]
        self.errors.clear()
        self.strangers.clear()
        return faults


class Book:
    """A notebook that is open in JupyterLab."""

    def __init__(self, tab: Tab, path: Path) -> None:
        self.tab, self.lab, self.path, self.page = tab, tab.lab, path, tab.page
        self.open()

    def open(self) -> None:
        """Open the notebook from disk, also if it is open already; the kernel keeps its state."""
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
        self.page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
        self.page.wait_for_function(
            """(path) => {
              const panel = window.jupyterapp?.shell.currentWidget;
              return panel?.context?.path === path && panel.sessionContext.isReady;
            }""",
            arg=self.path.name,
        )
        self.idle()
        self.tab.kernel = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.id"
        )

    def command(self, name: str) -> None:
        """Run a command of JupyterLab, as its menus do, and wait until it finishes."""
        self.page.evaluate("async (name) => { await window.jupyterapp.commands.execute(name); }", name)

    def run(self) -> None:
        """Run all cells and wait until the kernel is idle; fail if a cell does."""
        self.command("notebook:run-all-cells")
        self.idle()
        outputs = [output for cell in self.cells() for output in cell.get("outputs", [])]
        errors = [f"{each['ename']}: {each['evalue']}" for each in outputs if each["output_type"] == "error"]
        assert not errors, f"{self.path.name}: {errors[0]}"

    def cells(self) -> list[dict[str, Any]]:
        """Return the notebook's cells as the page holds them, saved or not."""
        cells: list[dict[str, Any]] = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"
        )
        return cells

    def idle(self) -> None:
        """Wait until the kernel is idle."""
        self.page.wait_for_function(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
        )

    def evaluate(self, code: str) -> str:
        """Run Python code in the kernel, outside the cells; return its printed output."""
        script = """async (code) => {
          const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
          const future = kernel.requestExecute({ code, store_history: false }), output = [];
          future.onIOPub = ({ header, content }) => {
            if (header.msg_type === "stream") output.push(content.text);
            if (header.msg_type === "error") output.push(`${content.ename}: ${content.evalue}`);
          };
          await future.done;
          return output.join("");
        }"""
        return str(self.page.evaluate(script, code)).strip()

    def save(self) -> dict[str, Any]:
        """Save the notebook and return its JSON."""
        self.command("docmanager:save")
        saved: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return saved

    def output(self, cell: int) -> Locator:
        """Return the output area of a code cell; 0 is the first cell."""
        return self.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(cell).locator(".jp-Cell-outputArea")

    def close(self) -> None:
        """Close the notebook, and reset the kernel."""
        self.evaluate(RESET_KERNEL)
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")


def shot(element: Locator) -> Image.Image:
    """Return a screenshot of an element of the page."""
    element.scroll_into_view_if_needed()
    return Image.open(io.BytesIO(element.screenshot(animations="disabled"))).convert("RGB")


def difference(screenshot: Image.Image, expected: Image.Image) -> float:
    """Return the mean absolute difference of two images of the same shape, from 0 to 255.

    The larger one is scaled. A screenshot of an element that does not begin at a whole pixel is a
    pixel larger: it is cut.
    """
    extra = [mine - others for mine, others in zip(screenshot.size, expected.size, strict=True)]
    if max(extra) == 1 and min(extra) >= 0:
        width, height = expected.size
        corners = [(x, y) for x in range(extra[0] + 1) for y in range(extra[1] + 1)]
        return min(difference(screenshot.crop((x, y, x + width, y + height)), expected) for x, y in corners)
    size = min(screenshot.size, expected.size)
    first, second = (np.asarray(image.convert("RGB").resize(size), float) for image in (screenshot, expected))
    return float(np.abs(first - second).mean())


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The server that all tests share."""
    if CHROMIUM is None:
        pytest.skip("chromium is not on the PATH")
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser that all tests share; while it is open, an event loop runs in this thread."""
    if CHROMIUM is None:
        pytest.skip("chromium is not on the PATH")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def tab(lab: Lab, browser: Browser) -> Iterator[Tab]:
    """The tab and kernel that all notebooks share."""
    tab = Tab(browser, lab)
    yield tab
    tab.context.close()


@pytest.fixture
def notebooks(tab: Tab) -> Iterator[Notebooks]:
    """A function that writes a notebook of some cells, opens it in JupyterLab and runs it."""
    books: list[Book] = []

    def open_notebook(*sources: str) -> Book:
        book = Book(tab, write_notebook(tab.lab.folder / f"book-{secrets.token_hex(4)}.ipynb", *sources))
        books.append(book)
        book.run()
        return book

    yield open_notebook
    for book in books:
        book.close()
    faults = tab.take_faults()
    assert not faults, f"The page of {', '.join(book.path.name for book in books)}: {faults}"
