"""`Assembly`: makes cases of a dataset's rows, and notes the videos that have no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlaskit.benchmarks.case import Case
from atlaskit.benchmarks.datasets.files import SUBTITLE_SUFFIXES, VIDEO_SUFFIXES, LazyVideo, MediaFiles
from atlaskit.benchmarks.datasets.rows import question_from_row


@dataclass
class Assembly:
    """The cases of one dataset, while its rows are read."""

    videos: MediaFiles
    subtitles: MediaFiles | None
    """None if the videos get no subtitles."""
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
        return cls(MediaFiles(home, tuple(videos), VIDEO_SUFFIXES), lines)

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
        **fields: Any,
    ) -> None:
        """Add the case of one question, or note that its video is missing.

        The fact `subtitles` says whether the case has any. An id that an earlier question has gets
        a number, because a table finds a question by its id; the same questions always get the
        same ids, whichever videos are missing.

        Args:
            location: Where the row stands, for the error message.
            video: Names under which the video's file may lie; the first is the dataset's own.
            name: Name of the video in the case.
            text: The question.
            choices: Its choices, in the dataset's order.
            id: The dataset's id of the question.
            facts: The dataset's own columns.
            **fields: Further fields of `Question`.

        Raises:
            InputError: The row makes no valid question.
        """
        self._taken[id] = count = self._taken.get(id, 0) + 1
        own_id = id if count == 1 else f"{id}#{count}"
        question = question_from_row(location, text, choices, id=own_id, **fields)
        path = self.videos.find(*video)
        if path is None:
            self.missing[video[0]] = None
            return
        lines = None if self.subtitles is None else self.subtitles.find(name, *video)
        self.cases.append(Case(question, name, LazyVideo(path, lines), {**facts, "subtitles": lines is not None}))
