"""`packed`: a message and its buffers as one binary frame of a WebSocket; `start.js` unpacks it."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any


def packed(message: dict[str, Any], buffers: Sequence[bytes] = ()) -> bytes:
    """Return a frame: the length of its JSON, the JSON (message, sizes of buffers), the buffers."""
    head = json.dumps({"message": message, "sizes": [len(buffer) for buffer in buffers]}).encode()
    return b"".join([struct.pack(">I", len(head)), head, *buffers])
