"""`Video.activity`: how much changes over time, from the sizes of packets; nothing is decoded."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.media import make_video, usual_priority

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import is_valid
from atlaskit.errors import DamagedVideo
from atlaskit.video.activity import ACTIVITY, Activity
from atlaskit.video.changes import MOST_STEPS, STEP_S, Changes
from atlaskit.video.file import VideoFile
from atlaskit.video.opening import open_video
from atlaskit.video.playlist import Playlist
from atlaskit.video.readers.pyav import PyAVReader
from atlaskit.video.readers.sizes import PacketSizes

os.environ.setdefault("SVT_LOG", "1")  # silences the AV1 encoder
FPS = 25
MOVES_S, CUT_S, END_S = (8.0, 11.0), 15.4, 20.0
"""In `make_scenes`: when something moves, when the scene changes, when the video ends."""
CODERS: dict[str, tuple[str, str, dict[str, str]]] = {
    "H.264, B-frames": ("a.mp4", "libx264", {"bf": "3", "sc_threshold": "0", "g": "75"}),
    "H.264, keyframes at cuts": ("a.mkv", "libx264", {"g": "75"}),
    "HEVC": ("a.mp4", "libx265", {"preset": "ultrafast", "x265-params": "log-level=none:keyint=75"}),
    "MPEG-2, raw": ("a.m2v", "mpeg2video", {"g": "75", "b": "900k"}),
    "MJPEG": ("a.avi", "mjpeg", {"q": "5"}),
}


def make_scenes(path: Path, coder: str, options: dict[str, str]) -> Path:
    """Encode two scenes of noise, in the first of which something moves for a while."""
    rng = np.random.default_rng(0)
    grounds = [rng.integers(40, 140 + 90 * number, (90, 160, 3), np.uint8) for number in range(2)]
    muxing = {"movflags": "+faststart"} if path.suffix == ".mp4" else {}
    with usual_priority(), av.open(str(path), "w", options=muxing) as container:
        stream = container.add_stream(coder, rate=FPS, options=options)
        stream.width, stream.height = 160, 90
        stream.pix_fmt = "yuvj420p" if coder == "mjpeg" else "yuv420p"
        if "g" in options:
            stream.codec_context.gop_size = int(options["g"])
        for index in range(round(END_S * FPS)):
            pixels = grounds[index >= CUT_S * FPS].copy()
            if MOVES_S[0] <= index / FPS < MOVES_S[1]:
                left = (index * 7) % 110
                pixels[20:70, left : left + 50] = rng.integers(0, 255, (50, 50, 3), np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = index, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def level_between(activity: Activity, start_s: float, end_s: float) -> float:
    """Return the mean level of the steps inside an interval."""
    inside = [
        level
        for number, level in enumerate(activity.levels)
        if start_s <= number * activity.step_s and (number + 1) * activity.step_s <= end_s
    ]
    return float(np.mean(inside))


@pytest.mark.family
@pytest.mark.parametrize("name", CODERS)
def test_levels_tell_when_something_moves_and_cuts_when_the_scene_changes(tmp_path: Path, name: str) -> None:
    file, coder, options = CODERS[name]
    video = open_video(make_scenes(tmp_path / file, coder, options), cache=Cache(tmp_path / "cache"))
    activity = video.activity()
    assert activity is not None and video.frames_decoded == 0
    assert activity.step_s * len(activity.levels) == pytest.approx(video.duration_s)
    if name == "MJPEG":
        assert set(activity.levels) == {1.0} and activity.cuts_s == (), "all frames are keyframes"
        return
    still = level_between(activity, 1.0, MOVES_S[0] - 1)
    assert level_between(activity, *MOVES_S) > 2 * still
    late_s = 4 / FPS if name in ("H.264, B-frames", "HEVC") else 0  # B-frames copy the frame after them
    near = [time_s for time_s in activity.cuts_s if -1.5 / FPS < time_s - CUT_S < late_s + 1.5 / FPS]
    assert len(near) == 1, activity.cuts_s
    others = [t for t in activity.cuts_s if t not in near and not MOVES_S[0] - 0.1 <= t <= MOVES_S[1] + 0.5]
    assert len(others) <= 1, "a cut is nowhere else"


# --- the cache ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_scenes(tmp_path_factory.mktemp("clip") / "a.mp4", *CODERS["H.264, B-frames"][1:])


def forbid_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bool:
        raise AssertionError("the packets are read again")

    monkeypatch.setattr(PyAVReader, "packet_sizes", refuse)


def test_a_second_call_reads_nothing(clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = VideoFile(clip).activity(Cache(tmp_path))
    shutil.copy(clip, tmp_path / "renamed.mp4")
    forbid_reading(monkeypatch)
    assert first is not None
    for path in (clip, tmp_path / "renamed.mp4"):
        assert VideoFile(path, cache=Cache(tmp_path)).activity() == first


FOREIGN = {
    "no JSON": b"\xff",
    "a list": b"[1.0]",
    "of another length": b'{"step_s":1.0,"levels":[1.0],"cuts_s":[]}',
    "a negative level": b'{"step_s":20.0,"levels":[-1.0],"cuts_s":[]}',
    "not a number": b'{"step_s":20.0,"levels":[NaN],"cuts_s":[]}',
    "cuts out of order": b'{"step_s":20.0,"levels":[1.0],"cuts_s":[3.0,2.0]}',
    "a cut outside": b'{"step_s":20.0,"levels":[1.0],"cuts_s":[21.0]}',
    "too many steps": json.dumps({"step_s": 1e-3, "levels": [1.0] * (MOST_STEPS + 1), "cuts_s": []}).encode(),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_an_entry_that_is_none_is_made_again(clip: Path, name: str) -> None:
    cache, video = Cache(None), VideoFile(clip)
    key = ACTIVITY.key(video=video.fingerprint)
    cache.put(key, FOREIGN[name])
    assert name == "of another length" or not is_valid(key, FOREIGN[name])
    found = video.activity(cache)
    assert found == video.activity(Cache(None)) and is_valid(key, cache.get(key) or b"")


# --- broken files ---------------------------------------------------------------------------------


def test_what_is_missing_from_a_truncated_file_is_as_usual(clip: Path, tmp_path: Path) -> None:
    whole = clip.read_bytes()
    short = tmp_path / "short.mp4"
    short.write_bytes(whole[: round(0.7 * len(whole))])
    with pytest.warns(DamagedVideo):
        video = VideoFile(short)
    activity, expected = video.activity(Cache(None)), VideoFile(clip).activity(Cache(None))
    assert activity is not None and expected is not None
    first_lost = int(video._reader.readable_s / activity.step_s) + 1
    assert 4 < first_lost < len(activity.levels) == len(expected.levels)
    assert set(activity.levels[first_lost:]) == {1.0} != set(activity.levels[:first_lost])
    assert all(time_s < video._reader.readable_s for time_s in activity.cuts_s)


# --- playlists ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, clip: Path) -> list[VideoFile]:
    """Four files that differ in container, codec and length."""
    folder = tmp_path_factory.mktemp("parts")
    paths = [
        clip,
        make_video(folder / "b.webm", "libvpx", frames=60, fps=30),
        make_scenes(folder / "c.avi", *CODERS["MJPEG"][1:]),
        make_video(folder / "d.ts", "mpeg4", frames=103, starts_at=200, size=(160, 90)),
    ]
    return [VideoFile(path, cache=Cache(folder)) for path in paths]


def level_at(activity: Activity, time_s: float) -> float:
    return activity.levels[min(int(time_s / activity.step_s), len(activity.levels) - 1)]


@pytest.mark.long
@settings(max_examples=8)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_a_playlist_is_as_active_as_its_parts(parts: list[VideoFile], order: list[int]) -> None:
    playlist = Playlist([parts[index] for index in order])
    joined = playlist.activity()
    assert joined is not None
    assert joined.step_s * len(joined.levels) == pytest.approx(playlist.duration_s)
    cuts: list[float] = []
    totals = np.zeros(len(joined.levels))
    samples = np.zeros(len(joined.levels))
    start_s = 0.0
    for index in order:
        alone = parts[index].activity()
        assert alone is not None
        cuts += [start_s] * (start_s > 0) + [start_s + time_s for time_s in alone.cuts_s]
        for time_s in np.arange(0.0005, parts[index].duration_s, 0.001):
            step = min(int((start_s + time_s) / joined.step_s), len(totals) - 1)
            totals[step] += level_at(alone, time_s)
            samples[step] += 1
        start_s += parts[index].duration_s
    assert joined.cuts_s == pytest.approx(tuple(cuts), abs=1e-6)
    assert np.array(joined.levels) == pytest.approx(totals / samples, rel=0.03, abs=0.03)


# --- every kind of file ---------------------------------------------------------------------------


# --- what the packets tell ------------------------------------------------------------------------


def packets(sizes: Sequence[int], keyframes: Sequence[int], fps: float = FPS) -> PacketSizes:
    are_keyframes = np.zeros(len(sizes), bool)
    are_keyframes[list(keyframes)] = True
    return PacketSizes(np.arange(len(sizes)) / fps, np.array(sizes, np.int64), are_keyframes)


def test_a_keyframe_off_the_rhythm_is_a_cut() -> None:
    keyframes = [0, 50, 100, 150, 173, 223, 273, 300, 350, 400, 450]
    sizes = [2000 if index in keyframes else 100 for index in range(500)]
    assert Changes(20.0, FPS, packets(sizes, keyframes)).cuts_s() == pytest.approx([173 / FPS, 300 / FPS])


@pytest.mark.parametrize(("duration_s", "fps"), [(1e9, 1e9), (1e-3, 1e-9), (0.04, 25.0), (36_000.0, 0.01), (1e5, 50.0)])
def test_any_length_has_a_bounded_number_of_steps(duration_s: float, fps: float) -> None:
    outside = PacketSizes(np.array([0.0, duration_s * 2, -1.0]), np.array([9, 9, 9]), np.array([True, False, True]))
    changes = Changes(duration_s, fps, outside)
    assert 1 <= changes.count <= MOST_STEPS and changes.count * changes.step_s == pytest.approx(duration_s)
    assert len(changes.levels()) == changes.count and changes.cuts_s() == []
    assert changes.step_s >= min(STEP_S, duration_s) * 0.999
