"""`hear`: what a speech model hears in a piece of sound, from the cache if it was heard before."""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import Kind
from atlaskit.errors import Unrecorded
from atlaskit.models.speech import ASR
from atlaskit.models.transcription import Segment, read_transcript_entry, transcript_entry

TRANSCRIPT = Kind("transcript", 1, lambda _, value: read_transcript_entry(value) is not None)
"""What a speech model heard in a chunk of sound. Left out: the video and the second at which the
chunk starts, so that the same sound elsewhere costs nothing; and the endpoint's address,
credentials and time-outs."""


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
        return transcript_entry(asr.transcribe(wav, cancel=cancel).segments)

    def is_usable(entry: bytes) -> bool:
        with suppress(ValueError):  # an imported cache may hold anything
            read_transcript_entry(entry)
            return True
        return False

    def is_over() -> bool:
        return cancel is not None and cancel.is_set()

    return read_transcript_entry(cache.remember(key, make_entry, fits=is_usable, go_on=is_over))
