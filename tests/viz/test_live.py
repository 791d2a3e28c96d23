"""The display of a run while it happens: it shows the run and never changes or delays it."""

import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support.model_doubles import Babbler, Flaky, Looking
from support.stand_ins import FORTY_CALLS, MASTER_AND_WORKER, Flat, run

from atlaskit.caching.cache import Cache
from atlaskit.errors import Interrupted
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.viz import html, live
from atlaskit.viz.live import DrawingThread
from atlaskit.viz.walk.source import RunSource


def random_run(cache: Cache, seed: int = 3, **options: Any) -> Result:
    """Return a run of 40 calls of a model that replies at random and sometimes fails."""
    return run(Flat(), Flaky(Babbler(seed), 0.1, 3, MASTER_AND_WORKER), cache, **{**FORTY_CALLS, **options})


class RecordingSurface:
    """A surface that records what is drawn; each drawing waits for `release`, if given."""

    def __init__(self, release: threading.Event | None = None) -> None:
        self.drawn, self.finished = list[RunSource](), list[tuple[RunSource, Result | None]]()
        self.release, self.is_drawing = release, threading.Event()

    def draw(self, run: RunSource) -> None:
        self.is_drawing.set()
        if self.release is not None:
            self.release.wait(30)
        self.drawn.append(run)

    def finish(self, run: RunSource, result: Result | None) -> None:
        self.finished.append((run, result))


def draw_on(surface: live.Surface, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make runs with `show=True` draw on a surface, without pauses."""
    monkeypatch.setattr("atlaskit.agents.run.open_display", lambda *given: DrawingThread(surface, *given))
    monkeypatch.setattr(live, "FIRST_S", 0.0)
    monkeypatch.setattr(live, "INTERVAL_S", 0.0)


def test_show_does_not_change_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = random_run(Cache(tmp_path / "a"), show=True)
    assert capsys.readouterr().err == "", "a log file gets no line that could not disappear"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    displayed = random_run(Cache(tmp_path / "b"), show=True)
    again = random_run(Cache(tmp_path / "b"), show=True)
    assert plain.to_json() == displayed.to_json() == again.to_json()
    printed = capsys.readouterr()
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

    plain = random_run(Cache(tmp_path / "a"))
    surface = RecordingSurface()
    draw_on(surface, monkeypatch)
    if fails_at == "open_display":
        monkeypatch.setattr("atlaskit.agents.run.open_display", fail)
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


def test_a_drawing_that_hangs_does_not_delay_the_run(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    surface = RecordingSurface(release)
    draw_on(surface, monkeypatch)
    monkeypatch.setattr(live, "FINISHED_WAIT_S", 0.01)

    def wait_for_the_drawing(event: Event) -> None:
        assert surface.is_drawing.wait(30)

    result = random_run(cache, show=True, on_event=wait_for_the_drawing)
    assert surface.drawn == [] and surface.finished[0][1] is result
    release.set()


def test_a_notebook_keeps_the_result_or_the_last_state_of_a_stopped_run(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = list[dict[str, str]]()

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            published.append(data)

    def display(data: dict[str, str], **_: object) -> Handle:
        published.append(data)
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr("atlaskit.agents.run.open_display", lambda *given: DrawingThread(live.NotebookOutput(), *given))

    def stop(event: Event) -> None:
        if event.kind == "report":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"^stopped; \d+ replies are kept, run it again to go on$") as caught:
        random_run(cache, show=True, on_event=stop)
    assert caught.value._render_traceback_() == [str(caught.value)], "a notebook shows this, and nothing else"
    page = published[-1]["text/html"]
    assert 'alt="A contact sheet of' in page and "Latest steps" in page and "report" in page
    assert published[-1]["text/plain"].endswith("; stopped")
    result = random_run(cache, show=True)
    assert published[-1] == {"text/html": html.html(result), "text/plain": str(result)}
