"""A world that stands in for its film: the same run without the film, and no cached images."""

from pathlib import Path

from support.asking import ask

import atlaskit as ak
import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import is_image
from atlaskit.environment.render import Still
from atlaskit.runs.archive import export, import_
from atlasworld import Oracle, World


def test_a_stand_in_has_the_facts_of_the_film(film: World) -> None:
    video, stand_in = film.video, film.stand_in
    for fact in ("name", "fingerprint", "duration_s", "fps", "size", "lead_s"):
        assert getattr(stand_in, fact) == getattr(video, fact), fact
    assert stand_in.subtitles.lines == video.subtitles.lines
    assert stand_in.is_stand_in and not video.is_stand_in and not film.drawn.is_stand_in


def test_a_run_about_a_film_is_replayed_without_the_film(film: World, tmp_path: Path) -> None:
    cache, other = Cache(tmp_path / "cache"), Cache(tmp_path / "other")
    options = {"k": 4, "cell": 32, "workers": 3}
    result = ask(film.video, film.questions[0], vlm=Oracle(film), cache=cache, **options)
    export(tmp_path / "run.jsonl.xz", result, cache=cache)
    import_(tmp_path / "run.jsonl.xz", cache=other)
    elsewhere = aw.world(3, 120, questions=12, size=(320, 180), directory=tmp_path / "films")
    again = ask(elsewhere.stand_in, film.questions[0], vlm=Oracle(film), replay=True, cache=other, **options)
    assert again.to_json() == result.to_json() and not (tmp_path / "films").exists()


def test_no_image_of_a_stand_in_is_cached(film: World, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    view = ak.view(film.stand_in, k=4, cell=32, sampling="midpoint", cache=cache)
    shown = [view.jpeg(), Still(film.stand_in, 1.0, cache).jpeg()]
    assert all(shown) and not any(is_image(entry.key) for entry in cache.entries())
    drawn = film.stand_in.frames_decoded
    assert view.jpeg() == shown[0] and film.stand_in.frames_decoded == drawn, "frames are drawn once"
    stored = ak.view(film.video, k=4, cell=32, sampling="midpoint", cache=cache)
    assert stored.key == view.key and stored.jpeg() != shown[0]
