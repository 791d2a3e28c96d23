"""`Reward` and `Coverage`: what an episode is rewarded for.

`Reward` is the score of the answer (paper §3.1). A subclass rewards something else on the same
environment: what may be done, the masks and the end of an episode stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from atlaskit.environment.memory import Scratchpad
from atlaskit.environment.question import Answered, Question
from atlaskit.errors import InputError, check_whole
from atlaskit.gym.words import form_words


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
            raise InputError(f"The true answer of {question.text!r} is not known, so there is no reward.")

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
                f"{question.text!r} has neither positions_s nor intervals as its answer, so there is nothing to cover."
            )

    def words(self, question: Question) -> str:
        """Return how many frames may be kept, and for what."""
        most = "" if self.most_kept is None else f" Keep at most {self.most_kept} frames."
        return f"Nothing is answered: what the kept frames show counts, each event once.{most} Then finish."


ANSWER = Reward()
"""The reward of the paper."""
