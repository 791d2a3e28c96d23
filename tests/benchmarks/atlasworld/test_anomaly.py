"""Worlds with an anomaly: it is unique and visible, no text tells it, no other world changes."""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.asking import ask, evaluate

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import Oracle, World, atlasworld
from atlaskit.benchmarks.atlasworld.anomaly import ODD, WHEN_ODD, odd_event
from atlaskit.benchmarks.atlasworld.clip import DrawnVideo
from atlaskit.benchmarks.atlasworld.long_timeline import OWN_CLIPS
from atlaskit.benchmarks.atlasworld.timeline import COLOURS, SHAPES, Script, WorldEvent
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation.baselines import METHODS
from atlaskit.video.video import Video

SMALL = (128, 72)
SEEDS = ak.benchmarks.seeds("development")[:120]
FROZEN = "bf7d719560381f33"
"""Hash of scripts and questions of some worlds without an anomaly."""


def odd_world(seed: int, duration_s: float = 600, **options: Any) -> World:
    return atlasworld(seed, duration_s, size=SMALL, anomaly=True, **options)


def others(world: World) -> list[WorldEvent]:
    return [event for event in world.script.events if event != odd_event(world.script)]


def is_about_colour(world: World) -> bool:
    return len({event.colour for event in others(world)}) == 1


@pytest.mark.parametrize("seed", SEEDS[:40])
def test_one_object_and_no_other_breaks_the_rule(seed: int) -> None:
    world = odd_world(seed)
    odd, rest = odd_event(world.script), others(world)
    colours, shapes = Counter(event.colour for event in rest), Counter(event.shape for event in rest)
    follows = [len(colours) == 1 and odd.colour not in colours, len(shapes) == 1 and odd.shape not in shapes]
    assert follows.count(True) == 1 and len(rest) >= 3
    assert all(question.positions_s == ((odd.start_s, odd.end_s),) for question in world.questions)
    assert world.targets(world.questions[0]) == [odd]


def test_the_rest_of_the_world_is_that_of_its_seed() -> None:
    plain, odd = atlasworld(4, 600, size=SMALL), odd_world(4)
    assert odd.script.scenes == plain.script.scenes
    for before, after in zip(plain.script.events, odd.script.events, strict=True):
        assert (before.start_s, before.end_s, before.motion) == (after.start_s, after.end_s, after.motion)
        assert before.caption == after.caption
    assert odd.script.lines == tuple(line for line in plain.script.lines if line.event is None)
    assert odd.name != plain.name and odd.drawn.fingerprint != plain.drawn.fingerprint
    assert odd.directory != plain.directory


@pytest.mark.parametrize("seed", [3, 8])
def test_the_anomaly_is_visible(seed: int) -> None:
    """On the frames of its interval, and on no other, it looks other than the rule has it."""
    world = odd_world(seed)
    odd, rest = odd_event(world.script), others(world)
    ruled = replace(odd, colour=rest[0].colour) if is_about_colour(world) else replace(odd, shape=rest[0].shape)
    events = tuple(ruled if event == odd else event for event in world.script.events)
    without = DrawnVideo(replace(world.script, events=events))
    for time_s in np.linspace(odd.start_s, odd.end_s - 1 / world.script.fps, 5):
        changed = np.abs(pixels(world.drawn, time_s) - pixels(without, time_s)).max(axis=-1) > 40
        assert changed.mean() > 0.004, time_s
    for event in rest[:5]:
        middle_s = (event.start_s + event.end_s) / 2
        assert (pixels(world.drawn, middle_s) == pixels(without, middle_s)).all()


def pixels(video: Video, time_s: float) -> NDArray[np.int64]:
    return np.asarray(video.frame(time_s), np.int64)


def test_no_text_tells_the_anomaly() -> None:
    """No question, choice or line names an object; every place of the right choice is as likely."""
    places: Counter[int] = Counter()
    texts = set()
    for seed in SEEDS:
        world = odd_world(seed)
        where, when = world.questions
        said = " ".join([where.text, when.text, *where.choices, *(line.text for line in world.script.lines)]).lower()
        assert not [word for word in said.replace(".", " ").split() if word in (*COLOURS, *SHAPES)]
        assert len(set(where.choices)) == 4 and where.answer is not None
        places[int(where.answer)] += 1  # type: ignore[arg-type]
        texts |= {where.text, when.text}
    assert len(texts) == 2
    # n = 120, p = 1/4: 30 each, standard deviation 4.7
    assert sorted(places) == [0, 1, 2, 3] and min(places.values()) >= 17 and max(places.values()) <= 43


def test_exactly_the_right_choice_names_the_scene_of_the_anomaly() -> None:
    for seed in SEEDS[:30]:
        world = odd_world(seed)
        scene = world.script.scenes[odd_event(world.script).scene]
        right = world.questions[0].in_words(world.questions[0].answer)  # type: ignore[arg-type]
        assert right == f"the {scene.place} scene at {scene.light}"
        assert [each.name for each in world.script.scenes].count(scene.name) == 1


def test_colours_and_shapes_both_occur() -> None:
    rules = Counter(is_about_colour(odd_world(seed)) for seed in SEEDS[:40])
    assert min(rules[True], rules[False]) >= 8


def test_a_seed_gives_the_same_anomaly() -> None:
    assert odd_world(12).script == odd_world(12).script and odd_world(12).questions == odd_world(12).questions
    assert pickle.loads(pickle.dumps(odd_world(12))).questions == odd_world(12).questions
    assert [question.category for question in odd_world(12).questions] == [ODD, WHEN_ODD]
    assert odd_world(12, questions=1).questions == odd_world(12).questions[:1]
    assert Script.from_json(odd_world(12).script.to_json()) == odd_world(12).script


def test_in_ten_hours_the_bank_follows_the_rule() -> None:
    world = odd_world(5, 36_000)
    odd = odd_event(world.script)
    assert sum(event == odd for event in world.script.events) == 1 and len(others(world)) > 500
    assert odd.id not in {event.id for clip in world.clips[OWN_CLIPS:] for event in clip.script.events}
    plain = {clip.directory for clip in atlasworld(5, 36_000, size=SMALL).clips}
    assert not plain & {clip.directory for clip in world.clips}
    own_scenes = {scene.name for clip in world.clips[:OWN_CLIPS] for scene in clip.script.scenes}
    assert all(choice.removeprefix("the ").replace(" scene", "") in own_scenes for choice in world.questions[0].choices)


def test_worlds_without_an_anomaly_are_as_before() -> None:
    worlds = [atlasworld(seed, duration_s, size=SMALL) for seed, duration_s in ((0, 60), (7, 600), (1_000_003, 3_600))]
    content = [(world.name, [question.to_json() for question in world.questions]) for world in worlds]
    assert hashlib.sha256(repr(content).encode()).hexdigest()[:16] == FROZEN


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("traversal", ["dfs", "bfs"])
def test_an_oracle_finds_the_anomaly(number: int, traversal: str, cache: Cache) -> None:
    world = odd_world(6)
    question = world.questions[number]
    result = ask(world.drawn, question, vlm=Oracle(world), traversal=traversal, cache=cache)
    assert result.is_right and not result.without_evidence
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=1.0), traversal=traversal, cache=cache)
    assert not blind.evidence


@pytest.mark.family
@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_asked(method: str, cache: Cache) -> None:
    world = odd_world(6, 120)
    rows = evaluate(world.cases(drawn=True), method, vlm=Oracle(world), cache=cache, progress=False)
    assert rows["prediction"].notna().all() and rows["score"].between(0, 1).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": ["S2O"]}, "leave `categories` out"),
        ({"questions": 0}, "questions must be at least 1"),
        ({"duration_s": 10}, "An anomaly needs at least 4 objects"),
    ],
)
def test_wrong_arguments_raise_input_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        odd_world(1, **options)


def test_a_world_without_an_anomaly_has_none() -> None:
    with pytest.raises(InputError, match="anomaly=True"):
        odd_event(atlasworld(1, 600).script)
