"""`NotesPanel`: what a person notes about parts of a video, kept in a file; `EXPORTS`: its forms.

The file lies in the cache's folder, by the fingerprint of the video, and is no entry of the cache:
whoever empties the cache keeps the notes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from atlaskit.caching.cache import Cache
from atlaskit.caching.files import write_whole
from atlaskit.caching.keys import read_json, recipe_key
from atlaskit.environment.grid import stamp
from atlaskit.errors import InputError, reason
from atlaskit.video.subtitles.clock import checked_time
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.widgets.explorer.clips import pieces
from atlaskit.viz.widgets.explorer.drafts import checked_span, is_time
from atlaskit.viz.widgets.explorer.files import file_name
from atlaskit.viz.widgets.explorer.lanes import lane
from atlaskit.viz.widgets.selection import csv_bytes

TAG_CHARS, TEXT_CHARS = 40, 1_000
"""Most characters of a tag and of a text."""
EDL_START_S = 3_600
"""When the edit of an EDL begins: tapes do at an hour."""
_lock = threading.Lock()


class Note(NamedTuple):
    """What a person notes about a part of a video."""

    start_s: float
    end_s: float
    tag: str
    """One word or two, such as "goal"."""
    text: str


class NotesPanel:
    """Keeps the notes of a video, and sends them to the page as a list or as a file."""

    def __init__(self, video: Video, cache: Cache, send: Callable[..., None]) -> None:
        """Prepare a panel; nothing is read yet.

        Args:
            video: The video.
            cache: In whose folder the notes are kept; a cache in memory keeps them while it lives.
            send: Sends a message to the page.
        """
        self._video, self._send, self._in_memory = video, send, "[]"
        name = recipe_key("notes", 1, video=video.fingerprint).rpartition(":")[2]
        self._path: Path | None = cache.directory and cache.directory / "notes" / f"{name}.json"

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes in order of time.

        Raises:
            InputError: Their file cannot be read.
        """
        try:
            found = self._in_memory
            if self._path is not None:
                found = self._path.read_text("utf-8") if self._path.exists() else "[]"
            return tuple(sorted(_note(each) for each in read_json(found)))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"The notes in {self._path} cannot be read: {reason(error)}. Move the file away."
            ) from error

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was for this panel."""
        if message.get("panel") != "notes":
            return False
        problem = ""
        try:
            match message:
                case {"want": "add", "from": str(start), "to": str(end), "tag": str(tag), "text": str(text)}:
                    span_s = checked_span([checked_time(start), checked_time(end)], self._video.duration_s)
                    self._change(lambda notes: {*notes, _note([*span_s, tag, text])})
                case {"want": "remove", "note": note}:
                    self._change(lambda notes: {*notes} - {_note(note)})
                case {"want": "export", "form": str(form)} if form in EXPORTS:
                    type_, write = EXPORTS[form]
                    name = file_name(self._video, "notes", form)
                    self._send({"is": "file", "type": type_, "name": name}, [write(self._video, self.notes)])
            notes = self.notes
        except (InputError, ValueError) as error:
            notes, problem = (), plain_text(reason(error), 600)
        spans = lane([note[:2] for note in notes], self._video.duration_s)
        self._send({"panel": "notes", "notes": notes, "lane": spans, "problem": problem})
        return True

    def _change(self, change: Callable[[tuple[Note, ...]], set[Note]]) -> None:
        """Change the notes as they are now, also by another page."""
        with _lock:
            self._in_memory = json.dumps(sorted(change(self.notes)))
            if self._path is None:
                return
            try:
                self._path.parent.mkdir(exist_ok=True)
                write_whole(self._path, self._in_memory)
            except OSError as error:
                raise InputError(f"The note cannot be kept in {self._path}: {reason(error)}.") from error


def _note(value: object) -> Note:
    match value:
        case [start_s, end_s, str(tag), str(text)] if is_time(start_s) and is_time(end_s) and 0 <= start_s < end_s:
            return Note(float(start_s), float(end_s), plain_text(tag, TAG_CHARS), plain_text(text, TEXT_CHARS))
    raise ValueError(f"a note has a start, an end, a tag and a text, and this is {value!r:.80}")


def _csv(video: Video, notes: Sequence[Note]) -> bytes:
    import pandas as pd

    rows = [(stamp(each.start_s), stamp(each.end_s), *each, video.name) for each in notes]
    return csv_bytes(pd.DataFrame(rows, columns=["from", "to", *Note._fields, "video"]))


def _vtt(video: Video, notes: Sequence[Note]) -> bytes:
    escapes = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
    cues = (
        f"{' --> '.join(_timecode(round(time_s * 1000), 1000, '.') for time_s in each[:2])}\n"
        f"{_words(each).translate(escapes) or '-'}\n"
        for each in notes
    )
    return "\n".join(["WEBVTT\n", *cues]).encode()


def _edl(video: Video, notes: Sequence[Note]) -> bytes:
    """Return an EDL (CMX 3600), which editors of films import: one event after another."""

    def events() -> Iterator[str]:
        rate = max(1, round(video.fps))
        number, at = 0, EDL_START_S * rate
        for note in notes:
            for part, start_s, end_s in pieces(video, note[:2]):
                first = round(start_s * part.fps)
                count, own = max(1, round(end_s * part.fps) - first), max(1, round(part.fps))
                times = [_timecode(each, own, ":") for each in (first, first + count)]
                times += [_timecode(each, rate, ":") for each in (at, at + count)]
                number, at = number + 1, at + count
                yield f"{number:03}  AX       AA/V  C        {' '.join(times)}"
                yield f"* FROM CLIP NAME: {plain_text(part.name, 200)}\n* COMMENT: {_words(note)}"

    return "\n".join([f"TITLE: {plain_text(video.name, 60)}", "FCM: NON-DROP FRAME", *events(), ""]).encode()


def _words(note: Note) -> str:
    return ": ".join(filter(None, (note.tag, note.text)))


def _timecode(count: int, rate: int, separator: str) -> str:
    """Return a number of frames, or of milliseconds, as hours, minutes, seconds and rest."""
    seconds, rest = divmod(count, rate)
    return (
        f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{separator}{rest:0{max(2, len(str(rate - 1)))}}"
    )


EXPORTS = {"csv": ("text/csv", _csv), "edl": ("text/plain", _edl), "vtt": ("text/vtt", _vtt)}
"""The forms that notes are exported in: the type of the file, and what writes it."""
