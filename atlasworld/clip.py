"""`Clip`: the video of one script, encoded as a file or drawn on demand (`DrawnVideo`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from atlaskit.errors import FrameError
from atlaskit.video.file import VideoFile
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video
from atlasworld.timeline import Script

DRAWINGS = 512
"""Frames that a stand-in keeps in memory: those of eight views of 8 × 8 cells."""


@dataclass(frozen=True)
class Clip:
    """A script and the directory of its encoded video."""

    script: Script
    directory: Path
    """The folder of the files, which the first call of `encoded` writes."""

    def encoded(self, progress: bool = False) -> Video:
        """Return the clip as a file (H.264 in MP4) with its spoken lines; encode it if needed.

        Its fingerprint comes from the script, not from the file: encoders on two machines may
        write different bytes, and a run recorded on one must be replayable on the other.
        """
        # Imported here because it loads PyAV's encoder, which drawn worlds do not need.
        from atlasworld.encoder import encode_script, film_fingerprint

        files = encode_script(self.script, self.directory, progress=progress)
        lines = files.subtitles if self.script.lines else None
        return VideoFile(files.video, lines, fingerprint=film_fingerprint(self.script))

    def is_file(self, path: Path) -> bool:
        """Return whether a file is the encoded clip, as the manifest beside it says."""
        from atlasworld.encoder import is_encoded

        return is_encoded(self.script, path)

    def drawn(self) -> Video:
        """Return the clip as a video whose frames the renderer draws on demand."""
        return DrawnVideo(self.script)

    def stand_in(self) -> Video:
        """Return the drawn clip under the name and the fingerprint of the encoded one."""
        return StandIn(self.script)


class DrawnVideo(Video):
    """A script whose frames are drawn on demand, without a codec."""

    frames_decoded = 0
    is_drawn = True

    def __init__(self, script: Script) -> None:
        from atlasworld.renderer import SceneRenderer

        self.name = f"drawn world {script.seed}"
        self.duration_s = script.duration_s
        self.fps = float(script.fps)
        self.size = script.size
        self.fingerprint = f"drawn-{script.name}"
        self.subtitles = Subtitles(
            tuple(Line(line.start_s, line.end_s, line.text) for line in script.lines)
        )
        self._script = script
        self._renderer = SceneRenderer(script)

    def try_frames(
        self, times_s: Sequence[float], size: tuple[int, int] | None = None
    ) -> list[Pixels | FrameError]:
        """Draw the frames shown at some times, scaled to `size` (width, height) if given."""
        frames: list[Pixels | FrameError] = []
        for time_s in times_s:
            self.check_time(time_s)
            image = self._renderer.frame(self._script.frame_at(time_s))
            if size:
                image = image.resize(size, reducing_gap=2.0)
            frames.append(np.asarray(image))
            self.frames_decoded += 1
        return frames


class StandIn(DrawnVideo):
    """A script whose frames are drawn on demand in place of a film that is not encoded.

    It has the film's name and fingerprint, so that a run about the film can be replayed without the
    film. Encoding changes pixels, so these frames are not quite the film's, and caches store no
    image of them. The last frames stay in memory.
    """

    is_drawn = False  # a replay must treat it like the film
    is_stand_in = True

    def __init__(self, script: Script) -> None:
        from atlasworld.encoder import film_fingerprint, film_name

        super().__init__(script)
        self.name = film_name(script)
        self.fingerprint = film_fingerprint(script)
        # The film's subtitle file has whole milliseconds.
        lines = list[Line]()
        for line in self.subtitles.lines:
            lines.append(Line(round(line.start_s, 3), round(line.end_s, 3), line.text))
        self.subtitles = Subtitles(tuple(lines))
        self._drawn = lru_cache(maxsize=DRAWINGS)(super().try_frames)

    def try_frames(
        self, times_s: Sequence[float], size: tuple[int, int] | None = None
    ) -> list[Pixels | FrameError]:
        """Return the frames shown at some times, drawn unless they are in memory."""
        frames: list[Pixels | FrameError] = []
        for time_s in times_s:
            frames += self._drawn((time_s,), size)
        return frames
