"""The command line as a subprocess: its output, error messages and exit status."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Shell
from support.answering import answering
from support.faults import sending
from support.loopback import loopback
from support.media import make_sound_file, make_video
from support.speaking import speaking_video

from atlaskit.caching.cache import Cache
from atlaskit.evaluation import tables
from atlaskit.viz.widgets.runtable import RunTable

NO_SERVER = "--model http://127.0.0.1:9/v1 absent"
ASK = "ask {film} What? --choice red --choice blue"
WORLD = "evaluate atlasworld --out rows.csv --oracle 0"
HEAR = "transcribe talk.mkv http://127.0.0.1:9/v1 tones"
KEY = "sk-not-for-anyone-0123456789"


def atlaskit(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "atlaskit", *shlex.split(line)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_ask_a_served_model(film_file: Path, in_tmp: Path) -> None:
    with loopback() as server:
        line = f"{ASK.format(film=film_file)} --cell 32 --workers 2 --subtitles {film_file.with_suffix('.srt')}"
        line = f"{line} --calls 12 --model {server.url} loop"
        first = atlaskit(f"{line} --save result.json --evidence evidence.png --html run.html", in_tmp)
        count = len(server.bodies)
        second = atlaskit(f"{line} --save again.json", in_tmp)
        assert len(server.bodies) == count > 3, "the second run makes no call"
    assert first.returncode == second.returncode == 0, first.stderr
    assert "What?" in first.stdout and "answer" in first.stdout and "calls" in first.stdout
    assert first.stderr == "", "a log file gets no progress line"
    assert "What?" in (in_tmp / "run.html").read_text(encoding="utf-8")
    assert (in_tmp / "again.json").read_bytes() == (in_tmp / "result.json").read_bytes()
    assert json.loads((in_tmp / "result.json").read_text())["settings"]["model"] == "loop"


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


def test_a_run_is_replayed_without_its_server(film_file: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    line = f"{ASK.format(film=film_file)} --calls 4 --cell 32 --cache entries"
    with loopback() as server:
        monkeypatch.setattr("atlaskit.cli.ask.LOCAL_SERVER", server.url)
        shell(f"{line} --save first.json")
    assert "paid now  0 calls" in shell(f"{line} --save second.json")
    assert Path("first.json").read_bytes() == Path("second.json").read_bytes()
    assert "No model answers" in shell(f"{line} --calls 5 --k 4", status=2), "other settings need the server"


@pytest.fixture
def broken(film_file: Path, in_tmp: Path) -> None:
    """The current folder has damaged and misnamed files."""
    Path("header.mp4").write_bytes(film_file.read_bytes()[:500])
    Path("text.mp4").write_text("plain text\n" * 99)
    Path("text.srt").write_text("plain text\n" * 99)
    Path("file").touch()
    os.mkfifo("pipe")
    make_sound_file(Path("song.m4a"))
    speaking_video(Path("talk.mkv"), [(1.0, "one")], 3)
    Cache("cache").put("reply:1:x", b"paid")


INPUT_ERRORS: dict[str, str] = {
    "ask missing.mp4 What?": "There is no file missing.mp4",
    "ask text.mp4 What?": "not a video",
    "ask header.mp4 What?": "truncated",
    "ask song.m4a What?": "only sound",
    "ask '' Who?": "The name of the file is empty",
    "ask {film} Who? --choice Ann --choice Ann": "The choice 'Ann' is there twice",
    "ask {film} Who? --usd 1": "--usd needs the prices of tokens: add --prices",
    "ask {film} Who? --prices prompt=1,completion=2": "--prices is for a limit in US dollars",
    "ask {film} Who? --seconds 0": "must be above 0 seconds; got 0",
    "ask {film} Who? --seconds soon": "'soon' is not a time",
    "ask {film} Who? --language en": "no subtitle track",
    "ask {film} Who? --choice red --choice blue --count": "leave them out",
    "ask {film} Who? --subtitles text.srt": "no line of text",
    "ask {film} Who? --cache file/cache": "cannot be opened",
    "ask {film} Who? --subtitles none --max-depth 77": "D_max",
    "ask {film} Who? --within 1:75 9": "'1:75' is not a time: write 65, 65.5, 1:05",
    f"frame {'x' * 5000} 1 f.png": "No file has a name of more than 255 bytes",
    "frame {film} -1 f.png": "is not a time: write 65",
    "view https://youtu.be/x o.png": "yt-dlp",
    "view file://server/x.mp4 o.png": "copy it here",
    "view {film} f.png --open 3 5": "Expand cannot take cell 5 here; the cells it can take: none",
    "browse ''": "argument rows: must name a file or a folder; got an empty text",
    "demo --cache file/cache": "cannot be opened",
    "run --data missing --model oracle": "--data names a folder, and there is none: missing",
    "run missing.ipynb --model oracle": "There is no notebook missing.ipynb",
    "run --model http://h/v1 a --max-tokens 0": "--max-tokens is a whole number",
    "evaluate cache --model m": "cache is not a file: name one of",
    "evaluate videomme --model m --out rows.csv": "videomme needs its folder",
    f"{WORLD} --where topic 3": "no column 'topic'",
    f"{WORLD} --hours 10": "leave out --hours",
    f"{WORLD} --prices prompt=1": "prompt and completion must be given",
    f"{WORLD} --method blind uniform --set cell 3": "None of blind, uniform has a setting 'cell'",
    f"{WORLD} --method blind --scouts words": "are for video-rlm and composite, not",
    "evaluate atlasworld --model nano --dialect openai": "--dialect is for an endpoint, and 'nano'",
    f"evaluate atlasworld --model http://h/v1 a --key-env {KEY}": "never the key itself",
    "cache stats --cache nowhere": "There is no cache in nowhere",
    "cache prune --older-than -1": "must be a number of at least 0",
    "cache export x.jsonl.xz --run cache/entries/cache.db": "not valid JSON",
    "cache import pipe": "it is no regular file",
    "cache import text.srt": "cannot be read as a recording",
    "mcp --root absent": "--root names a folder",
    "mcp --k 1": "at least 2×2",
    "mcp --cell 5000": "at most 8192 pixels",
    "mcp --dialect openai": "name the model with --model",
    f"{HEAR} --language klingonish": "A language is a code or a name",
    f"{HEAR} --audio-track 7": "There is no audio_track 7: talk.mkv has the sound tracks 0",
    f"{HEAR} --parallel 0": "--parallel: must be a whole number from 1; got 0",
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


@pytest.mark.long
def test_several_methods_are_evaluated_in_one_table_and_compared(shell: Shell) -> None:
    line = "evaluate atlasworld --out rows.csv --load minutes 1 --load drawn true --oracle 0.1 --first 3"
    line = f"{line} --set size 32 --prices prompt=0.5,completion=3"
    shell(f"{line} --method retrieval")
    printed = shell(f"{line} --method blind retrieval blind")
    assert "Compared with blind" in printed and "difference_low" in printed
    assert "rows.csv: 3 questions by 2 methods, 3 model calls paid now" in printed, "those of retrieval are cached"
    rows = tables.load("rows.csv")
    assert rows["method"].tolist() == ["blind"] * 3 + ["retrieval"] * 3 and rows["usd"].gt(0).all()
    assert [rows.attrs["methods"][name]["settings"] for name in ("retrieval", "blind")] == [{"size": 32}, {}]
    assert rows.attrs["methods"]["blind"]["prices"] == {"prompt": 0.5, "completion": 3.0}


@pytest.mark.long
def test_a_key_is_in_nothing_that_a_command_leaves(
    film_file: Path, in_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Result, page, table, card, trace, cache and what is printed; the refusal repeats the key."""
    monkeypatch.setenv("MY_KEY", KEY)
    ask = ASK.format(film=film_file)
    evaluate = "evaluate atlasworld --out rows.csv --first 1 --load minutes 1 --traces runs --calls 12"
    with answering() as address:
        model = f"--model {address} any-vlm --key-env MY_KEY"
        asked = atlaskit(f"{ask} --save result.json --html run.html --calls 12 {model}", in_tmp)
        tabled = atlaskit(f"{evaluate} {model}", in_tmp)
    with loopback() as server:
        server.faults = [sending({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)] * 20
        refused = atlaskit(f"{ask} --model {server.url} loop --key-env MY_KEY", in_tmp)
    assert asked.returncode == tabled.returncode == 0, asked.stderr + tabled.stderr
    files = [path for path in in_tmp.rglob("*") if path.is_file()]
    assert len(files) > 10 and {"result.json", "run.html", "rows.csv.txt"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert not [each for each in (asked, tabled, refused) if KEY in each.stdout + each.stderr]
