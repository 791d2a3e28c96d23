"""The memories of a video, made once per video: summaries at several levels, and lasting facts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from atlaskit.agents.index import Index
from atlaskit.environment.grid import clock
from atlaskit.environment.question import Span
from atlaskit.methods.clips import Clip
from atlaskit.methods.prompts import ConsolidateCall, FactsCall, SummaryCall
from atlaskit.methods.run import MethodRun
from atlaskit.models.protocol import Request

LEVELS_S = {"30 s": 30.0, "3 min": 180.0, "10 min": 600.0}
"""Length of a summary in seconds at each level above the clips."""
PER_FACTS = 10
"""Clips that one call gathers facts from."""
MOST_RELATED = 16
"""Earlier facts that newer ones are compared with: those that share most words with them."""


@dataclass(frozen=True, order=True)
class Stretch:
    """Clips in a row."""

    start_s: float
    end_s: float
    first: int
    """Number of its first clip."""
    last: int
    """Number of its last clip."""

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Stretch:
        """Return the stretch from the first to the last of some parts in order of time."""
        first = parts[0].index if isinstance(parts[0], Clip) else parts[0].stretch.first
        last = parts[-1].index if isinstance(parts[-1], Clip) else parts[-1].stretch.last
        return cls(parts[0].span[0], parts[-1].span[1], first, last)

    @property
    def span(self) -> Span:
        """Its interval in seconds."""
        return self.start_s, self.end_s

    @property
    def name(self) -> str:
        """The stretch in words."""
        clips = f"clips {self.first}–{self.last}" if self.last > self.first else f"clip {self.first}"
        return f"{clips}, {clock(self.start_s)}–{clock(self.end_s)}"


@dataclass(frozen=True)
class Summary:
    """What happens in a stretch of the video."""

    stretch: Stretch
    text: str

    @property
    def span(self) -> Span:
        """Its interval in seconds."""
        return self.stretch.span

    @property
    def words(self) -> str:
        """The text to search."""
        return self.text

    @property
    def row(self) -> str:
        """The summary as a paragraph of a prompt."""
        return f"Summary of {self.stretch.name}: {self.text}"


Part = Clip | Summary
"""An entry of the episodic memory."""


def summaries(run: MethodRun, clips: Sequence[Clip], threads: int = 4) -> list[list[Part]]:
    """Return the levels of the episodic memory: the clips, then those of LEVELS_S.

    Each level is made from the level below; a part belongs to the stretch in which it begins. A
    stretch with one part has that part itself, without a call. A stretch whose call fails is left
    out of its level and of those above.

    Args:
        run: The run that makes the calls.
        clips: The records of the clips, in order of time.
        threads: Calls that are made at the same time.
    """
    levels: list[list[Part]] = [list(clips)]
    for length_s in LEVELS_S.values():
        levels.append(_level(run, levels[-1], length_s, threads))
    return levels


def _level(run: MethodRun, parts: Sequence[Part], length_s: float, threads: int) -> list[Part]:
    """Return a level of summaries, made from the level below."""
    groups = [tuple(group) for _, group in groupby(parts, lambda part: math.floor(part.span[0] / length_s + 1e-9))]
    made: dict[float, Part] = {each[0].span[0]: each[0] for each in groups if len(each) == 1}

    def request(some: tuple[Part, ...]) -> Request:
        return SummaryCall(*Stretch.of(some).span, tuple(part.row for part in some)).request()

    several = [each for each in groups if len(each) > 1]
    for some, answer in run.answers(several, request, lambda some: [Stretch.of(some).span], threads):
        stretch = Stretch.of(some)
        made[stretch.start_s] = Summary(stretch, answer.summary)
    return [made[start_s] for start_s in sorted(made)]


@dataclass(frozen=True)
class Fact:
    """Something lasting, and where it was seen."""

    text: str
    stretches: tuple[Stretch, ...]
    """The clips that show it, ten by ten, in order of time."""

    @property
    def words(self) -> str:
        """The text to search."""
        return self.text

    @property
    def row(self) -> str:
        """The fact as a paragraph of a prompt."""
        return f"Fact from {'; '.join(each.name for each in self.stretches)}: {self.text}"


def facts(run: MethodRun, clips: Sequence[Clip], threads: int = 4) -> list[Fact]:
    """Return the semantic memory: the facts of each ten clips, consolidated.

    One call gathers the facts of ten clips. A second one compares them with the earlier facts that
    share most words with them; a fact that a later one repeats or replaces is dropped, and the
    later one is known from its stretches too. No call depends on another of its kind, so they are
    made in parallel.

    Args:
        run: The run that makes the calls.
        clips: The records of the clips, in order of time.
        threads: Calls that are made at the same time.
    """
    gathered = _gathered(run, clips, threads)
    all_facts = [fact for some in gathered for fact in some]
    replaced = _replaced(run, gathered, threads)
    stretches = [set(fact.stretches) for fact in all_facts]
    # A newer fact comes later in the list, so what it gained is complete when its turn comes.
    for number, by in sorted(replaced.items()):
        stretches[by] |= stretches[number]
    return [
        Fact(fact.text, tuple(sorted(stretches[number])))
        for number, fact in enumerate(all_facts)
        if number not in replaced
    ]


def _gathered(run: MethodRun, clips: Sequence[Clip], threads: int) -> list[list[Fact]]:
    """Return the facts of each ten clips."""
    tens = [tuple(clips[start : start + PER_FACTS]) for start in range(0, len(clips), PER_FACTS)]

    def request(ten: tuple[Clip, ...]) -> Request:
        return FactsCall(tuple(clip.row for clip in ten)).request()

    gathered = []
    for ten, answer in run.answers(tens, request, lambda ten: [Stretch.of(ten).span], threads):
        gathered.append([Fact(text, (Stretch.of(ten),)) for text in dict.fromkeys(answer.facts)])
    return gathered


def _replaced(run: MethodRun, gathered: Sequence[Sequence[Fact]], threads: int) -> dict[int, int]:
    """Return the number of the newer fact that replaces each replaced one."""
    all_facts = [fact for some in gathered for fact in some]
    index = Index(all_facts)
    compared, first = list[tuple[list[int], list[int]]](), 0
    for some in gathered:
        scores = index.scores(" ".join(fact.text for fact in some))[:first]
        related = sorted(range(first), key=lambda number: (-scores[number], number))[:MOST_RELATED]
        earlier = sorted(number for number in related if scores[number] > 0)
        if earlier and some:
            compared.append((earlier, list(range(first, first + len(some)))))
        first += len(some)

    def request(numbers: tuple[list[int], list[int]]) -> Request:
        earlier, newer = (tuple(all_facts[number].text for number in some) for some in numbers)
        return ConsolidateCall(earlier, newer).request()

    def spans(numbers: tuple[list[int], list[int]]) -> list[Span]:
        seen = {stretch for some in numbers for number in some for stretch in all_facts[number].stretches}
        return [stretch.span for stretch in sorted(seen)]

    replaced = dict[int, int]()
    for (earlier, newer), answer in run.answers(compared, request, spans, threads):
        both = [*earlier, *newer]
        for pair in answer.replaced:
            replaced.setdefault(both[pair.earlier], both[pair.by])
    return replaced
