"""`bar`: a progress bar in plain colours that writes few lines into a file."""

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
"""The environment variable in which tqdm looks for its interval; if set, LOG_S is not used."""


def bar(*iterable: Any, desc: str = "", **settings: Any) -> tqdm[Any]:
    """Return a progress bar of tqdm.

    In a terminal the bar is one line that changes. In a notebook it is written to standard output,
    since text on standard error is red there. Into a file it writes one line a minute.

    Args:
        *iterable: The items to iterate over; none for a bar that the caller updates.
        desc: The text before the bar; characters that a terminal would interpret are replaced.
        **settings: Other arguments of `tqdm`.
    """
    from tqdm import tqdm

    file = sys.stdout if _in_a_notebook() else sys.stderr
    if file is sys.stderr and not file.isatty() and INTERVAL not in os.environ:
        settings = {"mininterval": LOG_S, "maxinterval": LOG_S, **settings}
    return tqdm(*iterable, desc=printable(desc), file=file, **settings)


def _in_a_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    if ipython is None:
        return False
    shell = ipython.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
