"""Limits the number of files that readers keep open at once."""

from __future__ import annotations

import threading
from typing import Protocol
from weakref import WeakValueDictionary

MOST_OPEN = 32
"""Number of files that stay open."""


class OpenFile(Protocol):
    """A reader of a file that can be closed, and opens it again by itself."""

    def close_if_idle(self) -> bool:
        """Close the file and return True, or return False if it is in use."""


_recent: WeakValueDictionary[int, OpenFile] = WeakValueDictionary()
"""Readers with an open file, the one used most recently last."""
_lock = threading.Lock()


def note_use(reader: OpenFile) -> None:
    """Note that a reader uses its file now; close the least recently used files beyond MOST_OPEN.

    A file that is in use stays open.
    """
    with _lock:
        _recent.pop(id(reader), None)
        _recent[id(reader)] = reader
        surplus = len(_recent) - MOST_OPEN
        for key, other in list(_recent.items())[: max(0, surplus)]:
            if other.close_if_idle():
                del _recent[key]
