"""The house stays as small as its plan; rooms that are still larger may not grow."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Annotated

import pytest
from pydantic import BaseModel, Field
from support.loopback import loopback
from support.paths import ROOT

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World
from atlaskit.models.cached import Cached
from atlaskit.models.protocol import Message, Request

sys.path.insert(0, str(ROOT / "tools"))
import size

NOT_YET = {
    "top": 212,
    "video": 4270,
    "models": 4142,
    "environment": 1472,
    "runs": 1067,
    "agents": 2480,
    "benchmarks": 4319,
    "evaluation": 1853,
    "experiments": 641,
    "viz": 3863,
    "cli": 1984,
}
"""Lines of code of rooms that are above the plan. Whoever makes one smaller lowers its number."""
MODULES_ENTERED = {"paper": 39, "best": 40}
"""In how many modules of atlaskit a function runs while an oracle is asked one question, in a new
process: 40 is the plan. Whoever brings a number down lowers it here."""

WORDS = 32_036
"""The most words of docs; 35,000 is the plan. Whoever makes a page shorter lowers it."""


class Answer(BaseModel):
    """What a call asks for."""

    cell: Annotated[int, Field(ge=0, le=9)]


@pytest.fixture(scope="module")
def rooms() -> dict[str, int]:
    """The lines of code of each room."""
    return size.rooms()


@pytest.mark.parametrize("room", size.MOST)
def test_a_room_keeps_to_its_row(room: str, rooms: dict[str, int]) -> None:
    lines = rooms.get(room, 0)
    most = max(size.MOST[room], NOT_YET.get(room, 0))
    assert lines <= most, f"{room} has {lines} lines of code, {most} at most: take something away"


def test_only_code_is_counted() -> None:
    source = '"""Docstring."""\n\n# A comment.\nx = """a\nb"""\n\ndef f():\n    """Do."""\n    return 1  # x\n'
    assert size.lines_of_code(source) == 4


def test_every_room_has_a_row(rooms: dict[str, int]) -> None:
    assert set(rooms) <= set(size.MOST)


def test_the_docs_keep_to_their_words() -> None:
    assert size.words_of_docs() <= WORDS, "leave out what the reference, --help or a decision says"


def test_ask_has_at_most_fifteen_parameters() -> None:
    assert size.keywords_of_ask() + 3 <= 15, "what a search does is a setting of ak.Search"


def modules_entered(run: Callable[[], object]) -> set[str]:
    """The modules of atlaskit in which a function runs, in this thread and those that it starts."""
    package, entered = str(Path(ak.__file__).parent), set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(package):
            entered.add(frame.f_code.co_filename.removeprefix(package))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return entered


@pytest.mark.parametrize("search", MODULES_ENTERED)
def test_one_question_enters_few_modules(search: str, world: World) -> None:
    vlm, video, question, cache = ak.Oracle(world), world.drawn, world.questions[0], ak.Cache(None)
    entered = modules_entered(lambda: ak.ask(video, question, vlm=vlm, search=search, cache=cache))
    assert len(entered) <= MODULES_ENTERED[search], f"a reader of one question needs all of {sorted(entered)}"


def test_one_call_enters_twelve_modules_of_models() -> None:
    request = Request("master", "task", (Message("user", ("Name a cell.",)),), Answer)
    with loopback() as server:
        server.counters = "# TYPE vllm:prompt_tokens counter"  # as vLLM's
        vlm = Cached(ak.VLM(server.url, "loop"), ak.Cache(None))
        entered = {each for each in modules_entered(lambda: vlm.complete(request)) if each.startswith("/models/")}
    assert len(entered) <= 12, f"a reader of one call needs all of {sorted(entered)}"
