"""`Assembly`: makes cases of a dataset's rows, and notes the videos that have no file."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.case import Case
from atlaskit.benchmarks.datasets.files import (
    SUBTITLE_SUFFIXES,
    VIDEO_SUFFIXES,
    LazyVideo,
    MediaFiles,
    packed_in,
)
from atlaskit.benchmarks.datasets.rows import leave_out, question_from_row
from atlaskit.errors import InputError, printable

MOST_NAMED = 3
"""Number of missing videos that the warning names."""


@dataclass
class Assembly:
    """The cases of one dataset, while its rows are read."""

    videos: MediaFiles
    subtitles: MediaFiles | None = None
    """None if the videos get no subtitles, or the loader finds them by itself."""
    numbers_equal_ids: bool = True
    """Whether an id that an earlier question has gets a number, so that a table finds each question
    by its id. False for datasets whose ids earlier versions left as they are published."""
    wants_lines: bool = False
    """Whether the caller wants subtitles: archives that may hold them are then worth a warning."""
    cases: list[Case] = field(default_factory=list)
    missing: dict[str, None] = field(default_factory=dict)
    """Videos that have questions but no file, as the dataset names them."""
    _taken: dict[str, int] = field(default_factory=dict)
    """How often each id was given so far."""

    @classmethod
    def inside(cls, home: Path, videos: Sequence[str], subtitles: Sequence[str], *, has_subtitles: bool) -> Assembly:
        """Return an empty assembly for a dataset's folder.

        Args:
            home: The folder.
            videos: Folders inside it that may hold the videos.
            subtitles: Folders inside it that may hold the subtitles.
            has_subtitles: Whether the videos get their subtitles.
        """
        lines = MediaFiles(home, tuple(subtitles), SUBTITLE_SUFFIXES) if has_subtitles else None
        return cls(MediaFiles(home, tuple(videos), VIDEO_SUFFIXES), lines, wants_lines=has_subtitles)

    def add(
        self,
        location: str,
        *,
        video: Sequence[str],
        name: str,
        text: str,
        choices: Sequence[str],
        id: str,
        facts: Mapping[str, Any],
        videos: MediaFiles | None = None,
        lines: Path | None = None,
        starts_at_s: float = 0.0,
        **fields: Any,
    ) -> None:
        """Add the case of one question, or note that its video is missing.

        The fact `subtitles` says whether the case has any. Which number an id gets does not depend
        on which videos are missing.

        Args:
            location: Where the row stands, for the error message.
            video: Names under which the video's file may lie; the first is the dataset's own.
            name: Name of the video in the case.
            text: The question.
            choices: Its choices, in the dataset's order.
            id: The dataset's id of the question.
            facts: The dataset's own columns.
            videos: Where this video may lie, if not where all of the dataset do.
            lines: Its subtitle file, where the loader finds it by itself.
            starts_at_s: Second of the subtitle file at which the video starts.
            **fields: Further fields of `Question`.

        Raises:
            InputError: The row makes no valid question, and its video is not missing.
        """
        self._taken[id] = count = self._taken.get(id, 0) + 1
        path = (videos or self.videos).find(*video)
        if path is None:
            self.missing[video[0]] = None
            return
        own_id = f"{id}#{count}" if count > 1 and self.numbers_equal_ids else id
        try:
            question = question_from_row(location, text, choices, id=own_id, **fields)
        except InputError as error:
            leave_out(error)
            return
        if self.subtitles is not None:
            lines = self.subtitles.find(name, *video)
        opener = LazyVideo(path, lines, starts_at_s)
        self.cases.append(Case(question, name, opener, {**facts, "subtitles": lines is not None}))

    def benchmark(self, name: str) -> Benchmark:
        """Return the benchmark; warn the loader's caller of missing videos and packed archives."""
        if self.missing:
            named = ", ".join(printable(video, 60) for video in list(self.missing)[:MOST_NAMED])
            more = ", …" if len(self.missing) > MOST_NAMED else ""
            warnings.warn(f"{name}: {len(self.missing)} videos are missing: {named}{more}", stacklevel=3)
        lacks_lines = self.wants_lines and not any(case.facts["subtitles"] for case in self.cases)
        home, packed = self.videos.home, packed_in(self.videos.home) if self.missing or lacks_lines else {}
        for archive, command in packed.items():
            if self.missing or "subtitle" in archive:
                warnings.warn(f"{name}: {home / archive} is still packed; this unpacks it: {command}", stacklevel=3)
        return Benchmark(name, tuple(self.cases), tuple(self.missing), name)
