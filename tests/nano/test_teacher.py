"""nano's teacher: it understands AtlasWorld's questions, and acts on nothing but what is shown."""

from dataclasses import replace
from typing import Unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import ask

import atlasworld as aw
from atlaskit.agents.prompts import ProbeCall, StepCall
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.models.protocol import CallControl, Reply, Request
from atlasworld import World
from atlasworld.questions import WRITERS
from nano.teacher import teacher
from nano.teacher.goal import describe, goal_of, parse_description
from nano.teacher.labels import ATTRIBUTES, VALUES, CellContent, content_at, encode
from nano.teacher.teacher import Expert

SETTINGS = {**teacher.SETTINGS, "traversal": "dfs"}


def test_a_goal_is_read_from_every_category_and_from_no_other_question(taught: World) -> None:
    assert {question.category for question in taught.questions} == set(WRITERS)
    for question in taught.questions:
        parsed = goal_of(question)
        if question.category not in ("O3O", "T2O", "SUM"):
            for event in taught.targets(question):
                midpoint_s = (event.start_s + event.end_s) / 2
                assert parsed.matches(content_at(taught.script, midpoint_s)), question.text
    with pytest.raises(AssertionError, match=r"only AtlasWorld's own questions; got 'Who scored\?'"):
        goal_of(Question("Who scored?", kind="open"))


@given(st.tuples(*(st.sampled_from(values) for values in VALUES.values())))
def test_descriptions_and_label_indices_are_reversible(values: tuple[str, ...]) -> None:
    content = CellContent(*values)
    if content.place and content.light and bool(content.colour) == bool(content.shape):
        assert parse_description(describe(content)) == content
    indices = zip(ATTRIBUTES, encode(content), strict=True)
    assert [VALUES[attribute][index] for attribute, index in indices] == list(values)


class CheckedTeacher(Expert):
    """A teacher that checks that events between the frames shown do not change its replies."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        reply, call = super().complete(request), request.facts
        if isinstance(call, StepCall | ProbeCall):
            times_s = call.observation.view.moments
            seen = tuple(e for e in self.script.events if any(e.start_s <= t < e.end_s for t in times_s))
            ids = {event.id for event in seen}
            lines = tuple(replace(line, event=line.event if line.event in ids else None) for line in self.script.lines)
            other = Expert(replace(self.script, events=seen, lines=lines))
            assert other.complete(request).text == reply.text
        return reply


def test_teacher_uses_only_what_is_shown(taught: World) -> None:
    for question in taught.questions[:11]:
        ask(taught.drawn, question, vlm=CheckedTeacher(taught.script), cache=Cache(None), **SETTINGS)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize(("duration_s", "least"), [(600, 0.75), (36_000, 0.65)])
def test_teacher_answers_most_questions_correctly(duration_s: float, least: float) -> None:
    world = aw.world(0, duration_s, questions=21, size=(160, 90))
    scores = []
    for question in (each for each in world.questions if each.kind == "choice"):
        result = ask(world.drawn, question, vlm=Expert(world.script), cache=Cache(None), **SETTINGS)  # type: ignore[arg-type]
        assert not any(event.problem for event in result.trace.of("step"))
        scores.append(question.score(result.prediction))
    assert sum(scores) / len(scores) >= least
