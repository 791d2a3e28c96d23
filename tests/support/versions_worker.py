"""Say the keys of what is made of some files, and ask about a film: run by test_versions with other versions of PyAV
and Pillow."""

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
from atlaskit.caching.keys import readable_key, tile_key
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.environment.tiles import are_readable
from atlaskit.models.cached import reply_key
from atlaskit.models.protocol import Request
from atlaskit.video.video import Video
from support.model_doubles import Looking

FOUND = Scratchpad().add([Evidence(1.25, 1.0, 1.5, "a red circle", 0.8, "Hello Wörld"), Evidence(3, 2, 4, "", 0.5)])
CELL, K = 64, 4


def facts_of(video: Video) -> list[Any]:
    """Return what is known of a video before any frame is decoded."""
    lines = [[line.start_s, line.end_s, line.text] for line in video.subtitles.lines]
    return [video.fingerprint, video.duration_s, video.fps, list(video.size), lines]


def keys_of(video: Video, world: World) -> dict[str, Any]:
    """Return the keys of what is made of a video; and those under which the cache was asked while it was made."""
    cache = Cache(None).watched()
    root = ak.view(video, k=K, cell=CELL, cache=cache)
    pictures = {
        "root": root,
        "expansion": root.expand(5),
        "dead": View(video, root.grid, CELL, dead=frozenset({1, 9}), cache=cache),
        "keyframe": View(video, root.grid, CELL, labels="time", sampling="keyframe", cache=cache),
        "sheet": Sheet(video, FOUND, CELL, cache=cache),
        "still": Still(video, 1.25, cache),
    }
    atlas = ak.Atlas(video, K, CELL, cache=cache)
    seen = atlas.observe(atlas.act(atlas.state, ak.Zoom(2)))
    step = StepCall(world.questions[0], "Find the red circle.", seen, (), (), 7)
    requests = {
        "glance": GlanceCall(world.questions[0], seen).request(),
        "step": Request("worker", "step", step.opening(["- opened 0:00.0–0:01.0"]), step.request().schema),
    }
    return {
        "tile": tile_key(video.fingerprint, 1.25, (64, 36)),
        "readable": readable_key(video.fingerprint, 1.25),
        **{name: [picture.key, len(picture.jpeg()) > 0] for name, picture in pictures.items()},
        **{name: reply_key(ak.Oracle(world), request) for name, request in requests.items()},
        "moments": pictures["keyframe"].moments,
        "are readable": are_readable(video, [0.0, 1.25], CELL, "contain", cache),
        "asked for": sorted(cache.touched or ()),
    }


def ask(world: World, directory: Path) -> dict[str, Any]:
    """Ask a question about the film; return what it cost just now, and its result."""
    model = Looking(ak.Oracle(world, miss=0.2))
    result = ak.ask(world.video, world.questions[0], vlm=model, k=K, cell=CELL, cache=Cache(directory))
    spent = {"calls": result.spent.calls, "frames": result.spent.frames_decoded}
    return {"cost": result.total.calls, "spent": spent, "result": result.to_json()}


def main(files: Iterable[str], films: str, directory: str) -> None:
    """Print all of it as JSON; the film is made here, by this environment's own encoder."""
    world = atlasworld(seed=3, duration_s=20, questions=1, size=(320, 180), directory=films)
    videos = {Path(file).name: ak.open_video(file, "embedded" if ".mkv" in file else None) for file in files}
    videos["film"] = world.video
    told = {
        "av": av.__version__,
        "ffmpeg": av.ffmpeg_version_info,
        "pillow": PIL.__version__,
        "from": sorted({av.__file__, PIL.__file__, sys.prefix}),
        "facts": {name: facts_of(video) for name, video in videos.items()},
        "keys": {name: keys_of(video, world) for name, video in videos.items()},
        "asked": ask(world, Path(directory)),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[3:], *sys.argv[1:3])
