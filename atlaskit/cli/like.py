"""`--like CARD`: an evaluation as the card of another one says."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from atlaskit.agents.settings import Search
from atlaskit.caching.keys import read_json
from atlaskit.errors import reason

KEPT = (
    *("benchmark", "root", "where", "no_subtitles", "load", "hours", "seed", "first", "skip_bad"),
    *("method", "settings", "prices", "model", "dialect", "max_tokens", "thinking", "extra_body"),
    *("oracle", "confuse", "calls", "tokens", "usd", "seconds", "search", *(each.name for each in fields(Search))),
)
"""The options that move a score: what a card keeps of the command."""


def command_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a command that a card keeps, as JSON values."""
    given = {name: value for name in KEPT if (value := getattr(options, name, None)) not in (None, [], False)}
    return {name: str(value.absolute()) if isinstance(value, Path) else value for name, value in given.items()}


class Like(argparse.Action):
    """Takes options from a card; those that stand on the line win, before it or after it."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Path | str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Set the options that a card keeps."""
        try:
            command = read_json(Path(str(values)).read_bytes())["command"]
            kept = {name: command[name] for name in KEPT if name in command}
        except (OSError, ValueError, KeyError, TypeError) as error:
            parser.error(f"--like {values} is no card of `evaluate` ({reason(error)}): name a rows.csv.json")
        lists = [each.name for each in fields(Search) if isinstance(each.default, tuple)]
        namespace.like = kept  # argparse sets the dataset, where it is left out, to None after this
        for name, value in kept.items():
            if not hasattr(namespace, name) or getattr(namespace, name) == parser.get_default(name):
                setattr(namespace, name, Path(value) if name == "root" else tuple(value) if name in lists else value)
