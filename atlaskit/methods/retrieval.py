"""`retrieval`: search the records of a video's clips, and answer from the best ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from atlaskit.agents.index import Index
from atlaskit.agents.settings import check_writes_freely
from atlaskit.environment.grid import Grid
from atlaskit.environment.question import Question
from atlaskit.environment.tiles import Fit
from atlaskit.errors import InputError, check_whole
from atlaskit.methods.clips import CLIP_S, ClipSettings, describe_clips, in_order, rows_of
from atlaskit.methods.finding import Search, check_search, find, recorded_search
from atlaskit.methods.prompts import EvidenceCall
from atlaskit.methods.run import MethodRun, MethodSettings
from atlaskit.models.protocol import MOST_IMAGES, Model
from atlaskit.runs.result import Result
from atlaskit.video.playlist import AnyVideo

FRAMES_K = 2
"""A retrieved clip is shown on a sheet of 2×2 frames."""


def retrieval(
    video: AnyVideo,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model | str,
    clip_s: float = CLIP_S,
    top: int = 16,
    search: Search = "words",
    frames: bool = True,
    size: int | None = None,
    fit: Fit | None = None,
    subtitles: bool = True,
    threads: int = 4,
    **settings: Unpack[MethodSettings],
) -> Result:
    """Answer from the clips whose records belong most to the question and its choices.

    The plainest form of retrieval-augmented generation: one record per clip, paid once per video; a
    search over caption, subjects, text on screen and speech; one call a question that answers from
    what was found, in order of time.

    Args:
        video: The video, its file, or a list of files.
        question: The question, as text or as a `Question`.
        choices: The possible answers; None for an answer in words.
        vlm: The model, the address of its server, or its name: see `ask`.
        clip_s: Length of a clip in seconds.
        top: The most clips that the answer is drawn from.
        search: How the clips are found. "words": by the words that they share with the question and
            its choices (BM25). "paraphrases": also by those of up to four queries, which one more
            call writes. An `ak.Embedder`: by the cosine of vectors; only its time is part of the
            run's budget.
        frames: Whether the model sees four frames of each of them, beside their records.
        size: Width and height of a frame's cell in pixels; None for what suits the model.
        fit: How a frame fills its cell: see `ak.Search`.
        subtitles: Whether the records and the search include the subtitles.
        threads: Clips that are described at the same time.
        settings: Keywords that mean what they mean for `ask`.

    Raises:
        InputError: If an argument breaks a rule, or the model writes no free text.
        Unreachable: If the model never answers, or no embedder at its address.
        Refused: If the embedder's endpoint rejects the request.

    Examples:
        >>> ak.baselines.retrieval(video, question, vlm=vlm).settings["method"]
        'retrieval'
    """
    check_whole("top", top)
    check_search(search)
    if frames and top > MOST_IMAGES:
        raise InputError(f"top may be at most {MOST_IMAGES} with frames, one image a clip; got {top}.")
    run = MethodRun(video, question, choices, vlm, **settings)
    check_writes_freely(run.vlm, "retrieval")
    shown = ClipSettings.of(run, clip_s, size, fit, subtitles)
    run.begin("retrieval", {**shown.recorded(), "top": top, **recorded_search(search), "frames": frames})
    index = Index(describe_clips(run, shown, threads=threads))
    found = in_order(find(run, index, search, top))
    views = [shown.view(run, Grid(clip.start_s, clip.end_s, FRAMES_K)) for clip in found if frames]
    return run.decide(EvidenceCall(run.question, run.video.duration_s, rows_of(found), tuple(views)).request())
