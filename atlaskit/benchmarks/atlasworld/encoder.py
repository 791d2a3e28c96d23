"""A script made into files: an H.264 video, its subtitles, and the manifest that holds the truth.

Knows how to encode and how not to leave half a film behind; what is in the picture is the painter's business.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import numpy as np
from av.video.reformatter import VideoReformatter
from tqdm import tqdm

from atlaskit.benchmarks.atlasworld.renderer import SceneRenderer
from atlaskit.benchmarks.atlasworld.timeline import Script

KEYFRAME_S = 4
"""Seconds between keyframes, at most."""
ENCODER = {"preset": "veryfast", "crf": "23", "threads": "2"}
"""Options of libx264. The number of threads is fixed, since it changes the bytes."""
FILM_VERSION = 1
"""Raised when a script is filmed otherwise: the same script then makes another video."""
PAINTED_AHEAD = 12
"""Frames painted before the encoder asks for them."""


@dataclass(frozen=True)
class FilmPaths:
    """Where the three files of one film lie."""

    video: Path
    subtitles: Path
    manifest: Path


def film(
    script: Script,
    directory: str | PathLike[str],
    *,
    progress: bool = False,
    on_frame: Callable[[int], None] | None = None,
) -> FilmPaths:
    """Film a script into `directory`, or find the film there from before; `on_frame` is told each frame encoded.

    The files appear under their names only when all three are whole, the manifest last: where there is a
    manifest, there is its film.
    """
    home = Path(directory)
    paths = _paths(script, home)
    manifest = json.dumps(script.to_json(), indent=1) + "\n"
    if _is_filmed(paths, manifest):
        return paths
    home.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=home, prefix=".filming-") as room:
        draft = _paths(script, Path(room))
        _encode(script, draft.video, progress, on_frame)
        draft.subtitles.write_text(srt(script), encoding="utf-8")
        draft.manifest.write_text(manifest, encoding="utf-8")
        paths.manifest.unlink(missing_ok=True)  # an older one would vouch for files that are being replaced
        draft.video.replace(paths.video)
        draft.subtitles.replace(paths.subtitles)
        draft.manifest.replace(paths.manifest)
    return paths


def srt(script: Script) -> str:
    """Return the spoken lines as SubRip text."""
    return "\n".join(
        f"{number}\n{_clock(line.start_s)} --> {_clock(line.end_s)}\n{line.text}\n"
        for number, line in enumerate(script.lines, start=1)
    )


def _clock(t: float) -> str:
    minutes, milliseconds = divmod(round(t * 1000), 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{milliseconds // 1000:02},{milliseconds % 1000:03}"


def _paths(script: Script, directory: Path) -> FilmPaths:
    width, height = script.size
    stem = f"atlasworld-{script.seed}-{script.duration_s:g}s-{width}x{height}-{script.fps}fps"
    return FilmPaths(*(directory / f"{stem}{suffix}" for suffix in (".mp4", ".srt", ".json")))


def _is_filmed(paths: FilmPaths, manifest: str) -> bool:
    if not (paths.video.is_file() and paths.subtitles.is_file() and paths.manifest.is_file()):
        return False
    return paths.manifest.read_text(encoding="utf-8", errors="replace") == manifest


def _encode(script: Script, path: Path, progress: bool, on_frame: Callable[[int], None] | None) -> None:
    with av.open(str(path), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=script.fps, options=ENCODER)
        stream.width, stream.height = script.size
        stream.pix_fmt = "yuv420p"
        stream.gop_size = KEYFRAME_S * script.fps
        bar = tqdm(
            _painted(script),
            total=script.frame_count,
            desc=path.name,
            unit="frame",
            mininterval=1,
            disable=not progress,
        )
        for index, picture in enumerate(bar):
            picture.pts, picture.time_base = index, Fraction(1, script.fps)
            container.mux(stream.encode(picture))
            if on_frame is not None:
                on_frame(index)
        container.mux(stream.encode(None))


def _painted(script: Script) -> Iterator[av.VideoFrame]:
    """Yield every frame in order, painted by another thread while the last ones are encoded."""
    painter, converter = SceneRenderer(script), VideoReformatter()

    def paint(index: int) -> av.VideoFrame:
        pixels = np.asarray(painter.frame(index))
        return converter.reformat(av.VideoFrame.from_ndarray(pixels, format="rgb24"), format="yuv420p")

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="atlasworld-painter") as brush:
        waiting: deque[Future[av.VideoFrame]] = deque()
        try:
            for index in range(script.frame_count):
                waiting.append(brush.submit(paint, index))
                if len(waiting) > PAINTED_AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            brush.shutdown(wait=True, cancel_futures=True)
