"""The kernel's side of "ask about this region" in the explorer's page.

    Draft               a question as it stands in the page, and the line of code that asks it
    AskedRun            one question that a thread asks a model, and that can be stopped
    AskPanel            what the page asks for and is told

The panel writes the line of code that asks a question. With a model, it also asks it: a run has a
thread of its own, so that the notebook stays free, and marks its evidence and dead zones on the
explorer as they arrive. `ak.ask` is one of the METHODS of `evaluation`: this package imports no
agents.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import clock
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question, Span, as_question
from atlaskit.errors import InputError, reason
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.protocol import Model, StoppableModel, Stopped, now_s
from atlaskit.models.serving.server import as_model
from atlaskit.runs.events import Event
from atlaskit.runs.narrate import agent, summary
from atlaskit.runs.result import Result
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.live import DrawingThread, counts_text, run_so_far
from atlaskit.viz.walk.source import RunSource, open_run
from atlaskit.viz.widgets.explorer.describe import Marks
from atlaskit.viz.widgets.viewer import Channel

QUESTION_CHARS, MAX_CHOICES, LAST_S = 10_000, 200, 1e12
"""Most characters of the question and of a choice, most choices, and the last second of all."""


@dataclass(frozen=True)
class Draft:
    """What a person has typed: a question, its choices if it has any, and where to look."""

    text: str
    choices: tuple[str, ...] = ()
    within: Span | None = None
    """The interval of the video that is searched, in seconds; None for the whole video."""

    @classmethod
    def from_json(cls, message: dict[str, Any], duration_s: float) -> Draft:
        """Return the draft that a page sent.

        Args:
            message: What the page sent.
            duration_s: Duration of the video in seconds.

        Raises:
            InputError: The message is not of this form, or its interval not in the video.
        """
        match message:
            case {"question": str(text), "choices": [*choices], "within": None | [_, _] as within}:
                if (
                    all(isinstance(choice, str) for choice in choices)
                    and len(choices) <= MAX_CHOICES
                ):
                    lines = tuple(choice[:QUESTION_CHARS].strip() for choice in choices)
                    span = None if within is None else checked_span(within, duration_s)
                    return cls(text[:QUESTION_CHARS].strip(), tuple(filter(None, lines)), span)
        raise InputError(
            f"A question of the page needs a text, at most {MAX_CHOICES} choices, and an interval "
            f"or null; got {message!r:.120}."
        )

    def check(self) -> Question:
        """Return the question; raise InputError if it has no text, or one choice alone."""
        return as_question(self.text, self.choices or None, None)

    def line(self, video: str, vlm: str) -> str:
        """Return the line of code that asks this.

        Args:
            video: The expression for the video.
            vlm: The expression for the model.
        """
        arguments = [
            video,
            repr(self.text),
            *([f"choices={[*self.choices]!r}"] if self.choices else []),
            *([f"within={self.within!r}"] if self.within else []),
            f"vlm={vlm}",
            "show=True",
        ]
        return f"result = ak.ask({', '.join(arguments)})"

    def command(self, video: str, options: list[str]) -> str:
        """Return the shell's line that asks this.

        Args:
            video: The video's file.
            options: The command's options for it, the one that names the model last.
        """
        choices = [word for choice in self.choices for word in ("--choice", choice)]
        within = [] if self.within is None else ["--within", *map(str, self.within)]
        words = ["atlaskit", "ask", video, self.text, *choices, *within, *options]
        if self.text.startswith("-"):  # it must not be taken for an option
            words = [*words[:3], *words[4:], "--", self.text]
        return shlex.join(words)


def is_time(value: object) -> TypeGuard[float]:
    """Tell whether a value that a page or a file gives is a number of seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LAST_S


def checked_span(within: object, duration_s: float) -> Span:
    """Return an interval that a page sent, in whole milliseconds, cut to the video."""
    if isinstance(within, list) and len(within) == 2 and all(map(is_time, within)):
        start_s, end_s = (min(max(0.0, round(float(time_s), 3)), duration_s) for time_s in within)
        if start_s < end_s:
            return start_s, end_s
    raise InputError(
        "An interval needs a start before its end, both in the video, in seconds; got "
        f"{within!r:.80}."
    )


Ask = Callable[..., Result]
"""`ak.ask`."""


class AskedRun:
    """A run on a thread of its own. It follows the events, as the live display of a notebook does.

    Attributes:
        draft: What is asked.
        so_far: The run so far, as drawn last.
        result: What `ask` returned; None while the run goes on, or if it has no result.
        error: Why it has no result; None while it goes on, or if it has one.
        started_s: When it began, as `now_s` counts.
        is_stopping: Whether it has been told to stop.
    """

    def __init__(
        self,
        ask: Ask,
        draft: Draft,
        vlm: Model | str,
        video: Video,
        cache: Cache,
        on_change: Callable[[AskedRun], None],
    ) -> None:
        """Start a run.

        Args:
            ask: What answers the question: `ak.ask`.
            draft: What is asked.
            vlm: The model, or the words that name it.
            video: The video.
            cache: Where replies and images are stored.
            on_change: Called with the run when `so_far` has changed, and once after the end.
        """
        self.draft, self.so_far = draft, run_so_far((), video, cache)
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.is_stopping, self.is_over = False, False
        self._ask, self._vlm, self._video, self._cache, self._on_change = (
            ask,
            vlm,
            video,
            cache,
            on_change,
        )
        self._model: StoppableModel | None = None
        self.started_s = now_s()
        self._display = DrawingThread(self, video, cache)
        self._thread = threading.Thread(target=self._run, daemon=True, name="atlaskit-ask")
        self._thread.start()

    def stop(self) -> None:
        """End the run soon, without a result; calls in flight are cancelled."""
        self.is_stopping = True
        if self._model is not None:
            self._model.stop()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until the run is over."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        result, error = None, None
        try:
            self._model = StoppableModel(as_model(self._vlm, self._cache))
            within = {} if self.draft.within is None else {"within": self.draft.within}
            self._check()
            result = self._ask(
                self._video,
                self.draft.text,
                [*self.draft.choices] or None,
                vlm=self._model,
                cache=self._cache,
                on_event=self._follow,
                **within,
            )
        except BaseException as caught:  # a thread has no caller: the page shows the error
            error = Stopped() if self.is_stopping else caught
        self._end(result, error)

    def _end(self, result: Result | None, error: BaseException | None) -> None:
        with suppress(
            Exception
        ):  # a drawing that failed does not hide the result, or the run's own error
            self._display.on_end(result)  # draws the last events, while the run counts as going on
        self.result, self.error, self.is_over = result, error, True
        self._on_change(self)

    def _follow(self, event: Event) -> None:
        self._check()
        self._display.on_event(event)

    def _check(self) -> None:
        """Raise Stopped if the run has been told to stop; from `on_event`, this ends it."""
        if self.is_stopping:
            raise Stopped

    def draw(self, run: RunSource) -> None:
        """Keep the run so far; called by the thread that follows the events."""
        self.so_far = run
        self._on_change(self)

    def finish(self, run: RunSource, result: Result | None) -> None:
        """Keep the whole run."""
        self.draw(run)


MAX_EVIDENCE, MAX_STEPS = 60, 12
"""Most evidence frames that are listed, and most steps: the latest."""
MAX_CHARS = 1_000
"""Characters of one text of a run."""
MAX_QUESTIONS, ASKED_KINDS = 200, ("choice", "open")
"""Most questions that are offered, and the kinds that the page can ask."""
LEFT_S = 10.0
"""Seconds for which a run goes on after its page is gone, as a page that is loaded again."""
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

    def __init__(self, explorer: Explorer) -> None:
        """Prepare a panel.

        Args:
            explorer: The explorer whose page asks. Its `vlm` is asked, `marks` show what a run has
                found, and `results` get the result.
        """
        self._explorer = explorer
        self._run: AskedRun | None = None
        self._lock, self._marked = threading.Lock(), object()
        self._goes_on, self._is_left = False, False
        self._channel = Channel(self._open_run, self._send_steps)

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was for this panel."""
        if message.get("panel") == "steps":
            self._channel.receive(message)
            return True
        if message.get("panel") != "ask":
            return False
        match message.get("want"):
            case "left":
                self.leave()
            case "go on":
                self._goes_on = message.get("goes_on") is True
            case "here":
                self._is_left = False
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

    @property
    def is_asking(self) -> bool:
        """Whether a run is going on."""
        return self._run is not None and not self._run.is_over

    def leave(self) -> None:
        """Stop the run soon, as its page is gone, unless a page takes it up or it is to go on."""
        run = self._run
        if run is None or run.is_over or self._goes_on:
            return
        self._is_left = True

        def stop() -> None:
            if self._is_left:
                run.stop()

        timer = threading.Timer(LEFT_S, stop)
        timer.daemon = True
        timer.start()

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
        listed = [
            {"question": each.text, "choices": [*each.choices]}
            for each in known
            if each.kind in ASKED_KINDS
        ]
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
                ask, vlm = METHODS["video-rlm"], self._explorer.vlm
                self._run = AskedRun(ask, draft, vlm, atlas.video, atlas.cache, self._follow)
        except InputError as error:
            return self._send({"is": "problem", "words": plain_text(reason(error), MAX_CHARS)})
        return self._send_state()

    def _follow(self, run: AskedRun) -> None:
        """Mark what a run has found, and tell the page; called when the run has changed."""
        if run.is_over and run.result is not None:
            self._explorer.results.append(run.result)
            self._mark(Marks(run.result.evidence, run.result.dead_zones, run.result.coverage))
        else:
            self._mark(Marks.of(run.so_far))
        self._send_state()

    def _mark(self, marks: Marks) -> None:
        """Redraw the explorer's marks if they are others than before."""
        seen = marks.coverage and marks.coverage.seen
        marked = (
            [(item.label, item.timestamp_s) for item in marks.evidence],
            marks.dead_zones.intervals,
            seen,
        )
        if marked != self._marked:
            self._marked, self._explorer.marks = marked, marks
            self._explorer.refresh()

    def _send_state(self) -> None:
        """Send what the panel shows: the run that goes on, or what became of the last one."""
        run, last = self._run, self._explorer.results[-1] if self._explorer.results else None
        hint = "" if self._explorer.vlm is not None else self._no_model
        state: dict[str, Any] = {
            "is": "state",
            "phase": "idle",
            "hint": hint,
            "goes_on": self._goes_on,
        }
        if run is not None and not run.is_over:
            state |= {
                "phase": "stopping" if run.is_stopping else "running",
                "seconds": round(now_s() - run.started_s),
            }
            state |= {"question": run.draft.text, **_progress(run.so_far)}
        elif run is not None and run.result is None:
            is_stopped = isinstance(run.error, Stopped)
            failure = f"The run failed: {reason(run.error)}" if run.error is not None else ""
            words = (
                "You stopped the run; what it had found stays marked." if is_stopped else failure
            )
            state |= {
                "phase": "stopped" if is_stopped else "failed",
                "words": plain_text(words, MAX_CHARS),
            }
            state |= {"question": run.draft.text, **_progress(run.so_far)}
        elif last is not None:
            rests_on = f"Evidence: {last.without_evidence}." if last.without_evidence else ""
            reasoning = plain_text(" ".join(filter(None, (last.reasoning, rests_on))), MAX_CHARS)
            told = self._open_run(len(self._explorer.results) - 1)
            words = " ".join(filter(None, (told.answer_line, last.failure)))
            state |= {
                "phase": "answered",
                "words": plain_text(words, MAX_CHARS),
                "reasoning": reasoning,
            }
            state |= _progress(told)
            state |= {"run": len(self._explorer.results) - 1, "question": last.question.text}
        self._send({**state, "question": plain_text(state.get("question", ""), MAX_CHARS)})

    def _open_run(self, number: int) -> RunSource:
        if not 0 <= number < len(self._explorer.results):
            raise InputError(
                f"There is no run {number}: this explorer has {len(self._explorer.results)}."
            )
        atlas = self._explorer.atlas
        return open_run(self._explorer.results[number], atlas.video, atlas.cache)

    def _send(self, message: dict[str, Any]) -> None:
        self._explorer.send({"panel": "ask", **message})

    def _send_steps(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        self._explorer.send({"panel": "steps", **message}, buffers)


def _progress(run: RunSource) -> dict[str, Any]:
    return {
        "counts": counts_text(run),
        "steps": [
            [agent(event), plain_text(summary(event), MAX_CHARS)]
            for event in run.trace.events[-MAX_STEPS:]
        ],
        "evidence": [_evidence(item) for item in [*run.evidence][-MAX_EVIDENCE:]],
    }


def _evidence(item: Evidence) -> dict[str, Any]:
    return {
        "label": plain_text(item.label, 8),
        "time_s": item.timestamp_s,
        "time": clock(item.timestamp_s),
        "words": plain_text(item.description, 200),
    }
