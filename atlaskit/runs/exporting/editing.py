"""Formats of players and editors: WebVTT, EDL (CMX 3600), OpenTimelineIO, LosslessCut's projects.

In WebVTT each passage is a cue; its identifier holds kind and label, and a player shows label and
text. Characters that a cue cannot hold (an empty line, `<`, `&`) are written as character
references, so that the same text is read back.

EDL and OpenTimelineIO count frames, on the clock of each file (`timecode`). A stretch that lies in
several files of a playlist becomes one event for each file. Both are written without a library, as
plain text and as JSON.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from atlaskit import limits
from atlaskit.errors import InputError
from atlaskit.runs.exporting.passages import (
    KINDS,
    MAX_FPS,
    Passage,
    Videos,
    as_kind,
    clean,
    file_name,
    json_value,
    name_in_url,
    one_line,
    path_of,
    videos_of,
)
from atlaskit.runs.exporting.timecode import FrameClock, clock_of, rate_of
from atlaskit.video.video import Video

EMPTY = "-"
"""The text of a cue without words, since some players drop empty cues."""
_CUE_TIME = r"(?:(\d{1,4}):)?(\d\d):(\d\d)\.(\d{3})"
_CUE_TIMES = re.compile(rf"\s*{_CUE_TIME}\s+-->\s+{_CUE_TIME}(?:\s.*)?")
_IDENTIFIER = re.compile(rf"({'|'.join(KINDS)})(?: (.*))?")
_TAG = re.compile(r"</?[a-zA-Z0-9:.][^<>]{0,1000}>|</?[a-zA-Z]?>")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def write_vtt(passages: Sequence[Passage]) -> bytes:
    """Return passages as WebVTT."""
    return "\n".join(["WEBVTT\n", *map(_cue, passages)]).encode()


def _cue(passage: Passage) -> str:
    start_ms = round(passage.start_s * 1000)
    end_ms = max(start_ms + 1, round(passage.end_s * 1000))
    identifier = f"{passage.kind} {passage.label.translate(_ESCAPES)}".rstrip()
    payload = _escaped(passage.words) or EMPTY
    if passage.words == EMPTY:  # a bare "-" would be read back as no words
        payload = "&#45;"
    return f"{identifier}\n{_cue_time(start_ms)} --> {_cue_time(end_ms)}\n{payload}\n"


def _escaped(text: str) -> str:
    """Return a text with `&`, `<`, `>` and empty lines, which end a cue, as references."""
    escaped = text.translate(_ESCAPES)
    escaped = re.sub(r"(?<=\n)\n|^\n|\n$", "&#10;", escaped)
    return re.sub(r"\n(?=\s*(?:\n|$))", "&#10;", escaped)


def _cue_time(time_ms: int) -> str:
    seconds, ms = divmod(time_ms, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"


def read_vtt(text: str) -> list[Passage]:
    """Return the cues of a WebVTT file; tags are dropped, and line ends stay.

    Raises:
        InputError: The text is no WebVTT.
    """
    if not text.lstrip("\ufeff").startswith("WEBVTT"):
        raise InputError("a WebVTT file begins with WEBVTT.")
    passages = list[Passage]()
    rows = text.split("\n")
    for number, row in enumerate(rows):
        match = _CUE_TIMES.fullmatch(row) if "-->" in row else None
        if match is None:
            continue
        after = number + 1
        while after < len(rows) and rows[after] and "-->" not in rows[after]:
            after += 1
        payload = "\n".join(rows[number + 1 : after])
        identifier = _IDENTIFIER.fullmatch(rows[number - 1]) if number else None
        start_s = _cue_seconds(match.groups()[:4])
        end_s = _cue_seconds(match.groups()[4:])
        passages.append(_cue_passage(start_s, max(start_s, end_s), payload, identifier))
    return passages


def _cue_passage(
    start_s: float, end_s: float, payload: str, identifier: re.Match[str] | None
) -> Passage:
    """Return a cue as a passage; `identifier` is None if atlaskit did not write the cue."""
    words = clean(html.unescape(_TAG.sub("", payload)))
    if identifier is None:
        return Passage(start_s, end_s, words)
    label = html.unescape(identifier[2] or "")
    if payload == EMPTY:
        words = ""
    elif label:
        words = "" if words == label else words.removeprefix(f"{label}: ")
    return Passage(start_s, end_s, words, kind=as_kind(identifier[1]), label=label)


def _cue_seconds(groups: Sequence[str | None]) -> float:
    hours, minutes, seconds, ms = (int(each or 0) for each in groups)
    return (hours * 3600 + minutes * 60 + seconds) + ms / 1000


EDL_START_S = 3_600
"""The second at which the edit of an EDL begins: one hour, as on tapes."""
COLOURS = {"answer": "GREEN", "evidence": "YELLOW", "truth": "MAGENTA", "note": "CYAN"}
"""The colour of a passage's marker, by its kind."""
KIND_OF = {colour: kind for kind, colour in COLOURS.items()}
SHORTEST_S = 1 / 48_000
"""The least length of a piece, in seconds, so that rounding makes no piece empty."""
MAX_RATE = 1e6
"""The most frames per second that a file of another program may state."""
MAX_FRAMES = 1e12
"""The highest number of a frame that such a file may state."""


class Piece(NamedTuple):
    """The part of a passage that lies in one file, on the clock of that file."""

    passage: Passage
    name: str
    path: Path | None
    clock: FrameClock
    start_s: float
    end_s: float
    first: int
    after: int
    """The piece is the ticks `[first, after)` of the clock."""


def parts_of(video: Video, start_s: float, end_s: float) -> Iterator[tuple[Video, float, float]]:
    """Yield the files that an interval lies in, each with start and end in its own seconds."""
    end_s = max(start_s + SHORTEST_S, end_s)
    while start_s < min(end_s, video.duration_s):
        part, local_s = video.locate(start_s)
        length_s = max(SHORTEST_S, min(end_s - start_s, part.duration_s - local_s))
        yield part, local_s, local_s + length_s
        start_s += length_s


def pieces_of(passages: Sequence[Passage], videos: Videos) -> Iterator[Piece]:
    """Yield the pieces of all passages that are about a stretch, in order."""
    for passage in passages:
        if passage.is_whole:
            continue
        video = videos.get(passage.video)
        if video is None:
            clock = clock_of(None, passage.fps)
            span = clock.span(passage.start_s, passage.end_s)
            yield Piece(passage, passage.video, None, clock, passage.start_s, passage.end_s, *span)
            continue
        for part, start_s, end_s in parts_of(video, passage.start_s, passage.end_s):
            clock = clock_of(part, None)
            name = one_line(part.name)
            span = clock.span(start_s, end_s)
            yield Piece(passage, name, path_of(part), clock, start_s, end_s, *span)


# --- EDL


def write_edl(passages: Sequence[Passage], videos: Videos) -> bytes:
    """Return passages as an EDL: one event after another, each with a marker and its text.

    Raises:
        InputError: No passage is a stretch.
    """
    pieces = list(pieces_of(passages, videos))
    if not pieces:
        raise InputError("An EDL holds stretches, and there is none among what is exported.")
    record = pieces[0].clock  # the clock of the edit: EDLs call it the record side
    record_tick = EDL_START_S * round(record.rate)
    if record.drops:
        record_tick = record.tick("01:00:00;00")
    title = one_line(", ".join(filter(None, videos_of(passages))), 60) or "atlaskit"
    lines = [f"TITLE: {title}", f"FCM: {'DROP FRAME' if record.drops else 'NON-DROP FRAME'}"]
    for number, piece in enumerate(pieces, start=1):
        clock = piece.clock
        count = max(1, round((piece.after - piece.first) / clock.rate * record.rate))
        times = [clock.timecode(piece.first), clock.timecode(piece.after)]
        times += [record.timecode(record_tick), record.timecode(record_tick + count)]
        passage = piece.passage
        # AX: a file instead of a tape; AA/V: sound and picture; C: a cut.
        lines.append(f"{number:03}  AX       AA/V  C        {' '.join(times)}")
        lines.append(f"* FROM CLIP NAME: {piece.name}")
        lines.append(f"* FRAME RATE: {clock.rate}")
        marker_time = times[2].replace(";", ":")  # readers of markers support no other sign
        lines.append(f"* LOC: {marker_time} {COLOURS[passage.kind]:7} {passage.label}".rstrip())
        if passage.text:
            lines += [f"* COMMENT: {line}" for line in passage.text.split("\n")]
        record_tick += count
    return "\n".join([*lines, ""]).encode()


_TIMECODE = r"\d{1,3}[:;]\d\d[:;]\d\d[:;.,]\d{2,4}"
_EVENT = re.compile(
    rf"\d{{1,6}}\s+\S+\s.{{1,60}}?\s({_TIMECODE})\s+({_TIMECODE})\s+{_TIMECODE}\s+{_TIMECODE}\s*"
)
_REMARK = re.compile(r"\*\s{0,20}([A-Z][A-Z ]{0,40}?)\s{0,20}: ?(.*)", re.DOTALL)


class _EventRows(NamedTuple):
    """The row of an event in an EDL, and the remarks below it."""

    start: str
    end: str
    is_dropping: bool
    remarks: list[tuple[str, str]]


def read_edl(text: str, video: Video | None, fps: float | None) -> list[Passage]:
    """Return the events of an EDL, by their places in the source.

    Args:
        text: The file.
        video: The video that it is about, whose frames it counts.
        fps: Frames per second; an EDL of another program does not state them.

    Raises:
        InputError: The text is no EDL, or the rate is not known.
    """
    blocks = list[_EventRows]()
    is_dropping = False
    for row in text.split("\n"):
        if row.upper().startswith("FCM:"):
            is_dropping = "NON" not in row.upper()
            continue
        event = _EVENT.fullmatch(row)
        remark = _REMARK.fullmatch(row)
        if event:
            blocks.append(_EventRows(event[1], event[2], is_dropping, []))
        elif blocks and remark:
            blocks[-1].remarks.append((remark[1], remark[2]))
    if not blocks:
        raise InputError("it has no event, a line with a number and four timecodes.")
    return [_event(rows, video, fps) for rows in blocks]


def _event(rows: _EventRows, video: Video | None, fps: float | None) -> Passage:
    facts = dict(reversed(rows.remarks))  # the first remark of a name counts
    clock = _clock(facts.get("FRAME RATE", ""), rows.is_dropping, video, fps)
    try:
        first = clock.tick(rows.start, rows.is_dropping or ";" in rows.start)
        after = clock.tick(rows.end, rows.is_dropping or ";" in rows.end)
    except ValueError as error:
        raise InputError(f"{error}.") from error
    _, _, marker = facts.get("LOC", "").partition(" ")  # a timecode; then colour and label
    colour, _, label = marker.strip().partition(" ")
    comments = [value for name, value in rows.remarks if name in ("COMMENT", "COMMENTS")]
    start_s = clock.seconds(first)
    return Passage(
        start_s,
        max(start_s, clock.seconds(after)),
        "\n".join(comments),
        kind=as_kind(KIND_OF.get(colour)),
        label=label.strip(),
        video=facts.get("FROM CLIP NAME", ""),
        fps=float(clock.rate),
    )


def _clock(stated: str, is_dropping: bool, video: Video | None, fps: float | None) -> FrameClock:
    """Return the clock of an event.

    The video's clock is used unless the EDL states another rate. Without the video, the rate is the
    stated one, `fps`, or 29.97 for a drop-frame EDL, whichever is known first.
    """
    match = re.fullmatch(r"(\d{1,7})(?:/(\d{1,5}))?|(\d{1,4}\.\d{1,6})", stated.strip())
    rate = None
    if match is not None and match[3]:
        rate = float(match[3])
    elif match is not None:
        rate = int(match[1]) / max(1, int(match[2] or 1))
    if video is not None:
        clock = clock_of(video.locate(0.0)[0], None)
        if rate is None or abs(float(clock.rate) - rate) < 1e-3:
            return clock
    rate = rate or fps
    if not rate and is_dropping:
        rate = 30_000 / 1001
    if not rate:
        raise InputError("an EDL does not state its frame rate: pass fps=, or the video.")
    return clock_of(None, rate)


# --- OpenTimelineIO


def write_otio(passages: Sequence[Passage], videos: Videos) -> bytes:
    """Return passages as an OpenTimelineIO timeline: one clip after another, each with a marker.

    Raises:
        InputError: No passage is a stretch.
    """
    clips = [_clip(piece) for piece in pieces_of(passages, videos)]
    if not clips:
        raise InputError("A timeline holds stretches, and there is none among what is exported.")
    track = {"OTIO_SCHEMA": "Track.1", "name": "atlaskit", "kind": "Video", "children": clips}
    timeline = {
        "OTIO_SCHEMA": "Timeline.1",
        "name": one_line(", ".join(filter(None, videos_of(passages))), 60) or "atlaskit",
        "tracks": {"OTIO_SCHEMA": "Stack.1", "name": "tracks", "children": [track]},
    }
    return (json.dumps(timeline, ensure_ascii=False, indent=1) + "\n").encode()


def _clip(piece: Piece) -> dict[str, Any]:
    passage = piece.passage
    range_ = _range(piece.first, piece.after - piece.first, piece.clock.rate)
    marker = {
        "OTIO_SCHEMA": "Marker.2",
        "name": passage.label,
        "color": COLOURS[passage.kind],
        "comment": passage.text,
        "marked_range": range_,
    }
    url = piece.path.absolute().as_uri() if piece.path is not None else piece.name
    row = {
        **passage.to_json(),
        "start_s": piece.start_s,
        "end_s": piece.end_s,
        "video": piece.name,
        "range": [piece.first, piece.after],
    }
    if piece.start_s != passage.start_s:  # at_s counts in the playlist, not in this part of it
        row.pop("at_s", None)
    return {
        "OTIO_SCHEMA": "Clip.1",
        "name": passage.words.split("\n")[0][:200] or piece.name,
        "source_range": range_,
        "media_reference": {
            "OTIO_SCHEMA": "ExternalReference.1",
            "name": piece.name,
            "target_url": url,
        },
        "markers": [marker],
        "metadata": {"atlaskit": row},
    }


def _range(first: int, count: int, rate: Fraction) -> dict[str, Any]:
    time = {"OTIO_SCHEMA": "RationalTime.1", "value": 0.0, "rate": float(rate)}
    return {
        "OTIO_SCHEMA": "TimeRange.1",
        "start_time": {**time, "value": float(first)},
        "duration": {**time, "value": float(count)},
    }


def read_otio(text: str) -> list[Passage]:
    """Return the clips of an OpenTimelineIO file, and the markers on clips of other programs.

    A clip that was moved or trimmed after its export has its present times.

    Raises:
        InputError: The text is no timeline.
    """
    root = _object(text)
    if not str(root.get("OTIO_SCHEMA", "")).startswith(
        ("Timeline.", "Stack.", "Track.", "SerializableCollection.")
    ):
        raise InputError("it is no OpenTimelineIO timeline.")
    passages = list[Passage]()
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if str(item.get("OTIO_SCHEMA", "")).startswith("Clip."):
            passages += _clip_passages(item)
            continue
        children = item.get("children")
        inner = [item.get("tracks"), *(children if isinstance(children, list) else [])]
        waiting += [each for each in reversed(inner) if isinstance(each, dict)]
    return passages


def _clip_passages(clip: dict[str, Any]) -> Iterator[Passage]:
    reference = clip.get("media_reference")
    references = clip.get("media_references")
    if isinstance(references, dict):
        key = clip.get("active_media_reference_key")
        reference = references.get(key if isinstance(key, str) else "DEFAULT_MEDIA")
    if not isinstance(reference, dict):
        reference = {}
    span = _span(clip.get("source_range")) or _span(reference.get("available_range"))
    if span is None:
        return
    video = file_name(str(reference.get("name") or ""))
    if not reference.get("name"):
        video = name_in_url(str(reference.get("target_url") or ""))
    metadata = clip.get("metadata")
    row = metadata.get("atlaskit") if isinstance(metadata, dict) else None
    fps = span[2] if 0 < span[2] <= MAX_FPS else None
    if isinstance(row, dict):  # atlaskit wrote the clip
        ticks = [round(time_s * span[2]) for time_s in span[:2]]
        if row.get("range") != ticks:  # a person moved or trimmed it
            row = {**row, "start_s": span[0], "end_s": span[1]}
        yield Passage.from_json(row)
        return
    yield Passage(span[0], span[1], str(clip.get("name") or ""), video=video, fps=fps)
    markers = clip.get("markers")
    for marker in markers if isinstance(markers, list) else []:
        marked = _span(marker.get("marked_range")) if isinstance(marker, dict) else None
        if marked is not None:
            text = str(marker.get("comment") or "")
            label = str(marker.get("name") or "")
            yield Passage(marked[0], marked[1], text, label=label, video=video, fps=fps)


def _span(value: object) -> tuple[float, float, float] | None:
    """Return a time range's start and end in seconds and its rate; None for other values."""
    match value:
        case {
            "start_time": {"value": int() | float() as first, "rate": int() | float() as rate},
            "duration": {"value": int() | float() as count, "rate": int() | float() as of_count},
        } if (
            0 < rate < MAX_RATE
            and 0 < of_count < MAX_RATE
            and 0 <= first < MAX_FRAMES
            and 0 <= count < MAX_FRAMES
        ):
            start_s = _seconds_of(first, rate)
            return start_s, start_s + _seconds_of(count, of_count), float(rate)
    return None


def _seconds_of(value: float, rate: float) -> float:
    """Return how many seconds `value` frames last; a rate of 29.97 means 30000/1001."""
    nearest = rate_of(rate)
    return value / float(nearest if abs(float(nearest) - rate) < 1e-2 else rate)


def _object(text: str) -> dict[str, Any]:
    """Return the object of a JSON text; raise InputError if it is none."""
    value = json_value(text)
    if not isinstance(value, dict):
        raise InputError("it is no JSON object.")
    return value


# --- LosslessCut


def write_llc(passages: Sequence[Passage], videos: Videos) -> bytes:
    """Return passages as a project of LosslessCut, which lies beside the file that it cuts."""
    segments = []
    for passage in passages:
        if passage.is_whole:
            continue
        name = passage.text or passage.label
        tags = dict[str, str]()
        for field in ("kind", "label", "question"):
            value = getattr(passage, field)
            if value:
                tags[field] = value
        if passage.text != name:
            tags["text"] = passage.text
        if passage.confidence is not None:
            tags["confidence"] = repr(passage.confidence)
        end = {} if passage.start_s == passage.end_s else {"end": passage.end_s}
        segments.append({"start": passage.start_s, **end, "name": name, "tags": tags})
    media = next(iter(videos_of(passages)), "")
    path = path_of(videos.get(media))
    if path is not None:
        media = path.name
    project: dict[str, Any] = {"version": 2}
    if media:
        project["mediaFileName"] = media
    project["cutSegments"] = segments
    return (json.dumps(project, ensure_ascii=False, indent=2) + "\n").encode()


def read_llc(text: str, duration_s: float | None) -> list[Passage]:
    """Return the segments of a project of LosslessCut, which is written in JSON5.

    Args:
        text: The file.
        duration_s: Length of the video, where a segment without an end ends in version 1.

    Raises:
        InputError: The text is no project.
    """
    project = _object(as_json(text))
    segments = project.get("cutSegments")
    if not isinstance(segments, list):
        raise InputError("it has no list cutSegments.")
    video = str(project.get("mediaFileName") or "")
    is_old = project.get("version") == 1
    passages = []
    for segment in segments:
        if not isinstance(segment, dict):
            raise InputError("a segment is no object.")
        start_s = segment.get("start") or 0.0
        end_s = segment.get("end")
        if end_s is None:  # in later versions, such a segment marks a moment
            end_s = duration_s if is_old and duration_s is not None else start_s
        tags = segment.get("tags")
        if not isinstance(tags, dict):
            tags = {}
        name = str(segment.get("name") or "")
        try:
            confidence = float(str(tags["confidence"])) if "confidence" in tags else None
        except ValueError:
            confidence = None
        passages.append(
            Passage(
                start_s,
                end_s,
                clean(str(tags.get("text", name))),
                kind=as_kind(str(tags.get("kind", "note"))),
                label=str(tags.get("label", "")),
                confidence=confidence,
                question=str(tags.get("question", "")),
                video=video,
            )
        )
    return passages


_JSON5 = re.compile(
    r"""(?P<double>"(?:[^"\\]|\\.)*")"""
    r"""|(?P<single>'(?:[^'\\]|\\.)*')"""
    r"""|(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"""
    r"""|(?P<word>[A-Za-z_$][\w$]*)"""
    r"""|(?P<sign>[{}\[\]:,])"""
    r"""|(?P<blank>\s+)""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\n|.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0", "\n": ""}


def as_json(text: str) -> str:
    """Return JSON5 as JSON: quote names, replace single quotes, drop comments and last commas.

    Raises:
        InputError: It is no JSON5, or has too many parts.
    """
    parts = list[str]()
    position = 0
    tokens = 0
    while position < len(text):
        tokens += 1
        found = _JSON5.match(text, position)
        if found is None:
            raise InputError(
                f"it is no JSON5: {text[position : position + 20]!r} was not expected."
            )
        position = found.end()
        token = found[0]
        match found.lastgroup:
            case "double" | "single":
                parts.append(json.dumps(_ESCAPE.sub(_unescaped, token[1:-1])))
            case "word":
                parts.append(token if token in ("true", "false", "null") else json.dumps(token))
            case "number" if re.fullmatch(r"-?(?:0|[1-9]\d*)", token):
                parts.append(token)
            case "number":
                parts.append(repr(float(token)))
            case "sign":
                if token in "}]" and parts and parts[-1] == ",":
                    parts.pop()
                parts.append(token)
        if tokens > limits.PARTS:
            raise InputError(f"it has more than {limits.PARTS:,} parts.")
    return "".join(parts)


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "ux" and len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _ESCAPED.get(escape, escape)
