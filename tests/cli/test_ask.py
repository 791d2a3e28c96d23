"""The command line as a subprocess: its output, error messages and exit status."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.answering import answering
from support.faults import sending
from support.loopback import loopback
from support.media import make_sound_file, make_video
from support.speaking import speaking_video

from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache
from atlaskit.evaluation import tables
from atlaskit.viz.widgets.runtable import RunTable

NO_SERVER = ["--model", "http://127.0.0.1:9/v1", "absent"]
EVALUATE = ["evaluate", "--out", "rows.csv"]
CHOICES = ["--choice", "red", "--choice", "blue"]
HEAR = ["transcribe", "talk.mkv", "http://127.0.0.1:9/v1", "tones"]
KEY = "sk-not-for-anyone-0123456789"


def atlaskit(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "atlaskit", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_ask_a_served_model(film_file: Path, in_tmp: Path) -> None:
    with loopback() as server:
        arguments = ["ask", film_file, "What colour is it?", *CHOICES, "--cell", "32", "--workers", "2"]
        arguments += ["--subtitles", film_file.with_suffix(".srt"), "--calls", "12"]
        saved = ["--save", "result.json", "--evidence", "evidence.png", "--html", "run.html"]
        first = atlaskit(*arguments, *saved, "--model", server.url, "loop", cwd=in_tmp)
        request_count = len(server.bodies)
        second = atlaskit(*arguments, "--save", "again.json", "--model", server.url, "loop", cwd=in_tmp)
        assert len(server.bodies) == request_count > 3, "the second run makes no call"
    assert first.returncode == 0, first.stderr
    assert "What colour is it?" in first.stdout and "answer" in first.stdout and "calls" in first.stdout
    assert first.stderr == "", "a log file gets no progress line"
    assert "What colour is it?" in (in_tmp / "run.html").read_text(encoding="utf-8")
    assert second.returncode == 0
    assert (in_tmp / "again.json").read_bytes() == (in_tmp / "result.json").read_bytes()
    assert json.loads((in_tmp / "result.json").read_text())["settings"]["model"] == "loop"


def test_each_film_of_a_folder_has_a_row_and_the_same_line_asks_nothing_again(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (in_tmp / "night").mkdir()
    names = ["0.mp4", "1.mp4"]
    for number, name in enumerate(names):
        make_video(in_tmp / "night" / name, frames=50, first=60 * number)
    with loopback() as server:
        line = ["ask", "night", "What is it?", *CHOICES, "--cell", "32", "--calls", "6", "--each", "rows.csv"]
        line += ["--model", server.url, "loop"]
        assert main(line) == 0
        asked = len(server.bodies)
        assert main(line) == 0 and len(server.bodies) == asked > 0, "the second run makes no call"
        assert [text.split(":")[0] for text in capsys.readouterr().out.splitlines()[:2]] == names
        assert main(["ask", "night/0.mp4", *line[2:]]) == 2 and "is one video" in capsys.readouterr().err
    rows = tables.load(in_tmp / "rows.csv")
    assert rows["video"].tolist() == names and rows["score"].isna().all()
    assert RunTable(in_tmp / "rows.csv").rows["outcome"].tolist() == ["answered"] * 2


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("--within 0:02 8s", {"within": [2.0, 8.0]}),
        ("--fit contain --traversal bfs", {"fit": "contain", "traversal": "bfs"}),
        ("--scouts words", {"scouts": ["words"]}),
        ("--count --cell 48", {"cell": 48}),
    ],
)
def test_options_reach_the_search(film_file: Path, in_tmp: Path, words: str, kept: dict[str, Any]) -> None:
    with loopback() as server:
        asking = ["ask", str(film_file), "What?", "--cell", "32", "--calls", "4", *words.split()]
        assert main([*asking, "--model", server.url, "loop", "--save", "result.json"]) == 0
    result = json.loads(Path("result.json").read_text())
    assert {name: result["settings"][name] for name in kept} == kept
    assert result["question"]["kind"] == ("count" if "--count" in words else "open")


def test_a_run_is_replayed_without_its_server(
    film_file: Path, in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["ask", str(film_file), "What?", *CHOICES, "--calls", "4", "--cell", "32", "--cache", "entries"]
    with loopback() as server:
        monkeypatch.setattr("atlaskit.cli.ask.LOCAL_SERVER", server.url)
        assert main([*arguments, "--save", "first.json"]) == 0
    assert main([*arguments, "--save", "second.json"]) == 0
    assert Path("first.json").read_bytes() == Path("second.json").read_bytes()
    assert "paid now  0 calls" in capsys.readouterr().out
    assert main([*arguments, "--calls", "5", "--k", "4"]) == 2, "a run with other settings needs the server"
    assert "No model answers" in capsys.readouterr().err


@pytest.fixture
def broken(film_file: Path, in_tmp: Path) -> Path:
    """A working directory with damaged and misnamed files."""
    content = film_file.read_bytes()
    (in_tmp / "header.mp4").write_bytes(content[:500])
    (in_tmp / "text.mp4").write_text("plain text\n" * 99)
    (in_tmp / "text.srt").write_text("plain text\n" * 99)
    (in_tmp / "file").write_text("")
    os.mkfifo("pipe")
    make_sound_file(in_tmp / "song.m4a")
    speaking_video(in_tmp / "talk.mkv", [(1.0, "one")], 3)
    Cache("cache").put("reply:1:x", b"paid")
    return in_tmp


INPUT_ERRORS: list[tuple[list[str], str]] = [
    (["ask", "missing.mp4", "What?", *CHOICES], "There is no file missing.mp4"),
    (["ask", "FILM", "Who?", "--choice", "Ann", "--choice", "Ann"], "The choice 'Ann' is there twice"),
    (["ask", "FILM", "Who?", "--usd", "1"], "--usd needs the prices of tokens: add --prices"),
    (["ask", "FILM", "Who?", "--prices", "prompt=1,completion=2"], "--prices is for a limit in US dollars"),
    (["ask", "FILM", "Who?", "--seconds", "0"], "must be above 0 seconds; got 0"),
    (["ask", "FILM", "Who?", "--language", "en"], "no subtitle track"),
    (["ask", "", "Who?", *CHOICES], "The name of the file is empty"),
    (["frame", "x" * 5000, "1", "f.png"], "No file has a name of more than 255 bytes"),
    (["browse", ""], "argument rows: must name a file or a folder; got an empty text"),
    (["demo", "--cache", "file/cache"], "cannot be opened"),
    (["run", "--data", "missing", "--model", "oracle"], "--data names a folder, and there is none: missing"),
    (["evaluate", "cache", "--model", "m"], "cache is not a file: name one of"),
    (["cache", "import", "pipe"], "it is no regular file"),
    (["ask", "text.mp4", "What?", *CHOICES], "not a video"),
    (["ask", "header.mp4", "What?", *CHOICES], "truncated"),
    (["ask", "song.m4a", "What?", *CHOICES], "only sound"),
    (["ask", "FILM", "How many?", *CHOICES, "--count"], "leave them out"),
    (["ask", "FILM", "What?", *CHOICES, "--subtitles", "text.srt"], "no line of text"),
    (["ask", "FILM", "What?", *CHOICES, "--cache", "file/cache"], "cannot be opened"),
    (["ask", "FILM", "What?", *CHOICES, "--subtitles", "none", "--max-depth", "77"], "D_max"),
    (["ask", "FILM", "What?", *CHOICES, "--within", "1:75", "9"], "'1:75' is not a time: write 65, 65.5, 1:05"),
    (["frame", "FILM", "-1", "f.png"], "is not a time: write 65"),
    (["ask", "FILM", "What?", "--seconds", "soon"], "'soon' is not a time"),
    (["view", "https://youtu.be/x", "o.png"], "yt-dlp"),
    (["view", "file://server/x.mp4", "o.png"], "copy it here"),
    (["view", "FILM", "f.png", "--open", "3", "5"], "Expand cannot take cell 5 here; the cells it can take: none"),
    (["run", "missing.ipynb", "--model", "oracle"], "There is no notebook missing.ipynb"),
    ([*EVALUATE, "videomme", "--model", "m"], "videomme needs its folder"),
    ([*EVALUATE, "atlasworld", "--oracle", "0", "--where", "topic", "3"], "no column 'topic'"),
    ([*EVALUATE, "atlasworld", "--oracle", "0", "--hours", "10"], "leave out --hours"),
    ([*EVALUATE, "atlasworld", "--oracle", "0", "--prices", "prompt=1"], "prompt and completion must be given"),
    (
        [*EVALUATE, "atlasworld", "--oracle", "0", "--method", "blind", "uniform", "--set", "cell", "3"],
        "None of blind, uniform has a setting 'cell'",
    ),
    (
        [*EVALUATE, "atlasworld", "--oracle", "0", "--method", "blind", "--scouts", "words"],
        "are for video-rlm and composite, not",
    ),
    ([*EVALUATE, "atlasworld", "--model", "nano", "--dialect", "openai"], "--dialect is for an endpoint, and 'nano'"),
    ([*EVALUATE, "atlasworld", "--model", "http://h/v1", "a", "--key-env", KEY], "never the key itself"),
    (["run", "--model", "http://h/v1", "a", "--max-tokens", "0"], "--max-tokens is a whole number"),
    (["cache", "stats", "--cache", "nowhere"], "There is no cache in nowhere"),
    (["cache", "prune", "--older-than", "-1"], "must be a number of at least 0"),
    (["cache", "export", "x.jsonl.xz", "--run", "cache/entries/cache.db"], "not valid JSON"),
    (["cache", "import", "text.srt"], "cannot be read as a recording"),
    (["mcp", "--root", "absent"], "--root names a folder"),
    (["mcp", "--k", "1"], "at least 2×2"),
    (["mcp", "--cell", "5000"], "at most 8192 pixels"),
    (["mcp", "--dialect", "openai"], "name the model with --model"),
    ([*HEAR, "--language", "klingonish"], "A language is a code or a name"),
    ([*HEAR, "--audio-track", "7"], "There is no audio_track 7: talk.mkv has the sound tracks 0"),
    ([*HEAR, "--parallel", "0"], "--parallel: must be a whole number from 1; got 0"),
]
"""Arguments of commands, and what the line about them says."""


def words(arguments: list[str], film_file: Path) -> list[str]:
    """Return the words of a command line: with the film's path, and a server for what asks one."""
    replaced = [str(film_file) if argument == "FILM" else argument for argument in arguments]
    return replaced + (NO_SERVER if "ask" in arguments else [])


@pytest.mark.parametrize(("arguments", "message"), INPUT_ERRORS)
def test_an_input_error_is_one_line(
    broken: Path, film_file: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """In this process, which takes a tenth of the time of a process for each error."""
    try:
        status = main(words(arguments, film_file))
    except SystemExit as left:  # of argparse
        status = int(left.code or 0)
    told = capfd.readouterr().err
    if arguments[0] == "transcribe":  # which first says what it does
        told = told[told.index("atlaskit: ") :]
    assert status == 2 and message in told and told.startswith("atlaskit: ") and told.count("\n") == 1
    assert KEY not in told and not Path("nowhere").exists()


def test_a_full_disk_and_a_closed_pipe_end_in_one_sentence(film_file: Path, in_tmp: Path) -> None:
    command = [sys.executable, "-m", "atlaskit", "frame", str(film_file), "1", "f.png"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "atlaskit: the disk is full: make room, and run the command again.\n")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "") and Path("f.png").exists()


@pytest.mark.long
def test_several_methods_are_evaluated_in_one_table_and_compared(
    in_tmp: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        *EVALUATE,
        "atlasworld",
        *["--load", "minutes", "1", "--load", "drawn", "true", "--oracle", "0.1", "--first", "3"],
    ]
    arguments += [*["--set", "size", "32", "--prices", "prompt=0.5,completion=3"]]
    assert main([*arguments, "--method", "retrieval"]) == 0
    assert main([*arguments, "--method", "blind", "retrieval", "blind"]) == 0
    printed = capsys.readouterr().out
    assert "Compared with blind" in printed and "difference_low" in printed
    assert "rows.csv: 3 questions by 2 methods, 3 model calls paid now" in printed, "those of retrieval are cached"
    rows = tables.load(in_tmp / "rows.csv")
    assert rows["method"].tolist() == ["blind"] * 3 + ["retrieval"] * 3 and rows["usd"].gt(0).all()
    assert [rows.attrs["methods"][name]["settings"] for name in ("retrieval", "blind")] == [{"size": 32}, {}]
    assert rows.attrs["methods"]["blind"]["prices"] == {"prompt": 0.5, "completion": 3.0}


@pytest.mark.long
def test_a_key_is_in_nothing_that_a_command_leaves(
    film_file: Path, in_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Result, page, table, card, trace, cache and what is printed; the refusal repeats the key."""
    monkeypatch.setenv("MY_KEY", KEY)
    with answering() as address:
        model = ["--model", address, "any-vlm", "--key-env", "MY_KEY"]
        saved = ["--save", "result.json", "--html", "run.html", "--calls", "12"]
        asked = atlaskit("ask", film_file, "What is it?", *CHOICES, *saved, *model, cwd=in_tmp)
        rows = ["--first", "1", "--load", "minutes", "1", "--traces", "runs", "--calls", "12"]
        tabled = atlaskit(*EVALUATE, "atlasworld", *rows, *model, cwd=in_tmp)
    with loopback() as server:
        said = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
        server.faults = [sending(said, 401)] * 20
        refusing = ["--model", server.url, "loop", "--key-env", "MY_KEY"]
        refused = atlaskit("ask", film_file, "What is it?", *CHOICES, *refusing, cwd=in_tmp)
    assert asked.returncode == tabled.returncode == 0, asked.stderr + tabled.stderr
    printed = [each.stdout + each.stderr for each in (asked, tabled, refused)]
    files = [path for path in in_tmp.rglob("*") if path.is_file()]
    assert len(files) > 10 and {"result.json", "run.html", "rows.csv.txt"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert not [text for text in printed if KEY in text], printed
