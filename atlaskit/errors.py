"""Every error the kit raises on purpose, as one tree.

    AtlasError
    ├── InputError       what the caller asked for cannot be: the sentence names the value and the rule
    │   └── IllegalAction    an action outside the legal set of a state
    ├── VideoError       a file that cannot be opened, or is not what it claims
    │   └── FrameError       one frame that cannot be decoded; other frames may be fine
    ├── SubtitleError    a subtitle file that cannot be read
    ├── CacheError       a cache directory that cannot be used, or a recording that cannot be read
    │   └── Unrecorded       a replay needs a reply that is not in the cache
    ├── ServerError      a model server that does not start
    └── ModelError       a model call that failed for good, retries included
        ├── Unreachable      nothing answers at the endpoint
        ├── Refused          the endpoint does not take the request, which may be too long for it
        └── BadReply         the model answered, but not what the schema asks for

and, for what can be lived with, warnings: DamagedVideo, CacheWarning.

Each message is one sentence for a person: what is wrong, which value, what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class AtlasError(Exception):
    """Base of every error raised on purpose."""


class InputError(AtlasError, ValueError):
    """A value the caller gave breaks a rule."""


class IllegalAction(InputError):
    """An action that is not in the legal set of the state it was applied to."""


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise InputError for what is not a whole number, of at least `least`."""
    if type(value) is not int or value < least:
        raise InputError(f"{name} is a whole number, at least {least}; got {value!r:.80}.")


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Return where the first fault of a validated value lies, its names joined by dots, and what it is."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return printable(".".join(map(str, first["loc"])), 80), str(first["msg"])


class VideoError(AtlasError):
    """A file that cannot be opened as a video."""


class FrameError(VideoError):
    """A frame that cannot be decoded.

    `is_lasting` says whether that lies in the file's content, so that trying again is of no use; otherwise the file
    could not be read just now.
    """

    def __init__(self, message: str, *, is_lasting: bool = True) -> None:
        super().__init__(message)
        self.is_lasting = is_lasting


class SubtitleError(AtlasError):
    """A subtitle file that cannot be read."""


class CacheError(AtlasError):
    """A cache directory or a recording that cannot be used."""


class Unrecorded(CacheError):
    """A replay that needs a reply which is not in the cache."""


class DamagedVideo(UserWarning):
    """A file that opens, and of which a part is missing."""


class CacheWarning(UserWarning):
    """What was lost out of a cache, or where it is kept instead."""


def reason(error: BaseException) -> str:
    """Return another library's error as a few words, to be told in a sentence of ours."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def printable(text: str, most: int | None = None) -> str:
    """Return a text that a terminal only shows: escape sequences and line breaks of a stranger become a sign each."""
    cut = text if most is None or len(text) <= most else f"{text[:most]}…"
    return "".join(letter if letter.isprintable() else "�" for letter in cut)
