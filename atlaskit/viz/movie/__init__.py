"""A run as a short film: the map that turns black, what agents look at, evidence that arrives, counts, and the answer.

    movie.save(result, "run.mp4")   # H.264, for browsers and slides
    movie.save(result, "run.gif")   # for where no video plays

It has at most `script.MOST_BEATS` stills, whatever the length of the run, and lasts less than a minute; a GIF is made
smaller until it has at most `files.MOST_GIF_BYTES`. Workers, which were out at once, are shown at once: the first step
of each, then the second of each. A result makes the same stills each time, and so the same GIF, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from atlaskit.errors import InputError, reason
from atlaskit.runs.result import Result
from atlaskit.viz.movie import encoders
from atlaskit.viz.movie.frames import FrameRenderer
from atlaskit.viz.movie.storyboard import beats, pace

FORMS = {".mp4": encoders.mp4, ".gif": encoders.gif}
"""What can be written, by how a file's name ends."""


def check_path(path: str | Path) -> None:
    """Raise InputError for a name that ends in none of FORMS."""
    if Path(path).suffix.lower() not in FORMS:
        raise InputError(f"A film of a run ends in {' or '.join(FORMS)}, and {str(path)!r:.80} does not.")


def save(result: Result, path: str | Path) -> None:
    """Write a run as a film, MP4 or GIF by how the file's name ends.

    Its pictures are drawn again where the cache has them no more; one that cannot be had is grey, and says so. Raises
    InputError for another ending, for a file that cannot be written, and for what has no map to show: a trace of
    another video, or of a baseline.
    """
    check_path(path)
    film = FORMS[Path(path).suffix.lower()](list(stills(result)))
    try:
        Path(path).write_bytes(film)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written: {reason(error)}.") from error


def stills(result: Result) -> Iterator[tuple[Image.Image, float]]:
    """Yield the film's pictures, each with the seconds that it stands."""
    painter, told = FrameRenderer(result), beats(result.trace)
    for number, beat in enumerate(told):
        yield painter.paint(beat), pace(number, len(told))
    yield painter.end(), pace(len(told), len(told))
