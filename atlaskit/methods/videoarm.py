"""`videoarm`: a controller looks at a video from coarse to fine, without describing it first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from atlaskit.agents.settings import check_writes_freely
from atlaskit.agents.verbalize import MOST_SUBTITLES, quote_line
from atlaskit.environment.grid import listed
from atlaskit.environment.question import Question, Span
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Fit
from atlaskit.errors import check_whole
from atlaskit.methods.clips import CLIP_S, ClipSettings
from atlaskit.methods.controller import Handler, Outcome, converse, notes_of
from atlaskit.methods.prompts import EvidenceCall
from atlaskit.methods.prompts.controller import Tool
from atlaskit.methods.prompts.inspect import InspectCall
from atlaskit.methods.prompts.videoarm import ANALYZE, NAVIGATOR, SNAP, TRANSCRIPT, SnapshotCall, videoarm_tools
from atlaskit.methods.ranges import SHEETS_K, check_frames, merged, objection, ranges_text, sheets_over, spans_of
from atlaskit.methods.run import MethodRun, MethodSettings
from atlaskit.models.protocol import Model
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.subtitles import Line


def videoarm(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    clip_s: float = CLIP_S,
    turns: int = 10,
    frames: int = 50,
    size: int | None = None,
    fit: Fit | None = None,
    subtitles: bool = True,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer by a controller that looks at the video from coarse to fine; nothing is prepared.

    After VideoARM (Yin et al., 2025). Per question, a controller takes up to 10 turns, one action
    each: `scene_snapper` shows it 32 to 144 frames of ranges of clips, `transcript` tells it what
    is said in them, `clip_analyzer` answers a question from up to 50 frames of a range, `finish`
    ends. Its memory is what it thought and was told: a sentence on each snapshot, transcripts and
    analyses. Each turn starts from this memory, and shows the images of the latest snapshot alone.
    The answer is drawn from the memory and these images.

    Unlike the original: transcripts are the video's subtitles (`transcribe` makes them of sound);
    without any, the action does not exist. Clips of 10 s give the ranges numbers, so that no time
    can be made up. Frames come on whole sheets of up to 4×4, so 30 to 150 are 32 to 144, and 50 are
    48. The reason for an action is the thought before it. The sentence on a snapshot is asked for
    without the question, so that questions share it. The last turn can only finish, and is not
    asked for. Replies follow a schema.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        clip_s: Length in seconds of the clips by which ranges are named.
        turns: The most turns of the controller, the finishing one included.
        frames: The most frames that `clip_analyzer` shows.
        size: Width and height of a frame's cell in pixels; None for what suits the model.
        fit: How a frame fills its cell: see `ak.Search`.
        subtitles: Whether the controller may ask for transcripts.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule, or the model writes no free text.
        Unreachable: If the model never answers.

    Examples:
        >>> ak.baselines.videoarm(video, question, vlm=vlm).settings["method"]
        'videoarm'
    """
    check_whole("turns", turns)
    check_frames(frames)
    run = MethodRun(video, question, choices, vlm, **settings)
    check_writes_freely(run.vlm, "videoarm")
    shown = ClipSettings.of(run, clip_s, size, fit, subtitles, k=SHEETS_K[0])
    run.begin("videoarm", {**shown.recorded(), "turns": turns, "frames": frames})
    clips = shown.spans(run)
    eyes = Eyes(run, shown, clips, frames)
    taken = converse(run, "videoarm", NAVIGATOR, len(clips), eyes.tools(), turns=turns, keep_views=1)
    memory = notes_of(taken, thoughts=True)
    latest = next((turn.views for turn in reversed(taken) if turn.views), ())
    return run.decide(EvidenceCall(run.question, run.video.duration_s, memory, latest).request())


@dataclass(frozen=True)
class Eyes:
    """What serves the controller's actions in one run."""

    run: MethodRun
    shown: ClipSettings
    clips: tuple[Span, ...]
    """The interval of each clip."""
    frames: int

    def tools(self) -> Mapping[Tool, Handler]:
        """Return the controller's actions with what serves each."""
        handlers = {SNAP: self.snap, TRANSCRIPT: self.hear, ANALYZE: self.analyze}
        has_speech = bool(self.shown.lines(self.run, (0.0, self.run.video.duration_s)))
        return {tool: handlers[tool.name] for tool in videoarm_tools(len(self.clips), self.frames, has_speech)}

    def snap(self, action: Any) -> Outcome:
        """Show frames of ranges of clips, with a sentence on them that outlasts the images."""
        if wrong := objection(action.ranges):
            return Outcome(wrong)
        ranges = merged((each.first, each.last) for each in action.ranges)
        spans = spans_of(ranges, self.clips)
        views = self._views(spans, action.frames)
        reply = self.run.call(SnapshotCall(views).request(), spans)
        parts = [f"Sheet {number}: clips {self._clips_in(view)}." for number, view in enumerate(views, 1)]
        note = "No note was taken of them." if reply is None else reply.caption
        return Outcome("\n".join([*parts, f"{ranges_text(ranges, self.clips)}: {note}"]), views, spans)

    def hear(self, action: Any) -> Outcome:
        """Tell what is said in ranges of clips, unless it is too much."""
        if wrong := objection(action.ranges):
            return Outcome(wrong)
        ranges = merged((each.first, each.last) for each in action.ranges)
        spans, where = spans_of(ranges, self.clips), ranges_text(ranges, self.clips)
        rows = self._lines(ranges)
        if not rows:
            return Outcome(f"{where}: nothing is said.", intervals_s=spans)
        if (length := sum(map(len, rows))) > MOST_SUBTITLES:
            share = MOST_SUBTITLES / length
            return Outcome(f"Not possible: {where} hold too many words. Name at most {share:.0%} of these clips.")
        return Outcome("\n".join([f"{where}:", *rows]), intervals_s=spans)

    def analyze(self, action: Any) -> Outcome:
        """Answer a question from frames of a range of clips."""
        if wrong := objection([action.range]):
            return Outcome(wrong)
        ranges = [(action.range.first, action.range.last)]
        spans, where = spans_of(ranges, self.clips), ranges_text(ranges, self.clips)
        call = InspectCall(action.question, self._views(spans, self.frames), "confidence")
        reply = self.run.call(call.request(), spans)
        if reply is None:
            return Outcome(f"{where} could not be looked at this time.")
        return Outcome(f"{where}, sure to {reply.confidence:.0%}: {reply.answer}", intervals_s=spans)

    def _views(self, spans: Sequence[Span], frames: int) -> tuple[View, ...]:
        return tuple(self.shown.view(self.run, grid) for grid in sheets_over(spans, frames))

    def _clips_in(self, view: View) -> str:
        """Return the numbers of the clips that a sheet shows frames of."""
        start_s, end_s = view.grid.start_s, view.grid.end_s
        return listed([number for number, clip in enumerate(self.clips) if clip[0] < end_s and start_s < clip[1]])

    def _lines(self, ranges: Sequence[tuple[int, int]]) -> list[str]:
        """Return the lines of ranges of clips, each once, after the first clip that has it."""
        first: dict[Line, int] = {}
        for start, end in ranges:
            for number in range(start, end + 1):
                for line in self.shown.lines(self.run, self.clips[number]):
                    first.setdefault(line, number)
        return [f"Clip {number}: {quote_line(line)}" for line, number in first.items()]
