"""The options that name a model, on every command that takes one."""

from pathlib import Path

import pytest
from support.loopback import loopback

from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache
from atlaskit.cli.model import joined_words
from atlasworld.nano.model import PRESET

VARIABLE = "ATLASKIT_TEST_KEY"
KEY = "very-secret-key"


@pytest.fixture
def asking(film_file: Path, in_tmp: Path) -> list[str]:
    return ["ask", str(film_file), "What?", "--choice", "a", "--choice", "b", "--cell", "32", "--calls", "4"]


def files_with(text: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_the_options_reach_the_endpoint_and_the_key_reaches_nothing_else(
    asking: list[str], in_tmp: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    with loopback() as server:
        words = ["--model", server.url, "loop", "--dialect", "hosted", "--key-env", VARIABLE]
        assert main([*asking, "--save", "result.json", "--html", "run.html", *words]) == 0
        request_count = len(server.bodies)
        assert {headers["Authorization"] for headers in server.headers[-request_count:]} == {f"Bearer {KEY}"}
        assert not any("seed" in body for body in server.bodies), "as it would be for vLLM"
        monkeypatch.delenv(VARIABLE)
        assert main([*asking, "--save", "replayed.json", "--replay", *words]) == 0, "a replay needs no key"
        assert main([*asking, *words]) == 2
        assert len(server.bodies) == request_count
    told = capsys.readouterr()
    assert f"{VARIABLE} is missing or empty" in told.err and KEY not in told.out + told.err
    assert Path("result.json").read_bytes() == Path("replayed.json").read_bytes()
    assert not files_with(KEY, in_tmp)


def test_nano_is_served_without_being_started(asking: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With all replies in the cache, one line answers and no server starts."""
    from support.asking import ask
    from support.model_doubles import Babbler

    from atlaskit.agents.budget import Budget
    from atlaskit.models.serving.server import Server, serve

    def start(self: Server) -> None:
        raise AssertionError("a server was started")

    double = Babbler(1)
    double.name, double.parameters = serve("nano").name, serve("nano").parameters
    double.preset = PRESET
    ask(asking[1], "What?", ["a", "b"], vlm=double, cell=32, budget=Budget(calls=4), cache=Cache("cache"))
    monkeypatch.setattr(Server, "_ensure_running", start)
    asking += ["--subtitles", "none"]
    assert main([*asking, "--model", "nano"]) == 0
    assert main([*asking, "--model", "nano", "--replay"]) == 0


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        (["ask", "--model", "nano", "a.mp4", "Who?"], ["ask", "--model=nano", "a.mp4", "Who?"]),
        (["ask", "a.mp4", "Who?", "--model", "nano"], ["ask", "a.mp4", "Who?", "--model=nano"]),
        (["ask", "a.mp4", "--model", "http://h/v1", "NAME"], ["ask", "a.mp4", "--model", "http://h/v1", "NAME"]),
        (["ask", "--model", "--workers", "3"], ["ask", "--model", "--workers", "3"]),
        (["ask", "--", "--model", "nano"], ["ask", "--", "--model", "nano"]),
        (["ask", "--model"], ["ask", "--model"]),
    ],
)
def test_other_arguments_may_follow_a_model_on_this_machine(given: list[str], joined: list[str]) -> None:
    assert joined_words(given) == joined
