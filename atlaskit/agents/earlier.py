"""The findings of earlier runs about a video, as text for the prompts of a later question.

A follow-up question then costs less: the plan of its search can name a place that an earlier look
noted. No part of the video counts as seen because of that, since another question needs another
look.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from atlaskit.agents.prompts.looks import Note, kept_text, notes_text
from atlaskit.errors import InputError, printable
from atlaskit.runs.events import Look, Start
from atlaskit.runs.replay import memory
from atlaskit.runs.result import Result, Run, trace_of
from atlaskit.runs.trace import Trace
from atlaskit.video.video import Video

MOST_RUNS = 8
"""The most runs whose findings are quoted: the last ones given."""
LONGEST_QUESTION = 300


def earlier_text(runs: Run | Sequence[Run], video: Video) -> str:
    """Return the findings of runs about a video: questions, answers, evidence and notes of looks.

    Args:
        runs: Results, traces or saved files, oldest first; or one of them. () gives "".
        video: The video that is asked about next.

    Raises:
        InputError: A run is about another video, or a file is no run.
    """
    is_one = isinstance(runs, str | Result | Trace) or not isinstance(runs, Sequence)
    given: Sequence[Any] = [runs] if is_one else list(runs)  # type: ignore[arg-type]
    rows = list[str]()
    for trace in [trace_of(run) for run in given][-MOST_RUNS:]:
        start = next(iter(trace.of(Start)), None)
        if start is None or start.settings.get("video") != video.fingerprint:
            raise InputError(
                f"after takes runs about the same video, {video.name}: one of them is about "
                "another."
            )
        asked = printable(str(start.question.get("text", "")), LONGEST_QUESTION)
        rows.append(f"Learned when this was asked before: {json.dumps(asked, ensure_ascii=False)}")
        kept = memory(trace).scratchpad
        if len(kept):
            rows.append(kept_text(kept))
        notes = [
            Note(look.intervals_s, max(look.steps_s), look.note, bool(look.found))
            for look in trace.of(Look)
        ]
        if notes:
            rows.append(notes_text(notes))
    return "\n".join(rows)
