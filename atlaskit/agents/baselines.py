"""The baselines (paper §4.1): uniform, composite, captions, subtitles, blind; METHODS names them.

What the model gets is fixed before it reads the question: frames at equal steps, captions of clips,
subtitles, or nothing. Each baseline returns a `Result` without evidence, because none searches.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Unpack

from atlaskit.agents.baseline_run import BaselineRun, BaselineSettings
from atlaskit.agents.options import cell_for, fit_for, recorded_fit
from atlaskit.agents.prompts import CaptionCall, FramesCall
from atlaskit.agents.responsiveness import MAX_UNANSWERED
from atlaskit.agents.search import ask
from atlaskit.environment.grid import Grid
from atlaskit.environment.notation import clock
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Fit
from atlaskit.errors import InputError, check_whole
from atlaskit.models.errors import ModelError, Unreachable
from atlaskit.models.protocol import Model, Reply
from atlaskit.runs.events import Event, call_data, interval_s
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Video


def uniform(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    frames: int = 160,
    size: int | None = None,
    per_image: int = 16,
    fit: Fit | None = None,
    subtitles: bool = True,
    **settings: Unpack[BaselineSettings],
) -> Result:
    """Answer from frames at equal steps, in one call.

    The video is divided into `frames` equal parts, and the frame at the middle of each is shown.
    Several frames share one image, because servers accept few images in one conversation; a model
    that charges by pixels charges the same as for single frames.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        frames: How many frames to show.
        size: Width and height of a frame's cell in pixels; None for what suits the model.
        per_image: Frames in one image: a square number from 4 on that divides `frames`.
        fit: How a frame fits its cell.
        subtitles: Whether the model gets the subtitle lines at the frames' times.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule.
    """
    check_whole("frames", frames)
    check_whole("per_image", per_image, least=4)
    k, images = math.isqrt(per_image), frames // per_image
    if k**2 != per_image or frames % per_image:
        raise InputError(f"per_image must be a square number that divides the {frames} frames; got {per_image}.")
    run = BaselineRun(video, question, choices, vlm, **settings)
    video = run.video
    edges = [video.duration_s * number / images for number in range(images)] + [video.duration_s]
    grids = [Grid(start_s, end_s, k) for start_s, end_s in pairwise(edges)]
    cell, (fit, patch) = cell_for(run.vlm, size), fit_for(run.vlm, fit)
    views = tuple(View(video, grid, cell, fit, "index", cache=run.cache, patch=patch) for grid in grids)
    lines = tuple(_lines_at(video, view.moments if subtitles else ()) for view in views)
    own = {"frames": frames, "cell": cell, "per_image": per_image, **recorded_fit(fit, patch), "subtitles": subtitles}
    run.begin("uniform", own)
    return run.decide(FramesCall(run.question, video.duration_s, views, lines).request())


def composite(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    **settings: Any,
) -> Result:
    """Answer from one grid of K×K frames: `ask` at depth 0, which the paper generalises (§3.1)."""
    return ask(video, question, choices, vlm=vlm, **{**settings, "max_depth": 0})


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
    **settings: Unpack[BaselineSettings],
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
        size: Width and height of a frame's cell in pixels: `cell` of `ask`; None for what suits the
            model.
        fit: How a frame fills its cell: see `ask`.
        subtitles: Whether the model gets the subtitle lines of a clip.
        context: Tokens of captions that the model may get, at four characters each. Those that do
            not fit are cut off at the end of the video, and the result's `failure` says so.
        threads: Clips that are captioned at the same time.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule.
        Unreachable: If the model never answers.
    """
    check_whole("per_clip", per_clip)
    check_whole("threads", threads)
    check_whole("context", context)
    k = math.isqrt(per_clip)
    if k**2 != per_clip:
        raise InputError(f"per_clip must be a square number, so that the frames fill a grid; got {per_clip}.")
    if not 0 < clip_s < math.inf:
        raise InputError(f"clip_s must be a positive number of seconds; got {clip_s!r:.40}.")
    run = BaselineRun(video, question, choices, vlm, **settings)
    video = run.video
    cell, (fit, patch) = cell_for(run.vlm, size), fit_for(run.vlm, fit)
    own = {"clip_s": clip_s, "per_clip": per_clip, "cell": cell, **recorded_fit(fit, patch), "subtitles": subtitles}
    run.begin("captions", {**own, "context": context})
    grids = _clips(video, clip_s, k)

    def caption(grid: Grid) -> Reply | ModelError:
        if run.refusal is not None:
            return run.refusal
        lines = video.subtitles.between(grid.start_s, grid.end_s) if subtitles else ()
        view = View(video, grid, cell, fit, "index", cache=run.cache, patch=patch)
        return run.complete(CaptionCall(view, lines).request())

    rows = list(_caption_rows(run, grids, caption, threads))
    if run.refusal is not None and not rows:
        return run.end()
    return run.decide(run.text_request("\n".join(rows), context))


def subtitles_only(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    context: int = 100_000,
    **settings: Unpack[BaselineSettings],
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
    """
    check_whole("context", context)
    run = BaselineRun(video, question, choices, vlm, **settings)
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
    **settings: Unpack[BaselineSettings],
) -> Result:
    """Answer from the question alone, to measure what its text gives away."""
    run = BaselineRun(video, question, choices, vlm, **settings)
    video = run.video
    run.begin("blind", {})
    return run.decide(run.text_request("", 1))


METHODS: dict[str, Callable[..., Result]] = {
    "video-rlm": ask,
    "uniform": uniform,
    "composite": composite,
    "captions": captions,
    "subtitles": subtitles_only,
    "blind": blind,
}
"""All methods, by name."""


def settings_of(method: Callable[..., Result]) -> tuple[str, ...] | None:
    """Return the keywords that a method takes; None if it takes any, as a user's function may."""
    parameters = inspect.signature(method).parameters.values()
    names = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    if method is composite:
        return tuple(name for name in settings_of(ask) or () if name != "max_depth")
    if method in METHODS.values():
        names += [name for name in BaselineSettings.__annotations__ if name not in names]
    elif any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    return tuple(names)


def _lines_at(video: Video, times_s: Sequence[float]) -> tuple[tuple[float, tuple[Line, ...]], ...]:
    """Return the times at which there are subtitle lines, with the lines."""
    lines_at = ((time_s, video.subtitles.between(time_s, math.nextafter(time_s, math.inf))) for time_s in times_s)
    return tuple((time_s, lines) for time_s, lines in lines_at if lines)


def _clips(video: Video, clip_s: float, k: int) -> list[Grid]:
    """Return a grid of k×k cells for each clip of a video; the last one may be shorter."""
    count = max(1, math.ceil(video.duration_s / clip_s - 1e-9))
    edges = [min(number * clip_s, video.duration_s) for number in range(count)] + [video.duration_s]
    return [Grid(start_s, end_s, k) for start_s, end_s in pairwise(edges)]


def _caption_rows(
    run: BaselineRun, grids: Sequence[Grid], caption: Callable[[Grid], Reply | ModelError], threads: int
) -> Iterator[str]:
    """Caption clips in parallel; yield the captions in order of time, and log each.

    A failure after which no call can succeed ends the captions; those before it are kept.

    Raises:
        Unreachable: If the first MAX_UNANSWERED captions fail because the server is unreachable.
    """
    has_caption, unreachable = False, 0
    with ThreadPoolExecutor(threads) as pool:
        for grid, outcome in zip(grids, pool.map(caption, grids), strict=True):
            if isinstance(outcome, ModelError):
                run.log_failure("caption", outcome)
                if outcome.is_final:
                    pool.shutdown(cancel_futures=True)
                    return
                unreachable += isinstance(outcome, Unreachable)
                if unreachable == MAX_UNANSWERED and not has_caption:
                    pool.shutdown(cancel_futures=True)
                    raise outcome
                continue
            has_caption, text = True, outcome.answer.caption
            run.log(Event("caption", data={"interval_s": interval_s(grid), "caption": text, **call_data(outcome)}))
            yield f"{clock(grid.start_s)}–{clock(grid.end_s)}: {text}"
