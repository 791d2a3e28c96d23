"""Worlds with an anomaly: it is unique and visible, no text tells it, no other world changes."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.asking import ask

import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.video.video import Video
from atlasworld import Oracle, World
from atlasworld.anomaly import odd_event
from atlasworld.clip import DrawnVideo
from atlasworld.timeline import COLOURS, SHAPES, WorldEvent

SMALL = (128, 72)
SEEDS = aw.seeds("development")[:120]


def odd_world(seed: int, duration_s: float = 600, **options: Any) -> World:
    return aw.world(seed, duration_s, size=SMALL, anomaly=True, **options)


def others(world: World) -> list[WorldEvent]:
    return [event for event in world.script.events if event != odd_event(world.script)]


def is_about_colour(world: World) -> bool:
    return len({event.colour for event in others(world)}) == 1


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_one_object_and_no_other_breaks_the_rule(seed: int) -> None:
    world = odd_world(seed)
    odd, rest = odd_event(world.script), others(world)
    colours, shapes = Counter(event.colour for event in rest), Counter(event.shape for event in rest)
    follows = [len(colours) == 1 and odd.colour not in colours, len(shapes) == 1 and odd.shape not in shapes]
    assert follows.count(True) == 1 and len(rest) >= 3
    assert all(question.positions_s == ((odd.start_s, odd.end_s),) for question in world.questions)
    assert world.targets(world.questions[0]) == [odd]


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


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("traversal", ["dfs", "bfs"])
def test_an_oracle_finds_the_anomaly(number: int, traversal: str, cache: Cache) -> None:
    world = odd_world(6)
    question = world.questions[number]
    result = ask(world.drawn, question, vlm=Oracle(world), traversal=traversal, cache=cache)
    assert result.is_right and not result.without_evidence
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=1.0), traversal=traversal, cache=cache)
    assert not blind.evidence


def test_a_world_without_an_anomaly_has_none() -> None:
    with pytest.raises(InputError, match="anomaly=True"):
        odd_event(aw.world(1, 600).script)
