"""The sound of a file as 16 kHz mono, at its time: codecs, containers, tracks, holes, damage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.media import make_video
from support.speaking import SpokenTrack, heard, many_voiced_video

from atlaskit.errors import InputError, VideoError
from atlaskit.video.opening import open_video
from atlaskit.video.sound import RATE, Sound
from atlasworld import World

SPOKEN = [(1.0, "one"), (3.0, "five"), (5.0, "ten")]


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def words(sound: Sound) -> list[tuple[float, str]]:
    """Return what is heard in a sound track and when, in seconds of the video."""
    found = []
    for first, samples in joined(sound):
        for start_s, _, word in heard(samples):
            found.append((round(first / RATE + start_s - sound.lead_s, 2), word))
    return found


def joined(sound: Sound) -> list[tuple[int, np.ndarray]]:
    """Return the sound as long pieces, each with the number of its first sample."""
    pieces: list[tuple[int, list[np.ndarray]]] = []
    end = -1
    for block in sound.blocks():
        assert block.samples.dtype == np.int16 and block.first >= end
        if block.first != end:
            pieces.append((block.first, []))
        pieces[-1][1].append(block.samples)
        end = block.first + len(block.samples)
    return [(first, np.concatenate(parts)) for first, parts in pieces]


def check(found: Sequence[tuple[float, str]], expected: Sequence[tuple[float, str]], within_s: float = 0.07) -> None:
    assert [word for _, word in found] == [word for _, word in expected]
    assert [at_s for at_s, _ in found] == pytest.approx([at_s for at_s, _ in expected], abs=within_s)


@pytest.mark.parametrize(
    ("name", "codec", "rate", "layout"),
    [
        ("a.mp4", "aac", 44_100, "stereo"),
        ("b.mkv", "ac3", 48_000, "5.1"),
        ("a.avi", "libmp3lame", 22_050, "mono"),
        ("a.ts", "mp2", 48_000, "stereo"),
    ],
)
def test_words_are_at_their_time(tmp_path: Path, name: str, codec: str, rate: int, layout: str) -> None:
    path = many_voiced_video(tmp_path / name, [SpokenTrack(SPOKEN)], 6, codec=codec, rate=rate, layout=layout)
    check(words(open_video(path).open_sound()), SPOKEN)


@pytest.mark.parametrize("suffix", ["mkv", "mp4"])
def test_sound_with_holes_that_starts_late_is_at_its_time(tmp_path: Path, suffix: str) -> None:
    spoken = [(1.0, "one"), (9.0, "five"), (40.0, "ten")]
    late_s = 2.0 if suffix == "mkv" else 0.0
    tracks = [SpokenTrack(spoken, starts_at_s=late_s, gaps=[(3.0, 8.0), (12.0, 38.0)])]
    path = many_voiced_video(tmp_path / f"a.{suffix}", tracks, 45, codec="libopus", rate=48_000)
    check(words(open_video(path).open_sound()), [(at_s + late_s, word) for at_s, word in spoken])


TRACKS = [
    SpokenTrack([(1.0, "zero")], "eng", "comment"),
    SpokenTrack([(1.0, "one")], "eng"),
    SpokenTrack([(1.0, "two")], "ger", "default"),
]


@pytest.mark.parametrize(
    ("chosen", "word"),
    [
        ({}, "two"),  # the default one
        ({"audio_track": 0}, "zero"),
        ({"audio_track": 2, "language": "en"}, "two"),
        ({"language": "en"}, "one"),  # not the commentary
        ({"language": "de"}, "two"),
    ],
)
def test_the_wanted_track_is_heard(tmp_path: Path, chosen: dict[str, Any], word: str) -> None:
    path = many_voiced_video(tmp_path / "a.mkv", TRACKS, 2)
    check(words(open_video(path).open_sound(**chosen)), [(1.0, word)])
    alone = many_voiced_video(tmp_path / "b.mkv", [SpokenTrack([(1.0, "one")], "fre")], 2)
    if "audio_track" not in chosen:
        check(words(open_video(alone).open_sound(**chosen)), [(1.0, "one")])  # whatever language it claims


def test_just_the_wanted_language_is_heard_before_a_related_one(tmp_path: Path) -> None:
    tracks = [SpokenTrack([(1.0, "one")], "nob", "default"), SpokenTrack([(1.0, "two")], "nor")]
    path = many_voiced_video(tmp_path / "a.mkv", tracks, 2)
    check(words(open_video(path).open_sound(language="no")), [(1.0, "two")])


@pytest.mark.parametrize("chosen", [{"audio_track": 3}, {"language": "fr"}], ids=str)
def test_a_track_that_is_not_there_is_an_error_that_lists_those_that_are(tmp_path: Path, chosen: Any) -> None:
    with pytest.raises(InputError, match=r"0: eng.*; 1: eng; 2: ger \(default\)"):
        open_video(many_voiced_video(tmp_path / "a.mkv", TRACKS, 2)).open_sound(**chosen)


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
def test_damaged_packets_are_silence_and_a_truncated_file_is_heard_up_to_its_end(tmp_path: Path) -> None:
    spoken = [(1.0, "one"), (30.0, "ten")]
    path = many_voiced_video(tmp_path / "a.mkv", [SpokenTrack(spoken)], 32, codec="flac", rate=16_000, layout="mono")
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3000] = np.random.default_rng(0).bytes(3000)
    path.write_bytes(data)
    check(words(open_video(path).open_sound()), spoken, within_s=0.15)
    path.write_bytes(data[:middle])
    check(words(open_video(path).open_sound()), spoken[:1])
    whole = many_voiced_video(tmp_path / "a.ts", [SpokenTrack(SPOKEN)], 6, codec="mp2", rate=48_000).read_bytes()
    middle = len(whole) // 2 // 188 * 188
    (tmp_path / "a.ts").write_bytes(whole[:middle] + bytes(188 * 4000) + whole[middle:])
    check(words(open_video(tmp_path / "a.ts").open_sound()), SPOKEN)


def test_what_has_no_sound_is_one_sentence(tmp_path: Path, world: World) -> None:
    with pytest.raises(VideoError, match="mute.mp4 has no sound: there is nothing to transcribe"):
        open_video(make_video(tmp_path / "mute.mp4", frames=5)).open_sound()
    with pytest.raises(VideoError, match="drawn world 5 is not a video file with sound"):
        world.drawn.open_sound()
