"""`MethodRun`: a run of a method that takes turns with a model before it decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypedDict, TypeVar

from atlaskit.agents.budget import RESERVED_CALLS, Budget, Limit
from atlaskit.agents.master import MAX_UNANSWERED
from atlaskit.agents.run import Run
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Kind, Span
from atlaskit.methods.prompts import TextCall
from atlaskit.models.errors import ModelError, Unreachable
from atlaskit.models.protocol import CHARACTERS_A_TOKEN, Reply, Request
from atlaskit.runs.events import Decision, Failure, Turn, paid
from atlaskit.runs.result import Result

T = TypeVar("T")


class MethodSettings(TypedDict, total=False):
    """The keywords that every method but Video-RLM takes. They mean what they mean for `ask`."""

    kind: Kind | None
    budget: Budget | None
    sample: int
    replay: bool
    cache: Cache | None


class MethodRun(Run):
    """One run of a method: `begin`, calls, then `decide`, which returns the result.

    Calls before the decision (`call`, `answers`) return nothing once `is_over`: the budget is
    spent, or the model refuses every call. A method then decides from what it has.
    """

    limit: Limit | None = None
    """The limit of the budget that ended the calls."""

    @property
    def is_over(self) -> bool:
        """Whether no call but the decision may follow."""
        self.limit = self.limit or self.meter.exhausted()
        return self.limit is not None or self.refusal is not None

    def call(self, request: Request, intervals_s: Sequence[Span] = (), told: str = "") -> Any:
        """Make a call before the decision, and record it as a turn.

        Args:
            request: What the model is asked.
            intervals_s: The parts of the video that it is shown or told of.
            told: What the request tells the model beyond the turns before.

        Returns:
            The answer; None if the call failed, or none may follow.
        """
        if self.is_over:
            return None
        outcome = self.complete(request)
        if isinstance(outcome, ModelError):
            self.log_failure(request.step, outcome)
            return None
        self.log_turn(request.step, outcome, intervals_s, told)
        return outcome.answer

    def answers(
        self,
        items: Sequence[T],
        request: Callable[[T], Request],
        intervals_s: Callable[[T], Sequence[Span]],
        threads: int = 4,
        told: Callable[[T], str] = lambda item: "",
    ) -> Iterator[tuple[T, Any]]:
        """Make a call about each item in parallel; yield the items with their answers, in order.

        Each is recorded as a turn. Failures are recorded and left out. With a budget, calls are
        made in groups of `threads`, and the budget is checked between groups, so that the outcome
        does not depend on timing.

        Args:
            items: What the calls are about.
            request: Returns what the model is asked about an item.
            intervals_s: Returns the parts of the video that it is shown or told of.
            threads: Calls that are made at the same time.
            told: Returns what the request tells the model beyond the turns before.

        Raises:
            Unreachable: If the first MAX_UNANSWERED calls of the run fail because the server is
                unreachable.
        """
        group = len(items) if self.budget is None else threads
        unreachable, has_reply, start = 0, any(not call.failure for call in self.model.calls), 0
        with ThreadPoolExecutor(threads) as pool:
            while start < len(items) and not self.is_over:
                left = self.meter.calls_left()
                room = group if left is None else min(group, left - RESERVED_CALLS)  # positive: it is not over
                requests = list(map(request, items[start : start + room]))
                outcomes = pool.map(lambda each: self.refusal or self.complete(each), requests)
                for item, call, outcome in zip(items[start : start + room], requests, outcomes, strict=True):
                    if not isinstance(outcome, ModelError):
                        has_reply = True
                        self.log_turn(call.step, outcome, intervals_s(item), told(item))
                        yield item, outcome.answer
                        continue
                    self.log_failure(call.step, outcome)
                    unreachable += isinstance(outcome, Unreachable)
                    if outcome.is_final or (unreachable == MAX_UNANSWERED and not has_reply):
                        pool.shutdown(cancel_futures=True)
                        if outcome.is_final:
                            return
                        raise outcome
                start += room

    def log_turn(self, step: str, reply: Reply, intervals_s: Sequence[Span], told: str) -> None:
        """Record a call that got a reply, as a turn."""
        answer = reply.answer.model_dump(mode="json")
        self.log(Turn(step=step, intervals_s=tuple(intervals_s), told=told, answer=answer, **paid(reply)))

    def log_failure(self, step: str, error: ModelError) -> None:
        """Record a call that failed."""
        self.failure = str(error)
        self.log(Failure.of(step, error))

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
        """Ask for the decision and return the result of the run: without an answer if that fails.

        Raises:
            Unreachable: If the server cannot be reached, and no call of the run got a reply.
        """
        decision: Reply | None = None
        if self.meter.can_decide() and not self.is_hopeless:
            outcome = self.complete(request)
            if isinstance(outcome, Unreachable) and all(call.failure for call in self.model.calls):
                raise outcome
            if isinstance(outcome, ModelError):
                self.log_failure("decision", outcome)
            else:
                decision, answer = outcome, outcome.answer.model_dump(mode="json")
                self.log(Decision(view=None, sheet=None, answer=answer, **paid(decision)))
        elif not self.meter.can_decide():
            self.limit = self.limit or self.meter.exhausted()
        return self.end(self.limit or ("model" if decision is None else "answered"), decision)
