"""`MemoryStore`: the entries of a cache that lives in memory, `ak.Cache(None)`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from atlaskit.caching.disk import Entry
from atlaskit.caching.keys import kind_of


class MemoryStore:
    """Bytes by key in memory; the methods are those of `disk.Store`."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[bytes, float]] = {}

    def read(self, key: str) -> bytes | None:
        """Return the bytes of a key, None if it has no entry."""
        return self._values.get(key, (None, 0.0))[0]

    def write(self, key: str, value: bytes) -> None:
        """Store bytes under a key."""
        self._values[key] = (value, time.time())

    def drop(self, key: str) -> bool:
        """Remove an entry; return whether it existed."""
        return self._values.pop(key, None) is not None

    def entries(self) -> Iterator[Entry]:
        """Yield all entries."""
        yield from [Entry(key, stored_s, len(value)) for key, (value, stored_s) in list(self._values.items())]

    def remove_foreign(self) -> int:
        """Return 0: memory holds only entries."""
        return 0


def totals_by_kind(entries: Iterable[Entry]) -> dict[str, tuple[int, int]]:
    """Return (number of entries, bytes) of each kind."""
    totals: dict[str, tuple[int, int]] = {}
    for entry in entries:
        count, size = totals.get(kind_of(entry.key), (0, 0))
        totals[kind_of(entry.key)] = (count + 1, size + entry.size)
    return totals
