"""The body of a transcription: what a speech model heard in one file, validated.

Servers differ in what they tell: segments with times, or the text alone. Nothing is taken for
granted: times and text are bounded, and a number that is none is refused.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
)

from atlaskit.caching.keys import canonical_json
from atlaskit.errors import first_fault

MOST_CHARACTERS = 20_000
"""Most characters of the text of one file. Nobody says a tenth of it in half a minute."""
MOST_SEGMENTS = 2_000
MOST_COMPRESSION = 2.4
"""Text that can be compressed more than this repeats itself, as speech models do in noise."""
NO_SPEECH, UNLIKELY = 0.6, -1.0
"""A segment is no speech if its `no_speech_prob` is above the first and its `avg_logprob`, if there
is one, below the second: Whisper's own thresholds."""
_TOKEN = re.compile(r"<\|[^<>|]{0,40}\|>")
"""A special token, which a server may leave in the text."""


def _finite_or_none(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _storable(value: object) -> object:
    """Replace lone surrogates, which JSON can hold and UTF-8 cannot."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


_Text = Annotated[str, BeforeValidator(_storable), Field(max_length=MOST_CHARACTERS)]
_Statistic = Annotated[FiniteFloat | None, BeforeValidator(_finite_or_none)]


class _Segment(BaseModel):
    model_config = ConfigDict(extra="ignore")

    start: FiniteFloat
    end: FiniteFloat
    text: _Text
    compression_ratio: _Statistic = None
    no_speech_prob: _Statistic = None
    avg_logprob: _Statistic = None


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: _Text | None = None
    segments: Annotated[list[_Segment], Field(max_length=MOST_SEGMENTS)] | None = None


class Segment(NamedTuple):
    """Some words that a speech model heard."""

    start_s: FiniteFloat | None
    """Second of the file at which they begin; None if the model gives no times."""
    end_s: FiniteFloat | None
    text: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
    """Plain text on one line."""
    is_repetitive: bool = False
    """Whether the text repeats itself so much that the model must have made it up."""
    is_no_speech: bool = False
    """Whether the model itself takes it for noise."""


def read_transcription(body: Any) -> tuple[Segment, ...]:
    """Read the parsed body of a transcription. A segment without text is left out.

    Raises:
        ValueError: If the body is not a transcription.
    """
    try:
        found = _Body.model_validate(body)
    except ValidationError as error:
        where, what = first_fault(error)
        raise ValueError(f"no transcription ({what}{f' at {where}' if where else ''})") from error
    if found.text is None and found.segments is None:
        raise ValueError("no transcription (does the address end in /v1?)")
    segments = [_segment(each) for each in found.segments or ()]
    if not any(segment.text for segment in segments):
        text = _plain(found.text or "")
        segments = [Segment(None, None, text, compression(text) > MOST_COMPRESSION)]
    return tuple(segment for segment in segments if segment.text)


_ENTRY = TypeAdapter(Annotated[tuple[Segment, ...], Field(max_length=MOST_SEGMENTS)])


def transcript_entry(segments: Sequence[Segment]) -> bytes:
    """Return the cache entry of what was heard in a chunk of sound."""
    return canonical_json(segments).encode()


def read_transcript_entry(entry: bytes) -> tuple[Segment, ...]:
    """Return the segments in a cache entry.

    Raises:
        ValueError: If the entry is not one of `transcript_entry`. An imported cache may hold any
            bytes.
    """
    return _ENTRY.validate_json(entry, strict=True)


def _segment(found: _Segment) -> Segment:
    text = _plain(found.text)
    ratio = compression(text) if found.compression_ratio is None else found.compression_ratio
    is_unlikely = found.avg_logprob is None or found.avg_logprob < UNLIKELY
    is_no_speech = found.no_speech_prob is not None and found.no_speech_prob > NO_SPEECH and is_unlikely
    return Segment(found.start, found.end, text, ratio > MOST_COMPRESSION, is_no_speech)


def compression(text: str) -> float:
    """Return by what factor zlib compresses a text; 0 for none."""
    data = text.encode()
    return len(data) / len(zlib.compress(data)) if data else 0.0


def _plain(text: str) -> str:
    """Return text on one line, without special tokens and what cannot be stored or printed."""
    words = " ".join(_TOKEN.sub(" ", text).replace("\ufffd", "").split())
    return "".join(character for character in words if character.isprintable())
