"""`uniform`, `native`, `blind` and `subtitles`: which frames and lines the model gets, and how."""

import base64
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.faults import sending
from support.loopback import Loop
from support.model_doubles import Counting
from support.searches import text_of

from atlaskit.agents.verbalize import quote_line
from atlaskit.caching.cache import Cache
from atlaskit.environment.render import Frame
from atlaskit.environment.tiles import Look
from atlaskit.errors import InputError, ModelWarning
from atlaskit.evaluation import baselines
from atlaskit.methods.native import native
from atlaskit.models.client import VLM
from atlasworld import Oracle, World


def test_uniform_gives_each_frame_the_lines_of_its_stretch(world: World, cache: Cache) -> None:
    oracle = Counting(Oracle(world))
    few: dict[str, Any] = {"vlm": oracle, "frames": 64, "size": 16, "cache": cache}
    for subtitles in (True, False):
        baselines.uniform(world.drawn, world.questions[0], subtitles=subtitles, **few)
    with_lines, without = (request.facts for request in oracle.requests)
    spoken = [line for lines in with_lines.subtitles for line in lines]
    assert spoken == list(world.drawn.subtitles.lines), "each line once"
    words = text_of(oracle.requests[0])
    assert all(line.text in words for line in spoken)
    first = with_lines.views[0].grid
    for line in with_lines.subtitles[0]:
        assert f"\n{first.cell_at(line.start_s).index}: {quote_line(line)}" in words
    assert not any(without.subtitles)


def test_blind_and_subtitles_get_no_images(world: World, cache: Cache) -> None:
    oracle = Counting(Oracle(world))
    baselines.blind(world.drawn, world.questions[0], vlm=oracle, cache=cache)
    baselines.subtitles_only(world.drawn, world.questions[0], vlm=oracle, cache=cache)
    nothing, spoken = oracle.requests
    assert not nothing.images and not spoken.images
    for line in world.drawn.subtitles.lines:
        assert line.text in text_of(spoken) and line.text not in text_of(nothing)


def sent(loop: Loop, world: World, cache: Cache, dialect: str, **settings: Any) -> dict[str, Any]:
    """Return the body of the request that a run sends."""
    native(world.drawn, world.questions[0], vlm=VLM(loop.url, "qwen3-vl", dialect=dialect), cache=cache, **settings)
    return loop.bodies[-1]


@pytest.mark.filterwarnings("ignore::atlaskit.errors.ModelWarning")
def test_vllm_gets_one_video_with_the_time_of_each_frame(loop: Loop, tiny: World, cache: Cache) -> None:
    body = sent(loop, tiny, cache, "vllm", frames=8, size=64)
    (video,) = [part for part in body["messages"][1]["content"] if part["type"] == "video_url"]
    kind, _, data = video["video_url"]["url"].partition(";base64,")
    assert kind == "data:video/jpeg"
    frames = [Image.open(io.BytesIO(base64.b64decode(frame))) for frame in data.split(",")]
    facts = body["media_io_kwargs"]["video"]
    duration_s = tiny.drawn.duration_s
    assert facts["frames_indices"] == [round(1000 * duration_s * (at + 0.5) / 8) for at in range(8)]
    assert (facts["fps"], facts["duration"], facts["do_sample_frames"]) == (1000, duration_s, False)
    assert body["mm_processor_kwargs"]["size"]["longest_edge"] == sum(math.prod(frame.size) for frame in frames)
    assert len(frames) == 8 and {frame.size for frame in frames} == {(64, 32)}
    for frame, index in zip(frames, facts["frames_indices"], strict=True):
        exact = Frame(tiny.drawn, index / 1000, Look(64, "native"), cache).image
        difference = np.abs(np.asarray(exact, "i2") - np.asarray(frame.convert("RGB"), "i2"))
        assert difference.mean() < 3, "it is the frame of that time"


def test_frames_keep_to_the_rate_the_cap_and_the_budget(tiny: World) -> None:
    def clip(**settings: Any) -> Any:
        oracle = Counting(Oracle(tiny))
        native(tiny.drawn, tiny.questions[0], vlm=oracle, cache=Cache(None), **settings)
        return oracle.requests[0].images[0]

    duration_s = tiny.drawn.duration_s
    assert len(clip(fps=0.5, size=32).times_s) == int(0.5 * duration_s)
    assert len(clip(frames=7, size=32).times_s) == 7
    large, small = clip(frames=16, size=320), clip(frames=16, size=320, tokens=100)
    assert small.tokens <= 100 < large.tokens and large.size[0] == 320
    assert large.key != small.key and large.key == clip(frames=16, size=320).key


def test_a_server_that_makes_frames_smaller_is_told(loop: Loop, tiny: World, cache: Cache) -> None:
    """The stand-in counts 40 tokens of images, whatever it gets."""
    with pytest.warns(ModelWarning, match="counted 40 tokens for frames of 480: it made"):
        sent(loop, tiny, cache, "vllm", frames=16, size=320)


def test_vllm_may_read_the_file_itself(loop: Loop, film: World, film_file: Path, cache: Cache) -> None:
    def asked(video: Any, dialect: str) -> dict[str, Any]:
        vlm = VLM(loop.url, "qwen3-vl", dialect=dialect)
        native(video, film.questions[0], vlm=vlm, cache=Cache(None), frames=12, size=64, file=True)
        return loop.bodies[-1]

    body = asked(film.video, "vllm")
    (video,) = [part for part in body["messages"][1]["content"] if part["type"] == "video_url"]
    assert video["video_url"]["url"] == film_file.resolve().as_uri()
    assert body["media_io_kwargs"]["video"] == {"num_frames": 12, "fps": -1}
    content = asked(film.video, "hosted")["messages"][1]["content"]
    assert [part["type"] for part in content[:24]] == ["text", "image_url"] * 12, "others get the frames"
    assert content[0]["text"] == f"{film.video.duration_s / 24:.1f} s:", "each after its time"
    with pytest.raises(InputError, match="needs a video that is one file"):
        asked(film.drawn, "vllm")
    words = "Cannot load local files without `--allowed-local-media-path`."
    loop.answer = lambda body: sending({"error": {"message": words, "code": 400}}, 400)
    with pytest.raises(InputError, match=r"cannot read file:///.*: start it with --allowed-local-media-path FOLDER"):
        asked(film.video, "vllm")
