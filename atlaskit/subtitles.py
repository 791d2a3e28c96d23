"""Text at times: the spoken or written lines that go with a video.

Reads SRT and WebVTT through pysubs2. Knows nothing of frames or grids.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atlaskit.errors import InputError, SubtitleError

FORMATS = {".srt": "srt", ".vtt": "vtt"}


@dataclass(frozen=True)
class Line:
    """One line, shown during `[start_s, end_s)` seconds. Its text is plain: tags are stripped on reading."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Subtitles:
    """All lines of a video, in order of time."""

    lines: tuple[Line, ...] = ()

    def between(self, start_s: float, end_s: float) -> tuple[Line, ...]:
        """Return every line that overlaps `[start_s, end_s)`, whole and in order of time."""
        if start_s < 0 or end_s < start_s:
            raise InputError(f"[{start_s}, {end_s}) s is not an interval of time.")
        if start_s == end_s:
            return ()
        return tuple(line for line in self.lines if line.start_s < end_s and start_s < line.end_s)

    def __len__(self) -> int:
        return len(self.lines)


def read_subtitles(path: str | Path) -> Subtitles:
    """Read an SRT or WebVTT file; raise SubtitleError with one sentence for anything else."""
    import pysubs2  # here, so that `import atlaskit` stays light

    path = Path(path)
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise SubtitleError(f"{path} is not a subtitle file that is read here: give one of {', '.join(FORMATS)}.")
    try:
        track = pysubs2.SSAFile.from_string(path.read_text(encoding="utf-8-sig"), format_=form)
    except UnicodeDecodeError as error:
        raise SubtitleError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8 first.") from error
    except OSError as error:
        raise SubtitleError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (pysubs2.exceptions.Pysubs2Error, ValueError) as error:
        raise SubtitleError(f"{path} is not a valid {form.upper()} file: {error or 'nothing in it parses'}.") from error
    lines = [
        Line(event.start / 1000, event.end / 1000, text)
        for event in track
        if (text := " ".join(event.plaintext.split())) and event.end > event.start >= 0
    ]
    if not lines:
        raise SubtitleError(f"{path} holds no line of text with a start and an end: is it a {form.upper()} file?")
    return Subtitles(tuple(sorted(lines, key=lambda line: (line.start_s, line.end_s))))
