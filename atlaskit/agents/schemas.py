"""The JSON schema of each kind of reply. A schema allows only what is legal in its call.

A schema is a pydantic model (its shape) and the cells or labels that may appear in it. It lists
only cells that are visible and open, and a server constrains the reply to it: an agent cannot
select what it cannot see. Fields come in the order in which a model should think: reasoning first,
choice last.

Names, fields and docstrings of the answer classes are part of the schemas that reach a model, and
so of cache keys. This module knows nothing of prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, ParamSpec, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)

from atlaskit.agents.replies import ChosenAction
from atlaskit.environment.actions import ACTIONS, Action, Claim, word_of
from atlaskit.environment.mdp import LegalSet, Traversal
from atlaskit.environment.question import Kind, Question
from atlaskit.models.protocol import ParametricSchema, among

P = ParamSpec("P")

LONGEST_TEXT = 3000
"""Characters of free text in a reply; the rest is cut, so that a long text costs no second call."""
LONGEST_THOUGHT = 1600
"""Characters of the reasoning in a reply with many other fields."""
LONGEST_NOTE = 700
"""Characters of the note on a look, or of the search task of a plan."""
LONGEST_LINE = 240
"""Characters of a description in a reply that may hold many of them."""
MOST_ITEMS = 8
"""The most items in one list of cells, evidence or labels to erase."""
MOST_CITED = 64
"""The most labels or cells cited in one list."""
MOST_IN_A_VERDICT = 16
"""The most labels or cells cited in one list of a verdict, which may weigh several answers."""
MOST_INTERVALS = 4
"""The most intervals that one review may name."""
MOST_STRETCHES = 8
"""The most stretches that one reply may ask to see next."""
MOST_KEPT = 16
"""The most frames that one reply may keep."""
MOST_ANSWERED = 16
"""The most intervals that one answer to a when-question may have."""
MOST_COUNTED = 10_000
"""The largest answer to a count question."""


def cut_at(longest: int) -> BeforeValidator:
    """Return a validator that cuts a text after so many characters."""
    return BeforeValidator(lambda text: text[:longest] if isinstance(text, str) else text)


Text = Annotated[str, cut_at(LONGEST_TEXT), Field(max_length=LONGEST_TEXT)]
Thought = Annotated[str, cut_at(LONGEST_THOUGHT), Field(max_length=LONGEST_THOUGHT)]
Note = Annotated[str, cut_at(LONGEST_NOTE), Field(max_length=LONGEST_NOTE)]
Line = Annotated[str, cut_at(LONGEST_LINE), Field(max_length=LONGEST_LINE)]


def not_blank(text: str) -> str:
    """Return a text; raise ValueError if it is blank."""
    if not text.strip():
        raise ValueError("is blank; say something")
    return text


Words = Annotated[Text, Field(min_length=1), AfterValidator(not_blank)]
"""Text that is not blank."""
Confidence = Annotated[float, Field(ge=0, le=1)]


class Answer(BaseModel):
    """Base of all replies: nothing but what is asked for."""

    model_config = ConfigDict(extra="forbid")


class TaskAnswer(Answer):
    """What to look for."""

    search_task: Text


class PlanAnswer(TaskAnswer):
    """What to look for, and how."""

    traversal: Traversal


class AbsentAnswer(Answer):
    """What is asked for is not there."""

    reasoning: Text
    absent: Literal[True] = True


class CaptionAnswer(Answer):
    """What a stretch of video shows."""

    caption: Words


def cached_shape(make: Callable[P, type[BaseModel]]) -> Callable[P, type[BaseModel]]:
    """Cache the shapes that a function makes: there are few, and making one takes milliseconds."""
    cached = lru_cache(maxsize=1024, typed=True)(make)
    return cached  # type: ignore[return-value]  # the type of `lru_cache` hides the parameters


def probe_schema(open_cells: tuple[int, ...], top: int) -> ParametricSchema:
    """Return the schema of a probe: up to `top` of the open cells, each with a score."""
    return ParametricSchema(_probe_shape(min(top, len(open_cells))), (("cells", open_cells),))


@cached_shape
def _probe_shape(top: int) -> type[BaseModel]:
    ranked = reply_model("RankedCell", cell=among("cells"), score=Confidence)
    return reply_model("ProbeAnswer", reasoning=Text, top=several(ranked, 0, top))


def step_schema(legal: LegalSet) -> ParametricSchema:
    """Return the schema of a step: a variant for each legal action, with the cells it may name."""
    values = tuple((name, cells) for name, cells in legal.cells.items() if cells)
    return ParametricSchema(_step_shape(tuple(legal.cells)), values)


@cached_shape
def _step_shape(names: tuple[str, ...]) -> type[BaseModel]:
    variants = list[type[BaseModel]]()
    order = ("cell", "cells", "claims", "nothing")
    for name in sorted(names, key=lambda name: order.index(ACTIONS[name].takes)):
        fields = dict[str, Any]()
        for field, value in ACTIONS[name].given.items():
            fields[field] = Literal[value]
        match ACTIONS[name].takes:
            case "cell":
                fields["cell"] = among(name)
            case "cells":
                fields["cells"] = several(among(name), 1, MOST_ITEMS)
            case "claims":
                claim = reply_model(
                    "ClaimedCell", cell=among(name), description=Text, confidence=Confidence
                )
                fields["items"] = several(claim, 1, MOST_ITEMS)
        form = name.title().replace("_", "")
        variants.append(reply_model(form, action=Literal[word_of(name)], **fields))
    return reply_model("StepAnswer", thought=Text, action=Union[tuple(variants)])


def to_action(chosen: ChosenAction) -> Action:
    """Return the action that a step takes."""
    name = f"{chosen.action}_{chosen.direction}" if chosen.direction else chosen.action
    kind = ACTIONS[name]
    match kind.takes:
        case "cell":
            return kind.make([chosen.cell])
        case "cells":
            return kind.make(chosen.cells)
        case "claims":
            claims = [Claim(each.cell, each.description, each.confidence) for each in chosen.items]
            return kind.make(claims)
    return kind.make()


def review_schema(
    n_choices: int, duration_s: float, labels: tuple[str, ...], open_cells: tuple[int, ...]
) -> ParametricSchema:
    """Return the schema of a review (paper §3.2, uncertainty analysis).

    An answer can declare the evidence sufficient only if it names the labels that prove it, and
    says which contradicting evidence the model looked for.

    Args:
        n_choices: How many choices the question has; 0 for a question without choices.
        duration_s: The video's duration, which bounds the intervals that an answer may name.
        labels: Labels of the evidence that the review shows.
        open_cells: Root cells that an answer may send workers to.
    """
    values: tuple[tuple[str, Any], ...] = (("labels", labels),)
    if open_cells:
        values += (("cells", open_cells),)
    shape = _review_shape(n_choices, duration_s, can_explore=bool(open_cells))
    return ParametricSchema(shape, values)


@cached_shape
def _review_shape(n_choices: int, duration_s: float, can_explore: bool) -> type[BaseModel]:
    label = among("labels")
    second = Annotated[float, Field(ge=0, le=duration_s)]
    interval = reply_model("Interval", start_s=second, end_s=second)
    explore = {}
    if can_explore:
        explore = {"explore": several(among("cells"), 0, MOST_ITEMS)}
    decide = reply_model(
        "FinalDecision",
        action=Literal["final_decision"],
        looked_for_to_contradict=Words,
        supporting=several(label, 1, MOST_CITED),
    )
    go_on = reply_model(
        "Continue",
        action=Literal["continue"],
        **explore,
        intervals=several(interval, 0, MOST_INTERVALS),
    )
    choices = {}
    if n_choices:
        weighed = reply_model(
            "WeighedForNow",
            choice=one_of(tuple(range(n_choices))),
            supporting=several(label, 0, MOST_CITED),
            contradicting=several(label, 0, MOST_CITED),
            sufficient=bool,
        )
        choices = {"choices": several(weighed, n_choices, n_choices)}
    return reply_model(
        "ReviewAnswer",
        reasoning=Text,
        **choices,
        erase=several(label, 0, MOST_ITEMS),
        conclusion=Union[decide, go_on],
    )


def decision_schema(
    kind: Kind,
    n_choices: int,
    duration_s: float,
    frames: tuple[int, ...] | tuple[str, ...],
    *,
    has_several: bool = False,
) -> ParametricSchema:
    """Return the schema of the decision on a question of some kind.

    Args:
        kind: The question's kind.
        n_choices: How many choices it has.
        duration_s: The video's duration, which bounds the interval that answers a when-question.
        frames: The frames that an answer can cite: labels of evidence, or indices of cells. If
            there are none, the schema has no fields for citations.
        has_several: Whether a when-question asks for one or more intervals.
    """
    shape = _decision_shape(
        kind, n_choices, duration_s, can_cite=bool(frames), has_several=has_several
    )
    return ParametricSchema(shape, (("frames", frames),) if frames else ())


@cached_shape
def _decision_shape(
    kind: Kind, n_choices: int, duration_s: float, can_cite: bool, has_several: bool
) -> type[BaseModel]:
    checks, fields = _answer_fields(kind, n_choices, duration_s, can_cite, has_several)
    name = "Intervals" if has_several else kind.title()
    return reply_model(f"{name}Answer", checks, reasoning=Text, **fields)


def _answer_fields(
    kind: Kind,
    n_choices: int,
    duration_s: float,
    can_cite: bool,
    has_several: bool,
    most_cited: int = MOST_CITED,
) -> tuple[list[Any], dict[str, Any]]:
    """Return the validators of an answer to a question, and its fields beside the reasoning."""
    frames = several(among("frames"), 0, most_cited)
    supporting = {"supporting": frames} if can_cite else {}
    if kind == "choice":
        sides = {"supporting": frames, "contradicting": frames} if can_cite else {}
        choice = one_of(tuple(range(n_choices)))
        weighed = reply_model("WeighedChoice", choice=choice, **sides)
        return [], {"weighed": several(weighed, n_choices, n_choices), "answer": choice}
    if kind != "when":
        answer = Annotated[int, Field(ge=0, le=MOST_COUNTED)] if kind == "count" else Words
        return [], {**supporting, "answer": answer}
    second = Annotated[float, Field(ge=0, le=duration_s)]
    if has_several:
        interval = reply_model("AnsweredInterval", [has_a_span], start_s=second, end_s=second)
        return [], {**supporting, "intervals": several(interval, 1, MOST_ANSWERED)}
    return [has_a_span], {**supporting, "start_s": second, "end_s": second}


@cached_shape
def _kept_shape() -> type[BaseModel]:
    return reply_model("KeptCell", cell=among("cells"), description=Line, confidence=Confidence)


def stretches(duration_s: float, most: int) -> Any:
    """Return the type of a list of stretches of a video, in seconds."""
    second = Annotated[float, Field(ge=0, le=duration_s)]
    return several(reply_model("Stretch", start_s=second, end_s=second), 0, most)


def plan_schema(duration_s: float, cells: tuple[int, ...]) -> ParametricSchema:
    """Return the schema of a plan: what to look for, how long it lasts, where to look first.

    Args:
        duration_s: The video's duration, which bounds the stretches that a plan may name.
        cells: The cells of the sheet, whose frames may be kept.
    """
    return ParametricSchema(_plan_shape(duration_s), (("cells", cells),))


@cached_shape
def _plan_shape(duration_s: float) -> type[BaseModel]:
    # This is not the class PlanAnswer above, which belongs to the paper's search.
    return reply_model(
        "PlanAnswer",
        reasoning=Thought,
        search_task=Note,
        settled_by=Literal["one", "first", "last", "all"],
        lasts_s=Annotated[float, Field(ge=0, le=duration_s)],
        keep=several(_kept_shape(), 0, MOST_KEPT),
        look=stretches(duration_s, MOST_STRETCHES),
    )


def look_schema(duration_s: float, cells: tuple[int, ...]) -> ParametricSchema:
    """Return the schema of a look at some sheets: a note, frames to keep, where to look next."""
    return ParametricSchema(_look_shape(duration_s), (("cells", cells),))


@cached_shape
def _look_shape(duration_s: float) -> type[BaseModel]:
    return reply_model(
        "LookAnswer",
        note=Note,
        keep=several(_kept_shape(), 0, MOST_KEPT),
        look=stretches(duration_s, MOST_STRETCHES),
    )


def verdict_schema(
    question: Question, duration_s: float, frames: tuple[int, ...] | tuple[str, ...], can_look: bool
) -> ParametricSchema:
    """Return the schema of a verdict: the answer, or which stretches to look at next.

    Args:
        question: The question, whose kind and choices determine the fields of the answer.
        duration_s: The video's duration.
        frames: The frames that the answer can cite: labels of evidence, or indices of cells.
        can_look: Whether the verdict may ask for more looks in place of an answer.
    """
    has_labels = bool(frames) and isinstance(frames[0], str)
    shape = _verdict_shape(
        question.kind,
        len(question.choices),
        duration_s,
        can_cite=bool(frames),
        has_several=question.several,
        can_erase=has_labels,
        can_look=can_look,
        can_be_absent=question.can_be_absent,
    )
    return ParametricSchema(shape, (("frames", frames),) if frames else ())


@cached_shape
def _verdict_shape(
    kind: Kind,
    n_choices: int,
    duration_s: float,
    can_cite: bool,
    has_several: bool,
    can_erase: bool,
    can_look: bool,
    can_be_absent: bool,
) -> type[BaseModel]:
    checks, fields = _answer_fields(
        kind, n_choices, duration_s, can_cite, has_several, MOST_IN_A_VERDICT
    )
    action = Literal["answer"]
    conclusions = [reply_model("Answered", checks, action=action, **fields, sure=Confidence)]
    if can_be_absent:
        absent = reply_model("NotThere", action=Literal["not_there"], sure=Confidence)
        conclusions.append(absent)
    if can_look:
        look = stretches(duration_s, MOST_STRETCHES)
        conclusions.append(reply_model("LookOn", action=Literal["look"], look=look))
    erase = {"erase": several(among("frames"), 0, MOST_ITEMS)} if can_erase else {}
    return reply_model(
        "VerdictAnswer", reasoning=Thought, **erase, conclusion=Union[tuple(conclusions)]
    )


def has_a_span(answer: Any) -> Any:
    """Return an answer that is an interval; raise ValueError if its ends are the same."""
    if answer.end_s == answer.start_s:
        raise ValueError("end_s must differ from start_s")
    return answer


def reply_model(name: str, checks: Sequence[Any] = (), /, **fields: Any) -> type[BaseModel]:
    """Make a pydantic model with these fields, all of them required.

    Args:
        name: Name of the model. It reaches the JSON Schema.
        checks: Functions that validate an instance.
        fields: Types of the fields, by name.
    """
    validators = dict[str, Any]()
    for check in checks:
        validators[check.__name__] = model_validator(mode="after")(check)
    required: dict[str, Any] = {field: (annotation, ...) for field, annotation in fields.items()}
    return create_model(name, __base__=Answer, __validators__=validators, **required)


def one_of(values: Sequence[int] | Sequence[str]) -> Any:
    """Return the type of a field that takes one of these values."""
    return Annotated[Literal[tuple(values)], BeforeValidator(_no_boolean)]


def _no_boolean(value: Any) -> Any:
    """Reject `true` in place of 1, which Python considers equal."""
    if isinstance(value, bool):
        raise ValueError("not a number")
    return value


def several(item: Any, at_least: int, at_most: int) -> Any:
    """Return the type of a list with a bounded number of items."""
    return Annotated[list[item], Field(min_length=at_least, max_length=at_most)]
