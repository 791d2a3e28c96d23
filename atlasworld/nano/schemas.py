"""The JSON schemas that nano was trained to fill; a search reads their fields.

Names, fields and docstrings of the answers are part of the schemas, and so of the keys of replies.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from atlaskit.agents.schemas import (
    Answer,
    cached_shape,
    has_a_span,
    not_blank,
    one_of,
    reply_model,
    several,
)
from atlaskit.environment.mdp import LegalSet, Traversal
from atlaskit.environment.question import Kind, Question
from atlaskit.models.protocol import ParametricSchema, among

LONGEST_TEXT = 600
"""Characters of free text in a reply; the rest is cut."""
MOST_ITEMS = 8
"""Items in one list."""
MOST_CITED = 64
"""Labels or cells that one list cites."""

_Cut = BeforeValidator(lambda text: text[:LONGEST_TEXT] if isinstance(text, str) else text)
Text = Annotated[str, _Cut, Field(max_length=LONGEST_TEXT)]
Words = Annotated[Text, Field(min_length=1), AfterValidator(not_blank)]
Share = Annotated[float, Field(ge=0, le=1)]


class TaskAnswer(Answer):
    """What to look for."""

    search_task: Text


class PlanAnswer(TaskAnswer):
    """What to look for, and how."""

    traversal: Traversal


def probe_schema(open_cells: tuple[int, ...], top: int) -> ParametricSchema:
    """Return the schema of a probe: none to `top` of the open cells, each with a score."""
    shape = _probe_shape(min(top, len(open_cells)))
    return ParametricSchema(shape, (("cells", open_cells),))


@cached_shape
def _probe_shape(top: int) -> type[BaseModel]:
    ranked = reply_model("RankedCell", cell=among("cells"), score=Share)
    return reply_model("ProbeAnswer", reasoning=Text, top=several(ranked, 0, top))


def step_schema(legal: LegalSet) -> ParametricSchema:
    """Return the schema of a step: a variant for each legal action, with the cells it may name."""
    cells = {
        "expand": legal["expand"],
        "zoom": legal["zoom"],
        "before": legal["investigate_before"],
        "after": legal["investigate_after"],
        "mark": legal["mark_promising"],
        "add": legal["add_to_scratchpad"],
    }
    values = tuple((name, legal_cells) for name, legal_cells in cells.items() if legal_cells)
    names = [name for name, _ in values]
    if "backtrack" in legal:
        names.append("backtrack")
    return ParametricSchema(_step_shape((*names, "finished")), values)


@cached_shape
def _step_shape(names: tuple[str, ...]) -> type[BaseModel]:
    variants = list[type[BaseModel]]()

    def add(name: str, form: str, action: str, **fields: Any) -> None:
        if name in names:
            variants.append(reply_model(form, action=Literal[action], **fields))

    claim = reply_model("ClaimedCell", cell=among("add"), description=Text, confidence=Share)
    add("expand", "Expand", "expand", cell=among("expand"))
    add("zoom", "Zoom", "zoom", cell=among("zoom"))
    add(
        "before",
        "InvestigateBefore",
        "investigate",
        direction=Literal["before"],
        cell=among("before"),
    )
    add("after", "InvestigateAfter", "investigate", direction=Literal["after"], cell=among("after"))
    add("mark", "MarkPromising", "mark_promising", cells=several(among("mark"), 1, MOST_ITEMS))
    add("add", "AddToScratchpad", "add_to_scratchpad", items=several(claim, 1, MOST_ITEMS))
    add("backtrack", "Backtrack", "backtrack")
    add("finished", "Finished", "finished")
    return reply_model("StepAnswer", thought=Text, action=Union[tuple(variants)])


def review_schema(
    n_choices: int, duration_s: float, labels: tuple[str, ...], open_cells: tuple[int, ...]
) -> ParametricSchema:
    """Return the schema of a review: each choice weighed, then a final decision or another round.

    Args:
        n_choices: Number of choices of the question; 0 without choices.
        duration_s: Duration of the video in seconds.
        labels: Labels of the evidence, which the review may cite.
        open_cells: Cells of the root grid that can be searched next.
    """
    values: tuple[tuple[str, tuple[Any, ...]], ...] = (("labels", labels),)
    if open_cells:
        values = (*values, ("cells", open_cells))
    return ParametricSchema(_review_shape(n_choices, duration_s, bool(open_cells)), values)


@cached_shape
def _review_shape(n_choices: int, duration_s: float, can_explore: bool) -> type[BaseModel]:
    label = among("labels")
    cited = several(label, 0, MOST_CITED)
    second = Annotated[float, Field(ge=0, le=duration_s)]
    intervals = several(reply_model("Interval", start_s=second, end_s=second), 0, 4)
    explore = {"explore": several(among("cells"), 0, MOST_ITEMS)} if can_explore else {}
    proof = {"looked_for_to_contradict": Words, "supporting": several(label, 1, MOST_CITED)}
    decide = reply_model("FinalDecision", action=Literal["final_decision"], **proof)
    go_on = reply_model("Continue", action=Literal["continue"], **explore, intervals=intervals)
    weighed = {"supporting": cited, "contradicting": cited, "sufficient": bool}
    choices = {}
    if n_choices:
        choice = reply_model("WeighedForNow", choice=one_of(tuple(range(n_choices))), **weighed)
        choices = {"choices": several(choice, n_choices, n_choices)}
    return reply_model(
        "ReviewAnswer",
        reasoning=Text,
        **choices,
        erase=several(label, 0, MOST_ITEMS),
        conclusion=Union[decide, go_on],
    )


def decision_schema(question: Question, duration_s: float, frames: Any) -> ParametricSchema:
    """Return the schema of a decision.

    Args:
        question: The question, whose kind determines the form of the answer.
        duration_s: Duration of the video in seconds.
        frames: The labels or cells that the decision may cite.
    """
    shape = _decision_shape(
        question.kind, len(question.choices), duration_s, bool(frames), question.several
    )
    return ParametricSchema(shape, (("frames", frames),) if frames else ())


@cached_shape
def _decision_shape(
    kind: Kind, n_choices: int, duration_s: float, can_cite: bool, many: bool
) -> type[BaseModel]:
    cited = several(among("frames"), 0, MOST_CITED)
    proof = {"supporting": cited} if can_cite else {}
    if kind == "choice":
        choice = one_of(tuple(range(n_choices)))
        sides = {"supporting": cited, "contradicting": cited} if can_cite else {}
        weighed = several(reply_model("WeighedChoice", choice=choice, **sides), 1, n_choices)
        return reply_model("ChoiceAnswer", reasoning=Text, weighed=weighed, answer=choice)
    if kind == "when":
        ends = dict.fromkeys(("start_s", "end_s"), Annotated[float, Field(ge=0, le=duration_s)])
        if many:
            spans = several(reply_model("AnsweredInterval", [has_a_span], **ends), 1, 16)
            return reply_model("IntervalsAnswer", reasoning=Text, **proof, intervals=spans)
        return reply_model("WhenAnswer", [has_a_span], reasoning=Text, **proof, **ends)
    answer = Annotated[int, Field(ge=0, le=10_000)] if kind == "count" else Words
    return reply_model(f"{kind.title()}Answer", reasoning=Text, **proof, answer=answer)
