"""A real vLLM server with a tiny untrained Whisper: `/v1/audio/transcriptions` as it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from server.tiny_families import make_families
from support.speaking import WORDS, speaking_video

import atlaskit as ak
from atlaskit.models.protocol import Refused
from atlaskit.models.serving.server import serve

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def vlm(tmp_path_factory: pytest.TempPathFactory, small_and_offline: None) -> Iterator[ak.VLM]:
    """The server of a Whisper of half a million random weights."""
    directory = tmp_path_factory.mktemp("whisper")
    make_families(("tiny-whisper",), directory)
    with serve(directory / "tiny-whisper") as vlm:
        yield vlm


@pytest.mark.filterwarnings("ignore::atlaskit.errors.SpeechWarning")
def test_vllm_serves_a_whisper(vlm: ak.VLM, tmp_path: Path) -> None:
    """What it hears is nonsense, with times out of order and out of range: all of it is placed."""
    spoken = [(1.0 + 2.5 * number, WORDS[number % 12]) for number in range(15)]
    path, cache = speaking_video(tmp_path / "talk.mkv", spoken, 40), ak.Cache(tmp_path / "cache")
    # One chunk at a time: in a batch, sums have another order, and random weights decide on a hair.
    asr = ak.ASR(vlm.base_url, vlm.name, language="en", in_flight=1)
    track = ak.transcribe(path, asr, cache=cache, save=tmp_path / "talk.srt", progress=False)
    assert len(track) > 2 and all(0 <= line.start_s < line.end_s <= 40 and line.text for line in track.lines)
    assert len({(line.start_s, line.end_s) for line in track.lines}) > 2, "Whisper gives times"
    assert not any("<|" in line.text for line in track.lines)
    assert ak.transcribe(path, asr, cache=cache, progress=False, replay=True) == track
    assert ak.transcribe(path, asr, cache=ak.Cache(None), progress=False) == track
    assert ak.open_video(path, subtitles=tmp_path / "talk.srt").subtitles == track

    by_text = ak.ASR(vlm.base_url, vlm.name)
    by_text._format = "json"  # as after a refusal of times
    chunk = next(chunk for chunk in ak.open_video(path).open_sound().chunks() if not chunk.is_silent)
    (segment,) = by_text.transcribe(chunk.wav())
    assert segment.text and segment.start_s is None
    with pytest.raises(Refused, match=r"chunks of talk.mkv.*HTTP 400"):
        ak.transcribe(path, ak.ASR(vlm.base_url, vlm.name, language="xx"), cache=cache, progress=False)
