"""`connect`: carries messages between a widget and its page, over one anywidget, and shows the
static picture above it; the widget's own class handles its messages.

The state of the widget, which notebooks store, holds no content: the page requests it when it is
drawn. A static picture is published above the widget, as an output of its own. The page hides the
picture while the widget works; in nbconvert's HTML, on GitHub, or after a restart of the kernel the
picture is shown. It is not a second format of one output, because JupyterLab always chooses the
widget, and then shows that its model is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit.errors import AtlasError, InputError, missing
from atlaskit.viz.html.markup import Html, paragraph
from atlaskit.viz.walk import assets

if TYPE_CHECKING:
    from ipywidgets import Widget

Receive = Callable[[dict[str, Any]], None]
"""Takes a message of the page."""
Send = Callable[..., None]
"""`send(message, buffers)`, which may be called from any thread."""

STATIC_CLASS = "atlaskit-still"
"""CSS class of the static picture, by which the page below finds it."""
_EXPLORER = ("ruler", "cells", "help", "tools", "search_panel", "ask_panel", "panels", "explorer")
PARTS = {"explorer": tuple(f"explorer/{part}" for part in _EXPLORER)}
"""The files of a page that has several; each uses those before it."""
_FOLDER = Path(__file__).parent
# Hides JupyterLab's line of text about a widget without a kernel: the picture above replaces it.
_HIDE_MISSING = (
    f".jp-OutputArea-child:has(.{STATIC_CLASS}) + .jp-OutputArea-child "
    ".jupyter-widgets:not(:has(*)) { display: none }"
)


def connect(name: str, receive: Receive, *, has_panes: bool = False) -> Widget:
    """Return an anywidget whose page is `name`.js and `name`.css of this folder.

    `widget.send(message, buffers)` sends to the page, from any thread.

    Args:
        name: The name of the page.
        receive: Called with each message of the page.
        has_panes: Whether the page shows the steps of runs: it then includes the panes of `walk`
            and the script that loads them.

    Raises:
        InputError: anywidget is not installed.
    """
    widget = _widget_class(name, has_panes)()
    # JupyterLab sends what a page says to a subshell of the kernel, which is free while a cell
    # runs. ipykernel 7.4 would send it on to the shell that the kernel's own last message belongs
    # to, so that a cell can wait for a reply. Ours come from threads and belong to whichever cell
    # ran last, which may be busy for minutes.
    if widget.comm is not None:
        widget.comm._reply_subshell_for = None
    widget.on_msg(lambda _widget, message, _buffers: receive(message) if isinstance(message, dict) else None)
    return widget


@lru_cache(maxsize=8)
def _widget_class(name: str, has_panes: bool) -> Any:
    """Return the class of the widgets with a page."""
    try:
        from anywidget import AnyWidget
    except ImportError as error:
        raise InputError(missing("An interactive widget", "anywidget>=0.9.13")) from error

    script, style = page(name, has_panes=has_panes)
    # anywidget identifies a style by the class name, so two pages must not share one.
    return type(name.capitalize(), (AnyWidget,), {"_esm": script, "_css": style})


def page(name: str, *, has_panes: bool = False) -> tuple[str, str]:
    """Return the script and the style of a page.

    The script is a module that imports nothing. Its default export has `render({ model, el })`,
    which returns a function that ends the page. Of the model it uses `send`, `on` and `off` with
    "msg:custom" and "comm_live_update"; buffers are what a Blob can be made of.

    Args:
        name: The name of the page.
        has_panes: Whether it shows the steps of runs.
    """
    parts = ("page", *(("channel",) if has_panes else ()), *PARTS.get(name, (name,)))
    script = assets.script(*(assets.PANES if has_panes else ("dom",))) + "".join(_text(f"{part}.js") for part in parts)
    style = assets.style(*(("walk",) if has_panes else ())) + "".join(_text(f"{part}.css") for part in parts)
    return script, style


def show(static: str, make_widget: Callable[[], Any], text: str) -> None:
    """Show a static picture in a notebook, and a widget that replaces it while a kernel runs.

    If the widget cannot be made, the reason is shown below the picture.

    Args:
        static: The static picture as HTML.
        make_widget: Returns the widget.
        text: Shown where the notebook can only show text.
    """
    from IPython.display import publish_display_data

    publish: Callable[..., None] = publish_display_data
    try:
        widget, note = make_widget(), ""
    except AtlasError as error:
        widget, note = None, paragraph(str(error))
    framed = Html(f'<div class="{STATIC_CLASS}"><style>{_HIDE_MISSING}</style>{static}{note}</div>')
    publish({"text/html": str(framed), "text/plain": text})
    if widget is not None:
        bundle, _metadata = widget._repr_mimebundle_()
        publish({**bundle, "text/html": "", "text/plain": ""})


def _text(name: str) -> str:
    """Return a file of this folder; empty for a style that does not exist."""
    file = _FOLDER / name
    return file.read_text(encoding="utf-8") if file.suffix != ".css" or file.is_file() else ""
