"""`Draft`: a question as it stands in the page, and the line of code that asks it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any, TypeGuard

from atlaskit.environment.question import Question, Span, as_question
from atlaskit.errors import InputError

MAX_CHARS, MAX_CHOICES, LAST_S = 10_000, 200, 1e12
"""Most characters of the question and of a choice, most choices, and the last second of all."""


@dataclass(frozen=True)
class Draft:
    """What a person has typed: a question, its choices if it has any, and where to look."""

    text: str
    choices: tuple[str, ...] = ()
    within: Span | None = None
    """The interval of the video that is searched, in seconds; None for the whole video."""

    @classmethod
    def from_json(cls, message: dict[str, Any], duration_s: float) -> Draft:
        """Return the draft that a page sent.

        Args:
            message: What the page sent.
            duration_s: Duration of the video in seconds.

        Raises:
            InputError: The message is not of this form, or its interval not in the video.
        """
        match message:
            case {"question": str(text), "choices": [*choices], "within": None | [_, _] as within}:
                if all(isinstance(choice, str) for choice in choices) and len(choices) <= MAX_CHOICES:
                    lines = tuple(choice[:MAX_CHARS].strip() for choice in choices)
                    span = None if within is None else checked_span(within, duration_s)
                    return cls(text[:MAX_CHARS].strip(), tuple(filter(None, lines)), span)
        raise InputError(
            f"A question of the page needs a text, at most {MAX_CHOICES} choices, and an interval or null; "
            f"got {message!r:.120}."
        )

    def check(self) -> Question:
        """Return the question; raise InputError if it has no text, or one choice alone."""
        return as_question(self.text, self.choices or None, None)

    def line(self, video: str, vlm: str) -> str:
        """Return the line of code that asks this.

        Args:
            video: The expression for the video.
            vlm: The expression for the model.
        """
        arguments = [
            video,
            repr(self.text),
            *([f"choices={[*self.choices]!r}"] if self.choices else []),
            *([f"within={self.within!r}"] if self.within else []),
            f"vlm={vlm}",
            "show=True",
        ]
        return f"result = ak.ask({', '.join(arguments)})"

    def command(self, video: str, options: list[str]) -> str:
        """Return the shell's line that asks this.

        Args:
            video: The video's file.
            options: The command's options for it, the one that names the model last.
        """
        choices = [word for choice in self.choices for word in ("--choice", choice)]
        within = [] if self.within is None else ["--within", *map(str, self.within)]
        words = ["atlaskit", "ask", video, self.text, *choices, *within, *options]
        if self.text.startswith("-"):  # it must not be taken for an option
            words = [*words[:3], *words[4:], "--", self.text]
        return shlex.join(words)


def is_time(value: object) -> TypeGuard[float]:
    """Tell whether a value that a page or a file gives is a number of seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LAST_S


def checked_span(within: object, duration_s: float) -> Span:
    """Return an interval that a page sent, in whole milliseconds, cut to the video."""
    if isinstance(within, list) and len(within) == 2 and all(map(is_time, within)):
        start_s, end_s = (min(max(0.0, round(float(time_s), 3)), duration_s) for time_s in within)
        if start_s < end_s:
            return start_s, end_s
    raise InputError(f"An interval needs a start before its end, both in the video, in seconds; got {within!r:.80}.")
