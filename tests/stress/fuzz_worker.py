"""Read damaged files one after the other and report the frames of each.

test_fuzz runs this in a process of its own, so that a crash, a hang or exhausted memory does not
end the tests.
"""

import faulthandler
import json
import re
import resource
import sys
import warnings
from pathlib import Path

from support.media import frame_number, frame_shown_at, played_frames

from atlaskit.errors import FrameError, VideoError
from atlaskit.video.opening import open_video

MEMORY_BYTES = 4 << 30
SECONDS_A_FILE = 60


def peak_mb() -> int:
    """Return this process's peak memory in MB; getrusage would include its parent's."""
    (peak_kb,) = re.findall(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(peak_kb) // 1024


def read(path: Path, times_s: list[float]) -> dict[str, object]:
    """Return the index of the frame shown at each time, −1 if it looks broken, or its error."""
    try:
        video = open_video(path)
        inside = [time_s for time_s in times_s if time_s < video.duration_s]
        frames = video.try_frames(inside)
    except VideoError as error:
        return {"refused": str(error)}
    shown = [str(frame) if isinstance(frame, FrameError) else frame_number(frame) for frame in frames]
    alone = [video.try_frames([time_s])[0] for time_s in inside[::5]]
    again = [
        isinstance(frame, FrameError) == isinstance(other, FrameError)
        # A frame that looks broken may look different each time.
        and (isinstance(frame, FrameError) or frame_number(frame) in (-1, frame_number(other)))
        for frame, other in zip(frames[::5], alone, strict=True)
    ]
    played = played_frames(path)
    return {
        "times_s": inside,
        "shown": shown,
        "same_alone": all(again),
        "played": [frame_shown_at(played, time_s)[0] for time_s in inside],
    }


if __name__ == "__main__":
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        faulthandler.dump_traceback_later(SECONDS_A_FILE, exit=True)
        task = json.loads(line)
        row = read(Path(task["file"]), task["times_s"])
        row["peak_mb"] = peak_mb()
        print(json.dumps(row), flush=True)
