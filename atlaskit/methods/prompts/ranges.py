"""Ranges of clips as a controller names them: by the indices of their first and last clip."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, Field

from atlaskit.agents.schemas import reply_model, several

MOST_RANGES = 8
"""Ranges that one action may name."""


def clip_ranges(clips: int) -> Any:
    """Return the type of a list of ranges of clips, one or more.

    Args:
        clips: Number of clips of the video; their indices run from 0.
    """
    return several(clip_range(clips), 1, MOST_RANGES)


@lru_cache(maxsize=256)
def clip_range(clips: int) -> type[BaseModel]:
    """Return the type of a range: `first` and `last`, which is included. `last` may come first.

    JSON Schema cannot compare two fields, so whoever reads a range compares them.
    """
    index = Annotated[int, Field(strict=True, ge=0, le=clips - 1)]
    return reply_model("ClipRange", first=index, last=index)
