"""`--help` describes every argument, and its examples are commands that work."""

import shlex
import shutil
from pathlib import Path

import pytest
from cli.commands import commands
from support.loopback import loopback

from atlaskit.__main__ import _parser, main
from atlaskit.cli.model import joined_words

COMMANDS = commands()
NEED_EXAMPLES = {name for name in COMMANDS if " " not in name}


def examples(command: str) -> list[list[str]]:
    """Return the examples of a command as the shell would split them."""
    text = (COMMANDS[command].epilog or "").replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("  atlaskit ")]


@pytest.mark.parametrize("command", sorted(NEED_EXAMPLES))
def test_every_command_has_examples_that_are_valid(command: str) -> None:
    found = examples(command)
    assert found and all(words[0] == command for words in found)
    for words in found:
        assert _parser().parse_args(joined_words(words)).run


def test_examples_of_the_cache_are_run(film_file: Path, in_tmp: Path) -> None:
    shutil.copy(film_file, "match.mp4")
    with loopback() as server:
        asking = ["ask", "match.mp4", "Who wins?", "--cell", "32", "--calls", "4", "--model", server.url, "loop"]
        assert main([*asking, "--save", "result.json"]) == 0
    for words in examples("cache"):
        assert main(words) == 0, words
    assert Path("run.jsonl.xz").is_file()
