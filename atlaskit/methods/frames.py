"""`uniform` and `composite`: answer from frames that are fixed before the question is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from atlaskit.agents.search import ask
from atlaskit.agents.settings import Named, Search, resolve_search
from atlaskit.caching.cache import default_cache
from atlaskit.environment.question import Question
from atlaskit.errors import InputError, check_whole
from atlaskit.methods.calls import FramesCall
from atlaskit.methods.clips import equal_parts
from atlaskit.methods.run import MethodRun, method
from atlaskit.models.named import as_model
from atlaskit.models.protocol import Model
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo


@method("uniform", k=2, free_text=False)
def uniform(run: MethodRun, *, frames: int = 160, per_image: int = 16) -> Result:
    """Answer from frames at equal steps, in one call.

    The video is divided into `frames` equal parts, and the frame at the middle of each is shown.
    Several frames share one image, because servers accept few images in one conversation; a model
    that charges by pixels charges the same as for single frames.

    Args:
        frames: How many frames to show.
        per_image: Frames in one image: a square number from 4 on that divides `frames`.

    Examples:
        >>> ak.baselines.uniform(video, question, vlm=vlm, frames=16).total.calls
        1
    """
    check_whole("per_image", per_image, least=4)
    k, images = math.isqrt(per_image), frames // per_image
    if k**2 != per_image or frames % per_image:
        raise InputError(f"per_image must be a square number that divides the {frames} frames; got {per_image}.")
    duration_s = run.video.duration_s
    views = tuple(run.view(part, k) for part in equal_parts((0.0, duration_s), images))
    spoken = tuple(
        tuple((time_s, lines) for time_s in view.moments if (lines := run.lines_at(time_s))) for view in views
    )
    return run.decide(FramesCall(run.question, duration_s, views, spoken))


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
