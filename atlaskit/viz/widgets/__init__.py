"""Interactive widgets for JupyterLab, each with a static picture where no kernel runs.

    ak.widgets.GridExplorer(video)      a video's grid: click a cell to open it
    ak.widgets.TraceViewer(result)      a run, step by step; two runs of one question side by side
    ak.widgets.RunTable(rows)           the rows of an evaluation, each with its run

The interactive widgets need a running kernel. They make no model calls, but for the questions that
a person asks in the page of `GridExplorer(video, vlm=vlm)`. anywidget is imported when the first
widget is shown. The pages load nothing from a network, and insert all text of videos, subtitles and
models as text, never as markup.
"""

from atlaskit.viz.widgets.explorer import GridExplorer
from atlaskit.viz.widgets.runtable import RunTable
from atlaskit.viz.widgets.viewer import TraceViewer

__all__ = ["GridExplorer", "RunTable", "TraceViewer"]


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
