"""`ak.ASR`: a speech model behind an OpenAI-compatible endpoint (`/v1/audio/transcriptions`).

A call sends one sound file and returns what the model heard in it; `hear` takes from the cache what
was heard before. Failures that may pass are retried as those of a `VLM` are. What a server returns
is checked: the length of texts and lists is limited, and times must be finite. This module knows
nothing of videos and of how sound is cut.
"""

from __future__ import annotations

import hashlib
import math
import re
import threading
import zlib
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
)

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind, canonical_json, is_valid
from atlaskit.errors import InputError, Unrecorded, first_fault
from atlaskit.models.attempts import CallState, Line
from atlaskit.models.http import HttpFailure, parsed

Format = Literal["verbose_json", "json"]
"""What a server is asked for: segments with times, or the text alone."""
# The check never returns False: for a wrong entry it raises ValueError.
TRANSCRIPT = Kind("transcript", 1, lambda _, value: read_transcript_entry(value) is not None)
"""What a speech model heard in a chunk of sound. Its key leaves out the video and the second at
which the chunk starts, so that the same sound elsewhere costs nothing, and the endpoint's address,
credentials and time-outs."""
UNKNOWN_FORMAT = frozenset({400, 404, 415, 422, 501})
"""Statuses with which servers refuse a format that they or their model do not have."""

MOST_CHARACTERS = 20_000
"""Most characters of the text of one file. Nobody says a tenth of them in half a minute."""
MOST_SEGMENTS = 2_000
MOST_COMPRESSION = 2.4
"""Text that zlib compresses by a larger factor repeats itself: models hear such text in noise."""
NO_SPEECH = 0.6
"""A segment may be noise if its `no_speech_prob` is above this threshold of Whisper's."""
UNLIKELY = -1.0
"""Such a segment is speech all the same if its `avg_logprob` is not below this threshold."""
_TOKEN = re.compile(r"<\|[^<>|]{0,40}\|>")
"""A special token, which a server may leave in the text."""


def _finite_or_none(value: object) -> object:
    """Replace NaN and infinities by None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _storable(value: object) -> object:
    """Replace lone surrogates, which JSON can hold and UTF-8 cannot."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


_Text = Annotated[str, BeforeValidator(_storable), Field(max_length=MOST_CHARACTERS)]
_Statistic = Annotated[FiniteFloat | None, BeforeValidator(_finite_or_none)]


class _Segment(BaseModel):
    """A segment as servers return it."""

    model_config = ConfigDict(extra="ignore")

    start: FiniteFloat
    end: FiniteFloat
    text: _Text
    compression_ratio: _Statistic = None
    no_speech_prob: _Statistic = None
    avg_logprob: _Statistic = None


class _Body(BaseModel):
    """The body of a transcription as servers return it."""

    model_config = ConfigDict(extra="ignore")

    text: _Text | None = None
    segments: Annotated[list[_Segment], Field(max_length=MOST_SEGMENTS)] | None = None


class Segment(NamedTuple):
    """Some words that a speech model heard."""

    start_s: FiniteFloat | None
    """Second of the file at which the words begin; None if the model gives no times."""
    end_s: FiniteFloat | None
    """Second of the file at which the words end; None if the model gives no times."""
    text: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
    """Plain text on one line."""
    is_repetitive: bool = False
    """Whether the text repeats itself so much that the model must have made it up."""
    is_no_speech: bool = False
    """Whether the model itself judges that the segment is noise."""


class ASR:
    """A speech model behind an OpenAI-compatible endpoint.

    A call is retried after a failed connection, a reset, a time-out and the statuses 408, 409, 425,
    429 and 5xx, as a `VLM`'s. Every attempt counts as a call in `Usage`.

    Threads may share an ASR.

    Attributes:
        name: Name of the model.
        parameters: What the transcriptions depend on beside the model and the sound.
        base_url: Address of the endpoint, without a slash at its end.

    Examples:
        >>> asr = ak.ASR("http://127.0.0.1:8001/v1", "openai/whisper-large-v3", language="en")
        >>> asr.name
        'openai/whisper-large-v3'
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        language: str | None = None,
        prompt: str = "",
        api_key: str | None = None,
        timeout_s: float = 300.0,
        in_flight: int | None = None,
        rpm: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Name an endpoint and one of its speech models.

        Args:
            base_url: Address of the endpoint, for most servers with /v1 at its end.
            model: Name of the model, such as "openai/whisper-large-v3".
            language: The language that is spoken, as an ISO 639-1 code such as "en". None: the
                model detects it, in each chunk of the sound anew.
            prompt: Text that tells the model about style and names, where it takes one.
            api_key: Key of the endpoint. None: the environment's OPENAI_API_KEY, which is never
                sent to a server on this machine.
            timeout_s: Most seconds one attempt may take.
            in_flight: Most requests in flight to this address at once, over all models and threads
                of the process. None: 16, or the limit that was set before.
            rpm: Most requests a minute to this address. None: no limit, or the one that was set
                before.
            headers: Further headers of every request, such as {"api-key": …}.

        Raises:
            InputError: If a setting is invalid.
        """
        texts: dict[str, object] = {"model": model}
        if language:
            texts["language"] = language
        if prompt:
            texts["prompt"] = prompt
        for name, text in texts.items():
            if not isinstance(text, str) or not text.strip() or len(text) > 10_000:
                raise InputError(f"{name} must be a text that is not blank; got {text!r:.80}.")
        self._line = Line(
            base_url,
            model,
            api_key=api_key,
            timeout_s=timeout_s,
            in_flight=in_flight,
            rpm=rpm,
            headers=headers,
        )
        self.base_url = self._line.endpoint.base_url
        self.name = model
        self._format: Format | None = None
        self.parameters: Mapping[str, Any] = {
            "language": language and language.strip(),
            "prompt": prompt,
            "response_format": "auto",
            "temperature": 0.0,
        }

    def with_language(self, language: str | None) -> ASR:
        """Return the same model with another `language`."""
        prompt = self.parameters["prompt"]
        return ASR(
            self.base_url, self.name, language=language, prompt=prompt, **self._line.settings
        )

    def transcribe(
        self, wav: bytes, *, cancel: threading.Event | None = None
    ) -> tuple[Segment, ...]:
        """Send a sound file and return what the model heard in it.

        Args:
            wav: A WAV file, at most as long as the model hears at once.
            cancel: The caller sets it when it no longer needs the answer.

        Raises:
            Unreachable: If no server answers at the address.
            Refused: If the endpoint rejects the request.
            ModelError: If the call failed otherwise. Each error's `usage` says what the call cost.
        """
        state = CallState(cancel=cancel)
        return self._line.retried(partial(self._attempt, wav, state), state)

    def _attempt(self, wav: bytes, state: CallState) -> tuple[Segment, ...]:
        """Make one attempt of a call, in the format that the endpoint takes.

        An endpoint that refuses segments with times is asked at once for the text alone, even if
        the attempts are used up: it is another request.
        """
        asked: Format = self._format or "verbose_json"
        try:
            segments = self._segments(wav, asked, state)
        except HttpFailure as failure:
            # If the endpoint has taken this format before, it refuses something else.
            if asked == "json" or self._format == asked or failure.status not in UNKNOWN_FORMAT:
                raise
            state.count_failure(failure)
            asked = "json"
            segments = self._segments(wav, asked, state)
        self._format = asked
        return segments

    def _segments(
        self, wav: bytes, response_format: Format, state: CallState
    ) -> tuple[Segment, ...]:
        """Send a file once and return what the model heard."""
        fields = {"model": self.name, "response_format": response_format, "temperature": "0"}
        options = {
            name: self.parameters[name] for name in ("language", "prompt") if self.parameters[name]
        }
        content_type, body = form_data({**fields, **options}, wav)
        page = self._line.post("audio/transcriptions", body, {"Content-Type": content_type}, state)
        try:
            return read_transcription(parsed(page))
        except ValueError as error:
            raise HttpFailure(f"returned {error}") from error

    def __repr__(self) -> str:
        return f"ASR({self.base_url!r}, {self.name!r})"


def form_data(fields: Mapping[str, str], wav: bytes) -> tuple[str, bytes]:
    """Return the content type and the body of a form (multipart/form-data) with a sound file."""
    boundary = f"atlaskit-{hashlib.sha256(wav).hexdigest()}"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="sound.wav"\r\n'
    head += "Content-Type: audio/wav\r\n\r\n"
    body = "".join(parts).encode() + head.encode() + wav + f"\r\n--{boundary}--\r\n".encode()
    return f"multipart/form-data; boundary={boundary}", body


def hear(
    asr: ASR,
    samples: bytes,
    wav: bytes,
    cache: Cache,
    *,
    replay: bool = False,
    cancel: threading.Event | None = None,
) -> tuple[Segment, ...]:
    """Return what a model hears in a chunk of sound; call it only if the cache does not know.

    Threads and processes that need the same transcript at the same time make one call. A call that
    fails is not cached.

    Args:
        asr: The model.
        samples: The sound as 16-bit little-endian samples, whose hash is part of the cache key.
        wav: The same sound as a WAV file, which is sent.
        cache: Stores the transcripts.
        replay: Never call the model.
        cancel: The caller sets it when it no longer needs the answer.

    Raises:
        ModelError: If the call fails.
        Unrecorded: In a replay, if the cache does not know.
    """
    sound = hashlib.sha256(samples).hexdigest()
    key = TRANSCRIPT.key(sound=sound, model=asr.name, parameters=dict(asr.parameters))

    def make_entry() -> bytes:
        if replay:
            raise Unrecorded(
                f"{cache} does not know what {asr.name} hears in this sound, and a replay asks no "
                "model."
            )
        return canonical_json(asr.transcribe(wav, cancel=cancel)).encode()

    entry = cache.remember(
        key,
        make_entry,
        fits=partial(is_valid, key),
        # Once cancelled, this caller stops waiting for another one that makes the same entry.
        go_on=lambda: cancel is not None and cancel.is_set(),
    )
    return read_transcript_entry(entry)


def read_transcription(body: Any) -> tuple[Segment, ...]:
    """Read the parsed body of a transcription. A segment without text is left out.

    Raises:
        ValueError: If the body is not a transcription.
    """
    try:
        reply = _Body.model_validate(body)
    except ValidationError as error:
        where, fault = first_fault(error)
        if where:
            fault += f" at {where}"
        raise ValueError(f"no transcription ({fault})") from error
    if reply.text is None and reply.segments is None:
        raise ValueError("no transcription (does the address end in /v1?)")
    segments = [_segment(each) for each in reply.segments or ()]
    if not any(segment.text for segment in segments):
        text = _plain(reply.text or "")
        segments = [Segment(None, None, text, compression(text) > MOST_COMPRESSION)]
    return tuple(segment for segment in segments if segment.text)


_ENTRY = TypeAdapter(Annotated[tuple[Segment, ...], Field(max_length=MOST_SEGMENTS)])


def read_transcript_entry(entry: bytes) -> tuple[Segment, ...]:
    """Return the segments in a cache entry.

    Raises:
        ValueError: If `hear` would not store such an entry. An imported cache may hold any bytes.
    """
    return _ENTRY.validate_json(entry, strict=True)


def _segment(part: _Segment) -> Segment:
    """Return a server's segment with its text cleaned, and judged by Whisper's thresholds."""
    text = _plain(part.text)
    ratio = part.compression_ratio
    if ratio is None:
        ratio = compression(text)
    is_unlikely = part.avg_logprob is None or part.avg_logprob < UNLIKELY
    is_silent = part.no_speech_prob is not None and part.no_speech_prob > NO_SPEECH
    return Segment(
        part.start,
        part.end,
        text,
        is_repetitive=ratio > MOST_COMPRESSION,
        is_no_speech=is_silent and is_unlikely,
    )


def compression(text: str) -> float:
    """Return by what factor zlib compresses a text; 0 for an empty text."""
    data = text.encode()
    if not data:
        return 0.0
    return len(data) / len(zlib.compress(data))


def _plain(text: str) -> str:
    """Return text on one line, without special tokens and characters that cannot be printed."""
    words = " ".join(_TOKEN.sub(" ", text).replace("\ufffd", "").split())
    return "".join(character for character in words if character.isprintable())
