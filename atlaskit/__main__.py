"""The command line: `atlaskit ask|evaluate|explore|transcribe|view|frame|serve|mcp|cache|…`.

A mistake in the input ends in one sentence on stderr and a non-zero exit status, never in a
traceback.
"""

from __future__ import annotations

import argparse
import errno
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from atlaskit import __version__
from atlaskit.errors import AtlasError, Interrupted, printable

COMMANDS = {
    "ask": (
        "ask:add_ask_command",
        "ask a question about a video",
    ),
    "demo": (
        "demo:add_demo_command",
        "make a film, ask a question about it, and show how the answer was found; needs no model",
    ),
    "evaluate": (
        "evaluate:add_evaluate_command",
        "run a method on your own questions, or on a benchmark, and write the table of results",
    ),
    "merge": (
        "tables:add_tables_commands",
        "join the tables of the shards of an evaluation",
    ),
    "compare": (
        "tables:add_tables_commands",
        "compare the scores and the settings of two tables of `evaluate`",
    ),
    "explore": (
        "explore:add_explore_command",
        "explore a video in a browser: grids that open into finer ones, down to frames",
    ),
    "browse": (
        "explore:add_explore_command",
        "read a table of `evaluate` in a browser; with its --traces FOLDER, each row opens its run",
    ),
    "export": (
        "export:add_export_command",
        "write results, tables and notes as files for film editors and annotation programs",
    ),
    "transcribe": (
        "transcribe:add_transcribe_command",
        "write the subtitles of a video from its sound, by a speech model",
    ),
    "view": (
        "view:add_view_commands",
        "write a contact sheet of a video, or of a part of it, to an image file",
    ),
    "frame": (
        "view:add_view_commands",
        "write the frame shown at a time to an image file",
    ),
    "serve": (
        "serve:add_serve_command",
        "serve a model with vLLM on this machine until Ctrl-C, or stop a server that runs",
    ),
    "mcp": (
        "mcp:add_mcp_command",
        "let an assistant look into videos, by the Model Context Protocol",
    ),
    "cache": (
        "cache:add_cache_commands",
        "say where the cache is; inspect, verify and prune it; export runs and import recordings",
    ),
    "run": (
        "run:add_run_command",
        "run notebooks without a browser and write a page with their results",
    ),
    "paper": (
        "paper:add_paper_command",
        "re-run the paper's tables and figures on LongVideoBench or Video-MME",
    ),
}
"""By command, in the order of --help: the function in `atlaskit.cli` that adds the command, and the
purpose of the command. The module is imported when the command is run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit status: 0 done, 1 no answer, 2 an error that the message explains, 130 interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    command = next((word for word in words if not word.startswith("-")), "")
    parser = _parser([command])
    if command not in COMMANDS:
        parser.parse_args(words)  # prints the help or the error, and exits
    from atlaskit.cli.model import joined_words
    from atlaskit.cli.outputs import check_outputs

    options = parser.parse_args(joined_words(words))
    warnings.showwarning = _print_warning
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        check_outputs(options)
        status = run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of the output, such as `head`, has stopped reading
        sys.stdout = None  # otherwise Python flushes it again at exit, which fails again
        return 1
    except AtlasError as error:
        print(f"atlaskit: {_shown(error)}", file=sys.stderr)
        return 2
    except OSError as error:
        told = _told(error)
        if not told:
            raise
        if error.errno == errno.ENOSPC:
            sys.stdout = None  # as above
        print(f"atlaskit: {told}", file=sys.stderr)
        return 2
    except Interrupted as interrupt:
        print(f"atlaskit: {interrupt}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print(
            "atlaskit: interrupted; replies are cached, so the same command continues from there.",
            file=sys.stderr,
        )
        return 130


def _told(error: OSError) -> str:
    """Return the sentence about an error of the system; "" if only a traceback explains it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full: make room, and run the command again."
    if error.errno == errno.ENAMETOOLONG:
        return f"no file has so long a name as {printable(str(error.filename), 80)!r}."
    if error.errno == errno.ENOENT and error.filename is None:  # by `getcwd`
        return "the current folder was removed: run the command in another one."
    return ""


def _print_warning(message: Warning | str, *where: object, **more: object) -> None:
    """Print a warning on one line, without its location in the code."""
    print(f"atlaskit: {_shown(message)}", file=sys.stderr)


def _shown(message: object) -> str:
    """Return a message without unprintable characters, which names of files may contain."""
    return "\n".join(map(printable, str(message).splitlines()))


MISSING = "the following arguments are required: "
"""Beginning of argparse's message about arguments that are not there."""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence and whose help keeps the line breaks of examples."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def format_help(self) -> str:
        """Return the help, with a usage line of positional arguments and required options alone."""
        words = ["%(prog)s [options]"]
        for action in self._actions:
            name = action.metavar or action.dest
            if action.option_strings and action.required:
                words.append(f"{action.option_strings[0]} {name}")
            elif not action.option_strings:
                subcommand = f"{name} ..." if action.required else f"[{name} ...]"
                forms = {
                    argparse.OPTIONAL: f"[{name}]",
                    argparse.ZERO_OR_MORE: f"[{name} ...]",
                    argparse.ONE_OR_MORE: f"{name} ...",
                    argparse.PARSER: subcommand,
                }
                words.append(forms.get(str(action.nargs), str(name)))
        self.usage = " ".join(words)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print the error in the arguments, and exit with status 2."""
        is_greedy = any(each.option_strings and each.nargs == "+" for each in self._actions)
        if is_greedy and message.startswith(MISSING) and "--" not in message:
            message += (
                " (write arguments first: options such as --model take all words that follow)"
            )
        self.exit(2, f"atlaskit: {_shown(message.rstrip('.'))}; see {self.prog} --help\n")


def _parser(wanted: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Args:
        wanted: The commands whose arguments are added. Of the others, only the purpose is added,
            for --help.
    """
    about = "Ask a vision-language model about long videos by searching contact sheets."
    parser = _Parser(prog="atlaskit", description=about)
    parser.set_defaults(server_version=__version__)  # the version that `atlaskit mcp` states
    parser.add_argument("--version", action="version", version=f"atlaskit {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    for place in dict.fromkeys(COMMANDS[name][0] for name in wanted if name in COMMANDS):
        module, _, add = place.partition(":")
        getattr(import_module(f"atlaskit.cli.{module}"), add)(commands)
    for name, (_, purpose) in COMMANDS.items():
        if name not in commands.choices:
            commands.add_parser(name, help=purpose)
    return parser


if __name__ == "__main__":
    sys.exit(main())
