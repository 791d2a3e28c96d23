"""The settings card of a table: everything that moves a score, as JSON and as text.

Scores that are reported for one model on one benchmark differ by many points when others repeat
them. The cards of two tables show which settings differed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from atlaskit.benchmarks.case import Case
from atlaskit.caching.keys import canonical_json
from atlaskit.errors import first_fault, printable

HOME = Path(__file__).resolve().parents[1]
"""The folder of this package."""
PROMPTS = ("agents/prompts", "agents/verbalize.py", "agents/schemas.py", "methods")
"""Files and folders with the prompts of models that were not trained on a wording of their own."""
PACKAGES = ("atlaskit", "numpy", "pillow", "av", "pydantic", "vllm")
"""Packages whose versions a card records."""
TEXT = "columns of text"
"""The field of a card with the columns that hold text: a CSV does not tell "007" from 7."""
OF_THE_RUN = "run"
"""The field of a card whose values differ between two runs of one evaluation."""


class _Part(BaseModel):
    """The shard that a table is about, if it is about one; `tables.SHARD` explains the fields."""

    model_config = ConfigDict(strict=True)

    number: int = Field(ge=1)
    of: int = Field(ge=1)
    places: list[int]
    whole: dict[str, Any]


class _Run(BaseModel):
    """The field "run" of a card, as far as its values are read."""

    model_config = ConfigDict(strict=True)

    prompts: str


class _Card(BaseModel):
    """The fields of a card that are read. Further fields are allowed and kept."""

    model_config = ConfigDict(strict=True)

    method: str = ""
    models: list[str] = []
    parameters: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    settings_in_full: dict[str, Any] = Field(default={}, alias="settings in full")
    asked: dict[str, Any] = {}
    """The card of the questions: see `questions_card`."""
    asked_again: list[dict[str, Any]] = Field(default=[], alias="asked again")
    """The cards of the runs that asked failed questions again, in order, one for each method."""
    command: dict[str, Any] = {}
    """The options of `atlaskit evaluate`, which `--like` repeats."""
    shard: _Part | None = None
    run: _Run | None = None
    methods: dict[str, _Card] = {}
    """The card of each method, if a table has several."""
    columns_of_text: list[str] = Field(default=[], alias="columns of text")


def checked_card(card: Any) -> dict[str, Any]:
    """Check a card that was read from a file, which may come from elsewhere, and return it.

    Raises:
        ValueError: The value is no card of a table, or a field has a wrong type.
    """
    if not isinstance(card, dict) or TEXT not in card:
        raise ValueError("its card is none of a table")
    try:
        _Card.model_validate(card)
    except ValidationError as error:
        field, fault = first_fault(error)
        raise ValueError(f"its card's {printable(field, 80)}: {fault}") from error
    return card


def questions_card(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the card of some questions: how many they are, of how many videos, and a hash."""
    fingerprint = hashlib.sha256()
    videos = set[str]()
    with_subtitles = Counter[str]()
    for case in cases:
        question = case.question
        videos.add(case.video)
        with_subtitles[str(case.facts.get("subtitles", "the video's own"))] += 1
        row = [
            question.id,
            case.video,
            question.text,
            question.choices,
            question.answer,
            question.kind,
            case.facts,
        ]
        fingerprint.update(repr(row).encode())
    return {
        "dataset": getattr(cases, "name", ""),
        "questions": len(cases),
        "videos": len(videos),
        "with subtitles": with_subtitles,
        "sha256": fingerprint.hexdigest()[:16],
    }


def common_settings(settings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings that several runs share; one that differs becomes {"one of": […]}.

    The method, the model with its parameters, and the video are left out.
    """
    values: dict[str, dict[str, Any]] = {}
    for each in settings:
        for name, value in each.items():
            values.setdefault(name, {}).setdefault(canonical_json(value), value)
    for name in ("method", "model", "parameters", "video"):
        values.pop(name, None)
    common = dict[str, Any]()
    for name, found in values.items():
        in_order = [found[key] for key in sorted(found)]
        common[name] = in_order[0] if len(in_order) == 1 else {"one of": in_order}
    return common


def run_card(
    failures: Sequence[str], servers: Sequence[Mapping[str, str]], paid: Mapping[str, float]
) -> dict[str, Any]:
    """Return the card of a run: its date, machine, versions, servers, payments and failures.

    Args:
        failures: The failure of each question; "" for a question that did not fail.
        servers: The servers that answered, if model calls were made.
        paid: The amounts that all runs of the same evaluation have paid, by name.
    """
    reasons = Counter(filter(None, failures))
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": _versions(),
        "code": _digest(("",)),
        "prompts": _digest(PROMPTS),
        "commit": _commit(),
        "servers": list(servers),
        "paid in all runs": {name: round(amount, 6) for name, amount in paid.items() if amount},
        "failed": dict(reasons),
        "a failed question": "counts as wrong",
    }


@cache
def _versions() -> dict[str, str]:
    found = dict[str, str]()
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def _digest(parts: tuple[str, ...]) -> str:
    """Return a hash of some modules of the package, given by their files and folders."""
    whole = hashlib.sha256()
    for part in parts:
        files = [HOME / part]
        if files[0].is_dir():
            files = sorted(files[0].rglob("*.py"))
        for file in files:
            whole.update(str(file.relative_to(HOME)).encode() + file.read_bytes())
    return whole.hexdigest()[:12]


@cache
def _commit() -> str:
    """Return the commit of this checkout, with "+" if files were changed; "" outside of one."""
    try:
        if Path(_git("rev-parse", "--show-toplevel")) != HOME.parent:
            return ""
        commit = _git("rev-parse", "--short=12", "HEAD")
        if _git("status", "--porcelain", "--", "."):
            commit += "+"
    except (OSError, subprocess.SubprocessError):
        return ""
    return commit


def _git(*words: str) -> str:
    command = ["git", *words]
    return subprocess.run(
        command, cwd=HOME, capture_output=True, text=True, timeout=10, check=True
    ).stdout.strip()


def card_text(card: Mapping[str, Any]) -> str:
    """Return a card as text: one line for each of its settings."""
    return "\n".join(f"{name}: {value}" for name, value in _flat(card).items())


def differences(card: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the settings in which two cards differ: the name, and the value in each."""
    one = _flat(card)
    two = _flat(other)
    differing = []
    for name in {**one, **two}:
        if name != f"{OF_THE_RUN} date" and one.get(name) != two.get(name):
            differing.append((name, one.get(name), two.get(name)))
    return differing


def _flat(card: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of a card; the name of a nested value begins with the outer names."""
    flat = dict[str, Any]()
    for name, value in card.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{prefix}{name} ")
        elif value not in (None, "", {}, []):
            flat[f"{prefix}{name}"] = value
    return flat
