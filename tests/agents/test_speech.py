"""What is said in a video becomes its subtitles: at its time, once, and paid for once."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from support.faults import failing, sending
from support.loopback import Loop
from support.media import make_video
from support.speaking import RATE, WORD_S, WORDS, speaking_video, transcription, without_times

import atlaskit as ak
from atlaskit.errors import InputError, SpeechWarning, Unrecorded, VideoError
from atlaskit.models.protocol import Refused
from atlaskit.video.subtitles import Subtitles

Transcribe = Callable[..., Subtitles]


@pytest.fixture
def transcribe(loop: Loop, cache: ak.Cache, in_tmp: Path) -> Transcribe:
    loop.answer = transcription

    def run(path: str | Path, **options: object) -> Subtitles:
        return ak.transcribe(path, ak.ASR(loop.url, "tones"), cache=cache, progress=False, **options)  # type: ignore[arg-type]

    return run


def script(seconds: float) -> list[tuple[float, str]]:
    """Return words at irregular times; no two neighbours are the same."""
    rng = random.Random(0)
    spoken, at_s = [], 0.5
    while at_s + WORD_S < seconds - 0.3:
        spoken.append((round(at_s, 2), rng.choice([word for word in WORDS if not spoken or word != spoken[-1][1]])))
        at_s += 1.3 * rng.uniform(0.6, 1.6)
    return spoken


def check_lines(track: Subtitles, spoken: list[tuple[float, str]], within_s: float = 0.06) -> None:
    assert [line.text for line in track.lines] == [word for _, word in spoken]
    for line, (start_s, _) in zip(track.lines, spoken, strict=True):
        assert (line.start_s, line.end_s) == pytest.approx((start_s, start_s + WORD_S), abs=within_s)


def test_words_are_heard_at_their_time_and_paid_once(transcribe: Transcribe, loop: Loop) -> None:
    spoken = script(95)
    path = speaking_video(Path("talk.mkv"), spoken, 95)
    track = transcribe(path, save="talk.srt")
    check_lines(track, spoken)
    paid = len(loop.bodies)
    assert max(len(body["file"]) for body in loop.bodies) <= 30.001 * RATE * 2 + 44, "a WAV of 30 s"
    assert 3 <= paid <= 9 and loop.most_in_flight > 1
    assert transcribe(path, replay=True) == track and len(loop.bodies) == paid, "a second run costs nothing"
    check_lines(ak.open_video(path, subtitles="talk.srt").subtitles, spoken)


@pytest.mark.parametrize(("name", "codec"), [("talk.mkv", "pcm_s16le"), ("talk.ts", "mp2")])
def test_second_0_is_the_first_frame(transcribe: Transcribe, name: str, codec: str) -> None:
    spoken = [(4.0, "one"), (6.0, "five"), (9.5, "two")]
    path = speaking_video(Path(name), spoken, 12, picture_from_s=3.0, codec=codec)
    seen = [(start_s - 3.0, word) for start_s, word in spoken]
    check_lines(transcribe(path, save="talk.srt"), seen, within_s=0.12)
    check_lines(ak.open_video(path, subtitles="talk.srt").subtitles, seen, within_s=0.12)


def test_the_sound_follows_the_one_clock(transcribe: Transcribe) -> None:
    spoken = [(1.0, "one"), (4.0, "five")]
    parts = [
        speaking_video(Path(f"{number}.ts"), spoken, 6, codec="mp2", starts_at_s=at_s).read_bytes()
        for number, at_s in enumerate((0.0, 0.0, 700.0))
    ]
    Path("all.ts").write_bytes(b"".join(parts))
    check_lines(transcribe("all.ts"), [(at_s + 6 * part, word) for part in range(3) for at_s, word in spoken], 0.25)


def test_a_model_without_times_gives_a_line_for_each_chunk(transcribe: Transcribe, loop: Loop) -> None:
    loop.answer = without_times
    track = transcribe(speaking_video(Path("talk.mkv"), [(1.0, "one"), (2.0, "two"), (40.0, "three")], 42))
    assert " ".join(line.text for line in track.lines) == "one two three"
    assert track.lines[0].start_s <= 1.0 and track.lines[-1].end_s >= 40.4


def test_silence_is_not_sent(transcribe: Transcribe, loop: Loop) -> None:
    with pytest.warns(SpeechWarning, match="heard no words"):
        assert len(transcribe(speaking_video(Path("quiet.mkv"), [], 40))) == 0
    assert not loop.bodies


def test_made_up_text_is_left_out_and_told(transcribe: Transcribe, loop: Loop) -> None:
    repeating = {"start": 0.0, "end": 5.0, "text": "thank you for watching " * 30, "compression_ratio": 9.0}
    noise = {"start": 1.0, "end": 2.0, "text": "Amen.", "no_speech_prob": 0.95, "avg_logprob": -1.5}
    good = {"start": 2.0, "end": 3.0, "text": "the words", "no_speech_prob": 0.01, "avg_logprob": -0.2}
    loop.faults = [sending({"text": "", "segments": [repeating, noise, good]})]
    with pytest.warns(SpeechWarning, match="2 of 3 lines are left out.*1 that repeat themselves, 1 of no speech"):
        track = transcribe(speaking_video(Path("talk.mkv"), [(1.0, "one")], 5))
    assert [line.text for line in track.lines] == ["the words"]


def test_a_second_run_asks_for_the_missing_chunks_only(transcribe: Transcribe, loop: Loop) -> None:
    spoken = script(80)
    path = speaking_video(Path("talk.mkv"), spoken, 80)
    loop.faults = [failing(401)]
    with pytest.raises(Refused, match=r"1 of \d chunks of talk.mkv .* the first from 0:00:.*the same call again"):
        transcribe(path, parallel=1)
    paid = len(loop.bodies)
    check_lines(transcribe(path), spoken)
    assert len(loop.bodies) == paid + 1


def test_wrong_arguments_give_one_sentence(transcribe: Transcribe, loop: Loop) -> None:
    path = speaking_video(Path("talk.mkv"), [(1.0, "one")], 3)
    with pytest.raises(InputError, match="ends in .srt"):
        transcribe(path, save="words.txt")
    with pytest.raises(VideoError, match="has no sound"):
        transcribe(make_video(Path("mute.mp4"), frames=5))
    with pytest.raises(Unrecorded):
        transcribe(path, replay=True)
    assert not loop.bodies
