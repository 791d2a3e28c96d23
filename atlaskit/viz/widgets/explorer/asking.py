"""The kernel's side of the panel "ask about this region" in the explorer's page.

    Draft               a question as typed in the page, and the line of code that asks it
    AskedRun            one question that a thread asks a model, and that can be stopped
    AskPanel            the questions of the page, and their answers

The panel writes the line of code that asks a question. With a model, it also runs this line, on a
thread of its own, so that the notebook stays free. The evidence and dead zones of the run are
marked in the explorer as they arrive. `ak.ask` is taken from the METHODS of `evaluation`, since
this package does not import the agents.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeGuard

from atlaskit.caching.cache import Cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import clock
from atlaskit.environment.memory import Evidence
from atlaskit.environment.question import Question, Span, as_question
from atlaskit.errors import InputError, reason
from atlaskit.evaluation.baselines import METHODS
from atlaskit.models.protocol import Model, StoppableModel, Stopped, now_s
from atlaskit.models.serving.server import Server, as_model
from atlaskit.runs.events import Event
from atlaskit.runs.narrate import agent, summary
from atlaskit.runs.result import Result
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.live import DrawingThread, counts_text, run_so_far
from atlaskit.viz.walk.source import RunSource, open_run
from atlaskit.viz.widgets.explorer.choosing import ORACLE, ModelChoice, known_questions
from atlaskit.viz.widgets.explorer.describe import Marks
from atlaskit.viz.widgets.viewer import Channel

QUESTION_CHARS = 10_000
"""The most characters of a question, and of a choice."""
MAX_CHOICES = 200
"""The most choices of a question."""
LAST_S = 1e12
"""Numbers of seconds are below this."""


@dataclass(frozen=True)
class Draft:
    """What a person has typed: a question, its choices if it has any, and where to look."""

    text: str
    choices: tuple[str, ...] = ()
    within: Span | None = None
    """The interval of the video that is searched, in seconds; None for the whole video."""
    is_follow_up: bool = False
    """Whether it may use what earlier questions found."""

    @classmethod
    def from_json(cls, message: dict[str, Any], duration_s: float) -> Draft:
        """Return the draft that a page sent.

        Args:
            message: What the page sent.
            duration_s: Duration of the video in seconds.

        Raises:
            InputError: The message is not of this form, or its interval is not in the video.
        """
        match message:
            case {"question": str(text), "choices": [*choices], "within": None | [_, _] as within}:
                if (
                    all(isinstance(choice, str) for choice in choices)
                    and len(choices) <= MAX_CHOICES
                ):
                    stripped = [choice[:QUESTION_CHARS].strip() for choice in choices]
                    return cls(
                        text[:QUESTION_CHARS].strip(),
                        choices=tuple(filter(None, stripped)),
                        within=None if within is None else checked_span(within, duration_s),
                        is_follow_up=message.get("follows") is True,
                    )
        raise InputError(
            f"A question of the page needs a text, at most {MAX_CHOICES} choices, and an interval "
            f"or null; got {message!r:.120}."
        )

    def check(self) -> Question:
        """Return the question; raise InputError if it has no text, or only one choice."""
        return as_question(self.text, self.choices or None, None)

    def line(self, video: str, vlm: str) -> str:
        """Return the line of Python that asks the question.

        Args:
            video: The expression for the video.
            vlm: The expression for the model.
        """
        arguments = [video, repr(self.text)]
        if self.choices:
            arguments.append(f"choices={[*self.choices]!r}")
        if self.within:
            arguments.append(f"within={self.within!r}")
        if self.is_follow_up:
            arguments.append("after=result")
        arguments += [f"vlm={vlm}", "show=True"]
        return f"result = ak.ask({', '.join(arguments)})"

    def command(self, video: str, options: list[str], model: str) -> str:
        """Return the shell command that asks the question.

        Args:
            video: The video's file.
            options: Options for the video.
            model: The words that name the model; "" for the model that is served on this machine.
        """
        arguments = list[str]()
        for choice in self.choices:
            if choice.startswith("-"):  # it must not be taken for an option
                arguments.append(f"--choice={choice}")
            else:
                arguments += ["--choice", choice]
        if self.within is not None:
            arguments += ["--within", *map(str, self.within)]
        arguments += options
        if model:
            arguments += ["--model", model]
        if self.text.startswith("-"):  # nor must the question
            return shlex.join(["atlaskit", "ask", video, *arguments, "--", self.text])
        return shlex.join(["atlaskit", "ask", video, self.text, *arguments])


def is_time(value: object) -> TypeGuard[float]:
    """Return whether a value from a page or a file is a number of seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LAST_S


def checked_span(within: object, duration_s: float) -> Span:
    """Return an interval that a page sent, in whole milliseconds and cut to the video.

    Raises:
        InputError: It is no interval, or lies outside the video.
    """
    if isinstance(within, list) and len(within) == 2 and all(map(is_time, within)):
        start_s, end_s = (min(max(0.0, round(float(time_s), 3)), duration_s) for time_s in within)
        if start_s < end_s:
            return start_s, end_s
    raise InputError(
        "An interval needs a start before its end, both in the video, in seconds; got "
        f"{within!r:.80}."
    )


Ask = Callable[..., Result]
"""The function `ak.ask`."""


class AskedRun:
    """A run on a thread of its own, whose events are followed while it goes on.

    Attributes:
        draft: The question.
        so_far: The run up to the events that were drawn last.
        result: What `ask` returned; None while the run goes on, or if it failed or was stopped.
        error: Why the run ended without a result: `Stopped` if it was told to stop; None otherwise.
        started_s: When it began, on the clock of `now_s`.
        is_stopping: Whether it was told to stop.
        is_left: Whether it was told to stop because its page was closed.
        is_over: Whether it has ended.
    """

    def __init__(
        self,
        ask: Ask,
        draft: Draft,
        vlm: Model | str,
        video: Video,
        cache: Cache,
        on_change: Callable[[AskedRun], None],
        agree: Callable[[Sequence[str]], None] | None = None,
        before: Sequence[Result] = (),
    ) -> None:
        """Start a run.

        Args:
            ask: The function `ak.ask`.
            draft: The question.
            vlm: The model, or the words that name it.
            video: The video.
            cache: Where replies and images are stored.
            on_change: Called with the run when `so_far` has changed, and once after the end.
            agree: Called before a model server is started that takes long or downloads much: see
                `Server.agree`.
            before: The results that a follow-up may use.
        """
        self.draft = draft
        self._before = tuple(before) if draft.is_follow_up else ()
        self.so_far = run_so_far((), video, cache)
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.is_stopping = False
        self.is_left = False
        self.is_over = False
        self._ask = ask
        self._vlm = vlm
        self._video = video
        self._cache = cache
        self._on_change = on_change
        self._agree = agree
        self._model: StoppableModel | None = None
        self.started_s = now_s()
        self._display = DrawingThread(self, video, cache)
        self._thread = threading.Thread(target=self._run, daemon=True, name="atlaskit-ask")
        self._thread.start()

    def stop(self) -> None:
        """Stop the run soon, without a result. Calls in flight are cancelled."""
        self.is_stopping = True
        if self._model is not None:
            self._model.stop()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until the run is over."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        result = None
        error = None
        try:
            model = as_model(self._vlm, self._cache)
            if isinstance(model, Server) and model.agree is None:
                model.agree = self._agree
            self._model = StoppableModel(model)
            options: dict[str, Any] = {}
            if self.draft.within is not None:
                options["within"] = self.draft.within
            if self._before:
                options["after"] = self._before
            self._check()
            result = self._ask(
                self._video,
                self.draft.text,
                [*self.draft.choices] or None,
                vlm=self._model,
                cache=self._cache,
                on_event=self._follow,
                **options,
            )
        except BaseException as caught:  # a thread has no caller: the page shows the error
            error = Stopped() if self.is_stopping else caught
        self._end(result, error)

    def _end(self, result: Result | None, error: BaseException | None) -> None:
        # An error in drawing must not hide the result or the run's own error.
        with suppress(Exception):
            self._display.on_end(result)  # draws the last events before the run counts as over
        self.result = result
        self.error = error
        self.is_over = True
        self._on_change(self)

    def _follow(self, event: Event) -> None:
        """Hand an event to the thread that draws the run so far."""
        self._check()
        self._display.on_event(event)

    def _check(self) -> None:
        """Raise Stopped if the run was told to stop. Raised from `on_event`, it ends the run."""
        if self.is_stopping:
            raise Stopped

    def draw(self, run: RunSource) -> None:
        """Set the run so far. The thread that follows the events calls this."""
        self.so_far = run
        self._on_change(self)

    def finish(self, run: RunSource, result: Result | None) -> None:
        """Set the whole run, after its end."""
        self.draw(run)


MAX_EVIDENCE = 60
"""At most this many evidence frames are listed, the latest ones."""
MAX_STEPS = 12
"""At most this many steps are listed, the latest ones."""
MAX_CHARS = 1_000
"""The most characters of one text of a run."""
LEFT_S = 10.0
"""Seconds for which a run goes on after its page was closed, since the page may only be
reloading."""
SILENT_S = 90.0
"""A page that sends nothing for this many seconds counts as closed. A hidden page sends one message
each minute."""
STANDS_FOR = "In this line, `video` stands for your video, and `vlm` for your model."
NO_ORACLE = "The shell's `atlaskit ask` has no oracle: this page asks it, and `atlaskit evaluate`."
NO_MODEL = (
    "Name a model: what is served here, as a hub id, or an address and the name of its model."
)


class Explorer(Protocol):
    """The part of an explorer that the panel uses: see `GridExplorer`."""

    atlas: Atlas
    vlm: Model | str | None
    command: tuple[str, list[str], str] | None
    marks: Marks
    results: list[Result]

    def refresh(self) -> None:
        """Draw the marks in the page again."""

    def send(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        """Send a message to the page, from any thread."""


class AskPanel:
    """Writes the line of code that asks a question, and asks a model. One run goes on at a time."""

    def __init__(self, explorer: Explorer) -> None:
        """Prepare a panel.

        Args:
            explorer: The explorer whose page asks. Its `vlm` answers, its `marks` are set to what a
                run has found, and the result is added to its `results`.
        """
        self._explorer = explorer
        self._run: AskedRun | None = None
        self._lock = threading.Lock()
        self._marked = object()  # the content of the marks that were drawn last; none at first
        self._goes_on = False  # whether the run is to go on when its page is closed
        self._is_left = False  # whether the page was closed
        self._silence = threading.Timer(SILENT_S, self.leave)
        self._channel = Channel(self._open_run, self._send_steps)

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was for this panel."""
        if message.get("panel") == "steps":
            self._channel.receive(message)
            return True
        if message.get("panel") != "ask":
            return False
        try:
            self._handle(message)
        except InputError as error:
            self._send({"is": "problem", "words": plain_text(reason(error), MAX_CHARS)})
        return True

    def _handle(self, message: dict[str, Any]) -> None:
        """Handle a message for this panel; raise InputError if it breaks a rule."""
        video = self._explorer.atlas.video
        match message:
            case {"want": "here"}:
                self._is_left = False
                self._send_model()
                self._send_state()
            case {"want": "left"}:
                self.leave()
            case {"want": "alive"}:
                self._hear()
            case {"want": "go on", "goes_on": bool(goes_on)}:
                self._goes_on = goes_on
            case {"want": "model", "model": str(words)}:
                self._choose(words)
                self._send_model()
            case {"want": "line"}:
                self._send_line(Draft.from_json(message, video.duration_s))
            case {"want": "ask"}:
                draft = Draft.from_json(message, video.duration_s)
                self._choose(str(message.get("model", self._choice.words)))
                self._start(draft)
            case {"want": "again"} if self._run is not None:
                self._choice.agree()
                self._start(self._run.draft)
            case {"want": "stop"} if self._run is not None:
                self._run.stop()
                self._send_state()

    def _choose(self, words: str) -> None:
        """Use the model that words name from now on; raise InputError if they name none."""
        if words != self._choice.words:
            self._explorer.vlm = self._choice.choose(words, self._explorer.atlas.video)

    @cached_property
    def _choice(self) -> ModelChoice:
        """The model of the explorer, and the models that the page can choose.

        It is made at the first message, since `command` is set after the explorer was made.
        """
        command = self._explorer.command
        return ModelChoice(self._explorer.vlm, "" if command is None else command[2])

    @property
    def is_asking(self) -> bool:
        """Whether a run is going on."""
        return self._run is not None and not self._run.is_over

    def leave(self) -> bool:
        """Note that the page was closed, and stop its run after LEFT_S.

        The run is not stopped if a page connects by then, or if the user chose that it goes on.

        Returns:
            Whether a run is going on now, which another page can show.
        """
        run = self._run
        if run is None or run.is_over:
            return False
        if self._goes_on or self._is_left:
            return True
        self._is_left = True

        def stop() -> None:
            if self._is_left and not run.is_over:
                run.is_left = True
                run.stop()

        _after(LEFT_S, stop)
        return True

    def _hear(self) -> None:
        """Note that the page is there. If it then sends nothing for SILENT_S, its run is stopped.

        This is needed because JupyterLab does not report that a notebook was closed. Messages that
        reach the main thread are ignored: a running cell would delay them, so that the page would
        count as closed. Messages to a subshell, which is a thread of its own, are not delayed.
        """
        if threading.current_thread() is not threading.main_thread():
            self._is_left = False
            self._silence.cancel()
            self._silence = _after(SILENT_S, self.leave)

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until no run is going on."""
        if self._run is not None:
            self._run.wait(timeout_s)

    def _send_line(self, draft: Draft) -> None:
        """Send the line that asks a question, in Python or as a shell command."""
        explorer = self._explorer
        words = self._choice.words
        if explorer.command is None:
            vlm = "vlm"
            if isinstance(explorer.vlm, str):
                vlm = repr(explorer.vlm)
            return self._send({"is": "line", "line": draft.line("video", vlm), "note": STANDS_FOR})
        if words == ORACLE:
            return self._send({"is": "line", "line": "", "note": NO_ORACLE})
        file, options, _ = explorer.command
        line = draft.command(file, options, words)
        return self._send({"is": "line", "line": line, "note": ""})

    def _send_model(self) -> None:
        """Send the model that answers, the models on offer, and the questions it is limited to."""
        choice = self._choice
        models = choice.offered(self._explorer.atlas.video)
        questions = known_questions(self._explorer.vlm)
        state = {
            "model": plain_text(choice.words, MAX_CHARS),
            "models": models,
            "questions": questions,
        }
        self._send({"is": "model", **state})

    def _start(self, draft: Draft) -> None:
        """Start a run, unless one is going on; raise InputError if the question breaks a rule."""
        atlas = self._explorer.atlas
        vlm = self._explorer.vlm
        draft.check()
        if vlm is None:
            raise InputError(NO_MODEL)
        with self._lock:
            if not self.is_asking:
                self._run = AskedRun(
                    METHODS["video-rlm"],
                    draft,
                    vlm,
                    video=atlas.video,
                    cache=atlas.cache,
                    on_change=self._follow,
                    agree=self._choice.check_agreed,
                    before=tuple(self._explorer.results),
                )
        self._send_state()

    def _follow(self, run: AskedRun) -> None:
        """Mark what a run has found, and update the page. Called when the run has changed.

        The call after the end of the run, which happens once, adds its result to the explorer.
        """
        if run.is_over and run.result is not None:
            self._explorer.results.append(run.result)
            self._mark(Marks(run.result.evidence, run.result.dead_zones, run.result.coverage))
        else:
            self._mark(Marks.of(run.so_far))
        self._send_state()

    def _mark(self, marks: Marks) -> None:
        """Redraw the explorer's marks if they have changed."""
        seen = marks.coverage and marks.coverage.seen
        evidence = marks.evidence
        content = (evidence.labels, evidence.times_s, marks.dead_zones.intervals, seen)
        if content != self._marked:
            self._marked = content
            self._explorer.marks = marks
            self._explorer.refresh()

    def _send_state(self) -> None:
        """Send what the panel shows: the run that is going on, or the outcome of the last run."""
        run = self._run
        results = self._explorer.results
        state: dict[str, Any] = {"is": "state", "phase": "idle", "goes_on": self._goes_on}
        if run is not None and (not run.is_over or run.result is None):
            state |= _state_of(run)
        elif results:
            state |= _state_of_result(results[-1], self._open_run(len(results) - 1))
            state |= {"run": len(results) - 1}
        self._send({**state, "question": plain_text(state.get("question", ""), MAX_CHARS)})

    def _open_run(self, number: int) -> RunSource:
        """Return one of the explorer's results as a run; raise InputError if there is none."""
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


def _after(wait_s: float, act: Callable[[], object]) -> threading.Timer:
    """Call `act` after some seconds, in a thread that does not keep the process alive."""
    timer = threading.Timer(wait_s, act)
    timer.daemon = True
    timer.start()
    return timer


def _state_of(run: AskedRun) -> dict[str, Any]:
    """Return what the page shows of a run that is going on, or that ended without a result."""
    state = {"question": run.draft.text, **_progress(run.so_far)}
    if not run.is_over:
        phase = "running"
        if run.is_stopping:
            phase = "stopping"
        return state | {"phase": phase, "seconds": round(now_s() - run.started_s)}
    if isinstance(run.error, Stopped):
        who = "You stopped the run"
        if run.is_left:
            who = "The page was closed, so the run was stopped"
        words = f"{who}; what it had found stays marked, and its replies are kept."
        return state | {"phase": "stopped", "words": words}
    words = ""
    if run.error is not None:
        words = reason(run.error)
    if not isinstance(run.error, InputError):  # an InputError is a whole sentence for the user
        words = f"The run failed: {words}"
    return state | {"phase": "failed", "words": plain_text(words, MAX_CHARS)}


def _state_of_result(result: Result, run: RunSource) -> dict[str, Any]:
    """Return what the page shows of a run that has a result."""
    missing_evidence = ""
    if result.without_evidence:
        missing_evidence = f"Evidence: {result.without_evidence}."
    words = " ".join(filter(None, (run.answer_line, result.failure)))
    reasoning = " ".join(filter(None, (result.reasoning, missing_evidence)))
    state = {"phase": "answered", "question": result.question.text, **_progress(run)}
    state["words"] = plain_text(words, MAX_CHARS)
    return state | {"reasoning": plain_text(reasoning, MAX_CHARS)}


def _progress(run: RunSource) -> dict[str, Any]:
    """Return the counts, the latest steps and the latest evidence of a run."""
    steps = list[list[str]]()
    for event in run.trace.events[-MAX_STEPS:]:
        steps.append([agent(event), plain_text(summary(event), MAX_CHARS)])
    evidence = list(map(_evidence, run.evidence.items[-MAX_EVIDENCE:]))
    return {"counts": counts_text(run), "steps": steps, "evidence": evidence}


def _evidence(item: Evidence) -> dict[str, Any]:
    return {
        "label": plain_text(item.label, 8),
        "time_s": item.timestamp_s,
        "time": clock(item.timestamp_s),
        "words": plain_text(item.description, 200),
    }
