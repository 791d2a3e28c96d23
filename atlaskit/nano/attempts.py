"""`Attempt`: one sampled search of a model for the answer to a question, recorded call by call.

The attempts at one question form a group, as in GRPO (Shao et al. 2024): they share the world and
the question, and differ in the replies that the model samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

from tqdm import tqdm

from atlaskit.agents.prompts import StepCall
from atlaskit.benchmarks.atlasworld import World
from atlaskit.environment.question import Question
from atlaskit.evaluation.rows import RIGHT_FROM
from atlaskit.models.protocol import Model, Reply, Request
from atlaskit.nano import dagger
from atlaskit.nano.data.examples import RecordedExample
from atlaskit.runs.events import ReportData, data_of
from atlaskit.runs.result import Result

GROUP = 4
"""Attempts at each question."""
MAX_CALLS = 80
"""Limit on the calls of an attempt."""

Visit: TypeAlias = tuple[tuple[int, ...], int]
"""A worker's visit to a region: the path of the region and its shift."""


@dataclass
class Recorder(dagger.Student):
    """A student whose records of steps name the visit that they belong to."""

    def example(self, request: Request, reply: Reply) -> RecordedExample:
        """Return the record of a call; `visit` is None but for a worker's step."""
        call = request.facts
        region = call.observation.state.region if isinstance(call, StepCall) else None
        return {**super().example(request, reply), "visit": region and (region.path, region.shift)}


@dataclass(frozen=True)
class Attempt:
    """One search for the answer to a question.

    Attributes:
        score: Score of the answer, from 0 to 1.
        calls: Number of calls that the search made.
        examples: The calls with the model's replies.
        kept: The times in seconds of the frames that each visit put into the scratchpad.
        shown: The intervals in which the answer is shown; none if that is not known.
    """

    score: float
    calls: int
    examples: list[RecordedExample] = field(repr=False)
    kept: dict[Visit, list[float]] = field(default_factory=dict, repr=False)
    shown: tuple[tuple[float, float], ...] = ()

    @property
    def is_successful(self) -> bool:
        """Whether the score is at least `RIGHT_FROM`."""
        return self.score >= RIGHT_FROM


def attempt(vlm: Model, world: World, question: Question, sample: int) -> Attempt:
    """Search for the answer to a question once.

    Args:
        vlm: The model; without a temperature all of its attempts are alike.
        world: The world that the question is about.
        question: The question.
        sample: Number of the attempt; each has replies of its own.
    """
    student = dagger.make_student(vlm, world, records_teacher=False, form=Recorder)
    result = dagger.search(student, world, question, MAX_CALLS, traversal="dfs", workers=4, sample=sample)
    score = question.score(result.prediction)
    return Attempt(score, result.spent.calls, student.examples, _kept(result), question.evidence_s)


def groups_of_attempts(
    vlm: Model, worlds: Sequence[World], group: int = GROUP, in_flight: int = 12
) -> Iterator[list[Attempt]]:
    """Yield the attempts at each question, `in_flight` of them at the same time."""
    jobs = [(world, question, sample) for world in worlds for question in world.questions for sample in range(group)]
    with ThreadPoolExecutor(in_flight) as pool:
        attempts = pool.map(lambda job: attempt(vlm, *job), jobs)
        bar = tqdm(attempts, total=len(jobs), desc="searches", unit="search")
        yield from map(list, zip(*[iter(bar)] * group, strict=True))


def _kept(result: Result) -> dict[Visit, list[float]]:
    """Return the times of the evidence that each visit of a run kept."""
    reports = [data for data in map(data_of, result.trace.of("report")) if isinstance(data, ReportData)]
    return {(tuple(data.path), data.shift): [item.timestamp_s for item in data.kept] for data in reports}
