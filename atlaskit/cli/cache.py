"""`atlaskit cache`: inspect, verify and prune a cache; export runs and import recordings."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from atlaskit.caching.cache import Cache
from atlaskit.caching.folder import VARIABLE, default_place, is_cache
from atlaskit.caching.keys import is_outdated, kinds
from atlaskit.cli.outputs import add_output, path_of
from atlaskit.errors import InputError, printable
from atlaskit.runs.archive import export, import_
from atlaskit.video.file import COPIES, copies_folder

DAY_S = 86400.0
MEGABYTE = 1e6
NO_ENTRY = "rows and files that are not entries"
"""Printed for the kind "", which counts them."""
EXAMPLES = """examples:
  atlaskit cache
  atlaskit cache stats
  atlaskit cache prune --older-than 30 --to 5000
  atlaskit cache export run.jsonl.xz --run result.json
  atlaskit cache import run.jsonl.xz"""


def add_cache_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `cache` subcommand and its actions to the parser."""
    cache_parser = commands.add_parser(
        "cache",
        description=(
            "The cache keeps replies of models, frames and sheets, so that nothing is paid or "
            "decoded twice.\nWithout an action, this command says which cache is used, why that "
            "one, and what it holds.\n\nNotebooks, scripts and commands share one cache. It is the "
            f"first of these that exists:\n  the directory that the variable {VARIABLE} names,\n"
            "  the nearest cache that atlaskit made, in the current folder or above it in the "
            "project,\n  the one in the root of the project (the folder with pyproject.toml or "
            ".git),\n  and outside a project, ./cache."
        ),
        epilog=EXAMPLES,
    )
    cache_parser.set_defaults(run=_where)
    actions = cache_parser.add_subparsers(metavar="action")

    stats_parser = actions.add_parser("stats", help="print the number and size of entries, by kind")
    stats_parser.set_defaults(run=_stats)

    verify_parser = actions.add_parser("verify", help="read every entry and drop damaged ones")
    verify_parser.set_defaults(run=_verify)

    import_parser = actions.add_parser(
        "import", help="check recordings of runs and add them to the cache"
    )
    import_parser.set_defaults(run=_import)
    import_parser.add_argument(
        "recordings", type=path_of, nargs="+", help="recordings, .jsonl.xz files"
    )

    add_cache_option(cache_parser)
    for parser in (
        stats_parser,
        verify_parser,
        _add_prune(actions),
        _add_export(actions),
        import_parser,
    ):
        # A default here would replace a --cache that stands before the action.
        add_cache_option(parser, default=argparse.SUPPRESS)


def _add_prune(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse.ArgumentParser:
    prune_parser = actions.add_parser(
        "prune",
        help="remove entries of older versions, or images, oldest first",
        description=(
            "Without options, this removes entries of older versions of atlaskit, which this "
            "version never reads.\nWith options, it removes frames and sheets. Other kinds, some "
            "of which cost model calls, are removed\nonly if --kind names them."
        ),
    )
    prune_parser.set_defaults(run=_prune)
    prune_parser.add_argument(
        "--kind",
        action="append",
        choices=sorted([*kinds(), COPIES]),
        metavar="KIND",
        help=(
            "remove entries of this kind, one of those that `atlaskit cache stats` lists (default: "
            "all kinds of images)"
        ),
    )
    prune_parser.add_argument(
        "--older-than", type=float, metavar="DAYS", help="remove entries older than this many days"
    )
    prune_parser.add_argument(
        "--to",
        type=float,
        metavar="MB",
        help="remove the oldest entries until at most this many megabytes remain",
    )
    return prune_parser


def _add_export(
    actions: argparse._SubParsersAction[argparse.ArgumentParser],
) -> argparse.ArgumentParser:
    export_parser = actions.add_parser(
        "export", help="pack the entries that runs need into one recording"
    )
    export_parser.set_defaults(run=_export)
    add_output(export_parser, "out", (".xz",), help="the recording to write, .jsonl.xz")
    selection = export_parser.add_mutually_exclusive_group()
    selection.add_argument(
        "--run",
        type=path_of,
        nargs="+",
        dest="runs",
        metavar="FILE",
        help="pack what these saved results or traces need (default: the whole cache)",
    )
    selection.add_argument(
        "--since",
        type=_moment_s,
        metavar="TIME",
        help="pack what all runs made since this time need, such as 2026-11-25T18:00 (local time)",
    )
    return export_parser


def add_cache_option(parser: argparse._ActionsContainer, default: Path | str | None = None) -> None:
    """Add the `--cache` option to a parser or option group.

    Args:
        parser: The parser or group.
        default: The value without the option; None for the default cache.
    """
    parser.add_argument(
        "--cache",
        type=path_of,
        default=default or default_place().directory,
        metavar="DIRECTORY",
        help="the cache (default: the one that `atlaskit cache` names)",
    )


def _where(options: argparse.Namespace) -> int:
    """Say which cache is used and why, and what it holds."""
    place = default_place()
    why = place.why if options.cache == place.directory else "--cache names it"
    print(f"{printable(str(options.cache.absolute()))}\n  {why}")
    if not is_cache(options.cache):
        print("  there is none yet; the first command that needs it makes it")
        return 0
    return _stats(options)


def _stats(options: argparse.Namespace) -> int:
    cache = _open(options.cache)
    print(f"{'kind':<10}{'entries':>10}{'MB':>10}")
    for kind, row in cache.stats().items():
        megabytes = row["bytes"] / MEGABYTE
        print(f"{printable(kind, 20):<10}{row['entries']:>10}{megabytes:>10.2f}")
    copies = _copies(cache)
    if copies:
        megabytes = sum(size for _, size in copies) / MEGABYTE
        print(f"{COPIES:<10}{len(copies):>10}{megabytes:>10.2f}")
    _print_losses(cache)
    return 0


def _print_losses(cache: Cache) -> None:
    """Print what the loss of the cache would cost, in calls and in drawing, and where notes are."""
    from atlaskit.viz.widgets.explorer.notes import notes_folder  # loads the widgets

    paid = Counter[str]()
    drawn = Counter[str]()
    for name, row in cache.stats().items():
        is_image = name in kinds() and kinds()[name].is_image
        total = drawn if is_image else paid
        total.update({"entries": row["entries"], "bytes": row["bytes"]})
    print(f"replies, and facts of videos: {_size(paid)}; without them, replies are paid for again")
    print(f"frames and sheets: {_size(drawn)}; without them, they are drawn again from the video")
    print(f"notes are no cache, and no command removes them: {printable(str(notes_folder()))}")


def _size(total: Counter[str]) -> str:
    return f"{total['entries']:,} entries, {total['bytes'] / MEGABYTE:,.2f} MB"


def _verify(options: argparse.Namespace) -> int:
    cache = _open(options.cache)
    dropped = cache.verify()
    _print_counts("damaged and dropped", dropped)
    if not dropped:
        print(f"{sum(row['entries'] for row in cache.stats().values())} entries, none damaged")
    return 1 if dropped else 0


def _prune(options: argparse.Namespace) -> int:
    for name, value in (("--older-than", options.older_than), ("--to", options.to)):
        if value is not None and not 0 <= value < 1e12:
            raise InputError(f"{name} must be a number of at least 0; got {value}.")
    cache = _open(options.cache)
    if options.kind is None and options.older_than is None and options.to is None:
        removed = cache.prune(is_wanted=lambda key: not is_outdated(key))
    else:
        chosen = options.kind or [name for name, kind in kinds().items() if kind.is_image]
        older_than_s = DAY_S * (options.older_than or 0.0)
        to_bytes = None
        if options.to is not None:
            to_bytes = round(MEGABYTE * options.to)
        removed = cache.prune(
            kinds=set(chosen) - {COPIES},
            older_than_s=older_than_s,
            to_bytes=to_bytes,
        )
        if COPIES in chosen:
            removed |= _prune_copies(cache, older_than_s, to_bytes)
    for kind, (number, size) in removed.items():
        print(f"{number:>8} {printable(kind, 40) or NO_ENTRY} removed ({size / MEGABYTE:.2f} MB)")
    if not removed:
        print("nothing to remove")
    return 0


def _prune_copies(
    cache: Cache, older_than_s: float, to_bytes: int | None
) -> dict[str, tuple[int, int]]:
    """Remove the files of `_copies`, oldest first, as `Cache.prune` removes entries."""
    before_s = time.time() - older_than_s
    copies = [(path.stat().st_mtime, size, path) for path, size in _copies(cache)]
    left = sum(size for _, size, _ in copies)
    removed = list[int]()
    for made_s, size, path in sorted(copies):
        if made_s > before_s or (to_bytes is not None and left <= to_bytes):
            break
        path.unlink(missing_ok=True)
        removed.append(size)
        left -= size
    return {COPIES: (len(removed), sum(removed))} if removed else {}


def _export(options: argparse.Namespace) -> int:
    cache = _open(options.cache)
    packed = export(options.out, options.runs, made_since_s=options.since, cache=cache)
    _print_counts("packed", packed)
    megabytes = options.out.stat().st_size / MEGABYTE
    print(f"{printable(str(options.out))}: {megabytes:.2f} MB")
    return 0


def _import(options: argparse.Namespace) -> int:
    cache = Cache(options.cache)
    for recording in options.recordings:
        imported = import_(recording, cache=cache)
        print(f"{printable(str(recording))}: {sum(imported.values())} new entries")
        _print_counts("new", imported)
    return 0


def _moment_s(text: str) -> float:
    """Return an ISO 8601 time as seconds since the epoch; a time without a zone is local."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a time such as 2026-11-25T18:00"
        ) from error


def _copies(cache: Cache) -> list[tuple[Path, int]]:
    """Return the indexes of video files beside the entries of a cache, each with its size in bytes.

    An index may hold a copy of the video stream: see `COPIES`.
    """
    from atlaskit.video.readers.index import indexes_of  # loads PyAV

    return indexes_of(copies_folder(cache))


def _open(directory: Path) -> Cache:
    """Open an existing cache; opening a missing one would create it."""
    if not is_cache(directory):
        raise InputError(f"There is no cache in {directory}; name its directory with --cache.")
    return Cache(directory)


def _print_counts(outcome: str, counts: Mapping[str, int]) -> None:
    """Print the number of entries of each kind, and an outcome, such as "packed"."""
    for kind, number in sorted(counts.items()):
        print(f"{number:>8} {printable(kind, 40) or NO_ENTRY} {outcome}")
