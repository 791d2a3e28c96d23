"""What is clicked and followed in JupyterLab, and stays a faithful static picture where it cannot be clicked.

    ak.widgets.GridExplorer(video)      the contact sheet: click a cell to open it
    ak.widgets.TraceViewer(result)      a run, step by step; two runs of one question side by side
    ak.widgets.RunTable(rows)           an evaluation, row by row, each with its run

A widget draws by the rooms below and calls no model. anywidget is imported when the first one is shown. Its page loads
nothing from a network; whatever a video, a subtitle or a model says is put into the page as text.
"""

from atlaskit.viz.widgets.explorer import GridExplorer
from atlaskit.viz.widgets.runtable import RunTable
from atlaskit.viz.widgets.viewer import TraceViewer

__all__ = ["GridExplorer", "RunTable", "TraceViewer"]
