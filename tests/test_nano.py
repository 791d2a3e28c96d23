"""nano's teacher and teaching material: what is taught follows from what is shown."""

from __future__ import annotations

import importlib.util
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.benchmarks.atlasworld.questions import WRITERS
from atlaskit.benchmarks.atlasworld.screenplay import write_script
from atlaskit.cache import Cache
from atlaskit.memory import Evidence
from atlaskit.model import MAX_ATTEMPTS, Message, Reply, Request
from atlaskit.nano import expert, material
from atlaskit.nano import export as exporting
from atlaskit.nano import judge as judging
from atlaskit.nano.expert import Expert
from atlaskit.nano.export import export
from atlaskit.nano.lessons import IMAGE, lessons, written
from atlaskit.nano.make import LEARN
from atlaskit.nano.quest import Quest, quest_of, sight_told, told
from atlaskit.nano.sights import CELL, PARTS, VALUES, Sight, codes, pictures, sight_at
from atlaskit.prompts import ProbeCall, StepCall
from atlaskit.question import Question
from atlaskit.search import ask

SETTINGS = {**expert.SETTINGS, "traversal": "dfs"}


@pytest.fixture(scope="module")
def asked() -> World:
    """A world with questions of every kind."""
    return atlasworld(5, 600, questions=33, categories=tuple(WRITERS), size=(160, 90))


def test_every_kind_of_question_is_understood(asked: World) -> None:
    kinds = {}
    for question in asked.questions:
        quest = quest_of(question.text)
        assert quest is not None, question.text
        kinds[question.category] = quest.asks
        if question.category not in ("O3O", "T2O", "SUM"):
            for event in asked.targets(question):
                middle = (event.start_s + event.end_s) / 2
                assert quest.wants(sight_at(asked.script, middle)), question.text
    assert len(kinds) == len(WRITERS) and quest_of("Who scored?") is None


@given(st.tuples(*(st.sampled_from(values) for values in VALUES.values())))
def test_a_description_is_read_as_it_was_meant(parts: tuple[str, ...]) -> None:
    sight = Sight(*parts)
    if bool(sight.place) == bool(sight.light) == True and bool(sight.colour) == bool(sight.shape) == True:  # noqa: E712
        assert sight_told(told(sight)) == sight
    assert [VALUES[part][index] for part, index in zip(PARTS, codes(sight), strict=True)] == list(parts)


class Blinkered(Expert):
    """A teacher who asks another one, that has seen another film, which looks the same in the cells that are shown."""

    def complete(self, request: Request, *, max_attempts: int = MAX_ATTEMPTS) -> Reply:
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
    source = Path(material.__file__).with_name("learn") / "words.py"
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


@pytest.fixture(scope="module")
def drills() -> ModuleType:
    """The room of the drills, which runs where the kit is not installed."""
    spec = importlib.util.spec_from_file_location("drills", LEARN / "drills.py")
    assert spec is not None and spec.loader is not None
    room = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(room)
    return room


@settings(max_examples=60)
@given(st.integers(0, 10**9))
def test_drills_are_in_the_words_of_lessons(drills: ModuleType, seed: int) -> None:
    values, rng = [list(part) for part in VALUES.values()], random.Random(seed)
    cells = drills.sheet(values, rng)
    sights = [Sight(*(part[value] for part, value in zip(values, cell, strict=True))) for cell in cells]
    seen = [sight if sight.place else None for sight in sights]
    asked, reply = drills.find(cells, values, rng)
    task = asked.removeprefix("What to look for: Find ").removesuffix(".")
    if not task.startswith("any"):
        thought = reply.removeprefix('{"thought":"').split('"')[0]
        names = tuple(task.split(", "))
        wanted = Quest("first", names)
        hits = [bool(sight and sight.object in names) for sight in sights]
        goes_on = [i > 0 and hits[i - 1] and sights[i].object == sights[i - 1].object for i in range(len(sights))]
        signs = "".join("-+="[hit + (hit and on)] for hit, on in zip(hits, goes_on, strict=True))
        forms = [expert.gone_over(signs, seen, wanted, with_scenes=scenes) for scenes in (False, True)]
        assert thought in forms
    for sight, cell in zip(sights, cells, strict=True):
        if sight.place:
            assert drills.in_words(cell, values) == told(sight)
    assert drills.MOST_ITEMS == expert.MOST_ITEMS


EVIDENCE = re.compile(r"\[(\w+)\] ([\d.]+) s of ([\d.]+)–([\d.]+) s, sure to 90%: (.*)")


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_drills_judge_as_the_teacher_does(drills: ModuleType, seed: int) -> None:
    """What a drill says of evidence is to the letter what the teacher says of the same."""
    values = [list(VALUES[part]) for part in PARTS]
    asked, reply = drills.judge(values, random.Random(seed))
    lines = asked.split("\n")
    (first,) = (place for place, line in enumerate(lines) if line.startswith("The question: "))
    choices = tuple(line.partition(": ")[2] for line in lines[first + 1 : first + 5])
    question = Question(lines[first].removeprefix("The question: "), choices)
    found = [
        Evidence(float(at), float(start), float(end), words, 0.9, label=label)
        for label, at, start, end, words in (re.match(EVIDENCE, line).groups() for line in lines[first + 6 :])  # type: ignore[union-attr]
    ]
    quest = quest_of(question.text)
    assert quest is not None and len(found) == len(lines) - first - 6 >= 1
    meant, said = expert.weigh(quest, question, found), json.loads(reply)
    assert said["reasoning"] == meant.told
    if "answer" in said:
        assert (said["answer"], said["weighed"][0]["supporting"]) == (meant.choice or 0, list(meant.proof))
    else:
        assert (said["conclusion"]["action"] == "final_decision") == meant.suffices
        supported = [each["choice"] for each in said["choices"] if each["supporting"]]
        assert supported == ([] if meant.choice is None else [meant.choice])


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
    monkeypatch.setattr(material, "SHARD", 1)
    monkeypatch.setattr(material, "DURATIONS_S", (30,))
    monkeypatch.setattr(material, "PAINTED", ((160, 90),))
    material.write_lessons(tmp_path, 0)
    material.write_tiles(tmp_path, 0)
    (lesson,) = tmp_path.glob("lessons-*.jsonl")
    first, made = lesson.read_bytes(), lesson.stat().st_mtime_ns
    material.write_lessons(tmp_path, 0)
    assert lesson.stat().st_mtime_ns == made
    lesson.unlink()
    material.write_lessons(tmp_path, 0)
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
