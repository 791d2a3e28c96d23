"""Practice: nano searches by itself, and its teacher says of each place that it comes to what to do there.

Lessons of the teacher's own searches show few of the places that its pupil's slips lead to, so one slip leads to the
next (Ross et al. 2011 call this DAgger). All of it is in worlds to learn from.
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
from atlaskit.nano.data.shards import write_rows
from atlaskit.nano.data.trajectories import TrajectoryRecorder, grouped
from atlaskit.nano.teacher.labels import TRAINING_SEED
from atlaskit.nano.teacher.teacher import SETTINGS, Expert
from atlaskit.runs.result import Result

FIRST = TRAINING_SEED + 950_000
"""Of the worlds that are searched, from which nothing was learned yet."""
LENGTHS_S = (36_000, 600, 36_000, 600, 3600, 36_000, 600)
"""Of the worlds, by turns."""
QUESTIONS, MOST_CALLS = 10, 100
"""About each world, and for each question."""


@dataclass
class Student(TrajectoryRecorder):
    """A model that answers by itself, with the recorder's notebook: what it said, or what its teacher would have."""

    model: Model = field(kw_only=True)
    is_taught: bool = field(kw_only=True)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Let the model answer, and write it down."""
        reply = self.model.complete(request, **control)
        self.lessons.append(self.lesson(request, self.expert.complete(request) if self.is_taught else reply))
        return reply


def pupil(vlm: Model, world: World, *, is_taught: bool) -> Student:
    """Give a model its notebook, for one world."""
    told: dict[str, Any] = {"name": vlm.name, "parameters": vlm.parameters}
    return Student(Expert(world.script), 0.0, random.Random(0), **told, model=vlm, is_taught=is_taught)


def searched(who: Student, world: World, question: Question, calls: int, **how: Any) -> Result:
    """Let a pupil answer a question about its world, in so many calls at most."""
    given = {**SETTINGS, "budget": Budget(calls=calls), "cache": Cache(None), **how}
    return ask(world.drawn, question, vlm=who, **given)


def write_practice(folder: Path, vlm: Model, worlds: int, *, questions: int = QUESTIONS, threads: int = 12) -> None:
    """Write what the teacher says of a model's own searches, a world a shard; those that are there are left."""
    paths = [folder / f"lessons-{number:04d}.jsonl" for number in range(worlds)]
    missing = [number for number, path in enumerate(paths) if not path.exists()]
    asked = [(world, pupil(vlm, world, is_taught=True)) for world in (_world(number, questions) for number in missing)]
    with ThreadPoolExecutor(threads) as pool:
        under_way = [
            [pool.submit(searched, who, world, question, MOST_CALLS, traversal="dfs") for question in world.questions]
            for world, who in asked
        ]
        with tqdm(total=sum(map(len, under_way)), desc="practice", unit="search") as bar:
            for number, (_, who), searches in zip(missing, asked, under_way, strict=True):
                for search in searches:
                    search.result()
                    bar.update()
                lessons = sorted(who.lessons, key=itemgetter("text", "reply"))  # the same whichever search was first
                write_rows(paths[number], grouped(lessons))


def _world(number: int, questions: int) -> World:
    return atlasworld(FIRST + number, LENGTHS_S[number % len(LENGTHS_S)], questions=questions, size=(640, 360))


def link_drills(material: Path, folder: Path) -> None:
    """Put all of some teaching material but its lessons into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in material.resolve().iterdir():
        if not path.name.startswith("lessons-") and not (folder / path.name).exists():
            (folder / path.name).symlink_to(path)
