"""`atlaskit export`: results, tables, notes and codings as one file for another program."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.outputs import TABLES, add_output, path_of
from atlaskit.errors import InputError, printable
from atlaskit.evaluation import tables
from atlaskit.runs.exporting.formats import ENDINGS, check, read
from atlaskit.runs.exports import export, saved_passages
from atlaskit.video.opening import open_video
from atlaskit.video.video import Video
from atlaskit.viz.widgets import GridExplorer

EXAMPLES = """examples:
  atlaskit export result.json --video match.mp4 --out cut.edl --clips evidence
  atlaskit export rows.parquet --out answers.csv
  atlaskit export --notes match.mp4 --out notes.eaf
  atlaskit export coded.boris --out truth.csv"""


SUFFIXES = tuple(dict.fromkeys(Path(f"x{ending}").suffix for ending in ENDINGS))
"""The last suffix of each ending, once each: "observations.csv" counts as ".csv"."""


def add_export_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `export` subcommand to the parser."""
    parser = commands.add_parser(
        "export",
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_export)
    parser.add_argument(
        "what",
        type=path_of,
        nargs="*",
        help=(
            "saved results (.json), tables of evaluate (.csv, .parquet), or files in any format "
            "that --out can have"
        ),
    )
    parser.add_argument(
        "--notes",
        metavar="VIDEO",
        action="append",
        default=[],
        help="export the notes that were written about this video in the explorer",
    )
    parser.add_argument(
        "--video",
        metavar="VIDEO",
        action="append",
        default=[],
        help=(
            "a video that the results are about; formats that count frames or name files need it, "
            "and so does --clips"
        ),
    )
    parser.add_argument(
        "--traces",
        type=path_of,
        metavar="FOLDER",
        help="folder of the runs that a table names (default: the table's own folder)",
    )
    add_export_options(parser, "--out", "the file to write", required=True)
    add_cache_option(parser)


def add_export_options(
    parser: argparse._ActionsContainer, name: str, purpose: str, **more: Any
) -> None:
    """Add the options that say where passages are exported to.

    Args:
        parser: The parser of the command, or a group of it.
        name: The option that names the file.
        purpose: What the option does, for its help.
        more: Arguments of `add_argument`.
    """
    endings = ", ".join(ENDINGS)
    add_output(parser, name, SUFFIXES, metavar="FILE", help=f"{purpose}: {endings}", **more)
    add_output(
        parser,
        "--clips",
        metavar="FOLDER",
        help="also write each exported stretch of the video as a film of its own to this folder",
    )
    parser.add_argument(
        "--recorded-at",
        metavar="TIME",
        help="when the recording began, for observations.csv: 2026-06-01T21:00:00+02:00",
    )


def check_export(options: argparse.Namespace, path: Path | None) -> None:
    """Raise InputError for options that do not fit together, before a call costs anything."""
    if path is not None:
        check(path, options.recorded_at)
    elif options.clips or options.recorded_at:
        raise InputError(
            "--clips and --recorded-at are for what --export writes: name its file too."
        )


def _export(options: argparse.Namespace) -> int:
    check_export(options, options.out)
    cache = Cache(options.cache)
    videos = [open_video(name, cache=cache) for name in options.video]
    noted_videos = [open_video(name, cache=cache) for name in options.notes]
    only_video = None
    if len(videos) == 1:
        only_video = videos[0]
    contents = list[Any]()
    for path in options.what:
        contents += _passages(path, only_video, options.recorded_at, options.traces)
    for video in noted_videos:
        contents += GridExplorer(video, cache=cache).passages
    if not (options.what or options.notes):
        raise InputError(
            "Name what to export: a saved result, a table of evaluate, a file of passages, or "
            "--notes VIDEO."
        )
    if not contents:
        raise InputError("There is nothing to export: what you name holds no passages or notes.")
    export(
        contents,
        options.out,
        videos=[*videos, *noted_videos],
        recorded_at=options.recorded_at,
        clips=options.clips,
        cache=cache,
    )
    print(f"{printable(str(options.out), 200)}: written")
    return 0


def _passages(
    path: Path, video: Video | None, recorded_at: str | None, traces: Path | None
) -> list[Any]:
    """Return the contents of a file, for `export`: a table of `evaluate`, or passages.

    A table is of `evaluate` if its card is beside it; else it is read as passages.
    """
    if path.suffix.lower() in TABLES and path.with_name(f"{path.name}.json").exists():
        rows = tables.load(path)
        # A run that a table names must lie in its folder: `own_trace` raises if it does not.
        for trace in rows.get("trace", ()):
            if isinstance(trace, str) and trace:
                tables.own_trace(trace, traces or path.parent)
        return [rows]
    if path.suffix.lower() == ".json":
        saved = saved_passages(path, video)
        if saved is not None:
            return [*saved]
    return [*read(path, video=video, recorded_at=recorded_at)]
