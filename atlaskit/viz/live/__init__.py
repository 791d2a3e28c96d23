"""A run as it happens: `ak.ask(..., show=True)`.

In a notebook, JupyterLab's or papermill's, the map turns black cell by cell, evidence arrives, and calls and tokens are
counted; in the end the result stays in its place, as static HTML. (So assign what `ask` returns: where it is a cell's
last line, the notebook shows it once more.) In a terminal one line on stderr says how far the run is, and goes away;
the result is what `ask` returns, and is not printed.

The search knows nothing of this: `attach`, which `import atlaskit` calls, hangs it on `onlookers.Watch`.
"""

from __future__ import annotations

import sys

from atlaskit.caching.cache import Cache
from atlaskit.runs.observer import RunDisplay, RunObserver
from atlaskit.video.video import Video
from atlaskit.viz.live.terminal import StatusLine
from atlaskit.viz.live.thread import DrawingThread


def onlooker(video: Video, cache: Cache) -> RunDisplay:
    """Return who draws a run here: in the notebook whose kernel this is, or else on stderr."""
    if not _is_kernel():
        return DrawingThread(StatusLine())
    from atlaskit.viz.live.notebook import NotebookOutput  # here, since it loads IPython, which is there in a kernel

    return DrawingThread(NotebookOutput(video, cache))


def attach() -> None:
    """Let `ask` draw by this."""
    RunObserver.open_display = onlooker


def _is_kernel() -> bool:
    """Tell whether a notebook shows what is displayed here."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
