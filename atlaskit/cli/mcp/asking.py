"""`Asking`: one `ask` for an assistant: its progress, its cancellation, its answer as text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.agents.settings import Search
from atlaskit.caching.cache import Cache
from atlaskit.cli.mcp.session import Sight, bounded_jpeg
from atlaskit.environment.grid import clock
from atlaskit.environment.question import Question
from atlaskit.errors import AtlasError, printable
from atlaskit.models.protocol import Model
from atlaskit.models.stopping import StoppableModel, Stopped
from atlaskit.runs.events import Event
from atlaskit.runs.result import Result
from atlaskit.video.video import Video
from atlaskit.viz.live import counts_text, max_calls, run_so_far, usage_of

PROGRESS_S = 0.5
"""Seconds between two reports of progress."""
MAX_REASONING_CHARS, MAX_DESCRIPTION_CHARS = 2_000, 300

Report = Callable[[float, float | None, str], Awaitable[None]]
"""Sends progress to the assistant: calls, the most calls, and a line of text."""


@dataclass
class Asking:
    """One question in progress."""

    video: Video
    question: Question
    budget: Budget
    cache: Cache
    search: Callable[[Model], Search]
    _events: list[Event] = field(default_factory=list, init=False)
    _model: StoppableModel | None = field(default=None, init=False)
    _is_cancelled: bool = field(default=False, init=False)

    async def answer(self, model: Callable[[], Model], report: Report) -> Sight:
        """Ask, and report progress while the run lasts.

        If the assistant cancels the call, the calls in flight are cancelled and no other is made.
        Replies that were paid stay cached, so the same question continues from there.

        Args:
            model: Returns the model; it may have to start, so it is called on the run's thread.
            report: Sends the progress.

        Raises:
            AtlasError: See `ask`.
        """
        answer: Sight | AtlasError
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._report, report)
            try:
                answer = await anyio.to_thread.run_sync(lambda: self._run(model()), abandon_on_cancel=True)
            except AtlasError as error:  # kept, as a task group wraps what leaves it
                answer = error
            finally:
                self._cancel()  # of no effect on a run that has ended
            tasks.cancel_scope.cancel()
        if isinstance(answer, AtlasError):
            raise answer
        return answer

    async def _report(self, report: Report) -> None:
        told: str | None = None
        while True:
            await anyio.sleep(PROGRESS_S)
            run = run_so_far(self._events, self.video, self.cache)
            text = counts_text(run)
            if self._events and text != told:
                told = text
                await report(float(usage_of(run).calls), max_calls(run), text)

    def _run(self, model: Model) -> Sight:
        self._model = vlm = StoppableModel(model)
        if self._is_cancelled:  # while the model was starting
            vlm.stop()
        how: dict[str, Any] = {"budget": self.budget, "cache": self.cache, "on_event": self._on_event}
        return sight_of(ask(self.video, self.question, vlm=vlm, search=self.search(vlm), **how))

    def _cancel(self) -> None:
        self._is_cancelled = True
        if self._model is not None:
            self._model.stop()

    def _on_event(self, event: Event) -> None:
        if self._is_cancelled:
            raise Stopped
        self._events.append(event)


def sight_of(result: Result) -> Sight:
    """Return a result as a text, and its evidence as an image."""
    lines = [str(result)]
    if result.reasoning:
        lines.append(f"  reasoning {printable(result.reasoning, MAX_REASONING_CHARS)}")
    lines += [
        f"  [{item.label}] {clock(item.timestamp_s)} {printable(item.description, MAX_DESCRIPTION_CHARS)}"
        for item in result.evidence
    ]
    return Sight("\n".join(lines), bounded_jpeg(result.sheet) if len(result.evidence) else None)
