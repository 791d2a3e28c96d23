"""Write and read the formats of annotation programs: ELAN, BORIS and Label Studio.

* ELAN has tiers of annotations that do not overlap, so overlapping passages of one kind are spread
  over several tiers.
* BORIS has events: a state has a start event and a stop event, a point has one event.
* Label Studio has ranges of frames, counted from 1.

A file may come from an untrusted source, so XML with a document type is refused, and lengths and
depths have limits.
"""

from __future__ import annotations

import json
import mimetypes
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

from atlaskit.errors import InputError
from atlaskit.runs.exporting.passages import (
    KINDS,
    LAST_S,
    Passage,
    Videos,
    as_kind,
    clean,
    file_name,
    json_value,
    name_in_url,
    path_of,
    videos_of,
)
from atlaskit.runs.exporting.tables import Event, paired
from atlaskit.runs.exporting.timecode import FrameClock, clock_of
from atlaskit.video.video import Video

ASIDE = ("label", "confidence", "question")
"""The fields of a passage that have ELAN tiers of their own, below the tier of its text."""
OWN_TIER = re.compile(rf"(?P<kind>{'|'.join(KINDS)})(?: \d+)?(?: (?P<field>{'|'.join(ASIDE)}))?")
"""The name of an ELAN tier that `write_eaf` wrote, such as "note", "note 2" or "note 2 label"."""
MOST_LEVELS = 40
"""The most levels of annotations that refer to others; in a broken file they may go in circles."""
XSI = "{http://www.w3.org/2001/XMLSchema-instance}"


def lanes(passages: Iterable[Passage]) -> Iterator[tuple[int, Passage]]:
    """Yield each passage with the number of a lane, from 0, in which it overlaps no other."""
    ends_s = list[float]()
    for passage in sorted(passages, key=lambda each: (each.start_s, each.end_s)):
        free = [lane for lane, end_s in enumerate(ends_s) if end_s <= passage.start_s]
        if free:
            lane = free[0]
        else:
            lane = len(ends_s)
            ends_s.append(0.0)
        ends_s[lane] = max(passage.end_s, passage.start_s + 1e-3)  # at least a millisecond long
        yield lane, passage


def numbered(name: str, lane: int) -> str:
    """Return the name of a lane: "note", "note 2", "note 3"."""
    return f"{name} {lane + 1}" if lane else name


# --- ELAN


def write_eaf(passages: Sequence[Passage], videos: Videos) -> bytes:
    """Return passages as an ELAN document: tiers by kind, and below each the tiers of ASIDE."""
    attributes = {
        "AUTHOR": "atlaskit",
        "DATE": datetime.now(UTC).isoformat(timespec="seconds"),
        "FORMAT": "3.0",
        "VERSION": "3.0",
        f"{XSI}noNamespaceSchemaLocation": "http://www.mpi.nl/tools/elan/EAFv3.0.xsd",
    }
    root = ElementTree.Element("ANNOTATION_DOCUMENT", attributes)
    header = ElementTree.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    for name in filter(None, videos_of(passages)):
        path = path_of(videos.get(name))
        url = name
        relative = name
        if path is not None:
            url = path.absolute().as_uri()
            relative = path.name
        media = {
            "MEDIA_URL": url,
            "MIME_TYPE": mimetypes.guess_type(path or name)[0] or "unknown",
            "RELATIVE_MEDIA_URL": f"./{relative}",
        }
        ElementTree.SubElement(header, "MEDIA_DESCRIPTOR", media)
    order = ElementTree.SubElement(root, "TIME_ORDER")
    count = 0
    for kind in KINDS:
        of_lane = defaultdict[int, list[Passage]](list)
        for lane, passage in lanes(each for each in passages if each.kind == kind):
            of_lane[lane].append(passage)
        for lane, group in sorted(of_lane.items()):
            count = _add_tier(root, order, numbered(kind, lane), group, count)
    ElementTree.SubElement(
        root,
        "LINGUISTIC_TYPE",
        LINGUISTIC_TYPE_ID="passages",
        TIME_ALIGNABLE="true",
        GRAPHIC_REFERENCES="false",
    )
    ElementTree.SubElement(
        root,
        "LINGUISTIC_TYPE",
        LINGUISTIC_TYPE_ID="aside",
        TIME_ALIGNABLE="false",
        GRAPHIC_REFERENCES="false",
        CONSTRAINTS="Symbolic_Association",
    )
    ElementTree.SubElement(
        root,
        "CONSTRAINT",
        STEREOTYPE="Symbolic_Association",
        DESCRIPTION="1-1 association with a parent annotation",
    )
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _add_tier(
    root: ElementTree.Element,
    order: ElementTree.Element,
    name: str,
    passages: Sequence[Passage],
    count: int,
) -> int:
    """Add a tier of passages, and the tiers of ASIDE below it.

    Args:
        root: The document.
        order: Its list of time slots.
        name: The name of the tier.
        passages: The passages, which do not overlap.
        count: The number of annotations in the document so far.

    Returns:
        The number of annotations with those that were added.
    """
    tier = ElementTree.SubElement(root, "TIER", TIER_ID=name, LINGUISTIC_TYPE_REF="passages")
    below = dict[str, ElementTree.Element]()
    for passage in passages:
        count += 1
        parent = f"a{count}"
        start = f"ts{2 * count - 1}"
        end = f"ts{2 * count}"
        start_ms = round(passage.start_s * 1000)
        end_ms = max(start_ms + 1, round(passage.end_s * 1000))
        for slot, time_ms in ((start, start_ms), (end, end_ms)):
            ElementTree.SubElement(order, "TIME_SLOT", TIME_SLOT_ID=slot, TIME_VALUE=str(time_ms))
        ids = {"ANNOTATION_ID": parent, "TIME_SLOT_REF1": start, "TIME_SLOT_REF2": end}
        _annotate(tier, "ALIGNABLE_ANNOTATION", ids, passage.text)
        for field in ASIDE:
            value = getattr(passage, field)
            if value in (None, ""):
                continue
            if field not in below:
                below[field] = ElementTree.Element(
                    "TIER",
                    TIER_ID=f"{name} {field}",
                    PARENT_REF=name,
                    LINGUISTIC_TYPE_REF="aside",
                )
            count += 1
            ids = {"ANNOTATION_ID": f"a{count}", "ANNOTATION_REF": parent}
            text = value if isinstance(value, str) else repr(value)
            _annotate(below[field], "REF_ANNOTATION", ids, text)
    root.extend(below.values())
    return count


def _annotate(tier: ElementTree.Element, tag: str, ids: dict[str, str], text: str) -> None:
    annotation = ElementTree.SubElement(ElementTree.SubElement(tier, "ANNOTATION"), tag, ids)
    ElementTree.SubElement(annotation, "ANNOTATION_VALUE").text = text


def read_eaf(text: str) -> list[Passage]:
    """Return the annotations of an ELAN document as passages.

    The name of a tier that `write_eaf` did not write becomes the label of its annotations. An
    annotation that refers to another has the interval of that one, even if it is only a part of it.
    Time slots without a time lie evenly between those around them, as ELAN shows them.

    Raises:
        InputError: The text is no ELAN document, or declares a document type, whose entities could
            grow without a bound.
    """
    root = _elan_document(text)
    media = root.find("HEADER/MEDIA_DESCRIPTOR")
    attributes = {} if media is None else media.attrib
    video = name_in_url(attributes.get("MEDIA_URL", ""))
    origin_s = _milliseconds(attributes.get("TIME_ORIGIN")) or 0.0
    times_s = _slots(root)
    spans_s = dict[str, tuple[float, float]]()
    asides = dict[str, dict[str, str]]()
    found = list[tuple[str, str, str]]()  # identifier, tier, text
    referring = list[tuple[str, str, str, str]]()  # identifier, that of the other, tier, text
    for tier in root.findall("TIER"):
        name = tier.get("TIER_ID", "")
        for annotation in tier.findall("ANNOTATION/*"):
            value = annotation.findtext("ANNOTATION_VALUE") or ""
            identifier = annotation.get("ANNOTATION_ID", "")
            if annotation.tag == "REF_ANNOTATION":
                target = annotation.get("ANNOTATION_REF", "")
                referring.append((identifier, target, name, value))
                continue
            start_s = times_s.get(annotation.get("TIME_SLOT_REF1", ""))
            end_s = times_s.get(annotation.get("TIME_SLOT_REF2", ""))
            if start_s is not None and end_s is not None:
                spans_s[identifier] = start_s + origin_s, max(start_s, end_s) + origin_s
                found.append((identifier, name, value))
    targets = {identifier: target for identifier, target, _, _ in referring}
    for identifier, target, name, value in referring:
        match = OWN_TIER.fullmatch(name)
        if match and match["field"]:
            asides.setdefault(target, {})[match["field"]] = value
            continue
        # Follow the references to the annotation that has times.
        for _ in range(MOST_LEVELS):
            target = targets.get(target, target)
        if target in spans_s:
            spans_s[identifier] = spans_s[target]
            found.append((identifier, name, value))
    passages = list[Passage]()
    for identifier, name, value in found:
        aside = asides.get(identifier, {})
        passages.append(_annotated(spans_s[identifier], name, value, aside, video))
    return passages


def _elan_document(text: str) -> ElementTree.Element:
    """Parse an ELAN document; raise InputError as `read_eaf` does."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError("it declares a document type, which no ELAN file needs; save it without.")
    try:
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except ElementTree.ParseError as error:
        raise InputError(f"it is not valid XML ({error}).") from error
    if root.tag != "ANNOTATION_DOCUMENT":
        raise InputError("it is no ELAN document.")
    return root


def _annotated(
    span_s: tuple[float, float], tier: str, value: str, aside: dict[str, str], video: str
) -> Passage:
    """Return the passage of an annotation.

    Args:
        span_s: Its interval in seconds.
        tier: The name of its tier.
        value: Its text.
        aside: The texts on the tiers of ASIDE, by field.
        video: The name of the video.
    """
    match = OWN_TIER.fullmatch(tier)
    if match is None:
        return Passage(*span_s, clean(value), label=tier, video=video)
    try:
        confidence = float(aside["confidence"]) if "confidence" in aside else None
    except ValueError:
        confidence = None
    return Passage(
        *span_s,
        clean(value),
        kind=as_kind(match["kind"]),
        label=aside.get("label", ""),
        confidence=confidence,
        question=aside.get("question", ""),
        video=video,
    )


def _milliseconds(text: str | None) -> float | None:
    """Return a number of milliseconds, given as text, in seconds; None for any other text."""
    if text is None or not re.fullmatch(r"-?\d{1,12}", text, re.ASCII):
        return None
    return int(text) / 1000


def _slots(root: ElementTree.Element) -> dict[str, float]:
    """Return the time of each time slot in seconds."""
    times_s = dict[str, float]()
    untimed = list[str]()  # the slots since the last one with a time
    last_s = 0.0
    for slot in root.iter("TIME_SLOT"):
        name = slot.get("TIME_SLOT_ID", "")
        time_s = _milliseconds(slot.get("TIME_VALUE"))
        if time_s is None:
            untimed.append(name)
            continue
        for number, each in enumerate(untimed, start=1):
            times_s[each] = last_s + (time_s - last_s) * number / (len(untimed) + 1)
        untimed.clear()
        times_s[name] = time_s
        last_s = time_s
    return times_s


# --- BORIS


def write_boris(passages: Sequence[Passage], videos: Videos) -> bytes:
    """Return passages as a project of BORIS: one observation a video, one behaviour a label.

    The behaviour of a passage is its label, or else its kind in parentheses; the subject is its
    kind.
    """
    is_state = dict[str, bool]()  # by behaviour: whether one of its passages has a duration
    subjects = dict[str, None]()
    observations = dict[str, Any]()
    for name in videos_of(passages):
        events = list[list[Any]]()
        groups = dict[tuple[str, str], list[Passage]]()
        for passage in passages:
            if passage.video == name:
                code = passage.label or f"({passage.kind})"
                groups.setdefault((code, passage.kind), []).append(passage)
        for (code, kind), group in groups.items():
            for lane, passage in lanes(group):
                subject = numbered(kind, lane)
                subjects[subject] = None
                has_duration = passage.start_s < passage.end_s
                is_state[code] = is_state.get(code, False) or has_duration
                events.append([passage.start_s, subject, code, "", passage.text, "NA"])
                events.append([passage.end_s, subject, code, "", "", "NA"])
        observations[name or "observation"] = _observation(name, events, passages, videos)
    # Start and stop events alternate; those of points lose the stop.
    for observation in observations.values():
        kept = list[list[Any]]()
        for number, event in enumerate(observation["events"]):
            is_start = number % 2 == 0
            if is_start or is_state[event[2]]:
                kept.append(event)
        observation["events"] = kept
    behaviours = dict[str, Any]()
    for code, has_duration in is_state.items():
        behaviours[str(len(behaviours))] = {
            "type": "State event" if has_duration else "Point event",
            "key": "",
            "code": code,
            "description": "",
            "color": "",
            "category": "",
            "modifiers": {},
            "excluded": "",
            "coding map": "",
        }
    project = {
        "time_format": "hh:mm:ss",
        "project_date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "project_name": "atlaskit",
        "project_description": "",
        "project_format_version": "7.0",
        "subjects_conf": {
            str(number): {"key": "", "name": name, "description": ""}
            for number, name in enumerate(subjects)
        },
        "behaviors_conf": behaviours,
        "observations": observations,
        "behavioral_categories": [],
        "independent_variables": {},
        "coding_map": {},
        "behaviors_coding_map": [],
        "converters": {},
    }
    return (json.dumps(project, ensure_ascii=False, indent=1) + "\n").encode()


def _observation(
    name: str, events: list[list[Any]], passages: Sequence[Passage], videos: Videos
) -> dict[str, Any]:
    video = videos.get(name)
    path = path_of(video)
    file = str(path.absolute()) if path is not None else name
    if video is not None:
        fps: float | None = video.fps
        length_s = video.duration_s
    else:
        fps = next((each.fps for each in passages if each.video == name), None)
        length_s = max((event[0] for event in events), default=0.0)
    return {
        "file": {"1": [file] if file else [], **{str(player): [] for player in range(2, 9)}},
        "type": "MEDIA",
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
        "description": "",
        "time offset": 0.0,
        "events": events,
        "observation time interval": [0, 0],
        "independent_variables": {},
        "visualize_spectrogram": False,
        "visualize_waveform": False,
        "media_creation_date_as_offset": False,
        "media_scan_sampling_duration": 0,
        "image_display_duration": 1,
        "close_behaviors_between_videos": False,
        "media_info": {
            "length": {file: length_s},
            "fps": {file: fps or 25.0},
            "hasVideo": {file: True},
            "hasAudio": {file: False},
            "offset": {"1": 0.0},
        },
    }


def read_boris(text: str) -> list[Passage]:
    """Return the events of a project of BORIS as passages: its states and its points.

    Raises:
        InputError: The text is no project of BORIS.
    """
    project = json_value(text)
    observations = project.get("observations") if isinstance(project, dict) else None
    if not isinstance(observations, dict):
        raise InputError("it is no project of BORIS.")
    behaviours = project.get("behaviors_conf")
    if not isinstance(behaviours, dict):
        behaviours = {}
    states = set[str]()
    for each in behaviours.values():
        if isinstance(each, dict) and "state" in str(each.get("type")).lower():
            states.add(str(each.get("code")))
    passages = list[Passage]()
    for observation in observations.values():
        if not isinstance(observation, dict):
            raise InputError("an observation is no object.")
        video = _medium(observation)
        offset_s = observation.get("time offset")
        if not isinstance(offset_s, int | float) or abs(offset_s) >= LAST_S:
            offset_s = 0.0
        rows = observation.get("events") or []
        if not isinstance(rows, list):
            raise InputError("the events of an observation are no list.")
        events = list[Event]()
        for event in rows:
            match event:
                case [int() | float() as time_s, str(subject), str(code), _, str(comment), *_]:
                    at_s = max(0.0, time_s - offset_s)
                    events.append(Event(at_s, code, subject, comment, video, code in states))
                case _:
                    raise InputError(
                        "an event has time, subject, code, modifier and comment; got "
                        f"{event!r:.80}."
                    )
        passages += paired(events)
    return passages


def _medium(observation: dict[str, Any]) -> str:
    """Return the name of an observation's file; empty if there are several, or none."""
    match observation.get("file"):
        case {"1": [name]}:
            return file_name(str(name))
    return ""


# --- Label Studio


def write_label_studio(passages: Sequence[Passage], videos: Videos) -> bytes:
    """Return passages as tasks to import into Label Studio, one a video, for `TimelineLabels`.

    Answers and evidence of a model are predictions; notes and truths are annotations.
    """
    tasks = list[dict[str, Any]]()
    for name in videos_of(passages):
        own = [each for each in passages if each.video == name]
        video = videos.get(name)
        clock = clock_of(video, own[0].fps)
        path = path_of(video)
        predicted = list[dict[str, Any]]()
        annotated = list[dict[str, Any]]()
        for number, each in enumerate(own):
            group = predicted if each.kind in ("answer", "evidence") else annotated
            group.append(_region(number, each, clock))
        file = name if path is None else str(path.absolute())
        task: dict[str, Any] = {"data": {"video": file, "fps": float(clock.rate)}}
        if predicted:
            task["predictions"] = [{"model_version": "atlaskit", "result": predicted}]
        if annotated:
            task["annotations"] = [{"result": annotated}]
        tasks.append(task)
    return (json.dumps(tasks, ensure_ascii=False, indent=1) + "\n").encode()


def _region(number: int, passage: Passage, clock: FrameClock) -> dict[str, Any]:
    first, after = clock.span(passage.start_s, passage.end_s)
    meta = {"text": [passage.text], "atlaskit": passage.to_json() | {"range": [first, after]}}
    region: dict[str, Any] = {
        "id": f"atlaskit-{number}",
        "from_name": "timeline",
        "to_name": "video",
        "type": "timelinelabels",
        "value": {
            "ranges": [{"start": first + 1, "end": after}],
            "timelinelabels": [passage.label or passage.kind],
        },
        "meta": meta,
    }
    if passage.confidence is not None:
        region["score"] = passage.confidence
    return region


def read_label_studio(
    tasks: Sequence[Any], video: Video | None, fps: float | None
) -> list[Passage]:
    """Return the regions of timelines as passages, from an export of Label Studio or from tasks.

    Args:
        tasks: The tasks, as parsed JSON.
        video: The video whose frames are counted; of several files as one video, the first counts.
        fps: Frames per second if the tasks do not state them; Label Studio's own default is 24.

    Raises:
        InputError: A task or a range is invalid, or the frame rate is not known.
    """
    if video is not None:
        video = video.locate(0.0)[0]
    passages = list[Passage]()
    for task in tasks:
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise InputError("a task of Label Studio has data.")
        data = task["data"]
        rate = data.get("fps")
        if not isinstance(rate, int | float) or not 0 < rate < 1e5:
            rate = fps
        source = file_name(str(data.get("video") or ""))
        for group in (*_list(task, "annotations"), *_list(task, "predictions")):
            for region in _list(group, "result"):
                match region:
                    case {"value": {"ranges": [*ranges], "timelinelabels": [*labels]}}:
                        clock = clock_of(video, rate)
                        label = str(labels[0]) if labels else ""
                        passages += _regions(region, ranges, label, clock, source)
    return passages


def _regions(
    region: dict[str, Any], ranges: Sequence[Any], label: str, clock: FrameClock, video: str
) -> Iterator[Passage]:
    """Yield a passage for each range of a region; raise InputError for an invalid range.

    A region that `write_label_studio` wrote has the whole passage in `meta`.
    """
    meta = region.get("meta")
    if not isinstance(meta, dict):
        meta = {}
    text = meta.get("text") or ""
    if isinstance(text, list):
        text = "\n".join(map(str, text))
    for each in ranges:
        match each:
            case {"start": int() as first, "end": int() as last} if 1 <= first < 1e9 and last < 1e9:
                start_s = clock.seconds(first - 1)
                end_s = clock.seconds(max(first, last))
                ours = meta.get("atlaskit")
                if isinstance(ours, dict):
                    if ours.get("range") != [first - 1, last]:  # a person moved the range
                        ours = {**ours, "start_s": start_s, "end_s": end_s}
                    yield Passage.from_json(ours)
                    continue
                fps = float(clock.rate)
                yield Passage(start_s, end_s, str(text), label=label, video=video, fps=fps)
            case _:
                raise InputError(
                    f"a range has a first and a last frame, from 1 on; got {each!r:.80}."
                )


def _list(value: object, name: str) -> list[Any]:
    """Return the list under a name in an object; [] if there is none."""
    if isinstance(value, dict) and isinstance(value.get(name), list):
        return list(value[name])
    return []
