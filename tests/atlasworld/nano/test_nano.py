"""The words that nano was taught stay, and it says what it was not taught."""

import hashlib
import json
from pathlib import Path
from typing import Any, Unpack

import pytest
from support.asking import ask
from support.model_doubles import Babbler, Counting
from support.stand_ins import Flat

import atlaskit as ak
import atlasworld as aw
from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.models.names import preset_for
from atlaskit.models.protocol import CallControl, Model, Reply, Request, json_schema
from atlaskit.video.opening import open_video
from atlasworld import Oracle, World
from atlasworld.nano.model import PRESET, caution, is_world

REQUESTS = {
    "decision": "e934101b6c0997a9",
    "probe": "acef6fd9448ce7fb",
    "review": "cabe9c9d7690c1a3",
    "step": "f2ee39b5bad56e8c",
    "task": "099a14ea73660a31",
}
"""First digits of the SHA-256 of what nano is asked in the runs below, by step: roles, messages,
images and schemas. They are those of the prompts that it was trained on."""


def named_nano(model: Model) -> Counting:
    nano = Counting(model)
    nano.name = "nano"
    nano.preset = PRESET
    return nano


class Curious(Babbler):
    """A model that zooms at every other step, and acts at random at the others."""

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        if request.step == "step" and len(request.messages) % 4 == 0:
            cell = request.facts.observation.legal["zoom"][0]  # type: ignore[attr-defined]
            text = json.dumps({"thought": "A thought.", "action": {"action": "zoom", "cell": cell}})
            return Reply(request.schema.model_validate_json(text), text, super().complete(request).usage)
        return super().complete(request, **control)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def content(request: Request) -> str:
    """Return all that a model gets of a request as text, images as the hash of their bytes."""
    messages = []
    for turn in request.messages:
        parts = [part if isinstance(part, str) else digest(part.jpeg()) for part in turn.parts]
        messages.append([turn.speaker, *parts])
    return json.dumps([request.role, request.step, messages, json_schema(request.schema)], sort_keys=True)


@pytest.fixture(scope="module")
def requests(taught: World) -> list[Request]:
    """What nano is asked: dfs and bfs, at random, at depth 0, without subtitles, with zooms."""
    runs: list[tuple[Question, Model, dict[str, Any]]] = [
        (question, Oracle(taught, miss=0.2, seed=number), {"traversal": ("dfs", "bfs", "auto")[number % 3]})
        for number, question in enumerate(taught.questions[::6])
    ]
    runs += [
        (taught.questions[0], Babbler(3), {}),
        (taught.questions[1], Babbler(4), {"max_depth": 0, "subtitles": False}),
        (Question("How many?", kind="count"), Babbler(5), {"sampling": "keyframe"}),
        (Question("What is it?", kind="open"), Babbler(6), {}),
        (taught.questions[2], Curious(7), {"traversal": "dfs"}),
    ]
    cache, requests = Cache(None), list[Request]()
    for question, model, options in runs:
        nano = named_nano(model)
        options = {"budget": Budget(calls=30), "threads": 1, "look_ahead": False, **options}
        ask(taught.drawn, question, vlm=nano, cache=cache, **options)
        requests += nano.requests
    return requests


def test_nano_is_asked_what_it_was_taught(requests: list[Request]) -> None:
    by_step = {step: [content(each) for each in requests if each.step == step] for step in REQUESTS}
    assert sum(map(len, by_step.values())) == len(requests) > 150
    assert {step: digest("\n".join(each).encode())[:16] for step, each in by_step.items()} == REQUESTS


ONE = ak.Question("When?", kind="when")
MANY = ak.Question("When?", kind="when", several=True)


def test_every_form_of_a_world_is_one(film: World, film_file: Path, taught: World, tmp_path: Path) -> None:
    long = aw.world(1, 1500, clip_s=150, directory=tmp_path)
    for video in (film.video, film.drawn, film.stand_in, taught.drawn, long.drawn):
        assert is_world(video), video
    joined = open_video([film.drawn, Flat()])
    assert not is_world(Flat()) and not is_world(joined)
    assert not is_world(open_video(film_file)), "a file is known by what made it, not by what it is called"


def test_it_says_what_it_was_not_taught(film: World) -> None:
    assert caution(film.drawn, ONE) == ""
    assert caution(Flat(), ONE).startswith("knows only AtlasWorlds")
    assert caution(film.drawn, MANY).startswith("was taught to answer with one interval")
    both = caution(Flat(), MANY)
    assert caution(Flat(), ONE) in both and caution(film.drawn, MANY) in both


def test_its_preset_lies_on_every_model_of_its_name() -> None:
    vlm = ak.VLM("http://127.0.0.1:9/v1", "nano@0123456789abcdef")
    assert preset_for(vlm) is vlm.preset is preset_for("nano") is PRESET
    assert preset_for(ak.serve("nano")) is PRESET
    assert preset_for(ak.scaling.delayed(vlm, 0.1)) is PRESET
