"""`world` and `World`: a synthetic video made from a seed, its script, and questions about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from atlaskit.benchmarks.case import Case
from atlaskit.environment.question import Question, Span
from atlaskit.errors import InputError, check_flags
from atlaskit.video.file import VideoFile
from atlaskit.video.opening import open_video
from atlaskit.video.playlist import Playlist
from atlaskit.video.video import Video
from atlasworld.anomaly import draw_rule, write_odd
from atlasworld.clip import Clip
from atlasworld.generator import LONGEST_S, write_script
from atlasworld.long_timeline import CLIP_S, OWN_CLIPS, join, played, write_long_timeline
from atlasworld.questions import may_be_absent, write_absent, write_questions, write_recurring
from atlasworld.timeline import Script, WorldEvent, check_picture, names_of, span_of

FOLDER = re.compile(
    r"seed(?P<seed>\d+)-(clips-(?P<clip_s>\d+)s|[\d.]+s)"
    r"-(?P<width>\d+)x(?P<height>\d+)-(?P<fps>\d+)fps"
)
"""The name of the folder that holds a world's own films."""


@dataclass(frozen=True)
class World:
    """A synthetic video together with its script, so that the truth is known.

    Examples:
        >>> world = aw.world(seed=1, duration_s=60, size=(160, 90))
        >>> [case.question for case in world.cases(drawn=True)] == [*world.questions]
        True
    """

    script: Script
    questions: tuple[Question, ...]
    clips: tuple[Clip, ...]
    """The distinct clips of the video: one, or several, some of which play more than once."""
    order: tuple[int, ...] = (0,)
    """Index of the clip at each position of the video."""
    progress: bool = False
    """Whether encoding shows a progress bar."""

    @property
    def name(self) -> str:
        """Hash of the script's content, 16 hex digits."""
        return self.script.name

    @property
    def directory(self) -> Path:
        """Directory of the world's own encoded videos."""
        return self.clips[0].directory

    @cached_property
    def video(self) -> Video:
        """The world as a file or a playlist of files; missing files are encoded on first access."""
        return self._join([clip.encoded(self.progress) for clip in self.clips])

    @cached_property
    def drawn(self) -> Video:
        """The world with frames drawn on demand, without a codec, for tests and training."""
        return self._join(map(Clip.drawn, self.clips))

    @cached_property
    def stand_in(self) -> Video:
        """The world for a replay of runs about `video`: drawn on demand, nothing is encoded.

        It has the fingerprint of `video`, and images of it are not cached.
        """
        return self._join(map(Clip.stand_in, self.clips))

    @cached_property
    def several(self) -> tuple[Question, ...]:
        """Questions with several intervals as answers: one for each object that appears again.

        They are not among `questions`, which must stay the same for a seed.
        """
        own = self.clips[:OWN_CLIPS] if len(self.order) > 1 else self.clips
        names = set[str]()
        for clip in own:
            names.update(names_of(clip.script.events))
        return write_recurring(self.script, names)

    @cached_property
    def absent(self) -> tuple[Question, ...]:
        """Questions about things that the script lacks, as many as there are in `questions`."""
        return write_absent(self.script, len(self.questions), self.script.seed)

    @property
    def summary(self) -> Question:
        """The task of summarising the video, whose answer is the intervals of all events."""
        spans = tuple(map(span_of, self.script.events))
        text = "Summarise the video: keep frames that show as many different objects as possible."
        return Question(
            text,
            kind="when",
            answer=spans,
            id=f"atlasworld-{self.script.seed}-summary",
            several=True,
        )

    def cases(
        self, *, drawn: bool = False, several: bool = False, absent: bool = False
    ) -> tuple[Case, ...]:
        """Return the world's questions as cases for `evaluate`.

        Args:
            drawn: Whether the cases open `drawn` instead of `video`.
            several: Whether to ask the questions in `several` instead of those in `questions`.
            absent: Whether "not there" is a possible answer, and one of the questions in `absent`
                follows each question.
        """
        facts = {"duration_s": self.script.duration_s, "seed": self.script.seed}
        opened = partial(_open, self, drawn=drawn)
        asked = self.several if several else self.questions
        if absent:
            pairs = zip_longest(map(may_be_absent, asked), self.absent[: len(asked)])
            asked = tuple(filter(None, chain.from_iterable(pairs)))
        return tuple(Case(question, self.name, opened, facts, self) for question in asked)

    def question(self, text: str) -> Question:
        """Return the world's own question with this text, with its answer.

        Raises:
            InputError: The world has no such question.
        """
        for question in self.questions:
            if question.text == text:
                return question
        for question in (*self.several, *self.absent):  # written on first use
            if question.text == text:
                return question
        raise InputError(
            f"The question must be one of this world's {len(self.questions)} questions, whose "
            f"answers are known; got {text!r}."
        )

    def targets(self, question: Question) -> list[WorldEvent]:
        """Return the events that hold a question's evidence, the deciding event first."""
        return [self._events[span] for span in question.positions_s]

    @cached_property
    def _events(self) -> dict[Span, WorldEvent]:
        return {span_of(event): event for event in self.script.events}

    def _join(self, videos: Iterable[Video]) -> Video:
        parts = played(tuple(videos), self.order)
        if len(parts) == 1:
            return parts[0]
        return open_video(parts)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out open videos, so that a world can be pickled for another process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        clips = f"{len(self.order)} clips, " if len(self.order) > 1 else ""
        return (
            f"<AtlasWorld {self.script.seed}: {self.script.duration_s:g} s, "
            f"{clips}{len(self.questions)} questions>"
        )


def _with_anomaly(world: World, count: int) -> World:
    """Return the world of the same seed with one object that does not belong."""
    own = range(OWN_CLIPS if len(world.order) > 1 else 1)
    plain = [clip.script for clip in world.clips]
    seed = world.script.seed
    rule = draw_rule(plain, own, seed)
    scripts = rule.applied(plain)
    script = scripts[0]
    if len(world.order) > 1:
        script = join(played(scripts, world.order), seed)
    scenes = set[str]()
    clips = list[Clip]()
    for index, (changed, clip) in enumerate(zip(scripts, world.clips, strict=True)):
        mark = rule.common  # worlds whose objects share this value use the same shared clips
        if index in own:
            mark = "odd"
            for event in changed.events:
                scenes.add(changed.scenes[event.scene].name)
        folder = clip.directory.with_name(f"{clip.directory.name}-{mark}")
        clips.append(Clip(changed, folder))
    questions = write_odd(script, scenes, count)
    return replace(world, script=script, questions=questions, clips=tuple(clips))


def _open(world: World, *, drawn: bool) -> Video:
    return world.drawn if drawn else world.video


def world(
    seed: int = 0,
    duration_s: float = 600.0,
    *,
    questions: int = 24,
    categories: Sequence[str] | None = None,
    size: tuple[int, int] = (640, 360),
    fps: int = 12,
    clip_s: int | None = None,
    anomaly: bool = False,
    directory: str | Path = "cache/atlasworld",
    progress: bool = False,
) -> World:
    """Return the world of a seed: a video and questions about it, always the same for one seed.

    Files are encoded when `world.video` is first used, in folders under `directory`, and reused
    later. Up to 20 minutes, the video is one file. A longer video is a playlist of clips: four
    clips of the world's own, at random positions, hold everything that questions ask about, and
    four clips that all worlds share fill the rest. The own clips depend only on `seed` and
    `clip_s`, so the same questions are asked at any duration.

    Args:
        seed: Seed of the script and the questions.
        duration_s: Duration in seconds, 10 s to 10 h; rounded down to whole clips if there are any.
        questions: Largest number of questions; a short video has fewer.
        categories: Categories of the questions, any of `questions.WRITERS`; CATEGORIES if None.
        size: Width and height of the frames, in pixels.
        fps: Frames per second.
        clip_s: Length of a clip, an integer from 10 to 300 s; 150 if None. If given, a short video
            is made of clips too, and must hold eight of them.
        anomaly: Whether all objects but one share a colour or a shape. There are then at most two
            questions: in which scene the odd object is, and when it is shown. The voice names no
            object.
        directory: Folder under which the files are written.
        progress: Whether encoding shows a progress bar.

    Raises:
        InputError: An argument breaks one of the rules above.

    Examples:
        >>> world = aw.world(seed=1, duration_s=60, questions=3, size=(160, 90))
        >>> len(world.questions)
        3
        >>> world.drawn.duration_s  # drawn on demand; world.video is a file
        60.0
    """
    check_picture(duration_s, fps, size)
    check_flags(anomaly=anomaly, progress=progress)
    if anomaly:
        if categories is not None:
            raise InputError(
                "A world with an anomaly has its own two questions: leave `categories` out."
            )
        plain = world(
            seed,
            duration_s,
            size=size,
            fps=fps,
            clip_s=clip_s,
            directory=directory,
            progress=progress,
        )
        return _with_anomaly(plain, questions)
    frame_format = f"{size[0]}x{size[1]}-{fps}fps"
    home = Path(directory)
    if clip_s is None and duration_s <= LONGEST_S:
        script = write_script(seed, duration_s, fps=fps, size=size)
        clip = Clip(script, home / f"seed{seed}-{duration_s:g}s-{frame_format}")
        return World(
            script,
            write_questions(script, questions, seed, categories=categories),
            (clip,),
            progress=progress,
        )
    clip_s = CLIP_S if clip_s is None else clip_s
    timeline = write_long_timeline(seed, duration_s, clip_s, fps=fps, size=size)
    clips = list[Clip]()
    for index, script in enumerate(timeline.clips):
        owner = f"seed{seed}" if index < OWN_CLIPS else "bank"
        clips.append(Clip(script, home / f"{owner}-clips-{clip_s}s-{frame_format}"))
    script = timeline.script
    written = write_questions(script, questions, seed, timeline.own_events, categories)
    return World(script, written, tuple(clips), timeline.order, progress)


def world_of(video: Video) -> World | None:
    """Return the world that a video shows, if it was opened from the world's own files.

    The names of a world's folders and files hold everything that is needed to draw it again, with
    the questions that it has by default. The manifest beside each file proves that the file is of
    that world. The result is None if the video shows no world, or one with an anomaly, whose
    folders have other names.
    """
    parts = video.parts if isinstance(video, Playlist) else (video,)
    files = list[Path]()
    folder: re.Match[str] | None = None
    for part in parts:
        if isinstance(part, VideoFile) and part.path is not None:
            files.append(part.path)
            folder = folder or FOLDER.fullmatch(part.path.absolute().parent.name)
    if folder is None or len(files) < len(parts):
        return None
    clip_s = int(folder["clip_s"]) if folder["clip_s"] else None
    size = int(folder["width"]), int(folder["height"])
    home = files[0].absolute().parents[1]
    try:
        found = world(
            int(folder["seed"]),
            video.duration_s,
            size=size,
            fps=int(folder["fps"]),
            clip_s=clip_s,
            directory=home,
        )
    except InputError:
        return None
    wanted = played(found.clips, found.order)
    is_world = len(wanted) == len(files) and all(map(Clip.is_file, wanted, files))
    return found if is_world else None
