"""The common part of all widgets: messages to and from a widget's page, and threads for its jobs.

    PageOwner                               the base class of widgets, with a static picture
    page                                    the script and the style of a page
    Debouncer                               a thread that runs only the newest pending job

The state of a widget, which notebooks store, holds no content: the page requests the content when
it is drawn. A static picture is published above the widget, as an output of its own. The page hides
the picture while the widget works. In nbconvert's HTML, on GitHub, or after a restart of the
kernel, the picture is shown. Picture and widget are not two formats of one output, because
JupyterLab always chooses the widget, and then shows that its model is missing.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from atlaskit.errors import AtlasError, InputError, missing
from atlaskit.viz.html.markup import Html, paragraph
from atlaskit.viz.walk import page as walk_page

Receive = Callable[[dict[str, Any]], None]
"""A function that takes a message of the page."""
Send = Callable[..., None]
"""`send(message, buffers)`, which may be called from any thread."""

STATIC_CLASS = "atlaskit-still"
"""CSS class of the static picture, by which the page below the picture finds it."""
_EXPLORER = ("ruler", "cells", "search_panel", "notes_panel", "ask_panel", "explorer")
PARTS = {"explorer": tuple(f"explorer/{part}" for part in _EXPLORER)}
"""The files of a page that consists of several, each of which uses those before it."""
_FOLDER = Path(__file__).parent
# Hides JupyterLab's line of text about a widget without a kernel: the picture above replaces it.
_HIDE_MISSING = (
    f".jp-OutputArea-child:has(.{STATIC_CLASS}) + .jp-OutputArea-child "
    ".jupyter-widgets:not(:has(*)) { display: none }"
)


class PageOwner(ABC):
    """A widget: an anywidget that shows a page, and a static picture where no kernel runs."""

    page: ClassVar[str]
    """The name of the page: its files are NAME.js and NAME.css of this folder, or see PARTS."""
    _send_to: Send | None = None
    """Sends a message to a page that is not in a notebook: see `attach`."""

    @abstractmethod
    def _receive(self, message: dict[str, Any]) -> None:
        """Handle a message of the page."""

    @abstractmethod
    def _repr_html_(self) -> Html:
        """Return the static picture."""

    @cached_property
    def widget(self) -> Any:
        """The widget without its static picture, for use inside other widgets.

        Raises:
            InputError: anywidget is not installed.
        """
        widget = _widget_class(self.page)()
        if widget.comm is not None:
            # JupyterLab sends a page's messages to a subshell of the kernel, a thread that is free
            # while a cell runs. ipykernel 7.4 would instead route them to the shell from which the
            # kernel last sent a message, so that a cell can wait for a reply. Our messages come
            # from threads, for which this is the shell of whichever cell ran last, and that cell
            # may run for minutes.
            widget.comm._reply_subshell_for = None
            # The comm's own method would also call the hooks for the end of a cell, which show and
            # close the figures that a running cell still draws.
            widget.comm.handle_msg = widget._handle_msg

        def receive(_: Any, message: object, _buffers: object) -> None:
            if isinstance(message, dict):
                self._receive(message)

        widget.on_msg(receive)
        return widget

    def attach(self, send: Send) -> Receive:
        """Connect a page outside a notebook.

        Args:
            send: `send(message, buffers)` sends to the page. It is called from several threads.

        Returns:
            The function that takes the messages of the page.
        """
        self._send_to = send
        return self._receive

    def leave(self) -> bool:
        """Note that the page was closed; return whether a run goes on that a new page can show."""
        return False

    @property
    def has_page(self) -> bool:
        """Whether there is a page, in a notebook or attached."""
        return self._send_to is not None or "widget" in vars(self)  # it was shown in a notebook

    def send(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        """Send a message to the page, from any thread. Without a page, nothing happens."""
        if self._send_to is not None:
            self._send_to(message, buffers)
        elif self.has_page:
            self.widget.send(message, buffers)

    def _ipython_display_(self) -> None:
        """Show the static picture, and the widget that replaces it while a kernel runs.

        If the widget cannot be made, the reason is shown below the picture.
        """
        from IPython.display import publish_display_data

        publish: Callable[..., None] = publish_display_data
        try:
            widget = self.widget
            note = ""
        except AtlasError as error:
            widget = None
            note = paragraph(str(error))
        content = f"<style>{_HIDE_MISSING}</style>{self._repr_html_()}{note}"
        framed = f'<div class="{STATIC_CLASS}">{content}</div>'
        publish({"text/html": framed, "text/plain": repr(self)})
        if widget is not None:
            bundle, _metadata = widget._repr_mimebundle_()
            publish({**bundle, "text/html": "", "text/plain": ""})


@lru_cache(maxsize=8)
def _widget_class(name: str) -> Any:
    """Return the class of the anywidgets that show a page."""
    try:
        from anywidget import AnyWidget
    except ImportError as error:
        raise InputError(missing("An interactive widget", "anywidget>=0.9.13")) from error

    script, style = page(name)
    # anywidget identifies a style by the class name, so two pages must not share one.
    return type(name.capitalize(), (AnyWidget,), {"_esm": script, "_css": style})


def page(name: str) -> tuple[str, str]:
    """Return the script and the style of a page.

    Both begin with those of `walk`, by which a page shows the steps of runs. The script is a
    JavaScript module that imports nothing. Its default export has `render({ model, el })`, which
    returns a function that ends the page. Of the model, `render` uses `send`, and `on` and `off`
    for "msg:custom" and "comm_live_update". Each buffer of a message must suit the constructor of a
    Blob.

    Args:
        name: The name of the page.
    """
    parts = ("page", "channel", *PARTS.get(name, (name,)))
    script = walk_page.script(*walk_page.PANES)
    style = walk_page.style("design", "walk")
    for part in parts:
        script += _text(f"{part}.js")
        style += _text(f"{part}.css")
    return script, style


def _text(name: str) -> str:
    """Return the text of a file of the pages; "" if there is none."""
    path = _FOLDER / name
    return path.read_text("utf-8") if path.is_file() else ""


IsLatest = Callable[[], bool]
"""A function that returns whether no newer job has been submitted."""


class Debouncer:
    """Runs jobs one at a time in a thread.

    A new job replaces those that have not started yet, except jobs that are kept (`is_kept`). All
    methods may be called from any thread.
    """

    def __init__(self, name: str) -> None:
        # The thread ends when this object is garbage-collected.
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"atlaskit-{name}")
        self._lock = threading.Condition()
        self._newest = 0
        self._done = 0

    def submit(self, job: Callable[[IsLatest], None], *, is_kept: bool = False) -> None:
        """Run a job in the thread, unless a newer job is submitted before it starts.

        Args:
            job: Receives a function that tells whether the job is still the newest, so that it can
                stop early.
            is_kept: Whether the job runs even if a newer one is submitted before it starts.
        """
        with self._lock:
            self._newest += 1
            number = self._newest
            self._pool.submit(self._run, number, job, is_kept)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until no job is pending or running; return False if the timeout passes first."""
        with self._lock:
            return self._lock.wait_for(lambda: self._done == self._newest, timeout_s)

    def _run(self, number: int, job: Callable[[IsLatest], None], is_kept: bool) -> None:
        try:
            if is_kept or number == self._newest:
                job(lambda: number == self._newest)
        finally:
            with self._lock:
                self._done = number
                self._lock.notify_all()
