"""`atlaskit explore` and `atlaskit browse`: a video, or the rows of an evaluation, in a browser."""

from __future__ import annotations

import argparse
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.caching.folder import default_place
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.model import add_model_options, add_yes_option, named_model, told_of_kept
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
OWN_DEFAULTS = {"k": "8", "fit": "native", "sampling": "keyframe"}
TOLD = {name: f"{value}; with --result, that of the run" for name, value in OWN_DEFAULTS.items()}


def add_explore_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `explore` subcommand to the parser."""
    parser = commands.add_parser(
        "explore",
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_explore)
    parser.add_argument(
        "video",
        nargs="+",
        help=(
            "a video file: its path, or a file:// URL; several are one video, in this order; a "
            "folder of them, a pattern or a table (.csv) is a collection"
        ),
    )
    parser.add_argument(
        "--subtitles",
        metavar="FILE",
        help=SUBTITLES_HELP,
    )
    parser.add_argument(
        "--result",
        type=Path,
        metavar="FILE",
        help=(
            "a saved result or trace of this video: its evidence and dead zones are marked, and "
            "the grids are those that the model saw"
        ),
    )
    told = (
        "open a file as notes: an export, or what others coded (ELAN, BORIS, CSV, EDL, ...); they "
        "are kept"
    )
    parser.add_argument("--notes", type=Path, metavar="FILE", help=told)
    add_grid_options(parser, TOLD)
    add_model_options(parser, "none, until the page names one")
    add_yes_option(parser)
    browse = commands.add_parser("browse", epilog="examples:\n  atlaskit browse rows.csv")
    browse.set_defaults(run=_browse)
    browse.add_argument(
        "rows", type=Path, help="a table that evaluate wrote, or writes now, .csv or .parquet"
    )
    told = "folder of the table's runs (default: the table's own folder, and no other)"
    browse.add_argument("--traces", type=Path, metavar="FOLDER", help=told)
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
    """Serve a page until Ctrl-C; it gets a new widget whenever it is loaded."""
    try:
        from atlaskit.viz.widgets.standalone import serve
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("tornado"):
            raise
        raise InputError(missing("A page in a browser", "tornado>=6.4")) from error
    make()  # a wrong file or setting is told here, not in the page
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
    vlm = None if spec is None else as_model(spec, cache, keep=True)
    if isinstance(vlm, Server) and options.yes:
        vlm.agree = lambda _: None  # else the page asks
    if options.notes is not None:
        GridExplorer(video, cache=cache).open_notes(options.notes)
    with told_of_kept(vlm):
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
    given: dict[str, Any] = {
        name: getattr(options, name) for name in TOLD if getattr(options, name) is not None
    }
    explorer = GridExplorer(video, vlm=vlm, cache=cache, **({} if options.result else given))
    if len(options.video) == 1:  # `ask` takes one file
        own = None if options.cache == default_place().directory else options.cache
        words = list[str]()
        for option, value in {"--subtitles": options.subtitles, "--cache": own}.items():
            if value is not None:
                words += [option, str(value)]
        spec = named_model(options)
        explorer.command = options.video[0], words, "" if spec is None else str(spec)
    if options.result is not None:
        trace = trace_of(options.result)
        explorer.atlas = replace(atlas_of(trace, video, cache), labels="time", **given)
        explorer.marks = Marks.of(open_run(trace, video, cache))
    return explorer


def _announce(is_quiet: bool, until_stopped: ExitStack, address: str) -> None:
    print(f"The page is at {address}\nCtrl-C ends it.", flush=True)
    if is_quiet:
        return
    from atlaskit.viz.widgets.standalone import private_page

    # Other users can read a browser's arguments.
    page = until_stopped.enter_context(private_page(address))
    # In a thread: a browser in the terminal would keep the server from answering it.
    Thread(target=webbrowser.open, args=[page], daemon=True).start()
