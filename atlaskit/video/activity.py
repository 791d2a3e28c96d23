"""`Activity`: how much changes in a video over time, from the sizes of its packets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Activity:
    """How much changes in a video over time, from the sizes of its packets: nothing is decoded."""

    step_s: float
    """Length of one step in seconds."""
    levels: tuple[float, ...]
    """For each step, 0 or more: bytes of non-key packets over their local median; 1 is as usual."""
    cuts_s: tuple[float, ...]
    """Times of presumed scene cuts, sorted."""
