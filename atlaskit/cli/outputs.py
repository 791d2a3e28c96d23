"""Parse the values of options, and check the outputs of a command before it runs.

A command that pays for model calls for an hour must not find at its end that the folder of its
result does not exist. So each output is declared by `add_output`, and `main` checks all of them
before it runs the command.
"""

from __future__ import annotations

import argparse
import math
import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlaskit.caching.files import check_writable
from atlaskit.errors import InputError, printable, reason
from atlaskit.video.subtitles.text import checked_time

if TYPE_CHECKING:
    import pandas as pd

IMAGES = (".jpg", ".jpeg", ".png")
TABLES = (".csv", ".parquet")
READ = {
    "video": "the video itself",
    "benchmark": "the table of questions itself",
    "what": "what is exported",
    "shards": "one of the shards",
}
"""What commands read, by the attribute of the parsed options that holds the path or the paths."""


def path_of(text: str) -> Path:
    """Parse a path, which must not be empty."""
    if not text:
        raise argparse.ArgumentTypeError("must name a file or a folder; got an empty text")
    return Path(text)


def count(text: str) -> int:
    """Parse a whole number from 1."""
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1; got {printable(text, 40)}"
        )
    return int(text)


def positive(text: str) -> float:
    """Parse a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0; got {printable(text, 40)}")
    return number


def part_of(text: str) -> tuple[int, int]:
    """Parse the number of a part, from 1, and the number of parts: 3/8 is the third of eight."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal()):
        raise argparse.ArgumentTypeError(
            f"must be such as 3/8, the third part of eight; got {printable(text, 40)}"
        )
    return int(number), int(of)


def seconds_of(text: str) -> float:
    """Parse a time such as 65, 1:05 or 1m5s, in seconds."""
    try:
        return checked_time(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def duration_of(text: str) -> float:
    """Parse a duration such as 65, 1:05 or 1m5s, in seconds; it must be above 0."""
    seconds = seconds_of(text)
    if not seconds:
        raise argparse.ArgumentTypeError(f"must be above 0 seconds; got {printable(text, 40)}")
    return seconds


@dataclass(frozen=True)
class Output:
    """One option or argument that names a file, or a folder, to write."""

    option: str
    """The option as it is typed, such as `--save`, or the name of an argument."""
    dest: str
    """The attribute of the parsed options that holds the path."""
    suffixes: Sequence[str] = ()
    """The endings that the name of the file may have; empty for a folder."""
    makes_folder: bool = False
    """Whether a missing folder is created."""

    def check(self, path: Path) -> None:
        """Raise InputError unless the output can be written."""
        shown = printable(str(path), 200)
        if self.suffixes and path.suffix.lower() not in self.suffixes:
            # .jpeg is accepted too, but .jpg suffices as advice.
            *others, last = (suffix for suffix in self.suffixes if suffix != ".jpeg")
            endings = f"{', '.join(others)} or {last}" if others else last
            raise InputError(f"{self.option} must end in {endings}; got {shown}.")
        try:
            self._check_place(path, f"{self.option} {shown}")
        except InputError:  # is a ValueError too
            raise
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.option} {shown} cannot be written: {reason(error)}."
            ) from error

    def _check_place(self, path: Path, subject: str) -> None:
        """Raise InputError or OSError unless the file can be created in its folder.

        Args:
            path: The file or folder to write.
            subject: The option and the path, which begin an error's sentence.
        """
        if self.suffixes and path.is_dir():
            raise InputError(f"{subject} is a folder: name a file in it.")
        if not self.suffixes and path.exists() and not path.is_dir():
            raise InputError(f"{subject} is a file: name a folder.")
        folder = path.absolute()
        if self.suffixes:
            folder = folder.parent
        # Missing folders will be created in the nearest one that exists.
        while self.makes_folder and not folder.exists():
            folder = folder.parent
        if not folder.exists():
            raise InputError(f"{subject} cannot be written: there is no such folder.")
        if not folder.is_dir():
            shown = printable(str(folder), 200)
            raise InputError(f"{subject} cannot be written: there is no folder {shown}.")
        if self.suffixes and path.parent.exists():
            check_writable(path)
        else:
            check_writable(folder / "x")  # a file of any name


def add_output(
    parser: argparse._ActionsContainer,
    name: str,
    suffixes: Sequence[str] = (),
    *,
    makes_folder: bool = False,
    **more: Any,
) -> None:
    """Add an option or argument that names a file to write, or a folder.

    Args:
        parser: The parser, or a group of it.
        name: The option or argument.
        suffixes: The endings that the name of the file may have; empty for a folder.
        makes_folder: Whether the command creates the missing folder of a file; a folder is always
            created.
        **more: Arguments of `add_argument`.
    """
    action = parser.add_argument(name, type=path_of, **more)
    output = Output(name, action.dest, suffixes, makes_folder or not suffixes)
    parser.set_defaults(outputs=(*(parser.get_default("outputs") or ()), output))


def check_outputs(options: argparse.Namespace) -> None:
    """Check every output that a command is to write.

    Raises:
        InputError: One of them has another suffix, is a folder, lies in a folder that is missing or
            not writable, is a file that the command reads, or is another output.
    """
    read = list[tuple[str, str]]()
    for dest, name in READ.items():
        paths = getattr(options, dest, None) or ()
        if isinstance(paths, str):
            paths = (paths,)
        read += [(str(path), name) for path in paths]
    written = list[tuple[str, Path]]()
    for output in getattr(options, "outputs", ()):
        path: Path | None = getattr(options, output.dest)
        if path is None:
            continue
        output.check(path)
        shown = f"{output.option} {printable(str(path), 200)}"
        for other, name in read:
            if _is_same_file(path, other):
                raise InputError(f"{shown} is {name}: name another file.")
        if not output.suffixes:
            continue  # several outputs may go into one folder
        for option, other_path in written:
            if _is_one_output(path, other_path):
                raise InputError(
                    f"{shown} is the file of {option} too, also where upper and lower case count "
                    "as equal: name another file."
                )
        written.append((output.option, path))


def _is_same_file(path: Path, other: str | Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):  # one is missing, or its name is too long or holds a null byte
        return False


def _is_one_output(path: Path, other: Path) -> bool:
    """Return whether two files to write are one file, on any file system."""
    names = set[str]()
    for each in (path, other):
        names.add(unicodedata.normalize("NFC", os.path.realpath(each)).casefold())
    return len(names) == 1 or _is_same_file(path, other)


def shown_table(table: pd.DataFrame, **how: Any) -> str:
    """Return a table as text for a terminal, without control characters from the cells.

    Args:
        table: The table.
        **how: Arguments of `DataFrame.to_string`.
    """
    return "\n".join(map(printable, table.to_string(**how).split("\n")))
