"""The explorer: `GridExplorer`, where it can go, and what its page shows.

explorer    GridExplorer, the widget
navigation  Location: the places that a video has, and how one leads to another
describe    what the page shows beside the image of a place
lanes       what the ruler shows of the whole video: cuts, activity, speech
clips       a few seconds as a muted film
panels      what else the page can do: a panel has a part in Python and one in the page
"""

from atlaskit.viz.widgets.explorer.explorer import GridExplorer

__all__ = ["GridExplorer"]
