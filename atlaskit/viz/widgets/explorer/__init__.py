"""The explorer: `GridExplorer`, where it can go, and what its page shows.

explorer    GridExplorer, the widget
navigation  Location: the places that a video has, and how one leads to another
describe    what the page shows beside the image of a place
lanes       where the video's lines lie, for the ruler

What else the page can do are panels, each with a part in Python and one in the page: `search_panel`
(words in the subtitles), `notes` (about parts of the video) and `ask_panel` (a question about what
is shown, as a line of code from `drafts`, or as an `asked_run`, which can be stopped).
"""

from atlaskit.viz.widgets.explorer.explorer import GridExplorer

__all__ = ["GridExplorer"]
