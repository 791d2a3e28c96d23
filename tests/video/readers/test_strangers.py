"""Files by strangers: nothing else is opened for them, and what they claim costs nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.media import make_video

import atlaskit as ak
from atlaskit.errors import AtlasError
from atlaskit.video.subtitles import read_embedded

PLAYLIST = "#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n{0}\n#EXT-X-ENDLIST\n"
DASH = (
    '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT3S">'
    '<Period><AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="1"><BaseURL>{0}</BaseURL>'
    "</Representation></AdaptationSet></Period></MPD>"
)
POINTING = {
    "list.mp4": PLAYLIST,
    "variants.m3u8": "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{0}\n",
    "list.ffconcat": "ffconcat version 1.0\nfile '{0}'\n",
    "list.mpd": DASH,
    "list.pls": "[playlist]\nFile1={0}\nNumberOfEntries=1\n",
    "call.sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
}


@contextmanager
def watched(folder: Path) -> Iterator[tuple[list[str], set[str]]]:
    """Yield names of a pipe and an address, and a set of those of the two that something opened."""
    pipe = folder / "other.ts"
    found = set[str]()
    is_over = threading.Event()
    os.mkfifo(pipe)

    def watch(server: socket.socket) -> None:
        while not is_over.is_set():
            with suppress(TimeoutError):
                server.accept()[0].close()
                found.add("address")
            with suppress(OSError):  # a pipe can be opened so only while another reads it
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                found.add("pipe")

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.01)
        watcher = threading.Thread(target=watch, args=(server,))
        watcher.start()
        try:
            yield [str(pipe), pipe.name, f"file://{pipe}", f"http://127.0.0.1:{server.getsockname()[1]}/a.ts"], found
        finally:
            is_over.set()
            watcher.join()


def write_pointing(path: Path, target: str) -> None:
    """Write a file that names another one."""
    pipe = path.with_name("other.ts")
    if path.name == "other%d.png":
        path.write_bytes(b"\x89PNG\r\n\x1a\n")
        path.with_name("other0.png").symlink_to(pipe)
    elif path.name == "words.idx":
        path.write_text("# VobSub index file, v7\nid: en, index: 0\ntimestamp: 00:00:01:000, filepos: 0\n")
        path.with_name("words.sub").symlink_to(pipe)
    else:
        path.write_text(POINTING[path.name].format(target))


@pytest.mark.parametrize("name", [*POINTING, "other%d.png", "words.idx"])
def test_no_other_file_and_no_address_is_opened(tmp_path: Path, name: str) -> None:
    with watched(tmp_path) as (targets, found):
        for number, target in enumerate(targets):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "other.ts").symlink_to(tmp_path / "other.ts")
            write_pointing(folder / name, target)
            with suppress(AtlasError):
                ak.open_video(folder / name).try_frames([0.0])
            with suppress(AtlasError):
                read_embedded(folder / name)
        assert not found
        Path(targets[0]).read_bytes()  # the watch sees what is opened
        socket.create_connection(("127.0.0.1", urlsplit(targets[-1]).port)).close()
        deadline_s = time.monotonic() + 5
        while len(found) < 2 and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert found == {"pipe", "address"}


def absurd_files(folder: Path) -> list[Path]:
    """Make files whose headers claim what no video has."""
    mp4 = make_video(folder / "v.mp4", frames=16).read_bytes()
    avi = make_video(folder / "v.avi", "mpeg4", frames=16).read_bytes()

    def patched(data: bytes, mark: bytes, offset: int, value: bytes) -> bytes:
        at = data.rindex(mark) + offset
        return data[:at] + value + data[at + len(value) :]

    y4m = b"YUV4MPEG2 W%d H%d F%d:%d Ip A1:1 C420\n"
    frames = (b"FRAME\n" + bytes(384)) * 4
    files = {
        "size.mp4": patched(mp4, b"avc1", 28, b"\xff\xff\xff\xff"),
        "length.mp4": patched(mp4, b"mvhd", 20, b"\xff\xff\xff\xff"),
        "tick.mp4": patched(mp4, b"mdhd", 16, b"\0\0\0\x01"),
        "samples.mp4": patched(mp4, b"stts", 12, b"\x7f\xff\xff\xff"),
        "sizes.mp4": patched(mp4, b"stsz", 12, b"\xff\xff\xff\xff"),
        "delta.mp4": patched(mp4, b"stts", 16, b"\x7f\xff\xff\xff"),
        "rate.avi": patched(avi, b"strh", 28, b"\x01\0\0\0\xff\xff\xff\x7f"),
        "frames.avi": patched(avi, b"avih", 20, b"\xff\xff\xff\x7f"),
        "size.y4m": y4m % (99_999_999, 99_999_999, 25, 1) + bytes(4096),
        "rate.y4m": y4m % (16, 16, 2_000_000_000, 1) + frames,
        "logical.gif": b"GIF89a\xff\xff\xff\xff\x80\0\0"
        + bytes(6)
        + b"\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02D\x01\0\x3b",
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


MEASURED = """
import json, resource, sys, time, warnings
import atlaskit as ak
from atlaskit.errors import AtlasError
warnings.simplefilter("ignore")
ak.open_video(sys.argv[1]).frame(0)
rows = {}
for path in sys.argv[2:]:
    before, began_s = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        video = ak.open_video(path)
        answer = str(video.try_frames([0.0, video.duration_s / 2], (64, 36))[0])[:200]
    except AtlasError as error:
        answer = str(error)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows[path] = [time.process_time() - began_s, (after - before) / 1024, answer]
print(json.dumps(rows))
"""


def test_what_a_header_claims_costs_nothing(tmp_path: Path) -> None:
    """Sizes, rates, lengths and tables: within two seconds and 200 MB, frames or one sentence."""
    paths = absurd_files(tmp_path)
    command = [sys.executable, "-c", MEASURED, str(tmp_path / "v.mp4"), *map(str, paths)]
    environment = {**os.environ, "ATLASKIT_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    rows = json.loads(done.stdout.splitlines()[-1])
    assert len(rows) == len(paths)
    for path, (took_s, megabytes, answer) in rows.items():
        assert took_s <= 2 and megabytes <= 200 and answer, (path, took_s, megabytes)
