"""Any benchmark, hours long: each question's video at a random place among the others (paper §4.1, LVB-10hr).

Nothing is copied: a variant is a playlist, in which frames of the sources that were cached before are found again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median

from tqdm.auto import tqdm

from atlaskit.benchmarks.benchmark import Benchmark
from atlaskit.benchmarks.case import Case
from atlaskit.benchmarks.longvideobench import longvideobench
from atlaskit.benchmarks.videomme import videomme
from atlaskit.environment.question import Question, Span
from atlaskit.errors import InputError
from atlaskit.video.opening import open_video
from atlaskit.video.video import Video

HOURS_10_S = 36_000.0
OPENED_AT_ONCE = 8


@dataclass(frozen=True)
class JoinedVideo:
    """Videos one after the other, opened when they are needed, each once."""

    parts: tuple[Callable[[], Video], ...]

    def __call__(self) -> Video:
        """Open them as one; their subtitles move with them."""
        opened = {part: part() for part in dict.fromkeys(self.parts)}
        return open_video([opened[part] for part in self.parts])


def ten_hour(
    cases: Iterable[Case],
    *,
    among: Iterable[Case] | None = None,
    seed: int = 0,
    duration_s: float = HOURS_10_S,
    progress: bool = False,
) -> Benchmark:
    """Return the same questions, each about its video at a random place among those of other questions.

    The others are those of `among`, if given, or of `cases` themselves. As many are taken as fit into `duration_s`
    seconds, whole, in an order drawn from `seed` and the question's id; they come again where there are too few. A
    video that is longer by itself is left alone. `positions_s`, and the answer of a when-question, are moved with the
    video; LongVideoBench's frame indices become positions. `video` still names the source, so that the same question at
    other durations is paired with it; the facts tell `duration_s`, `offset_s` and `parts`. Every video is opened once,
    to know its length.

    What is asked of "the video" (what comes first, how often) is then asked of all of it, as in the paper.
    Raises InputError for a duration that is not positive, and where there are no cases.
    """
    asked = list(cases)
    if not asked:
        raise InputError("There are no questions to move: the list of cases is empty.")
    if not 0 < duration_s < math.inf:
        raise InputError(f"duration_s is a number of seconds above 0, got {duration_s!r:.40}.")
    sources = {case.video: case.opened for case in [*asked, *(among or ())]}
    with ThreadPoolExecutor(OPENED_AT_ONCE) as pool:
        opening = pool.map(lambda name: sources[name](), sources)
        opened = dict(zip(sources, tqdm(opening, total=len(sources), unit="video", disable=not progress), strict=True))
    lengths = {name: Fraction(video.duration_s) for name, video in opened.items()}
    moved = []
    for case in asked:
        rng = random.Random(f"ten hours {seed} {case.video} {case.question.id}")
        others = list(_filling(lengths, case.video, Fraction(duration_s), rng))
        place = rng.randint(0, len(others))
        names = [*others[:place], case.video, *others[place:]]
        offset_s = float(sum((lengths[name] for name in others[:place]), Fraction(0)))
        facts = {
            **case.facts,
            "duration_s": float(sum((lengths[name] for name in names), Fraction(0))),
            "offset_s": offset_s,
            "parts": len(names),
        }
        question = _moved(_located(case, opened[case.video]), offset_s)
        joined = JoinedVideo(tuple(sources[name] for name in names))
        moved.append(Case(question, case.video, joined, facts))
    return Benchmark(f"{len(asked)} questions in {duration_s / 3600:g} h", tuple(moved))


def _filling(lengths: Mapping[str, Fraction], source: str, duration: Fraction, rng: random.Random) -> Iterator[str]:
    """Yield other videos, round after round, as long as one of them still fits."""
    left = duration - lengths[source]
    while fitting := [name for name, length in lengths.items() if name != source and 0 < length <= left]:
        rng.shuffle(fitting)
        for name in fitting:
            if lengths[name] <= left:
                left -= lengths[name]
                yield name


def _located(case: Case, video: Video) -> Question:
    """Return a question with its positions in seconds, where they are told as indices of frames."""
    frames: Sequence[int] = case.facts.get("position", ())
    if case.question.positions_s or not frames:
        return case.question
    seconds = [frame / video.fps for frame in frames]
    spans = tuple((start_s, start_s + 1 / video.fps) for start_s in seconds if start_s < video.duration_s)
    return replace(case.question, positions_s=spans)


def _moved(question: Question, offset_s: float) -> Question:
    def later(span: Span) -> Span:
        return span[0] + offset_s, span[1] + offset_s

    answer = later(question.answer) if isinstance(question.answer, tuple) else question.answer
    return replace(question, positions_s=tuple(map(later, question.positions_s)), answer=answer)


LOADERS = {"videos": longvideobench, "data": videomme}
"""By the folder in which the videos lie."""


def standard_and_long(
    root: str | Path, *, first: int | None = None, subtitles: bool = True, duration_s: float = HOURS_10_S
) -> Benchmark:
    """Load the questions of LongVideoBench or Video-MME, each twice: about its video, and about it among others.

    Of questions without a known answer none can be scored, so they are left out; of the others the `first` are taken,
    all if not given. The fact `duration_s` is the median length of the videos for the former, and that of all longer
    ones for the latter, so that there are two places on an axis of durations; `length` is "standard" or "long". Raises
    InputError for a folder that holds neither, and as the loaders do.
    """
    home = Path(root)
    loader = next((load for folder, load in LOADERS.items() if (home / folder).is_dir()), None)
    if loader is None:
        raise InputError(
            f"{home} holds neither videos/, as LongVideoBench does, nor data/, as Video-MME does: name one of them."
        )
    found = loader(home, subtitles=subtitles)
    asked = [case for case in found if case.question.answer is not None][:first]
    moved = ten_hour(asked, among=found, duration_s=duration_s, progress=True)
    usual_s = median(case.opened().duration_s for case in {case.video: case for case in asked}.values())
    long_s = median(case.facts["duration_s"] for case in moved)
    cases = [
        *(replace(case, facts={**case.facts, "duration_s": usual_s, "length": "standard"}) for case in asked),
        *(replace(case, facts={**case.facts, "duration_s": long_s, "length": "long"}) for case in moved),
    ]
    return Benchmark(f"{found.name}, as it is and long", tuple(cases), found.missing)
