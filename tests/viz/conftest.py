"""Runs that several tests of displays use."""

from dataclasses import replace

import pytest
from support.stand_ins import ALL_HOSTILE, HOSTILE, with_hostile_text

from atlaskit.runs.events import Start
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace


@pytest.fixture
def hostile(eventful: Result) -> Result:
    """A run whose texts are all hostile."""
    events = [with_hostile_text(event) for event in eventful.trace]
    question = replace(eventful.question, text=ALL_HOSTILE[:-1], choices=(HOSTILE[0], HOSTILE[1], ALL_HOSTILE[:-1]))
    settings = {**eventful.settings, "model": ALL_HOSTILE, "parameters": {ALL_HOSTILE: ALL_HOSTILE}}
    events[0] = Start(question=question.to_json(), settings=settings)
    return replace(
        eventful,
        question=question,
        reasoning=ALL_HOSTILE,
        failure=ALL_HOSTILE,
        stop=ALL_HOSTILE,
        trace=Trace(tuple(events)),
    )
