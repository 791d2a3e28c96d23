"""`NANO`: the weights of nano, its preset, and what it was not taught: its entry point."""

from __future__ import annotations

import re
from pathlib import Path

from atlaskit.environment.question import Question
from atlaskit.models.names import Preset, Shipped
from atlaskit.video.playlist import Playlist
from atlaskit.video.video import Video
from atlasworld.nano.words import request

MARK = re.compile(r"film-[0-9a-f]{16}-\d+|drawn-[0-9a-f]{16}")
"""Fingerprints of the videos of a world: they come from its script, not from a file."""
OTHER_VIDEO = (
    "knows only AtlasWorlds, the videos of `aw.world`, and this video is none, or a file of one "
    "that was opened by its path: of another video, its answers mean nothing. Name another model."
)
SEVERAL = (
    "was taught to answer with one interval, and is asked for several: its answers mean little. "
    "Name another model, or ask for one interval."
)


def is_world(video: Video) -> bool:
    """Return whether a video is that of a world. A playlist is one if all its videos are."""
    if isinstance(video, Playlist):
        return all(map(is_world, video.parts))
    return MARK.fullmatch(video.fingerprint) is not None


def caution(video: Video, question: Question) -> str:
    """Return a warning if nano was not taught such a video or question, else ""."""
    faults = {OTHER_VIDEO: not is_world(video), SEVERAL: question.several}
    return " It ".join(filter(faults.get, faults))


PRESET = Preset(
    k=4,
    cell=128,
    fit="contain",
    ruled=False,
    steps=40,
    plateau=39,
    compile_on_cpu=True,
    copy_per_core=True,
    no_forcing=True,
    torchvision=False,
    context=3_000,
    words=request,
    caution=caution,
)
"""nano was trained on this grid of square cells alone, and has tokens of its own that span what a
JSON schema fixes and what it leaves open ('{"search_task":"Find'). Pillow prepared the images that
it was trained on. Its prompts have no place for the hints of scouts, which therefore only rank the
frontier."""
WEIGHTS = Path(__file__).parent / "weights"
NANO = Shipped(WEIGHTS, PRESET)
