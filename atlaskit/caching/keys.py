"""`Kind`: a kind of entry, and the keys of its entries, which are hashes of their recipes.

A key is the kind, the version of the code that makes the entry, and the hash of the recipe:
`view:2:…`. The module that makes the entries declares their kind, lists the recipe where it asks
for a key, and says what it leaves out. No recipe holds the path of a file, because only its content
matters. No recipe holds the reader or the versions of PyAV, FFmpeg and Pillow, because the tests
require all of them to give the same frame for a time. Therefore other machines can use a cache, or
a recording of a run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from atlaskit import limits
from atlaskit.guests import ENTRIES, load, registered

KEY = re.compile(r"([a-z]+):([1-9][0-9]{0,8}):([0-9a-f]{64})")
KINDS: dict[str, Kind] = {}
"""The kinds that are declared so far, by name; `kinds` returns all of them."""


@dataclass(frozen=True)
class Kind:
    """A kind of entry. Declaring one adds it to KINDS."""

    name: str
    version: int
    """Raise it when the code makes different entries, so that old entries are no longer used."""
    check: Callable[[str, bytes], bool] | None = None
    """Returns whether bytes from elsewhere can be the entry of a key, or raises ValueError. None if
    recordings leave this kind out, since its entries can be made again or describe this machine."""
    is_image: bool = False
    """Whether an entry is an image, which can be drawn again from the video without model calls."""

    def __post_init__(self) -> None:
        assert KINDS.setdefault(self.name, self) is self, f"{self.name} is declared twice"

    def key(self, **recipe: Any) -> str:
        """Return the key of the entry that is made from a recipe: values that JSON can hold."""
        return recipe_key(self.name, self.version, **recipe)


def canonical_json(value: Any) -> str:
    """Return a value as JSON in one canonical form: sorted names, no blanks, no escapes, no NaN.

    Raises:
        ValueError: The value holds NaN or an infinity.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def read_json(text: str | bytes) -> Any:
    """Return the value of untrusted JSON, which may have been written to exhaust the memory.

    Raises:
        ValueError: It is not JSON in UTF-8, is nested too deeply, or holds too many values.
    """
    if isinstance(text, bytes):
        text = text.decode()
    check_parts(text)
    try:
        return json.loads(text, parse_constant=int)  # int raises ValueError for NaN and Infinity
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def check_parts(text: str) -> None:
    """Raise ValueError if JSON has more lists and objects than limits.PARTS."""
    if text.count("[") + text.count("{") > limits.PARTS:
        raise ValueError(f"it has more than {limits.PARTS:,} lists and objects")


def recipe_key(kind: str, version: int, **parts: Any) -> str:
    """Return the key of an entry of any kind and version."""
    recipe = canonical_json({"kind": kind, "version": version, **parts})
    return f"{kind}:{version}:{hashlib.sha256(recipe.encode()).hexdigest()}"


def microseconds(time_s: float) -> int:
    """Return a time in whole microseconds, so that rounding errors of sums do not change a key."""
    return round(time_s * 1_000_000)


def is_key(key: object) -> bool:
    """Return whether a value has the form of a key."""
    return isinstance(key, str) and KEY.fullmatch(key) is not None


def kind_of(key: str) -> str:
    """Return the kind of entry that a key names."""
    return key.partition(":")[0]


@cache
def kinds() -> Mapping[str, Kind]:
    """Import the modules that declare kinds of entries, and return every kind by its name.

    Modules of the kit are imported when they are used, so some kinds may not be declared yet.
    """
    for name in registered(ENTRIES):
        load(ENTRIES, name)
    return KINDS


def known_kind(key: str) -> Kind | None:
    """Return the kind of a key's entry; None if nothing declares it."""
    return KINDS.get(kind_of(key)) or kinds().get(kind_of(key))


def is_image(key: str) -> bool:
    """Return whether the entry of a key is an image, which can be drawn again from the video."""
    kind = known_kind(key)
    return kind is not None and kind.is_image


def is_recorded(key: str) -> bool:
    """Return whether a recording may hold the entry of a key."""
    kind = known_kind(key)
    return kind is not None and kind.check is not None


def is_outdated(key: str) -> bool:
    """Return whether an older version of atlaskit made the entry, which this one never reads."""
    kind = known_kind(key)
    _, _, rest = key.partition(":")
    version = rest.partition(":")[0]
    return kind is not None and version.isdecimal() and int(version) < kind.version


def is_valid(key: str, value: bytes) -> bool:
    """Return whether bytes from elsewhere can be the entry of a key. Nothing in them is run."""
    kind = known_kind(key)
    if kind is None or kind.check is None:
        return False
    try:
        if not kind.is_image:  # this refuses infinite numbers and lone surrogates
            canonical_json(read_json(value)).encode()
        return kind.check(key, value)
    except (ValueError, RecursionError):
        return False


def is_json(form: type | tuple[type, ...]) -> Callable[[str, bytes], bool]:
    """Return a check for entries that are JSON of some type; their readers check more."""
    return lambda _, value: isinstance(read_json(value), form)
