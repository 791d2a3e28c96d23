"""A call of each kind that the methods make, on fixed input."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import atlasworld as aw
from atlaskit.caching.cache import Cache
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.environment.render import Frame, Sheet, View
from atlaskit.environment.tiles import Look
from atlaskit.evaluation.baselines import METHODS
from atlaskit.methods.controller import ControllerCall, InspectCall, Outcome, Turn
from atlaskit.methods.dvd import BrowseCall
from atlaskit.methods.mapreduce import GoalCall, MapCall, OverviewCall, ReduceCall, SceneLookCall
from atlaskit.methods.records import ClipCall, StillCall
from atlaskit.methods.retrieval import QueriesCall
from atlaskit.methods.run import EvidenceCall
from atlaskit.methods.scenes import CharactersCall, ContinuesCall, SceneCall
from atlaskit.methods.videoagent import JudgeCall, PickCall
from atlaskit.methods.videoarm import SnapshotCall
from atlaskit.methods.videotree import RelevanceCall
from atlaskit.methods.worldmm import ConsolidateCall, FactsCall, SummaryCall
from atlaskit.video.subtitles import Line
from atlasworld import Oracle
from support.model_doubles import Counting
from support.stand_ins import Flat


def method_calls(cache: Cache) -> Iterator[tuple[str, Any]]:
    """Yield a call of each kind, with a name, on fixed input."""
    video = Flat()
    which = Question("Which comes first?", ("a circle", "a star"))
    when = Question("When does it rain?", kind="when", several=True)
    said = (Line(1.0, 2.5, "Hello “there”"), Line(3.0, 4.0, "Bye"))
    rows = ("Clip 0 (0:00.0–0:10.0): A dog.", "Clip 1 (0:10.0–0:16.0): A cat.")
    first = View(video, Grid(0.0, 8.0, 3), Look(48, "contain", labels="index"), cache=cache)
    second = View(video, Grid(8.0, 16.0, 4), Look(48, "native", labels="index"), cache=cache)
    pad = Scratchpad().add([Evidence(5.0, 0.0, 10.0, "", 1.0, ""), Evidence(13.0, 10.0, 16.0, "", 1.0, "")])
    sheet = Sheet(video, pad, Look(48, "contain"), cache=cache)
    yield "ClipCall", ClipCall(first, said)
    yield "ClipCall, silent", ClipCall(first, ())
    yield "EvidenceCall", EvidenceCall(which, 16.0, "\n".join(rows), (first, second))
    yield "EvidenceCall, when, nothing found", EvidenceCall(when, 16.0, "")
    yield "StillCall", StillCall(Frame(video, 2.0, Look(96, "native"), cache=cache), said)
    yield "StillCall, silent", StillCall(Frame(video, 2.0, Look(96, "contain"), cache=cache), ())
    yield "QueriesCall", QueriesCall(which)
    yield "ContinuesCall", ContinuesCall(first, *rows)
    yield "SceneCall", SceneCall(second, rows)
    yield "CharactersCall", CharactersCall((("Ann", "tall"),), (("a woman", "in red"), ("Bob", "")))
    yield "MapCall", MapCall(which, dict(zip((3, 4), rows, strict=True)), (sheet,))
    yield "ReduceCall", ReduceCall(which, 16.0, ("Scenes 3–4: A dog.",), dict(zip((3, 4), rows, strict=True)))
    yield "GoalCall", GoalCall(which, rows)
    yield "SceneLookCall", SceneLookCall(which, "Is it a dog?", rows[0], (first, second))
    yield "OverviewCall", OverviewCall(which, "How many dogs?", rows, sheet)
    yield "BrowseCall", BrowseCall("Who is it?", 16.0, "dog (clips 0): brown", "\n".join(rows))
    yield "BrowseCall, empty", BrowseCall("Who is it?", 16.0, "", "")
    yield "InspectCall, found", InspectCall("What is red?", (first,), "found")
    yield "InspectCall, confidence", InspectCall("What is red?", (first, second), "confidence")
    yield "SnapshotCall", SnapshotCall((first, second))
    yield "RelevanceCall", RelevanceCall(which, 16.0, rows)
    frames = tuple((time_s, f"Frame at {time_s}: A dog.") for time_s in (4.0, 12.0))
    yield "JudgeCall", JudgeCall(which, 16.0, frames, ((0.0, 4.0), (4.0, 12.0), (12.0, 16.0)), 2)
    yield "PickCall", PickCall(which, "a dog", second, (0, 3, 5))
    yield "SummaryCall", SummaryCall((0.0, 16.0), rows)
    yield "FactsCall", FactsCall(rows)
    yield "ConsolidateCall", ConsolidateCall(("The dog is brown.",), ("The dog is old.", "It snows."))
    for method in ("dvd", "videoarm", "worldmm"):
        call = first_turn(method)
        finish = {"thought": "Enough.", "action": {"action": "finish"}}
        later = Turn(finish, Outcome("Clips 0–1: A dog.", (first,))), Turn(finish, Outcome("Nothing.", (second,)))
        yield f"ControllerCall, {method}", call
        yield f"ControllerCall, {method}, later", replace(call, turns=later)


def first_turn(method: str) -> ControllerCall:
    """Return the first turn of a method's controller about a minute of video."""
    world = aw.world(3, 60, questions=1, size=(160, 90))
    oracle = Counting(Oracle(world))
    METHODS[method](world.drawn, world.questions[0], vlm=oracle, size=32, cache=Cache(None))
    turn: ControllerCall = oracle.of(ControllerCall)[0]
    return turn
