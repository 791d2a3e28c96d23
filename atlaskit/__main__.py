"""The command line: `atlaskit ask|evaluate|explore|transcribe|view|frame|serve|mcp|cache|…`.

A mistake in the input ends in one sentence on stderr and a non-zero exit status, never in a
traceback.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from atlaskit import __version__
from atlaskit.cli.ask import add_ask_command
from atlaskit.cli.cache import add_cache_commands
from atlaskit.cli.evaluate import add_evaluate_command
from atlaskit.cli.explore import add_explore_command
from atlaskit.cli.export import add_export_command
from atlaskit.cli.mcp import add_mcp_command
from atlaskit.cli.model import joined_words
from atlaskit.cli.outputs import check_outputs
from atlaskit.cli.paper import add_paper_command
from atlaskit.cli.run import add_run_command
from atlaskit.cli.serve import add_serve_command
from atlaskit.cli.tables import add_tables_commands
from atlaskit.cli.transcribe import add_transcribe_command
from atlaskit.cli.view import add_view_commands
from atlaskit.errors import AtlasError, Interrupted, printable

COMMANDS: tuple[Callable[[Any], None], ...] = (
    add_ask_command,
    add_evaluate_command,
    add_tables_commands,
    add_explore_command,
    add_export_command,
    add_transcribe_command,
    add_view_commands,
    add_serve_command,
    add_mcp_command,
    add_cache_commands,
    add_run_command,
    add_paper_command,
)
"""What adds each command, in the order of --help."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit status: 0 done, 1 no answer, 2 an error that the message explains, 130 interrupted.
    """
    options = _parser().parse_args(joined_words(sys.argv[1:] if arguments is None else arguments))
    warnings.showwarning = _print_warning
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        check_outputs(options)
        return run(options)
    except AtlasError as error:
        print(f"atlaskit: {_shown(error)}", file=sys.stderr)
        return 2
    except Interrupted as interrupt:
        print(f"atlaskit: {interrupt}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("atlaskit: interrupted; replies are cached, so the same command continues from there.", file=sys.stderr)
        return 130


def _print_warning(message: Warning | str, *where: object, **more: object) -> None:
    """Print a warning on one line, without its location in the code."""
    print(f"atlaskit: {_shown(message)}", file=sys.stderr)


def _shown(message: object) -> str:
    """Return a message as a terminal only displays it: names of files in it are a stranger's."""
    return "\n".join(map(printable, str(message).splitlines()))


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, and that keeps the lines of examples."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the arguments, and exit with status 2."""
        self.exit(2, f"atlaskit: {_shown(message.rstrip('.'))}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    about = "Ask a vision-language model about long videos by searching contact sheets."
    parser = _Parser(prog="atlaskit", description=about)
    parser.set_defaults(server_version=__version__)
    parser.add_argument("--version", action="version", version=f"atlaskit {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    for add_command in COMMANDS:
        add_command(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
