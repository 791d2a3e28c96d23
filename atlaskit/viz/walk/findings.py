"""`FindingSteps`: which step found which evidence."""

from __future__ import annotations

from collections.abc import Sequence

from atlaskit.environment.memory import Evidence
from atlaskit.runs.events import Cite, Event, Look, Plan, Report, Step
from atlaskit.runs.trace import Trace


def merged_in(event: Event) -> Sequence[Evidence]:
    """Return the evidence that an event added to M+."""
    if isinstance(event, Report):
        return event.kept
    return event.found if isinstance(event, Cite | Plan) else ()


class FindingSteps:
    """The steps that first found each frame of evidence, by time and by label."""

    def __init__(self, trace: Trace) -> None:
        self._steps: dict[float, int] = {}
        self._times_s: dict[str, float] = {}
        for index, event in enumerate(trace):
            if isinstance(event, Step | Cite | Plan | Look):
                for item in event.found:
                    self._steps.setdefault(item.timestamp_s, index)
            self._times_s |= {item.label: item.timestamp_s for item in merged_in(event)}

    def of(self, time_s: float | None) -> int | None:
        """Return the index of the event that first found the frame at a time; None if none did."""
        return None if time_s is None else self._steps.get(time_s)

    def of_label(self, label: str) -> int | None:
        """Return the same for the frame with a label in M+."""
        return self.of(self.time_of(label))

    def time_of(self, label: str) -> float | None:
        """Return the time of the frame with a label in M+, in seconds; None if there is none."""
        return self._times_s.get(label)

    def labels_at(self, time_s: float) -> list[str]:
        """Return all labels that the frame at a time has had in M+."""
        return [label for label, label_time_s in self._times_s.items() if label_time_s == time_s]
