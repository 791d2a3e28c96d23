"""nano's teacher and teaching material: what is taught follows from what is shown."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_doubles import Babbler

from atlaskit import nano
from atlaskit.agents.prompts import ProbeCall, StepCall
from atlaskit.agents.schemas import decision_schema
from atlaskit.agents.search import ask
from atlaskit.agents.verbalize import cells_text
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.benchmarks.atlasworld.generator import write_script
from atlaskit.benchmarks.atlasworld.long_timeline import BANK_CAST
from atlaskit.benchmarks.atlasworld.questions import WRITERS
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question
from atlaskit.errors import InputError
from atlaskit.models.protocol import CallControl, Message, Reply, Request
from atlaskit.nano import dagger
from atlaskit.nano import evaluate as judging
from atlaskit.nano import self_training as improving
from atlaskit.nano.data import export as exporting
from atlaskit.nano.data import shards, synthetic
from atlaskit.nano.data.export import export
from atlaskit.nano.data.trajectories import IMAGE, lessons, written
from atlaskit.nano.teacher import teacher
from atlaskit.nano.teacher.goal import goal_of, sight_told, told, until_named
from atlaskit.nano.teacher.judge_evidence import weigh
from atlaskit.nano.teacher.labels import CELL, PARTS, VALUES, CellContent, codes, pictures, sight_at
from atlaskit.nano.teacher.scan import Scan, is_strange, scan_view
from atlaskit.nano.teacher.teacher import Expert
from atlaskit.viz import plots

SETTINGS = {**teacher.SETTINGS, "traversal": "dfs"}


@pytest.fixture(scope="module")
def asked() -> World:
    """A world with questions of every kind."""
    return atlasworld(5, 600, questions=33, categories=tuple(WRITERS), size=(160, 90))


def test_every_kind_of_question_is_understood(asked: World) -> None:
    kinds = {}
    for question in asked.questions:
        quest = goal_of(question.text)
        assert quest is not None, question.text
        kinds[question.category] = quest.asks
        if question.category not in ("O3O", "T2O", "SUM"):
            for event in asked.targets(question):
                middle = (event.start_s + event.end_s) / 2
                assert quest.wants(sight_at(asked.script, middle)), question.text
    assert len(kinds) == len(WRITERS) and goal_of("Who scored?") is None


@given(st.tuples(*(st.sampled_from(values) for values in VALUES.values())))
def test_a_description_is_read_as_it_was_meant(parts: tuple[str, ...]) -> None:
    sight = CellContent(*parts)
    if sight.place and sight.light and bool(sight.colour) == bool(sight.shape):
        assert sight_told(told(sight)) == sight
    assert [VALUES[part][index] for part, index in zip(PARTS, codes(sight), strict=True)] == list(parts)


class Blinkered(Expert):
    """A teacher who asks another one, that has seen another film, which looks the same in the cells that are shown."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        mine, call = super().complete(request), request.facts
        if isinstance(call, StepCall | ProbeCall):
            moments = call.observation.view.moments
            seen = tuple(e for e in self.script.events if any(e.start_s <= t < e.end_s for t in moments))
            kept = {event.id for event in seen}
            lines = tuple(replace(line, event=line.event if line.event in kept else None) for line in self.script.lines)
            other = Expert(replace(self.script, events=seen, lines=lines))
            assert other.complete(request).text == mine.text
        return mine


def test_the_teacher_knows_no_more_than_is_shown(asked: World) -> None:
    """What happens between the frames that are shown does not change a reply."""
    for question in asked.questions[:11]:
        ask(asked.drawn, question, vlm=Blinkered(asked.script), cache=Cache(None), **SETTINGS)  # type: ignore[arg-type]


@pytest.mark.parametrize(("duration_s", "least"), [(600, 0.75), (36_000, 0.65)])
def test_the_teacher_is_worth_learning_from(duration_s: float, least: float) -> None:
    scores = []
    for seed in (0, 1):
        world = atlasworld(seed, duration_s, questions=21, size=(160, 90))
        for question in world.questions:
            if question.kind == "choice":
                result = ask(world.drawn, question, vlm=Expert(world.script), cache=Cache(None), **SETTINGS)  # type: ignore[arg-type]
                assert not any(event["problem"] for event in result.trace.of("step"))
                scores.append(question.score(result.prediction))
    assert sum(scores) / len(scores) >= least


def test_lessons_are_the_words_that_a_server_shows(asked: World) -> None:
    """The chat template, as vLLM applies it, writes what the lessons say."""
    jinja2 = pytest.importorskip("jinja2")
    source = Path(nano.__file__).with_name("learn") / "tokenizer.py"
    space: dict[str, object] = {}
    code = source.read_text(encoding="utf-8")
    exec(code[code.index("TEMPLATE = (") : code.index("\n)\n") + 3], space)
    template = jinja2.Template(str(space["TEMPLATE"]))

    class Picture:
        key, size = "key", (1, 1)

        def jpeg(self) -> bytes:
            return b""

    messages = (Message("system", ("Role.",)), Message("user", ("A", Picture(), "B\nC")), Message("assistant", ("{}",)))
    sent = [
        {
            "role": m.speaker,
            "content": m.parts[0]
            if m.speaker != "user"
            else [{"type": "text", "text": p} if isinstance(p, str) else {"type": "image_url"} for p in m.parts],
        }
        for m in messages
    ]
    assert template.render(messages=sent, add_generation_prompt=True) == written(messages)


def test_lessons_say_what_each_cell_shows(asked: World) -> None:
    groups = list(lessons(replace(asked, questions=asked.questions[:4]), slip=0.3, seed=1, subtitles=True))
    assert {example["step"] for group in groups for example in group["examples"]} >= {"task", "probe", "step", "review"}
    sizes = [len(values) for values in VALUES.values()]
    for group in groups:
        assert group["prefix"].count(IMAGE) == len(group["images"])
        for example in group["examples"]:
            assert example["rest"].count(IMAGE) == len(example["images"])
            json.loads(example["reply"])
        for image in group["images"]:
            assert len(image["tiles"]) % image["columns"] == 0
            for tile in filter(None, image["tiles"]):
                assert all(0 <= value < size for value, size in zip(tile, sizes, strict=True))


def test_a_pupil_is_taught_its_own_searches_where_they_were_rewarded(asked: World, tmp_path: Path) -> None:
    few = replace(asked, questions=asked.questions[:4])
    own = tmp_path / "own.jsonl"
    said = improving.write_own(own, Expert(few.script), [few])
    kept = [one for tried in improving.searches(Expert(few.script), [few]) if (one := improving.best(tried))]
    assert kept and all(one.score >= improving.REWARDED and one.calls == len(one.lessons) for one in kept)
    groups = [json.loads(line) for line in own.open()]
    assert sum(len(group["examples"]) for group in groups) <= sum(one.calls for one in kept)
    taught = {(group["prefix"] + each["rest"], each["reply"]) for group in groups for each in group["examples"]}
    assert taught == {(each["text"], each["reply"]) for one in kept for each in one.lessons}
    assert said.startswith("4 questions, asked the first way: ") and f"in one of 3 ways: {len(kept) / 4:.0%}" in said
    wrong, slow, quick = (improving.Attempt(score, calls, []) for score, calls in ((0.4, 1), (1.0, 9), (0.6, 7)))
    assert improving.best([wrong, slow, quick]) is quick and improving.best([wrong]) is None


def test_practice_is_a_models_own_searches_and_what_its_teacher_says_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dagger, "LENGTHS_S", (600,))
    folder, material_of = tmp_path / "practice", tmp_path / "material"
    material_of.mkdir()
    for name in ("lessons-0000.jsonl", "judging-0000.jsonl"):
        (material_of / name).write_text(name)
    dagger.link_drills(material_of, folder)
    assert [path.name for path in folder.iterdir()] == ["judging-0000.jsonl"], "no lesson of the teacher's own searches"
    monkeypatch.setattr(dagger, "MOST_CALLS", 12)
    pupil = Babbler(4)
    dagger.write_practice(folder, pupil, 1, questions=3)
    world = atlasworld(dagger.FIRST, 600, questions=3, size=(640, 360))
    teacher = Expert(world.script)
    found = {}
    for question in world.questions:
        who = dagger.pupil(pupil, world, is_taught=True)
        dagger.searched(who, world, question, 12, traversal="dfs")
        found |= {lesson["text"]: lesson["reply"] for lesson in who.lessons}
    groups = [json.loads(line) for line in (folder / "lessons-0000.jsonl").open()]
    taught = {group["prefix"] + each["rest"]: each["reply"] for group in groups for each in group["examples"]}
    assert taught == found, "places that the pupil came to"
    assert {each["step"] for group in groups for each in group["examples"]} >= {"task", "probe", "step"}
    own = dagger.pupil(pupil, world, is_taught=False)
    dagger.searched(own, world, world.questions[0], 12, traversal="dfs")
    assert {lesson["text"] for lesson in own.lessons} <= taught.keys()
    differs = [lesson for lesson in own.lessons if lesson["reply"] != taught[lesson["text"]]]
    assert differs, "and what the teacher says there, not what the pupil did"
    assert teacher.name == own.expert.name
    before = (folder / "lessons-0000.jsonl").stat()
    dagger.write_practice(folder, Babbler(5), 1, questions=3)
    assert (folder / "lessons-0000.jsonl").stat() == before, "what is there is left"


SIGHTS = st.builds(CellContent, *(st.sampled_from(values[1:]) for values in VALUES.values()))
CELLS = st.lists(st.none() | SIGHTS, min_size=16, max_size=16)
QUESTS = [
    "Which of these objects appears in the sea scene at noon?",
    "What colour is the star that appears in the sea scene at noon?",
    "What text is on screen while the red star is visible?",
    "Which object appears right before the red star?",
    "Which object appears right after the red star?",
    "Which appears first in the video: a red star, a blue circle, or a pink heart?",
    "Which object is on screen when the voice says “Look, a red star.”?",
    "When is the red star on screen?",
]


@given(CELLS, st.integers(1, 15), st.sampled_from(QUESTS), st.sampled_from([0.3, 2.3, 8.8, 37.5, 140.0]), st.booleans())
@settings(max_examples=150)
def test_a_sign_waits_for_no_cell_that_comes_later(
    sights: list[CellContent | None], cut: int, asked: str, cell_s: float, is_long: bool
) -> None:
    """A thought about the first cells is the beginning of the thought about all of them, and what is kept was said."""
    quest = goal_of(asked)
    assert quest is not None
    said = {3: ["Look, a red star."], 5: ["Here comes a red star."], 7: ["Look, a blue circle."]}
    whole = scan_view(quest, sights, said, cell_s=cell_s, is_long=is_long)
    part = scan_view(quest, sights[:cut], said, cell_s=cell_s, is_long=is_long)
    if quest.line:  # which cells it is said in is known from the words of the prompt
        assert whole.thought.startswith("“Look, a red star3“: ")
    assert whole.thought.startswith(part.thought[: part.thought.rindex(". ")])
    signed = {sign: list(map(int, re.findall(rf"{re.escape(sign)}(\d+)/", whole.thought))) for sign in "+="}
    assert signed["+"] == list(whole.keep) and list(whole.near) in ([], signed["="])
    wanted = {cell for cell, sight in enumerate(sights) if sight and quest.wants(sight)}
    assert quest.line or quest.asks == "neighbour" or set(whole.keep) <= wanted
    assert quest.asks != "when" or set(whole.keep) == wanted


@given(
    CELLS,
    st.sampled_from(QUESTS),
    st.sampled_from([0.3, 2.3, 37.5, 140.0]),
    st.sets(st.integers(0, 15)),
    st.booleans(),
)
@settings(max_examples=150)
def test_what_has_a_sign_is_found_link_by_link(
    sights: list[CellContent | None], asked: str, cell_s: float, opened: set[int], lists: bool
) -> None:
    """From the last words of a thought, each sign leads to the one before, and none to what was done before."""
    quest = goal_of(asked)
    assert quest is not None
    said = {3: ["Look, a red star."]}
    swept = scan_view(quest, sights, said, cell_s=cell_s, is_long=True, opened=opened, lists=lists)
    for sign, cells in (("+", swept.keep), ("=", swept.near)):
        walked, found = [], re.search(rf"{re.escape(sign)}(\d+)", swept.thought[swept.thought.rindex(". ") :])
        while found:
            walked.append(int(found[1]))
            found = re.search(rf"{re.escape(sign)}{walked[-1]}/(\d+)\.", swept.thought)
        assert walked == list(reversed(cells))
    assert opened.isdisjoint(swept.near) and (opened.isdisjoint(swept.keep) if lists else not (opened and swept.keep))


@given(
    CELLS, st.sampled_from([asked for asked in QUESTS if "the voice says" not in asked]), st.sets(st.integers(0, 15))
)
def test_what_a_strange_cell_leads_to_is_known_from_the_token_before_it(
    sights: list[CellContent | None], asked: str, opened: set[int]
) -> None:
    """Where filler is minded, each cell ends with all that the next has to know of it."""
    quest = goal_of(asked)
    assert quest is not None
    swept = scan_view(quest, sights, {}, cell_s=140.0, is_long=True, opened=opened)
    ends = re.findall(r"([-!/])(?=\d+(?:[*a-z/!-]|$))", swept.thought.split(". +")[0].split(": ")[-1] + "-16-")
    assert len(ends) == 17 and ends[0] == "/" and ends[-1] == "-"
    for index, (sight, before, end) in enumerate(zip(sights, ends, ends[1:], strict=False)):
        strange = sight is not None and is_strange(sight)
        if index < 15:
            assert end == ("!" if strange else "/" if sight is None or index in opened else "-")
        if f"={index}/" in swept.thought:
            later = index < 15 and sights[index + 1]
            in_scene = sight is not None and (sight.place, sight.light) == quest.scene
            assert strange or before == "!" or (end == "-" and later and is_strange(later)) or in_scene


def test_what_is_named_is_found_by_its_line() -> None:
    quest = goal_of("Which object is on screen when the voice says “Look, a red star.”?")
    assert quest is not None
    circle = CellContent("sea", "noon", "blue", "circle")
    sights = [CellContent("sea", "noon"), CellContent("sea", "noon"), circle, circle]
    said = {0: ["Here comes a red star."], 1: ["Look, a red star."]}
    swept = scan_view(quest, sights, said, cell_s=2.3, is_long=False)
    assert swept.thought == "“Look, a red star1“: +/0-1“=1/.2blue,circle,+2/.3blue,circle,-. +2=-"
    assert swept.keep == (2,)
    assert scan_view(quest, sights, said, cell_s=37.5, is_long=False).near == (1,)


def test_of_several_objects_it_is_said_which_one_is_seen() -> None:
    quest = goal_of("Which appears first in the video: a red star, a blue circle, or a pink heart?")
    assert quest is not None
    sights = [CellContent("sea", "noon", *name.split(" ")) for name in ("pink heart", "red circle", "green star")]
    swept = scan_view(quest, sights, {0: ["Look, a red star."]}, cell_s=2.3, is_long=False)
    listed = "Of red star0, blue circle1, pink heart2: +/"
    assert swept.thought == listed + "0pink~heart~ pink heart2+0/.1red~circle~ red circle-2green,star~-. +0=-"


def test_lines_that_are_not_listed_are_not_known() -> None:
    """Where so much is said that the prompt does not list it, the teacher has not read it."""
    world = atlasworld(3, 36_000, questions=33, categories=("T2O",), size=(160, 90))
    teacher, asked = Expert(world.script), world.questions[0]
    root = Atlas(world.drawn, k=4, cell=128, cache=Cache(None)).reset()
    quest = goal_of(asked.text)
    assert quest is not None and len(root.subtitles) > 500 and "too many to list" in cells_text(root)
    assert teacher.scan(quest, root).thought.startswith(f"“{until_named(quest.line)}-: =/0")


@given(st.sets(st.integers(0, 15)), st.sets(st.integers(0, 15)))
def test_a_probe_names_what_was_found_best_first(keep: set[int], near: set[int]) -> None:
    found = Scan("", tuple(sorted(keep)), tuple(sorted(near - keep)))
    answer = teacher.probe(found, 4)
    worth = {each["cell"]: each["score"] for each in answer["top"]}
    assert set(worth) <= keep | near and len(answer["top"]) == len(worth) == min(4, len(keep | near))
    assert {cell for cell, score in worth.items() if score == 0.9} == set(sorted(keep, reverse=True)[:4])


@given(st.tuples(st.integers(0, 3_999_998), st.integers(1, 3_999_999)).map(sorted))
def test_times_are_spelt_as_prompts_spell_them(hundredths: list[int]) -> None:
    start_s, end_s = hundredths[0] / 100, (hundredths[1] + 1) / 100
    form = decision_schema("when", 0, 40_000.0, ("A",))
    given = {"reasoning": "", "supporting": ["A"], "start_s": start_s, "end_s": end_s}
    text = teacher.spelt(form.model_validate(given))
    assert text.endswith(f'"start_s":{start_s:.2f},"end_s":{end_s:.2f}}}')
    assert form.model_validate_json(text).model_dump() == given


def test_curves_are_one_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no eyes.csv"):
        nano.curves(tmp_path)
    (tmp_path / "eyes.csv").write_text("step,seconds,loss,shape,word\n10,5.0,3.5,0.25,\n20,9.0,2.5,0.5,0.125\n")
    (tmp_path / "mind.csv").write_text("step,seconds,loss,right\n10,7.5,6.0,0.2\n")
    table = nano.curves(tmp_path)
    assert list(table.columns) == ["stage", "step", "seconds", "measure", "value"]
    assert table.groupby("stage")["value"].sum().to_dict() == {"eyes": 6.875, "mind": 6.2}
    assert len(table) == 7
    (tmp_path / "dagger.csv").write_text("step,seconds,loss,right\n10,7.5,1.0,0.5\n")
    assert set(nano.curves(tmp_path)["stage"]) == {"eyes", "mind", "practice"}, "which not every model has had"
    upper = plots.learning_curves(table)
    drawn = [len(ax.get_lines()) for ax in upper.figure.axes]
    assert drawn == [1, 1, 2, 1] and [ax.get_title(loc="left") or ax.get_title() for ax in upper.figure.axes][:2]
    with pytest.raises(InputError, match="no column stage"):
        plots.learning_curves(table.drop(columns="stage"))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_drills_say_what_is_in_their_sheets(seed: int) -> None:
    rng = random.Random(seed)
    for draw in (synthetic.reading, synthetic.searching, synthetic.straying):
        row = draw(rng)
        (image,) = row["images"]
        shown = [[VALUES[part][value] for part, value in zip(PARTS, tile, strict=True)] for tile in image["tiles"]]
        assert row["prefix"].count(IMAGE) == 1 and len(shown) == image["columns"] ** 2
        for example in row["examples"]:
            thought = re.match(r'\{"(?:thought|reasoning)":"(?:[^"]*: )?([^"]*)', example["reply"])
            for index, words in re.findall(r"(?<![=+\da-z])(\d+)\*?“?([A-Za-z,~!]+)", thought[1] if thought else ""):
                said = set(re.split("[,~!]", words)) - {""}
                assert said <= {*shown[int(index)], " ".join(shown[int(index)][2:4])}
            if draw is not synthetic.reading:
                assert re.search(r'\. \+(\d+|-)=(\d+|-)(",|$)', example["reply"]), "the last words are said"
            described = re.findall(r'"cell":(\d+),"description":"([^"]*)"', example["reply"])
            assert all(told(CellContent(*shown[int(cell)])) == words for cell, words in described)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_a_scene_is_marked_as_strange_if_no_filler_has_it(seed: int) -> None:
    """A thought that minds the filler says so before the first cell, and then marks each scene that is none of its own
    right behind its words; a thought that does not marks none."""
    scene = re.compile(rf"({'|'.join(VALUES['place'][1:])})[,~]({'|'.join(VALUES['light'][1:])})[,~](!?)")
    rows = [synthetic.straying(random.Random(f"{seed} {number}")) for number in range(12)]
    replies = [example["reply"] for row in rows for example in row["examples"]]
    said = [re.match(r'\{"(?:thought|reasoning)":"(?:[^"]*: )?[=^+-](!?)/0([^"]*)', reply) for reply in replies]
    thoughts = [(found[1] == "!", found[2]) for found in said if found is not None]
    assert len(thoughts) == len(replies) and {minds for minds, _ in thoughts} == {True, False}
    for minds_filler, cells in thoughts:
        for place, light, mark in scene.findall(cells):
            assert bool(mark) == (minds_filler and (place, light) not in BANK_CAST.settings)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_cells_that_were_opened_are_marked_in_the_thought_as_in_the_prompt(seed: int) -> None:
    rows = [synthetic.searching(random.Random(f"{seed} {number}")) for number in range(6)]
    opened = [
        example for row in rows for example in row["examples"] if "\nOpened before, marked *: " in example["rest"]
    ]
    assert opened
    for example in opened:
        (line,) = (line for line in example["rest"].split("\n") if line.startswith("Opened before"))
        thought = re.match(r'\{"(?:thought|reasoning)":"(?:[^"]*: )?([^"]*)', example["reply"])
        assert thought is not None
        assert re.findall(r"(?<![=+\d])(\d+)\*", thought[1]) == re.findall(r"(\d+)\*[,.]", line)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**9))
def test_a_strange_cell_that_was_opened_still_leads_to_the_one_before(seed: int) -> None:
    """The place of a search where nano most often found nothing left to open: drills come to it."""
    rows = [synthetic.straying(random.Random(f"{seed} {number}")) for number in range(80)]
    replies = [example["reply"] for row in rows for example in row["examples"]]
    found = [re.findall(r"(\d+)\*[a-z]+[,~][a-z]+[,~]!(?:[a-z]+[,~])*=(\d+)/", reply) for reply in replies]
    assert any(int(before) == int(opened) - 1 for pairs in found for opened, before in pairs)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**9))
def test_what_is_named_is_heard_where_it_is_said(seed: int) -> None:
    for draw in (synthetic.hearing, synthetic.overhearing):
        row = draw(random.Random(seed), 6)
        said = re.findall(r'^(\d+): "(.*)" \[', row["prefix"], re.MULTILINE)
        for example in row["examples"]:
            found = re.fullmatch(r'\{"thought":"“([A-Za-z ,:]+[a-z]+ [a-z]+)(-|(?:\d+“)+): ', example["reply"])
            assert found is not None, example["reply"]
            heard = [int(cell) for cell in re.findall(r"\d+", found[2])]
            assert heard == sorted({int(cell) for cell, line in said if line.startswith(found[1])})
        if draw is synthetic.overhearing:
            assert {int(cell) for cell, _ in said} == set(range(16)), "everywhere something is said"


EVIDENCE = re.compile(r"\[(\w+)\] (.*?) \(([\d.]+)–([\d.]+) s, frame at ([\d.]+) s, sure to 90%\)(?:, said: .*)?")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_drills_judge_what_they_show(seed: int) -> None:
    """From the words of a drill alone, the teacher comes to what the drill says."""
    for example in synthetic.judging(random.Random(seed))["examples"]:
        lines = example["rest"].removesuffix("<end><|assistant|>").split("\n")
        asked = next(line for line in lines if line.startswith("The question: ")).removeprefix("The question: ")
        choices = tuple(line.partition(": ")[2] for line in lines if line.startswith("  "))
        matches = [re.fullmatch(EVIDENCE, line) for line in lines if line.startswith("[")]
        found = [Evidence(float(m[5]), float(m[3]), float(m[4]), m[2], 0.9, label=m[1]) for m in matches if m]
        found.sort(key=lambda item: item.label)  # as it was found; listed in order of time
        quest = goal_of(asked)
        assert quest is not None and 1 <= len(found) == len(matches)
        question = Question(asked, choices) if choices else Question(asked, kind="when")
        meant, said = weigh(quest, question, found), json.loads(example["reply"])
        assert said["reasoning"] == meant.told
        if "answer" in said:
            assert (said["answer"], said["weighed"][0]["supporting"]) == (meant.choice or 0, list(meant.proof))
        elif "conclusion" in said:
            assert (said["conclusion"]["action"] == "final_decision") == meant.suffices


def test_captions_and_counts_are_found_among_the_choices() -> None:
    seen = [
        Evidence(t, t - 1, t + 1, "red star, sea at noon, HARBOR", 0.9, label=label)
        for t, label in ((5, "A"), (9, "B"))
    ]
    text, count = (
        "What text is on screen while the red star is visible?",
        "How many times does a red star appear in the video?",
    )
    for asked, choices, said in (
        (text, ("WALNUT", "HARBOR 11"), "Of WALNUT0, HARBOR1: [A]red~star~ HARBOR1+[B]red~star~ HARBOR1+. [B] HARBOR1"),
        (count, ("1", "2"), "Of one0, two1: [A]red~star~ one+[B]red~star~ two+. [B] two1"),
    ):
        quest = goal_of(asked)
        assert quest is not None
        weighed = weigh(quest, Question(asked, choices), seen)
        assert (weighed.told, weighed.choice) == (said, 1)


def test_lessons_can_be_taught_to_other_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "SIZE", (160, 90))
    told = [export(tmp_path / name, 1, duration_s=120.0) for name in "ab"]
    first, again = ((tmp_path / name / "train.jsonl").read_text() for name in "ab")
    assert first == again and told == [len(first.splitlines())] * 2
    steps = set()
    for row in map(json.loads, first.splitlines()):
        *asked, said = row["messages"]
        steps.add(row["step"])
        assert said["role"] == "assistant" and json.loads(said["content"][0]["text"])
        shown = [part for message in asked for part in message["content"] if part["type"] == "image"]
        assert len(shown) == len(row["images"])
        assert all((tmp_path / "a" / image).read_bytes()[:2] == b"\xff\xd8" for image in row["images"])
    assert steps >= {"task", "probe", "step", "review", "decision"}


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000))
def test_pictures_show_what_they_say(seed: int) -> None:
    script = write_script(seed, 20, size=(160, 90))
    for picture in pictures(seed, (160, 90), 20):
        assert picture.frame.shape == (72, 128, 3) and picture.frame.dtype == np.uint8
        x, y, across = picture.place
        assert bool(picture.sight.object) == (across > 0)
        if across:
            assert 0 <= x <= CELL and 28 <= y <= 100
    assert len(script.scenes) >= 1


def test_material_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD", 1)
    monkeypatch.setattr(shards, "DURATIONS_S", (30,))
    monkeypatch.setattr(shards, "PAINTED", ((160, 90),))
    shards.write_lessons(tmp_path, 0)
    shards.write_tiles(tmp_path, 0)
    (lesson,) = tmp_path.glob("lessons-*.jsonl")
    first, made = lesson.read_bytes(), lesson.stat().st_mtime_ns
    shards.write_lessons(tmp_path, 0)
    assert lesson.stat().st_mtime_ns == made
    lesson.unlink()
    shards.write_lessons(tmp_path, 0)
    assert lesson.read_bytes() == first and not list(tmp_path.glob("*.part*"))
    assert len(np.load(tmp_path / "tiles-0000-x.npy")) == len(np.load(tmp_path / "tiles-0000-y.npy")) > 0


@pytest.mark.parametrize("method", sorted(judging.METHODS))
def test_the_teacher_is_judged_to_agree_with_itself(method: str, in_tmp: Path) -> None:
    world = atlasworld(0, 120.0, questions=10, size=(640, 360), directory=in_tmp / "cache" / "atlasworld")
    if method == "uniform":  # which the teacher is never asked
        rows = judging.judge(Oracle(world), 120.0, 4, method=method)
        assert rows[-1].keys() == {"calls told"} and rows[-1]["calls told"].keys() == {"seconds a call"}
    else:
        rows = judging.judge(Expert(world.script), 120.0, 4, method=method)
        told = {name: mean for name, (_, mean, _) in rows[-1]["calls told"].items()}
        agreed = {name: mean for name, mean in told.items() if name != "seconds a call"}
        assert agreed.pop("false evidence", 0.0) == 0.0 and set(agreed.values()) <= {1.0}
        assert len(agreed) > 4 or method == "composite"
    assert len(rows) == 5 and all(row["calls"] >= 1 for row in rows[:-1])
    assert "choice" in judging.table(rows)


@pytest.mark.parametrize(
    ("model", "material", "told"),
    [
        ("http://127.0.0.1:8000/v1", ".", "there are no weights in 'http://127.0.0.1:8000/v1'"),
        ("nano", "missing", "there is no folder 'missing'"),
    ],
)
def test_improving_names_what_it_lacks(
    model: str, material: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["improve", model, material, "out"])
    with pytest.raises(SystemExit, match="2"):
        improving.main()
    assert told in capsys.readouterr().err
