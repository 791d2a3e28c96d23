"""`atlaskit explore` and `atlaskit browse`: a video, or the rows of an evaluation, in a browser."""

from __future__ import annotations

import argparse
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.caching.folder import default_place
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.model import add_model_options, add_yes_option, named_model, server_notice
from atlaskit.cli.outputs import path_of
from atlaskit.cli.view import SUBTITLES_HELP, add_grid_options, open_beside
from atlaskit.errors import InputError, missing
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import Server, as_model
from atlaskit.runs.replay import atlas_of
from atlaskit.runs.result import trace_of
from atlaskit.video.video import Video
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.widgets import GridExplorer, RunTable
from atlaskit.viz.widgets.explorer.describe import Marks

EXAMPLES = """examples:
  atlaskit explore match.mp4
  atlaskit explore match.mp4 --model Qwen/Qwen3-VL-8B-Instruct
  atlaskit explore match.mp4 --subtitles match.srt --result result.json
  atlaskit explore nights.mp4 --notes coded.eaf
  atlaskit explore first-half.mp4 second-half.mp4 --port 8899 --no-browser

The page is served to this machine only, and only at the printed address, which holds a secret. From
another machine, first forward the port: ssh -L 8899:127.0.0.1:8899 THE-OTHER-MACHINE. Each tab is
an explorer of its own. Ctrl-C ends it."""
OF_THE_RUN = "; with --result, that of the run"
DEFAULTS = {
    "k": f"8{OF_THE_RUN}",
    "fit": f"native{OF_THE_RUN}",
    "sampling": f"keyframe{OF_THE_RUN}",
}
"""The defaults of the options of a grid, as the help shows them."""


def add_explore_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `explore` subcommand to the parser."""
    parser = commands.add_parser(
        "explore",
        description=(
            "Open a page in the browser that shows a video as a grid of frames. A click on a cell "
            "opens it as a\nfiner grid, down to single frames."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_explore)
    parser.add_argument(
        "video",
        nargs="+",
        help=(
            "a video file, its path or a file:// URL; several files are parts of one video, in "
            "this order; a folder, a pattern or a table (.csv) names many films"
        ),
    )
    parser.add_argument("--subtitles", metavar="FILE", help=SUBTITLES_HELP)
    parser.add_argument(
        "--result",
        type=path_of,
        metavar="FILE",
        help=(
            "a saved result or trace about this video: the page marks the evidence and what was "
            "ruled out, and shows the grids as the model saw them"
        ),
    )
    parser.add_argument(
        "--notes",
        type=path_of,
        metavar="FILE",
        help=(
            "add the marks in this file to the notes about the video: an export of atlaskit, or a "
            "coding from ELAN, BORIS, CSV, EDL, ..."
        ),
    )
    add_grid_options(parser, DEFAULTS)
    add_model_options(parser, "none; the page can name one")
    add_yes_option(parser)
    browse = commands.add_parser(
        "browse",
        description=(
            "Open a page in the browser that lists the questions and answers of a table of "
            "`evaluate`."
        ),
        epilog="examples:\n  atlaskit browse rows.csv",
    )
    browse.set_defaults(run=_browse)
    browse.add_argument(
        "rows",
        type=path_of,
        help="a table that evaluate has written, or is writing now, .csv or .parquet",
    )
    browse.add_argument(
        "--traces",
        type=path_of,
        metavar="FOLDER",
        help="folder of the table's runs (default: the table's own folder)",
    )
    add_cache_option(browse)
    for each in (parser, browse):
        each.add_argument(
            "--port", type=int, default=0, help="port on 127.0.0.1 (default 0: any that is free)"
        )
        each.add_argument(
            "--no-browser", action="store_true", help="print the address and open no browser"
        )


def _browse(options: argparse.Namespace) -> int:
    cache = Cache(options.cache)
    return _serve(
        lambda: RunTable(options.rows, cache=cache, traces=options.traces),
        "runtable",
        options.rows.name,
        options,
    )


def _serve(
    make: Callable[[], GridExplorer | RunTable], page: str, title: str, options: argparse.Namespace
) -> int:
    """Serve a page until Ctrl-C.

    Args:
        make: Makes a new widget each time the page is loaded.
        page: The name of the page, "explorer" or "runtable".
        title: The title of the page.
        options: The options of the command.

    Raises:
        InputError: The web server is not installed, or `make` raises it.
    """
    try:
        from atlaskit.viz.widgets.standalone import serve
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("tornado"):
            raise
        raise InputError(missing("A page in a browser", "tornado>=6.4")) from error
    make()  # an error for a wrong file or setting is raised here, not in the page
    with ExitStack() as until_stopped:
        try:
            serve(
                make,
                page,
                title,
                options.port,
                partial(_announce, options.no_browser, until_stopped),
            )
        except KeyboardInterrupt:
            print("The server has stopped.")
    return 0


def _explore(options: argparse.Namespace) -> int:
    cache = Cache(options.cache)
    source = options.video if len(options.video) > 1 else options.video[0]
    spec = named_model(options)
    video = open_beside(source, options.subtitles, cache=cache)
    vlm = None
    if spec is not None:
        vlm = as_model(spec, cache, keep=True)
    if isinstance(vlm, Server) and options.yes:
        vlm.agree = lambda _: None  # without --yes, the page asks
    if options.notes is not None:  # kept on disk, where each tab's explorer finds them
        GridExplorer(video, cache=cache).open_notes(options.notes)
    with server_notice(vlm):
        return _serve(
            partial(_explorer, video, cache, options, vlm), "explorer", video.name, options
        )


def _explorer(
    video: Video, cache: Cache, options: argparse.Namespace, vlm: Model | None
) -> GridExplorer:
    """Return a new explorer, with the marks and the settings of a run if one is given.

    Raises:
        InputError: A setting is out of its range, or the run is of another video.
    """
    given = dict[str, Any]()
    for name in DEFAULTS:
        value = getattr(options, name)
        if value is not None:
            given[name] = value
    if options.result is None:
        explorer = GridExplorer(video, vlm=vlm, cache=cache, **given)
    else:
        trace = trace_of(options.result)
        atlas = replace(atlas_of(trace, video, cache), labels="time", **given)
        # With a sampling, shots do not take the place of the frames that the model saw.
        explorer = GridExplorer(video, vlm=vlm, cache=cache, sampling=atlas.sampling)
        explorer.atlas = atlas
        explorer.marks = Marks.of(open_run(trace, video, cache))
    if len(options.video) == 1:  # the page shows a command of `ask`, which takes one file
        words = list[str]()
        if options.subtitles is not None:
            words += ["--subtitles", options.subtitles]
        if options.cache != default_place().directory:
            words += ["--cache", str(options.cache)]
        spec = named_model(options)
        model = "" if spec is None else str(spec)
        explorer.command = options.video[0], words, model
    return explorer


def _announce(is_quiet: bool, until_stopped: ExitStack, address: str) -> None:
    """Print the address of a page, and open it in a browser unless `is_quiet`."""
    print(f"The page is at {address}\nCtrl-C ends it.", flush=True)
    if is_quiet:
        return
    from atlaskit.viz.widgets.standalone import private_page

    # Other users of this machine can read the arguments of a browser, so the secret address is not
    # among them: the browser opens a private file that leads to it.
    page = until_stopped.enter_context(private_page(address))
    # A browser in the terminal blocks its thread, and the server must go on to answer it.
    Thread(target=webbrowser.open, args=[page], daemon=True).start()
