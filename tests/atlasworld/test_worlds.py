"""Worlds: seeds of ranges that never meet, an anomaly that no text tells, a stand-in for a film."""

import re
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.asking import ask

import atlaskit as ak
import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import is_image
from atlaskit.environment.render import Still
from atlaskit.errors import InputError
from atlaskit.video.video import Video
from atlasworld import Oracle, World
from atlasworld.anomaly import odd_event
from atlasworld.clip import DrawnVideo
from atlasworld.ranges import DEVELOPMENT, RANGES, SELECTION, TEST
from atlasworld.timeline import COLOURS, SHAPES, WorldEvent
from nano.data import shards
from nano.teacher.labels import TRAINING_SEED

SEEDS = aw.seeds("development")[:120]


def odd_world(seed: int) -> World:
    return aw.world(seed, 600, size=(128, 72), anomaly=True)


def others(world: World) -> list[WorldEvent]:
    return [event for event in world.script.events if event != odd_event(world.script)]


@pytest.mark.parametrize("seed", SEEDS[:10])
def test_one_object_and_no_other_breaks_the_rule(seed: int) -> None:
    world = odd_world(seed)
    odd, rest = odd_event(world.script), others(world)
    colours, shapes = Counter(event.colour for event in rest), Counter(event.shape for event in rest)
    broken = [len(colours) == 1 and odd.colour not in colours, len(shapes) == 1 and odd.shape not in shapes]
    assert broken.count(True) == 1 and len(rest) >= 3
    assert all(question.positions_s == ((odd.start_s, odd.end_s),) for question in world.questions)
    assert world.targets(world.questions[0]) == [odd]


@pytest.mark.parametrize("seed", [3, 8])
def test_the_anomaly_is_visible(seed: int) -> None:
    """Where it follows the rule, its own frames look different, and those of others do not."""
    world = odd_world(seed)
    odd, rest = odd_event(world.script), others(world)
    is_about_colour = len({event.colour for event in rest}) == 1
    ruled = replace(odd, colour=rest[0].colour) if is_about_colour else replace(odd, shape=rest[0].shape)
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
    places: Counter[object] = Counter()
    texts = set()
    for seed in SEEDS:
        world = odd_world(seed)
        where, when = world.questions
        said = " ".join([where.text, when.text, *where.choices, *(line.text for line in world.script.lines)]).lower()
        assert not set(re.findall("[a-z]+", said)) & {*COLOURS, *SHAPES}
        assert len(set(where.choices)) == 4
        places[where.answer] += 1
        texts |= {where.text, when.text}
    assert len(texts) == 2
    # n = 120, p = 1/4: 30 each, standard deviation 4.7
    assert set(places) == {0, 1, 2, 3} and min(places.values()) >= 17 and max(places.values()) <= 43


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("traversal", ["dfs", "bfs"])
def test_an_oracle_finds_the_anomaly(number: int, traversal: str, cache: Cache) -> None:
    world = odd_world(6)
    question = world.questions[number]
    result = ask(world.drawn, question, vlm=Oracle(world), traversal=traversal, cache=cache)
    assert result.is_right and not result.without_evidence
    told = ask(world.drawn, question.text, vlm=Oracle(world), traversal=traversal, cache=cache)
    assert told.answer == question.in_words(question.answer)  # an open question wants words
    blind = ask(world.drawn, question, vlm=Oracle(world, miss=1.0), traversal=traversal, cache=cache)
    assert not blind.evidence


def test_a_stand_in_has_the_facts_of_the_film(film: World) -> None:
    video, stand_in = film.video, film.stand_in
    for fact in ("name", "fingerprint", "duration_s", "fps", "size", "lead_s"):
        assert getattr(stand_in, fact) == getattr(video, fact), fact
    assert stand_in.subtitles.lines == video.subtitles.lines
    assert stand_in.is_stand_in and not video.is_stand_in and not film.drawn.is_stand_in


def test_no_image_of_a_stand_in_is_cached(film: World, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    view = ak.view(film.stand_in, k=4, cell=32, sampling="midpoint", cache=cache)
    shown = [view.jpeg(), Still(film.stand_in, 1.0, cache).jpeg()]
    assert all(shown) and not any(is_image(entry.key) for entry in cache.entries())
    drawn = film.stand_in.frames_decoded
    assert view.jpeg() == shown[0] and film.stand_in.frames_decoded == drawn, "frames are drawn once"
    stored = ak.view(film.video, k=4, cell=32, sampling="midpoint", cache=cache)
    assert stored.key == view.key and stored.jpeg() != shown[0]


def test_no_seed_is_in_two_ranges_and_they_are_found_by_name() -> None:
    for one, other in combinations(RANGES.values(), 2):
        assert one.stop <= other.start or other.stop <= one.start
    assert [aw.seeds(name) for name in RANGES] == [DEVELOPMENT, SELECTION, TEST]
    with pytest.raises(InputError, match="seeds must be development, selection, test; got 'train'"):
        aw.seeds("train")


def test_nano_trains_on_development_seeds_alone() -> None:
    last_shard = shards.WORLDS // shards.WORLDS_PER_SHARD
    for first in (TRAINING_SEED, shards._FIRST_FRAME_SEED):
        assert {first, *shards._seeds(first, last_shard)} <= set(DEVELOPMENT)
