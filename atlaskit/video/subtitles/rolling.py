"""Recognises rolling captions, and keeps each of their words once.

YouTube's automatic captions and those of live television show a line while it is spoken, and again
above the next line, often with a copy in between that lasts a hundredth of a second. Unchanged,
they would repeat every word two or three times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from atlaskit.video.subtitles.track import Line, Subtitles

ECHO_S = 0.05
"""A line without new words that lasts no longer than this is a copy (echo) of the line before."""
APART_S = 0.5
"""After a longer pause than this, a line does not continue the line before it."""
LEAST_ECHOES = 0.3
"""A track is rolling if at least this share of its lines are copies."""
LEAST_ROLLED = 0.6
"""A track is also rolling if at least this share of its lines continue the line before them."""
FEWEST_ROLLED = 3
"""The fewest continuing lines of a track that LEAST_ROLLED applies to."""
MOST_WORDS = 100
"""Most words that captions show at once."""
FEW_WORDS = 3
"""A line that repeats the whole line before it and adds fewer words than this is the same line,
still being spoken."""


class _Step(NamedTuple):
    """A line, and how it continues the line before it."""

    line: Line
    new: list[str]
    """The words of the line that the line before it does not show."""
    is_echo: bool
    """Whether it is a short copy of the end of the line before it (ECHO_S)."""
    is_rolled: bool
    """Whether it continues the line before it with words that were not said shortly before."""
    repeats_all: bool
    """Whether it begins with all words of the line before it."""


def unrolled(lines: Sequence[Line]) -> Subtitles:
    """Return a track in which each word of rolling captions stands once.

    The rolling captions become the `original` of the track. If the lines are not rolling captions,
    they are not changed.

    Args:
        lines: The lines of a track, each with the words that are shown together.
    """
    ordered = Subtitles(tuple(lines)).lines
    steps = _steps(ordered)
    if not _is_rolling(steps):
        return Subtitles(ordered)
    spoken: list[Line] = []
    for before, step in zip([None, *steps], steps, strict=False):
        line = step.line
        if not step.new:
            if spoken and line.start_s - spoken[-1].end_s <= APART_S and not step.is_echo:
                end_s = max(spoken[-1].end_s, line.end_s)
                spoken[-1] = Line(spoken[-1].start_s, end_s, spoken[-1].text)
            continue
        words = " ".join(step.new)
        # An echo shows one line of the captions, so the next line repeats all of it in any case.
        is_growing = (
            step.repeats_all and len(step.new) < FEW_WORDS and not (before and before.is_echo)
        )
        if is_growing and spoken:
            spoken[-1] = Line(spoken[-1].start_s, line.end_s, f"{spoken[-1].text} {words}")
        else:
            spoken.append(Line(line.start_s, line.end_s, words))
    return Subtitles(tuple(spoken), ordered)


def _steps(lines: Sequence[Line]) -> list[_Step]:
    """Return how each line continues the line before it.

    A line continues the line before it if it begins with the last words of that line, at least
    with those that were added last.
    """
    steps: list[_Step] = []
    shown: list[str] = []  # the words of the line before
    last_new: list[str] = []  # the words that were added last: an echo adds none
    said = deque[str](maxlen=MOST_WORDS)
    end_s = 0.0
    for line in lines:
        words = line.text.split()
        overlap = _overlap(shown, words) if line.start_s - end_s <= APART_S else 0
        continues = 0 < len(last_new) <= overlap
        new = words[overlap:] if continues else words
        step = _Step(
            line=line,
            new=new,
            is_echo=continues and not new and line.end_s - line.start_s <= ECHO_S,
            # A chant that repeats its words is no rolling caption.
            is_rolled=continues and not set(new) <= set(said),
            repeats_all=continues and overlap == len(shown),
        )
        steps.append(step)
        said += new
        shown = words
        end_s = line.end_s
        last_new = new or last_new
    return steps


def _overlap(shown: list[str], words: list[str]) -> int:
    """Return how many of the last words shown are the first words of the next line."""
    for count in range(min(len(shown), len(words), MOST_WORDS), 0, -1):
        if shown[-count:] == words[:count]:
            return count
    return 0


def _is_rolling(steps: Sequence[_Step]) -> bool:
    """Return whether the lines of a track are rolling captions."""
    echoes = sum(step.is_echo for step in steps)
    rolled = sum(step.is_rolled for step in steps)
    return len(steps) > 1 and (
        echoes >= LEAST_ECHOES * len(steps)
        or (rolled >= FEWEST_ROLLED and rolled >= LEAST_ROLLED * (len(steps) - 1))
    )
