"""DAgger: runs nano's own searches and records the teacher's reply in each state they reach.

The teacher's own trajectories contain few of the states that nano's mistakes lead to, so one
mistake leads to the next (Ross et al. 2011). All searches are in training worlds.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, Unpack

from tqdm import tqdm

from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.models.protocol import CallControl, Model, Reply, Request
from atlaskit.nano.data.examples import group_by_prefix
from atlaskit.nano.data.shards import write_groups
from atlaskit.nano.data.trajectories import TrajectoryRecorder
from atlaskit.nano.teacher.labels import TRAINING_SEED
from atlaskit.nano.teacher.teacher import SETTINGS, Expert
from atlaskit.runs.result import Result

FIRST_SEED = TRAINING_SEED + 950_000
"""Seed of the first searched world; the recipe uses none of these worlds otherwise."""
LENGTHS_S = (36_000, 600, 36_000, 600, 3600, 36_000, 600)
"""Lengths of the worlds in seconds, world by world in turn."""
QUESTIONS, MAX_CALLS = 10, 100
"""Questions per world, and the limit on calls per question."""


@dataclass
class Student(TrajectoryRecorder):
    """A model that searches by itself while every call is recorded.

    Attributes:
        model: Gives the replies that the search follows.
        records_teacher: Whether to record the teacher's reply to each call instead of the model's
            own.
    """

    model: Model = field(kw_only=True)
    records_teacher: bool = field(kw_only=True)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the model's reply; record it, or the teacher's."""
        reply = self.model.complete(request, **control)
        target = self.teacher.complete(request) if self.records_teacher else reply
        self.examples.append(self.example(request, target))
        return reply


def make_student(vlm: Model, world: World, *, records_teacher: bool, form: type[Student] = Student) -> Student:
    """Return a student for one world, of a form that may record more."""
    return form(
        Expert(world.script),
        0.0,
        random.Random(0),
        name=vlm.name,
        parameters=vlm.parameters,
        model=vlm,
        records_teacher=records_teacher,
    )


def search(student: Student, world: World, question: Question, max_calls: int, **settings: Any) -> Result:
    """Let a student answer a question about its world, uncached.

    `settings` are keyword arguments of `ask`.
    """
    arguments = {**SETTINGS, "budget": Budget(calls=max_calls), "cache": Cache(None), **settings}
    return ask(world.drawn, question, vlm=student, **arguments)


def write_dagger_examples(
    folder: Path, vlm: Model, worlds: int, *, questions: int = QUESTIONS, threads: int = 12
) -> None:
    """Write the teacher's replies in a model's own searches, one world a shard.

    Existing shards are kept.

    Args:
        folder: Folder to write to.
        vlm: The model that searches.
        worlds: Number of worlds.
        questions: Questions per world.
        threads: Searches at the same time.
    """
    paths = [folder / f"lessons-{number:04d}.jsonl" for number in range(worlds)]
    missing = [number for number, path in enumerate(paths) if not path.exists()]
    drawn = [_world(number, questions) for number in missing]
    students = [(world, make_student(vlm, world, records_teacher=True)) for world in drawn]
    with ThreadPoolExecutor(threads) as pool:
        running = [
            [pool.submit(search, student, world, question, MAX_CALLS, traversal="dfs") for question in world.questions]
            for world, student in students
        ]
        with tqdm(total=sum(map(len, running)), desc="own searches", unit="search") as bar:
            for number, (_, student), searches in zip(missing, students, running, strict=True):
                for future in searches:
                    future.result()
                    bar.update()
                # Sorted, so that the file does not depend on which search finished first.
                write_groups(paths[number], group_by_prefix(sorted(student.examples, key=itemgetter("text", "reply"))))


def link_synthetic(data: Path, folder: Path) -> None:
    """Link all training data except the trajectories into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in data.resolve().iterdir():
        if not path.name.startswith("lessons-") and not (folder / path.name).exists():
            (folder / path.name).symlink_to(path)


def _world(number: int, questions: int) -> World:
    length_s = LENGTHS_S[number % len(LENGTHS_S)]
    return atlasworld(FIRST_SEED + number, length_s, questions=questions, size=(640, 360))
