"""`Stretch`: a part of a video as a video of its own: an oracle knows the truth of all together."""

from collections.abc import Sequence

from atlaskit.errors import FrameError
from atlaskit.video.collection import Collection
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import Video


class Stretch(Video):
    """The interval `[start_s, end_s)` of a video.

    Attributes:
        asked: Number of frames requested so far.
    """

    is_drawn = True

    def __init__(self, whole: Video, start_s: float, end_s: float) -> None:
        self.whole, self.start_s, self.asked = whole, start_s, 0
        self.name, self.duration_s = f"{start_s:.0f}.mp4", end_s - start_s
        self.fps, self.size = whole.fps, whole.size
        self.fingerprint, self.subtitles = f"{whole.fingerprint}-{start_s}-{end_s}", Subtitles()

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        self.asked += len(times_s)
        return self.whole.try_frames([self.start_s + time_s for time_s in times_s], size)


def cut(whole: Video, ends_s: Sequence[float]) -> Collection:
    """Return a video cut into films that end at some times: together they play as it does."""
    starts_s = [0.0, *ends_s[:-1]]
    films = [Stretch(whole, *span_s) for span_s in zip(starts_s, ends_s, strict=True)]
    return Collection(films, [film.name for film in films])
