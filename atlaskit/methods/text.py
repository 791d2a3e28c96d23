"""`subtitles_only` and `blind`: answer without a single frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from atlaskit.environment.grid import clock
from atlaskit.environment.question import Question
from atlaskit.errors import check_whole
from atlaskit.methods.run import MethodRun, MethodSettings
from atlaskit.models.protocol import Model
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo


def subtitles_only(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    context: int = 100_000,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer from the subtitles, without images.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        context: Tokens of subtitles that the model may get, at four characters each. Those that do
            not fit are cut off at the end of the video, and the result's `failure` says so.
        settings: Keywords that mean what they mean for `ask`.

    Examples:
        >>> ak.baselines.subtitles_only(video, question, vlm=vlm).settings["method"]
        'subtitles'
    """
    check_whole("context", context)
    run = MethodRun(video, question, choices, vlm, **settings)
    video = run.video
    run.begin("subtitles", {"context": context})
    rows = [f"{clock(line.start_s)}–{clock(line.end_s)}: {line.text}" for line in video.subtitles.lines]
    return run.decide(run.text_request("\n".join(rows) and "What is said:\n" + "\n".join(rows), context))


def blind(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer from the question alone, to measure what its text gives away.

    Examples:
        >>> ak.baselines.blind(video, question, vlm=vlm).settings["method"]
        'blind'
    """
    run = MethodRun(video, question, choices, vlm, **settings)
    video = run.video
    run.begin("blind", {})
    return run.decide(run.text_request("", 1))
