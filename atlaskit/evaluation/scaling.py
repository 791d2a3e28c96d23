"""How much faster a search is with more workers: wall-clock against their number (paper §4.4 and Fig. 6).

What is measured is the parallelism of one search, so questions are asked one at a time, by calls that are really made.
Not measured is what a cache would spare anyway: each question is asked twice with each number of workers, and the
second time is told. By then its pictures are drawn, a server that starts when it is first asked is up, and its own
prefix cache knows the prompts: of every number of workers alike, so that none gains by coming later, but better than it
would know them the first time. `cached_tokens` tells how much of the prompts that spared.
"""

from __future__ import annotations

import math
import os
import platform
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Unpack, cast

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, ValidationError
from tqdm.auto import tqdm

from atlaskit.agents.baselines import settings_of
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import World
from atlaskit.benchmarks.case import Case, model_for
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.keys import entry_key
from atlaskit.environment.memory import DeadZones
from atlaskit.environment.question import Question
from atlaskit.errors import InputError, check_whole
from atlaskit.evaluation.statistics import accuracy
from atlaskit.models.protocol import CallControl, Model, ModelWrapper, Reply, Request, Role
from atlaskit.models.serving.hardware import cpuinfo
from atlaskit.video.video import Video

if TYPE_CHECKING:
    import pandas as pd

WORKERS = (1, 3, 5, 7, 16)
"""The paper's, and as many as an address is asked at once."""
OURS = frozenset({"vlm", "cache", "workers", "refresh", "replay", "on_event"})
"""Settings of `ask` that are given here."""
PLAIN = (str, int, float, bool, type(None))
SUMMED = ["seconds", "serial_seconds", "worker_seconds", "worker_calls"]
NEEDED = ("video", "workers", "normalised_seconds", "score", "calls", "rounds", *SUMMED)
"""Columns of which speed-ups are made."""
COLUMNS = ["workers", "questions", "seconds", "normalised_seconds", "low", "high", "speedup", "bound", "serial_share"]
COLUMNS += ["score", "calls", "rounds", "busy", "call_seconds"]
"""Of what is told of each number of workers."""
SATURATED = 1.25
"""How much more a server answers in a second that still counts as no more at all."""
BESIDE = 1.5
"""How many times as many calls must be under way at once for that to be seen."""


@dataclass
class Delayed(ModelWrapper):
    """A model each of whose answers takes `latency_s` seconds, or as long as the model itself where that is longer.

    Any number of answers are under way at once, as with a server that is never saturated: what a search cannot do in
    parallel then is its own limit. Name and parameters tell of the delay, so that no reply passes for the model's own.
    Raises InputError for what is no number of seconds.
    """

    latency_s: float

    def __post_init__(self) -> None:
        number = isinstance(self.latency_s, int | float) and not isinstance(self.latency_s, bool)
        if not number or not 0 <= self.latency_s < math.inf:
            raise InputError(f"latency_s is a number of seconds from 0, got {self.latency_s!r:.80}.")

    @property
    def name(self) -> str:
        """The model's own, with the delay."""
        return f"{self.model.name}@{self.latency_s:g}s"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's own, with the delay."""
        return {**self.model.parameters, "latency_s": self.latency_s}

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Let the model answer, and give its answer when the time has come, or nobody waits for it any more."""
        began_s = time.monotonic()
        reply = self.model.complete(request, **control)
        (control.get("cancel") or threading.Event()).wait(max(0.0, began_s + self.latency_s - time.monotonic()))
        return replace(reply, transit=replace(reply.transit, wall_s=time.monotonic() - began_s))


def delayed(vlm: Model | Callable[[World], Model], latency_s: float) -> Model | Callable[[World], Model]:
    """Return a model with a delay, or for worlds what makes one of a world: `delayed(ak.Oracle, 0.2)`.

    Raises InputError for what is no number of seconds, for worlds when the model is made.
    """
    if not isinstance(vlm, type) and hasattr(vlm, "complete"):
        return Delayed(cast(Model, vlm), latency_s)
    return partial(_delayed_in, cast(Callable[[World], Model], vlm), latency_s)


def _at_once(model: Model) -> Model:
    """Return a model without a delay: it answers the same."""
    return model.model if isinstance(model, Delayed) else model


def _delayed_in(vlm: Callable[[World], Model], latency_s: float, world: World) -> Model:
    return Delayed(vlm(world), latency_s)


@dataclass(frozen=True)
class TimedCall:
    """When a call was under way, in seconds from the beginning of its run."""

    role: Role
    began_s: float
    ended_s: float


@dataclass
class _Clocked(ModelWrapper):
    """A model of which it is written down when each call was under way, also of one that failed."""

    began_s: float = field(default_factory=time.monotonic)
    calls: list[TimedCall] = field(default_factory=list)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Let the model answer."""
        began_s = time.monotonic()
        try:
            return self.model.complete(request, **control)
        finally:
            self.calls.append(TimedCall(request.role, began_s - self.began_s, time.monotonic() - self.began_s))


class Measured(BaseModel):
    """What is told of a question that was asked with so many workers, as it is kept."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    score: NonNegativeFloat
    right: bool
    calls: NonNegativeInt
    """Those that were made, retries included."""
    tokens: NonNegativeInt
    cached_tokens: NonNegativeInt
    """Prompt tokens that the server had computed before."""
    rounds: NonNegativeInt
    stop: str
    frames_decoded: NonNegativeInt
    """While the clock ran: 0, but where a model answers otherwise the second time."""
    seconds: NonNegativeFloat
    serial_seconds: NonNegativeFloat
    worker_calls: NonNegativeInt
    worker_seconds: NonNegativeFloat


def by_workers(
    cases: Iterable[Case],
    *,
    vlm: Model | Callable[[World], Model],
    workers: Collection[int] = WORKERS,
    cache: Cache | None = None,
    refresh: bool = False,
    replay: bool = False,
    progress: bool = True,
    **settings: Any,
) -> pd.DataFrame:
    """Ask every question with each number of workers, one question at a time, and return a row for each of both.

    `vlm` is a model, or for worlds what makes one of a world; `settings` go to `ask`. Columns: `id`, `video`,
    `workers`; `score`, `right`; `calls` and `tokens` that were really paid, `cached_tokens` of them, `rounds`, `stop`,
    `frames_decoded`; and in seconds `seconds` of wall-clock, `serial_seconds` of them in which no worker's call was
    under way, `worker_seconds` of all `worker_calls` one after the other, and `normalised_seconds`: `seconds` as they
    would be for as many calls as the fewest workers make, which is the paper's "equal workload" (§4.4).

    Replies come out of no cache and are put into none, but what was measured is kept in `cache`: the same line again
    asks nothing and tells the same, unless `refresh` says to measure anew; with `replay` nothing else counts. A run in
    which a call failed is not kept. Who measures sees to it that the machine has nothing else to do. The table's
    `attrs` tell models and processor.

    Raises InputError where there is nothing to ask or no such setting, for numbers of workers that are none, for a
    question whose truth is not known, and with `replay` for one that was not measured; and what `ask` raises.
    """
    asked, counts = list(cases), _counts(workers)
    _check(asked, settings)
    models = [model_for(vlm, case) for case in asked]
    cache = cache or default_cache()

    import pandas as pd

    rows = list[dict[str, Any]]()
    with tqdm(total=len(asked) * len(counts), unit="run", disable=not progress) as bar:
        for case, model in zip(asked, models, strict=True):
            video, pictures = case.opened(), Cache(None)
            for count in counts:
                key = _timing_key(case.question, video, model, count, settings)
                told = None if refresh else _kept(cache, key)
                if told is None and replay:
                    raise InputError(
                        f"How long {case.question.id!r} takes with {count} workers was not measured on this machine, "
                        f"and a replay asks nobody: measure it first."
                    )
                if told is None:
                    _run(case.question, video, _at_once(model), count, pictures, settings)
                    told, has_failed = _run(case.question, video, model, count, pictures, settings)
                    if not has_failed:
                        cache.put_json(key, told.model_dump(), paid=True)
                rows.append({"id": case.question.id, "video": case.video, "workers": count, **told.model_dump()})
                bar.update()
    table = pd.DataFrame(rows)
    first = table["calls"].iloc[:: len(counts)].repeat(len(counts)).to_numpy()
    table["normalised_seconds"] = table["seconds"] * first / table["calls"]
    told_of = {key: value if isinstance(value, PLAIN) else repr(value) for key, value in settings.items()}
    table.attrs = {"models": sorted({model.name for model in models}), "settings": told_of, "processor": processor()}
    return table


def serial_s(calls: Iterable[TimedCall], seconds: float) -> float:
    """Return for how many of a run's seconds no worker's call was under way."""
    spans = ((call.began_s, call.ended_s) for call in calls if call.role == "worker")
    return sum(b - a for a, b in DeadZones().add_all(span for span in spans if span[0] < span[1]).outside(0, seconds))


def amdahl(share: float, more: Any) -> Any:
    """Return how many times as fast `more` times as many workers are at most, where a `share` in [0, 1] of the time is
    serial: by Amdahl's law, for a number or an array of them."""
    return 1 / (share + (1 - share) / more)


def speedup(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each number of workers gains: a row a number of workers, of each `model` if there is such a column.

    Columns: `workers`, `questions`; the means `seconds` and `normalised_seconds`, the latter with its 95 % interval
    over videos, `low` and `high`; `speedup` of the normalised ones against the fewest workers; `serial_share`, the part
    of the time in [0, 1] in which no worker's call is under way; and `bound`, Amdahl's, from that of the fewest
    workers: what more would gain if the same search were divided among them without loss (where 3 are the fewest, 6
    are twice as many). More workers may do better, since they search otherwise: in fewer rounds. `score`, `calls` and
    `rounds` are means; `busy` is how many workers' calls are under way while any is, and `call_seconds` how long one
    takes: on a saturated server they grow together.

    Raises InputError for a table without rows, or that lacks a column.
    """
    import pandas as pd

    missing = next((name for name in NEEDED if name not in table.columns), None)
    if missing is not None or not len(table):
        lack = "has no rows" if missing is None else f"lacks the column {missing!r}"
        raise InputError(f"The table {lack}: it is not one of by_workers.")
    found = []
    for name, group in _models(table):
        told = accuracy(group, "workers", column="normalised_seconds").rename(columns={"mean": "normalised_seconds"})
        groups = group.groupby("workers", sort=True)
        for column in ("seconds", "score", "calls", "rounds"):
            told[column] = groups[column].mean().to_numpy()
        sums = groups[SUMMED].sum().reset_index(drop=True)
        told["speedup"] = told["normalised_seconds"].iloc[0] / told["normalised_seconds"]
        told["serial_share"] = sums["serial_seconds"] / sums["seconds"]
        told["bound"] = amdahl(told["serial_share"].iloc[0], told["workers"] / told["workers"].iloc[0])
        told["busy"] = sums["worker_seconds"] / (sums["seconds"] - sums["serial_seconds"])
        told["call_seconds"] = sums["worker_seconds"] / sums["worker_calls"]
        found.append(told.assign(**name))
    names = ["model"] if "model" in table.columns else []
    return pd.concat(found, ignore_index=True)[[*names, *COLUMNS]]


def conclusions(table: pd.DataFrame) -> list[str]:
    """Return in a sentence for each model what the most workers gain, and whether the server is what limits them.

    It is saturated if it answers no more calls in a second, though several times as many are under way. Raises as
    `speedup` does.
    """
    said = []
    for name, told in _models(speedup(table)):
        first, last = told.iloc[0], told.iloc[-1]
        more, slower = last["busy"] / first["busy"], last["call_seconds"] / first["call_seconds"]
        sentence = (
            f"{name.get('model', 'The search')}: {last['workers']:.0f} workers are {last['speedup']:.2f} times as fast "
            f"as {first['workers']:.0f} at equal workload, Amdahl's bound is {last['bound']:.2f}"
        )
        if last["speedup"] > last["bound"]:
            sentence += (
                f", which is of the same search: they take {last['rounds']:.1f} rounds, not {first['rounds']:.1f}"
            )
        elif more < BESIDE:
            sentence += f"; only {last['busy']:.1f} of their calls are under way at once"
        elif more / slower < SATURATED:
            sentence += (
                f"; {last['busy']:.1f} of their calls are under way at once and take {slower:.1f} times as long: "
                f"this server is saturated by {first['workers']:.0f}"
            )
        said.append(f"{sentence}.")
    return said


def processor() -> str:
    """Return which processor this is and how many cores it has, as far as the system tells: times depend on it."""
    lines = cpuinfo().splitlines()
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{named or platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def _models(table: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the rows of each model, in the order in which they come, and its name; all of them where none is named."""
    if "model" not in table.columns:
        yield {}, table
        return
    for name in dict.fromkeys(table["model"]):
        yield {"model": name}, table[table["model"] == name]


def _counts(workers: Collection[int]) -> tuple[int, ...]:
    """Return numbers of workers in order, each once; raise InputError for what is none."""
    if not isinstance(workers, Collection) or isinstance(workers, str) or not workers:
        raise InputError(f"workers are one or more whole numbers, such as (1, 3, 5, 7); got {workers!r:.80}.")
    for count in workers:
        check_whole("Each number of workers", count)
    return tuple(sorted(set(workers)))


def _check(asked: list[Case], settings: Mapping[str, Any]) -> None:
    if not asked:
        raise InputError("There are no questions to ask: the list of cases is empty.")
    unknown = next((case.question.id for case in asked if case.question.answer is None), None)
    if unknown is not None:
        raise InputError(f"The true answer of {unknown!r} is not known, so it cannot be scored: leave it out.")
    taken = [name for name in settings_of(ask) or () if name not in OURS]
    wrong = next((name for name in settings if name not in taken), None)
    if wrong is not None:
        raise InputError(f"by_workers has no setting {wrong!r:.80}; it has {', '.join(taken)}.")


def _run(
    question: Question, video: Video, model: Model, workers: int, pictures: Cache, settings: Mapping[str, Any]
) -> tuple[Measured, bool]:
    """Ask a question by calls that are really made; return what that took, and whether a call failed.

    Only what is no reply comes out of the cache.
    """
    clocked = _Clocked(model)
    result = ask(video, question, vlm=clocked, workers=workers, cache=pictures, refresh=True, **settings)
    seconds, score = time.monotonic() - clocked.began_s, question.score(result.prediction)
    by_workers = [call for call in clocked.calls if call.role == "worker"]
    told = Measured(
        score=float(score),
        right=score >= 0.5,
        calls=result.spent.calls,
        tokens=result.spent.tokens,
        cached_tokens=sum(call.usage.cached_tokens for call in result.calls if call.live),
        rounds=result.rounds,
        stop=result.stop,
        frames_decoded=result.spent.frames_decoded,
        seconds=seconds,
        serial_seconds=serial_s(clocked.calls, seconds),
        worker_calls=len(by_workers),
        worker_seconds=sum(call.ended_s - call.began_s for call in by_workers),
    )
    return told, any(call.failure for call in result.calls)


def _kept(cache: Cache, key: str) -> Measured | None:
    """Return what was measured before; None where nothing was, or a stranger's cache holds something else."""
    try:
        return Measured.model_validate(cache.get_json(key))
    except ValidationError:
        return None


def _timing_key(question: Question, video: Video, model: Model, workers: int, settings: Mapping[str, Any]) -> str:
    return timing_key(
        question.to_json(),
        video.fingerprint,
        video.subtitles.fingerprint,
        model,
        workers=workers,
        settings={name: value if isinstance(value, PLAIN) else repr(value) for name, value in settings.items()},
        processor=processor(),
        atlaskit=version("atlaskit"),
    )


def timing_key(
    question: dict[str, Any],
    video: str,
    lines: str,
    model: Model,
    *,
    workers: int,
    settings: dict[str, Any],
    processor: str,
    atlaskit: str,
) -> str:
    """Return the key of how long a question took with so many workers, on a processor and by a version of the kit.

    Left out: the endpoint's address. The same model behind another server has to be measured anew on purpose.
    """
    return entry_key(
        "timing",
        atlaskit=atlaskit,
        processor=processor,
        question=question,
        video=video,
        lines=lines,
        model=model.name,
        parameters=dict(model.parameters),
        workers=workers,
        settings=settings,
    )
