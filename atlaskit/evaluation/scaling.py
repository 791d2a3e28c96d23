"""Measure the wall-clock time of a search by its number of workers (paper §4.4 and Fig. 6).

Measures the parallelism of one search, so questions run one at a time and every model call is
really made. To leave out what a cache would save anyway, each question runs twice with each number
of workers, and the second run is reported. By then its images are rendered, a server that starts at
the first call is up, and the server's prefix cache knows the prompts. That holds for every number
of workers, so no later one gains from an earlier one, but the prefix cache helps more than in a
first run: `cached_tokens` reports how many prompt tokens it saved.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, ValidationError
from tqdm import tqdm

from atlaskit.agents.search import ask
from atlaskit.benchmarks.case import Case, MakesModel, model_for
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.keys import Kind, is_json
from atlaskit.environment.memory import DeadZones
from atlaskit.environment.question import Question
from atlaskit.errors import InputError, check_whole
from atlaskit.evaluation.latency import Delayed, delayed, without_delay
from atlaskit.evaluation.rows import RIGHT_FROM
from atlaskit.evaluation.speedups import amdahl, conclusions, speedup
from atlaskit.evaluation.validation import check_cases, check_settings, json_settings
from atlaskit.models.cached import Call
from atlaskit.models.protocol import Model, now_s
from atlaskit.models.serving.plan import cpuinfo
from atlaskit.models.serving.server import as_model
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
"""Settings of `ask` that `by_workers` passes itself or does not allow."""


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
    """Frames decoded while the clock ran: 0 unless the model answers differently the second
    time."""
    seconds: NonNegativeFloat
    serial_seconds: NonNegativeFloat
    worker_calls: NonNegativeInt
    worker_seconds: NonNegativeFloat
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

    Replies are neither taken from a cache nor stored in one. The measurements are: running the same
    line again makes no model call and returns the same table. A run in which a call failed is not
    stored. Nothing else should run on the machine while it measures.

    Args:
        cases: The questions with their videos; the true answers must be known.
        vlm: A model, an address or a name as for `ask`; or, for worlds, a function that makes one
            for each.
        cache: The cache of measurements.
        refresh: Whether to measure again what the cache holds.
        replay: Whether to use cached measurements only, those of other machines included.
        **settings: Keyword arguments of `ask`.

    Returns:
        One row for each question and number of workers. Columns: `id`, `video`, `workers`; `score`,
        `right`; `calls` and `tokens` that were paid, `cached_tokens` of them, `rounds`, `stop`,
        `frames_decoded`; and in seconds: `seconds` of wall-clock time, `serial_seconds` of them in
        which no worker's call ran, `worker_seconds` as the sum over all `worker_calls`, and
        `normalised_seconds`, which are `seconds` scaled to the number of calls that the fewest
        workers make, the paper's "equal workload" (§4.4); and the `processor` on which the row was
        measured. The table's `attrs` hold the models and the settings.

    Raises:
        InputError: If there are no questions, or a true answer is unknown; if a setting does not
            exist; if `workers` holds anything but positive integers; or if `replay` lacks a
            measurement. And what `ask` raises.

    Examples:
        >>> times = ak.scaling.by_workers(cases[:1], vlm=vlm, workers=(1, 2), progress=False)
        >>> times["workers"].tolist()
        [1, 2]
    """
    in_order, counts = list(cases), _worker_counts(workers)
    check_cases(in_order)
    check_settings("by_workers", ask, settings, RESERVED)
    settings = {"search": "paper", **settings}
    vlm = as_model(vlm, cache) if isinstance(vlm, str) else vlm
    models = [model_for(vlm, case) for case in in_order]
    cache = (cache or default_cache()).watched()

    import pandas as pd

    rows = list[dict[str, Any]]()
    with tqdm(total=len(in_order) * len(counts), unit="run", disable=not progress) as bar:
        for case, model in zip(in_order, models, strict=True):
            run = _TimedQuestion(case.question, case.opened(), model, settings)
            for count in counts:
                measured = run.measured(count, cache, refresh=refresh, replay=replay)
                columns = measured.model_dump(exclude={"atlaskit"})
                rows.append({"id": case.question.id, "video": case.video, "workers": count, **columns})
                bar.update()
    save_timings_manifest(cache)
    table = pd.DataFrame(rows)
    fewest_workers_calls = table["calls"].iloc[:: len(counts)].repeat(len(counts)).to_numpy()
    table["normalised_seconds"] = table["seconds"] * fewest_workers_calls / table["calls"]
    names = sorted({model.name for model in models})
    table.attrs = {"models": names, "settings": json_settings(settings)}
    return table


def _worker_counts(workers: Collection[int]) -> tuple[int, ...]:
    """Return the numbers of workers in order, each once; raise InputError for invalid ones."""
    if not isinstance(workers, Collection) or isinstance(workers, str) or not workers:
        raise InputError(f"workers must be one or more whole numbers, such as (1, 3, 5, 7); got {workers!r:.80}.")
    for count in workers:
        check_whole("Each number of workers", count)
    return tuple(sorted(set(workers)))


@dataclass
class _TimedQuestion:
    """A question that is asked with several numbers of workers; they share the rendered images."""

    question: Question
    video: Video
    model: Model
    settings: Mapping[str, Any]
    images: Cache = field(default_factory=lambda: Cache(None).refreshing())

    def measured(self, workers: int, cache: Cache, *, refresh: bool, replay: bool) -> Measured:
        """Return the cached measurement, or make one; raise InputError if a replay lacks it."""
        measured = None if refresh else self._cached(workers, cache)
        if replay and measured is None:
            raise InputError(
                f"The cache holds no measurement of {self.question.id!r} with {workers} workers, and a replay makes "
                f"none; run it without replay first."
            )
        return measured if measured and (replay or measured.is_of_here) else self._measure(workers, cache)

    def _cached(self, workers: int, cache: Cache) -> Measured | None:
        """Return a stored measurement; None if there is none, or the entry is not a measurement."""
        try:
            return Measured.model_validate(cache.get_json(self._key(workers)))
        except ValidationError:
            return None

    def _measure(self, workers: int, cache: Cache) -> Measured:
        """Return the measurement of the second of two runs; store it unless a call failed."""
        self._run(without_delay(self.model), workers)
        measured, has_failed = self._run(self.model, workers)
        if not has_failed:
            cache.put_json(self._key(workers), measured.model_dump())
        return measured

    def _run(self, model: Model, workers: int) -> tuple[Measured, bool]:
        """Ask the question without cached replies; return the times, and whether a call failed."""
        question, started_s = self.question, now_s()
        result = ask(self.video, question, vlm=model, workers=workers, cache=self.images, **self.settings)
        seconds, score = now_s() - started_s, question.score(result.prediction)
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
        # Without the processor and the version of atlaskit, so that a replay finds what another
        # machine measured; the entry names both. Without the address: `refresh` measures another.
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
    """Return in how many of a run's seconds no worker's call ran.

    Examples:
        >>> ak.scaling.serial_s(result.calls, seconds=60.0) <= 60.0
        True
    """
    spans = ((call.began_s, call.ended_s) for call in calls if call.role == "worker")
    covered = DeadZones().add_all(span for span in spans if span[0] < span[1])
    return sum(end_s - start_s for start_s, end_s in covered.outside(0, seconds))


def processor() -> str:
    """Return the processor's name and its number of cores, as far as the system reports them.

    Examples:
        >>> ak.scaling.processor().endswith("cores")
        True
    """
    lines = cpuinfo().splitlines()
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{name or platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
