"""`Eye`: a double that behaves like a model that sees, as fresh readers did in whole searches."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from atlaskit.agents.prompts import LookCall, PlanCall, VerdictCall
from atlaskit.environment.atlas import Observation
from atlaskit.environment.question import Span
from atlaskit.models.protocol import CallControl, Reply, Request, Usage

Stretch = dict[str, float]
FINE_S = 0.2
"""Step in seconds at which it has seen enough of a border."""


@dataclass
class Eye:
    """Sees what lies at some times of a video, and searches as readers do.

    It names nothing where nothing stands out, keeps no distractors, names again what was shown
    before, asks for the borders of what it found, and answers once it holds those.
    """

    truth_s: Sequence[Span]
    lasts_s: float = 4.0
    settled_by: str = "one"
    first: tuple[Span, ...] = ()
    """Stretches that its plan names, whatever they hold."""
    is_hasty: bool = False
    """Whether it says that something is not there before it has seen all."""
    is_stubborn: bool = False
    """Whether it wants to look on though all was seen."""
    change: Callable[[Request, dict[str, Any]], None] = lambda request, answer: None
    """Changes an answer before it is given, or raises."""
    requests: list[Request] = field(default_factory=list)
    name: str = "eye"
    parameters: dict[str, Any] = field(default_factory=dict)

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        """Answer a call from the facts that its images show."""
        self.requests.append(request)
        answers: dict[Any, Callable[[Any], dict[str, Any]]] = {PlanCall: self.plan, LookCall: self.look}
        answer = answers.get(type(request.facts), self.judge)(request.facts)
        self.change(request, answer)
        valid = request.schema.model_validate(answer)
        return Reply(valid, valid.model_dump_json(), Usage(calls=1, prompt_tokens=100, completion_tokens=10))

    def plan(self, call: PlanCall) -> dict[str, Any]:
        """Keep what the sheet shows, and ask for its surroundings."""
        keep, look = self.seen([call.root], call.cells)
        named = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in self.first]
        plan = {"search_task": "Find it.", "settled_by": self.settled_by, "lasts_s": self.lasts_s}
        return {"reasoning": "", **plan, "keep": keep, "look": [*named, *look][:8]}

    def look(self, call: LookCall) -> dict[str, Any]:
        """Keep what the sheets show, and ask for its borders: again and again, as readers do."""
        keep, look = self.seen(call.sheets, call.cells)
        return {"note": f"{len(keep)} frames show it.", "keep": keep, "look": look}

    def judge(self, call: VerdictCall) -> dict[str, Any]:
        """Answer with what is kept, or with anything where nothing is and an answer is wanted."""
        items = call.sheet.scratchpad.items
        erase = {"erase": []} if items else {}
        if self.is_hasty and not items and not call.over:
            return {"reasoning": "", "conclusion": {"action": "not_there", "sure": 0.9}}
        is_all_seen = not call.known.seen.unseen(*call.known.root, call.known.grain_s)
        if not (items or call.over or (is_all_seen and not self.is_stubborn)):
            return {"reasoning": "", **erase, "conclusion": {"action": "look", "look": []}}
        times_s = [item.timestamp_s for item in items] or [0.0, 1.0]
        supporting = {"supporting": [item.label for item in items][:16]} if items else {}
        if call.frames and not items:
            supporting = {"supporting": []}
        if not items and call.question.can_be_absent:
            return {"reasoning": "", "conclusion": {"action": "not_there", "sure": 0.9}}
        answer: dict[str, Any] = {"start_s": min(times_s), "end_s": max(*times_s, min(times_s) + 0.1)}
        if call.question.kind == "count":
            answer = {"answer": sum(any(a <= t < b for t in times_s) for a, b in self.truth_s)}
        conclusion = {"action": "answer", **supporting, **answer, "sure": 0.9}
        return {"reasoning": "", **erase, "conclusion": conclusion}

    def seen(self, sheets: Iterable[Observation], cells: Sequence[int]) -> tuple[list[dict[str, Any]], list[Stretch]]:
        """Return the first and last frame of each truth that a sheet shows, and their borders."""
        keep, look = list[dict[str, Any]](), list[Stretch]()
        for sheet in sheets:
            view = sheet.view
            for start_s, end_s in self.truth_s:
                shown = [cell.index for cell in view.cells if start_s <= view.moments[cell.index] < end_s]
                for index in dict.fromkeys(shown[:1] + shown[-1:]):
                    if view.first + index in cells:
                        keep.append({"cell": view.first + index, "description": "it", "confidence": 0.9})
                    cell = view.cells[index]
                    if cell.span_s > FINE_S:
                        start_s, end_s = max(0.0, cell.start_s - cell.span_s), cell.end_s + cell.span_s
                        look.append({"start_s": start_s, "end_s": min(view.video.duration_s, end_s)})
        return keep[:16], look[:8]
