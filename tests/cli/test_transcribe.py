"""`atlaskit transcribe`, and `--transcribe` of other commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.loopback import Loop, loopback
from support.speaking import speaking_video, transcription

from atlaskit.__main__ import main

SPOKEN = [(1.0, "one"), (3.0, "five")]


@pytest.fixture
def server(in_tmp: Path, short_pauses: None) -> Iterator[Loop]:
    speaking_video(in_tmp / "talk.mkv", SPOKEN, 5)
    with loopback() as running:
        running.answer = transcription
        yield running


def test_the_lines_are_written_beside_the_caller_and_told(
    server: Loop, in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["transcribe", "talk.mkv", server.url, "org/tones"]) == 0
    told = capsys.readouterr().err
    assert "org/tones hears talk.mkv" in told and "talk.tones.srt: 2 lines heard by org/tones\n" in told
    expected = "1\n00:00:01,000 --> 00:00:01,400\none\n\n2\n00:00:03,000 --> 00:00:03,400\nfive\n"
    assert (in_tmp / "talk.tones.srt").read_text() == expected

    assert main(["transcribe", "talk.mkv", server.url, "org/tones"]) == 0
    assert "talk.tones.srt: 2 lines" in capsys.readouterr().err and len(server.bodies) == 1
    assert [path.name for path in in_tmp.glob("*.srt")] == ["talk.tones.srt"]
