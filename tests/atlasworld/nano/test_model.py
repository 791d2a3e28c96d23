"""What nano was not taught: videos that are no world's, and answers of several intervals."""

from pathlib import Path

from support.stand_ins import Flat

import atlaskit as ak
import atlasworld as aw
from atlaskit.models.names import preset_for
from atlaskit.video.opening import open_video
from atlasworld import World
from atlasworld.nano.model import PRESET, caution, is_world

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
