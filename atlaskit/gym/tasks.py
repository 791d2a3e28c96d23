"""What an episode is about: what is asked (`TASKS`), and what is rewarded (`Reward`, `Coverage`).

`Reward` is the score of the answer (paper §3.1). A subclass rewards something else on the same
environment: what may be done, the masks and the end of an episode stay. An episode is about one
question about one video, which the user gives, or which is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Answered, Question
from atlaskit.errors import InputError, check_whole
from atlaskit.guests import WORLDS, load, registered
from atlaskit.gym.words import form_words
from atlaskit.video.opening import open_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.subtitles.files import SubtitleSource
from atlaskit.video.video import Video


@dataclass(frozen=True)
class Reward:
    """The score of the answer: 1 for the right choice or count, temporal IoU for intervals.

    A subclass overrides `score`, and what else it needs. An episode asks for the score once, when
    it is finished.

    Examples:
        >>> from atlaskit.gym import AtlasEnv, Reward
        >>> class Sparing(Reward):
        ...     def score(self, question, kept, prediction):
        ...         return question.score(prediction) / max(1, len(kept))
        >>> env = AtlasEnv(video, question, reward=Sparing())
    """

    most_kept: int | None = None
    """How many frames the scratchpad may hold; None for any number."""

    needs_answer = True
    """Whether an answer is scored. If not, `Finished` ends an episode, whatever its question."""

    def __post_init__(self) -> None:
        if self.most_kept is not None:
            check_whole("most_kept", self.most_kept)

    def score(self, question: Question, kept: Scratchpad, prediction: Answered | None) -> float:
        """Return the score of a finished episode, in [0, 1].

        Args:
            question: The question, with its truth.
            kept: The evidence at the end.
            prediction: The answer; None without one.
        """
        return question.score(prediction)

    def check(self, question: Question) -> None:
        """Raise InputError for a question that cannot be scored."""
        if question.answer is None:
            raise InputError(
                f"The true answer of {question.text!r} is not known, so there is no reward."
            )

    def words(self, question: Question) -> str:
        """Return how a language model is told what to do with a question."""
        return form_words(question)


@dataclass(frozen=True)
class Coverage(Reward):
    """The share of the events that the kept frames show: a summary of at most `most_kept` frames.

    With E events, at most n frames and s events of which a kept frame shows one moment, the score
    is s / min(n, E). A frame that shows no event, or one that another frame shows, takes a place
    and earns nothing.

    The events are the question's `positions_s`, or the intervals of its true answer. Its kind does
    not matter, because nothing is answered.

    Examples:
        >>> from atlaskit.gym import AtlasEnv, Coverage
        >>> goals = ak.Question("Keep the goals.", kind="when", answer=[(60, 75), (310, 325)])
        >>> env = AtlasEnv(video, goals, reward=Coverage(most_kept=2))
    """

    most_kept: int | None = 8
    needs_answer = False

    def score(self, question: Question, kept: Scratchpad, prediction: Answered | None) -> float:
        """Return s / min(n, E)."""
        events = question.evidence_s
        shown = sum(bool(kept.within(*event)) for event in events)
        return shown / min(len(events), self.most_kept or len(events))

    def check(self, question: Question) -> None:
        """Raise InputError for a question without intervals."""
        if not question.evidence_s:
            raise InputError(
                f"{question.text!r} has neither positions_s nor intervals as its answer, so there "
                "is nothing to cover."
            )

    def words(self, question: Question) -> str:
        """Return how many frames may be kept, and for what."""
        most = "" if self.most_kept is None else f" Keep at most {self.most_kept} frames."
        return (
            f"Nothing is answered: what the kept frames show counts, each event once.{most} Then "
            "finish."
        )


ANSWER = Reward()
"""The reward of the paper."""


Source: TypeAlias = AnyVideo
"""A video: open, or as `open_video` takes it."""
VideoQuestion: TypeAlias = tuple[Video, Question]

ANSWERABLE = ("choice", "when", "count")
"""The kinds of question that an action can answer."""
DRAWN = ("choice", "when")
"""The kinds of question that are drawn."""
WORLD_SIZE = (128, 72)
"""(width, height) of a drawn world's frames in pixels."""
MAX_WORLDS = 100
"""How many worlds are searched for a question before drawing one fails."""


class World(Protocol):
    """A synthetic video whose truth is known, and questions about it."""

    @property
    def drawn(self) -> Video:
        """The video; its frames are drawn when they are asked for."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions about it, with their answers."""

    @property
    def several(self) -> tuple[Question, ...]:
        """When-questions of several intervals."""

    @property
    def summary(self) -> Question:
        """The question whose answer is when anything happens."""


class MakesWorlds(Protocol):
    """Makes the world of a seed, always the same: what an entry point of a package leads to."""

    def __call__(
        self, seed: int, duration_s: float, /, *, size: tuple[int, int], anomaly: bool
    ) -> World:
        """Return the world; with `anomaly`, one object does not belong, and questions ask which."""


def maker_of_worlds(name: str = "") -> MakesWorlds:
    """Return what makes worlds: what has that name, or else the first by name that is registered.

    Raises:
        InputError: No package has registered worlds, or none of that name.
    """
    names = list(registered(WORLDS))
    if not names:
        raise InputError(
            "No installed package has worlds to draw from: give a video and a question about it."
        )
    maker: MakesWorlds = load(WORLDS, name or names[0])
    return maker


@dataclass(frozen=True)
class Task:
    """What is asked about a drawn world, and what is rewarded."""

    name: str
    asked: Callable[[World], tuple[Question, ...]]
    """The questions about a world, one of which an episode is about."""
    reward: Reward = ANSWER
    anomaly: bool = False
    """Whether one object of the world does not belong."""

    def of(self, world: World) -> tuple[Question, ...]:
        """Return the questions about a world.

        Raises:
            InputError: There are none.
        """
        questions = self.asked(world)
        if questions:
            return questions
        raise InputError(
            f"{world!r} has no question of the task {self.name!r}: use another seed or duration_s."
        )


def _when_questions(world: World) -> tuple[Question, ...]:
    of_one_time = [question for question in world.questions if question.kind == "when"]
    return (*of_one_time, *world.several)


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("answer", lambda world: world.questions),
        Task("grounding", _when_questions),
        Task("summary", lambda world: (world.summary,), Coverage()),
        Task("anomaly", lambda world: world.questions, anomaly=True),
    )
}
"""The tasks by name: answer a question; say when; keep what happens; find what does not belong."""


def named_task(name: str) -> Task:
    """Return a task by its name.

    Raises:
        InputError: There is no task of that name.
    """
    if name not in TASKS:
        raise InputError(f"task must be {', '.join(TASKS)}; got {name!r:.80}.")
    return TASKS[name]


def given_task(
    video: Source | None,
    question: Question | None,
    subtitles: SubtitleSource | bool,
    n_answers: int,
    reward: Reward,
) -> VideoQuestion | None:
    """Return the task that the user gave, with the video opened; None if tasks are to be drawn.

    Raises:
        InputError: If only one of video and question is given, if the question cannot be answered
            by an action, or if subtitles are given for a drawn world.
    """
    if (video is None) != (question is None):
        raise InputError(
            "Give both a video and a question about it, or neither; then worlds are drawn."
        )
    if video is None or question is None:
        if not isinstance(subtitles, bool):
            raise InputError(
                "A drawn world has its own lines, so subtitles must be True or False; got "
                f"{subtitles!r}."
            )
        return None
    if reward.needs_answer:
        check_question(question, n_answers)
    reward.check(question)
    return open_video(video, None if isinstance(subtitles, bool) else subtitles), question


def draw_task(
    rng: np.random.Generator, duration_s: float, n_answers: int, task: Task, worlds: str = ""
) -> VideoQuestion:
    """Draw a world and one of its questions.

    Args:
        rng: Source of randomness.
        duration_s: Duration of the world in seconds.
        n_answers: How many answers the action space has.
        task: What is asked about the world.
        worlds: Whose world: see `maker_of_worlds`.

    Raises:
        InputError: If no world of this duration has a question, or one needs more answers.
    """
    make = maker_of_worlds(worlds)
    for _ in range(MAX_WORLDS):
        world = make(int(rng.integers(2**31)), duration_s, size=WORLD_SIZE, anomaly=task.anomaly)
        questions = [question for question in task.asked(world) if question.kind in DRAWN]
        for question in questions:
            check_question(question, n_answers)
        if questions:
            return world.drawn, questions[int(rng.integers(len(questions)))]
    raise InputError(
        f"None of {MAX_WORLDS} worlds of {duration_s:g} s has a question; use a larger duration_s."
    )


def check_question(question: Question, n_answers: int) -> None:
    """Raise InputError for a question that no action can answer or no answer can score."""
    if question.kind not in ANSWERABLE:
        raise InputError(
            f"A question of kind {question.kind!r} is answered in words, which no numbered action "
            f"can give; use one of kind {', '.join(ANSWERABLE)}."
        )
    if question.answer is None:
        raise InputError(
            f"The true answer of {question.text!r} is not known, so there is no reward."
        )
    needed = len(question.choices)
    if question.kind == "count":
        needed = question.answer + 1  # type: ignore[operator]
    if needed > n_answers:
        raise InputError(
            f"{question.text!r} needs {needed} answers, but n_answers is {n_answers}; raise "
            "n_answers."
        )
