"""`videoagent`: look at a few frames, then at those that the question still needs (VideoAgent)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Unpack

from atlaskit.agents.settings import check_writes_freely
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question, Span
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Fit, are_readable
from atlaskit.errors import check_whole
from atlaskit.methods.prompts import JudgeCall, PickCall
from atlaskit.methods.run import MethodRun, MethodSettings
from atlaskit.methods.stills import Album, Note, StillSettings, moments_of, rows_of
from atlaskit.models.protocol import Model, Request
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo

SEGMENT_K = 4
"""A segment is shown on a sheet of 4×4 frames."""
SHORTEST_S = 1.0
"""A segment between two frames that is shorter is not looked into."""
CERTAIN = 3
"""How sure an answer is that ends the search."""


def videoagent(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    frames: int = 5,
    rounds: int = 3,
    segments: int = 5,
    size: int | None = None,
    fit: Fit | None = None,
    subtitles: bool = True,
    context: int = 100_000,
    threads: int = 4,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer from captions of a few frames, and look for more in rounds (VideoAgent, 2024).

    First there are `frames` frames at equal steps. In each round the model answers from their
    descriptions and says how sure it is, from 1 to 3. Unless it is certain, it names segments
    between the frames that it has seen, each with a description of what to look for; in each of
    them the frame that fits best is picked, and described. The last round answers.

    A frame's description depends on no question, so frames that several questions look at are paid
    once.

    What differs from the original: a frame is picked by the model itself, from a sheet of 4×4
    frames of the segment, not by an image encoder, so that no second model is needed. The first
    frames are those at the middles of equal parts, as in `uniform`, and the stretches before the
    first and after the last frame are segments too. One call answers, judges the answer and names
    the segments, where the original makes three. The answer is asked in a call of its own, in the
    form that all methods share; the last round makes only this call. Subtitles at the frames' times
    are told, where the original has none.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        frames: Frames that are looked at first.
        rounds: The most rounds, the answer included.
        segments: The most segments that are looked into in a round, one frame each.
        size: Width and height of a frame in pixels; None for what suits the model.
        fit: How a frame fills its cell: see `ak.Search`.
        subtitles: Whether the model gets the subtitle lines at the frames' times.
        context: Tokens of descriptions that the answer may be drawn from: see `captions`.
        threads: Frames that are picked or described at the same time.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule, or the model writes no free text.
        Unreachable: If the model never answers.

    Examples:
        >>> ak.baselines.videoagent(video, question, vlm=vlm).settings["method"]
        'videoagent'
    """
    for name, number in (("frames", frames), ("rounds", rounds), ("segments", segments), ("context", context)):
        check_whole(name, number)
    run = MethodRun(video, question, choices, vlm, **settings)
    check_writes_freely(run.vlm, "videoagent")
    shown = StillSettings.of(run, size, fit, subtitles, k=SEGMENT_K)
    album = Album(run, shown, threads)
    own = {"frames": frames, "rounds": rounds, "segments": segments, "context": context}
    run.begin("videoagent", {**shown.recorded(), **own})
    part_s = run.video.duration_s / frames
    notes = album.describe((number + 0.5) * part_s for number in range(frames))
    for _ in range(rounds - 1):
        wanted = _judge(run, notes, segments)
        picked_s = _pick(run, shown, wanted, threads)
        if not picked_s:
            break
        notes = album.describe([*(note.time_s for note in notes), *picked_s])
    return run.decide(run.text_request(rows_of(notes), context))


@dataclass(frozen=True)
class Wanted:
    """A frame that is looked for."""

    segment: Span
    look_for: str


@dataclass(frozen=True)
class Segment:
    """A segment in which a frame is looked for, on its sheet."""

    wanted: Wanted
    view: View
    cells: tuple[int, ...]
    """The cells that can be picked."""


def between(duration_s: float, notes: Sequence[Note]) -> tuple[Span, ...]:
    """Return the segments between frames, and before and after them, in order of time.

    Args:
        duration_s: Duration of the video in seconds.
        notes: The notes of the frames, in order of time.
    """
    edges_s = [0.0, *(note.time_s for note in notes), duration_s]
    return tuple(span for span in pairwise(edges_s) if span[1] - span[0] >= SHORTEST_S)


def _judge(run: MethodRun, notes: Sequence[Note], most: int) -> list[Wanted]:
    """Ask for an answer; return what to look for, nothing if it is certain or the call failed."""
    segments = between(run.video.duration_s, notes)
    if not segments:
        return []
    rows = tuple((note.time_s, note.row) for note in notes)
    call = JudgeCall(run.question, run.video.duration_s, rows, segments, most)
    answer: Any = run.call(call.request(), moments_of(run.video, notes))
    if answer is None or answer.judgement.sure == CERTAIN:
        return []
    wanted = {each.segment: each.look_for for each in reversed(answer.judgement.look)}  # the first one counts
    return [Wanted(segments[number], look_for) for number, look_for in sorted(wanted.items())]


def _pick(run: MethodRun, shown: StillSettings, wanted: Sequence[Wanted], threads: int) -> list[float]:
    """Return the time of the frame that fits best in each segment, in seconds."""
    segments = []
    for each in wanted:
        view = shown.sheet(run, Grid(*each.segment, SEGMENT_K))
        readable = are_readable(run.video, view.moments, view.cell_size, view.fit, run.cache)
        if cells := tuple(index for index, is_readable in enumerate(readable) if is_readable):
            segments.append(Segment(each, view, cells))

    def request(segment: Segment) -> Request:
        return PickCall(run.question, segment.wanted.look_for, segment.view, segment.cells).request()

    picked_s = []
    spans, told = (lambda each: [each.wanted.segment]), (lambda each: each.wanted.look_for)
    for segment, answer in run.answers(segments, request, spans, threads, told):
        picked_s.append(segment.view.moments[answer.cell])
    return picked_s
