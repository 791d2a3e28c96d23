"""The explorer: `GridExplorer`, where it can go, and what its page shows.

explorer    GridExplorer, the widget
navigation  Location: the places that a video has, and how one leads to another
describe    what the page shows beside the image of a place

What else the page can do are panels, each with a part in Python and one in the page: `searching`
(words in the subtitles), `notes` (about parts of the video) and `asking` (a question about what is
shown, as a line of code, or as a run, which can be stopped; `choosing` has its model).
"""

from atlaskit.viz.widgets.explorer.explorer import GridExplorer

__all__ = ["GridExplorer"]
