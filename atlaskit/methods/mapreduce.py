"""`mapreduce`: reads all scenes in parallel, chooses a few, looks at them, and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from atlaskit.agents.settings import check_writes_freely
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question, Span
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Fit
from atlaskit.errors import check_whole
from atlaskit.methods.characters import with_names
from atlaskit.methods.clips import CLIP_S, ClipSettings, describe_clips
from atlaskit.methods.prompts import GoalCall, MapCall, OverviewCall, ReduceCall, SceneLookCall
from atlaskit.methods.prompts.mapreduce import MOST_SEGMENTS, SUREST
from atlaskit.methods.run import MethodRun, MethodSettings
from atlaskit.methods.scenes import Scene, clips_as_scenes, middle_frames, scenes_of
from atlaskit.models.protocol import Model, Request
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo

PER_CHUNK = 32
"""Scenes that one call reads."""
MOST_CANDIDATES = 64
"""Named scenes that the choice is made among: those of the surest readers."""
LOOK_K = 4
"""Each half of a chosen scene is shown on a sheet of 4×4: 32 frames in all."""


def mapreduce(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    clip_s: float = CLIP_S,
    longest: int = 12,
    size: int | None = None,
    fit: Fit | None = None,
    subtitles: bool = True,
    context: int = 100_000,
    threads: int = 4,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer by map and reduce over the scenes of a video (MR. Video, Pang and Wang, 2025).

    Once per video: a record of each clip; at each cut between two clips, whether the scene
    continues; a caption and the characters of each scene of several clips; names that are
    consistent across scenes, by pairwise merges of the lists of characters. Per question: each
    chunk of 32 scenes, with the middle frame of each, yields the scenes that bear on the question
    (map); of these, up to 10 are chosen, and whether the question is local or global (reduce); a
    local and a global question are made (goal); the model looks at 32 frames of each chosen scene
    with the local question and, if the scope is global, at one frame of all with the global one;
    the answer comes from the text of all that. With S scenes, these are at most ⌈S/32⌉ + 14 calls.

    What differs from the original: clips are described by the records that all methods share; a
    scene ends after `longest` clips even if it continues; one model does every part; chosen scenes
    are looked at closely also where the question is global, since frames of their middles alone
    hide what is brief; the choice is made among 64 named scenes at most; a scene's text in a
    prompt is cut off after 2,000 characters. If no scene is named, the answer comes from what the
    readers wrote.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        clip_s: Length of a clip in seconds.
        longest: The most clips of a scene.
        size: Width and height of a frame's cell in pixels; None for what suits the model.
        fit: How a frame fills its cell: see `ak.Search`.
        subtitles: Whether the model gets the subtitle lines.
        context: Tokens of text that the answer may be drawn from, at four characters each. Those
            that do not fit are cut off, and the result's `failure` says so.
        threads: Calls that are made at the same time.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule, or the model writes no free text.
        Unreachable: If the model never answers.

    Examples:
        >>> ak.baselines.mapreduce(video, question, vlm=vlm).settings["method"]
        'mapreduce'
    """
    check_whole("longest", longest)
    check_whole("context", context)
    run = MethodRun(video, question, choices, vlm, **settings)
    check_writes_freely(run.vlm, "mapreduce")
    shown = ClipSettings.of(run, clip_s, size, fit, subtitles, k=LOOK_K)
    run.begin("mapreduce", {**shown.recorded(), "longest": longest, "context": context})
    clips = describe_clips(run, shown, threads=threads)
    scenes = with_names(run, scenes_of(run, shown, clips, longest, threads), threads)
    return _Question(run, shown, context, threads).answer(scenes)


def mapreduce_clips(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    clip_s: float = CLIP_S,
    size: int | None = None,
    fit: Fit | None = None,
    subtitles: bool = True,
    context: int = 100_000,
    threads: int = 4,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer as `mapreduce` does, with each clip as a scene.

    That is cheaper per video: no calls about cuts, and none that describe scenes. Since there are
    more scenes, more chunks are read per question.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        clip_s: Length of a clip, and so of a scene, in seconds.
        size: Width and height of a frame's cell in pixels; None for what suits the model.
        fit: How a frame fills its cell: see `ak.Search`.
        subtitles: Whether the model gets the subtitle lines.
        context: Tokens of text that the answer may be drawn from: see `mapreduce`.
        threads: Calls that are made at the same time.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule, or the model writes no free text.
        Unreachable: If the model never answers.

    Examples:
        >>> ak.baselines.mapreduce_clips(video, question, vlm=vlm).settings["method"]
        'mapreduce-clips'
    """
    check_whole("context", context)
    run = MethodRun(video, question, choices, vlm, **settings)
    check_writes_freely(run.vlm, "mapreduce-clips")
    shown = ClipSettings.of(run, clip_s, size, fit, subtitles, k=LOOK_K)
    run.begin("mapreduce-clips", {**shown.recorded(), "context": context})
    clips = describe_clips(run, shown, threads=threads)
    return _Question(run, shown, context, threads).answer(with_names(run, clips_as_scenes(clips), threads))


@dataclass(frozen=True)
class Finding:
    """What was found in one chunk of scenes."""

    scenes: tuple[Scene, ...]
    reasoning: str
    named: tuple[int, ...]
    """Numbers of the scenes that bear on the question."""
    confidence: int
    """From 1 to SUREST."""

    @property
    def row(self) -> str:
        """The finding as a paragraph of a prompt."""
        named = ", ".join(map(str, self.named)) or "none"
        first, last = self.scenes[0].index, self.scenes[-1].index
        return f"Scenes {first}–{last}: {self.reasoning} Named: {named}; sure to {self.confidence} of {SUREST}."


@dataclass(frozen=True)
class _Question:
    """The part of the method that depends on the question."""

    run: MethodRun
    shown: ClipSettings
    context: int
    threads: int

    def answer(self, scenes: Sequence[Scene]) -> Result:
        """Return the result that the scenes of the video give."""
        findings = self._map(scenes)
        chosen, is_global = self._reduce(findings)
        seen, overview = self._look(chosen, is_global)
        parts = ["The scenes that were chosen:"] if chosen else []
        for scene in chosen:
            parts += [scene.row, *([f"Looked at closely: {seen[scene.index]}"] if scene.index in seen else [])]
        parts += [f"The scenes together: {overview}"] if overview else []
        parts += ["What was found, by part of the video:", *(each.row for each in findings)] if findings else []
        text = "\n".join(parts or [scene.row for scene in scenes])
        return self.run.decide(self.run.text_request(text, self.context))

    def _map(self, scenes: Sequence[Scene]) -> list[Finding]:
        """Return what each chunk of scenes yields."""

        def request(chunk: tuple[Scene, ...]) -> Request:
            numbers, rows = zip(*((scene.index, scene.row) for scene in chunk), strict=True)
            sheets = middle_frames(self.run, self.shown, chunk)
            return MapCall(self.run.question, numbers, rows, sheets).request()

        chunks = [tuple(scenes[start : start + PER_CHUNK]) for start in range(0, len(scenes), PER_CHUNK)]
        findings = []

        def span(chunk: tuple[Scene, ...]) -> list[Span]:
            return [(chunk[0].span[0], chunk[-1].span[1])]

        for chunk, answer in self.run.answers(chunks, request, span, self.threads):
            named = tuple(sorted(set(answer.segments)))
            findings.append(Finding(chunk, answer.reasoning, named, answer.confidence))
        return findings

    def _reduce(self, findings: Sequence[Finding]) -> tuple[list[Scene], bool]:
        """Return the scenes to look at, and whether the question is global."""
        surest = sorted(findings, key=lambda each: -each.confidence)  # of equals the earlier first
        named = [scene for each in surest for scene in each.scenes if scene.index in each.named][:MOST_CANDIDATES]
        if not named:
            return [], False
        by_index = {scene.index: scene for scene in sorted(named, key=lambda scene: scene.index)}
        told, rows = (tuple(each.row for each in some) for some in (findings, by_index.values()))
        call = ReduceCall(self.run.question, self.run.video.duration_s, told, tuple(by_index), rows)
        answer = self.run.call(call.request(), [scene.span for scene in by_index.values()])
        if answer is None:  # what was named most surely is still known
            return [scene for scene in by_index.values() if scene in named[:MOST_SEGMENTS]], False
        return [by_index[index] for index in sorted(set(answer.segments))], answer.scope == "global"

    def _look(self, chosen: Sequence[Scene], is_global: bool) -> tuple[dict[int, str], str]:
        """Return what each scene shows, by its number, and what all of them show together."""
        rows, spans = tuple(scene.row for scene in chosen), [scene.span for scene in chosen]
        goal = self.run.call(GoalCall(self.run.question, rows).request(), spans) if chosen else None
        if goal is None:
            return {}, ""

        def request(scene: Scene) -> Request:
            return SceneLookCall(self.run.question, goal.local_question, scene.row, self._views(scene)).request()

        seen = {}
        told = goal.local_question
        for scene, answer in self.run.answers(
            chosen, request, lambda scene: [scene.span], self.threads, lambda _: told
        ):
            seen[scene.index] = answer.seen
        if not is_global:
            return seen, ""
        (sheet,) = middle_frames(self.run, self.shown, chosen)
        call = OverviewCall(self.run.question, goal.global_question, rows, sheet)
        overview = self.run.call(call.request(), spans, goal.global_question)
        return seen, overview.seen if overview else ""

    def _views(self, scene: Scene) -> tuple[View, ...]:
        start_s, end_s = scene.span
        middle_s = (start_s + end_s) / 2
        grids = Grid(start_s, middle_s, LOOK_K), Grid(middle_s, end_s, LOOK_K)
        return tuple(self.shown.view(self.run, grid) for grid in grids)
