"""`atlaskit demo`, and what the commands find beside a film."""

from pathlib import Path

import pytest
from support.answering import answering
from support.datasets import put

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


def test_the_same_choice_twice_is_refused_before_a_call(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["ask", "match.mp4", "Who?", "--choice", "Ann", "--choice", "Ann", "--model", "http://127.0.0.1:9/v1"]
    assert main(line) == 2
    assert capsys.readouterr().err.startswith("atlaskit: The choice 'Ann' is there twice")
