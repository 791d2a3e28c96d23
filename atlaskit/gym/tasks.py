"""What an episode is about: what is asked (`TASKS`), and what is rewarded (`Reward`, `Coverage`).

`Reward` is the score of the answer (paper §3.1). A subclass can reward something else in the same
environment: the legal actions, the masks and the end of an episode do not change. An episode is
about one question about one video. The user gives both, or both are drawn.
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

    A subclass overrides `score` and, if needed, the other members. `score` is only called at the
    end of an episode, and may be called again there: the same arguments must give the same score.

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
    """Whether an answer is scored. If not, `Finished` without an answer ends every episode;
    otherwise, only one about a when-question, whose answer is then the time of the evidence."""

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
        """Return the instruction that tells a language model what to do with a question."""
        return form_words(question)


@dataclass(frozen=True)
class Coverage(Reward):
    """The share of the events that the kept frames show: a summary of at most `most_kept` frames.

    If there are E events, at most n frames may be kept, and the kept frames show a moment of s
    different events, then the score is s / min(n, E), and at most 1: one frame may show several
    events. So a frame that shows no event, or the same event as another frame, only takes a place.

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
        """Return s / min(n, E), at most 1."""
        events = question.evidence_s
        shown = sum(bool(kept.within(*event)) for event in events)
        return min(1.0, shown / min(len(events), self.most_kept or len(events)))

    def check(self, question: Question) -> None:
        """Raise InputError for a question without intervals."""
        if not question.evidence_s:
            raise InputError(
                f"{question.text!r} has neither positions_s nor intervals as its answer, so there "
                "is nothing to cover."
            )

    def words(self, question: Question) -> str:
        """Return the instruction: how many frames may be kept, and what is rewarded."""
        most = "" if self.most_kept is None else f" Keep at most {self.most_kept} frames."
        return (
            f"Nothing is answered: what the kept frames show counts, each event once.{most} Then "
            "finish."
        )


ANSWER = Reward()
"""The reward of the paper."""


Source: TypeAlias = AnyVideo
"""A video: an open `Video`, or any argument of `open_video`."""
VideoQuestion: TypeAlias = tuple[Video, Question]
"""What one episode is about."""

ANSWERABLE = ("choice", "when", "count")
"""The kinds of question that an action can answer."""
DRAWN = ("choice", "when")
"""The kinds of question that are drawn."""
WORLD_SIZE = (128, 72)
"""(width, height) of a drawn world's frames in pixels."""
MAX_WORLDS = 100
"""The most worlds that are made in search of one with a question; then drawing a task fails."""


class World(Protocol):
    """A synthetic video whose truth is known, and questions about it."""

    @property
    def drawn(self) -> Video:
        """The video, whose frames are rendered on demand."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions about the video, with their answers."""

    @property
    def several(self) -> tuple[Question, ...]:
        """When-questions whose answer is several intervals."""

    @property
    def summary(self) -> Question:
        """The when-question whose answer is all intervals in which something happens."""


class MakesWorlds(Protocol):
    """A function that makes the world of a seed, always the same one for the same arguments.

    A package registers it as an entry point of the group `atlaskit.worlds`.
    """

    def __call__(
        self, seed: int, duration_s: float, /, *, size: tuple[int, int], anomaly: bool
    ) -> World:
        """Return the world; with `anomaly`, one object does not belong, and questions ask which."""


def maker_of_worlds(name: str = "") -> MakesWorlds:
    """Return a registered function that makes worlds.

    Args:
        name: The name under which it is registered; "" for the first in alphabetical order.

    Raises:
        InputError: No package has registered worlds, or none under this name.
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
    """Returns the questions about a world, from which an episode draws one."""
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
"""The tasks by name: answer a question, say when something happens, keep frames of all that
happens, and find the object that does not belong."""


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
    """Return the video, opened, and the question that the user gave; None if both will be drawn.

    Raises:
        InputError: Only one of video and question is given, the question cannot be answered by an
            action, or subtitles are given for a drawn world.
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
        n_answers: The number of answers in the action space.
        task: The questions to draw from.
        worlds: The name of the function that makes worlds: see `maker_of_worlds`.

    Raises:
        InputError: No world of this duration has a question, or a question needs more answers.
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
    """Raise InputError for a question that no action can answer, or whose answer is unknown."""
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
    if question.kind == "count":  # the answers are the numbers from 0 on
        needed = question.answer + 1  # type: ignore[operator]
    if needed > n_answers:
        raise InputError(
            f"{question.text!r} needs {needed} answers, but n_answers is {n_answers}; raise "
            "n_answers."
        )
