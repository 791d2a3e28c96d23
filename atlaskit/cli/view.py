"""`atlaskit view` and `atlaskit frame`: write a view or a frame to an image file."""

from __future__ import annotations

import argparse
from pathlib import Path

from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.environment.grid import Grid
from atlaskit.environment.image import LazyImage
from atlaskit.environment.render import Still, View
from atlaskit.errors import InputError
from atlaskit.video.opening import open_video
from atlaskit.video.video import SAMPLINGS


def add_view_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `view` and `frame` to the commands."""
    viewing = commands.add_parser("view", help="write a video's contact sheet to an image file")
    viewing.set_defaults(run=_view)
    viewing.add_argument("video", type=Path)
    viewing.add_argument("out", type=Path, help="a .jpg or .png file")
    viewing.add_argument(
        "--open", type=int, nargs="*", default=[], metavar="CELL", help="cells to open, one inside the other"
    )
    add_grid_options(viewing)

    framing = commands.add_parser("frame", help="write the frame shown at a second to an image file")
    framing.set_defaults(run=_frame)
    framing.add_argument("video", type=Path)
    framing.add_argument("seconds", type=float)
    framing.add_argument("out", type=Path, help="a .jpg or .png file")
    add_cache_option(framing)


def add_grid_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a grid is drawn."""
    parser.add_argument("--k", type=int, default=8, help="a grid has K×K cells (8; nano reads 4)")
    parser.add_argument("--cell", type=int, default=320, help="pixels of a cell's side (320; nano reads 128)")
    parser.add_argument(
        "--sampling", choices=SAMPLINGS, default="midpoint", help="which frame stands for a cell (midpoint)"
    )
    add_cache_option(parser)


def _view(options: argparse.Namespace) -> int:
    video = open_video(options.video)
    grid = Grid(0.0, video.duration_s, options.k)
    for cell in options.open:
        grid = grid.expand(cell)
    view = View(video, grid, options.cell, labels="time", sampling=options.sampling, cache=Cache(options.cache))
    write_image(view, options.out)
    print(f"{options.out}: {grid.start_s:.3f}–{grid.end_s:.3f} s, {grid.resolution_s:.3f} s a cell")
    return 0


def _frame(options: argparse.Namespace) -> int:
    video = open_video(options.video)
    still = Still(video, options.seconds, Cache(options.cache))
    video.check_time(options.seconds)
    if still.unreadable:
        raise InputError(
            f"The frame of {options.video} at {options.seconds:g} s cannot be decoded: the file is damaged."
        )
    write_image(still, options.out)
    print(f"{options.out}: the frame at {options.seconds:g} s")
    return 0


def write_image(picture: LazyImage, path: Path) -> None:
    """Write an image to a .jpg or .png file; raise InputError where that cannot be done."""
    forms = {".jpg": picture.jpeg, ".jpeg": picture.jpeg, ".png": picture.png}
    form = forms.get(path.suffix.lower())
    if form is None:
        raise InputError(f"{path} should end in .jpg or .png.")
    try:
        path.write_bytes(form())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
