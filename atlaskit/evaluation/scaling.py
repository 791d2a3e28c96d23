"""The wall-clock time of a search by its number of workers (paper §4.4 and Fig. 6).

* `by_workers`: measures the times, one question at a time.
* `delayed`: a model that answers after a fixed time, to measure without a server.
* `amdahl`, `speedup`, `conclusions`: the speed-up and its bound, from the table of `by_workers`.

Every model call is really made. Each question runs twice with each number of workers, and the
second run is reported: by then its images are rendered, a server that starts at the first call is
up, and the server's prefix cache holds the prompts. So no number of workers profits more than
another from earlier runs. The prefix cache helps more than in a first run; `cached_tokens` reports
how many prompt tokens it saved.
"""

from __future__ import annotations

import math
import os
import platform
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Unpack, cast

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, ValidationError

from atlaskit.agents.search import ask
from atlaskit.benchmarks.case import Case, MakesModel, model_for
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.keys import Kind, is_json
from atlaskit.environment.memory import DeadZones
from atlaskit.environment.question import Question, Span
from atlaskit.errors import InputError, check_flags, check_whole
from atlaskit.evaluation.runner import check_cases, check_settings, json_settings
from atlaskit.evaluation.statistics import accuracy
from atlaskit.evaluation.tables import RIGHT_FROM
from atlaskit.models.cached import Call
from atlaskit.models.protocol import CallControl, Model, ModelWrapper, Reply, Request, now_s
from atlaskit.models.serving.plan import cpuinfo
from atlaskit.models.serving.server import as_model
from atlaskit.progress import bar as progress_bar
from atlaskit.runs.trace import save_timings_manifest
from atlaskit.video.video import Video

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "WORKERS",
    "Delayed",
    "Measured",
    "amdahl",
    "by_workers",
    "conclusions",
    "delayed",
    "processor",
    "serial_s",
    "speedup",
]

TIMING = Kind("timing", 2, is_json(dict))
WORKERS = (1, 3, 5, 7, 16)
"""The paper's numbers of workers, and 16, the most requests that one address gets at once."""
RESERVED = frozenset({"vlm", "cache", "workers", "replay", "on_event"})
"""Settings of `ask` that `by_workers` sets itself or does not allow."""
SUMMED = ["seconds", "serial_seconds", "worker_seconds", "worker_calls"]
"""Columns of a measurement that `speedup` sums over the questions."""
BY_WORKERS_COLUMNS = ("video", "workers", "normalised_seconds", "score", "calls", "rounds", *SUMMED)
"""Columns of a measurement that speed-ups are computed from."""
COLUMNS = [
    "workers",
    "questions",
    "seconds",
    "normalised_seconds",
    "low",
    "high",
    "speedup",
    "bound",
    "serial_share",
    "score",
    "calls",
    "rounds",
    "busy",
    "call_seconds",
]
"""Columns of a table of speed-ups."""
SATURATED = 1.25
"""A server is saturated if its throughput grows by less than this factor."""
PARALLEL_ENOUGH = 1.5
"""Saturation is judged only if the number of parallel calls grows by at least this factor."""


class Measured(BaseModel):
    """The measurement of one question with one number of workers, as the cache stores it.

    Examples:
        >>> sorted(ak.scaling.Measured.model_fields)[:3]
        ['atlaskit', 'cached_tokens', 'calls']
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    score: NonNegativeFloat
    right: bool
    calls: NonNegativeInt
    """Calls that were made, retries included."""
    tokens: NonNegativeInt
    cached_tokens: NonNegativeInt
    """Prompt tokens that the server had in its prefix cache."""
    rounds: NonNegativeInt
    stop: str
    frames_decoded: NonNegativeInt
    """Frames decoded in the second run: 0 unless the model answers differently there."""
    seconds: NonNegativeFloat
    """The wall-clock time of the second run."""
    serial_seconds: NonNegativeFloat
    """The part of it in which no worker's call ran."""
    worker_calls: NonNegativeInt
    worker_seconds: NonNegativeFloat
    """The sum of the durations of the workers' calls."""
    processor: str
    """The processor of the machine on which it was measured."""
    atlaskit: str
    """The version of atlaskit that measured it."""

    @property
    def is_of_here(self) -> bool:
        """Whether this version of atlaskit measured it on this processor."""
        return self.processor == processor() and self.atlaskit == version("atlaskit")


def by_workers(
    cases: Iterable[Case],
    *,
    vlm: Model | str | MakesModel,
    workers: Collection[int] = WORKERS,
    cache: Cache | None = None,
    refresh: bool = False,
    replay: bool = False,
    progress: bool = True,
    **settings: Any,
) -> pd.DataFrame:
    """Ask every question with each number of workers, one question at a time, and return the times.

    Replies are neither taken from a cache nor stored in one. Measurements are: repeating the call
    makes no model calls and returns the same table. A run in which a call failed is not stored.
    Nothing else should run on the machine meanwhile.

    Args:
        cases: The questions with their videos; the true answers must be known.
        vlm: A model, an address or a name as for `ask`; or, for worlds, a function that makes one
            for each.
        cache: The cache of measurements.
        refresh: Whether to measure again what the cache holds.
        replay: Whether to use cached measurements only, those of other machines included.
        progress: Whether a bar is shown.
        **settings: Keyword arguments of `ask`.

    Returns:
        One row for each question and number of workers. Columns: `id`, `video`, `workers`; `score`,
        `right`; `calls` and `tokens` that were paid, `cached_tokens`, those of them that came from
        the server's prefix cache, `rounds`, `stop`, `frames_decoded`; `seconds`, the wall-clock
        time; `serial_seconds`, the part of it in which no worker's call ran; `worker_calls`, the
        number of workers' calls, and `worker_seconds`, the sum of their durations;
        `normalised_seconds`, which are `seconds` scaled to the number of calls that the fewest
        workers make, the paper's "equal workload" (§4.4); and the `processor` on which the row was
        measured. The table's `attrs` hold the models and the settings.

    Raises:
        InputError: If there are no questions, or a true answer is unknown; if a setting does not
            exist; if `workers` holds anything but positive integers; or if a measurement is missing
            for a `replay`. Also the errors of `ask`.

    Examples:
        >>> times = ak.scaling.by_workers(cases[:1], vlm=vlm, workers=(1, 2), progress=False)
        >>> times["workers"].tolist()
        [1, 2]
    """
    check_flags(refresh=refresh, replay=replay, progress=progress)
    in_order = list(cases)
    counts = _worker_counts(workers)
    check_cases(in_order)
    check_settings("by_workers", ask, settings, RESERVED)
    settings = {"search": "paper", **settings}
    if isinstance(vlm, str):
        vlm = as_model(vlm, cache)
    models = [model_for(vlm, case) for case in in_order]
    cache = (cache or default_cache()).watched()

    import pandas as pd

    rows = list[dict[str, Any]]()
    with progress_bar(total=len(in_order) * len(counts), unit="run", disable=not progress) as bar:
        for case, model in zip(in_order, models, strict=True):
            run = _TimedQuestion(case.question, case.opened(), model, settings)
            for count in counts:
                measured = run.measured(count, cache, refresh=refresh, replay=replay)
                columns = measured.model_dump(exclude={"atlaskit"})
                rows.append(
                    {"id": case.question.id, "video": case.video, "workers": count, **columns}
                )
                bar.update()
    save_timings_manifest(cache)
    table = pd.DataFrame(rows)
    # A question has as many rows as there are counts, the fewest workers first.
    fewest_workers_calls = table["calls"].iloc[:: len(counts)].repeat(len(counts)).to_numpy()
    table["normalised_seconds"] = table["seconds"] * fewest_workers_calls / table["calls"]
    names = sorted({model.name for model in models})
    table.attrs = {"models": names, "settings": json_settings(settings)}
    return table


def _worker_counts(workers: Collection[int]) -> tuple[int, ...]:
    """Return the numbers of workers in order, each once; raise InputError for invalid ones."""
    if not isinstance(workers, Collection) or isinstance(workers, str) or not workers:
        raise InputError(
            f"workers must be one or more whole numbers, such as (1, 3, 5, 7); got {workers!r:.80}."
        )
    for count in workers:
        check_whole("Each number of workers", count)
    return tuple(sorted(set(workers)))


@dataclass
class _TimedQuestion:
    """A question that is asked with several numbers of workers, which share its images."""

    question: Question
    video: Video
    model: Model
    settings: Mapping[str, Any]
    images: Cache = field(default_factory=lambda: Cache(None).refreshing())
    """Holds the rendered images. It is refreshing, so that it gives no replies."""

    def measured(self, workers: int, cache: Cache, *, refresh: bool, replay: bool) -> Measured:
        """Return the cached measurement, or make one; raise InputError if a replay lacks it."""
        measured = None if refresh else self._cached(workers, cache)
        if replay and measured is None:
            raise InputError(
                f"The cache holds no measurement of {self.question.id!r} with {workers} workers, "
                "and a replay makes none; run it without replay first."
            )
        if measured and (replay or measured.is_of_here):
            return measured
        return self._measure(workers, cache)

    def _cached(self, workers: int, cache: Cache) -> Measured | None:
        """Return a stored measurement; None if there is none, or the entry is not a measurement."""
        try:
            return Measured.model_validate(cache.get_json(self._key(workers)))
        except ValidationError:
            return None

    def _measure(self, workers: int, cache: Cache) -> Measured:
        """Return the measurement of the second of two runs; store it unless a call failed."""
        self._run(without_delay(self.model), workers)  # renders the images
        measured, has_failed = self._run(self.model, workers)
        if not has_failed:
            cache.put_json(self._key(workers), measured.model_dump())
        return measured

    def _run(self, model: Model, workers: int) -> tuple[Measured, bool]:
        """Ask the question without cached replies; return the times, and whether a call failed."""
        question = self.question
        started_s = now_s()
        result = ask(
            self.video, question, vlm=model, workers=workers, cache=self.images, **self.settings
        )
        seconds = now_s() - started_s
        score = question.score(result.prediction)
        worker_calls = [call for call in result.calls if call.role == "worker"]
        measured = Measured(
            score=float(score),
            right=score >= RIGHT_FROM,
            calls=result.spent.calls,
            tokens=result.spent.tokens,
            cached_tokens=sum(call.usage.cached_tokens for call in result.calls if call.live),
            rounds=result.rounds,
            stop=result.stop,
            frames_decoded=result.spent.frames_decoded,
            seconds=seconds,
            serial_seconds=serial_s(result.calls, seconds),
            worker_calls=len(worker_calls),
            worker_seconds=sum(call.ended_s - call.began_s for call in worker_calls),
            processor=processor(),
            atlaskit=version("atlaskit"),
        )
        return measured, any(call.failure for call in result.calls)

    def _key(self, workers: int) -> str:
        # The processor and the version of atlaskit are left out (the entry names both), so that a
        # replay finds what another machine measured. So is the address of the model: another server
        # is measured with `refresh`.
        return TIMING.key(
            question=self.question.to_json(),
            video=self.video.fingerprint,
            lines=self.video.subtitles.fingerprint,
            model=self.model.name,
            parameters=dict(self.model.parameters),
            workers=workers,
            settings=json_settings(self.settings),
        )


def serial_s(calls: Iterable[Call], seconds: float) -> float:
    """Return the seconds of a run in which no worker's call ran.

    Examples:
        >>> ak.scaling.serial_s(result.calls, seconds=60.0) <= 60.0
        True
    """
    busy = list[Span]()
    for call in calls:
        if call.role == "worker" and call.began_s < call.ended_s:
            busy.append((call.began_s, call.ended_s))
    idle = DeadZones().add_all(busy).outside(0, seconds)
    return sum(end_s - start_s for start_s, end_s in idle)


def processor() -> str:
    """Return the processor's name and its number of cores, as far as the system reports them.

    Examples:
        >>> ak.scaling.processor().endswith("cores")
        True
    """
    name = platform.processor() or platform.machine()
    for line in cpuinfo().splitlines():
        field, _, value = line.partition(":")
        if field.strip() == "model name" and value.strip():
            name = value.strip()
            break
    return f"{name}, {os.cpu_count()} cores"


def amdahl(share: float, more: Any) -> Any:
    """Return Amdahl's bound on the speed-up.

    Args:
        share: The serial share of the time, in [0, 1].
        more: How many times as many workers: a number or an array.

    Examples:
        >>> ak.scaling.amdahl(0.5, 2)
        1.3333333333333333
    """
    return 1 / (share + (1 - share) / more)


def speedup(table: pd.DataFrame) -> pd.DataFrame:
    """Return what each number of workers gains (paper §4.4 and Fig. 6).

    Args:
        table: Table of `by_workers`. If several are joined, a column `model` tells them apart.

    Returns:
        One row for each number of workers (of each `model`). Columns: `workers`, `questions`; the
        means `seconds` and `normalised_seconds`, the latter with its 95 % interval over videos,
        `low` and `high`; `speedup`, the ratio of the fewest workers' normalised seconds to these;
        `serial_share`, the share of the time, in [0, 1], in which no worker's call is running;
        `bound`, Amdahl's bound from the serial share of the fewest workers; the means `score`,
        `calls` and `rounds`; `busy`, the mean number of workers' calls that run in parallel while
        any does; and `call_seconds`, the mean duration of one. On a saturated server `busy` and
        `call_seconds` grow together.

        `bound` assumes that more workers divide the same search without loss (with 3 as the fewest,
        6 are twice as many). The speed-up can exceed it, because more workers search
        differently, in fewer rounds.

    Raises:
        InputError: If the table has no rows, or lacks a column.

    Examples:
        >>> times = ak.scaling.by_workers(cases[:1], vlm=vlm, workers=(1, 2), progress=False)
        >>> ak.scaling.speedup(times)["workers"].tolist()
        [1, 2]
    """
    import pandas as pd

    for name in BY_WORKERS_COLUMNS:
        if name not in table.columns:
            raise InputError(f"The table lacks the column {name!r}; pass a table of by_workers.")
    if table.empty:
        raise InputError("The table has no rows; pass a table of by_workers.")
    tables = []
    for model, group in _models(table):
        gains = accuracy(group, "workers", column="normalised_seconds")
        gains = gains.rename(columns={"mean": "normalised_seconds"})
        groups = group.groupby("workers", sort=True)
        for column in ("seconds", "score", "calls", "rounds"):
            gains[column] = groups[column].mean().to_numpy()
        sums = groups[SUMMED].sum().reset_index(drop=True)
        gains["speedup"] = gains["normalised_seconds"].iloc[0] / gains["normalised_seconds"]
        gains["serial_share"] = sums["serial_seconds"] / sums["seconds"]
        gains["bound"] = amdahl(
            gains["serial_share"].iloc[0], gains["workers"] / gains["workers"].iloc[0]
        )
        gains["busy"] = sums["worker_seconds"] / (sums["seconds"] - sums["serial_seconds"])
        gains["call_seconds"] = sums["worker_seconds"] / sums["worker_calls"]
        tables.append(gains.assign(**model))
    names = ["model"] if "model" in table.columns else []
    return pd.concat(tables, ignore_index=True)[[*names, *COLUMNS]]


def conclusions(table: pd.DataFrame) -> list[str]:
    """Return one sentence for each model, about the gain of the most workers and its limit.

    If there is only one number of workers, it says that no gain is known.

    A server counts as saturated if its throughput, in calls a second, hardly grows although clearly
    more calls run in parallel.

    Raises:
        InputError: If the table has no rows, or lacks a column.

    Examples:
        >>> times = ak.scaling.by_workers(cases[:1], vlm=vlm, workers=(1, 2), progress=False)
        >>> all(isinstance(sentence, str) for sentence in ak.scaling.conclusions(times))
        True
    """
    sentences = []
    for model, gains in _models(speedup(table)):
        first = gains.iloc[0]
        last = gains.iloc[-1]
        name = model.get("model", "The search")
        if len(gains) == 1:
            sentences.append(
                f"{name}: measured with workers={last['workers']:.0f} alone, so there is no "
                "speed-up to tell."
            )
            continue
        calls_ratio = last["busy"] / first["busy"]
        seconds_ratio = last["call_seconds"] / first["call_seconds"]
        sentence = (
            f"{name}: {last['workers']:.0f} workers are "
            f"{last['speedup']:.2f} times as fast as {first['workers']:.0f} at equal workload, "
            f"Amdahl's bound is {last['bound']:.2f}"
        )
        if last["speedup"] > last["bound"]:
            sentence += (
                f", which assumes the same search: they take {last['rounds']:.1f} rounds, not "
                f"{first['rounds']:.1f}"
            )
        elif calls_ratio < PARALLEL_ENOUGH:
            sentence += f"; only {last['busy']:.1f} of their calls run in parallel"
        elif calls_ratio / seconds_ratio < SATURATED:
            sentence += (
                f"; {last['busy']:.1f} of their calls run in parallel and take "
                f"{seconds_ratio:.1f} times as long: this server is already saturated at "
                f"{first['workers']:.0f}"
            )
        sentences.append(f"{sentence}.")
    return sentences


def _models(table: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the name and the rows of each model; all rows if there is no column `model`."""
    if "model" not in table.columns:
        yield {}, table
        return
    for name in dict.fromkeys(table["model"]):
        yield {"model": name}, table[table["model"] == name]


@dataclass
class Delayed(ModelWrapper):
    """A model whose every reply takes at least `latency_s` seconds.

    Any number of calls run in parallel, as on a server that is never saturated, so that only the
    search itself limits the speed-up. Name and parameters include the delay, so that the cache
    keeps its replies apart from the model's own.

    Raises:
        InputError: If the latency is not a finite number of seconds, 0 or more.

    Examples:
        >>> slow = ak.scaling.delayed(vlm, 0.01)
        >>> isinstance(slow, ak.scaling.Delayed)
        True
    """

    latency_s: float

    def __post_init__(self) -> None:
        is_number = isinstance(self.latency_s, int | float) and not isinstance(self.latency_s, bool)
        if not is_number or not 0 <= self.latency_s < math.inf:
            raise InputError(
                f"latency_s must be a number of seconds, 0 or more; got {self.latency_s!r:.80}."
            )

    @property
    def name(self) -> str:
        """The model's name, with the delay."""
        return f"{self.model.name}@{self.latency_s:g}s"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The model's parameters, with the delay."""
        return {**self.model.parameters, "latency_s": self.latency_s}

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the model's reply once the latency has passed, or the call is cancelled."""
        started_s = time.monotonic()
        reply = self.model.complete(request, **control)
        cancel = control.get("cancel") or threading.Event()
        cancel.wait(max(0.0, started_s + self.latency_s - time.monotonic()))
        return replace(reply, transit=replace(reply.transit, wall_s=time.monotonic() - started_s))


def delayed(vlm: Model | str | MakesModel, latency_s: float) -> Model | MakesModel:
    """Return a model with a latency; or, for worlds, a function that makes one for each.

    Args:
        vlm: A model, an address or a name as for `ask`; or, for worlds, a function that makes one
            for each, such as a class of oracles.
        latency_s: The least seconds that a reply takes.

    Raises:
        InputError: If the latency is not a finite number of seconds, 0 or more. If `vlm` is a
            function, the error comes when the function that is returned makes a model.

    Examples:
        >>> slow = ak.scaling.delayed(vlm, 0.01)
        >>> ak.ask(video, question, vlm=slow, cache=ak.Cache(None)).is_right
        True
    """
    if isinstance(vlm, str):
        vlm = as_model(vlm)
    if not isinstance(vlm, type) and hasattr(vlm, "complete"):
        return Delayed(cast(Model, vlm), latency_s)
    return partial(_delayed_for_world, cast(MakesModel, vlm), latency_s)


def without_delay(model: Model) -> Model:
    """Return the model behind a delay; any other model unchanged."""
    return model.model if isinstance(model, Delayed) else model


def _delayed_for_world(make_model: MakesModel, latency_s: float, world: Any) -> Model:
    return Delayed(make_model(world), latency_s)


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
