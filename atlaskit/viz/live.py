"""The display of a run in progress: `ak.ask(..., show=True)`.

    open_display                            the display for this process
    run_so_far, counts_text, progress_text  a run in progress, and a line of text about it
    DrawingThread, Surface                  draws a run on a surface as its events arrive
    StatusLine                              the surface in a terminal
    NotebookOutput                          the surface in a notebook

In a notebook (JupyterLab or papermill), the display shows the root grid, in which dead cells turn
black, the evidence as it arrives, the latest steps, and the number of calls and tokens. When the
run ends, the result replaces it as static HTML. (Assign what `ask` returns: if `ask` is the last
line of a cell, the result is shown a second time.) In a terminal, one line on stderr shows the
progress and disappears at the end; the result is not printed.

The threads of the search only put events into a queue. The pause after a drawing grows with the
time that the drawing took, up to a second, so that the display is never far behind. The root grid
in a notebook may take long, so another thread draws it. A run that ends at once, because all
replies come from the cache, is drawn only once.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterable
from contextvars import copy_context
from itertools import starmap
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import clock
from atlaskit.models.protocol import Usage, is_stopped, now_s
from atlaskit.runs.events import Call, Event, Failure, Look, Report, Step
from atlaskit.runs.narrate import counted, percent, summary
from atlaskit.runs.replay import atlas_of
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video
from atlaskit.viz import html
from atlaskit.viz.html.markup import (
    SMALL_WIDTH_PX,
    Html,
    card,
    guarded,
    paragraph,
    table,
    title,
    untrusted,
)
from atlaskit.viz.html.reprs import evidence_table, view
from atlaskit.viz.walk.source import RunSource


def open_display(video: Video, cache: Cache) -> DrawingThread:
    """Return the display of a run: in a notebook if this process is its kernel, else on stderr.

    Args:
        video: The video that the run searches.
        cache: The cache that frames of the root grid are read from and written to.
    """
    if not _is_kernel():
        # The line shows the time that has passed, but only in a terminal.
        return DrawingThread(StatusLine(), video, cache, is_timed=sys.stderr.isatty())
    return DrawingThread(NotebookOutput(), video, cache)


def _is_kernel() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def run_so_far(events: Iterable[Event], video: Video, cache: Cache) -> RunSource:
    """Return a run in progress, given its events so far."""
    trace = Trace(tuple(events))
    return RunSource(record=trace, trace=trace, video=video, cache=cache)


def usage_of(run: RunSource) -> Usage:
    """Return the usage of all calls of a run so far, failed calls included."""
    return sum((event.usage for event in run.trace if isinstance(event, Call | Failure)), Usage())


def max_calls(run: RunSource) -> int | None:
    """Return the limit on the calls of a run; None if there is none."""
    budget = run.settings.get("budget")
    calls = budget.get("calls") if isinstance(budget, dict) else None
    return calls if isinstance(calls, int) else None


def pending(run: RunSource) -> int:
    """Return the number of frames that workers found and the Master has not merged yet."""
    merged = {(report.round, report.worker) for report in run.trace.of(Report)}
    count = 0
    for event in run.trace:
        if isinstance(event, Step | Look) and (event.round, event.worker) not in merged:
            count += len(event.found)
    return count


def progress_text(run: RunSource) -> str:
    """Return the round and the number of calls; "no call yet" before the first reply."""
    calls = usage_of(run).calls
    if not calls:
        return "no call yet"
    most = max_calls(run)
    limit = f" of at most {most:,}" if most else ""
    latest_round = max((event.round for event in run.trace), default=0)
    return f"round {latest_round} · {counted(calls, 'call')}{limit}"


def counts_text(run: RunSource) -> str:
    """Return counts of rounds, calls, tokens and frames, and the share of the dead zones.

    The run must have a video.
    """
    assert run.within is not None
    kept = counted(len(run.evidence), "evidence frame")
    waiting = pending(run)
    if waiting:
        kept = f"{kept} ({waiting} more pending)"
    return (
        f"{progress_text(run)} · {usage_of(run).tokens:,} tokens · {kept} "
        f"· dead zones cover {percent(run.memory.dead_zones.coverage(*run.within))}"
    )


FIRST_S = 0.25
"""Seconds before the first drawing."""
INTERVAL_S = 0.4
"""The fewest seconds between two drawings."""
MAX_SHARE = 0.2
"""About the largest share of the time that is spent on drawing: the pause after a drawing is the
time of the drawing divided by this, up to MAX_WAIT_S."""
MAX_WAIT_S = 1.0
"""The longest pause after a drawing, in seconds."""
FINISHED_WAIT_S = 5.0
"""Longest wait for a drawing in progress, after a run that finished."""
FAILED_WAIT_S = 0.5
"""Longest wait for a drawing in progress, after a run that failed."""


class Surface(Protocol):
    """The place where a run is drawn: a line in a terminal, or the output of a notebook's cell.

    One thread calls its methods at a time, except that `finish` may be called while a drawing
    hangs.
    """

    def draw(self, run: RunSource) -> None:
        """Replace the drawing by that of the run so far."""

    def finish(self, run: RunSource, result: Result | None) -> None:
        """Show what stays after the run; the result is None if an error ended the run."""


class DrawingThread:
    """A `RunDisplay` (`agents/run`) that draws on a surface from a thread of its own."""

    def __init__(
        self, surface: Surface, video: Video, cache: Cache, *, is_timed: bool = False
    ) -> None:
        """Prepare the drawing.

        Args:
            surface: Where the run is drawn.
            video: The video that the run searches.
            cache: The cache that its images are read from and written to.
            is_timed: Whether to draw again even if no event has arrived, since the drawing shows
                the time.
        """
        self._surface = surface
        self._is_timed = is_timed
        self._video = video
        self._cache = cache
        self._queued: SimpleQueue[Event] = SimpleQueue()
        self._events = list[Event]()
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def on_event(self, event: Event) -> None:
        """Queue an event; the first one, which precedes all workers, starts the thread."""
        self._queued.put(event)
        if self._thread is None:
            # The kernel finds the cell that an output belongs to by a context variable, so the
            # thread gets a copy of this context.
            self._thread = threading.Thread(
                target=copy_context().run, args=(self._draw,), daemon=True, name="drawing"
            )
            self._thread.start()

    def on_end(self, result: Result | None) -> None:
        """Show the result of the run, or its last state if there is no result.

        Args:
            result: The result; None if an error ended the run.

        Raises:
            Exception: Whatever the drawing thread raised during the run.
        """
        self._is_over.set()
        if self._thread is None:
            return  # the run failed before its first event
        self._thread.join(FAILED_WAIT_S if result is None else FINISHED_WAIT_S)
        try:
            self._take_events()
        finally:
            self._surface.finish(self._run, result)
        if self._error is not None:
            raise self._error

    def _draw(self) -> None:
        """Draw the run repeatedly until it ends; the body of the thread."""
        wait_s = FIRST_S
        try:
            while not self._is_over.wait(wait_s):
                started_s = time.monotonic()
                if self._take_events() or self._is_timed:
                    self._surface.draw(self._run)
                took_s = time.monotonic() - started_s
                wait_s = max(INTERVAL_S, min(took_s / MAX_SHARE, MAX_WAIT_S))
        except Exception as error:  # `on_end` raises it at the end of the run
            self._error = error

    @property
    def _run(self) -> RunSource:
        return run_so_far(self._events, self._video, self._cache)

    def _take_events(self) -> bool:
        """Take all queued events; return whether there were any."""
        before = len(self._events)
        while True:
            try:
                self._events.append(self._queued.get_nowait())
            except Empty:
                return len(self._events) > before


class StatusLine:
    """A line on stderr with the round, the calls, the frames found, and the time that has passed.

    There is no line in a log file, where it could not disappear, and none while a server is being
    installed or started, since that prints lines of its own.
    """

    def __init__(self) -> None:
        self._began_s = now_s()
        self._shown = ""

    def draw(self, run: RunSource) -> None:
        """Update the line."""
        if is_stopped():  # the clock: a server is being installed or started
            self._show("")
            return
        found = counted(len(run.evidence) + pending(run), "frame")
        seconds = clock(now_s() - self._began_s).partition(".")[0]
        self._show(f"{progress_text(run)} · {found} found · {seconds}")

    def finish(self, run: RunSource, result: Result | None) -> None:
        """Draw once more, then remove the line; `ask` returns the result, so it is not printed."""
        self.draw(run)
        self._show("")

    def _show(self, text: str) -> None:
        """Replace the line; a text that the terminal would break is cut off."""
        text = text[: shutil.get_terminal_size().columns - 1]
        if text != self._shown and sys.stderr.isatty():
            # Spaces cover the rest of the old text. To remove the line, the cursor also returns to
            # its start.
            print(
                f"\r{text:<{len(self._shown)}}",
                end="" if text else "\r",
                file=sys.stderr,
                flush=True,
            )
            self._shown = text


MAX_LATEST = 12
"""Most events in the table of the latest steps."""
COLUMNS = ("event", "kind", "round", "worker", "summary", "tokens")


class NotebookOutput:
    """A `Surface` that draws one run as the output of a notebook cell.

    The root grid may take seconds, as its frames may have to be decoded. So a thread draws it, and
    until then the newest text is shown with the last grid.
    """

    def __init__(self) -> None:
        self._handle: Any = None
        self._is_final = False
        self._lock = threading.Lock()
        self._run: RunSource | None = None
        self._root = Html("")
        self._root_zones: object = None  # the dead zones of the root grid last drawn or begun
        self._root_thread: threading.Thread | None = None

    def draw(self, run: RunSource) -> None:
        """Show the run so far."""
        self._run = run
        self._publish(_page(run, self._root), counts_text(run))
        zones = run.memory.dead_zones.intervals
        is_drawing = self._root_thread is not None and self._root_thread.is_alive()
        # Before the first call there is nothing to mark, and a run from the cache may end at once.
        if not is_drawing and zones != self._root_zones and usage_of(run).calls:
            self._root_zones = zones
            # The copy of the context serves as in `DrawingThread.on_event`.
            self._root_thread = threading.Thread(
                target=copy_context().run,
                args=(self._draw_root, run),
                daemon=True,
                name="drawing-root",
            )
            self._root_thread.start()

    def finish(self, run: RunSource, result: Result | None) -> None:
        """Show the result as notebooks show it; without a result, the last state of the run."""
        if result is not None:
            self._publish(html.html(result), str(result), is_final=True)
        elif len(run.trace):
            self._publish(_page(run, _root(run)), f"{counts_text(run)}; stopped", is_final=True)

    def _draw_root(self, run: RunSource) -> None:
        """Draw the root grid of a run, and show it with the newest text."""
        self._root = _root(run)
        newest = self._run or run
        self._publish(_page(newest, self._root), counts_text(newest))

    def _publish(self, page: str, text: str, is_final: bool = False) -> None:
        """Replace the output of the cell by a page, unless the output is final already.

        Args:
            page: The page.
            text: The text that is shown where HTML is not.
            is_final: Whether nothing may replace this output.
        """
        from IPython.display import display  # IPython is only needed in notebooks

        with self._lock:  # a drawing that hung must not replace the result
            if self._is_final:
                return
            self._is_final = is_final
            data = {"text/html": page, "text/plain": text}
            if self._handle is None:
                self._handle = display(  # type: ignore[no-untyped-call]
                    data, raw=True, display_id=True
                )
            else:
                self._handle.update(data, raw=True)


def _page(run: RunSource, root: Html) -> Html:
    """Return the display of a run in progress, with its root grid."""
    latest = list(enumerate(run.trace))[-MAX_LATEST:]
    return card(
        title("", "" if run.question is None else run.question.text),
        paragraph(counts_text(run)),
        root,
        evidence_table(run.evidence) if len(run.evidence) else "",
        table("Latest steps", COLUMNS, starmap(event_row, latest)),
    )


def _root(run: RunSource) -> Html:
    """Return the root grid, in which the cells that are ruled out so far are black."""

    def draw() -> Html:
        assert run.video is not None
        atlas = atlas_of(run.trace, run.video, run.cache)
        return view(atlas.view(atlas.start(dead_zones=run.memory.dead_zones)), SMALL_WIDTH_PX)

    return guarded("The root grid", draw)


def event_row(index: int, event: Event) -> tuple[object, ...]:
    """Return an event as a row of a table with COLUMNS."""
    tokens: int | str = ""
    if isinstance(event, Call | Failure):
        tokens = event.usage.tokens
    worker = "" if event.worker is None else event.worker
    return index, event.kind, event.round, worker, untrusted(summary(event), 200), tokens
