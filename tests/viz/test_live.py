"""A run that is looked on at: drawn as it happens, and never changed or held up by it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from support.model_doubles import ATTACK, Babbler, Flaky, Looking, Spiteful
from support.notebooks import write_notebook
from support.paths import TESTS
from support.stand_ins import FORTY, MASTER_AND_WORKER, Flat, Gone, Spoken, run, shown

from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.mdp import dead_cells
from atlaskit.errors import InputError
from atlaskit.experiments.notebook import run_notebook
from atlaskit.runs.events import Event
from atlaskit.runs.observer import RunObserver
from atlaskit.runs.replay import memory
from atlaskit.runs.result import Result
from atlaskit.viz import html
from atlaskit.viz.live import thread
from atlaskit.viz.live.map import RunMap
from atlaskit.viz.live.notebook import NotebookOutput
from atlaskit.viz.live.snapshots import Snapshot
from atlaskit.viz.live.thread import DrawingThread


def babbled(cache: Cache, seed: int = 3, **options: Any) -> Result:
    """Forty calls of a model that answers anything, some of which fail."""
    return run(Flat(), Flaky(Babbler(seed), 0.1, 3, MASTER_AND_WORKER), cache, **{**FORTY, **options})


def moments(events: list[Event]) -> Iterator[Snapshot]:
    moment = Snapshot()
    for event in events:
        yield (moment := moment.then(event))


class Paper:
    """A surface that keeps what is drawn on it; `stuck` holds each drawing up until it is set."""

    def __init__(self, stuck: threading.Event | None = None) -> None:
        self.drawn, self.left = list[Snapshot](), list[tuple[Snapshot, Result | None]]()
        self.stuck, self.is_drawing = stuck, threading.Event()

    def draw(self, moment: Snapshot) -> None:
        self.is_drawing.set()
        if self.stuck is not None:
            self.stuck.wait(30)
        self.drawn.append(moment)

    def look(self) -> bool:
        return True

    def leave(self, moment: Snapshot, result: Result | None) -> None:
        self.left.append((moment, result))


def drawn_on(paper: Paper, monkeypatch: pytest.MonkeyPatch, first_s: float = 0.0) -> None:
    monkeypatch.setattr(RunObserver, "open_display", lambda video, cache: DrawingThread(paper))
    monkeypatch.setattr(thread, "FIRST_S", first_s)
    monkeypatch.setattr(thread, "EVERY_S", 0.0)


def test_a_run_is_the_same_with_and_without_show(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = babbled(Cache(tmp_path / "a"))
    seen = babbled(Cache(tmp_path / "b"), show=True)
    again = babbled(Cache(tmp_path / "b"), show=True)
    assert plain.to_json() == seen.to_json() == again.to_json()
    told = capfd.readouterr()
    assert told.out == "" and "frames found" in told.err, "in a terminal it is a line on stderr, and nothing else"


@pytest.mark.parametrize("fails_at", ["open_display", "on_event", "on_end", "draw"])
def test_what_goes_wrong_with_drawing_changes_nothing(
    fails_at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> Any:
        raise RuntimeError("no ink\x1b[31m")

    plain, paper = babbled(Cache(tmp_path / "a")), Paper()
    drawn_on(paper, monkeypatch)
    if fails_at == "open_display":
        monkeypatch.setattr(RunObserver, "open_display", fail)
    else:
        monkeypatch.setattr(Paper if fails_at == "draw" else DrawingThread, fails_at, fail)
    seen = run(Flat(), Flaky(Looking(Babbler(3)), 0.1, 3, MASTER_AND_WORKER), Cache(tmp_path / "b"), show=True, **FORTY)
    assert seen.to_json() == plain.to_json()
    told = capfd.readouterr().err
    assert told == "atlaskit: the run goes on, but cannot be drawn: no ink�[31m\n"
    assert [result for _, result in paper.left] == ([seen] if fails_at == "draw" else []), (
        "the result is left all the same"
    )


def test_an_event_is_told_to_others_whoever_draws(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    paper, events = Paper(), list[Event]()
    drawn_on(paper, monkeypatch)
    result = babbled(cache, show=True, on_event=events.append)
    assert sorted(map(repr, events)) == sorted(map(repr, result.trace.events))
    ((last, left),) = paper.left
    assert left is result and last == list(moments(events))[-1], "the last state is always drawn"


def test_a_drawing_that_hangs_holds_nobody_up(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = Paper(stuck=threading.Event())
    drawn_on(paper, monkeypatch)
    monkeypatch.setattr(thread, "PATIENCE_S", 0.01)
    model = Babbler(3)
    answer = model.complete
    monkeypatch.setattr(model, "complete", lambda *a, **k: (paper.is_drawing.wait(30), answer(*a, **k))[1])
    result = run(Flat(), model, cache, show=True, **FORTY)
    assert paper.is_drawing.is_set() and paper.drawn == [] and paper.left[0][1] is result
    assert paper.stuck is not None
    paper.stuck.set()


def test_a_run_that_is_over_at_once_is_drawn_once(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = Paper()
    drawn_on(paper, monkeypatch, first_s=60.0)
    babbled(cache, show=True)
    assert paper.drawn == [] and len(paper.left) == 1


def test_an_error_that_ends_a_run_is_not_hidden(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    paper = Paper()
    drawn_on(paper, monkeypatch)

    def stop(event: Event) -> None:
        if event.kind == "probe":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        babbled(cache, show=True, on_event=stop)
    ((moment, result),) = paper.left
    assert result is None and moment.calls > 0
    paper.left.clear()
    with pytest.raises(InputError, match="plateau"):
        babbled(cache, show=True, plateau=9)
    assert paper.left == [], "nothing is drawn of what was never begun"


@pytest.mark.parametrize("seed", range(4, 8))
def test_the_last_moment_is_the_result(cache: Cache, seed: int) -> None:
    events = list[Event]()
    result = babbled(cache, seed, on_event=events.append)
    told, live = list(moments(list(result.trace.events))), list(moments(events))
    last = told[-1]
    assert last == live[-1], "in whichever order workers were heard"
    assert (last.calls, last.tokens, last.round) == (result.total.calls, result.total.tokens, result.rounds)
    assert last.memory == memory(result.trace) and last.evidence == result.evidence
    assert last.is_over and not last.at_work and last.most_calls == 40
    out = [moment for moment in told if moment.at_work]
    sent = Counter(number for number, worker in {(each.round, each.worker) for each in events} if worker is not None)
    assert max(len(moment.at_work) for moment in out) == max(sent.values()) == 3
    assert any(moment.arriving for moment in told) and "on the way" in next(m for m in told if m.arriving).counted(16.0)


def test_the_map_turns_black_and_shows_who_is_where(world: World, shared_cache: Cache) -> None:
    result = run(world.drawn, Oracle(world, miss=0.3), shared_cache, world.questions[0], k=8, workers=3, max_rounds=3)
    atlas = Atlas(world.drawn, 8, 32, result.settings["max_depth"], cache=shared_cache)
    chart, seen = RunMap(atlas, 480), list(moments(list(result.trace.events)))
    grey = np.asarray(chart.paint(seen[0]))
    assert len(np.unique(grey.reshape(-1, 3), axis=0)) == 2 and not chart.has_frames
    chart.look()
    busy, last = next(moment for moment in seen if len(moment.at_work) == 3), seen[-1]
    plain, marked, black = (np.asarray(chart.paint(moment)).astype(int) for moment in (seen[0], busy, last))
    for visit in busy.at_work.values():
        row, column = divmod(visit.region[0], 8)
        cell = np.s_[row * 60 : row * 60 + 60, column * 60 : column * 60 + 60]
        assert (plain[cell] != marked[cell]).any()
    dead = dead_cells(chart._grid, last.memory.dead_zones)
    assert dead and f"{len(dead)} cells are ruled out" in chart.told(last)
    for index in range(64):
        row, column = divmod(index, 8)
        middle = black[row * 60 + 20 : row * 60 + 40, column * 60 + 20 : column * 60 + 40]
        assert (middle.max() == 0) == (index in dead)
    assert chart.paint(last).tobytes() == chart.paint(last).tobytes()


def test_frames_that_cannot_be_had_are_told(cache: Cache) -> None:
    chart = RunMap(Atlas(Gone(), 4, 32, 2, cache=cache), 480)
    chart.look()
    assert (
        chart.has_frames and chart.trouble.startswith("gone: <script>") and chart.paint(Snapshot()).size == (480, 480)
    )


class Page:
    """HTML that is shown as a display."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return self.html


def test_text_is_text_in_every_drawing(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(Spoken(), Spiteful(5), cache, **FORTY)
    output, pages = NotebookOutput(result.sheet.video, cache), list[tuple[str, str]]()
    monkeypatch.setattr(output, "_publish", lambda html, text, is_last=False: pages.append((html, text)))
    for number, moment in enumerate(moments(list(result.trace.events))):
        output.draw(moment)
        if not number:
            assert output.look() and "being looked up" in pages[0][0]
    output.leave(moment, None)
    assert "It was stopped here" in pages[-1][0]
    output.leave(moment, result)
    assert pages[-1] == (html.html(result), str(result))
    said = [shown(Page(html)).text for html, _ in pages]
    assert any("<script>document.title='run'</script>" in text for text in said)
    assert max(len(html) for html, _ in pages[:-1]) < 200_000
    assert all(letter.isprintable() or letter == "\n" for _, text in pages for letter in text)


LIVE = (
    """
import sys, threading; sys.path.insert(0, tests)
import atlaskit as ak
from atlaskit.viz.live import thread, notebook
from support.model_doubles import ATTACK, Looking, Spiteful
from support.stand_ins import Spoken
""",
    """
published, told, publish = [], threading.Event(), notebook.Output._publish
thread.FIRST_S = thread.EVERY_S = 0.0
def note(self, html, text, is_last=False):
    publish(self, html, text, is_last); published.append(is_last); told.set()
notebook.Output._publish = note
class Waiting(Spiteful):
    def complete(self, request, **options):
        if len(published) < 3:  # so that it is drawn while it happens
            told.clear(); told.wait(1 if published else 30)
        return super().complete(request, **options)
""",
    """
options = dict(vlm=Waiting(5), k=4, cell=32, workers=3, steps=5, budget=ak.Budget(calls=12), cache=ak.Cache(None))
result = ak.ask(Spoken(), ATTACK, ["a circle", ATTACK[:-1]], **options, show=True)
print(len(published), published.index(True) == len(published) - 1)
""",
    """
result.save(where + '/live.json'); open(where + '/static.html', 'w').write(result._repr_html_())
""",
    """
thread.FIRST_S = 60.0; published.clear()
again = ak.ask(Spoken(), ATTACK, ["a circle", ATTACK[:-1]], **options | dict(vlm=Spiteful(5)), show=True)
print(published, again.to_json() == result.to_json())
""",
    """
def no_ink(*_):
    published.extend([False] * 3); told.set()
    raise RuntimeError("no ink")
published.clear()
notebook.Output.draw = no_ink; thread.FIRST_S = 0.0
third = ak.ask(Spoken(), ATTACK, ["a circle", ATTACK[:-1]], **options | dict(cache=ak.Cache(None)), show=True)
print(third.to_json() == result.to_json())
""",
)


@pytest.fixture(scope="session")
def drawn_live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook in which runs were drawn, as papermill leaves it; everyone in it says what would run, if it could."""
    folder = tmp_path_factory.mktemp("live")
    tests = str(TESTS)
    notebook = write_notebook(folder / "live.ipynb", f"tests = {tests!r}\nwhere = {str(folder)!r}", *LIVE)
    return run_notebook(notebook, folder / "out")


def test_a_notebook_keeps_the_result_alone(drawn_live: Path) -> None:
    cells = [cell for cell in nbformat.read(drawn_live, as_version=4).cells if cell.cell_type == "code"]
    live, again, third = cells[3], cells[5], cells[6]
    static = (drawn_live.parents[1] / "static.html").read_text(encoding="utf-8")
    for cell in (live, again, third):
        (display,) = [output for output in cell.outputs if output.output_type == "display_data"]
        assert set(display.data) == {"text/html", "text/plain"}
        assert not [output for output in cell.outputs if output.output_type in ("execute_result", "error")]
    (kept,) = [output for output in live.outputs if output.output_type == "display_data"]
    assert kept.data["text/html"] == static, "the result's own static display took the place of all drawings"
    printed = ["".join(o.text for o in cell.outputs if o.get("name") == "stdout") for cell in (live, again, third)]
    count, is_last = printed[0].split()
    assert int(count) >= 3 and is_last == "True", "it was drawn on the way, and the result came last"
    assert printed[1:] == ["[True] True\n", "True\n"]
    assert [o.text for o in third.outputs if o.get("name") == "stderr"] == [
        "atlaskit: the run goes on, but cannot be drawn: no ink\n"
    ]
    assert drawn_live.stat().st_size < 1_000_000


def test_the_kernels_run_is_the_same_as_one_without_a_notebook(drawn_live: Path, cache: Cache) -> None:
    choices = ["a circle", ATTACK[:-1]]
    options = {"k": 4, "cell": 32, "workers": 3, "steps": 5, "budget": Budget(calls=12), "cache": cache}
    plain = ask(Spoken(), ATTACK, choices, vlm=Spiteful(5), **options)  # type: ignore[arg-type]
    assert (drawn_live.parents[1] / "live.json").read_text(encoding="utf-8") == plain.to_json() + "\n"


def test_moments_that_cannot_follow_are_told(cache: Cache) -> None:
    step = next(event for event in babbled(cache).trace if event.kind == "step")
    with pytest.raises(InputError, match="Worker 0 does something, and was never sent out"):
        reduce(Snapshot.then, [Event(step.kind, 1, 0, step.data)], Snapshot())
