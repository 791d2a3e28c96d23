"""The file format of recordings, and the checks on reading.

A recording is a ZIP file. Its first member is a header with the version. All small entries of one
kind form one member, `reply/4.jsonl.xz`: JSON Lines, compressed together, because replies resemble
each other and a compressed reply alone takes ten times the space. An image is a member of its own.
Recordings of version 1, which had one member for each entry, can be read.

A file may come from an untrusted source: everything is checked, the memory that reading takes is
limited, and nothing in the file can run code. What cannot be checked is whether the model really
gave the replies; for that, trust whoever made the file.
"""

from __future__ import annotations

import lzma
import re
import secrets
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from atlaskit.caching.keys import KINDS, canonical_json, is_image, is_valid, kind_of, version_of
from atlaskit.errors import CacheError, reason

RECORDING_VERSION = 2
OLD_VERSION = 1
HEADER = "atlaskit.json"
"""The first member; it holds the version."""
MEMBER = re.compile(r"([a-z]+)/([1-9][0-9]{0,8})/([0-9a-f]{64})\.(json|jpg)")
"""Name of the member of one entry: of an image, and in version 1 of every entry."""
PACK = re.compile(r"([a-z]+)/([1-9][0-9]{0,8})\.jsonl\.xz")
"""Name of the member with all entries of one kind."""
LINE = re.compile(rb'\{"([0-9a-f]{64})":(.+)\}', re.DOTALL)
"""A line of a pack: an object with the hash of the key as its one name, and the entry as its value.
The entry's bytes are kept exactly."""
MAX_BYTES = {"jpg": 64 << 20, "json": 16 << 20}
"""The largest entry by suffix; no image, no reply and no subtitles of ten hours are larger."""
MAX_COMPRESSION = 100
"""The largest ratio of unpacked to packed bytes of a recording."""
MAX_DECODER_BYTES = 64 << 20
"""The memory that decompressing a pack may take; those that `write` makes need 9 MiB."""
READ_BYTES = 1 << 16
"""Bytes of a pack that are read and unpacked at a time."""
MEMBER_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every member, so that the same entries give the same file."""


def write(path: str | Path, entries: Iterable[tuple[str, bytes]]) -> None:
    """Write entries to a recording; a file appears only once it is complete.

    Args:
        path: The file; an existing one is replaced.
        entries: Keys and bytes, each key once.

    Raises:
        CacheError: If the file cannot be written, or an entry is not one line of text.
    """
    draft = Path(path).parent / f".recording-{secrets.token_hex(8)}.part"
    packs = dict[str, list[tuple[bytes, str]]]()
    try:
        with zipfile.ZipFile(draft, "x") as file:
            _add(file, HEADER, _header(RECORDING_VERSION))
            for key, value in entries:
                if is_image(key):
                    _add(file, _member_name(key), value)
                else:
                    packs.setdefault(_pack_name(key), []).append((value, key))
            for name, pack in sorted(packs.items()):
                _add(file, name, _packed(pack))
        draft.replace(path)
    except OSError as error:
        raise CacheError(f"{path} cannot be written: {reason(error)}.") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


@contextmanager
def opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Open a recording; raise CacheError if it is not a ZIP file or reading it fails."""
    unreadable = (OSError, ValueError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
    try:
        with zipfile.ZipFile(path) as file:
            yield file
    except (*unreadable, lzma.LZMAError) as error:
        raise CacheError(f"{path} cannot be read as a recording: {reason(error)}.") from error


def checked_entries(file: zipfile.ZipFile, path: str | Path) -> Iterator[tuple[str, bytes]]:
    """Yield the key and the bytes of each entry of a recording.

    Raises:
        CacheError: While iterating, if the file is not a recording that this version reads, or an
            entry is invalid.
    """
    version = _checked_version(file, path)
    seen = set[str]()
    for key, value in _entries(file, path, version):
        if key in seen:
            raise CacheError(f"{path} holds an entry twice: it is damaged, or was tampered with.")
        seen.add(key)
        if not is_valid(key, value):
            raise CacheError(f"{path} holds {key[:80]!r}, whose content is not a valid {kind_of(key)}.")
        yield key, value


def _member_name(key: str) -> str:
    """Return the name of the member that holds one entry."""
    return f"{key.replace(':', '/')}.{'jpg' if is_image(key) else 'json'}"


def _pack_name(key: str) -> str:
    return f"{kind_of(key)}/{version_of(key)}.jsonl.xz"


def _packed(entries: list[tuple[bytes, str]]) -> bytes:
    """Return entries as compressed JSON Lines, sorted by content: similar ones compress best."""
    if damaged := [key for value, key in entries if b"\n" in value or not value]:
        raise CacheError(f"The cache entry {damaged[0][:80]!r} is not one of atlaskit, so it cannot be packed.")
    lines = [b'{"%s":%s}\n' % (key.rpartition(":")[2].encode(), value) for value, key in sorted(entries)]
    return lzma.compress(b"".join(lines))


def _header(version: int) -> bytes:
    return canonical_json({"atlaskit_recording": version}).encode()


def _add(file: zipfile.ZipFile, name: str, value: bytes) -> None:
    member = zipfile.ZipInfo(name, MEMBER_TIME)
    member.external_attr = 0o600 << 16
    file.writestr(member, value, zipfile.ZIP_STORED)


def _checked_version(file: zipfile.ZipFile, path: str | Path) -> int:
    """Return the version of a recording; raise CacheError if the file as a whole is not one."""
    names = file.namelist()
    if names[:1] != [HEADER]:
        raise CacheError(f"{path} is not a recording of atlaskit: it does not begin with {HEADER}.")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in file.infolist()):
        raise CacheError(f"{path} was not made by atlaskit: it uses another compression than recordings do.")
    header = _read(file, HEADER, path)
    versions = [version for version in (OLD_VERSION, RECORDING_VERSION) if header == _header(version)]
    if not versions:
        raise CacheError(
            f"{path} is a recording of another version ({header[:80]!r}); this atlaskit reads versions "
            f"{OLD_VERSION} and {RECORDING_VERSION}."
        )
    if len(set(names)) < len(names):
        raise CacheError(f"{path} holds an entry twice: it is damaged, or was tampered with.")
    unpacked, packed = sum(info.file_size for info in file.infolist()), Path(path).stat().st_size
    if unpacked > MAX_COMPRESSION * packed:
        raise CacheError(f"{path} would unpack from {packed:,} to {unpacked:,} bytes, which no recording does.")
    return versions[0]


def _entries(file: zipfile.ZipFile, path: str | Path, version: int) -> Iterator[tuple[str, bytes]]:
    """Yield the entries of all members, their content unchecked."""
    left_bytes = max(MAX_BYTES["json"], MAX_COMPRESSION * Path(path).stat().st_size)
    for name in file.namelist()[1:]:
        pack = PACK.fullmatch(name)
        if version == OLD_VERSION or not pack:
            yield _key(name, path, version), _read(file, name, path)
            continue
        for line in _lines(file, name, path):
            left_bytes -= len(line)
            found = LINE.fullmatch(line)
            if not found or is_image(pack[1]) or left_bytes < 0:
                why = "unpacks to more than any recording does" if left_bytes < 0 else "has a line that is no entry"
                raise CacheError(f"{path} holds {name[:120]!r}, which {why}.")
            yield _current(f"{pack[1]}:{pack[2]}:{found[1].decode()}", name, path), found[2]


def _lines(file: zipfile.ZipFile, name: str, path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a pack; a line can be no longer than an entry."""
    decoder, begun = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_DECODER_BYTES), b""
    with file.open(name) as member:
        while not decoder.eof:
            packed = member.read(READ_BYTES) if decoder.needs_input else b""
            if decoder.needs_input and not packed:
                raise CacheError(f"{path} holds {name[:120]!r}, which ends too early: the file is damaged.")
            *lines, begun = (begun + decoder.decompress(packed, READ_BYTES)).split(b"\n")
            yield from lines
            if len(begun) > MAX_BYTES["json"]:
                raise CacheError(f"{path} holds {name[:120]!r}, with an entry larger than {MAX_BYTES['json']:,} bytes.")
        if begun or decoder.unused_data or member.read(1):
            raise CacheError(f"{path} holds {name[:120]!r}, which goes on after its end: the file is damaged.")


def _key(name: str, path: str | Path, version: int) -> str:
    """Return the key of an entry's own member; raise CacheError if it has no valid one."""
    found = MEMBER.fullmatch(name)
    key = ":".join(found.groups()[:3]) if found else ""
    if not found or _member_name(key) != name or (version > OLD_VERSION and found[4] == "json"):
        raise CacheError(f"{path} holds {name[:120]!r}, which is not an entry of a recording.")
    return _current(key, name, path)


def _current(key: str, name: str, path: str | Path) -> str:
    """Return the key; raise CacheError if this version of atlaskit makes no such entries."""
    kind = KINDS.get(kind_of(key))
    if kind is None:
        raise CacheError(f"{path} holds {name[:120]!r}, which is not an entry of a recording.")
    if kind.version != version_of(key):
        raise CacheError(
            f"{path} was made by another version of atlaskit ({name[:40]}…; this one makes version "
            f"{kind.version}), so this one cannot replay it."
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
