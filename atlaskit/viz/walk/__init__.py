"""A run as one HTML file that any browser opens without a network, to walk through event by event.

    walk.save(result, "run.html")

The page embeds its style, script and images. Text of unknown origin, from a video, a question or a
reply, stays text: the static part of the page is escaped by `html.markup`; what the script shows is
a block of JSON that cannot end early, and the script inserts it as text only. In addition, the
page's content security policy allows no other script, and loads nothing. Without JavaScript the
page shows the result as a notebook does.

`widgets.TraceViewer` uses the same script and the same text.
"""

from atlaskit.viz.walk.page import html, save

__all__ = ["html", "save"]


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
