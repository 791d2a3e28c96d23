"""`atlaskit ask`, what all commands tell of a wrong line, and the options that name a model."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Shell
from support.faults import sending
from support.loopback import loopback
from support.media import make_video
from support.speaking import speaking_video

from atlaskit.caching.cache import Cache
from atlaskit.cli.model import joined_words
from atlaskit.evaluation import tables
from atlaskit.viz.widgets.runtable import RunTable

NO_SERVER = "--model http://127.0.0.1:9/v1 absent"
ASK = "ask {film} What? --choice red --choice blue"
WORLD = "evaluate atlasworld --out rows.csv --oracle 0"
HEAR = "transcribe talk.mkv http://127.0.0.1:9/v1 tones"
KEY = "sk-not-for-anyone-0123456789"


def test_a_line_answers_and_the_same_line_needs_no_server(
    film_file: Path, in_tmp: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"{ASK.format(film=film_file)} --subtitles none --cell 32 --workers 2 --calls 12"
    with loopback() as server:
        command = f"{sys.executable} -m atlaskit {line} --model {server.url} loop --save first.json --html run.html"
        first = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
        count = len(server.bodies)
        monkeypatch.setattr("atlaskit.cli.ask.LOCAL_SERVER", server.url)
        shell(f"{line} --save second.json")
        assert len(server.bodies) == count > 3, "the second run makes no call"
    assert first.returncode == 0 and first.stderr == "", "a log file gets no progress line"
    assert "What?" in first.stdout and "answer" in first.stdout and "calls" in first.stdout
    assert "What?" in Path("run.html").read_text(encoding="utf-8")
    assert "paid now  0 calls" in shell(f"{line} --save third.json"), "the model is known by its replies"
    assert len({Path(f"{name}.json").read_bytes() for name in ("first", "second", "third")}) == 1
    assert json.loads(Path("first.json").read_text())["settings"]["model"] == "loop"
    assert "No model answers" in shell(f"{line} --k 4", status=2), "other settings need the server"


def test_each_film_of_a_folder_has_a_row_and_the_same_line_asks_nothing_again(shell: Shell) -> None:
    Path("night").mkdir()
    names = ["0.mp4", "1.mp4"]
    for number, name in enumerate(names):
        make_video(Path("night", name), frames=50, first=60 * number)
    with loopback() as server:
        line = f"{ASK} --cell 32 --calls 6 --each rows.csv --model {server.url} loop"
        printed = shell(line.format(film="night"))
        asked = len(server.bodies)
        shell(line.format(film="night"))
        assert len(server.bodies) == asked > 0, "the second run makes no call"
        assert "is one video" in shell(line.format(film="night/0.mp4"), status=2)
    assert [text.split(":")[0] for text in printed.splitlines()[:2]] == names
    rows = tables.load("rows.csv")
    assert rows["video"].tolist() == names and rows["score"].isna().all()
    assert RunTable("rows.csv").rows["outcome"].tolist() == ["answered"] * 2


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("--within 0:02 8s", {"within": [2.0, 8.0]}),
        ("--fit contain --traversal bfs", {"fit": "contain", "traversal": "bfs"}),
        ("--scouts words", {"scouts": ["words"]}),
        ("--count --cell 48", {"cell": 48}),
    ],
)
def test_options_reach_the_search(film_file: Path, shell: Shell, words: str, kept: dict[str, Any]) -> None:
    with loopback() as server:
        shell(f"ask {film_file} What? --cell 32 --calls 4 {words} --save result.json --model {server.url} loop")
    result = json.loads(Path("result.json").read_text())
    assert {name: result["settings"][name] for name in kept} == kept
    assert result["question"]["kind"] == ("count" if "--count" in words else "open")


@pytest.fixture
def broken(in_tmp: Path) -> None:
    """The current folder has misnamed files, a pipe, and a cache."""
    Path("text.mp4").write_text("plain text\n" * 99)
    Path("file").touch()
    Path("file.csv").touch()
    os.mkfifo("pipe")
    speaking_video(Path("talk.mkv"), [(1.0, "one")], 3)
    Cache("cache").put("reply:1:x", b"paid")


INPUT_ERRORS: dict[str, str] = {
    "ask missing.mp4 What?": "There is no file missing.mp4",
    "ask text.mp4 What?": "not a video",
    "ask {film} Who? --usd 1": "--usd needs the prices of tokens: add --prices",
    "ask {film} Who? --prices prompt=1,completion=2": "--prices is for a limit in US dollars",
    "ask {film} Who? --seconds 0": "must be above 0 seconds; got 0",
    "ask {film} Who? --language en": "no subtitle track",
    "ask {film} Who? --choice red --choice blue --count": "leave them out",
    "ask {film} Who? --total-calls 5": "--total-calls is for --each",
    "ask {film} Who? --each rows.csv --within 0 1": "--within is for one run: leave it out",
    "ask {film} Who? --within 1:75 9": "'1:75' is not a time: write 65, 65.5, 1:05",
    "view {film} f.png --open 3 5": "Expand cannot take cell 5 here; the cells it can take: none",
    "browse ''": "argument rows: must name a file or a folder; got an empty text",
    "run --data missing --model oracle": "--data names a folder, and there is none: missing",
    "evaluate cache --model m": "cache is not a file: name one of",
    "evaluate lvbenc --model x": "lvbenc is no benchmark (did you mean lvbench?) and no table",
    "evaluate fil.csv --model x": "There is no file fil.csv. Did you mean file.csv?",
    "evaluate file.csv --oracle 0": "No oracle comes with file.csv",
    f"{WORLD} --where topic 3": "no column 'topic'",
    f"{WORLD} --where category a --where category b": "--where names category twice",
    "export file.csv --out ./file.csv": "is what is exported: name another file",
    "export --notes {film} --out notes.csv": "There is nothing to export",
    "serve http://h/v1 --plan 24": "'http://h/v1' is an address",
    f"{WORLD} --hours 10": "leave out --hours",
    f"{WORLD} --load worlds {'[' * 9_999}": "worlds is a whole number",
    f"{WORLD} --load seeds [1]": "seeds must be development, selection, test; got [1]",
    f"{WORLD} --method blind uniform --set cell 3": "None of blind, uniform has a setting 'cell'",
    "evaluate atlasworld --model nano --dialect openai": "--dialect is for an endpoint, and 'nano'",
    f"evaluate atlasworld --model http://h/v1 a --key-env {KEY}": "never the key itself",
    "cache stats --cache nowhere": "There is no cache in nowhere",
    "cache export x.jsonl.xz --run cache/entries/cache.db": "not valid JSON",
    "cache import pipe": "it is no regular file",
    "mcp --root ~nobody-here": "--root names a folder",
    f"evaluate {'a' * 300} --model m": "no file has so long a name as 'aaa",
    f"{HEAR} --audio-track 7": "There is no audio_track 7: talk.mkv has the sound tracks 0",
    f"{HEAR} --parallel 0": "--parallel: must be a whole number from 1; got 0",
    "ask match.mp4 --model http://127.0.0.1:1/v1 Who?": "required: question (write arguments first: options such as",
}
"""Lines, and what the sentence about them says."""


@pytest.mark.parametrize("line", INPUT_ERRORS, ids=lambda line: line[:60])
@pytest.mark.usefixtures("broken")
def test_an_input_error_is_one_line(film_file: Path, shell: Shell, line: str) -> None:
    """In this process, which takes a tenth of the time of a process for each error."""
    model = NO_SERVER.split() if line.startswith("ask") else []
    told = shell(line.format(film=film_file), *model, status=2)
    told = told[told.index("atlaskit: ") :]  # `transcribe` first says what it does
    assert INPUT_ERRORS[line] in told and told.count("\n") == 1
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


def test_a_current_folder_that_was_removed_is_told(shell: Shell) -> None:
    Path("gone").mkdir()
    os.chdir("gone")
    Path("../gone").resolve().rmdir()
    assert "the current folder was removed" in shell("cache --cache other", status=2)


VARIABLE = "ATLASKIT_TEST_KEY"


def test_the_options_reach_the_endpoint_and_the_key_reaches_nothing_else(
    film_file: Path, in_tmp: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 17: no result, page, table, card, trace or cache has it, and nothing prints it."""
    monkeypatch.setenv(VARIABLE, KEY)
    asking = f"ask '{film_file}' 'What?' --choice a --choice b --cell 32 --calls 4"
    table = "evaluate atlasworld --first 1 --load minutes 1 --load drawn true --traces runs --calls 4 --out rows.csv"
    with loopback() as server:
        model = f"--model {server.url} loop --dialect hosted --key-env {VARIABLE}"
        told = shell(f"{asking} --save result.json --html run.html {model}")
        told += shell(f"{table} {model}")
        count = len(server.bodies)
        assert {headers["Authorization"] for headers in server.headers[-count:]} == {f"Bearer {KEY}"}
        assert not any("seed" in body for body in server.bodies), "as it would be for vLLM"
        server.faults = [sending({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)] * 20
        told += shell(f"{asking} --k 4 {model}", status=1)  # the refusal repeats the key
        count = len(server.bodies)
        monkeypatch.delenv(VARIABLE)
        told += shell(f"{asking} --save replayed.json --replay {model}")  # a replay needs no key
        told += shell(f"{asking} {model}", status=2)
        assert len(server.bodies) == count
    assert f"{VARIABLE} is missing or empty" in told and KEY not in told
    assert Path("result.json").read_bytes() == Path("replayed.json").read_bytes()
    files = [path for path in in_tmp.rglob("*") if path.is_file()]
    assert {"result.json", "run.html", "rows.csv.txt"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        ("ask --model nano a.mp4 Who?", "ask --model=nano a.mp4 Who?"),
        ("ask a.mp4 --model http://h/v1 NAME", "ask a.mp4 --model http://h/v1 NAME"),
        ("ask -- --model nano", "ask -- --model nano"),
    ],
)
def test_other_arguments_may_follow_a_model_on_this_machine(given: str, joined: str) -> None:
    assert joined_words(given.split()) == joined.split()
