"""A run as a short movie: its root grid, what agents see, evidence, counts, and the answer.

    movie.save(result, "run.mp4")   # H.264, for browsers and slides
    movie.save(result, "run.gif")   # where no video plays

A movie has at most `storyboard.MAX_SCENES` scenes and an end, however long the run, and lasts less
than a minute. A GIF is scaled down until it has at most `encoders.MAX_GIF_BYTES`. Workers explore
in parallel and are shown in parallel: the first step of each, then the second of each. A result
always gives the same images, and so the same GIF, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from atlaskit.caching.files import write_whole
from atlaskit.errors import InputError, reason
from atlaskit.runs.result import Result
from atlaskit.viz.movie import encoders
from atlaskit.viz.movie.frames import FrameRenderer
from atlaskit.viz.movie.storyboard import scene_seconds, scenes

__all__ = ["save", "stills"]

ENCODERS = {".mp4": encoders.mp4, ".gif": encoders.gif}
"""The encoder of each format, by the suffix of the file."""


def check_path(path: str | Path) -> None:
    """Raise InputError unless the path has a suffix of ENCODERS."""
    if Path(path).suffix.lower() not in ENCODERS:
        raise InputError(f"The path of a movie ends in {' or '.join(ENCODERS)}; got {str(path)!r:.80}.")


def save(result: Result, path: str | Path) -> None:
    """Write a run as a movie, MP4 or GIF by the suffix of the path.

    Images that the cache no longer holds are drawn again; one that cannot be drawn is grey and says
    so.

    Args:
        result: The run.
        path: File to write, with suffix .mp4 or .gif.

    Raises:
        InputError: The suffix is another one, the file cannot be written, or the run has no root
            grid to show: its trace is of another video, or of a baseline.

    Examples:
        >>> ak.movie.save(result, "run.mp4")
    """
    check_path(path)
    movie = ENCODERS[Path(path).suffix.lower()](list(stills(result)))
    try:
        write_whole(path, movie)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written: {reason(error)}.") from error


def stills(result: Result) -> Iterator[tuple[Image.Image, float]]:
    """Yield the images of a run's movie, each with the seconds that it is shown.

    Examples:
        >>> image, seconds = next(ak.movie.stills(result))
        >>> seconds > 0
        True
    """
    renderer, all_scenes = FrameRenderer(result), scenes(result.trace)
    count = len(all_scenes)
    for number, scene in enumerate(all_scenes):
        yield renderer.draw(scene), scene_seconds(number, count)
    yield renderer.draw_end(), scene_seconds(count, count)


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
