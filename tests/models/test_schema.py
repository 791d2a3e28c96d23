"""Forms: a shape with values given to each call takes, refuses and tells what a model of just these values would."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from support.model_doubles import Babbler, babble

from atlaskit.agents import schemas
from atlaskit.agents.schemas import one_of, reply_model, several
from atlaskit.environment.mdp import LegalSet
from atlaskit.errors import first_fault
from atlaskit.models.cached import reply_key
from atlaskit.models.protocol import Message, Request
from atlaskit.models.schema import ParametricSchema, among, json_schema

Make = Callable[[], ParametricSchema]

CELLS = st.sets(st.integers(0, 63), max_size=64).map(lambda cells: tuple(sorted(cells)))
SOME = CELLS.filter(bool)
LABELS = st.integers(1, 40).map(lambda count: tuple(f"A{n}" for n in range(count)))
DURATIONS = st.sampled_from([0.5, 600.0, 36_000.0])
LEGAL = st.builds(LegalSet, CELLS, st.booleans(), CELLS, CELLS, CELLS, CELLS, CELLS, st.just(True))
KINDS = st.sampled_from(["choice", "when", "count", "summary", "open"])
MADE: st.SearchStrategy[Make] = st.one_of(
    st.builds(partial, st.just(schemas.probe_schema), SOME, st.integers(1, 12)),
    st.builds(partial, st.just(schemas.step_schema), LEGAL),
    st.builds(partial, st.just(schemas.review_schema), st.integers(0, 5), DURATIONS, LABELS, CELLS),
    st.builds(partial, st.just(schemas.decision_schema), KINDS, st.integers(1, 5), DURATIONS, CELLS | LABELS),
)
STRANGE = [
    None,
    True,
    1,
    1.0,
    0.5,
    -1,
    64,
    10**30,
    "1",
    "A0",
    "",
    "B",
    [],
    [1],
    {},
    {"cell": 1},
    float("nan"),
    "x" * 700,
]


def alone(make: Make, monkeypatch: pytest.MonkeyPatch) -> type[BaseModel]:
    """Make the same form as a model of its own, its values written into it: slow, and plain to see through."""
    values = dict(make().values)
    with monkeypatch.context() as patch:
        patch.setattr(schemas, "among", lambda name: one_of(values[name]))
        for name in ("_probe_shape", "_step_shape", "_review_shape", "_decision_shape"):
            patch.setattr(schemas, name, getattr(schemas, name).__wrapped__)
        return make().shape


def spoiled(value: Any, rng: random.Random) -> Any:
    """Put something strange into an answer, in one place; or leave something out."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(list(value))
        rest = {other: part for other, part in value.items() if other != name}
        return rest if rng.random() < 0.1 else {**rest, name: spoiled(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        return [*value[:place], spoiled(value[place], rng), *value[place + 1 :]]
    return rng.choice(STRANGE)


def outcome(form: ParametricSchema | type[BaseModel], value: Any, as_text: bool) -> tuple[Any, ...]:
    """Return what comes of an answer: itself, or where the first fault lies and what it is."""
    try:
        answer = form.model_validate_json(json.dumps(value)) if as_text else form.model_validate(value)
    except ValidationError as error:
        is_huge = 10**30 in _leaves(value)  # which a Literal calls too large instead
        return (False,) if is_huge else (False, *first_fault(error))
    return True, answer.model_dump_json()


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        return [leaf for part in (value.values() if isinstance(value, dict) else value) for leaf in _leaves(part)]
    return [value]


@given(MADE, st.integers(0, 2**32))
@settings(max_examples=120, deadline=None)
def test_a_form_is_what_a_model_of_its_values_is(make: Make, seed: int) -> None:
    rng = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        form, plain = make(), alone(make, patch)
    told = form.model_json_schema()
    assert json.dumps(told) == json.dumps(plain.model_json_schema())  # byte for byte, as it is sent
    for _ in range(4):
        answer = babble(told, told.get("$defs", {}), rng)
        for value in (answer, *(spoiled(answer, rng) for _ in range(12))):
            for as_text in (False, True):
                assert outcome(form, value, as_text) == outcome(plain, value, as_text), value


def test_a_value_is_given_back_as_it_was_given() -> None:
    form = ParametricSchema(reply_model("Pick", cell=among("cells")), (("cells", (1, 2)),))
    assert type(form.model_validate_json('{"cell": 1.0}').cell) is int
    for refused in ("true", '"1"', "3", "null", "[1]", "1.5", "1e400"):
        with pytest.raises(ValidationError):
            form.model_validate_json(f'{{"cell": {refused}}}')


def test_without_values_nothing_fits() -> None:
    shape = reply_model("Pick", cells=several(among("cells"), 1, 3))
    for context in (None, {}, {"others": (1,)}, {"cells": ()}):
        with pytest.raises(ValidationError):
            shape.model_validate({"cells": [1]}, context=context)


def test_a_shape_is_made_once_whatever_the_cells() -> None:
    one, other = (schemas.probe_schema(cells, 3) for cells in ((1, 2, 3), (4, 5, 6, 7)))
    assert one.shape is other.shape and one != other
    assert json_schema(one) != json_schema(other)


def test_a_key_tells_shapes_and_values_apart() -> None:
    model = Babbler()
    cells, fewer = tuple(range(9)), tuple(range(8))
    forms = [
        schemas.probe_schema(cells, 3),
        schemas.probe_schema(fewer, 3),
        schemas.probe_schema(cells, 2),
        *(schemas.step_schema(LegalSet(*which, True)) for which in _one_action_each(cells)),
        schemas.step_schema(LegalSet(cells, False, (), (), (), (), fewer, True)),
        schemas.step_schema(LegalSet(fewer, False, (), (), (), (), cells, True)),
        schemas.review_schema(2, 600.0, ("A", "B"), cells),
        schemas.review_schema(2, 600.0, ("A",), cells),
        schemas.review_schema(2, 60.0, ("A",), cells),
        schemas.review_schema(2, 600.0, ("A",), ()),
        schemas.decision_schema("when", 0, 600.0, cells),
        schemas.decision_schema("when", 0, 600.0, ("0", "1")),
        schemas.decision_schema("when", 0, 600.0, ()),
        schemas.TaskAnswer,
    ]
    message = (Message("user", ("Which?",)),)
    keys = {reply_key(model, Request("worker", "step", message, form)) for form in forms}
    assert len(keys) == len(forms)


def _one_action_each(cells: tuple[int, ...]) -> list[list[Any]]:
    """What a state allows where one kind of action alone is legal: each field of a LegalSet but the last."""
    return [[cells if place == kind else () for place in range(7)] for kind in (0, 2, 3, 4, 5, 6)] + [
        [(), True, (), (), (), (), ()]
    ]
