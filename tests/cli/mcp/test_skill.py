"""The SKILL.md for assistants with a shell: its own example runs."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from PIL import Image
from support.answering import answering

from atlaskit.__main__ import main
from atlaskit.cli.mcp import SKILL

BLOCKS = re.findall(r"^```sh\n(.*?)^```$", SKILL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
LINES = [line for block in BLOCKS for line in block.splitlines()]


def test_its_example_runs(
    in_tmp: Path, film_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATLASKIT_CACHE", str(in_tmp / "cache"))
    shutil.copy(film_file, "match.mp4")
    with answering() as address:
        for line in LINES:
            command, *words = shlex.split(line.replace("MODEL", f"{address} any-vlm"))
            assert command == "atlaskit" and main(words) == 0, line
    for name in ("sheet.jpg", "part.jpg", "frame.png"):
        with Image.open(name) as picture:
            assert min(picture.size) >= 180
    assert Path("result.json").exists() and "," in Path("moments.csv").read_text()
    assert re.search(r"sheet\.jpg: .* s a cell", capsys.readouterr().out)


def test_it_is_printed_and_says_when_to_use_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--skill"]) == 0
    printed = capsys.readouterr().out
    head = re.match(r"---\nname: ([a-z-]+)\ndescription: (.+?)\n---\n", printed, re.DOTALL)
    assert head and head[1] == "look-into-a-film" and 40 < len(head[2]) < 1024
    commands = set(re.findall(r"atlaskit ([a-z]+)", printed))
    assert commands <= {"view", "frame", "ask", "export", "evaluate"}
