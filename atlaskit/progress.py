"""`bar`: a progress bar in plain colours, and with few lines where it is written into a file."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from atlaskit.errors import printable

if TYPE_CHECKING:
    from tqdm import tqdm

LOG_S = 60.0
"""Seconds between two lines of a bar in a file."""
INTERVAL = "TQDM_MININTERVAL"
"""The variable of tqdm's own for them, which counts where it is set."""


def bar(*iterable: Any, desc: str = "", **how: Any) -> tqdm[Any]:
    """Return a progress bar of tqdm.

    At a terminal it is one line that changes. In a notebook it is text as any other, since what
    goes to standard error is red there. In a file it has a line a minute.

    Args:
        *iterable: What is gone through; nothing for a bar that is updated by hand.
        desc: What it says. Of the name of a file, a terminal only displays the letters.
        **how: Other arguments of `tqdm`.
    """
    from tqdm import tqdm

    file = sys.stdout if _in_a_notebook() else sys.stderr
    if file is sys.stderr and not file.isatty() and INTERVAL not in os.environ:
        how = {"mininterval": LOG_S, "maxinterval": LOG_S, **how}
    return tqdm(*iterable, desc=printable(desc), file=file, **how)


def _in_a_notebook() -> bool:
    """Return whether this is a kernel, whose output a page shows."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    here = shell.get_ipython()
    return here is not None and "IPKernelApp" in here.config
