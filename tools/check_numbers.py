"""Find each measured number of the pages in a committed table: `python tools/check_numbers.py`.

A measured number is one with a decimal point, or with %, K or M, that is not in code, is no claim
of the paper and no setting. It must occur, rounded as on the page, in one of

* the tables of the notebook that its section names (`ONLY=05`: docs/results/05_*.csv),
* the section of docs/measurements.md that it links to, which `make bench` or a named command fills,
* docs/measured.csv, whose rows have command, seeds, n and interval.

Three pages are not read: docs/measurements.md, which holds the output of `make bench` and of
commands; docs/example.md, which `tools/example.py` fills in and `tests/project/test_pages.py`
compares with a run; and the decision records, whose numbers are those of the day of the decision.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_READ = ("docs/measurements.md", "docs/example.md", "docs/decisions")
PAGES = [
    *sorted(ROOT.glob("*.md")),
    ROOT / "nano/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
MEASURED = ROOT / "docs/measured.csv"
RESULTS = ROOT / "docs/results"
BENCH = ROOT / "docs/measurements.md"
COLUMNS = {"what", "value", "n", "seeds", "command"}
"""The columns that each row of docs/measured.csv fills; rows of means fill `low` and `high` too."""
UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "%": 0.01}
NUMBER = re.compile(
    r"(?<![\w.,–§-])([−-]?\d[\d,]*(?:\.\d+)?)"
    r"(?:(?:–| to | and )([−-]?\d[\d,]*(?:\.\d+)?))?"
    r"\s?([KM%](?!\w))?(?!\.?\d)"
)
"""A number or a pair of them, and their unit."""
LEFT_OUT = re.compile(
    r"```.*?```|<!-- plan.*?<!-- /plan -->|`[^`]*`|\]\([^)]*\)|!\[[^\]]*\]", re.DOTALL
)
"""Code, tables that `tools/serving_plan.py` fills, addresses, and descriptions of pictures."""
OF_THE_PAPER = re.compile(r"\*\*(?:Claims?|Paper)\*\*")
"""Marks the claims of the paper at the end of a paragraph."""
SETTING = re.compile(
    r"(?:miss(?:es)?|mistakes?|rate of|chance(?: is)?|K =|cells? of|below|than|goal"
    r"|\b\w*[A-Z]\w*)\s*$"
)
"""Words right before a number that is set, published or a version, and not measured."""
OTHER = re.compile(
    r"\s*(?:million|MB|GB|s\b|minutes|inches|at least|points"
    r"|,? (?:resampled|clustered|a bootstrap))"
)
"""Words right after a number that is a size, a duration, a bound or a level of confidence."""


@dataclass(frozen=True)
class Number:
    """A number of a page."""

    text: str
    value: float
    """The value without unit: 0.05 for "5 %"."""
    half: float
    """Half of a unit in the last digit: the most by which rounding changes a value."""

    def is_in(self, known: list[float]) -> bool:
        """Return whether one of the known values rounds to this number."""
        return any(abs(each - self.value) <= self.half * 1.0001 for each in known)


def numbers_in(text: str) -> Iterator[Number]:
    """Yield the measured numbers of a text without code."""
    for found in NUMBER.finditer(text):
        before = text[max(0, found.start() - 24) : found.start()]
        unit = found[3] or ""
        if not unit and found[2] and re.search(r"%\s*\($", before):  # 5 % (4 to 6)
            unit = "%"
        if SETTING.search(before) or OTHER.match(text, found.end()):
            continue
        for word in filter(None, found.group(1, 2)):
            if not unit and "." not in word:
                continue
            digits = len(word.partition(".")[2])
            value = float(word.replace(",", "").replace("−", "-"))
            yield Number(
                f"{word} {unit}".strip(), value * UNITS[unit], 0.5 * 10**-digits * UNITS[unit]
            )


def sections_of(page: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the heading of each section, its whole text, and its text without code and claims."""
    for section in re.split(r"^(?=#{2,3} )", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        parts = LEFT_OUT.sub(" ", section).split("\n\n")
        own = [OF_THE_PAPER.split(part)[0] for part in parts]
        yield section.partition("\n")[0].strip("# "), section, "\n\n".join(own)


def known_to(section: str, page: str) -> list[float]:
    """Return the values that a section may quote.

    They are those of docs/measured.csv, of the tables that the section, or else its page, names,
    and of the sections of docs/measurements.md to which it links.
    """
    known = list[float]()
    for row in measured():
        known += numbers_of(row[name] for name in ("value", "low", "high"))
    for number in re.findall(r"ONLY=(\d\d)", section) or re.findall(r"ONLY=(\d\d)", page):
        for path in sorted(RESULTS.glob(f"{number}_*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                known += numbers_of(chain.from_iterable(csv.reader(file)))
    for anchor in re.findall(r"measurements\.md#([\w-]+)", section):
        known += [number.value for number in numbers_in(LEFT_OUT.sub(" ", bench()[anchor]))]
    return known


@cache
def bench() -> dict[str, str]:
    """Return the sections of docs/measurements.md by the anchors of their headings."""
    return {
        heading.lower().replace(",", "").replace(" ", "-"): text
        for heading, text, _ in sections_of(BENCH)
    }


@cache
def measured() -> list[dict[str, str]]:
    """Return the rows of docs/measured.csv."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def numbers_of(cells: Iterable[str]) -> Iterator[float]:
    """Yield the number in each cell of a table that holds one."""
    for cell in cells:
        with suppress(ValueError):
            yield float(cell)


def faults() -> Iterator[str]:
    """Yield a sentence for each number that is in no table, and for each row with empty columns."""
    for row in measured():
        lacking = sorted(name for name in COLUMNS if not row.get(name))
        if lacking:
            yield f"docs/measured.csv: {row['what']} has no {', '.join(lacking)}."
    for path in PAGES:
        name = path.relative_to(ROOT).as_posix()
        page = path.read_text(encoding="utf-8")
        if name.startswith(NOT_READ):
            continue
        for heading, section, text in sections_of(path):
            known = known_to(section, page)
            for number in numbers_in(text):
                if not number.is_in(known):
                    yield f"{name}, {heading}: {number.text} is in no table that the section names."


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "Each measured number is in a committed table.")
    sys.exit(bool(found))
