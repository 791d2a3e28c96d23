"""The methods by name (METHODS): Video-RLM, and those that it is compared with (paper §4.1).

Each method is a function with the signature of `ask`. Video-RLM is `ask` itself, and `composite`
has the settings of `ask`. The others, from the modules of `methods`, have settings of their own
and these:

* `kind`, `budget`, `replay` and `cache`, which mean what they mean for `ask`;
* `sample`: see `ak.Search`;
* `size`: width and height of a frame's cell in pixels; None for the size that suits the model;
* `fit`: how a frame fills its cell, see `ak.Search`;
* `subtitles`: whether the model gets the subtitle lines;
* `threads`: calls that are made at the same time; no result depends on it.

`subtitles_only` and `blind`, which show no frames, have only those of the first two lines.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from atlaskit.agents.search import ask
from atlaskit.methods.baselines import blind, captions, composite, subtitles_only, uniform
from atlaskit.methods.dvd import dvd
from atlaskit.methods.mapreduce import mapreduce, mapreduce_clips
from atlaskit.methods.native import native
from atlaskit.methods.retrieval import retrieval
from atlaskit.methods.videoagent import videoagent
from atlaskit.methods.videoarm import videoarm
from atlaskit.methods.videotree import videotree
from atlaskit.methods.worldmm import worldmm
from atlaskit.runs.result import Result

__all__ = [
    "METHODS",
    "blind",
    "captions",
    "composite",
    "dvd",
    "mapreduce",
    "mapreduce_clips",
    "native",
    "retrieval",
    "settings_of",
    "subtitles_only",
    "uniform",
    "videoagent",
    "videoarm",
    "videotree",
    "worldmm",
]

METHODS: dict[str, Callable[..., Result]] = {
    "video-rlm": ask,
    "uniform": uniform,
    "native": native,
    "composite": composite,
    "captions": captions,
    "subtitles": subtitles_only,
    "blind": blind,
    "retrieval": retrieval,
    "videotree": videotree,
    "videoagent": videoagent,
    "mapreduce": mapreduce,
    "mapreduce-clips": mapreduce_clips,
    "worldmm": worldmm,
    "dvd": dvd,
    "videoarm": videoarm,
}
"""All methods, by name."""


def signature_of(method: Callable[..., Result]) -> inspect.Signature:
    """Return the signature of a method; `composite` passes its settings on to `ask`."""
    return inspect.signature(ask if method is composite else method)


def settings_of(method: Callable[..., Result]) -> tuple[str, ...] | None:
    """Return the keyword arguments of a method; None if it takes any, as a user's function may.

    Examples:
        >>> "budget" in ak.baselines.settings_of(ak.baselines.uniform)
        True
    """
    names = list[str]()
    for parameter in signature_of(method).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            return None
        if parameter.kind is parameter.KEYWORD_ONLY:
            names.append(parameter.name)
    return tuple(names)


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
