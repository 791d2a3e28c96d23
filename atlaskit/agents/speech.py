"""`transcribe`: makes the subtitles of a video from its sound, by a speech model.

The sound is cut at pauses into chunks of at most 30 s, and several are sent at once. The text of a
chunk is cached by a hash of its samples, so a second run pays only for missing chunks.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlaskit.caching.cache import Cache, default_cache
from atlaskit.errors import (
    InputError,
    SpeechWarning,
    Unrecorded,
    VideoError,
    check_flags,
    check_whole,
    printable,
)
from atlaskit.models.protocol import ModelError, Usage
from atlaskit.models.speech import ASR, Segment, hear
from atlaskit.progress import bar as progress_bar
from atlaskit.video.opening import as_video
from atlaskit.video.playlist import AnyVideo, Playlist
from atlaskit.video.sound import Chunk, Sound
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.subtitles.track import SourceLine, place_lines
from atlaskit.video.tracks import language_code
from atlaskit.video.video import Video

PARALLEL = 8
"""Chunks that are sent at once, unless the caller sets another number."""
MOST_FAILURES = 3
"""The number of failures in a row after which no more chunks are queued; those that are in the
queue are still sent."""
SHORTEST_S = 0.01
"""The shortest line, in seconds, with usable times; a shorter line gets the times of its chunk."""
BAR = "{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total:.0f} s [{elapsed}<{remaining}{postfix}]"
"""Format of the progress bar, in seconds of sound."""


def transcribe(
    video: AnyVideo,
    asr: ASR,
    *,
    language: str | None = None,
    audio_track: int | None = None,
    save: str | Path | None = None,
    parallel: int = PARALLEL,
    cache: Cache | None = None,
    progress: bool = True,
    replay: bool = False,
) -> Subtitles:
    """Return the speech in a video as subtitles, transcribed by a speech model.

    The sound is decoded once, and cut at pauses into chunks of at most 30 s. Silent chunks are not
    sent. If some chunks fail, the others are cached, so that repeating the call asks only for the
    missing ones.

    Text that the model probably invented from noise is left out, with a warning: text that repeats
    itself (zlib compresses it more than 2.4 times), and text that the model itself marks as no
    speech. A model that gives no times yields one line for each chunk.

    Args:
        video: A file, an open video, or a list of these, which together are one video. A file that
            occurs several times in the list is transcribed once.
        asr: The speech model.
        language: The language that is spoken, as an ISO 639 code or an English name. It is passed
            to the model, and chooses among several sound tracks. None: the language of `asr`.
        audio_track: Number of the sound track, from 0. None: the track of the language, or the
            default track.
        save: An SRT file to write the lines to, which `open_video` takes as `subtitles`.
        parallel: The number of chunks that are sent at once; no result depends on it.
        cache: The cache of transcribed chunks; None for the default cache.
        progress: Whether to show a progress bar.
        replay: Whether only the cache may answer: the model is never called.

    Returns:
        The lines, with times in seconds of the video, for `open_video(path, subtitles=lines)`.

    Raises:
        VideoError: The video cannot be opened, or has no sound.
        InputError: An argument is wrong, or `save` cannot be written.
        ModelError: Some chunks could not be transcribed; the error names the times of the first.
        Unrecorded: A replay needs a chunk that is not in the cache.

    Warns:
        SpeechWarning: Some of the text is left out, or no words were heard.
        DamagedVideo: Some of the sound cannot be decoded.

    Examples:
        >>> asr = ak.ASR("http://127.0.0.1:8001/v1", "openai/whisper-large-v3")
        >>> lines = ak.transcribe("match.mp4", asr, save="heard.srt")  # doctest: +SKIP
    """
    check_whole("parallel", parallel)
    check_flags(progress=progress, replay=replay)
    if save is not None and Path(save).suffix.lower() != ".srt":
        raise InputError(
            f"save must be a file that ends in .srt; got {printable(str(save), 200)!r}."
        )
    if save is not None and not Path(save).absolute().parent.is_dir():
        raise InputError(f"{printable(str(save), 200)} cannot be written: there is no such folder.")
    if language is not None:
        asr = asr.with_language(language_code(language))
    opened = as_video(video, cache)
    sounds = _sounds(opened, audio_track, asr.parameters["language"])
    total_s = sum(sound.duration_s for sound in sounds.values())
    desc = f"{printable(asr.name, 60)} hears {printable(opened.name, 60)}"
    with progress_bar(total=total_s, desc=desc, bar_format=BAR, disable=not progress) as bar:
        listener = _Listener(asr, cache or default_cache(), parallel, replay, bar)
        tracks = {key: listener.track(sound) for key, sound in sounds.items()}
        bar.update(bar.total - bar.n)  # chunks of a damaged file need not add up to its duration
    track = _assembled(opened, tracks)
    listener.warn()
    if not len(track):
        warnings.warn(f"{asr.name} heard no words in {opened.name}.", SpeechWarning, stacklevel=2)
    elif save is not None:
        lead_s = 0.0
        if not isinstance(opened, Playlist):  # subtitles count from the start of the container
            (sound,) = sounds.values()
            lead_s = sound.lead_s
        track.save(save, starts_at_s=lead_s)
    return track


def _sounds(video: Video, audio_track: int | None, language: str | None) -> dict[str, Sound]:
    """Return the sound of each distinct file of a video, by its fingerprint.

    Raises:
        VideoError: None of the files has sound.
        InputError: A file does not have the requested track.
    """
    if not isinstance(video, Playlist):
        return {video.fingerprint: video.open_sound(audio_track, language)}
    sounds: dict[str, Sound] = {}
    failures: list[VideoError] = []
    for part in {part.fingerprint: part for part in video.parts}.values():
        try:
            sounds |= _sounds(part, audio_track, language)
        except VideoError as error:
            failures.append(error)
    if failures and not sounds:
        raise failures[0]
    for failure in failures:
        warnings.warn(f"A part of {video.name} is left out. {failure}", SpeechWarning, stacklevel=3)
    return sounds


def _assembled(video: Video, tracks: dict[str, Subtitles]) -> Subtitles:
    """Return the lines of a video, joined from the lines of its files."""
    if not isinstance(video, Playlist):
        return tracks.get(video.fingerprint, Subtitles())
    shifted = list[Subtitles]()
    start_s = 0.0
    for part in video.parts:
        end_s = start_s + part.duration_s
        shifted.append(_assembled(part, tracks).shifted(start_s, end_s))
        start_s = end_s
    return Subtitles.merged(shifted)


@dataclass(frozen=True)
class _Place:
    """The place of a chunk in a file, in seconds."""

    start_s: float
    end_s: float

    def __str__(self) -> str:
        return f"{_clock(self.start_s)} to {_clock(self.end_s)}"


@dataclass
class _Progress:
    """The progress of the transcription of one file."""

    segments: dict[_Place, tuple[Segment, ...]] = field(default_factory=dict)
    failures: dict[_Place, ModelError | Unrecorded] = field(default_factory=dict)
    failures_in_a_row: int = 0
    """Failures since the last success."""


class _Listener:
    """Transcribes files one after the other, with many chunks of a file in flight."""

    def __init__(self, asr: ASR, cache: Cache, parallel: int, replay: bool, bar: Any) -> None:
        self._asr = asr
        self._cache = cache
        self._parallel = parallel
        self._replay = replay
        self._bar = bar
        self._left_out: Counter[str] = Counter()
        self._example = ""
        self._lines = 0

    def track(self, sound: Sound) -> Subtitles:
        """Return the lines of a file, on the time axis of its video."""
        progress = self._hear_all(sound)
        if progress.failures:
            raise self._error(sound, progress)
        lines = list[SourceLine]()
        for place, segments in sorted(progress.segments.items(), key=_start):
            lines += self._placed(place, segments)
        self._lines += len(lines)
        placement = place_lines(lines, sound.lead_s, sound.duration_s)
        outside = placement.before + placement.after
        if outside:
            self._leave_out("outside the picture", outside[0].text, len(outside))
        return Subtitles(placement.lines)

    def warn(self) -> None:
        """Warn about text that was left out."""
        if not self._left_out:
            return
        left_out = self._left_out.total()
        # `_lines` already counts those outside the picture.
        lines = self._lines + left_out - self._left_out["outside the picture"]
        reasons = ", ".join(f"{count} {why}" for why, count in self._left_out.items())
        warnings.warn(
            f"{self._asr.name}: {left_out} of {lines} lines are left out ({reasons}); the first "
            f"is {printable(self._example, 80)!r}.",
            SpeechWarning,
            stacklevel=3,
        )

    def _hear_all(self, sound: Sound) -> _Progress:
        """Send the chunks of a file, several at a time, and return their outcomes."""
        progress = _Progress()
        cancel = threading.Event()
        pending: dict[Future[tuple[Segment, ...]], _Place] = {}
        with ThreadPoolExecutor(self._parallel, thread_name_prefix="atlaskit-speech") as pool:
            try:
                for chunk in sound.chunks():
                    place = _Place(chunk.start_s, chunk.end_s)
                    if chunk.is_silent:
                        self._bar.update(place.end_s - place.start_s)
                        continue
                    pending[pool.submit(self._hear, chunk, cancel)] = place
                    while len(pending) >= 2 * self._parallel:
                        self._collect(pending, progress)
                    if progress.failures_in_a_row >= MOST_FAILURES:
                        break
                while pending:
                    self._collect(pending, progress)
            except BaseException:
                cancel.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return progress

    def _hear(self, chunk: Chunk, cancel: threading.Event) -> tuple[Segment, ...]:
        samples = chunk.samples.astype("<i2").tobytes()
        return hear(
            self._asr, samples, chunk.wav(), self._cache, replay=self._replay, cancel=cancel
        )

    def _collect(
        self, pending: dict[Future[tuple[Segment, ...]], _Place], progress: _Progress
    ) -> None:
        """Wait until a pending chunk is finished, and move all finished ones to the outcomes."""
        for future in wait(pending, return_when=FIRST_COMPLETED).done:
            place = pending.pop(future)
            try:
                progress.segments[place] = future.result()
                progress.failures_in_a_row = 0
            except (ModelError, Unrecorded) as error:
                progress.failures[place] = error
                progress.failures_in_a_row += 1
            self._bar.update(place.end_s - place.start_s)

    def _placed(self, place: _Place, segments: Sequence[Segment]) -> list[SourceLine]:
        """Return the lines of a chunk with their times in the file, cut to the chunk."""
        lines = []
        for segment in segments:
            if segment.is_repetitive:
                self._leave_out("that repeat themselves", segment.text)
                continue
            if segment.is_no_speech:
                self._leave_out("of no speech", segment.text)
                continue
            start_s = place.start_s
            end_s = place.end_s
            if segment.start_s is not None and segment.end_s is not None:
                start_s = max(place.start_s, place.start_s + segment.start_s)
                end_s = min(place.end_s, place.start_s + segment.end_s)
            if end_s - start_s < SHORTEST_S:
                start_s = place.start_s
                end_s = place.end_s
            lines.append(SourceLine(round(start_s, 3), round(end_s, 3), segment.text))
        return lines

    def _leave_out(self, why: str, text: str, count: int = 1) -> None:
        self._left_out[why] += count
        self._example = self._example or text

    def _error(self, sound: Sound, progress: _Progress) -> ModelError | Unrecorded:
        """Return the error of a file: that of its first failed chunk, with what else happened."""
        place, first = min(progress.failures.items(), key=_start)
        count = len(progress.failures)
        sent = count + len(progress.segments)
        message = (
            f"{count} of {sent} chunks of {sound.path.name} that were sent could not be "
            f"transcribed, the first from {place}: {first} What was heard is in the cache: the "
            "same call again asks for the missing chunks only."
        )
        if isinstance(first, Unrecorded):
            return Unrecorded(message)
        usage = Usage()
        for error in progress.failures.values():
            if isinstance(error, ModelError):
                usage += error.usage
        return type(first)(message, usage)


def _start(item: tuple[_Place, object]) -> float:
    """Return the start of a chunk, by which chunks are sorted."""
    place, _ = item
    return place.start_s


def _clock(time_s: float) -> str:
    minutes, seconds = divmod(time_s, 60)
    return f"{int(minutes) // 60}:{int(minutes) % 60:02}:{seconds:04.1f}"
