"""`worldmm`: a controller recalls from episodic, semantic and visual memory, then answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, Unpack

from pydantic import Field

from atlaskit.agents.index import Index
from atlaskit.agents.schemas import Words
from atlaskit.agents.settings import check_writes_freely
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question, Span
from atlaskit.environment.render import View
from atlaskit.environment.tiles import Fit
from atlaskit.errors import InputError, check_whole
from atlaskit.methods.clips import CLIP_K, CLIP_S, Clip, ClipSettings, describe_clips
from atlaskit.methods.controller import Handler, Outcome, converse, notes_of
from atlaskit.methods.memories import LEVELS_S, Fact, Part, facts, summaries
from atlaskit.methods.prompts import EvidenceCall, Tool, Turn
from atlaskit.methods.prompts.worldmm import RECALLER
from atlaskit.methods.run import MethodRun, MethodSettings
from atlaskit.models.protocol import MOST_IMAGES, Model
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo

SHEETS = 3
"""Sheets of frames that one look into the visual memory shows."""
CLIP_LEVEL = "10 s"
LEVELS = (CLIP_LEVEL, *LEVELS_S)
"""Levels of the episodic memory, from the finest."""
NOTHING = "Nothing there shares a word with that."


def worldmm(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    rounds: int = 5,
    top: int = 8,
    size: int | None = None,
    fit: Fit | None = None,
    subtitles: bool = True,
    threads: int = 4,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer from what a controller recalls of a video's memories (WorldMM, Yeo et al., 2025).

    Once per video: a record of each clip of 10 s; summaries of 30 s, 3 min and 10 min, each made
    from the level below (episodic memory); the facts of each ten clips, of which repeated and
    outdated ones are dropped (semantic memory). Per question: in each of at most 5 rounds the
    controller searches one of these, or looks at frames of a range of clips or of the clips whose
    records fit some words (visual memory), or finishes; one more call answers from all text and
    frames that were found.

    What differs from the original: words are searched with BM25, one index a level, in place of
    graphs of triplets with personalised PageRank and of embeddings; facts are sentences; a look
    shows three sheets of 3×3 frames at most, so that all fit into the last request; clips are
    named by number, never by times.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        rounds: The most searches, from 1 to 5.
        top: The most summaries, clips or facts that one search finds.
        size: Width and height of a frame's cell in pixels; None for what suits the model.
        fit: How a frame fills its cell: see `ak.Search`.
        subtitles: Whether the records and the search include the subtitles.
        threads: Calls about the video that are made at the same time.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule, or the model writes no free text.
        Unreachable: If the model never answers.

    Examples:
        >>> ak.baselines.worldmm(video, question, vlm=vlm).settings["method"]
        'worldmm'
    """
    check_whole("rounds", rounds)
    check_whole("top", top)
    if rounds * SHEETS > MOST_IMAGES:
        most = MOST_IMAGES // SHEETS
        raise InputError(f"rounds may be at most {most}, since a request holds {MOST_IMAGES} images; got {rounds}.")
    run = MethodRun(video, question, choices, vlm, **settings)
    check_writes_freely(run.vlm, "worldmm")
    shown = ClipSettings.of(run, CLIP_S, size, fit, subtitles)
    run.begin("worldmm", {**shown.recorded(), "rounds": rounds, "top": top})
    clips = describe_clips(run, shown, threads=threads)
    levels, known = summaries(run, clips, threads), facts(run, clips, threads)
    memory = _Memory(run, shown, top, Index(clips), [Index(level) for level in levels], Index(known))
    turns = converse(run, "worldmm", RECALLER, len(memory.grids), memory.tools(), turns=rounds + 1)
    call = EvidenceCall(run.question, run.video.duration_s, notes_of(turns), _views_of(turns))
    return run.decide(call.request())


@dataclass(frozen=True)
class _Memory:
    """What is known of a video, as the controller's tools search it."""

    run: MethodRun
    shown: ClipSettings
    top: int
    clips: Index[Clip]
    episodic: Sequence[Index[Part]]
    """A level each, in the order of LEVELS."""
    semantic: Index[Fact]

    @property
    def grids(self) -> list[Grid]:
        """The sheet of each clip, also of those without a record."""
        return self.shown.grids(self.run)

    def tools(self) -> dict[Tool, Handler]:
        """Return the tools with what runs them."""
        number = Annotated[int, Field(ge=0, le=len(self.grids) - 1)]
        episodic = Tool(
            "episodic",
            f"Search what happened, by words. level says how long the summaries are: {', '.join(LEVELS)}; the first "
            "has most detail, the last gives the course of events.",
            {"level": Literal[LEVELS], "query": Words},
        )
        semantic = Tool("semantic", "Search lasting facts, relations and habits, by words.", {"query": Words})
        by_words = Tool(
            "visual_by_words",
            f"See frames of the {SHEETS} clips whose descriptions share most words with the query.",
            {"query": Words},
        )
        by_range = Tool(
            "visual_by_range",
            f"See frames of the clips from first to last, spread over at most {SHEETS} sheets.",
            {"first": number, "last": number},
        )
        return {
            episodic: self._episodic,
            semantic: self._semantic,
            by_words: self._visual_by_words,
            by_range: self._visual_by_range,
        }

    def _episodic(self, action: Any) -> Outcome:
        found = self.episodic[LEVELS.index(action.level)].search(action.query, self.top)
        return _told(sorted(found, key=lambda part: part.span))

    def _semantic(self, action: Any) -> Outcome:
        found = self.semantic.search(action.query, self.top)
        rows = "\n".join(fact.row for fact in found)
        return Outcome(rows or NOTHING, intervals_s=tuple(each.span for fact in found for each in fact.stretches))

    def _visual_by_words(self, action: Any) -> Outcome:
        found = sorted(self.clips.search(action.query, SHEETS), key=lambda clip: clip.index)
        views = tuple(self.shown.view(self.run, Grid(clip.start_s, clip.end_s, CLIP_K)) for clip in found)
        told = f"Frames of clips {', '.join(str(clip.index) for clip in found)}." if found else NOTHING
        return Outcome(told, views, tuple(clip.span for clip in found))

    def _visual_by_range(self, action: Any) -> Outcome:
        first, last = action.first, action.last
        if first > last:
            return Outcome(f"first must not lie after last; got {first} and {last}.")
        some = self.grids[first : last + 1]
        sheets = min(SHEETS, len(some))
        edges = [len(some) * sheet // sheets for sheet in range(sheets + 1)]
        spans = [(some[one].start_s, some[other - 1].end_s) for one, other in pairwise(edges)]
        views = tuple(self.shown.view(self.run, Grid(*span, CLIP_K)) for span in spans)
        return Outcome(f"Frames of clips {first} to {last}.", views, tuple(spans))


def _told(found: Sequence[Part]) -> Outcome:
    return Outcome("\n".join(part.row for part in found) or NOTHING, intervals_s=tuple(part.span for part in found))


def _views_of(turns: Sequence[Turn]) -> tuple[View, ...]:
    """Return the sheets that were shown, each once, in order of time."""
    by_span: dict[Span, View] = {(view.grid.start_s, view.grid.end_s): view for turn in turns for view in turn.views}
    return tuple(by_span[span] for span in sorted(by_span))
