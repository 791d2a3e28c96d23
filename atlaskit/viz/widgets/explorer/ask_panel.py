"""`AskPanel`: the kernel's side of "ask about this region" in the explorer's page.

The panel writes the line of code that asks a question. With a model, it also asks it: a run has a
thread of its own, so that the notebook stays free, and marks its evidence and dead zones on the
explorer as they arrive. `import atlaskit` gives it `ak.ask` (`attach`), since this package does not
import agents.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import clock
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question
from atlaskit.errors import InputError, reason
from atlaskit.models.protocol import Model, Stopped, now_s
from atlaskit.runs.narrate import agent, summary
from atlaskit.runs.result import Result
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.live.progress import counts_text
from atlaskit.viz.walk.source import RunSource, open_run
from atlaskit.viz.widgets.channel import Channel
from atlaskit.viz.widgets.explorer.asked_run import Ask, AskedRun
from atlaskit.viz.widgets.explorer.describe import Marks
from atlaskit.viz.widgets.explorer.drafts import Draft

MAX_EVIDENCE, MAX_STEPS = 60, 12
"""Most evidence frames that are listed, and most steps: the latest."""
MAX_CHARS = 1_000
"""Characters of one text of a run."""
MAX_QUESTIONS, ASKED_KINDS = 200, ("choice", "open")
"""Most questions that are offered, and the kinds that the page can ask."""
STANDS_FOR = "In this line, `video` stands for your video, and `vlm` for your model."
NO_MODEL = "To ask from here, give the explorer a model: ak.widgets.GridExplorer(video, vlm=vlm)."
NO_MODEL_IN_SHELL = "To ask from here, start it with a model: atlaskit explore VIDEO --model MODEL."


@runtime_checkable
class KnowsQuestions(Protocol):
    """A model that can answer certain questions and no others, as an oracle."""

    @property
    def questions(self) -> Sequence[Question]:
        """The questions that it can answer."""


class Explorer(Protocol):
    """What a panel uses of the explorer."""

    atlas: Atlas
    vlm: Model | str | None
    command: tuple[str, list[str]] | None
    marks: Marks
    results: list[Result]

    def refresh(self) -> None:
        """Draw the marks in the page again."""

    def send(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        """Send a message to the page, from any thread."""


class AskPanel:
    """Writes the line that asks a question, and asks it if there is a model; one run at a time."""

    ask: ClassVar[Ask]
    """`ak.ask`, which `attach` sets."""

    def __init__(self, explorer: Explorer) -> None:
        """Prepare a panel.

        Args:
            explorer: The explorer whose page asks. Its `vlm` is asked, `marks` show what a run has
                found, and `results` get the result.
        """
        self._explorer = explorer
        self._run: AskedRun | None = None
        self._lock, self._marked = threading.Lock(), object()
        self._channel = Channel(self._open_run, self._send_steps)

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was for this panel."""
        if message.get("panel") == "steps":
            self._channel.receive(message)
            return True
        if message.get("panel") != "ask":
            return False
        match message.get("want"):
            case "here":
                self._send_questions()
                self._send_state()
            case "line":
                self._send_line(message)
            case "ask":
                self._start(message)
            case "stop" if self._run is not None:
                self._run.stop()
                self._send_state()
        return True

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until no run is going on."""
        if self._run is not None:
            self._run.wait(timeout_s)

    def _send_line(self, message: dict[str, Any]) -> None:
        try:
            draft = Draft.from_json(message, self._explorer.atlas.video.duration_s)
        except InputError as error:
            return self._send({"is": "problem", "words": plain_text(reason(error), MAX_CHARS)})
        explorer = self._explorer
        if explorer.command is not None:
            return self._send({"is": "line", "line": draft.command(*explorer.command), "note": ""})
        line = draft.line("video", repr(explorer.vlm) if isinstance(explorer.vlm, str) else "vlm")
        return self._send({"is": "line", "line": line, "note": STANDS_FOR})

    @property
    def _no_model(self) -> str:
        return NO_MODEL if self._explorer.command is None else NO_MODEL_IN_SHELL

    def _send_questions(self) -> None:
        """Offer the questions that the model can answer if it can answer no others."""
        vlm = self._explorer.vlm
        known: Sequence[Question] = vlm.questions if isinstance(vlm, KnowsQuestions) else ()
        # The page asks with choices or for a text; for a question of another kind, it has no field.
        listed = [{"question": each.text, "choices": [*each.choices]} for each in known if each.kind in ASKED_KINDS]
        self._send({"is": "questions", "questions": listed[:MAX_QUESTIONS]})

    def _start(self, message: dict[str, Any]) -> None:
        """Start a run, unless one is going on, or the question breaks a rule."""
        atlas = self._explorer.atlas
        try:
            draft = Draft.from_json(message, atlas.video.duration_s)
            draft.check()
            if self._explorer.vlm is None:
                raise InputError(self._no_model)
            with self._lock:
                if self._run is not None and not self._run.is_over:
                    return self._send_state()
                self._run = AskedRun(self.ask, draft, self._explorer.vlm, atlas.video, atlas.cache, self._follow)
        except InputError as error:
            return self._send({"is": "problem", "words": plain_text(reason(error), MAX_CHARS)})
        return self._send_state()

    def _follow(self, run: AskedRun) -> None:
        """Mark what a run has found, and tell the page; called when the run has changed."""
        if run.is_over and run.result is not None:
            self._explorer.results.append(run.result)
            self._mark(Marks(run.result.evidence, run.result.dead_zones))
        else:
            self._mark(Marks(run.so_far.evidence, run.so_far.memory.dead_zones))
        self._send_state()

    def _mark(self, marks: Marks) -> None:
        """Redraw the explorer's marks if they are others than before."""
        marked = [(item.label, item.timestamp_s) for item in marks.evidence], marks.dead_zones.intervals
        if marked != self._marked:
            self._marked, self._explorer.marks = marked, marks
            self._explorer.refresh()

    def _send_state(self) -> None:
        """Send what the panel shows: the run that goes on, or what became of the last one."""
        run, last = self._run, self._explorer.results[-1] if self._explorer.results else None
        hint = "" if self._explorer.vlm is not None else self._no_model
        state: dict[str, Any] = {"is": "state", "phase": "idle", "hint": hint}
        if run is not None and not run.is_over:
            state |= {"phase": "stopping" if run.is_stopping else "running", "seconds": round(now_s() - run.started_s)}
            state |= {"question": run.draft.text, **_progress(run.so_far)}
        elif run is not None and run.result is None:
            is_stopped = isinstance(run.error, Stopped)
            failure = f"The run failed: {reason(run.error)}" if run.error is not None else ""
            words = "You stopped the run; what it had found stays marked." if is_stopped else failure
            state |= {"phase": "stopped" if is_stopped else "failed", "words": plain_text(words, MAX_CHARS)}
            state |= {"question": run.draft.text, **_progress(run.so_far)}
        elif last is not None:
            rests_on = f"Evidence: {last.without_evidence}." if last.without_evidence else ""
            reasoning = plain_text(" ".join(filter(None, (last.reasoning, rests_on))), MAX_CHARS)
            told = self._open_run(len(self._explorer.results) - 1)
            words = " ".join(filter(None, (told.answer_line, last.failure)))
            state |= {"phase": "answered", "words": plain_text(words, MAX_CHARS), "reasoning": reasoning}
            state |= _progress(told)
            state |= {"run": len(self._explorer.results) - 1, "question": last.question.text}
        self._send({**state, "question": plain_text(state.get("question", ""), MAX_CHARS)})

    def _open_run(self, number: int) -> RunSource:
        if not 0 <= number < len(self._explorer.results):
            raise InputError(f"There is no run {number}: this explorer has {len(self._explorer.results)}.")
        atlas = self._explorer.atlas
        return open_run(self._explorer.results[number], atlas.video, atlas.cache)

    def _send(self, message: dict[str, Any]) -> None:
        self._explorer.send({"panel": "ask", **message})

    def _send_steps(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        self._explorer.send({"panel": "steps", **message}, buffers)


def attach(ask: Ask) -> None:
    """Register `ak.ask` as what answers the questions of the page."""
    AskPanel.ask = staticmethod(ask)


def _progress(run: RunSource) -> dict[str, Any]:
    return {
        "counts": counts_text(run),
        "steps": [[agent(event), plain_text(summary(event), MAX_CHARS)] for event in run.trace.events[-MAX_STEPS:]],
        "evidence": [_evidence(item) for item in [*run.evidence][-MAX_EVIDENCE:]],
    }


def _evidence(item: Evidence) -> dict[str, Any]:
    return {
        "label": plain_text(item.label, 8),
        "time_s": item.timestamp_s,
        "time": clock(item.timestamp_s),
        "words": plain_text(item.description, 200),
    }
