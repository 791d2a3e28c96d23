"""`uniform` and `composite`: answer from frames that are fixed before the question is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Unpack

from atlaskit.agents.search import ask
from atlaskit.agents.settings import Named, Search, fit_for, recorded_fit, resolve_search
from atlaskit.caching.cache import default_cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Fit
from atlaskit.errors import InputError, check_whole
from atlaskit.methods.prompts import FramesCall
from atlaskit.methods.run import MethodRun, MethodSettings
from atlaskit.models.named import as_model
from atlaskit.models.presets import cell_for
from atlaskit.models.protocol import Model
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
    **settings: Unpack[MethodSettings],
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

    Examples:
        >>> ak.baselines.uniform(video, question, vlm=vlm, frames=16).total.calls
        1
    """
    check_whole("frames", frames)
    check_whole("per_image", per_image, least=4)
    k, images = math.isqrt(per_image), frames // per_image
    if k**2 != per_image or frames % per_image:
        raise InputError(f"per_image must be a square number that divides the {frames} frames; got {per_image}.")
    run = MethodRun(video, question, choices, vlm, **settings)
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
    search: Search | Named = "paper",
    **settings: Any,
) -> Result:
    """Answer from one grid of K×K frames: `ask` at depth 0, which the paper generalises (§3.1).

    Of `search`, the depth and the scouts are left out.

    Examples:
        >>> ak.baselines.composite(video, question, vlm=vlm).settings["max_depth"]
        0
    """
    store, is_replay = settings.get("cache") or default_cache(), settings.get("replay") is True
    model = as_model(vlm, store, is_replay=is_replay)
    at_root = replace(resolve_search(search, model), max_depth=0, scouts=())
    return ask(video, question, choices, vlm=model, search=at_root, **settings)


def _lines_at(video: Video, times_s: Sequence[float]) -> tuple[tuple[float, tuple[Line, ...]], ...]:
    """Return the times at which there are subtitle lines, with the lines."""
    lines_at = ((time_s, video.subtitles.between(time_s, math.nextafter(time_s, math.inf))) for time_s in times_s)
    return tuple((time_s, lines) for time_s, lines in lines_at if lines)
