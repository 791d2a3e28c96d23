"""What a reader opens for one question stays small; sizes are counted, and held by no test."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from support.paths import ROOT

import atlaskit as ak
import atlasworld as aw
from atlasworld import World

sys.path.insert(0, str(ROOT / "tools"))
import size

MODULES_ENTERED = {"paper": 36, "best": 39}
"""In how many modules of atlaskit a function runs while an oracle is asked one
question, in a new process. Whoever brings a number down lowers it here."""


def test_size_counts_nodes_that_packing_does_not_move() -> None:
    plain = '"""Docstring."""\n\n\ndef f(x):\n    """Do."""\n    a = 1\n    b = 2\n    return a + b + x\n'
    packed = "def f(x): a = 1; b = 2; return a + b + x\n"
    one, other = size.Size.of([plain]), size.Size.of([packed])
    assert one.nodes == other.nodes > 10
    assert (one.median, other.median) == (5, 1)


def test_size_sees_what_is_packed() -> None:
    source = "a, b = 1, 2\nc = 3 if a else 4\nd = [x for x in (e := [1])]\ndef _f(): pass\n_f()\n"
    found = size.Size.of([source, "x = " + "1 + " * 30 + "1\n"])
    assert [round(value * 7 / 1000) for value in found.packed.values()] == [1, 1, 1, 1], "of 7 statements"
    assert (found.modules, found.wide, found.used_once) == (2, 1, 1)
    assert size.keywords_of_ask() <= 12, "what a search does is a setting of ak.Search"


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
    vlm, video, question, cache = aw.Oracle(world), world.drawn, world.questions[0], ak.Cache(None)
    entered = modules_entered(lambda: ak.ask(video, question, vlm=vlm, search=search, cache=cache))
    assert len(entered) <= MODULES_ENTERED[search], (
        f"{len(entered)}: a reader of one question needs all of {sorted(entered)}"
    )
