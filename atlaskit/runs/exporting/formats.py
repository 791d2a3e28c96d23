"""`FORMATS`: every format, by the ending of a file's name; `write` and `read`.

A new format is one entry.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from atlaskit import limits
from atlaskit.caching.files import open_regular, write_whole
from atlaskit.errors import InputError, printable, reason
from atlaskit.runs.exporting import coding, editing, tables
from atlaskit.runs.exporting.passages import Passage, Videos, json_value, one_line, videos_of
from atlaskit.video.subtitles.text import decode_text
from atlaskit.video.video import Video

RecordedAt = datetime | str | Mapping[str, "datetime | str"]
"""When the recording of a video began, with its time zone; or that of each video, by name."""


@dataclass(frozen=True)
class Context:
    """Facts that a format may need beside the passages or the file.

    Attributes:
        videos: The videos that are known, by name.
        fps: Frames per second where no video is known.
        recorded_at: When the recordings began, for formats that have dates.
    """

    videos: Videos
    fps: float | None = None
    recorded_at: RecordedAt | None = None

    @property
    def video(self) -> Video | None:
        """The only video; None if there is none, or several."""
        return next(iter(self.videos.values())) if len(self.videos) == 1 else None

    def began(self, name: str) -> datetime:
        """Return when the recording of a video began.

        Raises:
            InputError: It is not known, or is no date and time with a time zone.
        """
        moment = self.recorded_at
        if isinstance(moment, Mapping):
            moment = moment.get(name)
        if moment is None:
            raise InputError(
                f"A camera trap's observations have dates: pass recorded_at, when the recording of "
                f"{name or 'the video'} began, such as 2026-06-01T21:00:00+02:00."
            )
        try:
            if isinstance(moment, str):
                moment = datetime.fromisoformat(moment)
        except ValueError as error:
            raise InputError(
                "recorded_at is a date and time such as 2026-06-01T21:00:00+02:00; got "
                f"{moment!r:.60}."
            ) from error
        if moment.tzinfo is None:
            raise InputError(
                "recorded_at needs its time zone, such as 2026-06-01T21:00:00+02:00; got "
                f"{moment!s:.60}."
            )
        return moment


@dataclass(frozen=True)
class Format:
    """One format of files."""

    name: str
    """The name of the format, for `form=`."""
    ending: str
    """The ending of its file names, in lower case; the longest one that fits decides."""
    type: str
    """The media type."""
    write: Callable[[Sequence[Passage], Context], bytes]
    read: Callable[[str, Context], list[Passage]]
    lost: str
    """What the format does not keep of a passage, in words; "nothing" if it keeps all."""
    is_of_one_video: bool = False
    """Whether a file can hold the passages of one video only."""


def _read_json(text: str, context: Context) -> list[Passage]:
    """Return the passages of JSON. Its fields tell which program wrote it."""
    value = json_value(text)
    if isinstance(value, dict):
        if "atlaskit_passages" in value:
            return tables.read_passages_json(value)
        if "observations" in value:
            return coding.read_boris(text)
        if str(value.get("OTIO_SCHEMA", "")):
            return editing.read_otio(text)
    if isinstance(value, list) and value:
        return coding.read_label_studio(value, context.video, context.fps)
    raise InputError("it holds neither passages nor tasks of Label Studio.")


def _duration(context: Context) -> float | None:
    return None if context.video is None else context.video.duration_s


FORMATS = (
    Format(
        name="csv",
        ending=".csv",
        type="text/csv",
        write=lambda passages, _: tables.write_csv(passages),
        read=lambda text, _: tables.read_csv(text),
        lost="nothing",
    ),
    Format(
        name="tsv",
        ending=".tsv",
        type="text/tab-separated-values",
        write=lambda passages, _: tables.write_csv(passages, "\t"),
        read=lambda text, _: tables.read_csv(text),
        lost="nothing",
    ),
    Format(
        name="json",
        ending=".json",
        type="application/json",
        write=lambda passages, _: tables.write_json(passages),
        read=_read_json,
        lost="nothing",
    ),
    Format(
        name="vtt",
        ending=".vtt",
        type="text/vtt",
        write=lambda passages, _: editing.write_vtt(passages),
        read=lambda text, _: editing.read_vtt(text),
        lost="confidence, question, less than a millisecond",
        is_of_one_video=True,
    ),
    Format(
        name="edl",
        ending=".edl",
        type="text/plain",
        write=lambda passages, context: editing.write_edl(passages, context.videos),
        read=lambda text, context: editing.read_edl(text, context.video, context.fps),
        lost="confidence, question, less than a frame, answers in words",
    ),
    Format(
        name="otio",
        ending=".otio",
        type="application/json",
        write=lambda passages, context: editing.write_otio(passages, context.videos),
        read=lambda text, _: editing.read_otio(text),
        lost="answers in words",
    ),
    Format(
        name="losslesscut",
        ending=".llc",
        type="application/json",
        write=lambda passages, context: editing.write_llc(passages, context.videos),
        read=lambda text, context: editing.read_llc(text, _duration(context)),
        lost="the frame of evidence, answers in words",
        is_of_one_video=True,
    ),
    Format(
        name="elan",
        ending=".eaf",
        type="application/xml",
        write=lambda passages, context: coding.write_eaf(passages, context.videos),
        read=lambda text, _: coding.read_eaf(text),
        lost="less than a millisecond",
        is_of_one_video=True,
    ),
    Format(
        name="boris",
        ending=".boris",
        type="application/json",
        write=lambda passages, context: coding.write_boris(passages, context.videos),
        read=lambda text, _: coding.read_boris(text),
        lost="confidence, question",
    ),
    Format(
        name="label-studio",
        ending=".label-studio.json",
        type="application/json",
        write=lambda passages, context: coding.write_label_studio(passages, context.videos),
        read=_read_json,
        lost="for other programs: question",
    ),
    Format(
        name="camtrap-dp",
        ending="observations.csv",
        type="text/csv",
        write=lambda passages, context: tables.write_observations(passages, context.began),
        read=lambda text, context: tables.read_observations(text, context.began),
        lost="for other programs: less than a second",
    ),
)
"""All formats. The documentation repeats what each one does not keep, its `lost`."""
ENDINGS = {each.ending: each for each in FORMATS}
"""The formats by the endings of their file names."""


def format_of(path: str | Path, form: str | None = None) -> Format:
    """Return the format named `form`; if it is None, the format of the file name's ending.

    Raises:
        InputError: There is no such format.
    """
    if form is not None:
        found = next((each for each in FORMATS if each.name == form), None)
        if found is None:
            raise InputError(
                f"form is one of {', '.join(each.name for each in FORMATS)}; got {form!r:.60}."
            )
        return found
    name = Path(path).name.lower()
    endings = [ending for ending in ENDINGS if name.endswith(ending)]
    if not endings:
        raise InputError(
            f"A file of passages ends in {', '.join(ENDINGS)}; got {printable(str(path), 200)}."
        )
    return ENDINGS[max(endings, key=len)]


def check(path: str | Path, recorded_at: RecordedAt | None) -> None:
    """Raise InputError if an export cannot succeed, before there is anything to export."""
    if format_of(path).name == "camtrap-dp":  # the only format that needs dates
        Context({}, None, recorded_at).began("")


def as_bytes(passages: Sequence[Passage], format_: Format, context: Context) -> bytes:
    """Return passages as the content of a file.

    Raises:
        InputError: There are none, or the format cannot hold them.
    """
    if not passages:
        raise InputError("There is nothing to export: no answer, no evidence and no note.")
    names = videos_of(passages)
    if format_.is_of_one_video and len(names) > 1:
        several = ", ".join(each.ending for each in FORMATS if not each.is_of_one_video)
        raise InputError(
            f"A file of {format_.name} is about one video, and these are {len(names)}: use one of "
            f"{several}."
        )
    return format_.write(passages, context)


def write(
    passages: Sequence[Passage],
    path: str | os.PathLike[str],
    *,
    videos: Mapping[str, Video] | None = None,
    form: str | None = None,
    recorded_at: RecordedAt | None = None,
) -> None:
    """Write passages to a file; it appears only once it is complete.

    Args:
        passages: What to write.
        path: The file; the ending of its name determines the format.
        videos: The videos, by name, for the formats that count frames or name files.
        form: The name of the format, whatever the file is called.
        recorded_at: When the recordings began, for Camtrap-DP.

    Raises:
        InputError: There is no such format, it cannot hold the passages, or the file cannot be
            written.
    """
    content = as_bytes(
        passages, format_of(Path(path), form), Context(videos or {}, None, recorded_at)
    )
    try:
        write_whole(Path(path), content)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{printable(str(path), 200)} cannot be written: {reason(error)}."
        ) from error


def read(
    path: str | os.PathLike[str],
    *,
    video: Video | None = None,
    fps: float | None = None,
    form: str | None = None,
    recorded_at: RecordedAt | None = None,
) -> tuple[Passage, ...]:
    """Return the passages of a file, of `ak.export` or another program, in order of time.

    The formats are CSV and TSV (also those of BORIS and ELAN, and any with a column for the start),
    JSON, WebVTT, EDL, OpenTimelineIO, projects of LosslessCut and of BORIS, ELAN documents, what
    Label Studio imports and exports, and Camtrap-DP's observations.csv.

    Args:
        path: The file; the ending of its name determines the format.
        video: The video that it is about, for the formats that count frames.
        fps: Frames per second, if neither the file nor the video states them.
        form: The name of the format, whatever the file is called.
        recorded_at: When the recording began, for observations of camera traps.

    Raises:
        InputError: The file cannot be read, is of no known format or larger than
            `limits.TEXT_FILE`, or a passage in it breaks a rule.

    Examples:
        >>> ak.export(result, "found.csv")
        >>> ak.read_passages("found.csv")[0].kind
        'answer'
    """
    path = Path(path)
    format_ = format_of(path, form)
    try:
        with open_regular(path) as file:
            data = file.read(limits.TEXT_FILE + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{printable(str(path), 200)} cannot be read: {reason(error)}.") from error
    return parse(
        data, format_, printable(path.name, 200), video=video, fps=fps, recorded_at=recorded_at
    )


def parse(
    data: bytes,
    format_: Format,
    name: str,
    *,
    video: Video | None = None,
    fps: float | None = None,
    recorded_at: RecordedAt | None = None,
) -> tuple[Passage, ...]:
    """Return the passages of a file's content; see `read`.

    Raises:
        InputError: As for `read`; the message begins with the name.
    """
    context = Context({} if video is None else {one_line(video.name): video}, fps, recorded_at)
    if len(data) > limits.TEXT_FILE:
        raise InputError(
            f"{name} is larger than {limits.TEXT_FILE >> 20} MiB: is it the right file?"
        )
    text = decode_text(data)
    if text is None:
        raise InputError(f"{name} is not text in a known encoding: save it as UTF-8 first.")
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    try:
        if text.count("\n") > limits.MARKS or sum(map(text.count, "<{[")) > limits.MARKS:
            raise InputError(
                f"it has more than {limits.MARKS:,} rows or brackets: is it the right file?"
            )
        found = format_.read(text, context)
    except (InputError, RecursionError, OverflowError) as error:
        raise InputError(f"{name} cannot be read: {reason(error)}") from error
    return tuple(sorted(found, key=lambda each: (each.start_s, each.end_s)))
