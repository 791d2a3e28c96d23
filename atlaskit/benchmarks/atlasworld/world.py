"""A world: a script, the film or films made of it, and questions with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from atlaskit.benchmarks.atlasworld.generator import LONGEST_S, write_script
from atlaskit.benchmarks.atlasworld.long_timeline import CLIP_S, OWN, write_reel
from atlaskit.benchmarks.atlasworld.questions import write_questions
from atlaskit.benchmarks.atlasworld.timeline import Script, WorldEvent, check_picture
from atlaskit.benchmarks.case import Case
from atlaskit.environment.question import Question, Span
from atlaskit.errors import FrameError, InputError
from atlaskit.video.file import VideoFile
from atlaskit.video.opening import open_video
from atlaskit.video.readers import Pixels
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video


@dataclass(frozen=True)
class Clip:
    """A script, and the folder where its film lies, or will when it is first asked for."""

    script: Script
    directory: Path

    def filmed(self, progress: bool = False) -> Video:
        """Return the clip as a real file: H.264 in MP4, with its spoken lines. Filmed the first time.

        Its fingerprint is the script's, not the file's: another encoder makes other bytes of the same film, and what
        was recorded of it on one machine is to be replayed on another.
        """
        from atlaskit.benchmarks.atlasworld.encoder import FILM_VERSION, film  # here, since it loads the encoder

        paths = film(self.script, self.directory, progress=progress)
        fingerprint = f"film-{self.script.name}-{FILM_VERSION}"
        return VideoFile(paths.video, paths.subtitles if self.script.lines else None, fingerprint=fingerprint)

    def drawn(self) -> Video:
        """Return the clip as its painter draws it."""
        return DrawnVideo(self.script)


@dataclass(frozen=True)
class World:
    """A synthetic video of which everything is known."""

    script: Script
    questions: tuple[Question, ...]
    clips: tuple[Clip, ...]
    """What its video is made of: one clip, or several of which some come more than once."""
    order: tuple[int, ...] = (0,)
    """The clips in the order in which they are shown, by index."""
    progress: bool = False

    @property
    def name(self) -> str:
        """Names the script by its content."""
        return self.script.name

    @property
    def directory(self) -> Path:
        """Where the world's own films lie, or will when they are first asked for."""
        return self.clips[0].directory

    @cached_property
    def video(self) -> Video:
        """The world as a real video: a file, or a playlist of files. What was not filmed yet is filmed now."""
        return self._played([clip.filmed(self.progress) for clip in self.clips])

    @cached_property
    def drawn(self) -> Video:
        """The world as its painter draws it, without a codec in between: for tests and training."""
        return self._played([clip.drawn() for clip in self.clips])

    def cases(self, *, drawn: bool = False) -> tuple[Case, ...]:
        """Return the world's questions as `evaluate` takes them; about its film, or about what its painter draws."""
        facts = {"duration_s": self.script.duration_s, "seed": self.script.seed}
        opened = partial(_opened, self, drawn=drawn)
        return tuple(Case(question, self.name, opened, facts, self) for question in self.questions)

    def question(self, text: str) -> Question:
        """Return the world's own question of these words, with its answer; raise InputError for any other."""
        for question in self.questions:
            if question.text == text:
                return question
        raise InputError(f"{text!r} is not one of this world's {len(self.questions)} questions: ask one of those.")

    def targets(self, question: Question) -> list[WorldEvent]:
        """Return the events that answer a question, the deciding one first."""
        return [self._events[span] for span in question.positions_s]

    @cached_property
    def _events(self) -> dict[Span, WorldEvent]:
        return {(event.start_s, event.end_s): event for event in self.script.events}

    def _played(self, videos: list[Video]) -> Video:
        return videos[0] if len(self.order) == 1 else open_video([videos[index] for index in self.order])

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is open, so that it can be sent to another process."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __repr__(self) -> str:
        parts = f"{len(self.order)} clips, " if len(self.order) > 1 else ""
        return f"<AtlasWorld {self.script.seed}: {self.script.duration_s:g} s, {parts}{len(self.questions)} questions>"


def _opened(world: World, *, drawn: bool) -> Video:
    return world.drawn if drawn else world.video


class DrawnVideo(Video):
    """A script drawn frame by frame on demand."""

    frames_decoded = 0

    def __init__(self, script: Script) -> None:
        from atlaskit.benchmarks.atlasworld.renderer import SceneRenderer

        self.name = f"drawn world {script.seed}"
        self.duration_s, self.fps, self.size = script.duration_s, float(script.fps), script.size
        self.fingerprint = f"drawn-{script.name}"
        self.subtitles = Subtitles(tuple(Line(line.start_s, line.end_s, line.text) for line in script.lines))
        self._script, self._painter = script, SceneRenderer(script)

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
    categories: Sequence[str] | None = None,
    size: tuple[int, int] = (640, 360),
    fps: int = 12,
    clip_s: int | None = None,
    directory: str | Path = "cache/atlasworld",
    progress: bool = False,
) -> World:
    """Return the world of a seed: a video of `duration_s` seconds (10 s to 10 h) and up to `questions` questions.

    Deterministic: the same seed gives the same video and questions. Films are made when `world.video` is first used,
    in folders under `directory`, and reused after that. `categories` are those of the questions: any of WRITERS in
    `questions`, CATEGORIES if not given.

    Up to 20 minutes, the video is one film. A longer one is a playlist of clips of `clip_s` seconds (a whole 10 to
    300; 150 if not given), its duration rounded down to whole clips: four clips of the world's own, at random places,
    hold all that is asked about, and four that all worlds share fill the rest. The own clips depend on the seed and
    `clip_s` alone, so the same questions are asked at any duration. With `clip_s` given, a short video is made of
    clips as well, if eight fit. Raises InputError for a video that cannot be made.
    """
    check_picture(duration_s, fps, size)
    picture, home = f"{size[0]}x{size[1]}-{fps}fps", Path(directory)
    if clip_s is None and duration_s <= LONGEST_S:
        script = write_script(seed, duration_s, fps=fps, size=size)
        clip = Clip(script, home / f"seed{seed}-{duration_s:g}s-{picture}")
        asked = write_questions(script, questions, seed, categories=categories)
        return World(script, asked, (clip,), progress=progress)
    clip_s = CLIP_S if clip_s is None else clip_s
    reel = write_reel(seed, duration_s, clip_s, fps=fps, size=size)
    own, bank = (home / f"{name}-clips-{clip_s}s-{picture}" for name in (f"seed{seed}", "bank"))
    clips = tuple(Clip(script, own if index < OWN else bank) for index, script in enumerate(reel.clips))
    asked = write_questions(reel.script, questions, seed, reel.asked, categories)
    return World(reel.script, asked, clips, reel.order, progress)
