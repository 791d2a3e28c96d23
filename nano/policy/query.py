"""`Query`: what the words of a question and of its choices name, as indices of `VALUES`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from nano.teacher.goal import Goal, GoalType, objects_in, parse_goal
from nano.teacher.labels import VALUES

Floats = NDArray[np.float32]
GOALS: tuple[GoalType, ...] = get_args(GoalType)
"""All types of goals."""
OFFSETS = dict(
    zip(VALUES, (0, *accumulate(len(values) for values in VALUES.values())), strict=False)
)
"""Index of the first value of each attribute among the values of all attributes."""


@dataclass(frozen=True)
class Query:
    """A question and its choices in terms of what a frame can show.

    In all methods, `shown` holds the probabilities of what some frames show, (frames, values): for
    each frame, those of all values of `VALUES`, one attribute after another.
    """

    goal: Goal
    choices: tuple[str, ...]

    @classmethod
    def of(cls, question: Question) -> Query:
        """Return the query of an AtlasWorld question.

        Raises:
            InputError: AtlasWorld does not write such a question.
        """
        goal = parse_goal(question.text)
        if goal is None:
            raise InputError(
                f"This policy reads only AtlasWorld's own questions; got {question.text!r:.80}."
            )
        return cls(goal, question.choices)

    def scene(self, shown: Floats) -> Floats:
        """Return how surely each frame is in the scene that the question names; else 0."""
        if self.goal.scene is None:
            return np.zeros(len(shown), np.float32)
        place, light = self.goal.scene
        return shown[:, index_of("place", place)] * shown[:, index_of("light", light)]

    def object(self, shown: Floats) -> Floats:
        """Return how surely each frame shows an object that the question names."""
        found = np.zeros(len(shown), np.float32)
        for name in self.goal.object_names:
            found = np.maximum(found, of_object(shown, name))
        return found

    def shape(self, shown: Floats) -> Floats:
        """Return how surely each frame shows the shape whose colour is asked for."""
        if self.goal.shape:
            return shown[:, index_of("shape", self.goal.shape)]
        return np.zeros(len(shown), np.float32)

    def target(self, shown: Floats, said: Floats) -> Floats:
        """Return how surely each frame shows what the question asks about.

        Args:
            shown: Probabilities of what each frame shows, (frames, values).
            said: 1 for each frame during which the line that the question quotes is spoken, else
                0, (frames,).
        """
        found = something(shown)
        if self.goal.scene is not None:
            found = found * self.scene(shown)
        if self.goal.shape:
            found = found * self.shape(shown)
        if self.goal.objects:
            found = found * self.object(shown)
        return found * said if self.goal.line else found

    def support(self, shown: Floats) -> Floats:
        """Return how surely each frame shows what each choice names, (frames, choices)."""
        columns = [_of_choice(shown, choice) for choice in self.choices]
        return np.stack(columns, axis=1) if columns else np.zeros((len(shown), 0), np.float32)

    def likeness(self, shown: Floats) -> Floats:
        """Return the mean probability of the words that the question names, for each frame.

        The question must name an object, a scene or a shape.
        """
        columns: list[int] = []
        for name in self.goal.object_names:
            colour, shape = name.split(" ")
            columns += [index_of("colour", colour), index_of("shape", shape)]
        if self.goal.scene:
            place, light = self.goal.scene
            columns += [index_of("place", place), index_of("light", light)]
        if self.goal.shape:
            columns.append(index_of("shape", self.goal.shape))
        likeness: Floats = np.mean([shown[:, column] for column in columns], axis=0)
        return likeness


def index_of(attribute: str, value: str) -> int:
    """Return the index of a value among all values of all attributes."""
    return OFFSETS[attribute] + VALUES[attribute].index(value)


def of_object(shown: Floats, name: str) -> Floats:
    """Return how surely each frame shows an object, such as "red circle"."""
    colour, shape = name.split(" ")
    return shown[:, index_of("colour", colour)] * shown[:, index_of("shape", shape)]


def something(shown: Floats) -> Floats:
    """Return how surely each frame shows any object."""
    return 1 - shown[:, index_of("colour", "")]


def _of_choice(shown: Floats, choice: str) -> Floats:
    """Return how surely each frame shows the object, the colour or the caption that a choice names.

    The result is 0 for all other choices, such as numbers.
    """
    objects = objects_in(choice)
    if objects:
        return of_object(shown, objects[0])
    first_word = choice.split(" ")[0]
    for attribute in ("colour", "word"):
        if first_word in VALUES[attribute]:
            return shown[:, index_of(attribute, first_word)]
    return np.zeros(len(shown), np.float32)
