"""Reads the body of a chat completion: answer, separate reasoning, token counts.

Contents:
    `completion_in`, `read_completion`: the completion in a body. Servers deviate from the protocol
        in many ways, so a field that is missing or has another type counts as empty.
    `split_thought`: separates the answer from a thought that the server left in the text, by the
        markers of any model family.
    `joined`: the completion that a stream of events sends in parts. An error at its end does not
        discard the text before it.

This module knows neither retries nor the schema of the answer.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from atlaskit import limits
from atlaskit.models.http import (
    HttpFailure,
    failure_of,
    json_of,
    json_values,
    listed,
    not_json,
    object_of,
    storable,
)
from atlaskit.models.json_text import TooMuch, json_objects
from atlaskit.models.names import Family
from atlaskit.models.protocol import CHARACTERS_A_TOKEN, Clip, Request, Usage
from atlaskit.models.refusals import words_of

ENDED = re.compile(
    rb"\b(?:done|end|eof|stop|completed?|message_stop)\b[^\w]*(?:true\W*)?\Z", re.IGNORECASE
)
"""Matches the end of a stream that says that it has ended, such as "[DONE]"."""
REASONING_FIELDS = (
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "thinking",
    "thinking_blocks",
    "thought",
)
"""Fields of a message that may hold reasoning, in order of precedence. vLLM now uses the first."""
CUT_OFF = frozenset({
    "length", "max_tokens", "max_length", "max_new_tokens", "max_output_tokens",
    "max_completion_tokens", "model_length", "token_limit", "incomplete",
    "model_context_window_exceeded",
})  # fmt: skip
"""Finish reasons, in lower case, of an answer that was cut off."""
WITHHELD = frozenset({
    "content_filter", "content_filtered", "refusal", "safety", "recitation", "blocklist",
    "prohibited_content", "spii", "image_safety", "sensitive", "guardrail_intervened",
})  # fmt: skip
"""Finish reasons, in lower case, of an answer that was filtered or refused."""
UNFINISHED = "unfinished"
"""Our finish reason for a stream that gave none and did not say that it has ended."""
BROKEN = frozenset(
    {
        UNFINISHED,
        "error",
        "abort",
        "aborted",
        "cancelled",
        "canceled",
        "network_error",
        "server_error",
        "engine_error",
        "internal_error",
        "upstream_error",
        "insufficient_system_resource",
        "timeout",
        "failed",
    }
)
"""Finish reasons, in lower case, of a failure of the server, not of the model."""
MOST_CHOICES = 16
_THOUGHT_PARTS = frozenset(
    {"thinking", "thought", "reasoning", "reasoning_content", "redacted_thinking"}
)
"""Types of the parts of a message that hold thought."""
_THOUGHT_TEXTS = (
    "text",
    "thinking",
    "reasoning",
    "reasoning_content",
    "thought",
    "summary",
    "content",
)
"""Fields of such a part that may hold its text, in order of precedence."""
_PARSED_PARTS = {"tool_use": "input", "json": "json", "output_json": "json"}
"""Types of the parts that hold a parsed answer, and the field that it is in."""
_PART_TEXTS = ("text", "output_text", "content", "value")
"""Fields of any other part that may hold its text, in order of precedence."""
_MOST_NESTED = 8
NO_COMPLETION = "no chat completion (does the address end in /v1?)"


@dataclass(frozen=True)
class Completion:
    """One chat completion."""

    text: str
    """What the model wrote outside of its thought. The answer is in it: see `find_answer`."""
    reasoning: str
    usage: Usage
    is_cut_off: bool = False
    """Whether the answer reached its maximum length."""
    is_withheld: bool = False
    """Whether the endpoint filtered the answer or the model refused it. The text is no answer."""
    model: str = ""
    """Name of the model that answered, as the server gives it; "" if it gives none."""
    has_usage: bool = False
    """Whether the server counted tokens at all."""
    others: tuple[str, ...] = ()
    """Further texts that may hold the answer: arguments of tools, other choices."""
    broken: HttpFailure | None = None
    """The failure of the endpoint, not of the model, that ended the text."""


def completion_in(page: bytes) -> Completion:
    """Return the completion in the body of a response, which may be a stream of events.

    Raises:
        HttpFailure: If the body holds an error, or no completion.
    """
    values = json_values(page)
    try:
        first = next(values)
    except (ValueError, RecursionError) as error:
        raise not_json(page, error) from error
    try:
        body = first
        if _is_part(first):
            is_ended = ENDED.search(page[-200:]) is not None
            body = joined(chain([first], values), is_ended=is_ended)
        return read_completion(body)
    except ValueError as error:
        is_foreign = not isinstance(first, dict) or "choices" not in first
        raise HttpFailure(f"returned {error}", is_foreign=is_foreign) from error


def _is_part(value: Any) -> bool:
    """Return whether a value may be one event of a stream, not a whole completion."""
    choices = object_of(value).get("choices")
    return not choices or any("delta" in object_of(choice) for choice in listed(choices))


def joined(events: Iterable[Any], *, is_ended: bool) -> dict[str, Any]:
    """Return the chat completion that a stream sends in parts, with any error among them.

    Args:
        events: The parts.
        is_ended: Whether the stream says that it has ended.

    Raises:
        ValueError: If there are too many events.
    """
    whole = dict[str, Any]()
    choices = dict[str, _StreamedChoice]()
    for number, event in enumerate(events):
        if number == limits.EVENTS:
            raise ValueError(f"a stream of more than {limits.EVENTS:,} events")
        for part in map(object_of, listed(event) or [event]):
            whole.update({name: value for name, value in part.items() if value is not None})
            for place, choice in enumerate(map(object_of, listed(part.get("choices")))):
                choices.setdefault(str(choice.get("index", place)), _StreamedChoice()).add(choice)
    if "choices" in whole:
        whole["choices"] = [choice.whole(is_ended=is_ended) for choice in choices.values()]
    return whole


class _StreamedChoice:
    """One choice of a completion, joined from the parts that a stream has sent so far."""

    def __init__(self) -> None:
        self._message = dict[str, Any]()
        self._texts = dict[str, list[str]]()  # joined only once, in linear time
        self._reason: Any = None

    def add(self, choice: Mapping[str, Any]) -> None:
        """Add a part: it continues texts and lists, and replaces all else."""
        self._reason = choice.get("finish_reason") or self._reason
        for name, value in object_of(choice.get("delta") or choice.get("message")).items():
            if isinstance(value, list) and isinstance(self._message.get(name), list):
                self._message[name].extend(value)
            elif isinstance(value, str) and name != "role":
                self._texts.setdefault(name, []).append(value)
            elif value is not None or name not in self._message:
                self._message[name] = value

    def whole(self, *, is_ended: bool) -> dict[str, Any]:
        """Return the choice in the form that it has without a stream."""
        texts = {name: "".join(parts) for name, parts in self._texts.items()}
        reason = self._reason
        if not reason and not is_ended:
            reason = UNFINISHED
        return {"message": self._message | texts, "finish_reason": reason}


def error_in(body: Mapping[str, Any], choice: Mapping[str, Any]) -> HttpFailure | None:
    """Return the error that a completion holds, as a failure; None if it holds none."""
    error: Any = choice.get("error") or body.get("error")
    # Some servers send an error as the body itself.
    is_error = body.get("object") == "error" or (not body.get("choices") and words_of(body))
    if not error and is_error:
        error = body
    if not error:
        return None
    # The rest of a body with a choice is the answer, which is no part of the error.
    page = json.dumps(error if choice else body).encode()
    return failure_of(_code_in(error, body), {}, page, is_in_success=True)


def _code_in(*parts: Any) -> int:
    """Return the first HTTP error status among the codes in parts of a body; 0 without one."""
    for part in parts:
        for name in ("code", "status"):
            code = str(object_of(part).get(name))
            if code.isdecimal() and 400 <= int(code) < 600:
                return int(code)
    return 0


def estimated_usage(request: Request, completion: Completion, family: Family) -> Usage:
    """Return the estimated usage of an attempt whose tokens the endpoint did not count.

    One token is counted for CHARACTERS_A_TOKEN characters of text, and one for each patch of an
    image, whose size is that of the model's family.
    """
    image_tokens = 0
    for image in request.images:
        frames = 1
        if isinstance(image, Clip):  # two frames of a video share their tokens
            frames = -(-len(image.times_s) // 2)
        image_tokens += frames * math.prod(-(-side // family.patch) for side in image.size)
    thought = -(-len(completion.reasoning) // CHARACTERS_A_TOKEN)
    return Usage(
        calls=1,
        prompt_tokens=sum(map(len, request.texts)) // CHARACTERS_A_TOKEN + image_tokens,
        image_tokens=image_tokens,
        completion_tokens=-(-len(completion.text) // CHARACTERS_A_TOKEN) + thought,
        reasoning_tokens=thought,
        estimated=True,
    )


def read_completion(body: Any) -> Completion:
    """Read the parsed body of a chat completion.

    Raises:
        HttpFailure: If it holds an error in place of an answer, with the server's own words.
        ValueError: If it is something else. The message continues "the server returned …".
    """
    # Some servers send the completion in a list, or as a value of another object.
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        raise ValueError(NO_COMPLETION)
    if "choices" not in body:
        inner = [value for value in body.values() if "choices" in object_of(value)]
        body = inner[0] if inner else body
    choices = body.get("choices")
    if isinstance(choices, dict):
        choices = [choices] if "message" in choices else list(choices.values())
    raw_choices = listed(choices)[:MOST_CHOICES] or [None]
    replies = [_read_choice(object_of(choice)) for choice in raw_choices]
    first = next((reply for reply in replies if reply.texts), replies[0])
    others = first.texts[1:]
    for reply in replies:
        if reply is not first:
            others += reply.texts
    finish_reason = _finish_reason(first.choice)
    failure = error_in(body, first.choice)
    if not first.texts and not first.thought:
        if failure is not None:
            raise failure
        if not isinstance(choices, list):
            raise ValueError(NO_COMPLETION)
        if not finish_reason:
            failure = HttpFailure("returned no answer")
    if finish_reason in BROKEN and failure is None:
        failure = HttpFailure(f"broke off its answer (finish_reason {finish_reason!r})")
    if failure is not None:
        failure.is_begun = True
    counts = object_of(body.get("usage"))
    # A thought without an end was cut off, unless the model itself has stopped there.
    is_open = first.is_open and finish_reason not in ("stop", "eos", "end_turn")
    return Completion(
        first.texts[0] if first.texts else "",
        first.thought,
        _usage(counts),
        is_cut_off=finish_reason in CUT_OFF or is_open,
        is_withheld=finish_reason in WITHHELD or _is_refused(_message(first.choice)),
        model=storable(body.get("model"))[: limits.NAME],
        has_usage=_count(counts, *_PROMPT, *_COMPLETION) > 0,
        others=tuple(others),
        broken=failure,
    )


class _Reply(NamedTuple):
    """One choice of a completion, and what was read from it."""

    choice: Mapping[str, Any]
    texts: list[str]
    """The texts that may hold the answer: the content, then the arguments of tools."""
    thought: str
    is_open: bool
    """Whether the first of the texts broke off in a thought: see `Split`."""


def _message(choice: Mapping[str, Any]) -> dict[str, Any]:
    return object_of(choice.get("message") or choice.get("delta"))


def _read_choice(choice: Mapping[str, Any]) -> _Reply:
    message = _message(choice)
    content, thought = _content(message.get("content"))
    elsewhere = [_tool_arguments(message)]
    # Some servers send a string in place of a message.
    elsewhere += [storable(choice.get(name)) for name in ("text", "message")]
    if isinstance(message.get("parsed"), dict):
        elsewhere.append(json_of(message["parsed"]))
    splits = [_split(content)]
    splits += [_split(text) for text in elsewhere if text]
    thoughts = [split.thought for split in splits]
    thoughts.append(thought or _reasoning(message))
    answers = [split for split in splits if split.text.strip()]
    return _Reply(
        choice,
        texts=[split.text for split in answers],
        thought="\n".join(filter(None, thoughts)),
        is_open=(answers or splits)[0].is_open,
    )


def _split(text: str) -> Split:
    """Split a text; raise ValueError if it is too long to be searched."""
    if len(text) > limits.TEXT:
        raise ValueError(limits.too_long("an answer", limits.TEXT))
    return split_thought(text)


def _content(content: Any) -> tuple[str, str]:
    """Return the text and the thought in a message's content: a string, parts, or an object."""
    if isinstance(content, dict):
        names = content.keys() & {*_PART_TEXTS, *_THOUGHT_TEXTS}
        if not names or not isinstance(content.get("type"), str):
            return json_of(content), ""  # an answer that the server has parsed
    texts = list[str]()
    thoughts = list[str]()
    for is_thought, text in _texts(content):
        if is_thought:
            thoughts.append(text)
        else:
            texts.append(text)
    return "".join(texts), "\n".join(thoughts)


def _texts(value: Any, is_thought: bool = False, depth: int = 0) -> Iterator[tuple[bool, str]]:
    """Yield each text of a string, a part or a list of parts, after whether the text is thought.

    An object with neither a type nor a text is an answer that the server has parsed.
    """
    if isinstance(value, str):
        yield is_thought, storable(value)
    elif isinstance(value, list) and depth < _MOST_NESTED:
        for part in value:
            yield from _texts(part, is_thought, depth + 1)
    elif isinstance(value, dict) and depth < _MOST_NESTED:
        kind = str(value.get("type"))
        is_thought = is_thought or kind in _THOUGHT_PARTS or value.get("thought") is True
        if not is_thought and kind in _PARSED_PARTS:
            yield False, json_of(value.get(_PARSED_PARTS[kind]))
        elif not is_thought and not value.keys() & {"type", "text"}:
            yield False, json_of(value)
        else:
            yield from _texts(_inner(value, is_thought), is_thought, depth + 1)


def _inner(part: Mapping[str, Any], is_thought: bool) -> Any:
    """Return the value of a part of a message: its thought or its text; None if it has none."""
    for name in _THOUGHT_TEXTS if is_thought else _PART_TEXTS:
        value = part.get(name)
        if isinstance(value, dict) and value and not is_thought:  # {"text": {"value": …}}
            return value.get("value")
        if value:
            return value
    return None


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a server reports apart from the answer."""
    for field in REASONING_FIELDS:
        reasoning = "".join(text for _, text in _texts(message.get(field), is_thought=True))
        if reasoning:
            return reasoning
    return ""


def _tool_arguments(message: Mapping[str, Any]) -> str:
    """Return the arguments of the tools that a message calls: a model may answer in this way."""
    calls = [*listed(message.get("tool_calls")), message.get("function_call")]
    texts = dict[str, list[str]]()
    for number, call in enumerate(map(object_of, calls)):
        function = object_of(call.get("function") or call)
        arguments = json_of(function.get("arguments") or function.get("input"))
        place = str(call.get("index", number))  # a stream sends the arguments of a call in parts
        texts.setdefault(place, []).append(arguments)
    whole = ["".join(parts) for parts in texts.values()]
    return "\n".join(filter(None, whole))


def _finish_reason(choice: Mapping[str, Any]) -> str:
    """Return the finish reason of a choice, in lower case; "" if it has none."""
    for name in ("finish_reason", "native_finish_reason", "stop_reason"):
        reason = choice.get(name)
        if isinstance(reason, dict):
            reason = reason.get("type")
        if isinstance(reason, str) and reason:
            return reason.lower().replace("-", "_")
    return ""


def _is_refused(message: Mapping[str, Any]) -> bool:
    kinds = [object_of(part).get("type") for part in listed(message.get("content"))]
    return bool(message.get("refusal")) or "refusal" in kinds


_PROMPT = ("prompt_tokens", "input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens")
_THOUGHTS = ("reasoning_tokens", "thinking_tokens", "thoughts_token_count")


def _usage(counts: Mapping[str, Any]) -> Usage:
    """Return the usage of a completion. A count that cannot be right is reduced, or counts as 0."""
    details = object_of(counts.get("prompt_tokens_details") or counts.get("input_tokens_details"))
    by_modality = details.get("multimodal_tokens")
    if not isinstance(by_modality, dict):
        by_modality = details
    prompt = _count(counts, *_PROMPT)
    cached = _count(details, "cached_tokens") or _count(
        counts, "cached_tokens", "prompt_cache_hit_tokens"
    )
    completion, thought = _generated(counts, prompt)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        cached_tokens=min(prompt, cached),
        image_tokens=min(
            prompt,
            _count(by_modality, "image", "image_tokens")
            + _count(by_modality, "video", "video_tokens"),
        ),
        completion_tokens=completion,
        reasoning_tokens=thought,
    )


def _generated(counts: Mapping[str, Any], prompt: int) -> tuple[int, int]:
    """Return how many tokens the model generated, and how many of them for its thought.

    Most servers count the thought among the completion tokens. Gemini and Grok count it beside
    them: then their total is larger than prompt and completion together, and the difference is
    thought.
    """
    details = object_of(
        counts.get("completion_tokens_details") or counts.get("output_tokens_details")
    )
    completion = _count(counts, *_COMPLETION)
    thought = _count(details, *_THOUGHTS) or _count(counts, *_THOUGHTS)
    surplus = _count(counts, "total_tokens") - prompt - completion
    if prompt and surplus > 0:
        return completion + surplus, min(thought or surplus, completion + surplus)
    return completion, min(thought, completion)


def _count(counts: Mapping[str, Any], *names: str) -> int:
    """Return the first plausible count under one of the names, or 0."""
    for name in names:
        count = counts.get(name)
        if type(count) is int and 0 < count < 2**40:
            return count
    return 0


_NAMES = (
    r"(?:seed:|mm:|ant)?"
    r"(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)(?::[\w-]{1,20})?"
)
"""Names of tags: <think> (most), <think:opensource> (Hunyuan), <seed:think>, <mm:think> (MiniMax),
<thinking> (Claude), <reasoning>, <analysis>."""
_MARKERS = (
    (rf"<{_NAMES}>", rf"</{_NAMES}>"),
    (r"<ifm\|think(?:_fast|_faster)?>", r"</ifm\|think(?:_fast|_faster)?>"),  # K2
    (r"◁think▷", r"◁/think▷"),  # Kimi-VL
    (r"\[THINK\]", r"\[/THINK\]"),  # Magistral
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),  # Cohere
    (r"<\|channel>(?:thought\b)?", r"<channel\|>"),  # Gemma 4
    (r"<\|open\|>\s*think\s*<\|sep\|>", r"<\|close\|>\s*think\s*<\|sep\|>"),  # Kimi-K3
    (
        r"<\|content_thinking\|>",
        r"(?:<\|end_message\|>(?:<\|message_model\|>)?)?<\|content_text\|>",
    ),  # Inkling
    (
        r"(?:<\|start\|>assistant\s*)?\bto=self<\|message\|>",
        r"<\|eom\|>(?:<\|start\|>assistant\s*)?(?:to=user<\|message\|>)?",
    ),  # Muse
    (r"\A\s*Here(?: i|')s my thought process:", r"Here(?: i|')s my response:"),  # Granite
    (
        r"<\|channel\|>\s*+(?!final|commentary)\w++[^<]{0,200}+<\|message\|>",
        r"(?:<\|end\|>\s*+)?(?:<\|start\|>assistant\s*+)?<\|channel\|>\s*+(?:final"
        r"|commentary)[^<]{0,200}+"
        r"(?:<\|constrain\|>[^<]{0,40}+)?<\|message\|>",
    ),  # harmony, gpt-oss's format
    (
        r"\A\s*analysis(?=\S)(?=.{0,100000}assistantfinal)",
        r"assistantfinal",
    ),  # harmony without its special tokens
    (r"<\|(?:begin_of_thought|thinking|think)\|>", r"<\|(?:end_of_thought|/thinking|/think)\|>"),
)
"""By family, patterns of the marker that begins a thought and of the one that ends it. A thought
that one family's marker begins may be ended by any other's."""
_OPENING = "|".join(opening for opening, _ in _MARKERS)
_CLOSING = "|".join(closing for _, closing in _MARKERS)
_MARKER = re.compile(f"(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})", re.IGNORECASE | re.DOTALL)
_END = re.compile(r"(?:\s|<\|[^|<>\s]{1,40}\|?>|<[\w|]{1,20}\|>|</?s>|<eos>|<end_of_turn>)++")
"""White space and special tokens: a text of nothing else is empty."""


@dataclass(frozen=True)
class Split:
    """A text, divided into a thought and the rest."""

    text: str
    """The text outside of the thought."""
    thought: str
    is_open: bool = False
    """Whether the thought has no end: the model was cut off, or stopped, in it."""


def split_thought(text: str) -> Split:
    """Split a text. Markers within a JSON object are part of its strings, and do not count.

    The text before the last closing marker is thought, even without an opening marker, since the
    prompt may hold that one. The text after a later opening marker is thought, too.
    """
    markers = _markers(text)
    begin = max((marker.end() for marker in markers if marker["closing"] is not None), default=0)
    opening = next((marker for marker in markers if marker.start() >= begin), None)
    rest = text[begin:]
    thoughts = [_MARKER.sub("\n", text[:begin])]
    if opening is not None:
        rest = text[begin : opening.start()]
        thoughts.append(text[opening.end() :])
    if _END.fullmatch(rest):
        rest = ""
    thought = "\n".join(filter(None, map(str.strip, thoughts)))
    return Split(rest, thought, is_open=opening is not None)


def _markers(text: str) -> list[re.Match[str]]:
    """Return the markers in a text that are not part of a JSON object in it."""
    markers = list(_MARKER.finditer(text))
    if not markers or "{" not in text:
        return markers
    try:
        spans = list(json_objects(text))
    except TooMuch:
        return markers
    if spans and spans[0].value is None and not text[: spans[0].start].strip():
        return []  # an answer that is not whole: a marker in it may be part of a string
    whole = [span for span in spans if span.value is not None]
    starts = [span.start for span in whole]

    def is_inside(place: int) -> bool:
        index = bisect_left(starts, place)
        return index > 0 and place < whole[index - 1].end

    return [marker for marker in markers if not is_inside(marker.start())]
