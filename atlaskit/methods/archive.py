"""`Archive`: the records of a video's clips as a whole: captions in order, subjects by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from atlaskit.agents.index import Index, words
from atlaskit.environment.grid import clock, listed
from atlaskit.methods.clips import Clip, in_order

MOST_SUBJECTS = 100
"""Subjects that are listed, those of most clips."""
MOST_LOOKS = 8
"""Appearances of a subject that are listed, those of most clips."""


@dataclass(frozen=True)
class Archive:
    """The clips of a video that were described, in order of time."""

    clips: Sequence[Clip]

    @cached_property
    def index(self) -> Index[Clip]:
        """The clips, searchable."""
        return Index(self.clips)

    def best(self, query: str, top: int) -> list[Clip]:
        """Return up to `top` clips in order of time: those that suit a query best.

        If fewer share a word with it, the others are spread evenly over the rest of the video.

        Args:
            query: Words. Their order does not matter.
            top: The most clips to return.
        """
        found = self.index.search(query, top)
        numbers = {clip.index for clip in found}
        rest = [clip for clip in self.clips if clip.index not in numbers]
        fill = min(top - len(found), len(rest))
        return in_order([*found, *(rest[number * len(rest) // fill] for number in range(fill))])

    @cached_property
    def subjects(self) -> str:
        """Who and what appears in which clips, a row for each name, those of most clips first.

        Subjects of one name count as one, and one that looks different in some clips has several
        appearances; upper and lower case and punctuation do not matter.
        """
        clips: dict[str, set[int]] = {}
        looks: dict[str, dict[str, set[int]]] = {}
        for clip in self.clips:
            for subject in clip.subjects:
                name, look = (" ".join(words(part)) for part in subject)
                clips.setdefault(name, set()).add(clip.index)
                looks.setdefault(name, {}).setdefault(look, set()).add(clip.index)
        return "\n".join(
            f"{name} (clips {listed(sorted(clips[name]))}): {_looks_text(looks[name])}"
            for name in _commonest(clips, MOST_SUBJECTS)
        )


def caption_rows(clips: Sequence[Clip]) -> str:
    """Return the captions of clips, a row each."""
    return "\n".join(f"Clip {clip.index} ({clock(clip.start_s)}–{clock(clip.end_s)}): {clip.caption}" for clip in clips)


def _looks_text(looks: dict[str, set[int]]) -> str:
    return "; ".join(f"{look} {listed(sorted(looks[look]))}" for look in _commonest(looks, MOST_LOOKS))


def _commonest(clips: dict[str, set[int]], most: int) -> list[str]:
    """Return the names with most clips; of equals, those that come first."""
    return [name for name, _ in Counter({name: len(each) for name, each in clips.items()}).most_common(most)]
