"""`dvd`: a controller browses and searches records of a video's clips, and has clips inspected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from atlaskit.agents.settings import check_writes_freely
from atlaskit.environment.grid import listed
from atlaskit.environment.question import Question, Span
from atlaskit.environment.tiles import Fit
from atlaskit.errors import check_whole
from atlaskit.methods.archive import Archive, caption_rows
from atlaskit.methods.clips import CLIP_S, Clip, ClipSettings, describe_clips
from atlaskit.methods.controller import Handler, Outcome, converse, notes_of
from atlaskit.methods.prompts import EvidenceCall
from atlaskit.methods.prompts.controller import Tool
from atlaskit.methods.prompts.dvd import RESEARCHER, BrowseCall, dvd_tools
from atlaskit.methods.prompts.inspect import InspectCall
from atlaskit.methods.ranges import SHEETS_K, check_frames, merged, objection, ranges_text, sheets_over, spans_of
from atlaskit.methods.run import MethodRun, MethodSettings
from atlaskit.models.protocol import Model
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo

LONGEST_ROW = 1_200
"""Characters of a record that a search tells; the rest is cut, to keep conversations short."""


def dvd(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    clip_s: float = CLIP_S,
    turns: int = 15,
    top: int = 300,
    frames: int = 50,
    size: int | None = None,
    fit: Fit | None = None,
    subtitles: bool = True,
    threads: int = 4,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer by a controller that browses and searches records of clips, and inspects clips.

    After Deep Video Discovery (Zhang et al., 2025). One record per clip is paid once per video.
    Then, per question, a controller takes up to 15 turns, one action each: `global_browse` answers
    from up to 300 captions, `clip_search` gives up to 16 records, `frame_inspect` answers from up
    to 50 frames of some clips, `finish` ends. The answer is drawn from what it was told.

    Unlike the original: the search ranks by words (BM25), not embeddings. Subjects are merged
    across clips by their name alone, without a call, so that two people of one name are one, with
    an appearance each. Frames come on whole sheets, so 50 are 48, and every clip is covered, none
    of its frames dropped. `global_browse` picks its captions by the query where there are more than
    300 (50 minutes), not the first ones. The last turn can only finish, and is not asked for. A
    record is told once; later searches name it by its number. Replies follow a schema, so no reply
    is lost for its form, and clips are named by number, never by times.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        clip_s: Length of a clip in seconds.
        turns: The most turns of the controller, the finishing one included.
        top: The most captions that `global_browse` reads.
        frames: The most frames that `frame_inspect` shows, on sheets of up to 4×4.
        size: Width and height of a frame's cell in pixels; None for what suits the model.
        fit: How a frame fills its cell: see `ak.Search`.
        subtitles: Whether the records and the search include the subtitles.
        threads: Clips that are described at the same time.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule, or the model writes no free text.
        Unreachable: If the model never answers.

    Examples:
        >>> ak.baselines.dvd(video, question, vlm=vlm).settings["method"]
        'dvd'
    """
    check_whole("turns", turns)
    check_whole("top", top)
    check_frames(frames)
    run = MethodRun(video, question, choices, vlm, **settings)
    check_writes_freely(run.vlm, "dvd")
    shown = ClipSettings.of(run, clip_s, size, fit, subtitles, k=SHEETS_K[0])
    run.begin("dvd", {**shown.recorded(), "turns": turns, "top": top, "frames": frames})
    clips = shown.spans(run)
    desk = Desk(run, shown, clips, Archive(describe_clips(run, shown, threads=threads)), top, frames)
    taken = converse(run, "dvd", RESEARCHER, len(clips), desk.tools(), turns=turns)
    return run.decide(EvidenceCall(run.question, run.video.duration_s, notes_of(taken)).request())


@dataclass(frozen=True)
class Desk:
    """What serves the controller's actions in one run."""

    run: MethodRun
    shown: ClipSettings
    clips: tuple[Span, ...]
    """The interval of each clip."""
    archive: Archive
    top: int
    frames: int
    told: set[int] = field(default_factory=set)
    """Clips whose records the controller has been given."""

    def tools(self) -> Mapping[Tool, Handler]:
        """Return the controller's actions with what serves each."""
        browse, search, inspect = dvd_tools(len(self.clips), self.top, self.frames)
        return {browse: self.browse, search: self.search, inspect: self.inspect}

    def browse(self, action: Any) -> Outcome:
        """Answer a query from the captions that suit it best."""
        best = self.archive.best(action.query, self.top)
        spans = spans_of(merged((clip.index, clip.index) for clip in best), self.clips)
        call = BrowseCall(action.query, self.run.video.duration_s, self.archive.subjects, caption_rows(best))
        reply = self.run.call(call.request(), spans)
        if reply is None:
            return Outcome("The archive could not be read this time.")
        return Outcome(_found(reply), intervals_s=spans)

    def search(self, action: Any) -> Outcome:
        """Give the records that share most words with a description, best first."""
        found = self.archive.index.search(action.description, action.k)
        if not found:
            return Outcome("No record shares a word with this description. Other words may.")
        new = [clip for clip in found if clip.index not in self.told]
        self.told.update(clip.index for clip in new)
        known = [clip.index for clip in found if clip not in new]
        rows = [f"{len(found)} clips, best first: {', '.join(str(clip.index) for clip in found)}.", *map(_row, new)]
        rows += [f"You were given the records of clips {listed(known)} before."] if known else []
        return Outcome("\n".join(rows), intervals_s=spans_of(merged((c.index, c.index) for c in found), self.clips))

    def inspect(self, action: Any) -> Outcome:
        """Answer a question from frames of the ranges that it is about."""
        if wrong := objection(action.ranges):
            return Outcome(wrong)
        ranges = merged((each.first, each.last) for each in action.ranges)
        spans = spans_of(ranges, self.clips)
        views = tuple(self.shown.view(self.run, grid) for grid in sheets_over(spans, self.frames))
        reply = self.run.call(InspectCall(action.question, views, "found").request(), spans)
        where = ranges_text(ranges, self.clips)
        if reply is None:
            return Outcome(f"{where} could not be looked at this time.")
        return Outcome(f"{where}: {_found(reply)}", intervals_s=spans)


def _row(clip: Clip) -> str:
    return clip.row if len(clip.row) <= LONGEST_ROW else f"{clip.row[: LONGEST_ROW - 1]}…"


def _found(reply: Any) -> str:
    return reply.answer if reply.found else f"Not found. {reply.answer}".strip()
