"""Why a wrong answer is wrong: rules on a run's trace and the known truth (paper §5, Appendix A).

The paper sorts failures by hand. Here each mode is a rule that can be tested, and goes by what the agents were shown:
the frames of the grids before them, and what they kept of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import World
from atlaskit.benchmarks.case import Case, model_for
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.question import Question, Span, without_article
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.errors import InputError
from atlaskit.models.protocol import Model
from atlaskit.runs import replay
from atlaskit.runs.result import Result

if TYPE_CHECKING:
    import pandas as pd

MODES = ("text latching", "perception", "premature sufficiency", "navigation", "judgement", "no answer")
"""What a failure can be, in the order of the figures."""
COLUMNS = (
    *("who", "id", "video", "category", "mode", "question", "answered", "truth"),
    *("unseen", "overlooked", "mistaken", "premature", "latched", "stop"),
)
"""Of a table of failures."""
SHOWN = 16
"""Frames on a sheet of what was kept."""


@dataclass(frozen=True)
class Diagnosis:
    """What went wrong in one run. A place is an interval of the video, in seconds, at which the answer lies."""

    unseen: tuple[Span, ...]
    """Places of which no agent was shown a frame."""
    overlooked: tuple[Span, ...]
    """Places of which a frame was shown, and none was kept as evidence."""
    mistaken: tuple[str, ...]
    """Labels of evidence that lies at no such place."""
    premature: bool
    """Whether the evidence was declared sufficient while it lacked a place."""
    latched: bool
    """Whether what is said at such a place names the answer that was given, and not the true one."""
    mode: str
    """One of MODES; empty where the answer is right."""


@dataclass(frozen=True)
class FailureMode:
    """A question that was answered wrongly, with the whole run."""

    case: Case
    result: Result
    diagnosis: Diagnosis

    @property
    def truth(self) -> Sheet:
        """The frames in the middle of each place at which the answer lies, as a sheet."""
        items = (
            Evidence((start_s + end_s) / 2, start_s, end_s, "where the answer lies", 1.0)
            for start_s, end_s in self.result.question.positions_s
        )
        return Sheet(self.result.sheet.video, Scratchpad().add(items), cache=self.result.sheet.cache)

    @property
    def kept(self) -> Sheet:
        """The surest frames that the run kept as evidence, at most SHOWN, as a sheet."""
        return replace(self.result.sheet, scratchpad=self.result.evidence.surest(SHOWN))

    def row(self) -> dict[str, Any]:
        """Return what is told of it, as a row of a table."""
        question, found = self.result.question, self.diagnosis
        assert question.answer is not None
        return {
            "id": question.id,
            "video": self.case.video,
            "category": question.category,
            "mode": found.mode,
            "question": question.text,
            "answered": self.result.answer or "",
            "truth": question.in_words(question.answer),
            "unseen": len(found.unseen),
            "overlooked": len(found.overlooked),
            "mistaken": len(found.mistaken),
            "premature": found.premature,
            "latched": found.latched,
            "stop": self.result.stop,
        }


def failures(
    cases: Iterable[Case], *, vlm: Model | Callable[[World], Model], cache: Cache | None = None, **settings: Any
) -> list[FailureMode]:
    """Return the questions that Video-RLM answers wrongly, each with what went wrong.

    Asked with the settings of an evaluation that was made before, all comes out of the cache. Raises InputError where a
    question's truth is not known, or not where in the video its answer lies.
    """
    found = []
    for case in cases:
        result = ask(case.opened(), case.question, vlm=model_for(vlm, case), cache=cache, **settings)
        if not result.is_right:
            found.append(FailureMode(case, result, diagnose(result, cache)))
    return found


def table(found: Mapping[str, Sequence[FailureMode]]) -> pd.DataFrame:
    """Return failures as a tidy table, a row each; the column `who` is the name of those who failed."""
    import pandas as pd

    rows = [{"who": name, **failure.row()} for name, failures in found.items() for failure in failures]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def diagnose(result: Result, cache: Cache | None = None) -> Diagnosis:
    """Say what went wrong in a run of `ask`.

    The mode of a failure is the first of these that holds: *no answer*; *text latching*, where what is said at the
    place names the answer given and not the true one; *perception*, where something else was kept as evidence;
    *premature sufficiency*, where the evidence was declared sufficient and lacks a place; *perception*, where a place
    was shown and not kept; *navigation*, where a place was never shown; and *judgement*, where all of the evidence was
    there.

    Raises InputError where the truth is not known, or not where in the video the answer lies.
    """
    question = result.question
    if question.answer is None or not question.positions_s:
        raise InputError(
            f"Of {question.text!r:.80} it is not known {'what' if question.answer is None else 'where'} the answer is, "
            f"so nobody can say what went wrong."
        )
    places = tuple(dict.fromkeys(question.positions_s))
    kept = [item.timestamp_s for item in result.evidence]
    seen = _moments_seen(result, cache)
    without = [place for place in places if not _any_within(kept, place)]
    unseen = tuple(place for place in without if not _any_within(seen, place))
    mistaken = tuple(
        item.label for item in result.evidence if not any(_any_within([item.timestamp_s], place) for place in places)
    )
    overlooked = tuple(place for place in without if place not in unseen)
    premature, latched = result.stop == "sufficient" and bool(without), _is_latched(question, result)
    mode = ""
    if not result.is_right:
        rules = (
            ("no answer", result.prediction is None),
            ("text latching", latched),
            ("perception", bool(mistaken)),
            ("premature sufficiency", premature),
            ("perception", bool(overlooked)),
            ("navigation", bool(unseen)),
            ("judgement", True),
        )
        mode = next(name for name, holds in rules if holds)
    return Diagnosis(unseen, overlooked, mistaken, premature, latched, mode)


def _moments_seen(result: Result, cache: Cache | None) -> list[float]:
    """Return the seconds of all frames that an agent was shown."""
    moments = set[float]()
    for shown in replay.pictures(result.trace, result.sheet.video, cache or default_cache()):
        match shown.picture:
            case View() as view:
                moments.update(moment for index, moment in enumerate(view.moments) if index not in view.dead)
            case Still() as still:
                moments.add(still.time_s)
    return sorted(moments)


def _any_within(moments_s: Iterable[float], place: Span) -> bool:
    times = np.fromiter(moments_s, float)
    return bool(((place[0] <= times) & (times < place[1])).any())


def _is_latched(question: Question, result: Result) -> bool:
    if question.kind != "choice" or result.prediction is None or result.is_right:
        return False
    assert question.answer is not None
    lines = (line for place in question.positions_s for line in result.sheet.video.subtitles.between(*place))
    said = " ".join(line.text for line in lines).casefold()
    words = (question.in_words(answer) for answer in (result.prediction, question.answer))
    given, true = (without_article(each).casefold() for each in words)
    return given in said and true not in said
