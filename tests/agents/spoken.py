"""A video of which only the lines are known: no frame of it can be decoded."""

from __future__ import annotations

from collections.abc import Sequence

from atlaskit.agents.scouts import Sight
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.errors import FrameError
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video


class Spoken(Video):
    """A video of 64 seconds by default, with lines."""

    def __init__(self, lines: Sequence[tuple[float, float, str]] = (), duration_s: float = 64.0) -> None:
        self.name, self.duration_s, self.fps, self.size = "spoken", duration_s, 25.0, (64, 36)
        self.fingerprint = f"spoken-{duration_s}"
        self.subtitles = Subtitles(tuple(Line(*line) for line in lines))

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        raise AssertionError("a scout must not decode frames of this video")


RED = Question("red", kind="open")


def sight(
    lines: Sequence[tuple[float, float, str]] = (),
    question: Question = RED,
    task: str = "",
    *,
    subtitles: bool = True,
    duration_s: float = 64.0,
) -> Sight:
    """Return what a scout may look at in such a video."""
    return Sight(Spoken(lines, duration_s), question, task, Cache(None), subtitles)
