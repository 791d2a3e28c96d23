"""The options that name a model, on every command that takes one."""

from pathlib import Path

import pytest
from cli.conftest import Shell
from support.asking import ask
from support.loopback import loopback
from support.model_doubles import Babbler

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.cli.model import joined_words
from atlaskit.models.serving.server import Server, serve
from atlasworld.nano.model import PRESET

VARIABLE = "ATLASKIT_TEST_KEY"
KEY = "very-secret-key"


@pytest.fixture
def asking(film_file: Path) -> str:
    return f"ask '{film_file}' 'What?' --choice a --choice b --cell 32 --calls 4"


def test_the_options_reach_the_endpoint_and_the_key_reaches_nothing_else(
    asking: str, in_tmp: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    with loopback() as server:
        model = f"--model {server.url} loop --dialect hosted --key-env {VARIABLE}"
        told = shell(f"{asking} --save result.json --html run.html {model}")
        count = len(server.bodies)
        assert {headers["Authorization"] for headers in server.headers[-count:]} == {f"Bearer {KEY}"}
        assert not any("seed" in body for body in server.bodies), "as it would be for vLLM"
        monkeypatch.delenv(VARIABLE)
        told += shell(f"{asking} --save replayed.json --replay {model}")  # a replay needs no key
        told += shell(f"{asking} {model}", status=2)
        assert len(server.bodies) == count
    assert f"{VARIABLE} is missing or empty" in told and KEY not in told
    assert Path("result.json").read_bytes() == Path("replayed.json").read_bytes()
    assert not [path for path in in_tmp.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_nano_is_served_without_being_started(
    asking: str, film_file: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all replies in the cache, one line answers and no server starts."""

    def start(self: Server) -> None:
        raise AssertionError("a server was started")

    double = Babbler(1)
    double.name, double.parameters = serve("nano").name, serve("nano").parameters
    double.preset = PRESET
    ask(str(film_file), "What?", ["a", "b"], vlm=double, cell=32, budget=Budget(calls=4), cache=Cache("cache"))
    monkeypatch.setattr(Server, "_ensure_running", start)
    shell(f"{asking} --subtitles none --model nano")
    shell(f"{asking} --subtitles none --model nano --replay")


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        ("ask --model nano a.mp4 Who?", "ask --model=nano a.mp4 Who?"),
        ("ask a.mp4 Who? --model nano", "ask a.mp4 Who? --model=nano"),
        ("ask a.mp4 --model http://h/v1 NAME", "ask a.mp4 --model http://h/v1 NAME"),
        ("ask --model --workers 3", "ask --model --workers 3"),
        ("ask -- --model nano", "ask -- --model nano"),
        ("ask --model", "ask --model"),
    ],
)
def test_other_arguments_may_follow_a_model_on_this_machine(given: str, joined: str) -> None:
    assert joined_words(given.split()) == joined.split()
