"""`NANO`, the entry point of the model nano: its weights and its preset.

`caution` warns of videos and questions for which nano was not trained.
"""

from __future__ import annotations

import re
from pathlib import Path

from atlaskit.environment.question import Question
from atlaskit.models.names import Preset, Shipped
from atlaskit.video.playlist import Playlist
from atlaskit.video.video import Video
from atlasworld.nano.words import request

MARK = re.compile(r"film-[0-9a-f]{16}-\d+|drawn-[0-9a-f]{16}")
"""The fingerprint of a world's video, which is made from the script, not from a file."""
OTHER_VIDEO = (
    "knows only AtlasWorlds, the videos of `aw.world`, and this video is none, or a file of one "
    "that was opened by its path: of another video, its answers mean nothing. Name another model."
)
SEVERAL = (
    "was taught to answer with one interval, and is asked for several: its answers mean little. "
    "Name another model, or ask for one interval."
)


def is_world(video: Video) -> bool:
    """Return whether a video shows a world; a playlist does if all its videos do."""
    if isinstance(video, Playlist):
        return all(map(is_world, video.parts))
    return MARK.fullmatch(video.fingerprint) is not None


def caution(video: Video, question: Question) -> str:
    """Return a warning if nano was not trained for such a video or question, else "".

    The subject of its first sentence, the name of the model, is left out.
    """
    faults = list[str]()
    if not is_world(video):
        faults.append(OTHER_VIDEO)
    if question.several:
        faults.append(SEVERAL)
    return " It ".join(faults)


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
"""The settings that nano was trained for.

* Its grid is this one of square cells.
* It has tokens that span what a JSON schema fixes and what it leaves open, such as
  '{"search_task":"Find', so the grammar must not force tokens (`no_forcing`).
* Pillow, not torchvision, prepared the images of its training.
* Its prompts have no place for the hints of scouts, which therefore only rank the frontier.
"""
WEIGHTS = Path(__file__).parent / "weights"
NANO = Shipped(WEIGHTS, PRESET)
