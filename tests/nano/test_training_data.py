"""nano's training data: trajectories, examples that must not change, shards, exports, notebooks."""

import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.paths import ROOT

import atlasworld as aw
import nano
from atlaskit.experiments.notebook import run_notebook
from atlaskit.models.protocol import Message
from atlasworld import Oracle, World
from nano import evaluate
from nano.data import export as export_module
from nano.data import synthetic
from nano.data.examples import IMAGE, render_chat
from nano.data.export import export
from nano.data.trajectories import lessons
from nano.teacher.labels import TRAINING_SEED, VALUES
from nano.teacher.teacher import Expert


def test_examples_have_the_prompt_that_vllm_renders() -> None:
    """The chat template of nano renders messages as `render_chat` does."""
    jinja2 = pytest.importorskip("jinja2")
    names: dict[str, object] = {}
    code = Path(nano.__file__).with_name("learn").joinpath("tokenizer.py").read_text(encoding="utf-8")
    exec(code[code.index("TEMPLATE = (") : code.index("\n)\n") + 3], names)
    template = jinja2.Template(str(names["TEMPLATE"]))

    parts: tuple[Any, ...] = ("A", SimpleNamespace(key="key", size=(1, 1)), "B\nC")
    messages = (Message("system", ("Role.",)), Message("user", parts), Message("assistant", ("{}",)))
    content = [{"type": "text", "text": "A"}, {"type": "image_url"}, {"type": "text", "text": "B\nC"}]
    sent = [
        {"role": "system", "content": "Role."},
        {"role": "user", "content": content},
        {"role": "assistant", "content": "{}"},
    ]
    assert template.render(messages=sent, add_generation_prompt=True) == render_chat(messages)


def test_trajectories_label_every_cell(taught: World) -> None:
    groups = list(lessons(replace(taught, questions=taught.questions[:4]), slip=0.3, seed=1, subtitles=True))
    assert {example["step"] for group in groups for example in group["examples"]} >= {"task", "probe", "step", "review"}
    sizes = [len(values) for values in VALUES.values()]
    for group in groups:
        assert group["prefix"].count(IMAGE) == len(group["images"])
        for example in group["examples"]:
            assert example["rest"].count(IMAGE) == len(example["images"]) and json.loads(example["reply"])
        for image in group["images"]:
            assert len(image["tiles"]) % image["columns"] == 0
            for tile in filter(None, image["tiles"]):
                assert all(0 <= index < size for index, size in zip(tile, sizes, strict=True))


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
    assert "stand above the frame" in first, "the prompts are those of models other than nano"


EXAMPLES = {
    "reading": "546f0504a28bdf781fb0bc48",
    "searching": "a324402abe2d9f2950d1a7c9",
    "judging": "4804c3fc5a2ee0e9e1ab95c8",
    "hearing": "5aac9b92f0b7000d1557c154",
    "straying": "c5ef6f8dbf5b4ff6c1580051",
    "overhearing": "acd35c3847527becf20ee9db",
}
"""By kind of synthetic example: first digits of the SHA-256 of those of the seeds 0 to 3."""
LESSONS = "0e6af1a529aaf9189554992a"
"""The same of the searches of one training world, all in one."""


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:24]


@pytest.mark.parametrize("kind", EXAMPLES)
def test_synthetic_examples_are_those_that_taught_the_weights(kind: str) -> None:
    draw = getattr(synthetic, kind)
    assert digest([draw(random.Random(seed)) for seed in range(4)]) == EXAMPLES[kind]


@pytest.mark.long
def test_trajectories_are_those_of_the_recipe(tmp_path: Path) -> None:
    """They ask what taught the weights; what goes black since then decides which regions follow."""
    world = aw.world(TRAINING_SEED, 600, questions=6, size=(320, 180), directory=tmp_path)
    found = [digest(lesson) for lesson in lessons(world, slip=0.1, seed=1, subtitles=True)]
    assert digest(found) == LESSONS


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory that keeps the films of worlds from test to test."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.long
@pytest.mark.parametrize("method", sorted(evaluate.METHODS))
def test_evaluation_finds_that_the_teacher_agrees_with_itself(
    method: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    world = aw.world(0, 120.0, questions=10, size=(640, 360), directory=home / "cache" / "atlasworld")
    expert = Oracle(world) if method == "uniform" else Expert(world.script)  # it does not answer calls of "uniform"
    evaluation = evaluate.evaluate_nano(expert, 120.0, 4, method=method)
    agreement = {measure: values for measure, values in evaluation.calls.items() if measure != "seconds per call"}
    assert set(agreement.pop("false evidence", [0.0])) == {0.0}
    assert {value for values in agreement.values() for value in values} <= {1.0}
    assert len(agreement) > 4 or method in ("composite", "uniform")
    assert len(evaluation.rows) == 4 and all(row["calls"] >= 1 for row in evaluation.rows)
    assert "choice" in evaluate.report(evaluation)


@pytest.mark.long
@pytest.mark.parametrize("name", ["learned_policy", "training"])
def test_a_notebook_shows_what_is_published(name: str, tmp_path: Path) -> None:
    places = {"figures_dir": str(tmp_path), "cache_dir": str(tmp_path / "cache")}
    run_notebook(ROOT / "nano" / f"{name}.ipynb", tmp_path, places)
    if name == "training":
        assert (tmp_path / "nano_training.png").stat().st_size > 10_000
        return
    for table in ("learned_policy.csv", "learned_policy_curve.csv"):
        assert (tmp_path / table).read_text() == (ROOT / "nano" / "shipped" / table).read_text()
