"""The words of the other systems, one module each: messages, the schema of the reply, and the facts
that an oracle reads."""

from atlaskit.methods.prompts.baselines import CaptionCall, FramesCall, TextCall
from atlaskit.methods.prompts.clips import ClipCall, EvidenceCall
from atlaskit.methods.prompts.controller import ControllerCall, Tool, Turn
from atlaskit.methods.prompts.dvd import BrowseCall
from atlaskit.methods.prompts.inspect import InspectCall
from atlaskit.methods.prompts.mapreduce import GoalCall, MapCall, OverviewCall, ReduceCall, SceneLookCall
from atlaskit.methods.prompts.scenes import CharactersCall, ContinuesCall, SceneCall
from atlaskit.methods.prompts.search import QueriesCall
from atlaskit.methods.prompts.stills import StillCall
from atlaskit.methods.prompts.videoagent import JudgeCall, PickCall
from atlaskit.methods.prompts.videoarm import SnapshotCall
from atlaskit.methods.prompts.videotree import RelevanceCall
from atlaskit.methods.prompts.worldmm import ConsolidateCall, FactsCall, SummaryCall

__all__ = [
    "BrowseCall",
    "CaptionCall",
    "CharactersCall",
    "ClipCall",
    "ConsolidateCall",
    "ContinuesCall",
    "ControllerCall",
    "EvidenceCall",
    "FactsCall",
    "FramesCall",
    "GoalCall",
    "InspectCall",
    "JudgeCall",
    "MapCall",
    "OverviewCall",
    "PickCall",
    "QueriesCall",
    "ReduceCall",
    "RelevanceCall",
    "SceneCall",
    "SceneLookCall",
    "SnapshotCall",
    "StillCall",
    "SummaryCall",
    "TextCall",
    "Tool",
    "Turn",
]
