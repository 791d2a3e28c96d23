"""nano is told apart from the models that know all videos."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest
from support.model_doubles import Babbler
from support.stand_ins import Flat

import atlaskit as ak
from atlaskit.agents.settings import is_atlasworld
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.errors import ModelWarning
from atlaskit.video.opening import open_video
from atlaskit.video.records import remember_video


def test_every_form_of_a_world_is_an_atlasworld(film: World, world: World, tmp_path: Path) -> None:
    path: Path = film.video.path  # type: ignore[attr-defined]
    cache, opened = Cache(tmp_path / "cache"), open_video(path)
    remember_video(opened, cache)
    for video in (film.video, film.drawn, world.drawn, opened, open_video([path, path])):
        assert is_atlasworld(video), video
    assert is_atlasworld(open_video(fingerprint=opened.fingerprint, cache=cache)), "known from the cache alone"
    long = atlasworld(1, 1500, clip_s=150, directory=tmp_path)
    assert is_atlasworld(long.drawn)


def test_other_videos_are_none(film: World, tmp_path: Path) -> None:
    assert not is_atlasworld(Flat())
    path: Path = film.video.path  # type: ignore[attr-defined]
    assert not is_atlasworld(open_video([path, shutil.copy(path, tmp_path / "holiday.mp4")])), "one part is another"


def named(name: str) -> Babbler:
    model = Babbler(1)
    model.name = name
    return model


@pytest.mark.parametrize("method", ["video-rlm", "uniform", "composite", "blind"])
def test_nano_on_another_video_warns_once(method: str, world: World, shared_cache: Cache) -> None:
    answer = ak.baselines.METHODS[method]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", ModelWarning)
        for name in ("m@1", "nano@1", "nano@1"):
            answer(Flat(), "What?", vlm=named(name), cache=shared_cache)
        answer(world.drawn, "What?", vlm=named("nano@1"), cache=shared_cache)
    (warning,) = (each for each in caught if each.category is ModelWarning)
    assert str(warning.message).startswith("nano@1 knows only AtlasWorlds")
    assert warning.filename == __file__, "it names the line that asks"
