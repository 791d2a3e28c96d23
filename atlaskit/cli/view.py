"""`atlaskit view` and `atlaskit frame`: write a view or a frame to an image file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.transcribe import add_transcribe_option, with_transcript
from atlaskit.environment.grid import Grid
from atlaskit.environment.image import LazyImage
from atlaskit.environment.render import Still, View
from atlaskit.environment.tiles import Fit
from atlaskit.errors import InputError, printable
from atlaskit.video.opening import open_video
from atlaskit.video.subtitles.clock import checked_time
from atlaskit.video.video import SAMPLINGS


def add_view_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `view` and `frame` subcommands to the parser."""
    view_parser = commands.add_parser("view", help="write a view (the contact sheet of a grid) to an image file")
    view_parser.set_defaults(run=_view)
    view_parser.add_argument("video", help="a video file")
    view_parser.add_argument("out", type=Path, help="a .jpg or .png file")
    view_parser.add_argument(
        "--open", type=int, nargs="*", default=[], metavar="CELL", help="cells to expand, each inside the one before"
    )
    add_transcribe_option(view_parser)
    add_grid_options(view_parser)

    frame_parser = commands.add_parser("frame", help="write the frame shown at a time to an image file")
    frame_parser.set_defaults(run=_frame)
    frame_parser.add_argument("video", help="a video file")
    frame_parser.add_argument("time", help="time from the start of the video: 65, 65.5, 1:05, 1:02:03.5 or 1m5s")
    frame_parser.add_argument("out", type=Path, help="a .jpg or .png file")
    add_cache_option(frame_parser)


def seconds_of(text: str) -> float:
    """Return the seconds of a time as a person types it; for `argparse`."""
    try:
        return checked_time(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def add_grid_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that define a grid and its view, and `--cache`."""
    parser.add_argument("--k", type=int, default=8, help="K: a grid has K×K cells (default 8; nano: 4)")
    parser.add_argument(
        "--cell", type=int, default=320, help="width and height of a cell in pixels (default 320; nano: 128)"
    )
    parser.add_argument(
        "--fit",
        choices=get_args(Fit),
        default="contain",
        help="how a frame fills its cell: native (the cell has the video's shape, as high or as wide as --cell), "
        "contain (on a grey square) or stretch (default contain; ask: what suits the model)",
    )
    parser.add_argument(
        "--sampling", choices=SAMPLINGS, default="midpoint", help="which frame represents a cell (default midpoint)"
    )
    add_cache_option(parser)


def _view(options: argparse.Namespace) -> int:
    cache = Cache(options.cache)
    video = with_transcript(open_video(options.video), options, cache)
    grid = Grid(0.0, video.duration_s, options.k)
    for cell in options.open:
        grid = grid.expand(cell)
    view = View(video, grid, options.cell, options.fit, "time", sampling=options.sampling, cache=cache)
    write_image(view, options.out)
    print(f"{printable(str(options.out))}: {grid.start_s:.3f}–{grid.end_s:.3f} s, {grid.resolution_s:.3f} s a cell")
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
        raise InputError(f"The frame of {options.video} at {time_s:g} s cannot be decoded: the file is damaged.")
    write_image(still, options.out)
    print(f"{printable(str(options.out))}: the frame at {time_s:g} s")
    return 0


def write_image(image: LazyImage, path: Path) -> None:
    """Write an image to a file.

    Raises:
        InputError: The suffix is neither .jpg, .jpeg nor .png, or the file cannot be written.
    """
    encoders = {".jpg": image.jpeg, ".jpeg": image.jpeg, ".png": image.png}
    encode = encoders.get(path.suffix.lower())
    if encode is None:
        raise InputError(f"{path} must end in .jpg or .png.")
    try:
        path.write_bytes(encode())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
