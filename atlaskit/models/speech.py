"""`ak.ASR`: a speech model behind an OpenAI-compatible endpoint (`/v1/audio/transcriptions`).

A call sends one sound file and returns what the model heard in it; `hear` takes from the cache what
was heard before. Failures that may pass are
retried as those of a `VLM` are. Knows nothing of videos and how sound is cut.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind, is_valid
from atlaskit.errors import InputError, Unrecorded
from atlaskit.models.attempts import CallState, Line
from atlaskit.models.http import HttpFailure, parsed
from atlaskit.models.protocol import Usage
from atlaskit.models.transcription import Segment, read_transcript_entry, read_transcription, transcript_entry

Format = Literal["verbose_json", "json"]
"""What a server is asked for: segments with times, or the text alone."""
TRANSCRIPT = Kind("transcript", 1, lambda _, value: read_transcript_entry(value) is not None)
"""What a speech model heard in a chunk of sound. Left out: the video and the second at which the
chunk starts, so that the same sound elsewhere costs nothing; and the endpoint's address,
credentials and time-outs."""
UNKNOWN_FORMAT = frozenset({400, 404, 415, 422, 501})
"""Statuses with which servers refuse a format that they or their model do not have."""


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
    ) -> None:
        """Name an endpoint and one of its speech models.

        Args:
            base_url: Address of the endpoint, for most servers with /v1 at its end.
            model: Name of the model, such as "openai/whisper-large-v3".
            language: The language that is spoken, as an ISO 639-1 code such as "en". None: the
                model finds out, for each chunk of the sound anew.
            prompt: Text that tells the model about style and names, where it takes one.
            api_key: Key of the endpoint. None: the environment's OPENAI_API_KEY, which is never
                sent to a server on this machine.
            timeout_s: Most seconds one attempt may take.
            in_flight: Most requests in flight to this address at once, over all models and threads
                of the process. None: 16, or the limit that was set before.

        Raises:
            InputError: If a setting is invalid.
        """
        for name, text in {"model": model, "language": language or "en", "prompt": prompt or "-"}.items():
            if not isinstance(text, str) or not text.strip() or len(text) > 10_000:
                raise InputError(f"{name} must be a text that is not blank; got {text!r:.80}.")
        self._line = Line(base_url, model, api_key=api_key, timeout_s=timeout_s, in_flight=in_flight)
        self.base_url, self.name = self._line.endpoint.base_url, model
        self._format: Format | None = None
        self.parameters: Mapping[str, Any] = {
            "language": language and language.strip(),
            "prompt": prompt,
            "response_format": "auto",
            "temperature": 0.0,
        }

    def with_language(self, language: str | None) -> ASR:
        """Return the same model, told that a language is spoken."""
        prompt = self.parameters["prompt"]
        return ASR(self.base_url, self.name, language=language, prompt=prompt, **self._line.settings)

    def transcribe(self, wav: bytes, *, cancel: threading.Event | None = None) -> tuple[Segment, ...]:
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
        asked: Format = self._format or "verbose_json"
        try:
            segments = self._segments(wav, asked, state)
        except HttpFailure as failure:
            # Another call may have found out meanwhile that the endpoint takes the text alone.
            if asked == "json" or self._format == asked or failure.status not in UNKNOWN_FORMAT:
                raise
            state.count(Usage(calls=int(failure.is_call)))
            asked = "json"  # at once, and at least once: it is another request
            segments = self._segments(wav, asked, state)
        self._format = asked
        return segments

    def _segments(self, wav: bytes, response_format: Format, state: CallState) -> tuple[Segment, ...]:
        fields = {"model": self.name, "response_format": response_format, "temperature": "0"}
        told = {name: self.parameters[name] for name in ("language", "prompt") if self.parameters[name]}
        content_type, body = form_data({**fields, **told}, wav)
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
    asr: ASR, samples: bytes, wav: bytes, cache: Cache, *, replay: bool = False, cancel: threading.Event | None = None
) -> tuple[Segment, ...]:
    """Return what a model hears in a piece of sound; ask it only if the cache does not know.

    Threads and processes that need the same at the same time make one call. A call that fails is
    not cached.

    Args:
        asr: The model.
        samples: The sound, 16-bit samples, little-endian: they are hashed.
        wav: The same sound as a file: it is sent.
        cache: Where transcripts are stored.
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
            raise Unrecorded(f"{cache} does not know what {asr.name} hears in this sound, and a replay asks no model.")
        return transcript_entry(asr.transcribe(wav, cancel=cancel))

    entry = cache.remember(
        key, make_entry, fits=partial(is_valid, key), go_on=lambda: cancel is not None and cancel.is_set()
    )
    return read_transcript_entry(entry)
