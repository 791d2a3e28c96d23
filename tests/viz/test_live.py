"""The display of a run while it happens: it shows the run and never changes or delays it."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from support.model_doubles import Babbler, Flaky, Looking, Spiteful
from support.notebooks import write_notebook
from support.paths import TESTS
from support.stand_ins import FORTY_CALLS, MASTER_AND_WORKER, Flat, ScriptedAttackVideo, checked_html, run

from atlaskit.agents.run import Run
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.mdp import dead_cells
from atlaskit.errors import InputError
from atlaskit.experiments.notebook import run_notebook
from atlaskit.runs.events import Event
from atlaskit.runs.replay import memory
from atlaskit.runs.result import Result
from atlaskit.viz import html
from atlaskit.viz.live import thread
from atlaskit.viz.live.map import RunMap
from atlaskit.viz.live.notebook import NotebookOutput
from atlaskit.viz.live.snapshots import Snapshot
from atlaskit.viz.live.thread import DrawingThread


def random_run(cache: Cache, seed: int = 3, **options: Any) -> Result:
    """Return a run of 40 calls of a model that replies at random and sometimes fails."""
    return run(Flat(), Flaky(Babbler(seed), 0.1, 3, MASTER_AND_WORKER), cache, **{**FORTY_CALLS, **options})


def snapshots(events: list[Event]) -> Iterator[Snapshot]:
    """Yield the snapshot after each event."""
    snapshot = Snapshot()
    for event in events:
        yield (snapshot := snapshot.after_event(event))


class RecordingSurface:
    """A surface that records what is drawn; each drawing waits for `release`, if given."""

    def __init__(self, release: threading.Event | None = None) -> None:
        self.drawn, self.finished = list[Snapshot](), list[tuple[Snapshot, Result | None]]()
        self.release, self.is_drawing = release, threading.Event()

    def draw(self, snapshot: Snapshot) -> None:
        self.is_drawing.set()
        if self.release is not None:
            self.release.wait(30)
        self.drawn.append(snapshot)

    def load(self) -> bool:
        return True

    def finish(self, snapshot: Snapshot, result: Result | None) -> None:
        self.finished.append((snapshot, result))


def draw_on(surface: RecordingSurface, monkeypatch: pytest.MonkeyPatch, first_s: float = 0.0) -> None:
    """Make runs with `show=True` draw on a surface, without pauses."""
    monkeypatch.setattr(Run, "open_display", lambda video, cache: DrawingThread(surface))
    monkeypatch.setattr(thread, "FIRST_S", first_s)
    monkeypatch.setattr(thread, "INTERVAL_S", 0.0)


def test_show_does_not_change_the_result(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plain = random_run(Cache(tmp_path / "a"))
    displayed = random_run(Cache(tmp_path / "b"), show=True)
    again = random_run(Cache(tmp_path / "b"), show=True)
    assert plain.to_json() == displayed.to_json() == again.to_json()
    printed = capfd.readouterr()
    lines = [line.strip() for line in printed.err.split("\r") if line.strip()]
    assert printed.out == "" and len(lines) >= 2, "a terminal shows one line, on stderr"
    for line in lines:
        assert re.fullmatch(r"(no call yet|round \d+ · \d+ calls? of at most 40) · \d+ frames? found · \d+:\d\d", line)
    assert printed.err.endswith("\r"), "the line disappears"


@pytest.mark.parametrize("fails_at", ["open_display", "on_event", "on_end", "draw"])
def test_an_error_in_drawing_does_not_change_the_run(
    fails_at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> Any:
        raise RuntimeError("no ink\x1b[31m")

    plain, surface = random_run(Cache(tmp_path / "a")), RecordingSurface()
    draw_on(surface, monkeypatch)
    if fails_at == "open_display":
        monkeypatch.setattr(Run, "open_display", fail)
    else:
        monkeypatch.setattr(RecordingSurface if fails_at == "draw" else DrawingThread, fails_at, fail)
    model = Flaky(Looking(Babbler(3)), 0.1, 3, MASTER_AND_WORKER)
    displayed = run(Flat(), model, Cache(tmp_path / "b"), show=True, **FORTY_CALLS)
    assert displayed.to_json() == plain.to_json()
    message = capfd.readouterr().err
    assert message == "atlaskit: the run goes on, but cannot be drawn: no ink�[31m\n"
    assert [result for _, result in surface.finished] == ([displayed] if fails_at == "draw" else []), (
        "a failed drawing does not prevent the result from being shown"
    )


def test_on_event_receives_all_events_of_a_displayed_run(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    surface, events = RecordingSurface(), list[Event]()
    draw_on(surface, monkeypatch)
    result = random_run(cache, show=True, on_event=events.append)
    assert sorted(map(repr, events)) == sorted(map(repr, result.trace.events))
    ((last, final_result),) = surface.finished
    assert final_result is result and last == list(snapshots(events))[-1], "the last state is always drawn"


def test_a_drawing_that_hangs_does_not_delay_the_run(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    surface = RecordingSurface(release=threading.Event())
    draw_on(surface, monkeypatch)
    monkeypatch.setattr(thread, "FINISHED_WAIT_S", 0.01)
    model = Babbler(3)
    answer = model.complete
    monkeypatch.setattr(model, "complete", lambda *a, **k: (surface.is_drawing.wait(30), answer(*a, **k))[1])
    result = run(Flat(), model, cache, show=True, **FORTY_CALLS)
    assert surface.is_drawing.is_set() and surface.drawn == [] and surface.finished[0][1] is result
    assert surface.release is not None
    surface.release.set()


def test_an_error_that_ends_a_run_is_raised(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    surface = RecordingSurface()
    draw_on(surface, monkeypatch)

    def stop(event: Event) -> None:
        if event.kind == "probe":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        random_run(cache, show=True, on_event=stop)
    ((snapshot, result),) = surface.finished
    assert result is None and snapshot.calls > 0
    surface.finished.clear()
    with pytest.raises(InputError, match="plateau"):
        random_run(cache, show=True, plateau=9)
    assert surface.finished == [], "a run that never started is not drawn"


@pytest.mark.parametrize("seed", range(4, 8))
def test_the_last_snapshot_agrees_with_the_result(cache: Cache, seed: int) -> None:
    events = list[Event]()
    result = random_run(cache, seed, on_event=events.append)
    of_trace, live = list(snapshots(list(result.trace.events))), list(snapshots(events))
    last = of_trace[-1]
    assert last == live[-1], "the order in which workers report does not matter"
    assert (last.calls, last.tokens, last.round) == (result.total.calls, result.total.tokens, result.rounds)
    assert last.memory == memory(result.trace) and last.evidence == result.evidence
    assert last.is_over and not last.visits and last.max_calls == 40
    exploring = [snapshot for snapshot in of_trace if snapshot.visits]
    sent = Counter(number for number, worker in {(each.round, each.worker) for each in events} if worker is not None)
    assert max(len(snapshot.visits) for snapshot in exploring) == max(sent.values()) == 3
    first_pending = next(snapshot for snapshot in of_trace if snapshot.pending)
    assert "more pending" in first_pending.counts_text(16.0)


def test_the_map_shows_dead_cells_and_workers(world: World, shared_cache: Cache) -> None:
    result = run(world.drawn, Oracle(world, miss=0.3), shared_cache, world.questions[0], k=8, workers=3, max_rounds=3)
    atlas = Atlas(world.drawn, 8, 32, result.settings["max_depth"], cache=shared_cache)
    run_map, states = RunMap(atlas, 480), list(snapshots(list(result.trace.events)))
    without_frames = np.asarray(run_map.draw(states[0]))
    assert len(np.unique(without_frames.reshape(-1, 3), axis=0)) == 2 and not run_map.is_loaded
    run_map.load()
    busy, last = next(state for state in states if len(state.visits) == 3), states[-1]
    plain, marked, final = (np.asarray(run_map.draw(state)).astype(int) for state in (states[0], busy, last))
    for visit in busy.visits.values():
        row, column = divmod(visit.region[0], 8)
        cell = np.s_[row * 60 : row * 60 + 60, column * 60 : column * 60 + 60]
        assert (plain[cell] != marked[cell]).any()
    dead = dead_cells(run_map.grid, last.memory.dead_zones)
    assert dead and f"{len(dead)} dead cells (black)" in run_map.describe(last)
    for index in range(64):
        row, column = divmod(index, 8)
        middle = final[row * 60 + 20 : row * 60 + 40, column * 60 + 20 : column * 60 + 40]
        assert (middle.max() == 0) == (index in dead)
    assert run_map.draw(last).tobytes() == run_map.draw(last).tobytes()


class HtmlDisplay:
    """An object that displays itself as given HTML."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return self.html


def test_hostile_text_stays_text_in_every_drawing(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(ScriptedAttackVideo(), Spiteful(5), cache, **FORTY_CALLS)
    output, pages = NotebookOutput(result.sheet.video, cache), list[tuple[str, str]]()
    monkeypatch.setattr(output, "_publish", lambda html, text, is_final=False: pages.append((html, text)))
    for number, snapshot in enumerate(snapshots(list(result.trace.events))):
        output.draw(snapshot)
        if not number:
            assert output.load() and "Loading frames" in pages[0][0]
    output.finish(snapshot, None)
    assert "The run was stopped" in pages[-1][0]
    output.finish(snapshot, result)
    assert pages[-1] == (html.html(result), str(result))
    texts = [checked_html(HtmlDisplay(html)).text for html, _ in pages]
    assert any("<script>document.title='run'</script>" in text for text in texts)
    assert max(len(html) for html, _ in pages[:-1]) < 200_000
    assert all(character.isprintable() or character == "\n" for _, text in pages for character in text)


NOTEBOOK_CELLS = (
    """
import sys, threading; sys.path.insert(0, tests)
import atlaskit as ak
from atlaskit.viz.live import thread, notebook
from support.model_doubles import ATTACK, Looking, Spiteful
from support.stand_ins import ScriptedAttackVideo
""",
    """
published, has_drawn, publish = [], threading.Event(), notebook.NotebookOutput._publish
thread.FIRST_S = thread.INTERVAL_S = 0.0
def record(self, html, text, is_final=False):
    publish(self, html, text, is_final); published.append(is_final); has_drawn.set()
notebook.NotebookOutput._publish = record
class Waiting(Spiteful):
    def complete(self, request, **options):
        if len(published) < 3:  # so that the run is drawn before it ends
            has_drawn.clear(); has_drawn.wait(1 if published else 30)
        return super().complete(request, **options)
""",
    """
search = ak.Search(k=4, cell=32, steps=5)
options = dict(vlm=Waiting(5), search=search, workers=3, budget=ak.Budget(calls=12), cache=ak.Cache(None))
result = ak.ask(ScriptedAttackVideo(), ATTACK, ["a circle", ATTACK[:-1]], **options, show=True)
print(len(published), published.index(True) == len(published) - 1)
""",
    """
result.save(where + '/live.json'); open(where + '/static.html', 'w').write(result._repr_html_())
""",
    """
thread.FIRST_S = 60.0; published.clear()
again = ak.ask(ScriptedAttackVideo(), ATTACK, ["a circle", ATTACK[:-1]], **options | dict(vlm=Spiteful(5)), show=True)
print(published, again.to_json() == result.to_json())
""",
    """
def fail(*_):
    published.extend([False] * 3); has_drawn.set()
    raise RuntimeError("no ink")
published.clear()
notebook.NotebookOutput.draw = fail; thread.FIRST_S = 0.0
third = ak.ask(ScriptedAttackVideo(), ATTACK, ["a circle", ATTACK[:-1]],
    **options | dict(cache=ak.Cache(None)), show=True)
print(third.to_json() == result.to_json())
""",
)


@pytest.fixture(scope="session")
def executed_notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A notebook, executed by papermill, that displays runs whose texts are all hostile."""
    folder = tmp_path_factory.mktemp("live")
    parameters = f"tests = {str(TESTS)!r}\nwhere = {str(folder)!r}"
    return run_notebook(write_notebook(folder / "live.ipynb", parameters, *NOTEBOOK_CELLS), folder / "out")


@pytest.mark.long
def test_a_saved_notebook_holds_only_the_result(executed_notebook: Path) -> None:
    cells = [cell for cell in nbformat.read(executed_notebook, as_version=4).cells if cell.cell_type == "code"]
    live, again, third = cells[3], cells[5], cells[6]
    static = (executed_notebook.parents[1] / "static.html").read_text(encoding="utf-8")
    for cell in (live, again, third):
        (display,) = [output for output in cell.outputs if output.output_type == "display_data"]
        assert set(display.data) == {"text/html", "text/plain"}
        assert not [output for output in cell.outputs if output.output_type in ("execute_result", "error")]
    (final,) = [output for output in live.outputs if output.output_type == "display_data"]
    assert final.data["text/html"] == static, "the static display of the result replaced all drawings"
    printed = ["".join(o.text for o in cell.outputs if o.get("name") == "stdout") for cell in (live, again, third)]
    count, is_last = printed[0].split()
    assert int(count) >= 3 and is_last == "True", "the run was drawn before its result"
    assert printed[1:] == ["[True] True\n", "True\n"]
    assert [o.text for o in third.outputs if o.get("name") == "stderr"] == [
        "atlaskit: the run goes on, but cannot be drawn: no ink\n"
    ]
    assert executed_notebook.stat().st_size < 1_000_000
