"""The answer is found wherever a model of any family puts it, and is never guessed."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from support.model_doubles import babble

from atlaskit.agents import schemas
from atlaskit.agents.schemas import reply_model
from atlaskit.environment.mdp import LegalSet
from atlaskit.models import answers
from atlaskit.models.answers import NoAnswer, find_answer
from atlaskit.models.completion import Completion, read_completion
from atlaskit.models.protocol import ParametricSchema, Usage, json_schema

CELLS = tuple(range(16))
LABELS = ("A", "B", "AA")
LEGAL = {"expand": CELLS, "backtrack": (), "mark_promising": CELLS, "zoom": (2, 3), "investigate_before": CELLS}
LEGAL |= {"investigate_after": (1,), "add_to_scratchpad": CELLS, "finished": ()}
STEP = schemas.step_schema(LegalSet(LEGAL))
PROBE = schemas.probe_schema(CELLS, 3)
REVIEW = schemas.review_schema(2, 600.0, LABELS, CELLS)
CHOICE = schemas.decision_schema("choice", 4, 600.0, LABELS)
WHEN = schemas.decision_schema("when", 0, 600.0, ())
COUNT = schemas.decision_schema("count", 0, 600.0, LABELS)
OPEN = schemas.decision_schema("open", 0, 600.0, ())
ALL = (STEP, PROBE, REVIEW, CHOICE, WHEN, COUNT, OPEN, schemas.TaskAnswer, schemas.PlanAnswer, schemas.CaptionAnswer)
Schema = type[BaseModel] | ParametricSchema

ZOOM = {"thought": "A red circle, I think.", "action": {"action": "zoom", "cell": 3}}
Z = json.dumps(ZOOM)
OTHER = Z.replace("3", "2")
WEIGHED = [{"choice": n, "supporting": ["A"] if n == 1 else [], "contradicting": []} for n in range(4)]
CHOSEN = {"reasoning": "It is.", "weighed": WEIGHED, "answer": 1}
SPAN = {"reasoning": "It is.", "start_s": 12.5, "end_s": 40.0}


class Verdict(BaseModel):
    is_enough: bool


def said(text: str, reasoning: str = "", *, is_cut_off: bool = False) -> Completion:
    usage = Usage(calls=1, completion_tokens=10)
    return Completion(text, reasoning, usage, is_cut_off=is_cut_off)


def found(text: str, schema: Schema) -> Any:
    """Return the answer in a reply, as plain values. Its text must give it again."""
    answer = find_answer(read_completion({"choices": [{"message": {"content": text}}]}), schema)
    assert schema.model_validate_json(answer.text) == answer.answer
    answer.text.encode()
    return answer.answer.model_dump()


def js(value: object) -> str:
    return json.dumps(value)


READABLE: dict[str, tuple[str, Schema, Any]] = {
    "LaTeX: escaped braces": (f"$\\boxed{{{Z.replace('{', chr(92) + '{').replace('}', chr(92) + '}')}}}$", STEP, ZOOM),
    "a string": (js(Z), STEP, ZOOM),
    "JavaScript": ('{thought: "Hm", action: {action: "zoom", cell: 3}}', STEP, {**ZOOM, "thought": "Hm"}),
    "Gemma 4's quotes": ('{"search_task":<|"|>A {red}<|"|>}', schemas.TaskAnswer, {"search_task": "A {red}"}),
    "fields of its own": (js({**ZOOM, "confidence": 0.9, "action": {**ZOOM["action"], "why": "?"}}), STEP, ZOOM),  # type: ignore[dict-item]
    "an action in capitals": (Z.replace("zoom", " ZOOM "), STEP, ZOOM),
    "a cell in a string": (Z.replace("3", '"3"'), STEP, ZOOM),
    "a letter": (js({**CHOSEN, "answer": "B"}), CHOICE, CHOSEN),
    "one label for a list": (js(CHOSEN).replace('["A"]', '" a "'), CHOICE, CHOSEN),
    "truth in a string": ('{"is_enough": "True"}', Verdict, {"is_enough": True}),
}

UNREADABLE: dict[str, tuple[str, Schema, str]] = {
    "prose": ("I would zoom in on cell 3.", STEP, "no JSON object"),
    "a field twice": ('{"search_task":"a","search_task":"b"}', schemas.TaskAnswer, "'search_task' has two values"),
    "an unknown action": (Z.replace("zoom", "jump"), STEP, "'expand' or 'zoom'.* or 'finished' at action.action$"),
    "a span without length": (js({**SPAN, "end_s": 12.5}), WHEN, "end_s must differ"),
}


@pytest.mark.parametrize("name", READABLE)
def test_what_a_person_can_read_is_found(name: str) -> None:
    text, schema, answer = READABLE[name]
    assert found(text, schema) == answer


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_not_clear_is_a_complaint_that_fits(name: str) -> None:
    text, schema, complaint = UNREADABLE[name]
    with pytest.raises(NoAnswer, match=complaint) as caught:
        find_answer(said(text), schema)
    assert str(caught.value).isprintable()


def test_a_thought_is_searched_only_for_a_reply_without_text() -> None:
    thought = f"Perhaps cell 3. {Z}"
    assert find_answer(said("\n", thought), STEP).text == Z
    with pytest.raises(NoAnswer, match="^no JSON object$"):
        find_answer(said("I zoom.", thought), STEP)
    with pytest.raises(NoAnswer, match=r"^there is no answer after the thought \(it was cut off after 10 tokens\)$"):
        find_answer(said("", thought, is_cut_off=True), STEP)
    with pytest.raises(NoAnswer, match="no answer after the thought, and in the thought: it holds 2 different"):
        find_answer(said("", f"{thought} No: {OTHER}"), STEP)


def test_the_text_of_a_fitting_reply_stays_as_it_is_and_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("strict_json", "json_objects", "json_schema"):
        monkeypatch.setattr(answers, name, None)
    text = '\n{ "thought": "a: \\"b\\": c",\n "action" : {"action":"zoom","cell": 3.0}}  '
    assert find_answer(said(text), STEP).text == text


PROSE = st.text(st.characters(exclude_characters="{}\"'“”<>[]◁\\", exclude_categories=["Cs"]), max_size=60)
WRAPPINGS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f"```json\n{text}\n```",
    lambda text: f"```\n{text}",
    lambda text: f"<answer>{text}</answer>",
    lambda text: f"<think>Hm {{.</think>{text}",
    lambda text: f"\\boxed{{{text}}}",
    lambda text: f"[{text}]",
    lambda text: f'{{"response": {text}}}',
    lambda text: f'<tool_call>{{"name": "reply", "arguments": {text}}}</tool_call>',
    lambda text: f'{{"name": "reply", "arguments": {json.dumps(text)}}}',
    lambda text: f"{text}\n{text}",
    lambda text: repr(json.loads(text)),
    lambda text: f"<|begin_of_box|>{text}<|end_of_box|>",
    lambda text: f"<|channel|>analysis<|message|>Hm.<|end|><|channel|>final<|message|>{text}<|return|>",
)


def drawn(schema: Schema, seed: int) -> tuple[Any, str]:
    """Draw an answer that fits, and its JSON."""
    sent, rng = json_schema(schema), random.Random(seed)
    while True:
        text = json.dumps(babble(sent, sent.get("$defs", {}), rng))
        try:
            return schema.model_validate_json(text), text
        except ValueError:
            continue  # such as a span without length


@given(st.sampled_from(ALL), st.integers(0, 2**32), st.sampled_from(WRAPPINGS), PROSE, PROSE)
@settings(max_examples=150, deadline=None)
def test_any_answer_is_found_in_any_wrapping(
    schema: Schema, seed: int, wrap: Callable[[str], str], before: str, after: str
) -> None:
    answer, text = drawn(schema, seed)
    assert found(f"{before}\n{wrap(text)}\n{after}", schema) == answer.model_dump()


@given(st.sampled_from(ALL), st.integers(0, 2**32), st.integers(0, 2**32), st.sampled_from(WRAPPINGS), PROSE)
@settings(max_examples=100, deadline=None)
def test_two_answers_are_never_resolved(
    schema: Schema, seed: int, other: int, wrap: Callable[[str], str], between: str
) -> None:
    (one, text), (two, other_text) = drawn(schema, seed), drawn(schema, other)
    reply = f"So {text}\n{between}\n{wrap(other_text)}"
    if one == two:
        assert found(reply, schema) == one.model_dump()
    else:
        with pytest.raises(NoAnswer, match="it holds 2 different answers"):
            find_answer(said(reply), schema)


PARTS = [Z, OTHER, Z[:20], Z[20:], "<think>", "</think>", "```", '"action"', "None", "NaN", '<|"|>', "\ud800", "1e999"]
SCRAPS = st.lists(st.sampled_from(PARTS) | st.text("{}[]\"'\\/*,:1“#&;", max_size=5), max_size=30).map("".join)


@given(SCRAPS, st.sampled_from(ALL))
@settings(max_examples=200, deadline=None)
def test_scraps_yield_an_answer_or_a_complaint(text: str, schema: Schema) -> None:
    try:
        found(text, schema)
    except NoAnswer as error:
        assert str(error).isprintable()


CHOICES = ("a red car", "blue", "2", "0")


@pytest.mark.parametrize(
    ("words", "choice"),
    [
        ("B: blue", 1),
        ("(1)", 1),
        ("A: blue", None),
        ("0", None),  # the first choice by its number, and the last one by its words
        ("B is blue", None),
    ],
)
def test_a_choice_is_read_where_all_that_names_it_agrees(words: str, choice: int | None) -> None:
    schema = reply_model("Only", answer=schemas.one_of((0, 1, 2, 3)))
    try:
        found = find_answer(said(js({"answer": words})), schema, CHOICES).answer.answer
    except NoAnswer:
        found = None
    assert found == choice
