"""`NotesPanel`: a person's notes on parts of a video, which can be exported and opened again.

    NoteFile            the notes on one video, on disk
    NotesPanel          sends them to the page as a list or as a file, and adds those of the page

Notes are a person's work, not a cache. They lie in the user's data folder, in a file named after
the content of the video, wherever the explorer is started, and only the user can read them. No
command empties this folder. Notes are exported as passages in any format of `FORMATS`. A file that
was exported here or made by another program can be opened as notes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_data_path

from atlaskit.caching.cache import Cache
from atlaskit.caching.files import expanded, write_whole
from atlaskit.caching.keys import read_json, recipe_key
from atlaskit.caching.locks import locks_in
from atlaskit.errors import InputError, printable, reason
from atlaskit.runs.exporting.formats import Context, as_bytes, format_of, parse
from atlaskit.runs.exporting.passages import LABEL_CHARS, Passage, clean, one_line
from atlaskit.runs.narrate import counted
from atlaskit.video.playlist import Playlist
from atlaskit.video.subtitles.text import checked_time
from atlaskit.video.video import Video
from atlaskit.viz.html.markup import plain_text
from atlaskit.viz.widgets.explorer.asking import checked_span, is_time
from atlaskit.viz.widgets.explorer.describe import file_name, lane

VARIABLE = "ATLASKIT_DATA"
"""The environment variable that names another data folder."""
TEXT_CHARS = 10_000
"""The most characters of a note."""
MOST_NOTES = 10_000
"""The most notes on a video, since the page lists all of them."""
MOST_LINES = 2 * MOST_NOTES
"""A file with more lines is written anew, without notes that were removed."""
MOST_CHANGES = 100
"""If more notes than this have changed, the page is sent the whole list."""


class Note(NamedTuple):
    """A person's note on a part of a video."""

    start_s: float
    end_s: float
    tag: str
    """One or two words, such as "goal"."""
    text: str


def notes_folder() -> Path:
    """Return the folder of all notes, in the data folder of the user. It may not exist yet."""
    named = os.environ.get(VARIABLE)
    if named:
        data = expanded(named).absolute()
    else:
        data = user_data_path("atlaskit", appauthor=False)
    return data / "notes"


class NoteFile:
    """The notes on one video, in a file that several threads and processes may use.

    Each line is JSON: the video, a note that was added, `{"removed": note}`, or `{"taken_over":
    hash}` (see `_take_over`). Changes are appended under a lock, so that none is lost, and a file
    of thousands of notes is not written again. A line that cannot be read, such as a full disk may
    leave, stays in the file and does not affect other lines.

    Attributes:
        path: The file. It may not exist yet.
        strange: Number of lines that cannot be read.
    """

    def __init__(self, video: Video, cache: Cache) -> None:
        """Prepare the file; nothing is read or written yet.

        Args:
            video: The video.
            cache: Where an earlier version of atlaskit may have stored notes. They are added to
                this file once.
        """
        name = recipe_key("notes", 1, video=video.fingerprint).rpartition(":")[2]
        self.path = notes_folder() / f"{name}.jsonl"
        self._old = None if cache.directory is None else cache.directory / "notes" / f"{name}.json"
        self._about = {"video": one_line(video.name), "fingerprint": video.fingerprint}
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        """Forget what was read, so that the file is read from its start."""
        self._read_bytes = 0
        self._inode = 0
        self._lines = 0
        self._notes = set[Note]()
        self._taken = set[str]()  # hashes of files of an earlier version that were added
        self.strange = 0

    def read(self) -> frozenset[Note]:
        """Return the notes.

        Raises:
            InputError: The notes cannot be read.
        """
        try:
            with self._lock:
                self._take_over()
                self._read()
                return frozenset(self._notes)
        except (OSError, ValueError) as error:
            raise InputError(
                f"The notes in {self.path} cannot be read: {reason(error)}."
            ) from error

    def change(self, added: Iterable[Note] = (), removed: Iterable[Note] = ()) -> None:
        """Add and remove notes.

        Raises:
            InputError: There would be too many notes, or they cannot be written.
        """
        try:
            with self._lock:
                self._take_over()
                self._append(added=added, removed=removed)
        except (OSError, ValueError) as error:
            raise InputError(
                f"The notes cannot be kept in {self.path}: {reason(error)}. The variable "
                f"{VARIABLE} names another folder for them."
            ) from error

    def _take_over(self) -> None:
        """Add the notes that an earlier version stored in the cache, unless they were added before.

        They are not added again even if they were removed here since then.
        """
        if self._old is None or not self._old.is_file():
            return
        content = self._old.read_bytes()
        mark = hashlib.sha256(content).hexdigest()
        self._read()
        if mark in self._taken:
            self._old = None
            return
        try:
            notes = list(map(_note, read_json(content)))
        except (ValueError, TypeError) as error:
            raise InputError(
                f"The notes in {self._old} cannot be read: {reason(error)}. Move the file away."
            ) from error
        self._append(added=notes, mark=mark)
        self._old = None

    def _append(
        self, *, added: Iterable[Note], removed: Iterable[Note] = (), mark: str = ""
    ) -> None:
        """Append changes, and the hash of a file of an earlier version if its notes are added."""
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
        with locks_in(folder).hold([self.path.name]):
            self._read()
            new = set(added) - self._notes
            gone = set(removed) & self._notes
            if new and len(self._notes | new) - len(gone) > MOST_NOTES:
                raise InputError(
                    f"A video has at most {MOST_NOTES:,} notes, and this one has "
                    f"{len(self._notes):,}: {counted(len(new), 'note')} more cannot be added."
                )
            lines = [_json(note) for note in sorted(new)]
            lines += [{"removed": _json(note)} for note in sorted(gone)]
            if mark:
                lines.append({"taken_over": mark})
            self._write(lines)
            if self._lines > MOST_LINES:
                self._write_anew()

    def _write(self, lines: list[dict[str, Any]]) -> None:
        """Append all of the lines, or none. Only the user can read the file."""
        if not lines:
            return
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(file).st_mode & 0o077:
                os.fchmod(file, 0o600)
            size = os.lseek(file, 0, os.SEEK_END)
            if size == 0:
                lines = [self._about, *lines]
            data = _as_lines(lines)
            if size and os.pread(file, 1, size - 1) != b"\n":
                data = b"\n" + data  # ends a line that was broken off
            try:
                written = 0
                while written < len(data):
                    written += os.write(file, data[written:])
            except OSError:
                os.ftruncate(file, size)
                raise
        finally:
            os.close(file)
        self._read()

    def _write_anew(self) -> None:
        """Write the file again without the notes that were removed."""
        taken = [{"taken_over": mark} for mark in sorted(self._taken)]
        lines = [self._about, *map(_json, sorted(self._notes)), *taken]
        write_whole(self.path, _as_lines(lines))

    def _read(self) -> None:
        """Read the lines that were appended since the last time; all lines if the file is new."""
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._read_bytes:
                    self._forget()
                self._inode = status.st_ino
                file.seek(self._read_bytes)
                data = file.read()
        except FileNotFoundError:
            self._forget()
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        for line in whole.split(b"\n")[:-1]:
            self._lines += 1
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        """Apply a line of the file to the notes read so far."""
        try:
            value = read_json(line) if line else {}
            match value:
                case {"removed": {} as removed}:
                    self._notes.discard(_note(_values(removed)))
                case {"taken_over": str(mark)}:
                    self._taken.add(mark)
                case {"start_s": _}:
                    self._notes.add(_note(_values(value)))
                case {}:  # the video, an empty line, or what a later version may add
                    return
                case _:
                    self.strange += 1
        except (ValueError, TypeError):
            self.strange += 1


def _as_lines(values: Iterable[dict[str, Any]]) -> bytes:
    """Return values as the bytes of JSON Lines."""
    text = ""
    for value in values:
        text += f"{json.dumps(value, ensure_ascii=False)}\n"
    return text.encode("utf-8", "replace")


def _json(note: Note) -> dict[str, Any]:
    return note._asdict()


def _values(line: dict[str, Any]) -> list[Any]:
    """Return the values of a note's fields in a line; None for a missing field."""
    return list(map(line.get, Note._fields))


class NotesPanel:
    """Stores the notes on a video, and sends them to the page as a list or as a file."""

    def __init__(self, video: Video, cache: Cache, send: Callable[..., None]) -> None:
        """Prepare a panel; nothing is read yet.

        Args:
            video: The video.
            cache: See `NoteFile`.
            send: Sends a message to the page.
        """
        self._video = video
        self._send = send
        self.file = NoteFile(video, cache)
        self._shown: dict[Note, Note] = {}  # by note: how the page shows it
        self._sent: frozenset[Note] | None = None  # what the page has; None if it has no list yet

    @property
    def notes(self) -> tuple[Note, ...]:
        """The notes in order of time.

        Raises:
            InputError: The file of the notes cannot be read.
        """
        return tuple(sorted(self.file.read()))

    def receive(self, message: dict[str, Any]) -> bool:
        """Handle a message of the page; return whether it was for this panel."""
        if message.get("panel") != "notes":
            return False
        problem = ""
        try:
            match message:
                case {"want": "here"}:
                    self._sent = None
                case {
                    "want": "add",
                    "from": str(start),
                    "to": str(end),
                    "tag": str(tag),
                    "text": str(text),
                }:
                    span_s = checked_span(
                        [checked_time(start), checked_time(end)], self._video.duration_s
                    )
                    self.file.change([_note([*span_s, tag, text])])
                case {"want": "remove", "note": note}:
                    sent = _printable(_note(note))
                    same = [each for each in self.file.read() if self._as_sent(each) == sent]
                    self.file.change(removed=same)
                case {"want": "export", "form": str(form)}:  # the ending, such as ".csv"
                    self._send_file(f"notes{form}")
                case {"want": "open", "name": str(name), "data": str(data)}:
                    self.open(base64.b64decode(data, validate=True), name)
            self._send_notes()
        except (InputError, ValueError) as error:
            problem = plain_text(reason(error), 600)
        if not problem and self.file.strange:
            lines = counted(self.file.strange, "line")
            problem = plain_text(
                f"{lines} of {self.file.path} cannot be read as a note, and stays there.", 600
            )
        self._send({"panel": "notes", "is": "problem", "words": problem})
        return True

    def _send_notes(self) -> None:
        """Send the changes since the notes were last sent, or all notes."""
        now = self.file.read()
        before = self._sent
        self._sent = now
        span_s = [note[:2] for note in now]
        about = {"panel": "notes", "count": len(now), "lane": lane(span_s, self._video.duration_s)}
        if before is None or len(now ^ before) > MOST_CHANGES:
            self._send({**about, "is": "all", "notes": list(map(self._as_sent, sorted(now)))})
        else:
            added = list(map(self._as_sent, sorted(now - before)))
            removed = list(map(self._as_sent, sorted(before - now)))
            self._send({**about, "is": "change", "added": added, "removed": removed})

    def _as_sent(self, note: Note) -> Note:
        """Return a note as the page shows it."""
        if note not in self._shown:
            self._shown[note] = _printable(note)
        return self._shown[note]

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The notes as passages, which `ak.export` writes."""
        about: dict[str, Any] = {"video": self._video.name, "fps": self._video.fps}
        return tuple(Passage(*each[:2], each.text, label=each.tag, **about) for each in self.notes)

    def open(self, data: bytes, name: str) -> int:
        """Add the passages of a file to the notes, and return how many.

        Args:
            data: The content of the file.
            name: The name of the file. Its suffix decides the format.

        Raises:
            InputError: The file cannot be read, or holds nothing about a part of this video.
        """
        passages = parse(data, format_of(name), printable(name, 200), video=self._video)
        added = set(_notes_of(passages, self._video))
        if not added:
            raise InputError(
                f"{printable(name, 200)} holds nothing about a part of {self._video.name}."
            )
        self.file.change(added)
        return len(added)

    def _send_file(self, name: str) -> None:
        """Send the notes as a file in the format of a name's suffix."""
        format_ = format_of(name)
        context = Context({one_line(self._video.name): self._video})
        data = as_bytes(self.passages, format_, context)
        name = file_name(self._video, "notes", name.partition(".")[2])
        self._send({"is": "file", "type": format_.type, "name": name}, [data])


def _note(value: object) -> Note:
    """Return the note with these four values, cleaned; raise ValueError if they are invalid."""
    match value:
        case [start_s, end_s, str(tag), str(text)] if (
            is_time(start_s) and is_time(end_s) and 0 <= start_s < end_s
        ):
            return Note(
                float(start_s), float(end_s), one_line(tag, LABEL_CHARS), clean(text)[:TEXT_CHARS]
            )
    raise ValueError(f"a note has a start, an end, a tag and a text, and this is {value!r:.80}")


def _printable(note: Note) -> Note:
    """Return a note as the page shows it: lines of printable text."""
    lines = "\n".join(map(printable, note.text.split("\n")))
    return note._replace(tag=printable(note.tag), text=lines)


def _notes_of(passages: Sequence[Passage], video: Video) -> Iterable[Note]:
    """Yield the passages of a file about a video as notes; leave out those about other videos.

    A file about a single video is taken to be about this one, whatever its name in the file is.
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
        if start_s == end_s:  # a single moment becomes the frame that is shown then
            end_s = min(start_s + 1 / video.fps, video.duration_s)
        if start_s < end_s:
            yield _note([start_s, end_s, passage.label, passage.text])
