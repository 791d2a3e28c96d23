"""nano's training data: trajectories, synthetic examples, frames, shards and exports."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nano
from atlaskit.benchmarks.atlasworld import World
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question
from atlaskit.models.protocol import Message
from nano.data import export as export_module
from nano.data import shards, synthetic
from nano.data.examples import IMAGE, render_chat
from nano.data.export import export
from nano.data.trajectories import lessons
from nano.teacher.goal import describe, goal_of
from nano.teacher.judge_evidence import judge_evidence
from nano.teacher.labels import ATTRIBUTES, VALUES, CellContent


def test_examples_have_the_prompt_that_vllm_renders() -> None:
    """The chat template of nano renders messages as `render_chat` does."""
    jinja2 = pytest.importorskip("jinja2")
    source = Path(nano.__file__).with_name("learn") / "tokenizer.py"
    names: dict[str, object] = {}
    code = source.read_text(encoding="utf-8")
    exec(code[code.index("TEMPLATE = (") : code.index("\n)\n") + 3], names)
    template = jinja2.Template(str(names["TEMPLATE"]))

    class FakeImage:
        key, size = "key", (1, 1)

        def jpeg(self) -> bytes:
            return b""

    parts = ("A", FakeImage(), "B\nC")
    messages = (Message("system", ("Role.",)), Message("user", parts), Message("assistant", ("{}",)))
    sent = [
        {
            "role": m.speaker,
            "content": m.parts[0]
            if m.speaker != "user"
            else [{"type": "text", "text": p} if isinstance(p, str) else {"type": "image_url"} for p in m.parts],
        }
        for m in messages
    ]
    assert template.render(messages=sent, add_generation_prompt=True) == render_chat(messages)


def test_trajectories_label_every_cell(world: World) -> None:
    groups = list(lessons(replace(world, questions=world.questions[:4]), slip=0.3, seed=1, subtitles=True))
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
                assert all(0 <= index < size for index, size in zip(tile, sizes, strict=True))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**9))
def test_synthetic_replies_say_what_their_view_shows(seed: int) -> None:
    rng = random.Random(seed)
    for sample in (synthetic.reading, synthetic.searching, synthetic.straying):
        group = sample(rng)
        (image,) = group["images"]
        shown = [
            [VALUES[attribute][index] for attribute, index in zip(ATTRIBUTES, tile, strict=True)]
            for tile in image["tiles"]
        ]
        assert group["prefix"].count(IMAGE) == 1 and len(shown) == image["columns"] ** 2
        for example in group["examples"]:
            thought = re.match(r'\{"(?:thought|reasoning)":"(?:[^"]*: )?([^"]*)', example["reply"])
            for cell, words in re.findall(r"(?<![=+\da-z])(\d+)\*?“?([A-Za-z,~!]+)", thought[1] if thought else ""):
                read = set(re.split("[,~!]", words)) - {""}
                assert read <= {*shown[int(cell)], " ".join(shown[int(cell)][2:4])}
            if sample is not synthetic.reading:
                assert re.search(r'\. \+(\d+|-)=(\d+|-)(",|$)', example["reply"]), "the thought has its end"
            described = re.findall(r'"cell":(\d+),"description":"([^"]*)"', example["reply"])
            assert all(describe(CellContent(*shown[int(cell)])) == words for cell, words in described)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**9))
def test_listening_replies_name_the_cells_of_the_line(seed: int) -> None:
    for sample in (synthetic.hearing, synthetic.overhearing):
        group = sample(random.Random(seed), 6)
        lines = re.findall(r'^(\d+): "(.*)" \[', group["prefix"], re.MULTILINE)
        for example in group["examples"]:
            match = re.fullmatch(r'\{"thought":"“([A-Za-z ,:]+[a-z]+ [a-z]+)(-|(?:\d+“)+): ', example["reply"])
            assert match is not None, example["reply"]
            named = [int(cell) for cell in re.findall(r"\d+", match[2])]
            assert named == sorted({int(cell) for cell, line in lines if line.startswith(match[1])})
        if sample is synthetic.overhearing:
            assert {int(cell) for cell, _ in lines} == set(range(16)), "every cell has lines"


EVIDENCE = re.compile(r"\[(\w+)\] (.*?) \(([\d.]+)–([\d.]+) s, frame at ([\d.]+) s, sure to 90%\)(?:, said: .*)?")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_judging_replies_follow_from_their_prompts(seed: int) -> None:
    """From the prompt of an example alone, the teacher reaches the judgement in the reply."""
    for example in synthetic.judging(random.Random(seed))["examples"]:
        lines = example["rest"].removesuffix("<end><|assistant|>").split("\n")
        text = next(line for line in lines if line.startswith("The question: ")).removeprefix("The question: ")
        choices = tuple(line.partition(": ")[2] for line in lines if line.startswith("  "))
        matches = [re.fullmatch(EVIDENCE, line) for line in lines if line.startswith("[")]
        evidence = [Evidence(float(m[5]), float(m[3]), float(m[4]), m[2], 0.9, label=m[1]) for m in matches if m]
        evidence.sort(key=lambda item: item.label)  # prompts list it by time, labels give the order of finding
        assert 1 <= len(evidence) == len(matches)
        question = Question(text, choices) if choices else Question(text, kind="when")
        expected, reply = judge_evidence(goal_of(question), question, evidence), json.loads(example["reply"])
        assert reply["reasoning"] == expected.reasoning
        if "answer" in reply:
            assert reply["answer"] == (expected.choice or 0)
            assert reply["weighed"][0]["supporting"] == list(expected.supporting)
        elif "conclusion" in reply:
            assert (reply["conclusion"]["action"] == "final_decision") == expected.suffices


@pytest.mark.long
def test_exports_are_reproducible_chats_with_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_module, "VIDEO_SIZE", (160, 90))
    counts = [export(tmp_path / name, 1, duration_s=120.0) for name in "ab"]
    first, again = ((tmp_path / name / "train.jsonl").read_text() for name in "ab")
    assert first == again and counts == [len(first.splitlines())] * 2
    steps = set()
    for chat in map(json.loads, first.splitlines()):
        *prompt, answer = chat["messages"]
        steps.add(chat["step"])
        assert answer["role"] == "assistant" and json.loads(answer["content"][0]["text"])
        images = [part for message in prompt for part in message["content"] if part["type"] == "image"]
        assert len(images) == len(chat["images"])
        assert all((tmp_path / "a" / image).read_bytes()[:2] == b"\xff\xd8" for image in chat["images"])
    assert steps >= {"task", "probe", "step", "review", "decision"}


@pytest.mark.long
def test_interrupted_writing_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "WORLDS_PER_SHARD", 1)
    monkeypatch.setattr(shards, "DURATIONS_S", (30,))
    monkeypatch.setattr(shards, "FRAME_SIZES", ((160, 90),))
    shards.write_trajectories(tmp_path, 0)
    shards.write_frames(tmp_path, 0)
    (shard,) = tmp_path.glob("lessons-*.jsonl")
    first, written_ns = shard.read_bytes(), shard.stat().st_mtime_ns
    shards.write_trajectories(tmp_path, 0)
    assert shard.stat().st_mtime_ns == written_ns
    shard.unlink()
    shards.write_trajectories(tmp_path, 0)
    assert shard.read_bytes() == first and not list(tmp_path.glob("*.part*"))
    assert len(np.load(tmp_path / "tiles-0000-x.npy")) == len(np.load(tmp_path / "tiles-0000-y.npy")) > 0
