"""The sound tracks of a file, and which of them is heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from atlaskit.errors import InputError, VideoError, check_whole, printable
from atlaskit.video.languages import same_language
from atlaskit.video.media import tags_of

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer

LEAST_WANTED = ("comment", "visual_impaired", "descriptions", "karaoke")
"""FFmpeg's marks of tracks that are heard only if they are asked for, or are the only ones."""


@dataclass(frozen=True)
class SoundTrack:
    """One sound track of a file."""

    number: int
    """Its place among the sound tracks, from 0."""
    language: str
    """As the file gives it, such as "eng"; "" if it does not."""
    title: str
    is_default: bool
    is_wanted: bool
    """Whether it is neither a commentary nor a description for the blind."""

    def __str__(self) -> str:
        words = [self.language or "language not given", self.title, "default" if self.is_default else ""]
        return f"{self.number} ({', '.join(printable(word, 40) for word in words if word)})"


def sound_tracks(container: InputContainer) -> list[SoundTrack]:
    """Return the sound tracks of an open file, in its order."""
    from av.stream import Disposition  # here, so that `import atlaskit` stays light

    least_wanted = [Disposition[name] for name in LEAST_WANTED]
    return [
        SoundTrack(
            number,
            "" if tags.get("language") == "und" else tags.get("language", ""),
            tags.get("title", ""),
            bool(stream.disposition & Disposition.default),
            not any(stream.disposition & mark for mark in least_wanted),
        )
        for number, stream in enumerate(container.streams.audio)
        for tags in (tags_of(stream),)
    ]


def choose_track(path: Path, tracks: Sequence[SoundTrack], number: int | None, language: str | None) -> SoundTrack:
    """Return the track with a number, else the best one in a language, else the default one.

    A language only chooses: if there is a single track, or no track gives its language, the default
    one is taken.

    Raises:
        VideoError: The file has no sound.
        InputError: There is no such track.
    """
    if not tracks:
        raise VideoError(f"{path} has no sound: there is nothing to transcribe.")
    listed = f"{path} has the sound tracks {', '.join(map(str, tracks))}"
    if number is not None:
        check_whole("audio_track", number, least=0)
        if number >= len(tracks):
            raise InputError(f"There is no audio_track {number}: {listed}.")
        return tracks[number]
    known = [track for track in tracks if track.language]
    candidates = list(tracks)
    if language is not None and known and len(tracks) > 1:
        candidates = [track for track in known if same_language(language, track.language)]
        if not candidates:
            raise InputError(f"No sound track is in {printable(language, 40)!r}: {listed}. Choose one by audio_track.")
    return min(candidates, key=lambda track: (not track.is_wanted, not track.is_default, track.number))


def open_stream(container: InputContainer, path: Path, track: SoundTrack) -> AudioStream:
    """Return the stream of a track; raise VideoError if it cannot be decoded."""
    stream = container.streams.audio[track.number]
    if stream.codec_context is None:
        raise VideoError(f"The sound track {track} of {path} has a codec that this build of FFmpeg cannot decode.")
    return stream
