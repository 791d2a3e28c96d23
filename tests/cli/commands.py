"""The commands of the command line, with their parsers."""

import argparse
from collections.abc import Iterator

from atlaskit.__main__ import _parser


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command that can be run: `ask`, `cache`, `cache stats`, …"""
    return dict(_inside(_parser(), ""))


def _inside(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    if parser.get_default("run") is not None:
        yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, each in action.choices.items():
                yield from _inside(each, f"{name} {word}".strip())
