"""`atlaskit demo` and `transcribe`, and the subtitles that commands find beside a film."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.answering import answering
from support.datasets import put
from support.loopback import Loop, loopback
from support.speaking import speaking_video, transcription

from atlaskit.__main__ import main
from atlaskit.evaluation import tables
from atlaskit.video.subtitles.files import subtitles_beside

LINES = "1\n00:00:01,000 --> 00:00:03,000\nHello\n"


@pytest.fixture(autouse=True)
def home(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATLASKIT_CACHE", str(in_tmp / "cache"))
    return in_tmp


def test_one_command_makes_a_film_asks_and_says_what_to_try(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlaskit.cli.demo.MINUTES", 0.5)
    assert main(["demo", "--out", "shown"]) == 0
    printed = capsys.readouterr().out
    assert "which is right" in printed and "atlaskit explore shown/film.mp4" in printed
    assert "<html" in (home / "shown" / "run.html").read_text()
    made = {path.name for path in (home / "shown").iterdir()}
    assert made == {"film.mp4", "film.srt", "run.html", "questions.csv"}
    with answering() as address:
        line = ["evaluate", "shown/questions.csv", "--model", address, "any-vlm", "--method", "blind"]
        assert main(line) == 0
    assert "film.srt" not in capsys.readouterr().out
    rows = tables.load("questions.rows.csv")
    assert 1 <= len(rows) <= 10 and rows["video"].unique().tolist() == ["film.mp4"]
    (home / "shown" / "questions.csv").write_text("mine")
    assert main(["demo", "--out", "shown"]) == 0
    assert (home / "shown" / "questions.csv").read_text() == "mine", "a person may have changed it"
    (home / "film.mp4").write_text("mine")
    assert main(["demo", "--out", "."]) == 2
    assert "film.mp4 is there already and is not the demo's" in capsys.readouterr().err
    assert (home / "film.mp4").read_text() == "mine" and not (home / "run.html").exists()


def test_the_subtitles_beside_a_film_are_read_and_told(
    home: Path, film_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(film_file, home / "match.mp4")
    (home / "match.srt").write_text(LINES)
    with answering() as address:
        line = ["ask", "match.mp4", "Who?", "--model", address, "any-vlm", "--cell", "32"]
        main(line)
        assert "atlaskit: match.srt, beside the video, is read as its subtitles" in capsys.readouterr().err
        assert main([*line, "--subtitles", "match.srt", "--replay"]) == 0, "the same request"
        assert capsys.readouterr().err == ""
        assert main([*line, "--subtitles", "none", "--replay"]) == 2, "another one"


def test_the_file_beside_a_film_is_the_one_that_players_take(home: Path) -> None:
    film = home / "match.mp4"
    for name in ("other.srt", "match.json", "match.txt", "match2.srt"):
        (home / name).touch()
    assert subtitles_beside(film) is None
    (home / "match.de.srt").touch()
    assert subtitles_beside(film) == home / "match.de.srt"
    (home / "match.en.srt").touch()
    assert subtitles_beside(film) is None, "of two languages none is meant"
    (home / "match.vtt").touch()
    assert subtitles_beside(film) == home / "match.vtt"
    (home / "match.SRT").touch()
    assert subtitles_beside(film) == home / "match.SRT"
    assert subtitles_beside(home / "no" / "match.mp4") is None


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
