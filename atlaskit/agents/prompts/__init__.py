"""The calls that agents make, and their prompts.

A call is a frozen dataclass of facts. Its `request()` returns the messages, made from these facts,
and the schema of the answer. Oracles (scripted models) and teachers (which write training data)
read the facts in place of the messages. A model that was trained on other prompts for the same
facts gets its own prompts: see `run.request_for`.

Each prompt is ordered for the server's prefix cache: fixed text, the image, fixed text, then the
facts that vary between calls.
"""

from atlaskit.agents.prompts.looks import LookCall, PlanCall, VerdictCall
from atlaskit.agents.prompts.master import DecisionCall, GlanceCall, ProbeCall, ReviewCall, TaskCall
from atlaskit.agents.prompts.worker import StepCall, Turn

Call = (
    TaskCall
    | ProbeCall
    | StepCall
    | ReviewCall
    | DecisionCall
    | GlanceCall
    | PlanCall
    | LookCall
    | VerdictCall
)
"""The calls of Video-RLM."""


__all__ = [
    "DecisionCall",
    "GlanceCall",
    "LookCall",
    "PlanCall",
    "ProbeCall",
    "ReviewCall",
    "StepCall",
    "TaskCall",
    "Turn",
    "VerdictCall",
]
