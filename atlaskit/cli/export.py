"""`atlaskit export`: saved results, rows, notes and what others coded, in a file of any format."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.outputs import TABLES, add_output
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


def add_export_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `export` subcommand to the parser."""
    parser = commands.add_parser(
        "export",
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_export)
    parser.add_argument(
        "what",
        type=Path,
        nargs="*",
        help=(
            "saved results (.json), tables of evaluate (.csv, .parquet), or files of any format "
            "that is written"
        ),
    )
    parser.add_argument(
        "--notes", metavar="VIDEO", action="append", default=[], help="the notes about a video"
    )
    told = "a video that they are about, for formats that count frames or name files, and for clips"
    parser.add_argument("--video", metavar="VIDEO", action="append", default=[], help=told)
    told = "folder of the runs that a table names (default: the table's own folder, and no other)"
    parser.add_argument("--traces", type=Path, metavar="FOLDER", help=told)
    add_export_options(parser, "--out", "the file to write", required=True)
    add_cache_option(parser)


def add_export_options(parser: argparse.ArgumentParser, name: str, told: str, **more: Any) -> None:
    """Add the options that tell where passages are exported to.

    Args:
        parser: The parser of the command.
        name: The option that names the file.
        told: What it does.
        more: Arguments of `add_argument`.
    """
    add_output(parser, name, SUFFIXES, metavar="FILE", help=f"{told}: {', '.join(ENDINGS)}", **more)
    add_output(
        parser,
        "--clips",
        metavar="FOLDER",
        help="folder in which to cut each stretch as a film with its sound",
    )
    told = "when the recording began, for observations.csv: 2026-06-01T21:00:00+02:00"
    parser.add_argument("--recorded-at", metavar="TIME", help=told)


def check_export(options: argparse.Namespace, path: Path | None) -> None:
    """Raise InputError for options that do not go together, before anything is paid."""
    if path is not None:
        check(path, options.recorded_at)
    elif options.clips or options.recorded_at:
        raise InputError(
            "--clips and --recorded-at are for what --export writes: name its file too."
        )


def _export(options: argparse.Namespace) -> int:
    check_export(options, options.out)
    cache = Cache(options.cache)
    videos = [open_video(each, cache=cache) for each in (*options.video, *options.notes)]
    only = videos[0] if len(options.video) == 1 else None
    found = list[Any]()
    for path in options.what:
        found += _passages(path, only, options.recorded_at, options.traces)
    for video in videos[len(options.video) :]:
        found += GridExplorer(video, cache=cache).passages
    if not found:
        raise InputError(
            "Name what to export: a saved result, a table of evaluate, a file of passages, or "
            "--notes VIDEO."
        )
    how = {"recorded_at": options.recorded_at, "clips": options.clips, "cache": cache}
    export(found, options.out, videos=videos, **how)
    print(f"{printable(str(options.out), 200)}: written")
    return 0


def _passages(
    path: Path, video: Video | None, recorded_at: str | None, traces: Path | None
) -> list[Any]:
    """Return what a file holds: the passages of a result or of a file, or a table of `evaluate`."""
    if path.suffix.lower() in TABLES and path.with_name(f"{path.name}.json").exists():
        rows = tables.load(path)
        for trace in rows.get("trace", ()):
            if isinstance(trace, str) and trace:
                tables.own_trace(trace, traces or path.parent)
        return [rows]
    saved = saved_passages(path, video) if path.suffix.lower() == ".json" else None
    return [*(read(path, video=video, recorded_at=recorded_at) if saved is None else saved)]
