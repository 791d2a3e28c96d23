"""Charades-STA (Gao et al., 2017): the moment that a sentence describes, from a local folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.datasets.layout import Layout, Loading
from atlaskit.benchmarks.datasets.moments import Seconds, in_order, oddity, when_shown
from atlaskit.benchmarks.datasets.rows import Row

LINE = re.compile(r"\s*(\S+)\s+(\S+)\s+(\S+?)\s*##(.*)", re.DOTALL)


class CharadesRow(Row):
    """One sentence as published, read from a line "vid start end##sentence"."""

    identity = (("vid", "start", "end", "sentence"),)

    vid: Annotated[str, Field(min_length=1)]
    start: Seconds
    end: Seconds
    sentence: str


def parse_line(line: str) -> dict[str, str]:
    """Return the fields of a line; raise ValueError if it has another form."""
    match = LINE.fullmatch(line)
    if match is None:
        raise ValueError("each line must read “video start end##sentence”")
    return {"vid": match[1], "start": match[2], "end": match[3], "sentence": match[4].strip()}


def _row_files(home: Path, split: str) -> list[Path]:
    folders = ("", "sta_annotation", "annotations")
    paths = (home / folder / f"charades_sta_{split}.txt" for folder in folders)
    return [path for path in paths if path.is_file()][:1]


LAYOUT = Layout(
    "Charades-STA",
    CharadesRow,
    ("Charades_v1_480", "Charades_v1", "rgb_videos_30fps_480", "videos", ""),
    (),
    files=_row_files,
    splits={split: f"charades_sta_{split}.txt" for split in ("test", "train")},
    own=re.compile(r"charades_sta_\w+\.txt"),
    parse_line=parse_line,
)


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
    loading = Loading(LAYOUT, root, rows, subtitles, split)
    for number, (location, row) in enumerate(loading.rows()):
        published = (row.start, row.end)
        (span,) = in_order([published])
        loading.add(
            location,
            video=[row.vid],
            text=when_shown(row.sentence),
            id=f"{split}-{number}",
            facts={"sentence": row.sentence, "oddity": oddity([published])},
            kind="when",
            answer=span,
            positions_s=(span,),
        )
    return loading.benchmark()
