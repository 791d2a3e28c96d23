"""Words of a command line: numbers that are read, and names of what a command writes.

A command that pays for model calls for an hour must not find at its end that the folder of its
result does not exist. So each output is declared by `add_output`, and `main` checks all of them
before it runs the command.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlaskit.caching.files import check_writable
from atlaskit.errors import InputError, printable, reason
from atlaskit.video.subtitles.text import checked_time


def count(text: str) -> int:
    """Return a word of the command line as a whole number from 1."""
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1; got {printable(text, 40)}"
        )
    return int(text)


def positive(text: str) -> float:
    """Return a word of the command line as a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0; got {printable(text, 40)}")
    return number


def part_of(text: str) -> tuple[int, int]:
    """Return a word of the command line such as 3/8, the third part of eight."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal()):
        raise argparse.ArgumentTypeError(
            f"must be such as 3/8, the third part of eight; got {printable(text, 40)}"
        )
    return int(number), int(of)


def seconds_of(text: str) -> float:
    """Return the seconds of a time as a person types it; for `argparse`."""
    try:
        return checked_time(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


IMAGES = (".jpg", ".jpeg", ".png")
TABLES = (".csv", ".parquet")


@dataclass(frozen=True)
class Output:
    """One option or argument that names a file, or a folder, to write."""

    option: str
    """As it is typed: `--save`, or the name of an argument."""
    dest: str
    suffixes: Sequence[str] = ()
    """What the name of the file ends in; empty for a folder."""
    makes_folder: bool = False
    """Whether a missing folder is created."""

    def check(self, path: Path) -> None:
        """Raise InputError unless the output can be written."""
        named = f"{self.option} {printable(str(path), 200)}"
        if self.suffixes and path.suffix.lower() not in self.suffixes:
            offered = " or ".join(suffix for suffix in self.suffixes if suffix != ".jpeg")
            raise InputError(
                f"{self.option} must end in {offered}; got {printable(str(path), 200)}."
            )
        try:
            if self.suffixes and path.is_dir():
                raise InputError(f"{named} is a folder: name a file in it.")
            if not self.suffixes and path.exists() and not path.is_dir():
                raise InputError(f"{named} is a file: name a folder.")
            folder = path.absolute().parent if self.suffixes else path.absolute()
            while self.makes_folder and not folder.exists():
                folder = folder.parent
            if not folder.is_dir():
                if not folder.exists():
                    what = "no such folder"
                else:
                    what = f"no folder {printable(str(folder), 200)}"
                raise InputError(f"{named} cannot be written: there is {what}.")
            check_writable(path if self.suffixes and path.parent.exists() else folder / "x")
        except (OSError, ValueError) as e:
            raise (
                e
                if isinstance(e, InputError)
                else InputError(f"{named} cannot be written: {reason(e)}.")
            ) from e


def add_output(
    parser: argparse._ActionsContainer,
    name: str,
    suffixes: Sequence[str] = (),
    *,
    makes_folder: bool = False,
    **more: Any,
) -> None:
    """Add an option or argument that names a file to write; a folder, if there are no suffixes.

    Args:
        parser: The parser, or a group of it.
        name: The option or argument.
        suffixes: What the name of the file ends in.
        makes_folder: Whether the command creates a missing folder.
        more: Arguments of `add_argument`.
    """
    action = parser.add_argument(name, type=Path, **more)
    output = Output(name, action.dest, suffixes, makes_folder or not suffixes)
    parser.set_defaults(outputs=(*(parser.get_default("outputs") or ()), output))


def check_outputs(options: argparse.Namespace) -> None:
    """Check every output that a command is to write.

    Raises:
        InputError: One of them has another suffix, is a folder, lies in a folder that is missing or
            not writable, or is the command's own video.
    """
    for output in getattr(options, "outputs", ()):
        path: Path | None = getattr(options, output.dest)
        if path is None:
            continue
        output.check(path)
        video = getattr(options, "video", None)
        if (
            isinstance(video, str)
            and path.is_file()
            and Path(video).is_file()
            and path.samefile(video)
        ):
            raise InputError(
                f"{output.option} {printable(str(path), 200)} is the video itself: name another "
                "file."
            )
