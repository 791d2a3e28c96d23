"""A question of a benchmark and the video it is about: what `evaluate` goes through, whatever the dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atlaskit.question import Question
from atlaskit.video import Video

if TYPE_CHECKING:
    from atlaskit.benchmarks.atlasworld.world import World


@dataclass(frozen=True)
class Case:
    """One question, and how to open its video."""

    question: Question
    video: str
    """Names the video: questions about one are not independent, and are drawn together in a bootstrap."""
    opened: Callable[[], Video] = field(repr=False, compare=False)
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The dataset's own columns: duration group, level, topic, …"""
    world: World | None = field(default=None, repr=False, compare=False)
    """What an oracle has to know, where all is known."""
