"""The ZIP format of recordings, and the checks on reading.

A recording has one member for each entry, `kind/version/hash.json` or `.jpg`, so that any program
can read it. A file may come from an untrusted source: everything is checked, and nothing in it can
run code. What cannot be checked is whether the model really gave the replies; for that, trust
whoever made the file.
"""

from __future__ import annotations

import io
import json
import re
import secrets
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from PIL import Image

from atlaskit.caching.keys import IMAGES, VERSIONS, canonical_json, kind_of, lines_key, video_key
from atlaskit.errors import CacheError, reason
from atlaskit.models.cached import read_failure_entry, read_reply_entry
from atlaskit.models.transcription import read_transcript_entry
from atlaskit.video.fingerprint import playlist_fingerprint
from atlaskit.video.records import parse_facts, parse_lines

RECORDING_VERSION = 1
HEADER = "atlaskit.json"
"""The first member; it holds the version."""
MEMBER = re.compile(r"([a-z]+)/([1-9][0-9]{0,8})/([0-9a-f]{64})\.(json|jpg)")
MAX_BYTES = {"jpg": 64 << 20, "json": 16 << 20}
"""The largest entry by suffix; no image, no reply and no subtitles of ten hours are larger."""
MAX_COMPRESSION = 100
"""The largest ratio of unpacked to packed bytes of a recording."""
MAX_PIXELS = 2**28
MEMBER_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every member, so that the same entries give the same file."""


def write(path: str | Path, entries: Iterable[tuple[str, bytes]]) -> None:
    """Write entries to a recording, in the given order; a file appears only once it is complete.

    Args:
        path: The file; an existing one is replaced.
        entries: Keys and bytes.

    Raises:
        CacheError: If the file cannot be written.
    """
    draft = Path(path).parent / f".recording-{secrets.token_hex(8)}.part"
    try:
        with zipfile.ZipFile(draft, "x") as file:
            _add(file, HEADER, _header())
            for key, value in entries:
                _add(file, member_name(key), value)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise CacheError(f"{path} cannot be written: {reason(error)}.") from error


@contextmanager
def opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Open a recording; raise CacheError if it is not a ZIP file or reading it fails."""
    try:
        with zipfile.ZipFile(path) as file:
            yield file
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise CacheError(f"{path} cannot be read as a recording: {reason(error)}.") from error


def checked_entries(file: zipfile.ZipFile, path: str | Path) -> Iterator[tuple[str, bytes]]:
    """Yield the key and the bytes of each entry of a recording.

    Raises:
        CacheError: While iterating, if the file is not a recording of this version, or an entry is
            invalid.
    """
    _check_file(file, path)
    for name in file.namelist()[1:]:
        key = _key(name, path)
        value = _read(file, name, path)
        if not _is_valid(key, value):
            raise CacheError(f"{path} holds {name[:120]!r}, whose content is not a valid {kind_of(key)}.")
        yield key, value


def is_key(key: object) -> bool:
    """Return whether a value is a key that a recording can hold."""
    return isinstance(key, str) and MEMBER.fullmatch(member_name(key)) is not None


def member_name(key: str) -> str:
    """Return the name of an entry's member."""
    return f"{key.replace(':', '/')}.{'jpg' if kind_of(key) in IMAGES else 'json'}"


def manifest_in(value: object) -> dict[str, str] | None:
    """Return a run's manifest, its keys with their digests; None if a JSON value is not one."""
    if not isinstance(value, dict) or not all(is_key(key) and isinstance(digest, str) for key, digest in value.items()):
        return None
    return value


def _header() -> bytes:
    return canonical_json({"atlaskit_recording": RECORDING_VERSION}).encode()


def _add(file: zipfile.ZipFile, name: str, value: bytes) -> None:
    compression = zipfile.ZIP_STORED if name.endswith(".jpg") else zipfile.ZIP_DEFLATED
    member = zipfile.ZipInfo(name, MEMBER_TIME)
    member.external_attr = 0o600 << 16
    file.writestr(member, value, compression)


def _check_file(file: zipfile.ZipFile, path: str | Path) -> None:
    """Raise CacheError unless the file as a whole is a recording of this version."""
    names = file.namelist()
    if names[:1] != [HEADER]:
        raise CacheError(f"{path} is not a recording of atlaskit: it does not begin with {HEADER}.")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in file.infolist()):
        raise CacheError(f"{path} was not made by atlaskit: it uses another compression than recordings do.")
    header = _read(file, HEADER, path)
    if header != _header():
        raise CacheError(f"{path} is a recording of another version ({header[:80]!r}); this is {RECORDING_VERSION}.")
    if len(set(names)) < len(names):
        raise CacheError(f"{path} holds an entry twice: it is damaged, or was tampered with.")
    unpacked, packed = sum(info.file_size for info in file.infolist()), Path(path).stat().st_size
    if unpacked > MAX_COMPRESSION * packed:
        raise CacheError(f"{path} would unpack from {packed:,} to {unpacked:,} bytes, which no recording does.")


def _key(name: str, path: str | Path) -> str:
    """Return the key of a member; raise CacheError for an unknown kind or another version."""
    found = MEMBER.fullmatch(name)
    key = ":".join(found.groups()[:3]) if found else ""
    if not found or found[1] not in VERSIONS or member_name(key) != name:
        raise CacheError(f"{path} holds {name[:120]!r}, which is not an entry of a recording.")
    if int(found[2]) != VERSIONS[found[1]]:
        raise CacheError(
            f"{path} was made by another version of atlaskit ({name[:40]}…; this one makes version "
            f"{VERSIONS[found[1]]}), so this one cannot replay it."
        )
    return key


def _read(file: zipfile.ZipFile, name: str, path: str | Path) -> bytes:
    """Read a member, which verifies its checksum; raise CacheError if it is too large."""
    limit = MAX_BYTES[name.rpartition(".")[2]]
    with file.open(name) as member:
        value = member.read(limit + 1)
    if len(value) > limit:
        raise CacheError(f"{path} holds {name[:120]!r}, which is larger than {limit:,} bytes.")
    return value


def _is_valid(key: str, value: bytes) -> bool:
    """Return whether bytes can be the entry of a key."""
    kind = kind_of(key)
    try:
        match kind:
            case "reply":
                read_reply_entry(value)
                return True
            case "tile" | "view" | "sheet" | "still":
                return (kind == "tile" and not value) or _is_image(value)
            case "failure":
                return read_failure_entry(value) is not None
            case "transcript":
                read_transcript_entry(value)
                return True
            case "video":
                facts = parse_facts(value)
                return facts is not None and (not facts.parts or key == video_key(playlist_fingerprint(facts.parts)))
            case "lines":
                lines = parse_lines(value)
                return lines is not None and key == lines_key(lines.fingerprint)
            case "run":
                return manifest_in(json.loads(value)) is not None
            case "asked" | "original":
                return re.fullmatch(rb'"[0-9a-f]{64}"', value) is not None
            case "answered":
                return isinstance(json.loads(value), str)
            case "readable":
                return value in (b"0", b"1")
            case "moments":
                return isinstance(json.loads(value), list)
            case _:  # "served", "habits" and "timing" describe the machine that made them
                return False
    except (ValueError, RecursionError):
        return False


def _is_image(jpeg: bytes) -> bool:
    """Return whether bytes are a complete JPEG of at most MAX_PIXELS."""
    try:
        with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as image:
            if image.width * image.height > MAX_PIXELS:
                return False
            image.load()
        return True
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False
