"""Reads the body of a chat completion: answer, separate reasoning, token counts.

Contents:
    `completion_in`, `read_completion`: the completion in a body. Servers deviate from the protocol
        in many ways, so nothing is taken for granted: a field that is missing or has another type
        counts as empty.
    `split_thought`: a thought that a server left in the text, by the markers of any family.
    `joined`: a stream of events as the completion whose parts it sends. What was read stays read: a
        line that is no JSON, such as "ping", says nothing of the answer, and an error at the end
        does not undo the text before it.

Knows nothing of retries and the schema of the answer.
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
"""The end of a stream that tells that it is one, with whatever else it leaves out."""
REASONING_FIELDS = (
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "thinking",
    "thinking_blocks",
    "thought",
)
"""Fields of a message that may hold reasoning, in order of precedence. vLLM uses the first now."""
CUT_OFF = frozenset({
    "length", "max_tokens", "max_length", "max_new_tokens", "max_output_tokens",
    "max_completion_tokens", "model_length", "token_limit", "incomplete",
    "model_context_window_exceeded",
})  # fmt: skip
"""Reasons to finish, in small letters, with which servers say that the answer is not whole."""
WITHHELD = frozenset({
    "content_filter", "content_filtered", "refusal", "safety", "recitation", "blocklist",
    "prohibited_content", "spii", "image_safety", "sensitive", "guardrail_intervened",
})  # fmt: skip
"""Reasons to finish, in small letters, with which servers say that the text is no answer."""
UNFINISHED = "unfinished"
"""Reason to finish of a stream that tells neither a reason nor its end."""
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
"""Reasons to finish, in small letters, with which servers say that they failed, not the model."""
MOST_CHOICES = 16
_THOUGHT_PARTS = frozenset(
    {"thinking", "thought", "reasoning", "reasoning_content", "redacted_thinking"}
)
_THOUGHT_TEXTS = (
    "text",
    "thinking",
    "reasoning",
    "reasoning_content",
    "thought",
    "summary",
    "content",
)
_PARSED_PARTS = {"tool_use": "input", "json": "json", "output_json": "json"}
_PART_TEXTS = ("text", "output_text", "content", "value")
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
    """Return the completion in the body of an answer, also in a stream of events.

    Raises:
        HttpFailure: If it holds an error or something else.
    """
    values = json_values(page)
    try:
        first = next(values)
    except (ValueError, RecursionError) as error:
        raise not_json(page, error) from error
    try:
        body = (
            joined(chain([first], values), is_ended=ENDED.search(page[-200:]) is not None)
            if _is_part(first)
            else first
        )
        return read_completion(body)
    except ValueError as error:
        is_foreign = not isinstance(first, dict) or "choices" not in first
        raise HttpFailure(f"returned {error}", is_foreign=is_foreign) from error


def _is_part(value: Any) -> bool:
    """Return whether a value is no whole answer, so that others may follow it in a stream."""
    choices = object_of(value).get("choices")
    return not choices or any("delta" in object_of(choice) for choice in listed(choices))


def joined(events: Iterable[Any], *, is_ended: bool) -> dict[str, Any]:
    """Return the chat completion whose parts a stream sends, with an error that is among them.

    Args:
        events: The parts.
        is_ended: Whether the stream tells that it has ended.

    Raises:
        ValueError: If there are too many.
    """
    whole = dict[str, Any]()
    choices = dict[str, _Joined]()
    for number, event in enumerate(events):
        if number == limits.EVENTS:
            raise ValueError(f"a stream of more than {limits.EVENTS:,} events")
        for part in map(object_of, listed(event) or [event]):
            whole.update({name: value for name, value in part.items() if value is not None})
            for place, choice in enumerate(map(object_of, listed(part.get("choices")))):
                choices.setdefault(str(choice.get("index", place)), _Joined()).add(choice)
    if "choices" in whole:
        whole["choices"] = [choice.whole(is_ended=is_ended) for choice in choices.values()]
    return whole


class _Joined:
    """One choice of a stream, as far as its parts have come."""

    def __init__(self) -> None:
        self._message = dict[str, Any]()
        self._texts = dict[str, list[str]]()  # joined once: each sum takes time by its length
        self._reason: Any = None

    def add(self, choice: Mapping[str, Any]) -> None:
        """Add a part: texts and lists are continued, all else is replaced."""
        self._reason = choice.get("finish_reason") or self._reason
        for name, value in object_of(choice.get("delta") or choice.get("message")).items():
            if isinstance(value, list) and isinstance(self._message.get(name), list):
                self._message[name].extend(value)
            elif isinstance(value, str) and name != "role":
                self._texts.setdefault(name, []).append(value)
            elif value is not None or name not in self._message:
                self._message[name] = value

    def whole(self, *, is_ended: bool) -> dict[str, Any]:
        """Return the choice."""
        texts = {name: "".join(parts) for name, parts in self._texts.items()}
        reason = self._reason or (None if is_ended else UNFINISHED)
        return {"message": self._message | texts, "finish_reason": reason}


def error_in(body: Mapping[str, Any], choice: Mapping[str, Any]) -> HttpFailure | None:
    """Return the failure of a completion that holds an error in place of an answer, or None."""
    is_error = body.get("object") == "error" or (not body.get("choices") and words_of(body))
    error = choice.get("error") or body.get("error") or (is_error and body)
    if not error:
        return None
    codes = [
        each.get(name)
        for each in (error, body)
        if isinstance(each, dict)
        for name in ("code", "status")
    ]
    code = next(
        (int(str(each)) for each in codes if str(each).isdecimal() and 400 <= int(str(each)) < 600),
        0,
    )
    return failure_of(code, {}, json.dumps(error if choice else body).encode(), is_in_success=True)


def estimated_usage(request: Request, completion: Completion, family: Family) -> Usage:
    """Return the estimated usage of an attempt whose tokens the endpoint did not count.

    A token stands for four characters of text, or for a square of the family's patch in an image.
    """
    texts = (
        part for message in request.messages for part in message.parts if isinstance(part, str)
    )
    image_tokens = 0
    for image in request.images:
        # Two frames of a video share their tokens.
        frames = math.ceil(len(image.times_s) / 2) if isinstance(image, Clip) else 1
        image_tokens += frames * math.prod(-(-side // family.patch) for side in image.size)
    thought = -(-len(completion.reasoning) // CHARACTERS_A_TOKEN)
    return Usage(
        calls=1,
        prompt_tokens=sum(map(len, texts)) // CHARACTERS_A_TOKEN + image_tokens,
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
    body = body[0] if isinstance(body, list) and body else body
    if not isinstance(body, dict):
        raise ValueError(NO_COMPLETION)
    wrapped = (each for each in body.values() if isinstance(each, dict) and "choices" in each)
    body = body if "choices" in body else next(wrapped, body)
    choices = body.get("choices")
    if isinstance(choices, dict):
        choices = [choices] if "message" in choices else list(choices.values())
    listed = choices[:MOST_CHOICES] if isinstance(choices, list) and choices else [None]
    found = [_read(object_of(choice)) for choice in listed]
    first = next((each for each in found if each.texts), found[0])
    others = [text for each in found if each is not first for text in each.texts]
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
    is_open = first.is_open and finish_reason not in ("stop", "eos", "end_turn")
    return Completion(
        first.texts[0] if first.texts else "",
        first.thought,
        _usage(counts),
        is_cut_off=finish_reason in CUT_OFF or is_open,
        is_withheld=finish_reason in WITHHELD or _is_refused(_message(first.choice)),
        model=storable(body.get("model"))[: limits.NAME],
        has_usage=any(_count(counts, *names) for names in (_PROMPT, _COMPLETION)),
        others=(*first.texts[1:], *others),
        broken=failure,
    )


class _Choice(NamedTuple):
    """What one choice of a completion holds."""

    choice: Mapping[str, Any]
    texts: list[str]
    """The texts that may be its answer: the content, then the arguments of tools."""
    thought: str
    is_open: bool


def _message(choice: Mapping[str, Any]) -> dict[str, Any]:
    return object_of(choice.get("message") or choice.get("delta"))


def _read(choice: Mapping[str, Any]) -> _Choice:
    message = _message(choice)
    content, thought = _content(message.get("content"))
    parsed = message.get("parsed")
    elsewhere = (
        _tool_arguments(message),
        storable(choice.get("text")),
        storable(choice.get("message")),
        json_of(parsed) if isinstance(parsed, dict) else "",
    )
    splits = [_split(text) for text in (content, *filter(None, elsewhere))]
    chosen = next((split for split in splits if split.text.strip()), splits[0])
    thoughts = (*(split.thought for split in splits), thought or _reasoning(message))
    texts = [split.text for split in splits if split.text.strip()]
    return _Choice(choice, texts, "\n".join(filter(None, thoughts)), chosen.is_open)


def _split(text: str) -> Split:
    """Split a text that is not too long to be searched."""
    if len(text) > limits.TEXT:
        raise ValueError(limits.too_long("an answer", limits.TEXT))
    return split_thought(text)


def _content(content: Any) -> tuple[str, str]:
    """Return the text and the thought in a message's content: a string, parts, or an object."""
    is_part = isinstance(content, dict) and isinstance(content.get("type"), str)
    if isinstance(content, dict) and not (
        is_part and content.keys() & {*_PART_TEXTS, *_THOUGHT_TEXTS}
    ):
        return json_of(content), ""  # parsed already
    found = list(_texts(content))
    texts, thoughts = (
        [text for is_thought, text in found if is_thought is wanted] for wanted in (False, True)
    )
    return "".join(texts), "\n".join(thoughts)


def _texts(value: Any, is_thought: bool = False, depth: int = 0) -> Iterator[tuple[bool, str]]:
    """Yield the texts of a string, a list of parts, or a part, and whether each is thought.

    An object without a type is an answer that the server has parsed.
    """
    if isinstance(value, str):
        yield is_thought, storable(value)
    elif isinstance(value, list) and depth < _MOST_NESTED:
        for part in value:
            yield from _texts(part, is_thought, depth + 1)
    elif isinstance(value, dict) and depth < _MOST_NESTED:
        kind = str(value.get("type"))
        is_thought = is_thought or kind in _THOUGHT_PARTS or value.get("thought") is True
        if not is_thought and (kind in _PARSED_PARTS or not value.keys() & {"type", "text"}):
            yield False, json_of(value.get(_PARSED_PARTS[kind]) if kind in _PARSED_PARTS else value)
            return
        held = next(
            (
                value[name]
                for name in (_THOUGHT_TEXTS if is_thought else _PART_TEXTS)
                if value.get(name)
            ),
            None,
        )
        held = held.get("value") if isinstance(held, dict) and not is_thought else held
        yield from _texts(held, is_thought, depth + 1)


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a server reports apart from the answer."""
    found = (
        "".join(text for _, text in _texts(message.get(field), True)) for field in REASONING_FIELDS
    )
    return next(filter(None, found), "")


def _tool_arguments(message: Mapping[str, Any]) -> str:
    """Return the arguments of the tools that a message calls: a model may answer in this way."""
    texts = dict[str, list[str]]()
    for number, call in enumerate(
        map(object_of, [*listed(message.get("tool_calls")), message.get("function_call")])
    ):
        function = object_of(call.get("function") or call)
        arguments = json_of(function.get("arguments") or function.get("input"))
        texts.setdefault(str(call.get("index", number)), []).append(
            arguments
        )  # a stream sends them in parts
    return "\n".join(filter(None, map("".join, texts.values())))


def _finish_reason(choice: Mapping[str, Any]) -> str:
    """Return why the answer ended, in small letters."""
    for name in ("finish_reason", "native_finish_reason", "stop_reason"):
        reason = choice.get(name)
        reason = reason.get("type") if isinstance(reason, dict) else reason
        if isinstance(reason, str) and reason:
            return reason.lower().replace("-", "_")
    return ""


def _is_refused(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return bool(message.get("refusal")) or any(
        object_of(part).get("type") == "refusal" for part in parts
    )


_PROMPT = ("prompt_tokens", "input_tokens")
_COMPLETION = ("completion_tokens", "output_tokens")
_THOUGHTS = ("reasoning_tokens", "thinking_tokens", "thoughts_token_count")


def _usage(counts: Mapping[str, Any]) -> Usage:
    """Return the usage of a completion. A count that cannot be right is reduced, or counts as 0."""
    details = object_of(counts.get("prompt_tokens_details") or counts.get("input_tokens_details"))
    by_modality = details.get("multimodal_tokens")
    prompt = _count(counts, *_PROMPT)
    images = by_modality if isinstance(by_modality, dict) else details
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
            _count(images, "image", "image_tokens") + _count(images, "video", "video_tokens"),
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
    beside = _count(counts, "total_tokens") - prompt - completion
    if prompt and beside > 0:
        return completion + beside, min(thought or beside, completion + beside)
    return completion, min(thought, completion)


def _count(counts: Mapping[str, Any], *names: str) -> int:
    """Return the first plausible count under one of the names, or 0."""
    found = (counts.get(name) for name in names)
    return next((count for count in found if type(count) is int and 0 < count < 2**40), 0)


_NAMES = (
    r"(?:seed:|mm:|ant)?"
    r"(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)(?::[\w-]{1,20})?"
)
"""Names of tags: <think> of most, <think:opensource> (Hunyuan), <seed:think>, <mm:think> (MiniMax),
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
        r"(?:<\|end\|>\s*+)?(?:<\|start\|>assistant\s*+)?<\|channel\|>\s*+(?:final|commentary)[^<]{0,200}+"
        r"(?:<\|constrain\|>[^<]{0,40}+)?<\|message\|>",
    ),  # harmony, gpt-oss's format
    (
        r"\A\s*analysis(?=\S)(?=.{0,100000}assistantfinal)",
        r"assistantfinal",
    ),  # without its special tokens
    (r"<\|(?:begin_of_thought|thinking|think)\|>", r"<\|(?:end_of_thought|/thinking|/think)\|>"),
)
"""What begins and what ends a thought, by family; any end ends any thought."""
_OPENING, _CLOSING = map("|".join, zip(*_MARKERS, strict=True))
_MARKER = re.compile(f"(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})", re.IGNORECASE | re.DOTALL)
_END = re.compile(r"(?:\s|<\|[^|<>\s]{1,40}\|?>|<[\w|]{1,20}\|>|</?s>|<eos>|<end_of_turn>)++")


@dataclass(frozen=True)
class Split:
    """A text, split."""

    text: str
    """What is outside of the thought."""
    thought: str
    is_open: bool = False
    """Whether the thought has no end: the model was cut off, or stopped, in it."""


def split_thought(text: str) -> Split:
    """Split a text. Markers within a JSON object are part of its strings.

    What stands before the last closing marker is thought, though its opening marker may be missing,
    because the prompt has it; so is all that follows an opening marker after it.
    """
    markers = _markers(text)
    begin = max((marker.end() for marker in markers if marker["closing"] is not None), default=0)
    opening = next((marker for marker in markers if marker.start() >= begin), None)
    rest = text[begin : opening.start() if opening else len(text)]
    thoughts = [_MARKER.sub("\n", text[:begin]), text[opening.end() :] if opening else ""]
    thought = "\n".join(filter(None, (part.strip() for part in thoughts)))
    return Split("" if _END.fullmatch(rest) else rest, thought, is_open=opening is not None)


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
        found = bisect_left(starts, place)
        return found > 0 and place < whole[found - 1].end

    return [marker for marker in markers if not is_inside(marker.start())]
