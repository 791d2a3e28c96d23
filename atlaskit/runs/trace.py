"""`Trace`: all events of a run, saved and loaded as JSON lines (docs/trace.md).

A file may come from an untrusted source. It is read as data, and anything but known events is
refused.

`save_manifest` stores which cache entries a run needs, for `ak.cache.export`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, overload

from pydantic import TypeAdapter, ValidationError

from atlaskit import limits
from atlaskit.caching.cache import Cache
from atlaskit.caching.files import read_whole, write_whole
from atlaskit.caching.keys import (
    Kind,
    canonical_json,
    is_image,
    is_key,
    is_recorded,
    kind_of,
    read_json,
)
from atlaskit.errors import InputError, first_fault, reason
from atlaskit.runs.events import KINDS, Event, Start
from atlaskit.video.records import ASKED

E = TypeVar("E", bound=Event)
TRACE_VERSION = 3


@dataclass(frozen=True)
class Trace:
    """The events of a run, in order; those of parallel workers are grouped by worker.

    Examples:
        >>> result.trace.save("run.jsonl")
        >>> trace = ak.Trace.load("run.jsonl")
        >>> trace.events[0].kind, trace.events[-1].kind
        ('start', 'stop')
    """

    events: tuple[Event, ...] = ()

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        return f"<trace of {len(self.events):,} events>"

    @overload
    def of(self, kind: type[E]) -> tuple[E, ...]: ...
    @overload
    def of(self, kind: str) -> tuple[Any, ...]: ...
    def of(self, kind: type[E] | str) -> tuple[Any, ...]:
        """Return the events of one kind, by its class or its name."""
        return tuple(event for event in self.events if kind in (event.kind, type(event)))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the events as plain JSON values."""
        return [event.to_json() for event in self.events]

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON lines: one with the version, then one for each event.

        Raises:
            InputError: If the file cannot be written.
        """
        lines = [
            canonical_json({"atlaskit_trace": TRACE_VERSION}),
            *map(canonical_json, self.to_json()),
        ]
        try:
            write_whole(path, "\n".join(lines) + "\n")
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from error

    @classmethod
    def load(cls, path: str | Path) -> Trace:
        """Read a file that `save` wrote.

        Raises:
            InputError: If the file cannot be read or is not a trace; the sentence names file and
                line.
        """
        try:
            lines = read_whole(path).split(b"\n")
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {reason(error)}.") from error
        if len(lines) > limits.EVENTS:
            raise InputError(
                f"{path} has {len(lines):,} lines; a trace has at most {limits.EVENTS:,} events."
            )
        numbered = list[tuple[str, bytes]]()
        for number, line in enumerate(lines, start=1):
            if line.strip():
                numbered.append((f"{path}, line {number}", line))
        header, *rows = numbered or [(f"{path}, line 1", b"null")]
        _check_header(*header)
        return cls(tuple(_event(where, parse_line(where, line)) for where, line in rows))

    @classmethod
    def of_rows(cls, where: str, rows: Any) -> Trace:
        """Return a trace from the rows that `to_json` returned.

        Args:
            where: The name of the file or object with the rows, which begins an error's sentence.
            rows: The rows, as plain JSON values.

        Raises:
            InputError: If the rows are not the events of a trace.
        """
        if not isinstance(rows, list):
            raise InputError(f"{where} has no valid trace; a trace is a list of events.")
        return cls(
            tuple(_event(f"{where}, event {number}", row) for number, row in enumerate(rows))
        )


def _check_header(where: str, line: bytes) -> None:
    """Raise InputError unless the first line names the version that this code reads."""
    header = parse_line(where, line)
    if not isinstance(header, dict) or type(header.get("atlaskit_trace")) is not int:
        raise InputError(f"{where}, names no version, so this is not a trace of atlaskit.")
    if header["atlaskit_trace"] != TRACE_VERSION:
        found = str(header["atlaskit_trace"])[:40]
        raise InputError(
            f"{where}, names a trace of version {found}; this atlaskit reads version "
            f"{TRACE_VERSION}."
        )
    if len(header) > 1:
        raise InputError(
            f"{where}, has fields besides the version, which this atlaskit does not know."
        )


def parse_line(where: str, line: bytes) -> Any:
    """Return the JSON value of a line.

    Args:
        where: The file and number of the line, which begin an error's sentence.
        line: The line, in UTF-8.

    Raises:
        InputError: If the line is not JSON, or its value is nested too deeply or could not be
            written again.
    """
    try:
        value = read_json(line)
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError):
            fault = f"{error.msg}: column {error.colno}"
        else:
            fault = reason(error)
        raise InputError(
            f"{where}, is not valid JSON, so this is not a trace of atlaskit ({fault})."
        ) from error
    if fault := _excess(value):
        raise InputError(f"{where}, has {fault}, so this is not a trace of atlaskit.")
    return value


def _excess(value: Any) -> str:
    """Return in words which limit a JSON value exceeds; empty if none."""
    level = [value]
    for _ in range(limits.NESTING):
        inner = list[Any]()  # the next level: the values in the lists and objects of this one
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
            elif isinstance(item, int | float) and abs(item) > limits.NUMBER:
                return f"a number beyond {limits.NUMBER:.0e}"
        if not inner:
            return ""
        level = inner
    return f"more than {limits.NESTING} levels"


def _event(where: str, row: Any) -> Event:
    """Return the event of a row; raise InputError, beginning with `where`, if it is invalid.

    The kind is taken out of the row.
    """
    kind = row.pop("kind", None) if isinstance(row, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        found = f"is of the kind {str(kind)[:40]!r}"
        if kind is None:
            found = f"has no kind: {str(row)[:80]!r}"
        raise InputError(f"{where}, is no event that this atlaskit knows; it {found}.")
    try:
        # canonical_json refuses NaN, infinite numbers and lone surrogates.
        event: Event = adapter(kind).validate_json(canonical_json(row).encode())
    except ValueError as error:
        if isinstance(error, ValidationError):
            fault = ": ".join(filter(None, first_fault(error)))
        else:
            fault = reason(error)
        raise InputError(f"{where}: This {kind!r} is invalid: {fault}.") from error
    return event


@cache
def adapter(kind: str) -> TypeAdapter[Any]:
    """Return the validator of events of a kind; cached, since making it takes milliseconds."""
    return TypeAdapter(KINDS[kind])


def manifest_in(value: object) -> dict[str, str] | None:
    """Return a JSON value as a manifest, keys with their digests; None if it is not one."""
    if not isinstance(value, dict):
        return None
    for key, digest in value.items():
        if not is_key(key) or not isinstance(digest, str):
            return None
    return value


RUN = Kind("run", 1, lambda _, value: manifest_in(read_json(value)) is not None)
"""The manifest of a run: the cache entries that it needs. Its key is made from all events of the
trace. Question and settings would not suffice, since two runs may differ in subtitles or replies
alone."""


def save_manifest(trace: Trace, cache: Cache) -> None:
    """Store the manifest of a run: the entries that it read or wrote, without images.

    `ak.cache.export` reads from it which entries a replay needs. It is stored even if the cache
    already holds it, since `export(made_since_s=…)` looks for manifests stored since a moment.

    Args:
        trace: The trace of the run.
        cache: The cache of the run, from `Cache.watched`, which recorded the used keys.
    """
    cache.put_json(run_key(trace), _manifest(cache))


def save_timings_manifest(cache: Cache) -> None:
    """Store a manifest of measurements in a watched cache; see `save_manifest`."""
    manifest = _manifest(cache)
    cache.put_json(RUN.key(timings=sorted(manifest)), manifest)


def _manifest(cache: Cache) -> dict[str, str]:
    """Return the keys that a watched cache read or stored, with their digests.

    Images are left out, since they can be drawn again, and so are "asked" entries, which `export`
    makes from the trace.
    """
    manifest = dict[str, str]()
    for key, digest in (cache.touched or {}).items():
        if is_recorded(key) and not is_image(key) and kind_of(key) != ASKED.name:
            manifest[key] = digest
    return manifest


def run_key(trace: Trace) -> str:
    """Return the key of a run's manifest; raise InputError unless the trace has one start."""
    starts = trace.of(Start)
    if len(starts) != 1:
        raise InputError(
            f"The trace of a run must have exactly one start; this one has {len(starts)}."
        )
    return RUN.key(trace=trace.to_json())
