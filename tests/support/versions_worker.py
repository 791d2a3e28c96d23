"""Print the keys of entries made from some files, and the result of a run, as JSON.

test_versions runs this script with several versions of PyAV and Pillow.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import av
import PIL

import atlaskit as ak
from atlaskit.agents.prompts import GlanceCall, StepCall
from atlaskit.benchmarks.atlasworld import World, atlasworld
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import microseconds
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.environment.tiles import READABLE, TILE, are_readable
from atlaskit.models.cached import reply_key
from atlaskit.video.video import Video
from support.asking import ask
from support.model_doubles import Looking

EVIDENCE = Scratchpad().add([Evidence(1.25, 1.0, 1.5, "a red circle", 0.8, "Hello Wörld"), Evidence(3, 2, 4, "", 0.5)])
CELL, K = 64, 4


def facts_of(video: Video) -> list[Any]:
    """Return the facts about a video that need no decoded frame."""
    lines = [[line.start_s, line.end_s, line.text] for line in video.subtitles.lines]
    return [video.fingerprint, video.duration_s, video.fps, list(video.size), lines]


def keys_of(video: Video, world: World) -> dict[str, Any]:
    """Return the keys of images, replies and facts of a video, and all keys looked up meanwhile."""
    cache = Cache(None).watched()
    root = ak.view(video, k=K, cell=CELL, cache=cache)
    images = {
        "root": root,
        "expansion": root.expand(5),
        "dead": View(video, root.grid, CELL, dead=frozenset({1, 9}), cache=cache),
        "keyframe": View(video, root.grid, CELL, labels="time", sampling="keyframe", cache=cache),
        "sheet": Sheet(video, EVIDENCE, CELL, cache=cache),
        "still": Still(video, 1.25, cache),
    }
    atlas = ak.Atlas(video, K, CELL, cache=cache)
    observation = atlas.observe(atlas.act(atlas.state, ak.Zoom(2)))
    step = StepCall(world.questions[0], "Find the red circle.", observation, (), 7)
    requests = {
        "glance": GlanceCall(world.questions[0], observation).request(),
        "step": step.request(),
    }
    return {
        "tile": TILE.key(video=video.fingerprint, time_us=microseconds(1.25), size=[64, 36]),
        "readable": READABLE.key(video=video.fingerprint, time_us=microseconds(1.25)),
        **{name: [image.key, len(image.jpeg()) > 0] for name, image in images.items()},
        **{name: reply_key(ak.Oracle(world), request) for name, request in requests.items()},
        "moments": images["keyframe"].moments,
        "are readable": are_readable(video, [0.0, 1.25], (CELL, CELL), "contain", cache),
        "asked for": sorted(cache.touched or ()),
    }


def asked(world: World, cache_directory: Path) -> dict[str, Any]:
    """Run a question on the world; return its result, its cost, and what this run itself spent."""
    model = Looking(ak.Oracle(world, miss=0.2))
    result = ask(world.video, world.questions[0], vlm=model, k=K, cell=CELL, cache=Cache(cache_directory))
    spent = {"calls": result.spent.calls, "frames": result.spent.frames_decoded}
    return {"cost": result.total.calls, "spent": spent, "result": result.to_json()}


def main(files: Iterable[str], world_directory: str, cache_directory: str) -> None:
    """Print everything as JSON; this environment's own encoder encodes the world."""
    world = atlasworld(seed=3, duration_s=20, questions=1, size=(320, 180), directory=world_directory)
    videos = {Path(file).name: ak.open_video(file, "embedded" if ".mkv" in file else None) for file in files}
    videos["film"] = world.video
    report = {
        "av": av.__version__,
        "ffmpeg": av.ffmpeg_version_info,
        "pillow": PIL.__version__,
        "from": sorted({av.__file__, PIL.__file__, sys.prefix}),
        "facts": {name: facts_of(video) for name, video in videos.items()},
        "keys": {name: keys_of(video, world) for name, video in videos.items()},
        "asked": asked(world, Path(cache_directory)),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[3:], *sys.argv[1:3])
