"""The way between an object in the kernel and its page in the notebook: messages there and back, over one anywidget.

Nothing of what is shown is kept in the widget's own state, which notebooks store: the page asks for it when it is
drawn. Above it stands a static picture, as an output of its own. The page hides that while it is alive; where it is
not, as in nbconvert's HTML, on GitHub, or after a restart of the kernel, the picture is what is seen. It is no second
form of the same output, since of several forms JupyterLab always takes the widget, and says that it is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from atlaskit.errors import AtlasError, InputError
from atlaskit.viz.html.markup import Html, paragraph
from atlaskit.viz.walk import assets

Hear = Callable[[dict[str, Any]], None]

STILL = "atlaskit-still"
"""Class of the static picture, by which the page that stands below it finds it."""
_FOLDER = Path(__file__).parent
_GONE = (  # what JupyterLab says of a widget whose kernel has gone, in a line without elements, is of no use below it
    f".jp-OutputArea-child:has(.{STILL}) + .jp-OutputArea-child .jupyter-widgets:not(:has(*)) {{ display: none }}"
)


def connect(name: str, hear: Hear, *, walks: bool = False) -> Any:
    """Return an anywidget whose page is `name`.js and `name`.css of this folder; `hear` gets what the page says. A page
    that walks through runs has the panes of `walk` too, and what feeds them.

    `widget.send(message, buffers)` says something to the page, from any thread. Raises InputError where anywidget is
    not installed.
    """
    widget = _page(name, walks)()
    widget.on_msg(lambda _widget, message, _buffers: hear(message) if isinstance(message, dict) else None)
    return widget


@lru_cache(maxsize=8)
def _page(name: str, walks: bool) -> Any:
    """Return the class of the widgets with that page."""
    try:
        from anywidget import AnyWidget
    except ImportError as error:
        raise InputError("Widgets need anywidget: pip install 'atlaskit[notebook]'.") from error

    parts = ("page", "feed", name) if walks else ("page", name)
    script = assets.script(*(assets.PANES if walks else ("dom",))) + "".join(_text(f"{part}.js") for part in parts)
    style = assets.style(*(("walk",) if walks else ())) + "".join(_text(f"{part}.css") for part in parts)
    # By the name of its class a widget's style is known in the page: two kinds of one name would share one style.
    return type(name.capitalize(), (AnyWidget,), {"_esm": script, "_css": style})


def show(still: str, make: Callable[[], Any], words: str) -> None:
    """Show a static picture in a notebook, and the widget that `make` makes over it; where that cannot be had, a
    sentence that says why. `words` stand for both where there is only text."""
    from IPython.display import publish_display_data

    publish: Callable[..., None] = publish_display_data
    try:
        widget, missing = make(), ""
    except AtlasError as error:
        widget, missing = None, paragraph(str(error))
    framed = Html(f'<div class="{STILL}"><style>{_GONE}</style>{still}{missing}</div>')
    publish({"text/html": str(framed), "text/plain": words})
    if widget is not None:
        bundle, _metadata = widget._repr_mimebundle_()
        publish({**bundle, "text/html": "", "text/plain": ""})


def _text(name: str) -> str:
    """Return a file of this folder; a page may have no style of its own."""
    file = _FOLDER / name
    return file.read_text(encoding="utf-8") if file.suffix != ".css" or file.is_file() else ""
