"""The calls that agents make, and their prompts.

A call is a frozen dataclass of facts. Its `request()` returns the messages, made of those facts,
and the schema of the answer. The oracle and nano's teacher read the facts instead of the messages.

Each prompt is ordered for the server's prefix cache: fixed text, the image, fixed text, then what
varies between calls. The text of prompts is part of cache keys, and nano is trained on it, so it
must not change.
"""

from atlaskit.agents.prompts.baselines import CaptionCall, FramesCall, TextCall
from atlaskit.agents.prompts.clips import ClipCall, EvidenceCall
from atlaskit.agents.prompts.controller import ControllerCall, Tool, Turn
from atlaskit.agents.prompts.dvd import BrowseCall
from atlaskit.agents.prompts.inspect import InspectCall
from atlaskit.agents.prompts.mapreduce import GoalCall, MapCall, OverviewCall, ReduceCall, SceneLookCall
from atlaskit.agents.prompts.master import DecisionCall, GlanceCall, ProbeCall, ReviewCall, TaskCall
from atlaskit.agents.prompts.scenes import CharactersCall, ContinuesCall, SceneCall
from atlaskit.agents.prompts.search import QueriesCall
from atlaskit.agents.prompts.stills import StillCall
from atlaskit.agents.prompts.videoagent import JudgeCall, PickCall
from atlaskit.agents.prompts.videoarm import SnapshotCall
from atlaskit.agents.prompts.videotree import RelevanceCall
from atlaskit.agents.prompts.worker import StepCall, action_note, action_result
from atlaskit.agents.prompts.worldmm import ConsolidateCall, FactsCall, SummaryCall

__all__ = [
    "BrowseCall",
    "CaptionCall",
    "CharactersCall",
    "ClipCall",
    "ConsolidateCall",
    "ContinuesCall",
    "ControllerCall",
    "DecisionCall",
    "EvidenceCall",
    "FactsCall",
    "FramesCall",
    "GlanceCall",
    "GoalCall",
    "InspectCall",
    "JudgeCall",
    "MapCall",
    "OverviewCall",
    "PickCall",
    "ProbeCall",
    "QueriesCall",
    "ReduceCall",
    "RelevanceCall",
    "ReviewCall",
    "SceneCall",
    "SceneLookCall",
    "SnapshotCall",
    "StepCall",
    "StillCall",
    "SummaryCall",
    "TaskCall",
    "TextCall",
    "Tool",
    "Turn",
    "action_note",
    "action_result",
]
