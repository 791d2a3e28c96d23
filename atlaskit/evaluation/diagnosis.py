"""Why a wrong answer is wrong: rules on a run's trace and the known truth (paper §5, Appendix A).

The paper sorts failures by hand. Here each failure mode is a rule that can be tested, about the
frames that the agents were shown and those of them that became evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from atlaskit.agents.search import ask
from atlaskit.benchmarks.case import Case, MakesModel, model_for
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.environment.grid import clock
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.question import Question, Span, without_article
from atlaskit.environment.render import Sheet, Still, View, with_look
from atlaskit.errors import InputError
from atlaskit.models.protocol import Model
from atlaskit.models.serving.server import as_model
from atlaskit.runs import replay
from atlaskit.runs.result import Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MODES", "Diagnosis", "FailureMode", "diagnose", "failures", "table"]

MODES = (
    "text latching",
    "perception",
    "premature sufficiency",
    "navigation",
    "judgement",
    "no answer",
)
"""The failure modes, in the order of the figures."""
COLUMNS = (
    "who",
    "id",
    "video",
    "category",
    "mode",
    "question",
    "answered",
    "truth",
    "unseen",
    "overlooked",
    "mistaken",
    "premature",
    "latched",
    "stop",
)
"""Columns of a table of failures."""
MOST_SHOWN = 16
"""The most frames on a sheet of the evidence."""
TRUTH_PX = 320
"""Side of a frame on a sheet of the truth, in pixels."""


@dataclass(frozen=True)
class Diagnosis:
    """What went wrong in one run.

    A position is an interval of the video, in seconds, that holds the answer.

    Examples:
        >>> ak.diagnosis.diagnose(result)
        Diagnosis(unseen=(), overlooked=(), mistaken=(), premature=False, latched=False, mode='')
    """

    unseen: tuple[Span, ...]
    """Positions of which no agent was shown a frame."""
    overlooked: tuple[Span, ...]
    """Positions of which an agent was shown a frame, but no frame became evidence."""
    mistaken: tuple[str, ...]
    """Labels of evidence outside every position."""
    premature: bool
    """Whether the master judged the evidence sufficient although a position was missing from it."""
    latched: bool
    """Whether the subtitles at the positions name the given answer and not the true one."""
    mode: str
    """One of MODES; empty if the answer is right."""

    def __str__(self) -> str:
        """Return in one line whether the answer is right, and what is wrong with the evidence."""
        facts = ["all moments that matter were kept"]
        missing = sorted((*self.unseen, *self.overlooked))
        if missing:
            facts = [f"nothing was kept of {_starts(missing)}"]
        if self.unseen:
            facts.append(f"{_starts(self.unseen)} was never shown")
        if self.mistaken:
            labels = ", ".join(f"[{label}]" for label in self.mistaken)
            facts.append(f"{labels} shows another moment")
        if self.latched:
            facts.append("the subtitles name the given answer")
        verdict = f"wrong by {self.mode}" if self.mode else "right"
        return f"{verdict}: {'; '.join(facts)}"


def _starts(spans_s: Iterable[Span]) -> str:
    return ", ".join(clock(start_s) for start_s, _ in spans_s)


@dataclass(frozen=True)
class FailureMode:
    """A question that was answered wrongly, with its run.

    Examples:
        >>> found = ak.diagnosis.failures(cases[:6], vlm=weak)
        >>> {failure.diagnosis.mode for failure in found}
        {'premature sufficiency'}
    """

    case: Case
    result: Result
    diagnosis: Diagnosis

    @property
    def truth(self) -> Sheet:
        """A sheet of the middle frame of each position that holds the answer."""
        items = list[Evidence]()
        for start_s, end_s in self.result.question.positions_s:
            middle_s = (start_s + end_s) / 2
            items.append(Evidence(middle_s, start_s, end_s, "where the answer lies", 1.0))
        sheet = with_look(self.result.sheet, cell=TRUTH_PX)
        return replace(sheet, scratchpad=Scratchpad().add(items))

    @property
    def kept(self) -> Sheet:
        """A sheet of the run's evidence: the MOST_SHOWN most confident frames, in its order."""
        sheet = self.result.sheet
        labels = self.result.evidence.surest(MOST_SHOWN).labels
        items = tuple(item for item in sheet.scratchpad if item.label in labels)
        return replace(sheet, scratchpad=replace(sheet.scratchpad, items=items))

    def row(self) -> dict[str, Any]:
        """Return the failure as a row of a table, without the column `who`."""
        question = self.result.question
        diagnosis = self.diagnosis
        assert question.answer is not None
        return {
            "id": question.id,
            "video": self.case.video,
            "category": question.category,
            "mode": diagnosis.mode,
            "question": question.text,
            "answered": self.result.answer or "",
            "truth": question.in_words(question.answer),
            "unseen": len(diagnosis.unseen),
            "overlooked": len(diagnosis.overlooked),
            "mistaken": len(diagnosis.mistaken),
            "premature": diagnosis.premature,
            "latched": diagnosis.latched,
            "stop": self.result.stop,
        }


def failures(
    cases: Iterable[Case],
    *,
    vlm: Model | str | MakesModel,
    cache: Cache | None = None,
    **settings: Any,
) -> list[FailureMode]:
    """Return the questions that Video-RLM answers wrongly, each with its diagnosis.

    With the settings of an earlier evaluation, all runs come from the cache.

    Args:
        cases: The questions with their videos.
        vlm: A model, an address or a name as for `ask`; or, for worlds, a function that makes one
            for each world.
        cache: The cache for frames and replies.
        **settings: Keyword arguments of `ask`.

    Raises:
        InputError: If the true answer to a question, or its positions in the video, are unknown.

    Examples:
        >>> found = ak.diagnosis.failures(cases[:6], vlm=weak)
        >>> [failure.result.is_right for failure in found]
        [False, False, False, False]
    """
    if isinstance(vlm, str):
        vlm = as_model(vlm, cache)
    wrong = []
    for case in cases:
        result = ask(
            case.opened(), case.question, vlm=model_for(vlm, case), cache=cache, **settings
        )
        if not result.is_right:
            wrong.append(FailureMode(case, result, diagnose(result, cache)))
    return wrong


def table(found: Mapping[str, Sequence[FailureMode]]) -> pd.DataFrame:
    """Return failures as a tidy table, one row each.

    Args:
        found: Failures by the name of the model or method that failed, which is the column `who`.

    Examples:
        >>> found = ak.diagnosis.failures(cases[:6], vlm=weak)
        >>> table = ak.diagnosis.table({"weak": found})
        >>> list(table.columns)[:3]
        ['who', 'id', 'video']
    """
    import pandas as pd

    rows = []
    for name, failures in found.items():
        for failure in failures:
            rows.append({"who": name, **failure.row()})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def diagnose(result: Result, cache: Cache | None = None) -> Diagnosis:
    """Return what went wrong in a run of `ask`.

    The mode of a failure is the first of these that applies:

    1. *no answer*;
    2. *text latching*: the subtitles at the positions name the given answer and not the true one;
    3. *perception*: a frame outside every position became evidence;
    4. *premature sufficiency*: the evidence was judged sufficient although a position was missing;
    5. *perception*: an agent was shown a position, and it did not become evidence;
    6. *navigation*: no agent was shown a position;
    7. *judgement*: the evidence was complete.

    Raises:
        InputError: If the true answer, or its positions in the video, are unknown.

    Examples:
        >>> ak.diagnosis.diagnose(result)
        Diagnosis(unseen=(), overlooked=(), mistaken=(), premature=False, latched=False, mode='')
    """
    question = result.question
    if question.answer is None or not question.positions_s:
        unknown = "what the answer is" if question.answer is None else "where the answer is"
        raise InputError(f"{question.text!r:.80} cannot be diagnosed: it is not known {unknown}.")
    positions = tuple(dict.fromkeys(question.positions_s))
    evidence_s = [item.timestamp_s for item in result.evidence]
    shown_s = _shown_times(result, cache)
    unseen = list[Span]()
    overlooked = list[Span]()
    for position in positions:
        if any(_is_in(time_s, position) for time_s in evidence_s):
            continue
        if any(_is_in(time_s, position) for time_s in shown_s):
            overlooked.append(position)
        else:
            unseen.append(position)
    mistaken = list[str]()
    for item in result.evidence:
        if not any(_is_in(item.timestamp_s, position) for position in positions):
            mistaken.append(item.label)
    premature = result.stop == "sufficient" and bool(unseen or overlooked)
    latched = _is_latched(question, result)
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
        mode = next(name for name, applies in rules if applies)
    return Diagnosis(tuple(unseen), tuple(overlooked), tuple(mistaken), premature, latched, mode)


def _shown_times(result: Result, cache: Cache | None) -> list[float]:
    """Return the time of every frame that an agent was shown, in seconds, in order."""
    times_s = set[float]()
    for shown in replay.pictures(result.trace, result.sheet.video, cache or default_cache()):
        match shown.picture:
            case View() as view:
                for cell, time_s in enumerate(view.moments):
                    if cell not in view.dead:
                        times_s.add(time_s)
            case Still() as still:
                times_s.add(still.time_s)
    return sorted(times_s)


def _is_in(time_s: float, position: Span) -> bool:
    return position[0] <= time_s < position[1]


def _is_latched(question: Question, result: Result) -> bool:
    """Return whether the subtitles at the positions name the given answer and not the true one."""
    if question.kind != "choice" or result.prediction is None or result.is_right:
        return False
    assert question.answer is not None
    lines = list[str]()
    for position in question.positions_s:
        for line in result.sheet.video.subtitles.between(*position):
            lines.append(line.text)
    spoken = " ".join(lines).casefold()
    given = without_article(question.in_words(result.prediction)).casefold()
    true = without_article(question.in_words(question.answer)).casefold()
    return given in spoken and true not in spoken


def __dir__() -> list[str]:
    """List the public names only."""
    return __all__
