"""What is said in a video becomes its subtitles: at its time, once, and paid for once."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults import failing, sending
from support.loopback import Loop, loopback
from support.media import make_video
from support.speaking import RATE, WORD_S, WORDS, speaking_video, transcription, without_times

import atlaskit as ak
from atlaskit.errors import InputError, SpeechWarning, Unrecorded, VideoError
from atlaskit.models.protocol import ModelError, Refused, Unreachable
from atlaskit.video.sound import Block, cut_at_pauses


@pytest.fixture
def server(short_pauses: None) -> Iterator[Loop]:
    with loopback() as running:
        running.answer = transcription
        yield running


def script(seconds: float, seed: int = 0, every_s: float = 1.3) -> list[tuple[float, str]]:
    """Return words at irregular times; no two neighbours are the same."""
    rng = random.Random(seed)
    spoken, at_s = [], 0.5
    while at_s + WORD_S < seconds - 0.3:
        spoken.append((round(at_s, 2), rng.choice([word for word in WORDS if not spoken or word != spoken[-1][1]])))
        at_s += every_s * rng.uniform(0.6, 1.6)
    return spoken


def check_lines(track: object, spoken: list[tuple[float, str]], earlier_s: float = 0.0, within_s: float = 0.06) -> None:
    lines = track.lines  # type: ignore[attr-defined]
    assert [line.text for line in lines] == [word for _, word in spoken]
    for line, (start_s, _) in zip(lines, spoken, strict=True):
        assert line.start_s == pytest.approx(start_s - earlier_s, abs=within_s)
        assert line.end_s == pytest.approx(start_s + WORD_S - earlier_s, abs=within_s)


def test_words_are_heard_at_their_time_and_paid_once(tmp_path: Path, server: Loop, cache: ak.Cache) -> None:
    spoken = script(95)
    path = speaking_video(tmp_path / "talk.mkv", spoken, 95)
    asr = ak.ASR(server.url, "tones")
    track = ak.transcribe(path, asr, cache=cache, save=tmp_path / "talk.srt", progress=False)
    check_lines(track, spoken)
    assert max(len(body["file"]) for body in server.bodies) <= 30.001 * RATE * 2 + 44, "a WAV of 30 s"
    assert 3 <= len(server.bodies) <= 9 and server.most_in_flight > 1
    assert {body["response_format"] for body in server.bodies} == {b"verbose_json"}
    paid = len(server.bodies)
    assert ak.transcribe(path, asr, cache=cache, progress=False, replay=True) == track
    assert len(server.bodies) == paid, "a second run costs nothing"
    again = ak.open_video(path, subtitles=tmp_path / "talk.srt").subtitles
    assert [line.text for line in again.lines] == [line.text for line in track.lines]
    assert [line.start_s for line in again.lines] == pytest.approx([line.start_s for line in track.lines], abs=0.001)


@pytest.mark.parametrize(("suffix", "codec"), [(".mkv", "pcm_s16le"), (".ts", "mp2")])
def test_second_0_is_the_first_frame(
    tmp_path: Path, server: Loop, cache: ak.Cache, suffix: str, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spoken = [(4.0, "one"), (6.0, "five"), (9.5, "two")]
    path = speaking_video(tmp_path / f"talk{suffix}", spoken, 12, picture_from_s=3.0, codec=codec)
    track = ak.transcribe(path, ak.ASR(server.url, "tones"), cache=cache, save=tmp_path / "t.srt", progress=False)
    check_lines(track, spoken, earlier_s=3.0, within_s=0.12)
    again = ak.open_video(path, subtitles=tmp_path / "t.srt").subtitles
    assert [line.start_s for line in again.lines] == pytest.approx([line.start_s for line in track.lines], abs=0.002)


def test_the_sound_follows_the_one_clock(
    tmp_path: Path, server: Loop, cache: ak.Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spoken = [(1.0, "one"), (4.0, "five")]
    parts = [
        speaking_video(tmp_path / f"{number}.ts", spoken, 6, codec="mp2", starts_at_s=at_s).read_bytes()
        for number, at_s in enumerate((0.0, 0.0, 700.0))
    ]
    (tmp_path / "all.ts").write_bytes(b"".join(parts))
    track = ak.transcribe(tmp_path / "all.ts", ak.ASR(server.url, "tones"), cache=cache, progress=False)
    check_lines(track, [(at_s + 6 * part, word) for part in range(3) for at_s, word in spoken], within_s=0.25)


def test_a_model_without_times_gives_a_line_for_each_chunk(tmp_path: Path, server: Loop, cache: ak.Cache) -> None:
    server.answer = without_times
    path = speaking_video(tmp_path / "talk.mkv", [(1.0, "one"), (2.0, "two"), (40.0, "three")], 42)
    track = ak.transcribe(path, ak.ASR(server.url, "tones"), cache=cache, progress=False)
    assert " ".join(line.text for line in track.lines) == "one two three"
    assert track.lines[0].start_s <= 1.0 and track.lines[-1].end_s >= 40.4


def test_silence_is_not_sent(tmp_path: Path, server: Loop, cache: ak.Cache) -> None:
    path = speaking_video(tmp_path / "quiet.mkv", [], 40)
    with pytest.warns(SpeechWarning, match="heard no words"):
        assert len(ak.transcribe(path, ak.ASR(server.url, "tones"), cache=cache, progress=False)) == 0
    assert not server.bodies


def test_made_up_text_is_left_out_and_told(tmp_path: Path, server: Loop, cache: ak.Cache) -> None:
    loop = {"start": 0.0, "end": 5.0, "text": "thank you for watching " * 30, "compression_ratio": 9.0}
    noise = {"start": 1.0, "end": 2.0, "text": "Amen.", "no_speech_prob": 0.95, "avg_logprob": -1.5}
    good = {"start": 2.0, "end": 3.0, "text": "the words", "no_speech_prob": 0.01, "avg_logprob": -0.2}
    server.faults = [sending({"text": "", "segments": [loop, noise, good]})]
    path = speaking_video(tmp_path / "talk.mkv", [(1.0, "one")], 5)
    with pytest.warns(SpeechWarning, match="2 of 3 lines are left out.*1 that repeat themselves, 1 of no speech"):
        track = ak.transcribe(path, ak.ASR(server.url, "tones"), cache=cache, progress=False)
    assert [line.text for line in track.lines] == ["the words"]


def test_a_second_run_asks_for_the_missing_chunks_only(tmp_path: Path, server: Loop, cache: ak.Cache) -> None:
    spoken = script(80)
    path = speaking_video(tmp_path / "talk.mkv", spoken, 80)
    asr = ak.ASR(server.url, "tones")
    server.faults = [failing(401)]
    with pytest.raises(Refused, match=r"1 of \d chunks of talk.mkv .* the first from 0:00:.*the same call again"):
        ak.transcribe(path, asr, cache=cache, progress=False, parallel=1)
    paid = len(server.bodies)
    check_lines(ak.transcribe(path, asr, cache=cache, progress=False), spoken)
    assert len(server.bodies) == paid + 1


def test_wrong_arguments_give_one_sentence(tmp_path: Path, server: Loop, cache: ak.Cache) -> None:
    asr = ak.ASR(server.url, "tones")
    path = speaking_video(tmp_path / "talk.mkv", [(1.0, "one")], 3)
    with pytest.raises(InputError, match="ends in .srt"):
        ak.transcribe(path, asr, cache=cache, save="words.txt")
    with pytest.raises(VideoError, match="has no sound"):
        ak.transcribe(make_video(tmp_path / "mute.mp4", frames=5), asr, cache=cache)
    with pytest.raises(Unrecorded):
        ak.transcribe(path, asr, cache=cache, replay=True, progress=False)
    with pytest.raises((Unreachable, ModelError)):
        ak.transcribe(path, ak.ASR("http://127.0.0.1:9/v1", "x"), cache=cache, progress=False)
    assert not server.bodies


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(1, 9 * RATE)), min_size=1, max_size=8),
    st.sampled_from([2.0, 5.0, 30.0]),
    st.integers(0, 9),
)
def test_chunks_are_every_sample_once(parts: list[tuple[int, int]], longest_s: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks, first = [], 0
    for loudness, length in parts:
        samples = (rng.standard_normal(length) * 2**loudness).clip(-32768, 32767).astype(np.int16)
        blocks.append(Block(first, samples))
        first += length
    chunks = list(cut_at_pauses(iter(blocks), longest_s))
    cut, whole = (np.concatenate([each.samples for each in parts]) for parts in (chunks, blocks))
    assert np.array_equal(cut, whole)
    assert all(0 < len(chunk.samples) <= longest_s * RATE + 320 for chunk in chunks if not chunk.is_silent)
    bounds = [(chunk.first, chunk.first + len(chunk.samples)) for chunk in chunks]
    assert all(end == start for (_, end), (start, _) in zip(bounds, bounds[1:], strict=False))
