"""Splits a model's text into its thought and the rest, by the markers of any family.

A server with a reasoning parser splits them itself. Without one, or with another family's, the
markers stay in the text. Knows nothing of the schema of the answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from atlaskit.models.json_text import TooMuch, json_objects

_NAMES = r"(?:seed:|mm:|ant)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)(?::[\w-]{1,20})?"
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
    (r"<\|content_thinking\|>", r"(?:<\|end_message\|>(?:<\|message_model\|>)?)?<\|content_text\|>"),  # Inkling
    (
        r"(?:<\|start\|>assistant\s*)?\bto=self<\|message\|>",
        r"<\|eom\|>(?:<\|start\|>assistant\s*)?(?:to=user<\|message\|>)?",
    ),  # Muse
    (r"\A\s*Here(?: i|')s my thought process:", r"Here(?: i|')s my response:"),  # Granite
    (r"<\|(?:begin_of_thought|thinking|think)\|>", r"<\|(?:end_of_thought|/thinking|/think)\|>"),
)
"""What begins and what ends a thought, by family; any end ends any thought."""
_OPENING, _CLOSING = map("|".join, zip(*_MARKERS, strict=True))
_MARKER = re.compile(f"(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})", re.IGNORECASE)
_CHANNEL = re.compile(
    r"<\|channel\|>\s*+(?P<name>\w++)[^<]{0,200}+(?:<\|constrain\|>[^<]{0,40})?<\|message\|>"
    r"(?P<text>.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
"""A channel of harmony, gpt-oss's format."""
_BARE_CHANNELS = re.compile(r"\A\s*analysis(?P<thought>.*?)assistant\s*final(?P<text>.*)", re.DOTALL)
"""The channels of harmony without their markers, as servers that skip special tokens send them."""
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

    A thought whose opening marker is missing, because the prompt has it, begins with the text.
    Where the closing marker is missing, all that follows the opening marker is thought.
    """
    if "<|channel|>" in text and text.lstrip()[:1] != "{" and (channels := list(_CHANNEL.finditer(text))):
        return _of_channels(text[: channels[0].start()], channels)
    if bare := _BARE_CHANNELS.fullmatch(text):
        return Split(bare["text"], bare["thought"].strip())
    markers = _markers(text)
    outside, thoughts, place, is_open = list[str](), list[str](), 0, False
    for marker in markers:
        is_closing = marker["closing"] is not None
        if not is_open:
            outside.append(text[place : marker.start()])
            if is_closing:  # its opening marker is missing
                thoughts.extend(outside)
                outside.clear()
            place = marker.end()
        elif is_closing:
            thoughts.append(text[place : marker.start()])
            place = marker.end()
        is_open = not is_closing
    (thoughts if is_open else outside).append(text[place:])
    rest = "".join(outside)
    if _END.fullmatch(rest):
        rest = ""
    return Split(rest, "\n".join(each for part in thoughts if (each := part.strip())), is_open)


def _of_channels(before: str, channels: list[re.Match[str]]) -> Split:
    """Split harmony: the channel "final" is the answer; without one, "commentary" is."""
    texts = [("", before), *((channel["name"].lower(), channel["text"]) for channel in channels)]
    names = {name for name, _ in texts}
    answer = next((name for name in ("final", "commentary") if name in names), "")
    thoughts = [text.strip().removeprefix("<|start|>assistant").strip() for name, text in texts if name != answer]
    found = [text for name, text in texts if name == answer and answer]
    return Split("".join(found), "\n".join(filter(None, thoughts)), is_open=not answer)


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
