"""`NotesPanel`: what a person notes about parts of a video, kept in a file, exported and opened.

The file lies in the cache's folder, by the fingerprint of the video, and is no entry of the cache:
whoever empties the cache keeps the notes. They leave as passages in any format of `FORMATS`, and
what was exported, or coded in another program, opens again as notes.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from atlaskit.caching.cache import Cache
from atlaskit.caching.files import write_whole
from atlaskit.caching.keys import read_json, recipe_key
from atlaskit.errors import InputError, printable, reason
from atlaskit.runs.exporting.formats import Context, as_bytes, format_of, parse
from atlaskit.runs.exporting.passages import LABEL_CHARS, Passage, clean, one_line
from atlaskit.video.playlist import Playlist
from atlaskit.video.subtitles.clock import checked_time
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.widgets.explorer.asking import checked_span, is_time
from atlaskit.viz.widgets.explorer.describe import file_name, lane

TEXT_CHARS, MOST_NOTES = 10_000, 10_000
"""Most characters of a text, and most notes of a video: the page lists all of them."""
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
                    self._change(lambda notes: {each for each in notes if _shown(each) != _shown(_note(note))})
                case {"want": "export", "form": str(form)}:
                    self._send_file(f"notes{form}")
                case {"want": "open", "name": str(name), "data": str(data)}:
                    self.open(base64.b64decode(data, validate=True), name)
            notes = self.notes
        except (InputError, ValueError) as error:
            notes, problem = (), plain_text(reason(error), 600)
        spans = lane([note[:2] for note in notes], self._video.duration_s)
        self._send({"panel": "notes", "notes": [*map(_shown, notes)], "lane": spans, "problem": problem})
        return True

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The notes as passages, which `ak.export` writes."""
        about: dict[str, Any] = {"video": self._video.name, "fps": self._video.fps}
        return tuple(Passage(*each[:2], each.text, label=each.tag, **about) for each in self.notes)

    def open(self, data: bytes, name: str) -> int:
        """Add the passages of a file to the notes, and return how many.

        Args:
            data: The content of the file.
            name: Its name; what it ends in tells the format.

        Raises:
            InputError: It cannot be read, or holds nothing about a stretch of this video.
        """
        passages = parse(data, format_of(name), printable(name, 200), video=self._video)
        added = set(_notes_of(passages, self._video))
        if not added:
            raise InputError(f"{printable(name, 200)} holds nothing about a part of {self._video.name}.")
        if len(added) + len(self.notes) > MOST_NOTES:
            raise InputError(f"{printable(name, 200)} holds {len(added):,} notes; a video has at most {MOST_NOTES:,}.")
        self._change(lambda notes: {*notes, *added})
        return len(added)

    def _send_file(self, name: str) -> None:
        format_ = format_of(name)
        context = Context({one_line(self._video.name): self._video})
        data = as_bytes(self.passages, format_, context)
        name = file_name(self._video, "notes", name.partition(".")[2])
        self._send({"is": "file", "type": format_.type, "name": name}, [data])

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
            return Note(float(start_s), float(end_s), one_line(tag, LABEL_CHARS), clean(text)[:TEXT_CHARS])
    raise ValueError(f"a note has a start, an end, a tag and a text, and this is {value!r:.80}")


def _shown(note: Note) -> Note:
    """Return a note as the page shows it: lines of printable text."""
    lines = "\n".join(map(printable, note.text.split("\n")))
    return note._replace(tag=printable(note.tag), text=lines)


def _notes_of(passages: Sequence[Passage], video: Video) -> Iterable[Note]:
    """Yield passages of a file as notes about a video, those about other videos left out.

    A file about one video is taken to be about this one, whatever its name there.
    """
    offsets_s = {one_line(video.name): 0.0, "": 0.0}
    names = {each.video for each in passages}
    if isinstance(video, Playlist):
        start_s = 0.0
        for part in video.parts:
            offsets_s.setdefault(one_line(part.name), start_s)
            start_s += part.duration_s
    if not names & offsets_s.keys() and len(names) == 1:
        offsets_s[names.pop()] = 0.0
    for passage in passages:
        offset_s = offsets_s.get(passage.video)
        if passage.is_whole or offset_s is None:
            continue
        start_s = passage.start_s + offset_s
        end_s = min(passage.end_s + offset_s, video.duration_s)
        if start_s == end_s:  # a moment: the frame that is shown then
            end_s = min(start_s + 1 / video.fps, video.duration_s)
        if start_s < end_s:
            yield _note([start_s, end_s, passage.label, passage.text])
