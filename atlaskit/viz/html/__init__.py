"""What a notebook shows of the kit's objects when one is the last line of a cell: a faithful static picture, as HTML.

The rooms below know nothing of this. A class shows itself through the `_repr_html_` that every notebook looks for, and
`attach`, which `import atlaskit` calls, hangs it on the classes in SHOWN, once and in one place: so no low room imports
this one, no IPython is needed, and whatever else honours `_repr_html_` shows the same. Texts stay as they are, for
terminals (`__repr__`, `__str__`); pictures stay JPEG too (`Picture._repr_jpeg_`), for what shows no HTML.

The HTML is read where it ends up: in JupyterLab in either theme, in nbconvert's pages, in papermill's copies, and on
GitHub, which strips scripts and styles. So it is tables, sentences and `<img>` with `data:` addresses; a style is only
ever an ornament, and no colour is set. Timelines are small PNGs drawn here (`timeline`): bars made of elements would
collapse where styles are stripped, inline SVG is removed there, and a matplotlib figure of `plots` takes a second,
grows with the run, and stays open in the notebook until it is shown there as well. `plots.path` is the figure in full.

Every text of a stranger is shown as text: `markup` escapes all that it did not make itself. An object that is damaged
shows what it can, with a sentence in the place of the rest; nothing raises, and no frame is decoded that is not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.observation import Observation
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video
from atlaskit.viz.html import reprs
from atlaskit.viz.html.markup import part

SHOWN: dict[type, Callable[[Any], str]] = {
    Video: reprs.video,
    View: reprs.view,
    Still: reprs.still,
    Sheet: reprs.sheet,
    Observation: reprs.observation,
    Scratchpad: reprs.scratchpad,
    DeadZones: reprs.dead_zones,
    Result: reprs.result,
    Trace: reprs.trace,
    Cache: reprs.cache,
}
"""What is shown as HTML, and by which function; so are their subclasses."""


def html(thing: object) -> str:
    """Return an object as the HTML that a notebook shows of it, or a sentence that says why that cannot be had.

    Raises TypeError for what is of no kind in SHOWN.
    """
    for kind in type(thing).__mro__:
        if kind in SHOWN:
            return part(f"This {kind.__name__}", partial(SHOWN[kind], thing))
    known = ", ".join(kind.__name__ for kind in SHOWN)
    raise TypeError(f"There is no display of a {type(thing).__name__}; there is one of {known}.")


def attach(hook: str = "_repr_html_") -> None:
    """Let every class in SHOWN show itself in notebooks."""
    for kind in SHOWN:
        setattr(kind, hook, html)
