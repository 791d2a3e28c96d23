"""nano's teacher: it understands AtlasWorld's questions, and acts on nothing but what is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import ask

from atlaskit.agents.prompts import ProbeCall, StepCall
from atlaskit.agents.schemas import decision_schema
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.benchmarks.atlasworld.questions import WRITERS
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question
from atlaskit.models.protocol import CallControl, Reply, Request
from atlaskit.nano.words import listed_lines
from nano.teacher import teacher
from nano.teacher.answers import answer_decision, answer_probe, to_json
from nano.teacher.goal import Goal, describe, goal_of, parse_description, parse_goal, up_to_object
from nano.teacher.judge_evidence import judge_evidence
from nano.teacher.labels import ATTRIBUTES, VALUES, CellContent, content_at, encode
from nano.teacher.scan import Scan, scan_view
from nano.teacher.teacher import Expert

SETTINGS = {**teacher.SETTINGS, "traversal": "dfs"}


def goal(question: str) -> Goal:
    found = parse_goal(question)
    assert found is not None, question
    return found


def test_parse_goal_understands_every_category(world: World) -> None:
    types = {}
    for question in world.questions:
        parsed = goal_of(question)
        types[question.category] = parsed.type
        if question.category not in ("O3O", "T2O", "SUM"):
            for event in world.targets(question):
                midpoint_s = (event.start_s + event.end_s) / 2
                assert parsed.matches(content_at(world.script, midpoint_s)), question.text
    assert len(types) == len(WRITERS)


def test_other_questions_have_no_goal() -> None:
    assert parse_goal("Who scored?") is None
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
    """A teacher that checks that hidden events do not change its replies."""

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


def test_teacher_uses_only_what_is_shown(world: World) -> None:
    """Events between the frames shown do not change a reply."""
    for question in world.questions[:11]:
        ask(world.drawn, question, vlm=CheckedTeacher(world.script), cache=Cache(None), **SETTINGS)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize(("duration_s", "least"), [(600, 0.75), (36_000, 0.65)])
def test_teacher_answers_most_questions_correctly(duration_s: float, least: float) -> None:
    scores = []
    for seed in (0, 1):
        world = atlasworld(seed, duration_s, questions=21, size=(160, 90))
        for question in world.questions:
            if question.kind == "choice":
                result = ask(world.drawn, question, vlm=Expert(world.script), cache=Cache(None), **SETTINGS)  # type: ignore[arg-type]
                assert not any(event.problem for event in result.trace.of("step"))
                scores.append(question.score(result.prediction))
    assert sum(scores) / len(scores) >= least


def test_scan_finds_the_object_after_its_line() -> None:
    parsed = goal("Which object is on screen when the voice says “Look, a red star.”?")
    circle = CellContent("sea", "noon", "blue", "circle")
    contents = [CellContent("sea", "noon"), CellContent("sea", "noon"), circle, circle]
    texts = {0: ["Here comes a red star."], 1: ["Look, a red star."]}
    scan = scan_view(parsed, contents, texts, cell_s=2.3, is_long=False)
    assert scan.thought == "“Look, a red star1“: +/0-1“=1/.2blue,circle,+2/.3blue,circle,-. +2=-"
    assert scan.hits == (2,)
    assert scan_view(parsed, contents, texts, cell_s=37.5, is_long=False).candidates == (1,)


def test_teacher_does_not_know_lines_that_the_prompt_omits() -> None:
    """A prompt does not list the lines of a long world's root grid."""
    world = atlasworld(3, 36_000, questions=33, categories=("T2O",), size=(160, 90))
    parsed = goal_of(world.questions[0])
    root = Atlas(world.drawn, k=4, cell=128, cache=Cache(None)).reset()
    assert len(root.subtitles) > 500 and not listed_lines(root)
    assert Expert(world.script).scan(parsed, root).thought.startswith(f"“{up_to_object(parsed.line)}-: =/0")


@given(st.sets(st.integers(0, 15)), st.sets(st.integers(0, 15)))
def test_probe_names_hits_first(hits: set[int], candidates: set[int]) -> None:
    scan = Scan("", tuple(sorted(hits)), tuple(sorted(candidates - hits)))
    answer = answer_probe(scan, 4)
    scores = {each["cell"]: each["score"] for each in answer["top"]}
    assert set(scores) <= hits | candidates
    assert len(answer["top"]) == len(scores) == min(4, len(hits | candidates))
    assert {cell for cell, score in scores.items() if score == 0.9} == set(sorted(hits, reverse=True)[:4])


@given(st.tuples(st.integers(0, 3_999_998), st.integers(1, 3_999_999)).map(sorted))
def test_replies_write_times_as_prompts_do(hundredths: list[int]) -> None:
    start_s, end_s = hundredths[0] / 100, (hundredths[1] + 1) / 100
    schema = decision_schema("when", 0, 40_000.0, ("A",))
    answer = {"reasoning": "", "supporting": ["A"], "start_s": start_s, "end_s": end_s}
    text = to_json(schema.model_validate(answer))
    assert text.endswith(f'"start_s":{start_s:.2f},"end_s":{end_s:.2f}}}')
    assert schema.model_validate_json(text).model_dump() == answer


def test_a_question_of_several_intervals_gets_one_in_the_form_of_several() -> None:
    question = Question("When is the red star on screen?", kind="when", several=True)
    answer = answer_decision(question, goal_of(question), [], labelled=True)
    valid = decision_schema("when", 0, 60.0, ("A",), has_several=True).model_validate(answer)
    assert [(each.start_s, each.end_s) for each in valid.intervals] == [(0.0, 1.0)]


TEXT = "What text is on screen while the red star is visible?"
COUNT = "How many times does a red star appear in the video?"


@pytest.mark.parametrize(
    ("question", "choices", "reasoning"),
    [
        (TEXT, ("WALNUT", "HARBOR 11"), "Of WALNUT0, HARBOR1: [A]red~star~ HARBOR1+[B]red~star~ HARBOR1+. [B] HARBOR1"),
        (COUNT, ("1", "2"), "Of one0, two1: [A]red~star~ one+[B]red~star~ two+. [B] two1"),
    ],
)
def test_judgement_finds_captions_and_counts_among_the_choices(
    question: str, choices: tuple[str, ...], reasoning: str
) -> None:
    evidence = [
        Evidence(t, t - 1, t + 1, "red star, sea at noon, HARBOR", 0.9, label=label)
        for t, label in ((5, "A"), (9, "B"))
    ]
    judgement = judge_evidence(goal(question), Question(question, choices), evidence)
    assert (judgement.reasoning, judgement.choice) == (reasoning, 1)
