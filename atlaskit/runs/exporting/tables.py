"""CSV and JSON with every field of a passage, Camtrap-DP's observations.csv, other programs' CSV.

A CSV is opened in spreadsheets, and its texts come from anywhere. A text that a spreadsheet would
compute as a formula is therefore written after an apostrophe, which is removed on reading.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from atlaskit import limits
from atlaskit.caching.keys import canonical_json, read_json
from atlaskit.environment.grid import stamp
from atlaskit.errors import InputError
from atlaskit.runs.exporting.passages import (
    KINDS,
    LABEL_CHARS,
    MAX_PASSAGES,
    Passage,
    PassageKind,
    as_kind,
    clean,
)
from atlaskit.video.subtitles.text import parse_time

FORMULA_SIGNS = tuple("=+-@\t\r\n＝＋－＠")
"""A text that begins with one of these can be a formula to a spreadsheet."""
PASSAGES_VERSION = 1
"""Version of the JSON that `write_json` writes."""
COLUMNS = (
    "from",
    "to",
    "start_s",
    "end_s",
    "kind",
    "label",
    "text",
    "confidence",
    "at_s",
    "question",
    "video",
    "fps",
    "about",
)
"""The columns of a CSV of passages; `from` and `to` are clock times for people."""
HEADER_ROWS = 60
"""Rows that are searched for the names of the columns; BORIS writes other facts above them."""


def as_cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula; `from_cell` undoes this."""
    return f"'{text}" if _is_risky(text) else text


def from_cell(text: str) -> str:
    """Return the text of a cell; this is the inverse of `as_cell`."""
    return text[1:] if text.startswith("'") and _is_risky(text[1:]) else text


def _is_risky(text: str) -> bool:
    """Return whether a text could be a formula, or a formula after apostrophes."""
    return text.lstrip(" '").startswith(FORMULA_SIGNS)


def csv_text(
    columns: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ","
) -> bytes:
    """Return rows as CSV for spreadsheets: UTF-8 with a byte order mark, quoted where needed.

    Texts that could be formulas get an apostrophe; numbers are unchanged, and None is empty.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow([as_cell(name) for name in columns])
    for row in rows:
        writer.writerow([as_cell(value) if isinstance(value, str) else value for value in row])
    return buffer.getvalue().encode("utf-8-sig", "replace")


def write_csv(passages: Sequence[Passage], delimiter: str = ",") -> bytes:
    """Return passages as CSV."""
    return csv_text(COLUMNS, map(_row, passages), delimiter)


def _row(passage: Passage) -> list[object]:
    return [
        stamp(passage.start_s),
        stamp(passage.end_s),
        passage.start_s,
        passage.end_s,
        passage.kind,
        passage.label,
        passage.text,
        passage.confidence,
        passage.at_s,
        passage.question,
        passage.video,
        passage.fps,
        "all" if passage.is_whole else "",
    ]


def write_json(passages: Sequence[Passage]) -> bytes:
    """Return passages as JSON, one a line."""
    rows = ",\n".join(canonical_json(each.to_json()) for each in passages)
    return f'{{"atlaskit_passages": {PASSAGES_VERSION}, "passages": [\n{rows}\n]}}\n'.encode()


def read_passages_json(value: Any) -> list[Passage]:
    """Return the passages of JSON that `write_json` wrote.

    Raises:
        InputError: It is of another version, or a passage breaks a rule.
    """
    if value.get("atlaskit_passages") != PASSAGES_VERSION or not isinstance(
        value.get("passages"), list
    ):
        raise InputError(f"these are no passages of version {PASSAGES_VERSION}.")
    if len(value["passages"]) > MAX_PASSAGES:
        raise InputError(f"it holds more than {MAX_PASSAGES:,} passages.")
    return [Passage.from_json(each) for each in value["passages"]]


class Columns(NamedTuple):
    """The position of each column in a CSV; None for a column that the CSV lacks."""

    start: int | None
    end: int | None
    duration: int | None
    time: int | None
    """The time of a row that is one moment, as in BORIS."""
    status: int | None
    """Whether such a moment starts or stops a state."""
    text: int | None
    label: int | None
    kind: int | None
    confidence: int | None
    at: int | None
    """The time of the frame that was seen: see `Passage.at_s`."""
    question: int | None
    video: int | None
    fps: int | None
    about: int | None
    """Its cell is "all" in the row of an answer without a stretch: see `Passage.is_whole`."""
    subject: int | None


NAMES: dict[str, tuple[str, ...]] = {
    "start": (
        "start_s",
        "start (s)",
        "begin time - ss.msec",
        "begin time - msec",
        "start time",
        "start_time",
        "start",
        "begin time",
        "begin time - hh:mm:ss.ms",
        "begin",
        "onset",
        "from",
        "in",
    ),
    "end": (
        "end_s",
        "stop (s)",
        "end time - ss.msec",
        "end time - msec",
        "end time",
        "end_time",
        "end",
        "stop",
        "end time - hh:mm:ss.ms",
        "offset",
        "to",
        "out",
    ),
    "duration": ("duration (s)", "duration - ss.msec", "duration_s", "duration"),
    "time": ("time", "time (s)", "time_s"),
    "status": ("behavior type", "status", "type"),
    "text": (
        "text",
        "comment",
        "comment start",
        "annotation",
        "description",
        "note",
        "notes",
        "transcript",
        "name",
    ),
    "label": (
        "label",
        "tag",
        "behavior",
        "behaviour",
        "code",
        "event",
        "class",
        "category",
        "tier",
        "species",
    ),
    "kind": ("kind",),
    "confidence": ("confidence", "score", "probability"),
    "at": ("at_s",),
    "question": ("question",),
    "video": ("video", "media file name", "media file", "media", "file name", "filename", "file"),
    "fps": ("fps", "fps (frame/s)"),
    "about": ("about",),
    "subject": ("subject",),
}
"""The names of columns, in lower case, in the order in which they are searched."""


def read_csv(text: str) -> list[Passage]:
    """Return the passages of a CSV by `write_csv`, BORIS, ELAN, or another program that has times.

    Columns are found by their names (`NAMES`). They are separated by commas, semicolons or tabs:
    by the sign that gives the most columns. A time is a number of seconds or a clock time. The
    START and STOP rows of BORIS are joined; a row without an end is a moment.

    Raises:
        InputError: No row names a column for the start, or a time cannot be read.
    """
    found = [_header(text, delimiter) for delimiter in ",\t;"]
    # A text in a cell may hold another sign, and a name between two of them.
    header = min(
        filter(None, found),
        key=lambda each: (each.columns.count(None), each.number),
        default=None,
    )
    if header is None:
        raise InputError(
            "no row names a column for the start: call it start_s, start, begin, onset or from."
        )
    names, *below = _rows(text, header.delimiter)[header.number :]
    columns = header.columns
    body = [each for each in below if any(map(str.strip, each))]
    if columns.start is None:
        return _joined(body, columns)
    in_ms = names[columns.start].strip().lower().endswith("- msec")
    return [_passage(each, columns, 1e-3 if in_ms else 1.0) for each in body]


class Header(NamedTuple):
    """The row that names the columns, if they are separated by `delimiter`."""

    delimiter: str
    number: int
    """The number of the row, from 0."""
    columns: Columns


def _header(text: str, delimiter: str) -> Header | None:
    """Return the first row that names a column for times; None if no row does."""
    for number, row in enumerate(_rows(text, delimiter, HEADER_ROWS)):
        columns = _columns(row)
        has_moments = columns.time is not None and columns.label is not None
        if columns.start is not None or has_moments:
            return Header(delimiter, number, columns)
    return None


def _rows(text: str, delimiter: str = ",", most: int = MAX_PASSAGES) -> list[list[str]]:
    """Return the first `most` rows of a CSV.

    Raises:
        InputError: It is no CSV, a line has too many columns, or `most` is MAX_PASSAGES and there
            are more rows.
    """
    if any(line.count(delimiter) > limits.COMMAS for line in text.split("\n")):
        raise InputError(f"a line has more than {limits.COMMAS:,} columns.")
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = list(islice(reader, most))
        if most == MAX_PASSAGES and next(reader, None) is not None:
            raise InputError(f"it has more than {most:,} rows.")
    except csv.Error as error:
        raise InputError(f"it is no CSV ({error}).") from error
    return rows


def _columns(row: Sequence[str]) -> Columns:
    names = [cell.strip().lower().lstrip("\ufeff") for cell in row]
    found = {}
    for field, known in NAMES.items():
        found[field] = next((names.index(name) for name in known if name in names), None)
    return Columns(**found)


def _cell(row: Sequence[str], column: int | None) -> str:
    """Return the text of a column; "" if the row or the table has none."""
    if column is None or column >= len(row):
        return ""
    return from_cell(row[column])


def _time(text: str, unit_s: float = 1.0) -> float | None:
    """Return the seconds in a cell, None for an empty one."""
    text = text.strip()
    if text.lower() in ("", "na", "nan", "none"):
        return None
    try:
        return float(text) * unit_s
    except ValueError:
        pass
    seconds = parse_time(text)
    if seconds is None:  # a decimal comma
        seconds = parse_time(text.replace(",", "."))
    if seconds is None:
        raise InputError(f"{text!r:.60} is not a time.")
    return seconds


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _share(text: str) -> float | None:
    """Return the number of a cell, if it lies in [0, 1]."""
    value = _number(text)
    if value is None or not 0 <= value <= 1:
        return None
    return value


def _passage(row: Sequence[str], columns: Columns, unit_s: float) -> Passage:
    start_s = _time(_cell(row, columns.start), unit_s)
    end_s = _time(_cell(row, columns.end), unit_s)
    if start_s is None:
        raise InputError(f"a row has no start: {', '.join(row)[:80]}")
    if end_s is None:
        end_s = start_s + (_time(_cell(row, columns.duration)) or 0.0)
    fps = _number(_cell(row, columns.fps))
    if fps is not None and not fps > 0:
        fps = None
    return Passage(
        start_s,
        end_s,
        _cell(row, columns.text),
        kind=as_kind(_cell(row, columns.kind)),
        label=_cell(row, columns.label),
        confidence=_share(_cell(row, columns.confidence)),
        question=_cell(row, columns.question),
        video=_cell(row, columns.video),
        fps=fps,
        at_s=_time(_cell(row, columns.at)),
        is_whole=_cell(row, columns.about) == "all",
    )


def _joined(rows: Iterable[Sequence[str]], columns: Columns) -> list[Passage]:
    """Return the passages of rows that each hold a moment: BORIS's START, STOP and POINT."""
    events = []
    for row in rows:
        time_s = _time(_cell(row, columns.time))
        if time_s is None:
            continue
        event = Event(
            time_s,
            code=_cell(row, columns.label),
            subject=_cell(row, columns.subject),
            comment=_cell(row, columns.text),
            video=_cell(row, columns.video),
            is_state=_cell(row, columns.status).strip().upper() in ("START", "STOP", "STATE"),
        )
        events.append(event)
    return paired(events)


class Event(NamedTuple):
    """A moment that a person coded; a state has two, its start and its stop."""

    time_s: float
    code: str
    subject: str
    comment: str
    video: str
    is_state: bool


def paired(events: Iterable[Event]) -> list[Passage]:
    """Return events as passages: the first event of a state starts it, the next one stops it.

    A state that is never stopped is a moment.
    """
    passages = list[Passage]()
    open_ = dict[tuple[str, str, str], Event]()
    for event in events:
        key = event.code, event.subject, event.video
        started = open_.pop(key, None) if event.is_state else None
        if event.is_state and started is None:
            open_[key] = event
        else:
            first = started or event
            passages.append(_coded(first, event.time_s))
    passages += [_coded(event, event.time_s) for event in open_.values()]
    return sorted(passages, key=lambda each: (each.video, each.start_s))


def _coded(first: Event, end_s: float) -> Passage:
    kind, label = kind_and_label(first.code, first.subject)
    return Passage(
        min(first.time_s, end_s),
        max(first.time_s, end_s),
        first.comment,
        kind=kind,
        label=label,
        video=first.video,
    )


def kind_and_label(code: str, subject: str) -> tuple[PassageKind, str]:
    """Return the kind and the label of a coded event; another program's events are notes.

    In files of atlaskit, the subject is the kind, with a number where passages overlap, and the
    code is the label, or the kind in brackets if the label is empty.
    """
    name = re.sub(r" \d+$", "", subject)
    if name not in KINDS:
        return "note", code
    return as_kind(name), "" if code == f"({name})" else code


# --- Camtrap-DP

OBSERVATION = (
    "observationID",
    "deploymentID",
    "mediaID",
    "eventID",
    "eventStart",
    "eventEnd",
    "observationLevel",
    "observationType",
    "cameraSetupType",
    "scientificName",
    "count",
    "lifeStage",
    "sex",
    "behavior",
    "individualID",
    "individualPositionRadius",
    "individualPositionAngle",
    "individualSpeed",
    "bboxX",
    "bboxY",
    "bboxWidth",
    "bboxHeight",
    "classificationMethod",
    "classifiedBy",
    "classificationTimestamp",
    "classificationProbability",
    "observationTags",
    "observationComments",
)
"""The columns of observations.csv in Camtrap-DP 1.0, in order."""
SECONDS_TAG = "seconds"
"""The tag that keeps the exact seconds of a video: the standard's times are whole seconds."""


def write_observations(
    passages: Sequence[Passage], recorded_at: Callable[[str], datetime]
) -> bytes:
    """Return passages as the observations.csv of a camera trap data package.

    Each passage is an observation of the level "media" and of the type "unclassified": a person or
    a classifier names the species later. The video's name is the id of both the deployment and the
    medium.

    Args:
        passages: The passages.
        recorded_at: Returns when the recording of a video began, with its time zone.
    """
    rows = []
    for number, passage in enumerate(passages, start=1):
        start = recorded_at(passage.video)
        first = start + timedelta(seconds=passage.start_s)
        last = start + timedelta(seconds=passage.end_s)
        is_model = passage.kind in ("answer", "evidence")
        tags = {
            SECONDS_TAG: f"{passage.start_s!r}/{passage.end_s!r}",
            "kind": passage.kind,
            "label": passage.label,
            "question": passage.question,
        }
        filled = {
            "observationID": str(number),
            "deploymentID": passage.video or "video",
            "mediaID": passage.video or "video",
            "eventStart": first.isoformat(timespec="seconds"),
            "eventEnd": last.isoformat(timespec="seconds"),
            "observationLevel": "media",
            "observationType": "unclassified",
            "classificationMethod": "machine" if is_model else "human",
            "classifiedBy": "atlaskit" if is_model else "",
            "classificationProbability": passage.confidence,
            "observationTags": " | ".join(
                f"{name}:{_escaped(value)}" for name, value in tags.items() if value
            ),
            "observationComments": passage.text,
        }
        rows.append([filled.get(name) for name in OBSERVATION])
    return csv_text(OBSERVATION, rows)


def read_observations(text: str, recorded_at: Callable[[str], datetime]) -> list[Passage]:
    """Return the passages of an observations.csv.

    Args:
        text: The file.
        recorded_at: Returns when the recording of a video began; asked only for observations
            without the tag that `write_observations` adds.

    Raises:
        InputError: A column is missing, or a time cannot be read.
    """
    header, *body = _rows(text) or [[]]
    place = {name.strip().lstrip("\ufeff"): index for index, name in enumerate(header)}
    if not {"eventStart", "eventEnd"} <= place.keys():
        raise InputError("an observations.csv has the columns eventStart and eventEnd.")

    def cell(row: Sequence[str], name: str) -> str:
        return _cell(row, place.get(name))

    passages = []
    for row in filter(any, body):
        tags = _tags(cell(row, "observationTags"))
        video = cell(row, "mediaID") or cell(row, "deploymentID")
        start_s, end_s = _seconds_of(
            tags.get(SECONDS_TAG, ""),
            event_start=cell(row, "eventStart"),
            event_end=cell(row, "eventEnd"),
            video=video,
            recorded_at=recorded_at,
        )
        is_ours = SECONDS_TAG in tags
        kind = tags.get("kind", "note")
        species = cell(row, "scientificName") or cell(row, "observationType")
        passages.append(
            Passage(
                start_s,
                max(start_s, end_s),
                cell(row, "observationComments"),
                kind=as_kind(kind),
                label=tags.get("label", "") if is_ours else species,
                confidence=_share(cell(row, "classificationProbability")),
                question=tags.get("question", ""),
                video="" if is_ours and video == "video" else video,
            )
        )
    return passages


def _seconds_of(
    tag: str, event_start: str, event_end: str, video: str, recorded_at: Callable[[str], datetime]
) -> tuple[float, float]:
    """Return the start and end of an observation in seconds of its video.

    Args:
        tag: The exact seconds, from the tag that `write_observations` adds; "" without it.
        event_start: The cell of the observation's start.
        event_end: The cell of the observation's end.
        video: The name of the video.
        recorded_at: Returns when the recording of a video began.

    Raises:
        InputError: A cell is no date and time, or the recording's start is not known.
    """
    match [_number(part) for part in tag.split("/")]:
        case [float(start_s), float(end_s)]:
            return start_s, end_s
    try:
        start = datetime.fromisoformat(event_start.strip())
        end = datetime.fromisoformat(event_end.strip())
        began = recorded_at(video)
        return max(0.0, (start - began).total_seconds()), max(0.0, (end - began).total_seconds())
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{event_start!r:.60} is no date and time with its time zone.") from error


def _escaped(text: str) -> str:
    """Return a text in which the characters that separate tags are escaped as in JSON."""
    quoted = json.dumps(text, ensure_ascii=False)[1:-1]
    return re.sub(r"[|:]|^ | $", lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _tags(text: str) -> dict[str, str]:
    """Return the tags of an observation by name."""
    tags = {}
    for part in text[: 4 * LABEL_CHARS + limits.ROW_TEXT].split("|"):
        name, _, value = part.strip(" ").partition(":")
        try:
            tags[name.strip()] = clean(str(read_json(f'"{value}"')))
        except ValueError:
            tags[name.strip()] = value
    return tags
