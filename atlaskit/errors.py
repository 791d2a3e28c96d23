"""The errors that atlaskit raises on purpose, as one tree, and functions for their messages.

    AtlasError
    ├── InputError            a value from the caller breaks a rule
    │   └── IllegalAction     an action is not in the legal set of the state
    ├── VideoError            a file cannot be opened as a video
    │   └── FrameError        one frame cannot be decoded; other frames may be intact
    ├── SubtitleError         a subtitle file cannot be read
    ├── CacheError            a cache directory or a recording cannot be used
    │   ├── Unrecorded        a replay needs a reply that is not in the cache
    │   └── Forked            a forked process uses a cache of its parent [caching.folder]
    ├── ServerError           a model server cannot be started, or has died [models.protocol]
    ├── ModelError            a model call failed, retries included [models.protocol]
    │   ├── Unreachable       nothing answers at the endpoint [models.protocol]
    │   ├── Refused           the endpoint rejects the request [models.protocol]
    │   └── BadReply          the reply does not fit the schema [models.protocol]
    ├── EvaluationStopped     the model refuses all questions alike [evaluation.runner]
    └── NotebookError         a notebook fails when it runs headless [experiments.notebook]

A class is defined in this module unless the tree names another module of atlaskit in brackets.
Conditions under which atlaskit can go on are warnings: DamagedVideo, SubtitleWarning,
SpeechWarning, ModelWarning, CacheWarning. A run that a person interrupts raises Interrupted, a
KeyboardInterrupt.

A message states the rule, the value received, and what to do, in one or two sentences.
"""

from __future__ import annotations

import math
import re
import shlex
import sys
from numbers import Real
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class _Message(Exception):
    """A message that may quote untrusted text; unprintable characters are replaced."""

    def __str__(self) -> str:
        return "\n".join(map(printable, super().__str__().split("\n")))


class AtlasError(_Message):
    """Base class of all errors that atlaskit raises on purpose.

    Examples:
        >>> try:
        ...     ak.view(video, k=1)
        ... except ak.AtlasError as error:
        ...     print(error)
        A grid needs at least 2×2 cells; got K = 1.
    """


class InputError(AtlasError, ValueError):
    """A value from the caller breaks a rule."""


class IllegalAction(InputError):
    """The action is not in the legal set of the state to which it was applied."""


class VideoError(AtlasError):
    """The file cannot be opened as a video."""


class FrameError(VideoError):
    """A frame cannot be decoded.

    Attributes:
        is_lasting: True if the content of the file is the cause, so that a retry is useless. False
            if the file could not be read this time.
    """

    def __init__(self, message: str, *, is_lasting: bool = True) -> None:
        super().__init__(message)
        self.is_lasting = is_lasting


class SubtitleError(AtlasError):
    """A subtitle file cannot be read."""


class CacheError(AtlasError):
    """A cache directory or a recording cannot be used."""


class Unrecorded(CacheError):
    """A replay needs a reply that is not in the cache."""


class Interrupted(KeyboardInterrupt):
    """A person has interrupted a run; the message says how many replies are kept."""

    def _render_traceback_(self) -> list[str]:
        """Return the text that a notebook shows in place of a traceback: the message alone."""
        return [str(self)]


class DamagedVideo(_Message, UserWarning):
    """A file opens as a video, but part of it is missing."""


class SubtitleWarning(_Message, UserWarning):
    """Lines of a track are not shown, or not at the time that their source gives."""


class SpeechWarning(_Message, UserWarning):
    """Something that a speech model may have heard is not among the lines of a video."""


class ModelWarning(_Message, UserWarning):
    """A model or its server is not what was asked for, or does not suit the video."""


class CacheWarning(_Message, UserWarning):
    """The cache lost entries, or stores them elsewhere than the caller asked."""


def missing(feature: str, *requirements: str) -> str:
    """Return the sentence that names missing packages and the command that installs them.

    Args:
        feature: The part of atlaskit that needs the packages.
        *requirements: The packages, as pip takes them: "gymnasium>=1.0".
    """
    names = " and ".join(re.split("[<>=]", requirement)[0] for requirement in requirements)
    command = shlex.join([sys.executable, "-m", "pip", "install", *requirements])
    return f"{feature} needs {names}, which this Python does not have. To install: {command}"


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise InputError unless a value is an integer, not a bool, and at least `least`."""
    if type(value) is not int or value < least:
        raise InputError(f"{name} is a whole number, at least {least}; got {value!r:.80}.")


def check_flags(**values: object) -> None:
    """Raise InputError for the first value that is not a bool."""
    for name, value in values.items():
        if not isinstance(value, bool):
            raise InputError(f"{name} is True or False; got {value!r:.80}.")


def check_positive(**values: float | None) -> None:
    """Raise InputError for the first value that is not a positive number; None is allowed."""
    for name, value in values.items():
        if value is not None and not (isinstance(value, Real) and 0 < value < math.inf):
            raise InputError(f"{name} must be a positive number; got {value!r:.80}.")


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Return the path and the message of the first failed validation.

    Returns:
        The names of the nested fields, joined by dots, and pydantic's message.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return printable(".".join(map(str, first["loc"])), 80), str(first["msg"])


def reason(error: BaseException) -> str:
    """Return the short text of another library's error, to quote it in a message of atlaskit."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def printable(text: str, most: int | None = None) -> str:
    """Return untrusted text so that a terminal only displays it.

    Each unprintable character, such as an escape sequence or a line break, becomes "�".

    Args:
        text: The text.
        most: Maximum number of characters, after which "…" replaces the rest. None means no limit.
    """
    cut = text if most is None or len(text) <= most else f"{text[:most]}…"
    return "".join(character if character.isprintable() else "�" for character in cut)
