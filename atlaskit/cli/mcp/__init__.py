"""`atlaskit mcp`: offer a video's grids as tools to assistants (Model Context Protocol)."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.cli.cache import add_cache_option
from atlaskit.cli.mcp.session import Folders
from atlaskit.cli.model import (
    add_model_options,
    add_search_options,
    changes_of,
    named_model,
    search_of,
)
from atlaskit.cli.outputs import count, duration_of, path_of
from atlaskit.environment.grid import Grid
from atlaskit.environment.tiles import Look
from atlaskit.errors import InputError, missing
from atlaskit.video.video import SAMPLINGS

CELL_PX = 192
"""Longer side of a cell: a row of eight is about as wide as assistants show an image."""
SKILL = Path(__file__).with_name("SKILL.md")
"""Instructions for an assistant that can run the commands in a shell."""
OF_VIEWS = ("k", "cell", "sampling")
"""Options for the grids that the assistant sees. The model of `ask` sees grids that suit it."""
EXAMPLES = """examples:
  atlaskit mcp --root ~/Videos
  atlaskit mcp --root ~/Videos --model http://localhost:8000/v1 Qwen/Qwen3-VL-8B-Instruct \\
    --calls 100"""


def add_mcp_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `mcp` subcommand to the parser.

    The server states the version that the parser's defaults hold as `server_version`.
    """
    parser = commands.add_parser(
        "mcp",
        description=(
            "Serve tools to an assistant (Claude Desktop, VS Code, …) on standard input and "
            "output, by the Model\nContext Protocol: open_video, view, expand, backtrack, zoom, "
            "investigate and, with --model, ask.\nThe assistant starts this command; "
            "docs/assistants.md shows what to write into its settings."
        ),
        epilog=EXAMPLES,
    )
    parser.set_defaults(run=_mcp)
    parser.add_argument(
        "--root",
        action="append",
        type=path_of,
        metavar="FOLDER",
        help=(
            "a folder whose files the assistant may open; may be repeated (default: the current "
            "folder)"
        ),
    )
    parser.add_argument(
        "--skill",
        action="store_true",
        help="print a SKILL.md for assistants that have a shell, and serve nothing",
    )
    add_model_options(parser, "none; then the tool ask is missing")
    parser.add_argument(
        "--calls",
        type=count,
        default=200,
        metavar="N",
        help="the most model calls that one question may take (default 200)",
    )
    parser.add_argument(
        "--seconds",
        type=duration_of,
        metavar="N",
        help="the most seconds that one question may take (default: no limit)",
    )
    parser.add_argument(
        "--k",
        type=count,
        default=8,
        metavar="N",
        help="a grid has K×K cells, each with one frame (default 8)",
    )
    parser.add_argument(
        "--cell",
        type=count,
        default=CELL_PX,
        metavar="PIXELS",
        help=f"longer side of a cell in pixels (default {CELL_PX})",
    )
    parser.add_argument(
        "--sampling",
        choices=SAMPLINGS,
        default="midpoint",
        help="which frame represents a cell (default midpoint)",
    )
    add_search_options(parser, without=OF_VIEWS)
    add_cache_option(parser)


def _mcp(options: argparse.Namespace) -> int:
    if options.skill:
        print(SKILL.read_text(encoding="utf-8"), end="")
        return 0
    try:
        from atlaskit.cli.mcp.server import Settings, build_server
    except ImportError as error:  # the SDK is missing or too old
        if (error.name or "").split(".")[0] not in ("anyio", "mcp", "mcp_types"):
            raise
        raise InputError(missing("atlaskit mcp", "mcp>=2,<3")) from error
    changes = changes_of(options)
    for name in OF_VIEWS:
        changes.pop(name, None)
    # Raise the error for a wrong --k or --cell now, not when an assistant asks for an image.
    Grid(0.0, 1.0, options.k)
    Look(options.cell, "native").check(options.k)
    settings = Settings(
        folders=Folders(options.root or [Path.cwd()]),
        cache=Cache(options.cache),
        k=options.k,
        cell=options.cell,
        sampling=options.sampling,
        model=named_model(options),
        budget=Budget(calls=options.calls, seconds=options.seconds),
        search=partial(search_of, options, changes=changes),
    )
    build_server(settings, options.server_version).run("stdio")
    return 0
