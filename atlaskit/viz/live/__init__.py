"""The display of a run while it happens: `ak.ask(..., show=True)`.

In a notebook (JupyterLab or papermill), the display shows the root grid, in which dead cells turn
black, the evidence as it arrives, the latest steps, and the number of calls and tokens. When the
run ends, the result replaces it as static HTML. (Assign what `ask` returns; as the last line of a
cell, the notebook would show the result a second time.) In a terminal, one line on stderr shows the
progress and disappears at the end; the result is not printed.

The search does not import this package: `import atlaskit` hands `open_display` to it.
"""

from __future__ import annotations

import sys

from atlaskit.caching.cache import Cache
from atlaskit.video.video import Video
from atlaskit.viz.live.terminal import StatusLine
from atlaskit.viz.live.thread import DrawingThread


def open_display(video: Video, cache: Cache) -> DrawingThread:
    """Return the display of a run: in the notebook of this kernel, or else on stderr.

    Args:
        video: The video that the run searches.
        cache: The cache that frames of the root grid are read from and written to.
    """
    if not _is_kernel():
        # A log need not hold every second.
        return DrawingThread(StatusLine(), video, cache, is_timed=sys.stderr.isatty())
    from atlaskit.viz.live.notebook import NotebookOutput  # imports IPython, which only notebooks need

    return DrawingThread(NotebookOutput(), video, cache)


def _is_kernel() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
