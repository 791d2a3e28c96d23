"""`BaselineRun`: makes a baseline's calls, records its events and builds its `Result`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypedDict, get_args

from atlaskit.agents.master import prediction
from atlaskit.agents.options import CacheMode
from atlaskit.agents.prompts import TextCall
from atlaskit.agents.suitability import warn_if_unsuitable
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.memory import DeadZones, Scratchpad
from atlaskit.environment.question import Kind, Question, as_question
from atlaskit.environment.render import Sheet
from atlaskit.models.call_log import CallLog
from atlaskit.models.errors import ModelError, Unreachable
from atlaskit.models.named import as_model
from atlaskit.models.presets import preset_for
from atlaskit.models.protocol import Model, Reply, Request, Role
from atlaskit.models.usage import CHARACTERS_A_TOKEN, Usage
from atlaskit.runs.archive import save_manifest
from atlaskit.runs.events import Event, call_data, failure_data
from atlaskit.runs.result import Result, Spent
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo
from atlaskit.video.records import remember_video


class BaselineSettings(TypedDict, total=False):
    """The keywords that every baseline takes. They mean what they mean for `ask`."""

    kind: Kind | None
    several: bool
    sample: int
    refresh: bool
    replay: bool
    cache: Cache | None


class BaselineRun:
    """One run of a baseline: `begin`, calls, then `decide`, which returns the result."""

    def __init__(
        self,
        video: AnyVideo,
        question: str | Question,
        choices: Sequence[str] | None,
        vlm: Model | str,
        *,
        kind: Kind | None = None,
        several: bool = False,
        sample: int = 0,
        refresh: bool = False,
        replay: bool = False,
        cache: Cache | None = None,
    ) -> None:
        """Set up the run; raise InputError for a question or settings that break a rule."""
        self.sample, self.question = sample, as_question(question, choices, kind, several)
        self.vlm = vlm = as_model(vlm, cache or default_cache(), is_replay=replay)
        self.video = video = as_video(video, cache)
        warn_if_unsuitable(vlm.name, preset_for(vlm), video, self.question)
        self.cache = (cache or default_cache()).watched()
        self.model = CallLog(CacheMode(sample, refresh, replay).open(vlm, self.cache))
        remember_video(video, self.cache)
        self.events, self.failure = list[Event](), ""
        self.refusal: ModelError | None = None  # the failure after which no call can succeed
        self.frames_before, self.started_s = video.frames_decoded, time.monotonic()

    def begin(self, method: str, settings: dict[str, Any]) -> None:
        """Record the start of the run.

        Args:
            method: Name of the baseline.
            settings: The settings that this baseline has beside those of all.
        """
        self.settings = {
            "method": method,
            "model": self.vlm.name,
            "parameters": dict(self.vlm.parameters),
            "sample": self.sample,
            "video": self.video.fingerprint,
            **settings,
        }
        self.log(Event("start", data={"question": self.question.to_json(), "settings": self.settings}))

    def complete(self, request: Request) -> Reply | ModelError:
        """Make a call; return the reply, or the error if it failed."""
        try:
            return self.model.complete(request)
        except ModelError as error:
            self.refusal = error if error.is_final else self.refusal
            return error

    def log(self, event: Event) -> None:
        """Add an event to the trace."""
        self.events.append(event)

    def log_failure(self, step: str, error: ModelError) -> None:
        """Record a call that failed."""
        self.failure = str(error)
        self.log(Event("failure", data=failure_data(step, error, error.usage)))

    def text_request(self, text: str, context: int) -> Request:
        """Return the request to answer from text.

        Text that does not fit is cut off after its last whole row, and `failure` says so.

        Args:
            text: Captions or subtitles, a row each; empty to answer from the question alone.
            context: How many tokens of text the model may get, at CHARACTERS_A_TOKEN each.
        """
        limit = context * CHARACTERS_A_TOKEN
        if len(text) > limit:
            fitting = text[:limit].rpartition("\n")[0] or text[:limit]
            self.failure = f"Of {len(text):,} characters only the first {len(fitting):,} fit the context."
            text = fitting
        return TextCall(self.question, self.video.duration_s, text).request()

    def decide(self, request: Request) -> Result:
        """Ask for the decision and return the result of the run.

        Raises:
            Unreachable: If the server cannot be reached, and no call of the run got a reply.
        """
        outcome = self.complete(request)
        if isinstance(outcome, Unreachable) and all(call.failure for call in self.model.calls):
            raise outcome
        if isinstance(outcome, ModelError):
            self.log_failure("decision", outcome)
        else:
            answer = outcome.answer.model_dump(mode="json")
            self.log(Event("decision", data={"view": None, "sheet": None, "answer": answer, **call_data(outcome)}))
        return self.end(None if isinstance(outcome, ModelError) else outcome)

    def end(self, decision: Reply | None = None) -> Result:
        """Record the run, and return its result: with a decision, or without an answer."""
        result = self._result(decision)
        save_manifest(result.trace, self.cache)
        return result

    def _result(self, decision: Reply | None) -> Result:
        calls, stop = self.model.calls, "model" if decision is None else "answered"
        usage = {role: sum((call.usage for call in calls if call.role == role), Usage()) for role in get_args(Role)}
        paid_now = sum((call.usage for call in calls if call.live), Usage())
        count = sum(each.calls for each in usage.values())
        self.log(Event("stop", data={"stop": stop, "rounds": 0, "calls": count}))
        return Result(
            question=self.question,
            prediction=None if decision is None else prediction(self.question, decision.answer),
            reasoning="" if decision is None else decision.answer.reasoning,
            evidence=Scratchpad(),
            dead_zones=DeadZones(),
            stop=stop,
            failure=self.failure,
            rounds=0,
            usage=usage,
            settings=self.settings,
            trace=Trace(tuple(self.events)),
            sheet=Sheet(self.video, Scratchpad(), cache=self.cache),
            calls=tuple(calls),
            spent=Spent(
                calls=paid_now.calls,
                tokens=paid_now.tokens,
                frames_decoded=self.video.frames_decoded - self.frames_before,
                seconds=time.monotonic() - self.started_s,
            ),
        )
