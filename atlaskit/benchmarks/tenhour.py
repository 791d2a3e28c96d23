"""Questions about videos of ten hours (paper §4.1).

* `ten_hour`: makes a variant of each case, in which the video is among others, ten hours in all. No
  file is copied: the video of a variant is a playlist, so it shares cached frames with its parts.
* `standard_and_long`: loads any dataset from a folder, with its own videos and with variants.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

from atlaskit.benchmarks.case import Benchmark, Case
from atlaskit.benchmarks.datasets.registry import dataset_in
from atlaskit.environment.question import Question, Span, spans_of
from atlaskit.errors import InputError, check_flags, printable
from atlaskit.progress import bar
from atlaskit.video.opening import open_video
from atlaskit.video.video import Video

TEN_HOURS_S = 36_000.0
OPENING_THREADS = 8
"""Videos that are opened at the same time."""


@dataclass(frozen=True)
class JoinedVideo:
    """Videos one after another, which a call opens as one playlist."""

    parts: tuple[Callable[[], Video], ...]
    """Functions that open the videos."""

    def __call__(self) -> Video:
        """Open each distinct part once and join all parts; their subtitle lines are shifted."""
        opened = {part: part() for part in dict.fromkeys(self.parts)}
        return open_video([opened[part] for part in self.parts])


def ten_hour(
    cases: Iterable[Case],
    *,
    among: Iterable[Case] | None = None,
    seed: int = 0,
    duration_s: float = TEN_HOURS_S,
    progress: bool = False,
) -> Benchmark:
    """Return the same questions, each about its video at a random place among other videos.

    As many whole videos as fit into `duration_s` are joined, in an order drawn from `seed` and the
    question's id; they repeat if there are too few. A question's variant depends on which videos
    there are, not on the other questions. A video that is longer than `duration_s` stays alone. So
    does a video beside which no other fits, with a warning. `positions_s` and the answer of a
    "when" question move with the video, and LongVideoBench's frame indices become `positions_s`. A
    question about "the video" (what comes first, how often) then refers to the whole variant, as in
    the paper.

    `Case.video` still names the question's own video, so that results of one question at several
    durations can be paired. The facts gain `duration_s` (of the variant), `offset_s` (where the
    question's video starts) and `parts` (number of videos joined). Every video is opened once, to
    read its duration.

    Args:
        cases: The questions to move.
        among: Cases whose videos may surround the question's own, like those of `cases`; None adds
            none.
        seed: Seed of the order.
        duration_s: Longest duration of a variant, in seconds.
        progress: Whether to show a progress bar while videos open.

    Raises:
        InputError: `cases` is empty, or `duration_s` is not a positive finite number.

    Examples:
        >>> long = ak.benchmarks.ten_hour(cases[:2], duration_s=600)
        >>> [case.question.id for case in long] == [case.question.id for case in cases[:2]]
        True
    """
    own = list(cases)
    if not own:
        raise InputError("ten_hour needs at least one case; got none.")
    if not 0 < duration_s < math.inf:
        raise InputError(
            f"duration_s must be a positive number of seconds; got {duration_s!r:.40}."
        )
    by_name = {case.video: case.opened for case in [*own, *(among or ())]}
    openers = dict(sorted(by_name.items()))  # so that the order of the cases changes nothing
    videos = _open_all(openers, progress)
    lengths = {name: Fraction(video.duration_s) for name, video in videos.items()}
    moved = list[Case]()
    alone = set[str]()
    for case in own:
        rng = random.Random(f"ten hours {seed} {case.video} {case.question.id}")
        others = list(_fill(lengths, case.video, Fraction(duration_s), rng))
        position = rng.randint(0, len(others))
        order = [*others[:position], case.video, *others[position:]]
        offset_s = _total_s(lengths, others[:position])
        total_s = _total_s(lengths, order)
        if len(order) == 1 and total_s < duration_s:
            alone.add(case.video)
        moved.append(
            Case(
                question=_shift(_with_positions(case, videos[case.video]), offset_s),
                video=case.video,
                opened=JoinedVideo(tuple(openers[name] for name in order)),
                facts={
                    **case.facts,
                    "duration_s": total_s,
                    "offset_s": offset_s,
                    "parts": len(order),
                },
            )
        )
    if alone:
        first = min(alone)
        warnings.warn(
            f"{len(alone)} videos stay alone, as no other one fits beside them: "
            f"{printable(first, 60)} has {float(lengths[first]) / 3600:.2g} h, not "
            f"{duration_s / 3600:g}.",
            stacklevel=2,
        )
    dataset = cases.dataset if isinstance(cases, Benchmark) else ""
    return Benchmark(
        f"{len(own)} questions in {duration_s / 3600:g} h", tuple(moved), dataset=dataset
    )


def _total_s(lengths: Mapping[str, Fraction], names: Iterable[str]) -> float:
    """Return the seconds that some videos last together."""
    return float(sum(lengths[name] for name in names))


def _open_all(openers: Mapping[str, Callable[[], Video]], progress: bool) -> dict[str, Video]:
    """Open all videos at once; return them by their names."""
    with ThreadPoolExecutor(OPENING_THREADS) as pool:
        videos = pool.map(lambda open_case: open_case(), openers.values())
        opening = bar(videos, total=len(openers), unit="video", disable=not progress)
        return dict(zip(openers, opening, strict=True))


def _fill(
    lengths: Mapping[str, Fraction], own: str, duration: Fraction, rng: random.Random
) -> Iterator[str]:
    """Yield other videos, shuffled anew in each pass, until none fits beside a question's own."""
    left = duration - lengths[own]
    # A video of no length would fit without end.
    others = {name: length for name, length in lengths.items() if name != own and length > 0}
    while True:
        fitting = [name for name, length in others.items() if length <= left]
        if not fitting:
            return
        rng.shuffle(fitting)
        for name in fitting:
            if others[name] <= left:
                left -= others[name]
                yield name


def _with_positions(case: Case, video: Video) -> Question:
    """Return the case's question, with `positions_s` from the frame indices in the facts, if any.

    The indices are LongVideoBench's column "position", a tuple; a table of the user's own may have
    another column of that name. Indices beyond the video's end are left out.
    """
    frames = case.facts.get("position")
    if case.question.positions_s or not frames or not isinstance(frames, tuple):
        return case.question
    spans = list[Span]()
    for frame in frames:
        start_s = frame / video.fps
        if start_s < video.duration_s:
            spans.append((start_s, start_s + 1 / video.fps))
    return replace(case.question, positions_s=tuple(spans))


def _shift(question: Question, offset_s: float) -> Question:
    """Return the question with its positions, and the intervals of its answer, `offset_s` later."""

    def shift(span: Span) -> Span:
        return span[0] + offset_s, span[1] + offset_s

    positions_s = tuple(map(shift, question.positions_s))
    spans = tuple(map(shift, spans_of(question.answer)))
    if not spans:
        return replace(question, positions_s=positions_s)
    answer = spans if question.several else spans[0]
    return replace(question, positions_s=positions_s, answer=answer)


def standard_and_long(
    root: str | Path,
    *,
    first: int | None = None,
    where: Mapping[str, Any] | None = None,
    subtitles: bool = True,
    duration_s: float = TEN_HOURS_S,
) -> Benchmark:
    """Load the dataset in a folder, each question with its own video and with that of a variant.

    Questions without a published answer are left out, because they cannot be scored. The fact
    `length` is "standard" or "long". The fact `duration_s` is the median duration of all standard
    or all long videos, so that the results lie at two points of a duration axis. `ten_hour` makes
    the variants.

    Args:
        root: Folder of the dataset.
        first: Number of questions to take; all if None.
        where: Values of columns that questions must have, as `Benchmark.where` takes them: the long
            subset is {"duration_group": 3600} of LongVideoBench, {"duration": "long"} of Video-MME.
        subtitles: Whether the videos get their subtitles.
        duration_s: Longest duration of a long variant, in seconds.

    Raises:
        InputError: The folder holds the rows of no dataset that has a loader, or of several; no
            question matches `where` and has an answer; or the loader or `ten_hour` raises this
            error.

    Examples:
        >>> both = ak.benchmarks.standard_and_long("data/videomme", duration_s=600)
        >>> [case.facts["length"] for case in both]
        ['standard', 'standard', 'long', 'long']
    """
    check_flags(subtitles=subtitles)
    home = Path(root)
    dataset = dataset_in(home).load(home, subtitles=subtitles)
    chosen = dataset.where(**where) if where else dataset
    standard = [case for case in chosen if case.question.answer is not None][:first]
    long = ten_hour(standard, among=dataset, duration_s=duration_s, progress=True)
    openers = {case.video: case.opened for case in standard}
    standard_s = median(opened().duration_s for opened in openers.values())
    long_s = median(case.facts["duration_s"] for case in long)
    cases = (*_labelled(standard, "standard", standard_s), *_labelled(long, "long", long_s))
    return Benchmark(f"{dataset.name}, as it is and long", cases, dataset.missing)


def _labelled(cases: Iterable[Case], length: str, duration_s: float) -> Iterator[Case]:
    """Yield cases with the facts `duration_s` and `length`."""
    for case in cases:
        yield replace(case, facts={**case.facts, "duration_s": duration_s, "length": length})
