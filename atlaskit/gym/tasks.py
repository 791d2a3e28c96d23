"""Tasks: one question about one video, given by the user or drawn from AtlasWorld."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from atlaskit.benchmarks.atlasworld import atlasworld
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.video.opening import open_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.subtitles.source import SubtitleSource
from atlaskit.video.video import Video

Source: TypeAlias = AnyVideo
"""A video: open, or as `open_video` takes it."""
VideoQuestion: TypeAlias = tuple[Video, Question]

ANSWERABLE = ("choice", "when", "count")
"""The kinds of question that an action can answer."""
DRAWN = ("choice", "when")
"""The kinds of question that are drawn from AtlasWorld."""
WORLD_SIZE = (128, 72)
"""(width, height) of a drawn world's frames in pixels."""
MAX_WORLDS = 100
"""How many worlds are searched for a question before drawing one fails."""


def given_task(
    video: Source | None, question: Question | None, subtitles: SubtitleSource | bool, n_answers: int
) -> VideoQuestion | None:
    """Return the task that the user gave, with the video opened; None if tasks are to be drawn.

    Raises:
        InputError: If only one of video and question is given, if the question cannot be answered
            by an action, or if subtitles are given for a drawn world.
    """
    if (video is None) != (question is None):
        raise InputError("Give both a video and a question about it, or neither; then AtlasWorlds are drawn.")
    if video is None or question is None:
        if not isinstance(subtitles, bool):
            raise InputError(f"An AtlasWorld has its own lines, so subtitles must be True or False; got {subtitles!r}.")
        return None
    check_question(question, n_answers)
    return open_video(video, None if isinstance(subtitles, bool) else subtitles), question


def draw_task(rng: np.random.Generator, duration_s: float, n_answers: int) -> VideoQuestion:
    """Draw an AtlasWorld and one of its questions.

    Args:
        rng: Source of randomness.
        duration_s: Duration of the world in seconds.
        n_answers: How many answers the action space has.

    Raises:
        InputError: If no world of this duration has a question, or one needs more answers.
    """
    for _ in range(MAX_WORLDS):
        world = atlasworld(int(rng.integers(2**31)), duration_s, size=WORLD_SIZE)
        questions = [question for question in world.questions if question.kind in DRAWN]
        for question in questions:
            check_question(question, n_answers)
        if questions:
            return world.drawn, questions[int(rng.integers(len(questions)))]
    raise InputError(f"None of {MAX_WORLDS} worlds of {duration_s:g} s has a question; use a larger duration_s.")


def check_question(question: Question, n_answers: int) -> None:
    """Raise InputError for a question that no action can answer or no answer can score."""
    if question.kind not in ANSWERABLE:
        raise InputError(
            f"A question of kind {question.kind!r} is answered in words, which no numbered action can give; "
            f"use one of kind {', '.join(ANSWERABLE)}."
        )
    if question.answer is None:
        raise InputError(f"The true answer of {question.text!r} is not known, so there is no reward.")
    needed = question.answer + 1 if question.kind == "count" else len(question.choices)  # type: ignore[operator]
    if needed > n_answers:
        raise InputError(f"{question.text!r} needs {needed} answers, but n_answers is {n_answers}; raise n_answers.")
