"""Which models suit a video, a question and a method: what nano was taught, and what not."""

from __future__ import annotations

import re
import warnings

from atlaskit.environment.question import Question
from atlaskit.errors import InputError, ModelWarning, printable
from atlaskit.models.presets import Preset, preset_for
from atlaskit.models.protocol import Model
from atlaskit.video.playlist import Playlist
from atlaskit.video.video import Video

MARK = re.compile(r"film-[0-9a-f]{16}-\d+|drawn-[0-9a-f]{16}")
"""Fingerprints that `atlasworld` gives its videos. They come from the script, not from the file."""
NAME = re.compile(r"atlasworld-\d+-[\d.e+]+s-\d+x\d+-\d+fps\b.*")
"""Names of the files that `atlasworld` writes. The cache remembers them with the fingerprint."""
USUAL_FORMAT = ((640, 360), 12.0)
"""Size and frame rate of a world, unless the caller chooses others. Hardly any camera has twelve
frames in a second, so this tells a world whose file was renamed."""


def is_atlasworld(video: Video) -> bool:
    """Return whether a video is an AtlasWorld, as far as can be told without decoding a frame.

    A playlist is one if all its videos are. The files carry no mark, so a world of unusual size or
    frame rate whose file was renamed counts as another video.
    """
    if isinstance(video, Playlist):
        return all(map(is_atlasworld, video.parts))
    is_marked = MARK.fullmatch(video.fingerprint) or NAME.fullmatch(video.name)
    return bool(is_marked) or (video.size, round(video.fps, 3)) == USUAL_FORMAT


def warn_if_unsuitable(model_name: str, preset: Preset, video: Video, question: Question) -> None:
    """Warn, once for each line of code that asks, if the model was not taught what it is asked.

    That is another kind of video, or an answer of several intervals.
    """
    if preset.only_atlasworlds and not is_atlasworld(video):
        warnings.warn(
            f"{printable(model_name, 60)} knows only AtlasWorlds, the synthetic videos of this kit, and is used on "
            f"another video: its answers mean nothing there. Name another model.",
            ModelWarning,
            stacklevel=3,
        )
    if preset.only_one_interval and question.several:
        warnings.warn(
            f"{printable(model_name, 60)} was taught to answer with one interval, and is asked for several: its "
            f"answers mean little. Name another model, or ask for one interval.",
            ModelWarning,
            stacklevel=3,
        )


def check_writes_freely(model: Model, method: str) -> None:
    """Raise InputError if a method needs free words of a model that was taught fixed forms only."""
    if preset_for(model).words:
        raise InputError(
            f"{method} needs a model that writes free text, and {printable(model.name, 60)} was taught the calls of "
            f"Video-RLM alone: name another model, or use video-rlm, uniform or composite."
        )
