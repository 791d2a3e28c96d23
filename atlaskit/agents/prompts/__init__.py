"""The calls that agents make, and their prompts.

A call is a frozen dataclass of facts. Its `request()` returns the messages, made of those facts,
and the schema of the answer. The oracle and nano's teacher read the facts instead of the messages.

Each prompt is ordered for the server's prefix cache: fixed text, the image, fixed text, then what
varies between calls. The text of prompts is part of cache keys, and nano is trained on it, so it
must not change."""

from atlaskit.agents.prompts.master import DecisionCall, GlanceCall, ProbeCall, ReviewCall, TaskCall
from atlaskit.agents.prompts.worker import StepCall, action_note, action_result

__all__ = [
    "DecisionCall",
    "GlanceCall",
    "ProbeCall",
    "ReviewCall",
    "StepCall",
    "TaskCall",
    "action_note",
    "action_result",
]
