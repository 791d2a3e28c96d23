"""The command line: `python -m atlaskit ask|evaluate|view|frame|serve|run|cache`.

A mistake of the user's is one sentence on stderr and a non-zero exit, never a traceback.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence

from atlaskit import __version__
from atlaskit.cli.ask import add_ask_command
from atlaskit.cli.cache import add_cache_commands
from atlaskit.cli.evaluate import add_evaluate_command
from atlaskit.cli.experiments import add_experiments_command, add_run_command
from atlaskit.cli.serve import add_serve_command
from atlaskit.cli.view import add_view_commands
from atlaskit.errors import AtlasError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status: 0 done, 1 no answer, 2 a mistake that the message names."""
    options = _parser().parse_args(arguments)
    warnings.showwarning = _say
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except AtlasError as error:
        print(f"atlaskit: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "atlaskit: stopped; what was answered is cached, so the same command continues from there.", file=sys.stderr
        )
        return 130


def _say(message: Warning | str, *where: object, **more: object) -> None:
    """Tell of a warning in a line of its own, without the place in the code that it comes from."""
    print(f"atlaskit: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atlaskit", description="A long video as a map for a vision-language model.")
    parser.add_argument("--version", action="version", version=f"atlaskit {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    add_ask_command(commands)
    add_evaluate_command(commands)

    add_view_commands(commands)
    add_serve_command(commands)
    add_cache_commands(commands)
    add_experiments_command(commands)
    add_run_command(commands)

    return parser


if __name__ == "__main__":
    sys.exit(main())
