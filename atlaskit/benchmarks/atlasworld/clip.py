"""`Clip`: the video of one script, as an encoded file or as frames drawn on demand
(`DrawnVideo`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from atlaskit.benchmarks.atlasworld.timeline import Script
from atlaskit.errors import FrameError
from atlaskit.video.file import VideoFile
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video


@dataclass(frozen=True)
class Clip:
    """A script and the directory of its encoded video."""

    script: Script
    directory: Path
    """Where the files are, or will be once `encoded` is first called."""

    def encoded(self, progress: bool = False) -> Video:
        """Return the clip as a file (H.264 in MP4) with its spoken lines; encode it if needed.

        Its fingerprint comes from the script, not from the file: encoders on two machines may
        write different bytes, and a run recorded on one must be replayable on the other.
        """
        # Imported here because it loads PyAV's encoder, which drawn worlds do not need.
        from atlaskit.benchmarks.atlasworld.encoder import ENCODING_VERSION, encode_script

        files = encode_script(self.script, self.directory, progress=progress)
        fingerprint = f"film-{self.script.name}-{ENCODING_VERSION}"
        return VideoFile(files.video, files.subtitles if self.script.lines else None, fingerprint=fingerprint)

    def drawn(self) -> Video:
        """Return the clip as a video whose frames the renderer draws on demand."""
        return DrawnVideo(self.script)


class DrawnVideo(Video):
    """A script whose frames are drawn on demand, without a codec."""

    frames_decoded = 0

    def __init__(self, script: Script) -> None:
        from atlaskit.benchmarks.atlasworld.renderer import SceneRenderer

        self.name = f"drawn world {script.seed}"
        self.duration_s, self.fps, self.size = script.duration_s, float(script.fps), script.size
        self.fingerprint = f"drawn-{script.name}"
        self.subtitles = Subtitles(tuple(Line(line.start_s, line.end_s, line.text) for line in script.lines))
        self._script, self._renderer = script, SceneRenderer(script)

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Draw the frames shown at some times, scaled to `size` (width, height) if given."""
        frames: list[Pixels | FrameError] = []
        for time_s in times_s:
            self.check_time(time_s)
            image = self._renderer.frame(self._script.frame_at(time_s))
            frames.append(np.asarray(image.resize(size, reducing_gap=2.0) if size else image))
            self.frames_decoded += 1
        return frames
