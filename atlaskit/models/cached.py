"""`Cached` looks a reply up before it asks the model; `CallLog` lists the calls of a run.

A failed call has no reply, so the next run makes the call again. The failure is cached too, under
another key, but only replays read it. This module makes the keys of replies and of failures.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Unpack

from pydantic import BaseModel

from atlaskit import limits
from atlaskit.caching.cache import Cache, Transient
from atlaskit.caching.keys import Kind, canonical_json, is_json, read_json
from atlaskit.errors import AtlasError, InputError, Unrecorded, check_whole
from atlaskit.models.names import is_same_model, preset_of
from atlaskit.models.protocol import (
    COUNT_TYPES,
    MAX_ATTEMPTS,
    BadReply,
    CallControl,
    Image,
    Model,
    ModelError,
    ParametricSchema,
    Refused,
    Reply,
    Request,
    Role,
    Unreachable,
    Usage,
    now_s,
    shape_schema,
)


class Cached:
    """A wrapper around a model that caches its replies.

    Threads and processes that send the same request at the same time make one call.
    """

    def __init__(
        self, model: Model, cache: Cache, *, sample: int = 0, replay: bool = False
    ) -> None:
        """Wrap a model.

        Args:
            model: The model to call for replies that are not cached.
            cache: Where replies and failures are stored. With a refreshing cache, the model is
                called once for each request, and its reply replaces the stored one.
            sample: Which of several replies to the same request to return, counted from 0. Each
                has its own entry in the cache.
            replay: Never call the model.

        Raises:
            InputError: If `sample` is no integer of at least 0, or a replay's cache is refreshing.
        """
        check_whole("sample", sample, least=0)
        if cache.is_refreshing and replay:
            raise InputError(
                "A refreshing cache has every request made anew, and a replay makes none: choose "
                "one of them."
            )
        self.model = model
        self.name = model.name
        self.parameters = model.parameters
        self.preset = preset_of(model)
        self.cache = cache
        self.sample = sample
        self.replay = replay
        self._lookup = cache
        if cache.is_refreshing:  # stored replies are not looked up, only those of this run
            self._lookup = Cache(None)
        self._vlm: Any = None
        if hasattr(model, "answered"):  # an `ak.VLM`, whose endpoint may use another model
            self._vlm = model
            self._history = self._stored_history()
            answered = self._substitute()  # "": the model that is asked; None: not known yet
            if answered is None and self._history:
                # No model has answered yet: look replies up under the one that answered last time.
                self._vlm.answered = self._history[-1]
            elif answered is not None and (answered or self._history):
                # An empty history already means that the model that is asked answers itself.
                self._note(answered)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Return the cached reply, or call the model and cache its reply. See `Model.complete`.

        `cancel` and `deadline_s` also end the wait for another thread that makes the same call.

        Raises:
            ModelError: If the call fails, or in a replay, if it failed when it was recorded.
            Unrecorded: In a replay, if neither a reply nor a failure is cached.
        """
        request = replace(request, sample=self.sample + request.sample)
        names = self._usable_models()
        key, *other_keys = [reply_key(self.model, request, name) for name in names]
        live_replies = list[Reply]()
        cached_replies = list[Reply]()
        max_attempts = control.get("max_attempts", MAX_ATTEMPTS)
        deadline_s = control.get("deadline_s")
        cancel = control.get("cancel")

        def make_entry() -> bytes:
            if self.replay:
                raise self._replay_error(request, key, max_attempts)
            reply = self._call(request, key, control)
            live_replies.append(reply)
            entry = _entry(reply, self.name)
            answered = reply.model if self._vlm and reply.is_substitute else ""
            own_key = reply_key(self.model, request, answered)
            if own_key != key:  # another model answered than the one that `key` names
                self.cache.put(own_key, entry)
                return Transient(entry)
            if self.cache.is_refreshing:  # then `remember` stores the entry only in `_lookup`
                self.cache.put(key, entry)
            return entry

        def is_usable(entry: bytes) -> bool:
            """Return whether an entry's reply fits the schema; add it to `cached_replies` then."""
            with suppress(ValueError):  # an imported cache may hold anything
                reply = read_reply_entry(entry, self.name)
                answer = request.schema.model_validate_json(reply.text)
                cached_replies.append(
                    replace(reply, answer=answer, usage=_limited(reply.usage, max_attempts))
                )
                return True
            return False

        def is_over() -> bool:
            is_late = deadline_s is not None and now_s() >= deadline_s
            return is_late or (cancel is not None and cancel.is_set())

        entries = (self._lookup.get(other) for other in other_keys)
        if not any(entry is not None and is_usable(entry) for entry in entries):
            self._lookup.remember(key, make_entry, fits=is_usable, go_on=is_over)
        return live_replies[0] if live_replies else cached_replies[-1]

    def _usable_models(self) -> list[str]:
        """Return the models whose cached replies may be returned.

        They are the model that answers now or, behind a router, all models that alternate. The name
        "" stands for the model that was asked for.
        """
        if not self._vlm:
            return [""]
        distinct = list(dict.fromkeys(self._history))
        if len(distinct) < len(self._history):  # a model came back, so they alternate
            return distinct
        return [self._vlm.answered or ""]

    def _stored_history(self) -> list[str]:
        """Return the models that answered at this address, the latest last.

        An imported cache may name any number of them, and each costs a look-up for every call.
        """
        stored = self.cache.get_json(self._answered_key())
        if isinstance(stored, str):
            stored = [stored]
        if not isinstance(stored, list):
            return []
        names = [name for name in stored if isinstance(name, str) and len(name) <= limits.NAME]
        return names[-MOST_ANSWERING:]

    def _note(self, answered: str) -> None:
        """Add the model that answers to the history, if the history does not say so already.

        A name that occurs twice shows that models alternate. Once there is one, only models that
        are not in the history are added.
        """
        history = self._stored_history()
        has_repeats = len(set(history)) < len(history)
        is_new = answered not in history or not has_repeats
        if is_new and history[-1:] != [answered]:
            history = [*history, answered][-MOST_ANSWERING:]
            self.cache.put_json(self._answered_key(), history)
        self._history = history

    def _answered_key(self) -> str:
        return ANSWERED.key(address=self._vlm.base_url, model=self.name)

    def _call(self, request: Request, key: str, control: CallControl) -> Reply:
        """Call the model. Cache a failure, and note another model that answers from now on."""
        before = self._substitute()
        try:
            return self.model.complete(request, **control)
        except ModelError as error:
            self.cache.put_json(failure_key(key), failed_entry(error))
            raise
        finally:
            answered = self._substitute() or ""
            if answered != (before or ""):
                if before is not None:  # it may have answered so far without being noted
                    self._note(before)
                self._note(answered)

    def _substitute(self) -> str | None:
        """Return the model that answers in place of the one that is asked: `ak.VLM.answered`.

        It is "" if the model that is asked answers itself, and None if that is not known.
        """
        if not self._vlm:
            return None
        answered: str | None = self._vlm.answered
        return answered

    def _replay_error(self, request: Request, key: str, max_attempts: int) -> AtlasError:
        """Return the error of a replay without a reply: the recorded failure, or Unrecorded."""
        error = recorded_failure(self.cache, key)
        if error is not None:
            error.usage = _limited(error.usage, max_attempts)
            return error
        return Unrecorded(
            f"{self.cache} holds no reply of {self.name} to a {request.step!r} call of this run, "
            f"so the run cannot be replayed. Another video, question, setting or version of "
            f"atlaskit makes another run; without replay, the model is called."
        )


def _entry(reply: Reply, name: str) -> bytes:
    """Return the cache entry of a reply. `name` is the model that was asked.

    The entry leaves out the model if the reply names it as it was asked.
    """
    parts = {"text": reply.text, "usage": reply.usage.to_json(), "reasoning": reply.reasoning}
    if reply.model != name:
        parts["model"] = reply.model
    return canonical_json(parts).encode()


def _limited(usage: Usage, max_attempts: int) -> Usage:
    """Return recorded usage with at most `max_attempts` calls, so that no budget is exceeded."""
    return replace(usage, calls=min(usage.calls, max_attempts))


def read_reply_entry(entry: bytes, name: str = "") -> Reply:
    """Return the reply in an entry. Its `answer` is None: the caller parses it by its schema.

    Args:
        entry: The entry.
        name: The model that was asked. It is the model of an entry that names none.

    Raises:
        ValueError: If the entry is not a reply. An imported cache may hold any bytes.
    """
    match read_json(entry):
        case {
            "text": str(text),
            "usage": usage,
            "reasoning": str(reasoning),
            **rest,
        } if rest.keys() <= {"model"}:
            model = rest.get("model", name)
            if isinstance(model, str):
                return Reply(
                    None,
                    text,
                    Usage.from_json(usage),
                    reasoning,
                    live=False,
                    model=model,
                    is_substitute=not is_same_model(name, model),
                )
    raise ValueError("the fields are not those of a reply")


def failed_entry(error: ModelError) -> dict[str, Any]:
    """Return the cache entry of a failure."""
    entry: dict[str, Any] = {
        "kind": type(error).__name__,
        "told": str(error),
        "usage": error.usage.to_json(),
    }
    if error.is_final:
        entry["final"] = True
    return entry


def read_failure_entry(entry: bytes) -> ModelError | None:
    """Return the error in a cached failure; None if the entry is not a failure."""
    kinds = {kind.__name__: kind for kind in (ModelError, Unreachable, Refused, BadReply)}
    try:
        match read_json(entry):
            case {"kind": str(kind), "told": str(message), "usage": usage, **rest} if kind in kinds:
                if rest in ({}, {"final": True}):
                    return kinds[kind](message, Usage.from_json(usage), is_final=bool(rest))
    except ValueError:
        pass
    return None


def recorded_failure(cache: Cache, key: str) -> ModelError | None:
    """Return the recorded failure of a call; None without one. `key` is the key of its reply."""
    entry = cache.get(failure_key(key))
    if entry is None:
        return None
    error = read_failure_entry(entry)
    if error is not None:
        error.live = False
    return error


REPLY = Kind("reply", 5, lambda _, value: bool(read_reply_entry(value)))
FAILURE = Kind("failure", 1, lambda _, value: read_failure_entry(value) is not None)
ANSWERED = Kind("answered", 1, is_json((str, list)))
"""The models that answered at an address when one model was asked for, in order of time. If a name
occurs twice, the models alternate behind a router, and replies of all of them count. Otherwise only
replies of the last one count."""
MOST_ANSWERING = 16
"""Most names in the entry of ANSWERED; the latest are kept."""


def reply_key(model: Model, request: Request, answered: str = "") -> str:
    """Return the cache key of a model's reply: the hash of everything the reply depends on.

    An image is represented by its own key. The hash leaves out:

    * the endpoint's address, credentials, time-outs, the number of attempts and the way in which
      images and the schema are sent, since they only transport the request. Two of these are
      still among the model's parameters: the address, if many servers use the model's name; and
      that the schema is sent in words, if the client is made with a dialect that needs it;
    * the caller's limit on the length of an answer (`VLM.max_tokens`, not that of the request),
      since only whole answers are cached;
    * role and step, which the model never sees;
    * the facts, which repeat the messages.

    Args:
        model: The model that is asked.
        request: What it is asked.
        answered: The model that answers in its place, or "".
    """
    schema: Any = request.schema
    if isinstance(schema, ParametricSchema):
        schema = [_schema_hash(schema.shape), schema.values]
    else:
        schema = _schema_hash(schema)
    parts: dict[str, Any] = {
        "model": model.name,
        "parameters": dict(model.parameters),
        "sample": request.sample,
        "prompt": request.version,
        "max_tokens": request.max_tokens,
        "schema": schema,
        "messages": [
            [message.speaker, list(map(_part_key, message.parts))] for message in request.messages
        ],
    }
    if answered:
        parts["answered"] = answered
    return REPLY.key(**parts)


def _part_key(part: str | Image) -> str | dict[str, str]:
    """Return a message's part as it enters a key: a text itself, or the key of an image."""
    return part if isinstance(part, str) else {"image": part.key}


def failure_key(reply: str) -> str:
    """Return the cache key of a failure.

    Args:
        reply: Key of the reply that the failed call would have had.
    """
    return FAILURE.key(reply=reply)


@lru_cache(maxsize=1024)
def _schema_hash(schema: type[BaseModel]) -> str:
    return hashlib.sha256(canonical_json(shape_schema(schema)).encode()).hexdigest()


PER_VIDEO_STEPS = frozenset(
    {
        "caption",
        "clip",
        "frame",
        "continues",
        "scene",
        "characters",
        "summary",
        "facts",
        "consolidate",
    }
)
"""The steps, of all methods, whose calls depend on the video and not on a question. The next
question finds their replies in the cache, so they are paid for once a video. A method with such
calls adds their steps here."""


@dataclass(frozen=True)
class Call:
    """One call, answered or failed, as a log has it.

    What is asked is something else: a call of `agents.prompts`, or a `methods.run.Call`.

    The fields are flat, because pandas makes the columns of a table from them. Those of `Usage` say
    what the call cost when the model was called, and those of `Transit` how long the call took in
    this run.
    """

    role: Role
    step: str
    """What the call is for: `Request.step`."""
    calls: int
    prompt_tokens: int
    cached_tokens: int
    image_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    effective_tokens: int = field(init=False)
    estimated: bool
    retries: int = field(init=False)
    """Attempts after the first one."""
    queue_s: float
    wall_s: float
    sent_bytes: int
    began_s: float
    """When the call began, in seconds since the start of the run."""
    ended_s: float
    """When the call ended, in seconds since the start of the run."""
    live: bool
    """Whether the model was called in this run, and the outcome is not from the cache."""
    failure: str
    """Message of the error; "" for a call that yielded a reply."""
    views: tuple[str, ...]
    """Keys of the request's images, in order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "effective_tokens", self.usage.effective_tokens)
        object.__setattr__(self, "retries", max(0, self.calls - 1))

    @classmethod
    def of(
        cls, request: Request, outcome: Reply | ModelError, began_s: float, ended_s: float
    ) -> Call:
        """Return the call of a request, from its outcome and its times."""
        measures: dict[str, Any] = {**vars(outcome.usage), **vars(outcome.transit)}
        return cls(
            request.role,
            request.step,
            **measures,
            began_s=began_s,
            ended_s=ended_s,
            live=outcome.live,
            failure=str(outcome) if isinstance(outcome, ModelError) else "",
            views=tuple(image.key for image in request.images),
        )

    @property
    def usage(self) -> Usage:
        """What the call cost when the model was called."""
        return Usage(**{name: getattr(self, name) for name in COUNT_TYPES})

    @property
    def is_per_video(self) -> bool:
        """Whether the call depends on the video alone, so that all questions about it share it."""
        return self.step in PER_VIDEO_STEPS


class CallLog:
    """A wrapper around a model that records every call.

    Attributes:
        calls: The calls so far, in the order in which they ended.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name
        self.parameters = model.parameters
        self.preset = preset_of(model)
        self.calls: list[Call] = []
        self._started_s = now_s()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Pass the call to the model and record its reply or failure. See `Model.complete`."""
        began_s = now_s() - self._started_s
        try:
            reply = self.model.complete(request, **control)
        except ModelError as error:
            self.calls.append(Call.of(request, error, began_s, now_s() - self._started_s))
            raise
        self.calls.append(Call.of(request, reply, began_s, now_s() - self._started_s))
        return reply
