"""Look at damaged files one after the other, and say of each what was seen: run by test_fuzz, in a process of its own.

A crash, a hang or a hunger for memory ends this process and not the tests.
"""

from __future__ import annotations

import faulthandler
import json
import re
import resource
import sys
import warnings
from pathlib import Path

from atlaskit.errors import FrameError, VideoError
from atlaskit.video.opening import open_video
from support.media import number_in, played, shown_at

MEMORY_BYTES = 4 << 30


def peak_mb() -> int:
    """Return this process's own peak of memory: getrusage's begins with that of the process it was started from."""
    (peak_kb,) = re.findall(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(peak_kb) // 1024


def look(path: Path, times_s: list[float]) -> dict[str, object]:
    """What a damaged file shows at some times: an index, −1 for a picture that is no frame, or an error."""
    try:
        video = open_video(path)
        inside = [time_s for time_s in times_s if time_s < video.duration_s]
        frames = video.try_frames(inside)
    except VideoError as error:
        return {"refused": str(error)}
    seen = [str(frame) if isinstance(frame, FrameError) else number_in(frame) for frame in frames]
    alone = [video.try_frames([time_s])[0] for time_s in inside[::5]]
    again = [
        isinstance(frame, FrameError) == isinstance(other, FrameError)
        and (isinstance(frame, FrameError) or number_in(frame) in (-1, number_in(other)))  # a broken one may vary
        for frame, other in zip(frames[::5], alone, strict=True)
    ]
    film = played(path)
    return {
        "times_s": inside,
        "seen": seen,
        "same_alone": all(again),
        "played": [shown_at(film, time_s)[0] for time_s in inside],
    }


if __name__ == "__main__":
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        task = json.loads(line)
        row = look(Path(task["file"]), task["times_s"])
        row["peak_mb"] = peak_mb()
        print(json.dumps(row), flush=True)
