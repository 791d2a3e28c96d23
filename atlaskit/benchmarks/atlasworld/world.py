"""A world: a script, the film made of it, and questions with known answers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from atlaskit.benchmarks.atlasworld.questions import write_questions
from atlaskit.benchmarks.atlasworld.screenplay import write_script
from atlaskit.benchmarks.atlasworld.script import Event, Script
from atlaskit.cache import canonical_json
from atlaskit.errors import FrameError, InputError
from atlaskit.question import Question
from atlaskit.subtitles import Line, Subtitles
from atlaskit.video import Pixels, Video, open_video


@dataclass(frozen=True)
class World:
    """A synthetic video of which everything is known."""

    script: Script
    questions: tuple[Question, ...]
    directory: Path
    """Where the film lies, or will when it is first asked for."""
    progress: bool = False

    @cached_property
    def name(self) -> str:
        """Names the script by its content."""
        return hashlib.sha256(canonical_json(self.script.to_json()).encode()).hexdigest()[:16]

    @cached_property
    def video(self) -> Video:
        """The world as a real file: H.264 in MP4, with its spoken lines. Filmed the first time."""
        from atlaskit.benchmarks.atlasworld.film import film  # here, since it loads the encoder

        paths = film(self.script, self.directory, progress=self.progress)
        return open_video(paths.video, paths.subtitles if self.script.lines else None)

    @cached_property
    def drawn(self) -> Video:
        """The world as its painter draws it, without a codec in between: for tests and training."""
        return DrawnVideo(self)

    def question(self, text: str) -> Question:
        """Return the world's own question of these words, with its answer; raise InputError for any other."""
        for question in self.questions:
            if question.text == text:
                return question
        raise InputError(f"{text!r} is not one of this world's {len(self.questions)} questions: ask one of those.")

    def targets(self, question: Question) -> list[Event]:
        """Return the events that answer a question, the deciding one first."""
        events = {(event.start_s, event.end_s): event for event in self.script.events}
        return [events[span] for span in question.positions_s]


class DrawnVideo(Video):
    """A script drawn frame by frame on demand."""

    def __init__(self, world: World) -> None:
        from atlaskit.benchmarks.atlasworld.painter import Painter

        script = world.script
        self.name = f"drawn world {script.seed}"
        self.duration_s, self.fps, self.size = script.duration_s, float(script.fps), script.size
        self.fingerprint = f"drawn-{world.name}"
        self.subtitles = Subtitles(tuple(Line(line.start_s, line.end_s, line.text) for line in script.lines))
        self._script, self._painter = script, Painter(script)

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        """Draw the frames shown at some times."""
        frames: list[Pixels | FrameError] = []
        for time_s in times_s:
            self.check_time(time_s)
            image = self._painter.frame(self._script.frame_at(time_s))
            frames.append(np.asarray(image.resize(size, reducing_gap=2.0) if size else image))
            self.frames_decoded += 1
        return frames


def atlasworld(
    seed: int = 0,
    duration_s: float = 600.0,
    *,
    questions: int = 24,
    size: tuple[int, int] = (640, 360),
    fps: int = 12,
    directory: str | Path = "cache/atlasworld",
    progress: bool = False,
) -> World:
    """Return the world of a seed: a video of `duration_s` seconds (10 s to 20 min) and up to `questions` questions.

    Deterministic: the same seed gives the same film and questions. The film is made when `world.video` is first
    used, in a folder of its own under `directory`, and reused after that.
    """
    script = write_script(seed, duration_s, fps=fps, size=size)
    folder = Path(directory) / f"seed{seed}-{duration_s:g}s-{size[0]}x{size[1]}-{fps}fps"
    return World(script, write_questions(script, questions, seed), folder, progress)
