"""Encode a script as an H.264 file with subtitles (SRT) and a manifest, the script as JSON.

An encoding that is interrupted leaves no half-written video. The renderer draws the frames.
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
from av.video.reformatter import Colorspace, VideoReformatter

from atlaskit.progress import bar as progress_bar
from atlaskit.video.names import media_url
from atlasworld.renderer import SceneRenderer
from atlasworld.timeline import Script

KEYFRAME_S = 4
"""Longest time between two keyframes, in seconds."""
ENCODER = {"preset": "veryfast", "crf": "23", "threads": "2"}
"""Options of libx264. The number of threads is fixed because it changes the encoded bytes."""
ENCODING_VERSION = 1
"""Part of a video's fingerprint; increased whenever one script would be encoded differently."""
FRAMES_AHEAD = 12
"""Number of frames that are drawn ahead of the encoder."""


@dataclass(frozen=True)
class EncodedFiles:
    """Paths of the three files of one script."""

    video: Path
    subtitles: Path
    manifest: Path


def encode_script(
    script: Script,
    directory: str | PathLike[str],
    *,
    progress: bool = False,
    on_frame: Callable[[int], None] | None = None,
) -> EncodedFiles:
    """Encode a script into a directory, unless its files already exist there.

    The files get their names only when all three are complete, the manifest last. A manifest
    therefore proves that its video is complete.

    Args:
        script: The script to encode.
        directory: Where the files are written; created if missing.
        progress: Whether to show a progress bar.
        on_frame: Called with the index of each frame after it is encoded.
    """
    home = Path(directory)
    files = _paths(script, home)
    manifest = _manifest(script)
    if _are_complete(files, manifest):
        return files
    home.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=home, prefix=".encoding-") as scratch:
        drafts = _paths(script, Path(scratch))
        _encode(script, drafts.video, progress, on_frame)
        drafts.subtitles.write_text(to_srt(script), encoding="utf-8")
        drafts.manifest.write_text(manifest, encoding="utf-8")
        # An older manifest must not describe files that are being replaced.
        files.manifest.unlink(missing_ok=True)
        drafts.video.replace(files.video)
        drafts.subtitles.replace(files.subtitles)
        drafts.manifest.replace(files.manifest)
    return files


def to_srt(script: Script) -> str:
    """Return the spoken lines as SubRip text."""
    cues = list[str]()
    for number, line in enumerate(script.lines, start=1):
        times = f"{_timecode(line.start_s)} --> {_timecode(line.end_s)}"
        cues.append(f"{number}\n{times}\n{line.text}\n")
    return "\n".join(cues)


def _timecode(t: float) -> str:
    minutes, milliseconds = divmod(round(t * 1000), 60_000)
    return (
        f"{minutes // 60:02}:{minutes % 60:02}:{milliseconds // 1000:02},{milliseconds % 1000:03}"
    )


def film_name(script: Script) -> str:
    """Return the name of a script's encoded video."""
    width, height = script.size
    return f"atlasworld-{script.seed}-{script.duration_s:g}s-{width}x{height}-{script.fps}fps.mp4"


def film_fingerprint(script: Script) -> str:
    """Return the fingerprint of a script's encoded video."""
    return f"film-{script.name}-{ENCODING_VERSION}"


def is_encoded(script: Script, film: Path) -> bool:
    """Return whether a file is a script's encoded video, according to the manifest beside it."""
    files = _paths(script, film.parent)
    return files.video == film and _are_complete(files, _manifest(script))


def _manifest(script: Script) -> str:
    return json.dumps(script.to_json(), indent=1) + "\n"


def _paths(script: Script, directory: Path) -> EncodedFiles:
    video = directory / film_name(script)
    return EncodedFiles(video, video.with_suffix(".srt"), video.with_suffix(".json"))


def _are_complete(files: EncodedFiles, manifest: str) -> bool:
    if not all(map(Path.is_file, (files.video, files.subtitles, files.manifest))):
        return False
    # UTF-8 takes at most 4 bytes a character: a larger file differs, and may be too large to read.
    if files.manifest.stat().st_size > 4 * len(manifest):
        return False
    return files.manifest.read_text(encoding="utf-8", errors="replace") == manifest


def _encode(
    script: Script, path: Path, progress: bool, on_frame: Callable[[int], None] | None
) -> None:
    with av.open(media_url(path), "w", options={"movflags": "+faststart"}) as container:
        stream = container.add_stream("libx264", rate=script.fps, options=ENCODER)
        stream.width, stream.height = script.size
        stream.pix_fmt = "yuv420p"
        stream.gop_size = KEYFRAME_S * script.fps
        # Players take a large video without a tag for BT.709.
        if script.size[0] >= 1280 or script.size[1] > 576:
            stream.codec_context.colorspace = Colorspace.ITU601
        bar = progress_bar(
            _draw_ahead(script),
            total=script.frame_count,
            desc=path.name,
            unit="frame",
            disable=not progress,
        )
        for index, frame in enumerate(bar):
            frame.pts = index
            frame.time_base = Fraction(1, script.fps)
            container.mux(stream.encode(frame))
            if on_frame is not None:
                on_frame(index)
        container.mux(stream.encode(None))


def _draw_ahead(script: Script) -> Iterator[av.VideoFrame]:
    """Yield every frame in order; a second thread draws ahead while the caller encodes."""
    renderer = SceneRenderer(script)
    converter = VideoReformatter()

    def draw(index: int) -> av.VideoFrame:
        pixels = np.asarray(renderer.frame(index))
        return converter.reformat(
            av.VideoFrame.from_ndarray(pixels, format="rgb24"), format="yuv420p"
        )

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="atlasworld-renderer") as executor:
        pending: deque[Future[av.VideoFrame]] = deque()
        try:
            for index in range(script.frame_count):
                pending.append(executor.submit(draw, index))
                if len(pending) > FRAMES_AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
