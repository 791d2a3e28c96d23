"""`AtlasEpisode`: one question about one video, as an interactive episode for a trainer."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Action, AddToScratchpad
from atlaskit.environment.atlas import Atlas, Observation
from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import State
from atlaskit.environment.question import Answered, Question, Span
from atlaskit.environment.scoring import merged
from atlaskit.errors import IllegalAction, InputError, printable
from atlaskit.gym.actions import CELL_KINDS, as_move, legal_moves
from atlaskit.gym.tasks import ANSWER, Reward, World, maker_of_worlds, named_task
from atlaskit.gym.words import moves_words, observation_words, question_words

LONGEST_PROBLEM = 600
"""The most characters of an error that a turn shows: the error may quote what a model wrote."""


class Turn(NamedTuple):
    """What an agent receives: an image, words, and the actions that are legal now."""

    image: Image.Image
    """The sheet of the current grid; after zoom or investigate, the frame or the scan."""
    words: str
    """The question, the observation and the legal actions in words, for the prompt."""
    actions: list[dict[str, Any]]
    """Every legal action in the form that `AtlasEpisode.act` takes; empty when the episode is over.

    Only answers that are choices are listed: pass any other answer to `AtlasEpisode.answer`."""


@dataclass(frozen=True)
class Measures:
    """The score, the cost and the other measures of an episode."""

    score: float
    """What the episode's `Reward` gives, in [0, 1]: by default `Question.score` of the answer. 0
    unless an answer or `Finished` has ended the episode."""
    cost: float
    """What the steps take off the reward."""
    steps: int
    """Steps taken, including illegal ones."""
    illegal_actions: int
    evidence: int
    """Pieces of evidence kept."""
    evidence_precision: float | None
    """Of the evidence, the share whose frame lies in an interval that shows the answer; None if no
    such interval is known, or nothing is kept."""
    evidence_recall: float | None
    """Of the intervals that show the answer, the share that holds evidence; None if none is
    known."""

    @property
    def reward(self) -> float:
        """The score minus the cost."""
        return self.score - self.cost


class AtlasEpisode:
    """One question about one video, from the root grid to an answer.

    **Turns.** `observe` returns an image, words and the legal actions; `act` takes an action and
    returns the next turn. An illegal action costs a step and changes nothing else: the words of the
    next turn begin with the reason. If a model's reply is not an action, call `refuse` with the
    reason.

    **End.** `answer` ends the episode, and so does the last of `max_steps` steps. `Finished` leaves
    the region for the region that was marked first. If none is marked, `Finished` ends an episode
    whose reward needs no answer, or whose question is of kind "when": the answer is then the time
    that the evidence covers. In other episodes it is then illegal. A region left without evidence
    and without marked cells becomes a dead zone. After the end, nothing changes any more.

    **Reward**: `Question.score` of the answer, or what another `Reward` scores, minus `step_cost`
    for each step. `measures` also counts the illegal actions, and tells whether the evidence lies
    where the answer is shown.

    **Groups.** Two episodes `drawn` from one seed have the same world and question; a `copy` of an
    episode continues independently from the same state.

    Examples:
        >>> episode = AtlasEpisode(ak.Atlas(video, k=4), question, max_steps=8)
        >>> image, words, actions = episode.observe()
        >>> actions[5]
        {'action': 'expand', 'cell': 5}
        >>> turn = episode.act({"action": "zoom", "cell": 3})
        >>> _ = episode.answer(question.answer)
        >>> episode.reward
        1.0
    """

    def __init__(
        self,
        atlas: Atlas,
        question: Question,
        max_steps: int = 32,
        step_cost: float = 0.0,
        reward: Reward = ANSWER,
    ) -> None:
        """Start at the root grid.

        Args:
            atlas: The video, and how it is shown.
            question: A question about it whose true answer is known.
            max_steps: Steps after which the episode ends without an answer.
            step_cost: What each step takes off the reward.
            reward: What is rewarded.

        Raises:
            InputError: The reward cannot score the question, as its true answer is not known; or
                `max_steps` is less than 1.
        """
        if max_steps < 1:
            raise InputError(f"max_steps must be at least 1; got {max_steps}.")
        reward.check(question)
        self.atlas = atlas
        self.question = question
        self.rewarded = reward
        self.max_steps = max_steps
        self.step_cost = step_cost
        self.state: State = atlas.start()
        self.observation: Observation = atlas.observe(self.state)
        self.steps = 0
        self.illegal_actions = 0
        self.problem = ""
        """Why the last action was illegal; empty if it was legal."""
        self._given: Answered | None = None
        """The answer that came with the last action, if that action ended the episode."""
        self._has_answered = False
        """Whether it came by `answer`. An answer to a when-question that came with `take` is not
        used, since the evidence is the answer."""

    @classmethod
    def drawn(
        cls,
        seed: int,
        *,
        worlds: str = "",
        question: int | None = None,
        task: str = "answer",
        reward: Reward | None = None,
        duration_s: float = 600.0,
        size: tuple[int, int] = (320, 180),
        max_steps: int = 32,
        step_cost: float = 0.0,
        k: int = 4,
        cell: int = 160,
        **look: Any,
    ) -> AtlasEpisode:
        """Return an episode on one question of a drawn world.

        Args:
            seed: The world's seed. The latest worlds and their frames stay in memory, so a group of
                attempts pays for its world once.
            worlds: The name under which a package has registered its worlds; "" for the first
                such name.
            question: Index of the question among those of the task about the world, modulo their
                number. None: an index drawn from the seed.
            task: What is asked and rewarded: one of `TASKS`.
            reward: What is rewarded instead of what the task rewards.
            duration_s: Duration of the world in seconds.
            size: Width and height of the world's frames in pixels.
            max_steps: See `AtlasEpisode`.
            step_cost: See `AtlasEpisode`.
            k: A grid has k×k cells.
            cell: Width and height of a cell in pixels.
            **look: Other options of `Atlas`.

        Raises:
            InputError: An argument is invalid.
        """
        chosen_task = named_task(task)
        world, cache = _world_and_cache(worlds, seed, duration_s, size, chosen_task.anomaly)
        questions = chosen_task.of(world)
        if question is None:
            question = int(np.random.default_rng(seed).integers(len(questions)))
        chosen = questions[question % len(questions)]
        atlas = Atlas(world.drawn, k=k, cell=cell, cache=cache, **look)
        return cls(atlas, chosen, max_steps, step_cost, reward or chosen_task.reward)

    def __repr__(self) -> str:
        return f"<episode on {self.question!r}: {self.steps} of {self.max_steps} steps>"

    def copy(self) -> AtlasEpisode:
        """Return an episode at the same point, which then continues independently."""
        return copy.copy(self)  # all that a step changes is immutable

    def observe(self) -> Turn:
        """Return the image, the words and the legal actions of the current state."""
        words = []
        if self.problem:
            words.append(f"That was not possible: {printable(self.problem, LONGEST_PROBLEM)}")
        image = (self.observation.looking_at or self.observation.view).image
        if self.is_over:
            return Turn(image, "\n".join([*words, "The episode is over."]), [])
        moves = self.moves()
        endings = self._endings()
        names = [str(ending["action"]) for ending in endings]
        if self.rewarded.needs_answer:
            names.append("answer")
        names = list(dict.fromkeys(names))  # each choice has an ending named "answer"
        words += [
            question_words(self.question, self.rewarded.words(self.question)),
            observation_words(self.observation, self.max_steps - self.steps),
            moves_words(moves, names),
        ]
        actions = list[dict[str, Any]]()
        for kind, cell in moves:
            actions.append({"action": kind})
            if kind in CELL_KINDS:
                actions[-1]["cell"] = cell
        return Turn(image, "\n".join(words), actions + endings)

    def moves(self) -> list[tuple[str, int]]:
        """Return every legal action except finished and answer, as (kind, cell)."""
        moves = legal_moves(self.observation)
        if self._is_too_much(1):
            moves = [move for move in moves if move[0] != "add_to_scratchpad"]
        return moves

    def act(self, action: Action | Mapping[str, Any]) -> Turn:
        """Take an action; return the next turn.

        Args:
            action: An action of the environment, or a dictionary as `Turn.actions` lists them.
                `{"action": "add_to_scratchpad"}` may have a `description` and a `confidence`.
        """
        if isinstance(action, Mapping) and action.get("action") == "answer":
            return self.answer(action.get("answer"))
        try:
            if isinstance(action, Mapping):
                action = as_move(action)
        except IllegalAction as error:
            self.refuse(str(error))
        else:
            self.take(action)
        return self.observe()

    def answer(self, prediction: Any) -> Turn:
        """Answer the question, which ends the episode; a step is counted.

        Args:
            prediction: The index or the text of a choice, a number, an interval in seconds or
                several, or text. A value that does not fit the question is an illegal action, and
                so is any value if the reward needs no answer.
        """
        if self.is_over:
            return self.observe()
        try:
            self._check(prediction)
        except InputError as error:
            self.refuse(str(error))
            return self.observe()
        self._count()
        self._given = _as_tuples(prediction)
        self._has_answered = True
        self.state = replace(self.state, finished=True)
        self._look()
        return self.observe()

    def refuse(self, problem: str) -> str:
        """Count a step with an action that could not be read; return the problem.

        Args:
            problem: What was wrong, as one sentence for the model; the next turn begins with it.
        """
        if not self.is_over:
            self._count(problem)
            self._look()
        return problem

    def take(self, action: Action, answer: Answered | None = None) -> str:
        """Take an action without describing the next turn; return why it was illegal, or "".

        Args:
            action: The action.
            answer: The answer that counts if this action ends the episode.
        """
        if self.is_over:
            return "The episode is over."
        problem = ""
        try:
            self._take(action, answer)
        except IllegalAction as error:
            problem = str(error)
        self._count(problem)
        self._look()
        return problem

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended, with an answer or without."""
        return self.state.finished or self.steps >= self.max_steps

    @property
    def prediction(self) -> Answered | None:
        """The answer given, or what the evidence of a when-question covers; else None."""
        if not self.rewarded.needs_answer:
            return None
        if self._has_answered or self.question.kind != "when":
            return self._given
        items = self.state.scratchpad.items
        spans = [(item.start_s, item.end_s) for item in items]
        if self.question.several:
            return merged(spans) or None
        if not spans:
            return None
        starts_s, ends_s = zip(*spans, strict=True)
        return min(starts_s), max(ends_s)

    @property
    def score(self) -> float:
        """What the reward gives; 0 unless an answer or `Finished` has ended the episode."""
        if not self.state.finished:
            return 0.0
        return self.rewarded.score(self.question, self.state.scratchpad, self.prediction)

    @property
    def reward(self) -> float:
        """The score minus the cost of the steps so far."""
        return self.measures().reward

    def measures(self) -> Measures:
        """Return how the episode has gone so far."""
        times_s = self.state.scratchpad.times_s
        shown = self.question.evidence_s
        kept = len(times_s)
        in_place = 0
        for time_s in times_s:
            in_place += any(_holds(span, time_s) for span in shown)
        reached = 0
        for span in shown:
            reached += any(_holds(span, time_s) for time_s in times_s)
        return Measures(
            score=self.score,
            cost=self.steps * self.step_cost,
            steps=self.steps,
            illegal_actions=self.illegal_actions,
            evidence=kept,
            evidence_precision=in_place / kept if shown and kept else None,
            evidence_recall=reached / len(shown) if shown else None,
        )

    def _take(self, action: Action, answer: Answered | None) -> None:
        """Change the state; raise IllegalAction if the action is not legal."""
        if isinstance(action, AddToScratchpad) and self._is_too_much(len(action.items)):
            raise IllegalAction(f"At most {self.rewarded.most_kept} frames may be kept.")
        state = self.atlas.act(self.state, action)
        if state.finished and state.marked:
            state = _next_region(self.atlas, state)
        elif state.finished and answer is None and not self._ends_by_finished:
            raise IllegalAction(
                "Nothing is queued, so only an answer ends the search: use the action answer."
            )
        self.state = state
        self._given = None
        if state.finished:
            self._given = answer

    def _is_too_much(self, more: int) -> bool:
        """Return whether `more` frames would exceed the number of frames that may be kept."""
        most = self.rewarded.most_kept
        return most is not None and len(self.state.scratchpad) + more > most

    @property
    def _ends_by_finished(self) -> bool:
        """Whether finished ends the episode although no answer is given."""
        return self.question.kind == "when" or not self.rewarded.needs_answer

    def _check(self, prediction: Any) -> None:
        """Raise InputError for a prediction that does not fit the question."""
        if not self.rewarded.needs_answer:
            raise InputError("No answer is scored here, only what is kept: end with finished.")
        if prediction is None:
            raise InputError("An answer needs a value.")
        self.question.score(prediction)  # raises for a value that does not fit the kind
        if (
            self.question.kind == "choice"
            and isinstance(prediction, str)
            and prediction not in self.question.choices
        ):
            raise InputError(f"{prediction!r:.80} is the text of no choice.")

    def _count(self, problem: str = "") -> None:
        """Count a step, and store why its action was illegal, if it was."""
        self.steps += 1
        self.problem = problem
        self.illegal_actions += bool(problem)

    def _look(self) -> None:
        self.observation = self.atlas.observe(self.state)

    def _endings(self) -> list[dict[str, Any]]:
        """Return the legal actions that leave the region or answer with the index of a choice."""
        endings = list[dict[str, Any]]()
        if self._ends_by_finished or self.state.marked:
            endings.append({"action": "finished"})
        if self.rewarded.needs_answer:
            for index in range(len(self.question.choices)):
                endings.append({"action": "answer", "answer": index})
        return endings


@lru_cache(maxsize=4)
def _world_and_cache(
    worlds: str, seed: int, duration_s: float, size: tuple[int, int], anomaly: bool
) -> tuple[World, Cache]:
    """Return a world and a cache in memory; a group of attempts shares both."""
    return maker_of_worlds(worlds)(seed, duration_s, size=size, anomaly=anomaly), Cache(None)


def _holds(span: Span, time_s: float) -> bool:
    return span[0] <= time_s < span[1]


def _as_tuples(prediction: Any) -> Any:
    """Return intervals that came as lists as tuples; return any other value unchanged."""
    if isinstance(prediction, (list, tuple)):
        return tuple(map(_as_tuples, prediction))
    return prediction


def _next_region(atlas: Atlas, state: State) -> State:
    """Leave a finished region for the one that was marked first, and keep all evidence.

    A region without evidence and without marked cells in it becomes a dead zone (paper §3.1, M−).
    """
    region = state.region
    zones = state.dead_zones
    following, *rest = state.marked
    has_marked = any(_is_within(grid, region) for grid in state.marked)
    if not has_marked and not state.scratchpad.within(region.start_s, region.end_s).items:
        zones = zones.add(region.start_s, region.end_s)
    return replace(atlas.start(following, zones, state.scratchpad), marked=tuple(rest))


def _is_within(grid: Grid, region: Grid) -> bool:
    return grid.path[: region.depth] == region.path
