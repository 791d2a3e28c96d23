"""`attach`: gives the kit's classes their static HTML display in notebooks (`_repr_html_`).

A notebook looks for the method `_repr_html_`. `attach`, which `import atlaskit` calls, sets it on
every class in REPRS. So no lower package imports this one, none needs IPython, and other tools that
honour `_repr_html_` show the same. The text forms (`__repr__`, `__str__`) and the JPEG of an image
(`_repr_jpeg_`) stay as they are.

The same HTML is read in JupyterLab with either theme, in nbconvert's pages, in papermill's copies,
and on GitHub, which removes scripts and styles. So it consists of tables, sentences and `<img>`
with `data:` addresses; styles only decorate, and no colour is set. There is no timeline, since
without styles, bars made of elements would collapse, and GitHub removes inline SVG. `plots.path`
and the walkthrough have timelines.

Every text of unknown origin is shown as text: `markup` escapes all that is not its own markup. A
damaged object shows what it can, with a sentence in place of the rest. No display raises an error,
and only frames that are shown are decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Observation
from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import guarded
from atlaskit.viz.html.reprs import (
    cache,
    observation,
    result,
    scratchpad,
    sheet,
    still,
    trace,
    video,
    view,
)

REPRS: dict[type, Callable[[Any], str]] = {
    Video: video,
    View: view,
    Still: still,
    Sheet: sheet,
    Observation: observation,
    Scratchpad: scratchpad,
    Result: result,
    Trace: trace,
    Cache: cache,
}
"""The function that displays objects of a class and of its subclasses."""
HOOK = "_repr_html_"
"""The method that notebooks look for."""


def html(thing: object) -> str:
    """Return the HTML that a notebook shows for an object, or a sentence that says why it cannot.

    Raises:
        TypeError: The object is of no class in REPRS.
    """
    for base in type(thing).__mro__:
        if base in REPRS:
            return guarded(f"This {base.__name__}", partial(REPRS[base], thing))
    known = ", ".join(shown_class.__name__ for shown_class in REPRS)
    raise TypeError(
        f"An object of type {type(thing).__name__} has no HTML display; these types have one: "
        f"{known}."
    )


def attach() -> None:
    """Set the method HOOK on every class in REPRS."""
    for shown_class in REPRS:
        setattr(shown_class, HOOK, html)
