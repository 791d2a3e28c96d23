"""`ParametricSchema`: a shape with values behaves as a pydantic model of just these values."""

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
from atlaskit.environment.actions import ACTIONS
from atlaskit.environment.mdp import LegalSet
from atlaskit.errors import first_fault
from atlaskit.models.cached import reply_key
from atlaskit.models.protocol import Message, ParametricSchema, Request, among, json_schema

Make = Callable[[], ParametricSchema]

CELLS = st.sets(st.integers(0, 63), max_size=64).map(lambda cells: tuple(sorted(cells)))
SOME = CELLS.filter(bool)
LABELS = st.integers(1, 40).map(lambda count: tuple(f"A{n}" for n in range(count)))
DURATIONS = st.sampled_from([0.5, 600.0, 36_000.0])
NAMING = tuple(name for name, kind in ACTIONS.items() if kind.takes != "nothing")
LEGAL = st.builds(
    lambda cells, back: LegalSet({**cells, **({"backtrack": ()} if back else {}), "finished": ()}),
    st.dictionaries(st.sampled_from(NAMING), SOME),
    st.booleans(),
)
KINDS = st.sampled_from(["choice", "when", "count", "summary", "open"])
SCHEMAS: st.SearchStrategy[Make] = st.one_of(
    st.builds(partial, st.just(schemas.probe_schema), SOME, st.integers(1, 12)),
    st.builds(partial, st.just(schemas.step_schema), LEGAL),
    st.builds(partial, st.just(schemas.review_schema), st.integers(0, 5), DURATIONS, LABELS, CELLS),
    st.builds(partial, st.just(schemas.decision_schema), KINDS, st.integers(1, 5), DURATIONS, CELLS | LABELS),
)
ODD_VALUES = [
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


def with_literals(make: Make, monkeypatch: pytest.MonkeyPatch) -> type[BaseModel]:
    """Build the same schema as one pydantic model with Literals: slow, and simple."""
    values = dict(make().values)
    with monkeypatch.context() as patch:
        patch.setattr(schemas, "among", lambda name: one_of(values.get(name, (0,))))
        for name in ("_probe_shape", "_step_shape", "_review_shape", "_decision_shape"):
            patch.setattr(schemas, name, getattr(schemas, name).__wrapped__)
        return make().shape


def spoiled(value: Any, rng: random.Random) -> Any:
    """Replace one part of an answer by an odd value, or leave a field out."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(list(value))
        rest = {other: part for other, part in value.items() if other != name}
        return rest if rng.random() < 0.1 else {**rest, name: spoiled(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        return [*value[:place], spoiled(value[place], rng), *value[place + 1 :]]
    return rng.choice(ODD_VALUES)


def outcome(schema: ParametricSchema | type[BaseModel], value: Any, as_text: bool) -> tuple[Any, ...]:
    """Validate an answer; return it, or the place and kind of the first fault."""
    try:
        answer = schema.model_validate_json(json.dumps(value)) if as_text else schema.model_validate(value)
    except ValidationError as error:
        is_huge = 10**30 in _leaves(value)  # a Literal gives another reason: it is too large
        return (False,) if is_huge else (False, *first_fault(error))
    return True, answer.model_dump_json()


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict | list):
        return [leaf for part in (value.values() if isinstance(value, dict) else value) for leaf in _leaves(part)]
    return [value]


@pytest.mark.long
@given(SCHEMAS, st.integers(0, 2**32))
@settings(max_examples=120, deadline=None)
def test_a_parametric_schema_equals_a_model_with_literals(make: Make, seed: int) -> None:
    rng = random.Random(seed)
    with pytest.MonkeyPatch.context() as patch:
        schema, plain = make(), with_literals(make, patch)
    sent = schema.model_json_schema()
    assert json.dumps(sent) == json.dumps(plain.model_json_schema())  # byte for byte, as a model gets it
    for _ in range(4):
        answer = babble(sent, sent.get("$defs", {}), rng)
        for value in (answer, *(spoiled(answer, rng) for _ in range(12))):
            for as_text in (False, True):
                assert outcome(schema, value, as_text) == outcome(plain, value, as_text), value


def test_true_does_not_count_as_one() -> None:
    class One(BaseModel):
        cell: one_of((1, 2))  # type: ignore[valid-type]

    assert One.model_validate_json('{"cell":1}').cell == 1
    with pytest.raises(ValueError, match="not a number"):
        One.model_validate_json('{"cell":true}')
    assert One.model_json_schema()["properties"]["cell"]["enum"] == [1, 2]


def test_an_answer_holds_the_values_of_the_call() -> None:
    schema = ParametricSchema(reply_model("Pick", cell=among("cells")), (("cells", (1, 2)),))
    assert type(schema.model_validate_json('{"cell": 1.0}').cell) is int
    for rejected in ("true", '"1"', "3", "null", "[1]", "1.5", "1e400"):
        with pytest.raises(ValidationError):
            schema.model_validate_json(f'{{"cell": {rejected}}}')


def test_a_shape_without_values_accepts_nothing() -> None:
    shape = reply_model("Pick", cells=several(among("cells"), 1, 3))
    for context in (None, {}, {"others": (1,)}, {"cells": ()}):
        with pytest.raises(ValidationError):
            shape.model_validate({"cells": [1]}, context=context)


def test_calls_with_other_cells_share_one_shape() -> None:
    one, other = (schemas.probe_schema(cells, 3) for cells in ((1, 2, 3), (4, 5, 6, 7)))
    assert one.shape is other.shape and one != other
    assert json_schema(one) != json_schema(other)


def test_a_reply_key_covers_the_shape_and_the_values() -> None:
    model = Babbler()
    cells, fewer = tuple(range(9)), tuple(range(8))
    all_schemas = [
        schemas.probe_schema(cells, 3),
        schemas.probe_schema(fewer, 3),
        schemas.probe_schema(cells, 2),
        *(schemas.step_schema(LegalSet({name: cells, "finished": ()})) for name in NAMING),
        schemas.step_schema(LegalSet({"backtrack": (), "finished": ()})),
        schemas.step_schema(LegalSet({"expand": cells, "add_to_scratchpad": fewer, "finished": ()})),
        schemas.step_schema(LegalSet({"expand": fewer, "add_to_scratchpad": cells, "finished": ()})),
        schemas.review_schema(2, 600.0, ("A", "B"), cells),
        schemas.review_schema(2, 600.0, ("A",), cells),
        schemas.review_schema(2, 60.0, ("A",), cells),
        schemas.review_schema(2, 600.0, ("A",), ()),
        schemas.decision_schema("when", 0, 600.0, cells),
        schemas.decision_schema("when", 0, 600.0, ("0", "1")),
        schemas.decision_schema("when", 0, 600.0, ()),
        schemas.decision_schema("when", 0, 600.0, cells, has_several=True),
        schemas.decision_schema("when", 0, 600.0, (), has_several=True),
        schemas.TaskAnswer,
    ]
    message = (Message("user", ("Which?",)),)
    keys = {reply_key(model, Request("worker", "step", message, schema)) for schema in all_schemas}
    assert len(keys) == len(all_schemas)
