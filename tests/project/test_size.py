"""The house stays as small as its plan; rooms that are still larger may not grow."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType

import pytest
from support.paths import ROOT

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import World

sys.path.insert(0, str(ROOT / "tools"))
import size

NOT_YET = {
    "top": 212,
    "video": 4367,
    "models": 4165,
    "environment": 1472,
    "runs": 1067,
    "agents": 2480,
    "benchmarks": 4319,
    "evaluation": 1853,
    "experiments": 641,
    "viz": 3862,
    "cli": 1984,
}
"""Lines of code of rooms that are above the plan. Whoever makes one smaller lowers its number."""
MODULES_ENTERED = {"paper": 39, "best": 40}
"""In how many modules of atlaskit a function runs while an oracle is asked one question, in a new
process: 40 is the plan. Whoever brings a number down lowers it here."""

WORDS = 32_036
"""The most words of docs; 35,000 is the plan. Whoever makes a page shorter lowers it."""


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


@pytest.mark.parametrize("search", MODULES_ENTERED)
def test_one_question_enters_few_modules(search: str, world: World) -> None:
    package, entered = str(Path(ak.__file__).parent), set[str]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(package):
            entered.add(frame.f_code.co_filename.removeprefix(package))

    vlm, video, question, cache = ak.Oracle(world), world.drawn, world.questions[0], ak.Cache(None)
    threading.setprofile(note)  # of the workers
    sys.setprofile(note)
    try:
        result = ak.ask(video, question, vlm=vlm, search=search, cache=cache)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert result.is_right
    assert len(entered) <= MODULES_ENTERED[search], f"a reader of one question needs all of {sorted(entered)}"
