"""Answering without navigation, by the same model and with the same signature as `ask` (paper §4.1).

What they are shown is fixed before the question is read: frames at equal steps, captions of clips, subtitles, nothing.
Each gives a `Result` whose evidence is empty: nothing was searched for, so nothing was found.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypedDict, Unpack, get_args

from atlaskit.agents.loop import MOST_UNANSWERED
from atlaskit.agents.master import prediction
from atlaskit.agents.prompts import CaptionCall, FramesCall, TextCall
from atlaskit.agents.search import ask
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.notation import clock
from atlaskit.environment.question import Kind, Question, as_question
from atlaskit.environment.render import Fit, Sheet, View
from atlaskit.errors import InputError, check_whole
from atlaskit.models.cached import Cached
from atlaskit.models.call_log import CallLog
from atlaskit.models.errors import ModelError, Unreachable
from atlaskit.models.protocol import Model, Reply, Request, Role
from atlaskit.models.usage import CHARACTERS_A_TOKEN, Usage
from atlaskit.runs.archive import save_manifest
from atlaskit.runs.events import Event, call_data, failure_data, interval_s
from atlaskit.runs.result import Result, Spent
from atlaskit.runs.trace import Trace
from atlaskit.video.offline import keep
from atlaskit.video.subtitles import Line
from atlaskit.video.video import Video


class BaselineSettings(TypedDict, total=False):
    """What all of them take, as `ask` does."""

    kind: Kind | None
    sample: int
    refresh: bool
    replay: bool
    cache: Cache | None


def uniform(
    video: Video,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model,
    frames: int = 160,
    size: int = 320,
    per_image: int = 16,
    fit: Fit = "contain",
    subtitles: bool = True,
    **how: Unpack[BaselineSettings],
) -> Result:
    """Answer from `frames` frames at equal steps, in one call, with what is said at their moments.

    The video is cut into as many equal parts, and each shows the frame in its middle, `size` pixels large. They come on
    square sheets of `per_image` (4, 9, 16, …), since servers take few images in one conversation; a model that is
    charged by pixels pays the same as for single frames. Raises InputError for numbers that make no whole sheets.
    """
    check_whole("frames", frames)
    check_whole("per_image", per_image, least=4)
    if math.isqrt(per_image) ** 2 != per_image or frames % per_image:
        raise InputError(
            f"per_image is a square number that divides the {frames} frames, got {per_image}: sheets have no holes."
        )
    run = _Run(video, question, choices, vlm, **how)
    k, sheets = math.isqrt(per_image), frames // per_image
    edges = [video.duration_s * number / sheets for number in range(sheets)] + [video.duration_s]
    grids = [Grid(start_s, end_s, k) for start_s, end_s in pairwise(edges)]
    views = tuple(View(video, grid, size, fit, "index", cache=run.cache) for grid in grids)
    said = tuple(_heard(video, view.moments if subtitles else ()) for view in views)
    shown = {"frames": frames, "cell": size, "per_image": per_image, "fit": fit, "subtitles": subtitles}
    run.begin("uniform", shown)
    return run.end(FramesCall(run.question, video.duration_s, views, said).request())


def composite(
    video: Video, question: str | Question, choices: Sequence[str] | None = None, *, vlm: Model, **settings: Any
) -> Result:
    """Answer from one grid of K×K frames: `ask` at depth 0, which the paper names as what it generalises (§3.1)."""
    return ask(video, question, choices, vlm=vlm, **{**settings, "max_depth": 0})


def captions(
    video: Video,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model,
    clip_s: float = 30.0,
    per_clip: int = 16,
    size: int = 320,
    fit: Fit = "contain",
    subtitles: bool = True,
    context: int = 100_000,
    threads: int = 4,
    **how: Unpack[BaselineSettings],
) -> Result:
    """Answer from captions: each clip of `clip_s` seconds is described from `per_clip` frames, and the words are read.

    The captions do not depend on the question, so that they are paid once a video. What goes beyond `context` tokens
    (four characters each) is cut off at the end of the video, and the result's `failure` says so.
    """
    check_whole("per_clip", per_clip)
    check_whole("threads", threads)
    check_whole("context", context)
    if math.isqrt(per_clip) ** 2 != per_clip:
        raise InputError(f"per_clip is a square number: the frames of a clip are one sheet. Got {per_clip}.")
    if not 0 < clip_s < math.inf:
        raise InputError(f"clip_s is a number of seconds above 0, got {clip_s!r:.40}.")
    run = _Run(video, question, choices, vlm, **how)
    shown = {"clip_s": clip_s, "per_clip": per_clip, "cell": size, "fit": fit, "subtitles": subtitles}
    run.begin("captions", {**shown, "context": context})
    clips = max(1, math.ceil(video.duration_s / clip_s - 1e-9))
    edges = [min(number * clip_s, video.duration_s) for number in range(clips)] + [video.duration_s]
    grids = [Grid(start_s, end_s, math.isqrt(per_clip)) for start_s, end_s in pairwise(edges)]

    def described(grid: Grid) -> Reply | ModelError:
        lines = video.subtitles.between(grid.start_s, grid.end_s) if subtitles else ()
        return run.asked(CaptionCall(View(video, grid, size, fit, "index", cache=run.cache), lines).request())

    told, silent = list[str](), 0
    with ThreadPoolExecutor(threads) as pool:
        for grid, got in zip(grids, pool.map(described, grids), strict=True):
            where = {"interval_s": interval_s(grid)}
            if isinstance(got, ModelError):
                run.lost("caption", got)
                silent += isinstance(got, Unreachable)
                if silent == MOST_UNANSWERED and not told:
                    pool.shutdown(cancel_futures=True)
                    raise got
                continue
            run.log(Event("caption", data={**where, "caption": got.answer.caption, **call_data(got)}))
            told.append(f"{clock(grid.start_s)}–{clock(grid.end_s)}: {got.answer.caption}")
    return run.end(run.read("\n".join(told), context))


def subtitles_only(
    video: Video,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model,
    context: int = 100_000,
    **how: Unpack[BaselineSettings],
) -> Result:
    """Answer from what is said, and no picture. What goes beyond `context` tokens is cut off, and said."""
    check_whole("context", context)
    run = _Run(video, question, choices, vlm, **how)
    run.begin("subtitles", {"context": context})
    lines = [f"{clock(line.start_s)}–{clock(line.end_s)}: {line.text}" for line in video.subtitles.lines]
    return run.end(run.read("\n".join(lines) and "What is said:\n" + "\n".join(lines), context))


def blind(
    video: Video,
    question: str | Question,
    choices: Sequence[str] | None = None,
    *,
    vlm: Model,
    **how: Unpack[BaselineSettings],
) -> Result:
    """Answer from the question alone: what its words give away."""
    run = _Run(video, question, choices, vlm, **how)
    run.begin("blind", {})
    return run.end(run.read("", 1))


METHODS: dict[str, Callable[..., Result]] = {
    "video-rlm": ask,
    "uniform": uniform,
    "composite": composite,
    "captions": captions,
    "subtitles": subtitles_only,
    "blind": blind,
}
"""All ways to answer, by name."""


def settings_of(answer: Callable[..., Result]) -> tuple[str, ...] | None:
    """Return the names of what a method can be told; None where any name will do, as for some functions of a user."""
    told = inspect.signature(answer).parameters.values()
    own = [each.name for each in told if each.kind is each.KEYWORD_ONLY]
    if answer is composite:
        return tuple(name for name in settings_of(ask) or () if name != "max_depth")
    if answer in METHODS.values():
        own += [name for name in BaselineSettings.__annotations__ if name not in own]
    elif any(each.kind is each.VAR_KEYWORD for each in told):
        return None
    return tuple(own)


def _heard(video: Video, moments_s: Sequence[float]) -> tuple[tuple[float, tuple[Line, ...]], ...]:
    """Return the moments at which something is being said, and what."""
    said = ((time_s, video.subtitles.between(time_s, math.nextafter(time_s, math.inf))) for time_s in moments_s)
    return tuple((time_s, lines) for time_s, lines in said if lines)


class _Run:
    """One run: what was asked and paid so far, and what becomes the trace."""

    def __init__(
        self,
        video: Video,
        question: str | Question,
        choices: Sequence[str] | None,
        vlm: Model,
        *,
        kind: Kind | None = None,
        sample: int = 0,
        refresh: bool = False,
        replay: bool = False,
        cache: Cache | None = None,
    ) -> None:
        self.video, self.vlm, self.sample, self.question = video, vlm, sample, as_question(question, choices, kind)
        self.cache = (cache or default_cache()).watched()
        self.ledger = CallLog(Cached(vlm, self.cache, sample=sample, refresh=refresh, replay=replay))
        keep(video, self.cache)
        self.events, self.failure = list[Event](), ""
        self.decoded, self.began = video.frames_decoded, time.monotonic()

    def begin(self, method: str, shown: dict[str, Any]) -> None:
        """Write down what is to be done."""
        self.settings = {
            "method": method,
            "model": self.vlm.name,
            "parameters": dict(self.vlm.parameters),
            "sample": self.sample,
            "video": self.video.fingerprint,
            **shown,
        }
        self.log(Event("start", data={"question": self.question.to_json(), "settings": self.settings}))

    def asked(self, request: Request) -> Reply | ModelError:
        """Ask the model; return also how it failed."""
        try:
            return self.ledger.complete(request)
        except ModelError as error:
            return error

    def log(self, event: Event) -> None:
        """Add an event, and what its call cost."""
        self.events.append(event)

    def lost(self, step: str, error: ModelError) -> None:
        """Write down a call that failed."""
        self.failure = str(error)
        self.log(Event("failure", data=failure_data(step, error, error.usage)))

    def read(self, told: str, context: int) -> Request:
        """Return the call that answers from words, as far as they fit."""
        most = context * CHARACTERS_A_TOKEN
        if len(told) > most:
            kept = told[:most].rpartition("\n")[0] or told[:most]
            self.failure = f"Of {len(told):,} characters only the first {len(kept):,} fit the context."
            told = kept
        return TextCall(self.question, self.video.duration_s, told).request()

    def end(self, request: Request) -> Result:
        """Ask for the answer, and put together what was found."""
        got = self.asked(request)
        if isinstance(got, Unreachable) and all(call.failure for call in self.ledger.calls):
            raise got
        if isinstance(got, ModelError):
            self.lost("decision", got)
        else:
            answer = got.answer.model_dump(mode="json")
            self.log(Event("decision", data={"view": None, "sheet": None, "answer": answer, **call_data(got)}))
        stop, calls = "model" if isinstance(got, ModelError) else "answered", self.ledger.calls
        usage = {role: sum((call.usage for call in calls if call.role == role), Usage()) for role in get_args(Role)}
        paid_now = sum((call.usage for call in calls if call.live), Usage())
        count = sum(each.calls for each in usage.values())
        self.log(Event("stop", data={"stop": stop, "rounds": 0, "calls": count}))
        result = Result(
            question=self.question,
            prediction=None if isinstance(got, ModelError) else prediction(self.question, got.answer),
            reasoning="" if isinstance(got, ModelError) else got.answer.reasoning,
            evidence=Scratchpad(),
            dead_zones=DeadZones(),
            stop=stop,
            failure=self.failure,
            rounds=0,
            usage=usage,
            settings=self.settings,
            trace=Trace(tuple(self.events)),
            sheet=Sheet(self.video, Scratchpad(), cache=self.cache),
            calls=tuple(calls),
            spent=Spent(
                calls=paid_now.calls,
                tokens=paid_now.tokens,
                frames_decoded=self.video.frames_decoded - self.decoded,
                seconds=time.monotonic() - self.began,
            ),
        )
        save_manifest(result.trace, self.cache)
        return result
