"""`atlaskit view` and `atlaskit frame`: write a view or a frame to an image file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from atlaskit.caching.cache import Cache
from atlaskit.caching.files import write_whole
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.model import add_setting
from atlaskit.cli.outputs import IMAGES, add_output, count
from atlaskit.cli.transcribe import add_transcribe_option, with_transcript
from atlaskit.environment.actions import Expand
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.image import LazyImage
from atlaskit.environment.render import Still
from atlaskit.environment.tiles import Fit
from atlaskit.errors import InputError, printable, reason
from atlaskit.video.collection import Collection
from atlaskit.video.folder import is_several
from atlaskit.video.names import local_path
from atlaskit.video.opening import open_video
from atlaskit.video.subtitles.files import subtitles_beside
from atlaskit.video.subtitles.text import checked_time
from atlaskit.video.video import SAMPLINGS, Video

VIDEO_HELP = (
    "the video: a file, its path or a file:// URL; or several that are searched as one: a folder, "
    "a pattern in quotation marks ('night/*.mp4'), or a table (.csv) with a column named file"
)
VIEW_EXAMPLES = """examples:
  atlaskit view match.mp4 sheet.jpg
  atlaskit view match.mp4 part.png --k 4 --open 1:05 1:07.5"""
FRAME_EXAMPLES = """examples:
  atlaskit frame match.mp4 1:05 frame.png
  atlaskit frame match.mp4 1m5.5s frame.jpg"""
GRID_DEFAULTS = {"k": "8", "cell": "320", "fit": "native", "sampling": "shots"}
"""The defaults of the options of a grid, as the help shows them."""


def add_view_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `view` and `frame` subcommands to the parser."""
    view_parser = commands.add_parser(
        "view",
        epilog=VIEW_EXAMPLES,
    )
    view_parser.set_defaults(run=_view)
    view_parser.add_argument("video", help=VIDEO_HELP)
    add_output(view_parser, "out", IMAGES, help="the image to write, .jpg or .png")
    view_parser.add_argument(
        "--open",
        nargs="*",
        default=[],
        metavar="CELL",
        help=(
            "open these cells, each inside the one before: a time in the cell, such as 1:05 or "
            "65s, or its number, from 0, row by row (default: none, which shows the whole video)"
        ),
    )
    add_transcribe_option(view_parser)
    add_grid_options(view_parser)

    frame_parser = commands.add_parser(
        "frame",
        epilog=FRAME_EXAMPLES,
    )
    frame_parser.set_defaults(run=_frame)
    frame_parser.add_argument("video", help=VIDEO_HELP)
    frame_parser.add_argument(
        "time", help="time from the start of the video: 65, 65.5, 1:05, 1:02:03.5 or 1m5s"
    )
    add_output(
        frame_parser, "out", IMAGES, help="the image to write, .jpg or .png; .png is without loss"
    )
    add_cache_option(frame_parser)


def add_grid_options(
    parser: argparse.ArgumentParser, defaults: Mapping[str, str] = GRID_DEFAULTS
) -> None:
    """Add the options that define a grid and its view, and `--cache`.

    Args:
        parser: The parser.
        defaults: The options, each with its default as the help shows it. If they are not
            GRID_DEFAULTS, an option that is not given is None.
    """
    arguments: dict[str, Any] = {
        "k": {"type": count, "metavar": "N"},
        "cell": {"type": count, "metavar": "PIXELS"},
        "fit": {"choices": get_args(Fit)},
        "sampling": {"choices": SAMPLINGS},
    }
    for name, default in defaults.items():
        add_setting(parser, name, default, **arguments[name])
    if defaults is GRID_DEFAULTS:
        parser.set_defaults(k=8, cell=320, fit="native", sampling="shots")
    add_cache_option(parser)


SUBTITLES_HELP = (
    "a subtitle file; or embedded, for the track in the video with most lines; or none (default: "
    "the file beside the video that has its name, such as match.srt)"
)


def open_beside(video: str | Sequence[str], given: str | None, **more: Any) -> Video:
    """Open a video, or several as one, with its subtitles.

    Args:
        video: A file, several files that are one video, or a folder, pattern or table of films.
        given: A subtitle file, "embedded", "none", or None. With None, the subtitle file beside the
            video is read, as players do, and a notice is printed.
        **more: Arguments of `open_video`.
    """
    if given is not None:
        return open_video(video, None if given == "none" else given, **more)
    if isinstance(video, str) and is_several(video):  # open_video reads the file beside each film
        return open_video(video, **more)
    found: list[Path | None]
    if isinstance(video, str):
        found = [subtitles_beside(local_path(video))]
        opened = open_video(video, found[0], **more)
    else:
        found = [subtitles_beside(local_path(name)) for name in video]
        opened = open_video(video, found, **more)
    names = [printable(path.name, 80) for path in found if path is not None]
    if names:
        others = ""
        if len(names) > 1:
            others = f" and {len(names) - 1} more"
        print(
            f"atlaskit: {names[0]}{others}, beside the video, is read as its subtitles; "
            "--subtitles none reads none.",
            file=sys.stderr,
        )
    return opened


def _view(options: argparse.Namespace) -> int:
    cache = Cache(options.cache)
    video = with_transcript(open_video(options.video), options, cache)
    atlas = Atlas(
        video,
        k=options.k,
        cell=options.cell,
        fit=options.fit,
        labels="time",
        sampling=options.sampling,
        cache=cache,
    )
    state = atlas.start()
    for word in options.open:
        cell = int(word) if word.isdecimal() else state.grid.cell_at(checked_time(word)).index
        state = atlas.act(state, Expand(cell))
    view = atlas.observe(state).view
    grid = state.grid
    write_image(view, options.out)
    step = f"{grid.resolution_s:.3f} s a cell"
    if isinstance(video, Collection):
        films = video.films_in(grid.start_s, grid.end_s)
        first = printable(films[0].name, 80)
        step = f"{first}, {step}"
        if len(films) > 1:
            step = f"{len(films)} films from {first} on"
    print(f"{printable(str(options.out))}: {grid.start_s:.3f}–{grid.end_s:.3f} s, {step}")
    if options.transcribe:
        for line in video.subtitles.between(grid.start_s, grid.end_s):
            print(f"{line.start_s:10.2f} s  {printable(line.text)}")
    return 0


def _frame(options: argparse.Namespace) -> int:
    time_s = checked_time(options.time)
    video = open_video(options.video)
    still = Still(video, time_s, Cache(options.cache))
    video.check_time(time_s)
    if still.unreadable:
        raise InputError(
            f"The frame of {options.video} at {time_s:g} s cannot be decoded: the file is damaged."
        )
    write_image(still, options.out)
    print(f"{printable(str(options.out))}: the frame at {time_s:g} s")
    return 0


def write_image(image: LazyImage, path: Path) -> None:
    """Write an image to a file whose suffix is one of IMAGES; raise InputError if that fails."""
    is_png = path.suffix.lower() == ".png"
    try:
        write_whole(path, image.png() if is_png else image.jpeg())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {reason(error)}.") from error
