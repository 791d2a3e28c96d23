"""`Passage`: a stretch of a video with its text. Every export has passages as rows.

A result, the rows of an evaluation and the explorer's notes become passages, each format writes
passages, and each reader returns them. This module knows nothing of runs and of formats.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeGuard, get_args
from urllib.parse import unquote, urlsplit

from atlaskit import limits
from atlaskit.caching.keys import read_json
from atlaskit.environment.grid import interval
from atlaskit.environment.question import Question, Span
from atlaskit.errors import InputError, printable
from atlaskit.video.collection import Collection
from atlaskit.video.video import Video

Videos = Mapping[str, Video]
"""The videos that are known, by name."""
PassageKind = Literal["answer", "evidence", "truth", "note"]
"""A run's answer, a frame that supports it, the truth, or a person's note."""
KINDS: tuple[PassageKind, ...] = get_args(PassageKind)
LAST_S = 1e7
"""The latest time in seconds that a passage may have: 115 days."""
MAX_PASSAGES = 100_000
"""The most passages in a file."""
MAX_FPS = 100_000
"""The most frames per second that a passage may have."""
LABEL_CHARS = 200
"""The most characters of a label, and of a video's name."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029]")
"""Characters that XML cannot hold, or that end a line in some programs and not in others."""
_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")


def of_films(passages: Sequence[Passage], videos: Videos) -> tuple[list[Passage], dict[str, Video]]:
    """Return passages of collections as passages of films, with times from each film's start.

    Other programs know files, not collections. A passage over two films becomes two passages; one
    without a stretch (`is_whole`) stays a passage of the collection.

    Args:
        passages: The passages.
        videos: The videos that they name, by their names.

    Returns:
        The passages, and the videos with the films of collections by their names.
    """
    known = dict(videos)
    found = list[Passage]()
    for passage in passages:
        video = videos.get(passage.video)
        if not isinstance(video, Collection) or passage.is_whole:
            found.append(passage)
            continue
        parts = dict(zip(video.films, video.parts, strict=True))
        for film in video.films_in(passage.start_s, passage.end_s):
            name = one_line(film.name)
            known[name] = parts[film]
            start_s = max(passage.start_s, film.start_s) - film.start_s
            end_s = min(passage.end_s, film.end_s) - film.start_s
            at_s = None if passage.at_s is None else passage.at_s - film.start_s
            if at_s is not None and not start_s <= at_s <= end_s:
                at_s = None
            found.append(
                replace(
                    passage,
                    start_s=start_s,
                    end_s=max(start_s, end_s),
                    at_s=at_s,
                    video=name,
                    fps=parts[film].fps,
                )
            )
    return found, known


def clean(text: str) -> str:
    """Return a text that every format can hold: line ends are `\\n`, other controls are U+FFFD."""
    return _CONTROL.sub("\ufffd", _LINE_END.sub("\n", text))


def one_line(text: str, most: int = LABEL_CHARS) -> str:
    """Return a text as one line of at most `most` characters."""
    return " ".join(clean(text).split())[:most].rstrip()


@dataclass(frozen=True)
class Passage:
    """A stretch `[start_s, end_s)` of a video, with its text.

    A passage that ends where it starts is a moment. Line ends of the text become `\\n`, and control
    characters U+FFFD; a label and a name are one line.

    Raises:
        InputError: The passage ends before it starts, the kind is unknown, the confidence is not
            in [0, 1], or another field has an invalid value.

    Examples:
        >>> ak.Passage(12.5, 14.0, "a red fox", label="fox").kind
        'note'
    """

    start_s: float
    end_s: float
    text: str = ""
    kind: PassageKind = "note"
    label: str = ""
    """A word or two: an evidence frame's letter, a note's tag, a code from qualitative coding."""
    confidence: float | None = None
    """The model's confidence, in [0, 1]; None if unknown."""
    question: str = ""
    """The question that was asked; empty for a note."""
    video: str = ""
    """The name of the video."""
    fps: float | None = None
    """Frames per second of the video, for the formats that count frames."""
    at_s: float | None = None
    """The second of the frame that was seen, for evidence."""
    is_whole: bool = False
    """Whether the passage covers all that was searched, as an answer in words without a stretch
    does. Formats for film editors leave such passages out."""

    def __post_init__(self) -> None:
        for name in ("start_s", "end_s"):
            object.__setattr__(self, name, _seconds(name, getattr(self, name)))
        if self.end_s < self.start_s:
            raise InputError(
                f"A passage ends where it starts or later; got {self.start_s} to {self.end_s} s."
            )
        if self.kind not in KINDS:
            raise InputError(
                f"The kind of a passage is one of {', '.join(KINDS)}; got {self.kind!r:.80}."
            )
        if self.confidence is not None and not (
            _is_number(self.confidence) and 0 <= self.confidence <= 1
        ):
            raise InputError(f"A confidence lies in [0, 1]; got {self.confidence!r:.80}.")
        if self.fps is not None and not (_is_number(self.fps) and 0 < self.fps <= MAX_FPS):
            raise InputError(f"fps is a positive number; got {self.fps!r:.80}.")
        if self.at_s is not None:
            object.__setattr__(self, "at_s", _seconds("at_s", self.at_s))
        for name in ("text", "label", "question", "video"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise InputError(f"The {name} of a passage is a text; got {value!r:.80}.")
            if name in ("label", "video"):
                cleaned = one_line(value)
            else:
                cleaned = clean(value[: limits.ROW_TEXT])
            object.__setattr__(self, name, cleaned)

    def __repr__(self) -> str:
        label = f" {printable(self.label, 40)}" if self.label else ""
        where = "all" if self.is_whole else interval(self.start_s, self.end_s)
        return f"<{self.kind}{label}, {where}: {printable(self.text, 80)!r}>"

    @property
    def words(self) -> str:
        """Label and text as one text: "goal: the second one"."""
        return ": ".join(filter(None, (self.label, self.text)))

    def to_json(self) -> dict[str, Any]:
        """Return times, text and kind, and all other fields that differ from their defaults."""
        row = {"start_s": self.start_s, "end_s": self.end_s, "text": self.text, "kind": self.kind}
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name not in row and value is not each.default and value != "":
                row[each.name] = value
        return row

    @classmethod
    def from_json(cls, value: object) -> Passage:
        """Return the passage that `to_json` wrote; unknown fields are ignored.

        Raises:
            InputError: A field is missing, or breaks a rule.
        """
        if not isinstance(value, dict) or not {"start_s", "end_s"} <= value.keys():
            raise InputError(f"A passage has start_s and end_s; got {value!r:.120}.")
        names = {each.name for each in fields(cls)}
        return cls(**{name: given for name, given in value.items() if name in names})


def question_of(passages: Iterable[Passage], text: str, *, label: str | None = None) -> Question:
    """Return a question of kind "when" whose true answer is where the passages lie.

    So events that people coded in another program can be the truth of a run or of a dataset.

    Args:
        passages: What `read_passages` returned.
        text: The question.
        label: Take only the passages with this label, whatever its case; None for all.

    Raises:
        InputError: No passage with a length has the label.

    Examples:
        >>> seen = [ak.Passage(60, 80, label="fox"), ak.Passage(90, 95, label="owl")]
        >>> ak.question_of(seen, "When is a fox in the picture?", label="Fox").answer
        ((60.0, 80.0),)
    """
    wanted = None if label is None else one_line(label).casefold()
    labels = set[str]()
    spans_s = set[Span]()
    for each in passages:
        labels.add(each.label)
        has_length = each.start_s < each.end_s and not each.is_whole
        if has_length and wanted in (None, each.label.casefold()):
            spans_s.add((each.start_s, each.end_s))
    if not spans_s:
        known = ", ".join(sorted(labels - {""})[:10]) or "none"
        raise InputError(
            f"No passage of some length has the label {label!r}; the labels are: {known}."
        )
    return Question(text, kind="when", answer=tuple(sorted(spans_s)), several=True)


def as_kind(name: object) -> PassageKind:
    """Return a value if it names a kind, and "note" for any other."""
    return next((kind for kind in KINDS if kind == name), "note")


def videos_of(passages: Sequence[Passage]) -> list[str]:
    """Return the names of the videos that some passages are about, in order."""
    return list(dict.fromkeys(each.video for each in passages))


def path_of(video: Video | None) -> Path | None:
    """Return the file of a video, if it is one file."""
    return getattr(video, "path", None)


def file_name(path: str) -> str:
    """Return the last part of a path with slashes or backslashes."""
    return path.replace("\\", "/").rpartition("/")[2]


def name_in_url(url: str) -> str:
    """Return the name of the file that a URL, or a path, leads to."""
    try:
        path = urlsplit(url).path
    except ValueError:  # not a valid URL
        path = url
    return file_name(unquote(path))


def json_value(text: str) -> Any:
    """Return the value of a JSON text; raise InputError if it is none."""
    try:
        return read_json(text)
    except ValueError as error:
        raise InputError(f"it is no JSON ({error}).") from error


def _is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number, and no bool."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -math.inf < value < math.inf


def _seconds(name: str, value: object) -> float:
    if not _is_number(value) or not 0 <= value <= LAST_S:
        raise InputError(
            f"{name} is a number of seconds from 0 to {LAST_S:,.0f}; got {value!r:.80}."
        )
    return float(value)
