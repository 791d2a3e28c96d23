"""Charades-STA (Gao et al., 2017): the moment that a sentence describes, from a local folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.assembly import Assembly
from atlaskit.benchmarks.datasets.files import MediaFiles
from atlaskit.benchmarks.datasets.moments import Seconds, in_order, oddity, when_shown
from atlaskit.benchmarks.datasets.rows import Row, read_rows
from atlaskit.errors import InputError

NAME = "Charades-STA"
FOLDERS = ("Charades_v1_480", "Charades_v1", "rgb_videos_30fps_480", "videos", "")
SPLITS = ("test", "train")
ANNOTATIONS = ("", "sta_annotation", "annotations")
LINE = re.compile(r"\s*(\S+)\s+(\S+)\s+(\S+?)\s*##(.*)", re.DOTALL)


class CharadesRow(Row):
    """One sentence as published, read from a line "vid start end##sentence"."""

    vid: Annotated[str, Field(min_length=1)]
    start: Seconds
    end: Seconds
    sentence: str

    @property
    def key(self) -> str:
        """What identifies the sentence: it has no id."""
        return f"{self.vid} {self.start} {self.end} {self.sentence}"


def charades(
    root: str | Path,
    *,
    split: Literal["test", "train"] = "test",
    subtitles: bool = True,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> Benchmark:
    """Load Charades-STA from a folder.

    A question asks for the one interval that a sentence describes; its id is the split and the
    number of the sentence, from 0. The facts of a case are `sentence`, `oddity` (what is odd about
    the interval: reversed, empty, before the start) and `subtitles` (False: there are none). The
    ends of a reversed interval are put in order; no question is left out. Videos without a file are
    listed in `missing` and reported in a warning.

    Args:
        root: Folder with `charades_sta_test.txt` (or train) and `Charades_v1_480/` or `videos/`.
        split: "test" or "train".
        subtitles: Accepted as for every dataset; this one has no subtitles.
        rows: Rows with the fields `vid`, `start`, `end` (seconds) and `sentence`, used instead of
            the folder's file.

    Raises:
        InputError: The folder has another layout, or a line is invalid (the message names its file
            and number).

    Examples:
        >>> bench = ak.benchmarks.charades("data/charades")
        >>> bench.cases[0].question.text
        'When does the video show this: “person turn a light on.”'
    """
    home = Path(root)
    if split not in SPLITS:
        raise InputError(f'split must be "test" or "train"; got {split!r:.40}.')
    assembly = Assembly(MediaFiles(home, FOLDERS), numbers_equal_ids=False)
    source = [_row_file(home, split)] if rows is None else rows
    found = read_rows(source, CharadesRow, dataset=NAME, parse_line=parse_line)
    for number, (location, row) in enumerate(found):
        published = (row.start, row.end)
        (span,) = in_order([published])
        assembly.add(
            location,
            video=[row.vid],
            name=row.vid,
            text=when_shown(row.sentence),
            choices=(),
            id=f"{split}-{number}",
            facts={"sentence": row.sentence, "oddity": oddity([published])},
            kind="when",
            answer=span,
            positions_s=(span,),
        )
    return assembly.benchmark(NAME)


def parse_line(line: str) -> dict[str, str]:
    """Return the fields of a line; raise ValueError if it has another form."""
    match = LINE.fullmatch(line)
    if match is None:
        raise ValueError("each line must read “video start end##sentence”")
    return {"vid": match[1], "start": match[2], "end": match[3], "sentence": match[4].strip()}


def _row_file(home: Path, split: str) -> Path:
    found = _find_rows(home, split)
    if found is None:
        raise InputError(f"{home} holds no charades_sta_{split}.txt; pass the folder of {NAME}.")
    return found


def _find_rows(home: Path, split: str) -> Path | None:
    paths = (home / folder / f"charades_sta_{split}.txt" for folder in ANNOTATIONS)
    return next((path for path in paths if path.is_file()), None)


def is_charades(home: Path) -> bool:
    """Return whether a folder holds a file of Charades-STA's sentences."""
    return any(_find_rows(home, split) is not None for split in SPLITS)
