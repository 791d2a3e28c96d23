"""`films_of`: a world as a collection of films, which are the parts between given seconds.

The films play one after the other, so the times of the collection are those of the world, and the
world's questions, answers and oracles are valid for the collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from operator import lt

from atlaskit.errors import FrameError, InputError
from atlaskit.video.collection import Collection
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import Video
from atlasworld.worlds import World


class Stretch(Video):
    """The interval `[start_s, end_s)` of a video, as a video.

    Attributes:
        asked: Number of frames requested so far.
    """

    is_drawn = True

    def __init__(self, whole: Video, start_s: float, end_s: float) -> None:
        self.whole = whole
        self.start_s = start_s
        self.asked = 0
        self.name = f"{start_s:09.1f}.mp4"
        self.duration_s = end_s - start_s
        self.fps = whole.fps
        self.size = whole.size
        self.fingerprint = f"{whole.fingerprint}-{start_s}-{end_s}"
        self.subtitles = Subtitles()

    def try_frames(
        self, times_s: Sequence[float], size: tuple[int, int] | None = None
    ) -> list[Pixels | FrameError]:
        """Return the frame shown at each time, scaled to `size` (width, height) if given."""
        self.asked += len(times_s)
        return self.whole.try_frames([self.start_s + time_s for time_s in times_s], size)


def films_of(world: World, ends_s: Sequence[float]) -> Collection:
    """Return a world as a collection of films, drawn on demand.

    Args:
        world: The world.
        ends_s: The second at which each film ends, in order; the last is the world's end.

    Raises:
        InputError: The seconds are not in order, or do not end with the world.

    Examples:
        >>> films = aw.films_of(aw.world(3, 120), [20.0, 65.0, 120.0])
        >>> len(films.films), films.duration_s
        (3, 120.0)
    """
    starts_s = [0.0, *ends_s[:-1]]
    are_sorted = all(map(lt, starts_s, ends_s))
    if not ends_s or not are_sorted or ends_s[-1] != world.drawn.duration_s:
        raise InputError(
            "The films of a world end in order, and the last at its end, "
            f"{world.drawn.duration_s:g} s; got {list(ends_s)!r:.80}."
        )
    films = list(map(Stretch, repeat(world.drawn), starts_s, ends_s))
    names = [film.name for film in films]
    return Collection(films, names, subtitles=world.drawn.subtitles)
