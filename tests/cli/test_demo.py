"""`atlaskit demo` and `transcribe`, and the subtitles that commands find beside a film."""

from pathlib import Path

import pytest
from cli.conftest import Shell
from support.answering import answering
from support.datasets import put
from support.loopback import loopback
from support.speaking import speaking_video, transcription

from atlaskit.evaluation import tables
from atlaskit.video.subtitles.files import subtitles_beside


def test_one_command_makes_a_film_asks_and_says_what_to_try(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlaskit.cli.demo.MINUTES", 0.5)
    printed = shell("demo --out shown")
    assert "which is right" in printed and "atlaskit explore shown/film.mp4" in printed
    assert printed.count(" --choice ") >= 2, "the answer needs its choices"
    shown = Path("shown")
    assert {path.name for path in shown.iterdir()} == {"film.mp4", "film.srt", "run.html", "questions.csv"}
    assert "<html" in (shown / "run.html").read_text()
    with answering() as address:
        told = shell("evaluate shown/questions.csv --method blind --model", address, "any-vlm")
    assert "film.srt" not in told
    rows = tables.load("questions.rows.csv")
    assert 1 <= len(rows) <= 10 and rows["video"].unique().tolist() == ["film.mp4"]
    (shown / "questions.csv").write_text("mine")
    shown = shown.rename("a $show")
    printed = shell("demo --out 'a $show'")
    assert "atlaskit explore 'a $show/film.mp4'\n" in printed and "evaluate 'a $show/questions.csv' --" in printed
    assert (shown / "questions.csv").read_text() == "mine", "a person may have changed it"
    Path("film.mp4").write_text("mine")
    assert "film.mp4 is there already and is not the demo's" in shell("demo --out .", status=2)
    assert Path("film.mp4").read_text() == "mine" and not Path("run.html").exists()


def test_the_subtitles_beside_a_film_are_read_and_told(shell: Shell, film_file: Path) -> None:
    put(film_file, Path("match.mp4"))
    Path("match.srt").write_text("1\n00:00:01,000 --> 00:00:03,000\nHello\n")
    with answering() as address:
        model = ("--model", address, "any-vlm")
        told = shell("ask match.mp4 'Who?' --cell 32", *model)
        assert "atlaskit: match.srt, beside the video, is read as its subtitles" in told
        told = shell("ask match.mp4 'Who?' --cell 32 --subtitles match.srt --replay", *model)
        assert "beside the video" not in told, "the same request"
        shell("ask match.mp4 'Who?' --cell 32 --subtitles none --replay", *model, status=2)


def test_the_file_beside_a_film_is_the_one_that_players_take(tmp_path: Path) -> None:
    film = tmp_path / "match.mp4"
    for name in ("other.srt", "match.json", "match.txt", "match2.srt"):
        (tmp_path / name).touch()
    assert subtitles_beside(film) is None
    (tmp_path / "match.de.srt").touch()
    assert subtitles_beside(film) == tmp_path / "match.de.srt"
    (tmp_path / "match.en.srt").touch()
    assert subtitles_beside(film) is None, "of two languages none is meant"
    for name in ("match.vtt", "match.SRT"):
        (tmp_path / name).touch()
        assert subtitles_beside(film) == tmp_path / name
    assert subtitles_beside(tmp_path / "no" / "match.mp4") is None


def test_the_lines_are_written_beside_the_caller_and_told(shell: Shell) -> None:
    speaking_video(Path("talk.mkv"), [(1.0, "one"), (3.0, "five")], 5)
    with loopback() as server:
        server.answer = transcription
        told = shell("transcribe talk.mkv", server.url, "org/tones")
        assert "org/tones hears talk.mkv" in told and "talk.tones.srt: 2 lines heard by org/tones\n" in told
        expected = "1\n00:00:01,000 --> 00:00:01,400\none\n\n2\n00:00:03,000 --> 00:00:03,400\nfive\n"
        assert Path("talk.tones.srt").read_text() == expected
        assert "talk.tones.srt: 2 lines" in shell("transcribe talk.mkv", server.url, "org/tones")
        assert len(server.bodies) == 1
    assert [path.name for path in Path().glob("*.srt")] == ["talk.tones.srt"]
