"""`captions`: the model describes each clip, then answers from the descriptions (paper §4.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

from atlaskit.agents.settings import recorded_fit
from atlaskit.environment.grid import Grid, clock
from atlaskit.environment.question import Question
from atlaskit.environment.tiles import Fit
from atlaskit.errors import InputError, check_whole
from atlaskit.methods.clips import ClipSettings, clip_grids
from atlaskit.methods.prompts import CaptionCall
from atlaskit.methods.run import MethodRun, MethodSettings
from atlaskit.models.protocol import Model, Request
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo


def captions(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    clip_s: float = 30.0,
    per_clip: int = 16,
    size: int | None = None,
    fit: Fit | None = None,
    subtitles: bool = True,
    context: int = 100_000,
    threads: int = 4,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer from captions: the model describes each clip, then reads the descriptions.

    The captions do not depend on the question, so with a cache a video is captioned only once. A
    caption that fails is left out, and the result's `failure` says so.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        clip_s: Length of a clip in seconds.
        per_clip: Frames that are shown of a clip: a square number.
        size: Width and height of a frame's cell in pixels; None for what suits the model.
        fit: How a frame fills its cell: see `ak.Search`.
        subtitles: Whether the model gets the subtitle lines of a clip.
        context: Tokens of captions that the model may get, at four characters each. Those that do
            not fit are cut off at the end of the video, and the result's `failure` says so.
        threads: Clips that are captioned at the same time.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule.
        Unreachable: If the model never answers.

    Examples:
        >>> ak.baselines.captions(video, question, vlm=vlm).settings["method"]
        'captions'
    """
    check_whole("per_clip", per_clip)
    check_whole("threads", threads)
    check_whole("context", context)
    k = math.isqrt(per_clip)
    if k**2 != per_clip:
        raise InputError(f"per_clip must be a square number, so that the frames fill a grid; got {per_clip}.")
    run = MethodRun(video, question, choices, vlm, **settings)
    shown = ClipSettings.of(run, clip_s, size, fit, subtitles, k=k)
    own = {"clip_s": clip_s, "per_clip": per_clip, "cell": shown.cell, **recorded_fit(shown.fit, shown.patch)}
    run.begin("captions", {**own, "subtitles": subtitles, "context": context})

    def caption(grid: Grid) -> Request:
        return CaptionCall(shown.view(run, grid), shown.lines(run, (grid.start_s, grid.end_s))).request()

    rows = []
    grids = clip_grids(run.video, clip_s, k)
    for grid, answer in run.answers(grids, caption, lambda grid: [(grid.start_s, grid.end_s)], threads):
        rows.append(f"{clock(grid.start_s)}–{clock(grid.end_s)}: {answer.caption}")
    return run.decide(run.text_request("\n".join(rows), context))
