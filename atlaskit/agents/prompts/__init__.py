"""The calls that agents make, and their prompts.

A call is a frozen dataclass of facts. Its `request()` returns the messages, made of those facts,
and the schema of the answer. The oracle and nano's teacher read the facts instead of the messages.
A model that was taught other words for the same facts gets those: see `request_for`.

Each prompt is ordered for the server's prefix cache: fixed text, the image, fixed text, then what
varies between calls.
"""

from importlib import import_module

from atlaskit.agents.prompts.master import DecisionCall, GlanceCall, ProbeCall, ReviewCall, TaskCall
from atlaskit.agents.prompts.worker import StepCall, Turn
from atlaskit.models.presets import preset_for
from atlaskit.models.protocol import Model, Request

Call = TaskCall | ProbeCall | StepCall | ReviewCall | DecisionCall | GlanceCall
"""The calls of Video-RLM."""


def request_for(model: Model, call: Call) -> Request:
    """Return the request that asks a model a call: in the words that its preset names, if any."""
    words = preset_for(model).words
    # By name, because a module of words knows the calls: it is above this one.
    return import_module(words).request(call) if words else call.request()


__all__ = [
    "DecisionCall",
    "GlanceCall",
    "ProbeCall",
    "ReviewCall",
    "StepCall",
    "TaskCall",
    "Turn",
    "request_for",
]
