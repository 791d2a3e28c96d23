"""`python -m atlaskit cache …`: what there is in a cache, whether it is whole, what can go, and carrying runs over."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import IMAGES, VERSIONS, is_outdated
from atlaskit.errors import InputError, printable
from atlaskit.runs.archive import export, import_

DAY_S = 86400.0
MEGABYTE = 1e6


def add_cache_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `cache` and what it does to the commands of the command line."""
    looking = commands.add_parser("cache", help="look after a cache, or carry runs from one to another")
    actions = looking.add_subparsers(required=True, metavar="action")

    telling = actions.add_parser("stats", help="say what there is")
    telling.set_defaults(run=_stats)

    verifying = actions.add_parser("verify", help="read all of it, and drop what is damaged")
    verifying.set_defaults(run=_verify)

    pruning = actions.add_parser(
        "prune",
        help="remove what older versions made; or images, oldest first",
        description="Without options, what was made by older versions of atlaskit is removed, since this one never "
        "looks for it. With options, images are; what was paid for goes only where its kind is named.",
    )
    pruning.set_defaults(run=_prune)
    pruning.add_argument("--kind", action="append", choices=sorted(VERSIONS), help="of this kind (all images)")
    pruning.add_argument("--older-than", type=float, metavar="DAYS", help="written longer ago than that")
    pruning.add_argument("--to", type=float, metavar="MB", help="oldest first, until no more than that is left in all")

    exporting = actions.add_parser("export", help="pack what runs need into one file")
    exporting.set_defaults(run=_export)
    exporting.add_argument("out", type=Path, help="a .zip file")
    exporting.add_argument(
        "--run", type=Path, nargs="+", dest="runs", metavar="FILE", help="saved results or traces (all that there is)"
    )
    exporting.add_argument("--images", action="store_true", help="with the pictures, too")

    importing = actions.add_parser("import", help="merge such files into the cache, after checking them")
    importing.set_defaults(run=_import)
    importing.add_argument("recordings", type=Path, nargs="+")

    for parser in (telling, verifying, pruning, exporting, importing):
        add_cache_option(parser)


def add_cache_option(parser: argparse._ActionsContainer) -> None:
    """Add the directory of its cache to what a command takes."""
    parser.add_argument("--cache", type=Path, default=Path("cache"), metavar="DIRECTORY")


def _stats(options: argparse.Namespace) -> int:
    cache = _opened(options.cache)
    print(f"{'kind':<10}{'entries':>10}{'MB':>10}{'corrupt':>10}{'evicted':>10}")
    for kind, row in cache.stats().items():
        megabytes = row["bytes"] / MEGABYTE
        print(f"{printable(kind, 9):<10}{row['entries']:>10}{megabytes:>10.2f}{row['corrupt']:>10}{row['evicted']:>10}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    cache = _opened(options.cache)
    dropped = cache.verify()
    _tell("damaged and dropped", ((kind, count, None) for kind, count in dropped.items()))
    if not dropped:
        print(f"{sum(row['entries'] for row in cache.stats().values())} entries, all whole")
    return 1 if dropped else 0


def _prune(options: argparse.Namespace) -> int:
    for name, value in (("--older-than", options.older_than), ("--to", options.to)):
        if value is not None and not 0 <= value < 1e12:
            raise InputError(f"{name} is a number from 0, got {value}.")
    cache = _opened(options.cache)
    if options.kind is None and options.older_than is None and options.to is None:
        removed = cache.prune(is_wanted=lambda key: not is_outdated(key))
    else:
        removed = cache.prune(
            kinds=set(options.kind or IMAGES),
            older_than_s=DAY_S * (options.older_than or 0.0),
            to_bytes=None if options.to is None else round(MEGABYTE * options.to),
        )
    _tell("removed", ((kind, count, size) for kind, (count, size) in removed.items()))
    if not removed:
        print("nothing to remove")
    return 0


def _export(options: argparse.Namespace) -> int:
    packed = export(options.out, options.runs, images=options.images, cache=_opened(options.cache))
    _tell("packed", _rows(packed))
    print(f"{options.out}: {options.out.stat().st_size / MEGABYTE:.2f} MB")
    return 0


def _import(options: argparse.Namespace) -> int:
    cache = Cache(options.cache)
    for recording in options.recordings:
        came = import_(recording, cache=cache)
        print(f"{recording}: {sum(came.values())} new entries")
        _tell("new", _rows(came))
    return 0


def _opened(directory: Path) -> Cache:
    """Open a cache that is there: to look at one that is not would make it."""
    if not any(directory.glob("entries*")):
        raise InputError(f"There is no cache {directory}: name its directory with --cache.")
    return Cache(directory)


def _rows(counts: Mapping[str, int]) -> Iterable[tuple[str, int, None]]:
    return ((kind, count, None) for kind, count in sorted(counts.items()))


def _tell(what: str, rows: Iterable[tuple[str, int, int | None]]) -> None:
    for kind, count, size in rows:
        megabytes = "" if size is None else f" ({size / MEGABYTE:.2f} MB)"
        print(f"{count:>8} {printable(kind, 40) or 'rows and files that are no entries'} {what}{megabytes}")
