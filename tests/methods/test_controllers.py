"""The methods with a controller: its choices, what it reads after each turn, and what it costs."""

from collections.abc import Mapping, Sequence
from typing import Any

from methods.every import ask_by
from support.model_doubles import Babbler, Counting, Failing, Overruled
from support.searches import text_of
from support.stand_ins import Flat

from atlaskit.agents.verbalize import MOST_SUBTITLES
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.evaluation.baselines import videoarm
from atlaskit.methods.controller import InspectCall
from atlaskit.methods.dvd import BrowseCall
from atlaskit.methods.run import EvidenceCall
from atlaskit.models.protocol import Model, Refused, Request, Usage
from atlaskit.video.subtitles import Line, Subtitles
from atlasworld import Oracle, World

CLIPS = 12
"""Clips of 10 s in the world of two minutes."""


def scripted(model: Model, actions: Sequence[Mapping[str, Any]], fails: Sequence[str] = ()) -> Counting:
    """Return a model whose controller takes the actions of a script, then finishes.

    Calls of the steps in `fails` fail.
    """

    def act(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        number = len(request.facts.turns)  # type: ignore[attr-defined]
        action = actions[number] if number < len(actions) else {"action": "finish"}
        return {"thought": f"Turn {number}.", "action": dict(action)}

    failed = Refused("the call failed", usage=Usage(calls=1))
    acting = Overruled(model, dvd=act, videoarm=act)
    return Failing(acting, lambda request, _: failed if request.step in fails else None)


def asked(model: Counting, step: str) -> list[Request]:
    """Return the requests of a step, in order."""
    return [request for request in model.requests if request.step == step]


def told(model: Counting, step: str) -> list[str]:
    """Return what the controller was told after each of its turns, as its last request has it."""
    return [turn.outcome.text for turn in asked(model, step)[-1].facts.turns]  # type: ignore[attr-defined]


def ranges(*pairs: tuple[int, int]) -> list[dict[str, int]]:
    """Return ranges of clips as an action names them."""
    return [{"first": first, "last": last} for first, last in pairs]


SEARCH = {"action": "clip_search", "description": "red circle star square", "k": 4}
SNAP = {"action": "scene_snapper", "ranges": ranges((0, CLIPS - 1)), "frames": 32}
HEAR = {"action": "transcript", "ranges": ranges((0, CLIPS - 1))}
LOOK = {"action": "clip_analyzer", "range": {"first": 3, "last": 4}, "question": "How many are red?"}


def test_a_record_is_told_once(tiny: World, cache: Cache) -> None:
    model = scripted(Oracle(tiny), [SEARCH, {**SEARCH, "k": 6}])
    ask_by("dvd", tiny, model, cache)
    first, second = told(model, "dvd")
    rows = [row for row in first.split("\n") if row.startswith("Clip ")]
    assert len(rows) == 4 and first.startswith("4 clips, best first: ")
    assert second.startswith("6 clips, best first: ") and "You were given the records of clips" in second
    assert not [row for row in rows if row in second]
    decision = model.requests[-1].facts
    assert isinstance(decision, EvidenceCall) and all(row in decision.text for row in rows)
    assert not model.requests[-1].images, "it decides from words"


def test_dvd_says_what_a_tool_cannot_do(tiny: World, cache: Cache) -> None:
    look = {"action": "frame_inspect", "question": "What?"}
    actions = [
        {**look, "ranges": ranges((5, 2))},
        {**SEARCH, "description": "zzz"},
        {**look, "ranges": ranges((1, 2))},
        {"action": "global_browse", "query": "What?"},
    ]
    model = scripted(Oracle(tiny), actions, fails=("inspect", "browse"))
    result = ask_by("dvd", tiny, model, cache)
    assert [text.split(":")[0].split(".")[0] for text in told(model, "dvd")] == [
        "Not possible",
        "No record shares a word with this description",
        "Clips 1–2 (0",
        "The archive could not be read this time",
    ]
    assert "could not be looked at this time" in told(model, "dvd")[2]
    assert len(asked(model, "inspect")) == 1, "an illegal range is no call"
    assert result.prediction is not None and len(result.trace.of("failure")) == 2


def test_a_close_look_shows_frames_of_the_named_clips_alone(tiny: World, cache: Cache) -> None:
    named = ranges((0, 1), (1, 3), (8, 8), (11, 11))
    model = scripted(Oracle(tiny), [{"action": "frame_inspect", "question": "How many are red?", "ranges": named}])
    result = ask_by("dvd", tiny, model, cache)
    (request,) = asked(model, "inspect")
    call = request.facts
    assert isinstance(call, InspectCall) and "How many are red?" in text_of(request)
    assert tiny.questions[0].text not in text_of(request), "the worker gets the controller's question, not the user's"
    moments = [moment for view in call.views for moment in view.moments]
    assert moments == sorted(moments) and 40 <= len(moments) <= 50
    assert {int(moment // 10) for moment in moments} == {0, 1, 2, 3, 8, 11}
    turn = next(event for event in result.trace.of("turn") if event.step == "inspect")
    assert turn.intervals_s == ((0, 40), (80, 90), (110, 120))


def test_browsing_reads_the_best_captions_and_fills_up_with_others(tiny: World, cache: Cache) -> None:
    for top, rows in ((300, CLIPS), (5, 5)):
        model = scripted(Oracle(tiny), [{"action": "global_browse", "query": "Who wins?"}])
        ask_by("dvd", tiny, model, cache, top=top)
        (call,) = model.of(BrowseCall)
        assert call.query == "Who wins?" and len(call.captions.split("\n")) == rows
        assert "circle (clips" in call.subjects or "square (clips" in call.subjects


WHICH = Question("What is it?", ("a circle", "a square"))


class Ten(Flat):
    """Ten hours of one colour, with a line every ten seconds."""

    def __init__(self, words: str = "So it goes.") -> None:
        super().__init__()
        self.duration_s, self.fingerprint = 36_000.0, f"ten-{words}"
        self.subtitles = Subtitles(tuple(Line(10.0 * n + 1, 10.0 * n + 3, f"{words} {n}") for n in range(3600)))


def test_only_the_latest_snapshot_is_shown_and_its_sentence_outlasts_it(tiny: World, cache: Cache) -> None:
    second = {**SNAP, "ranges": ranges((6, 7), (2, 2)), "frames": 40}
    model = scripted(Oracle(tiny), [SNAP, LOOK, second, HEAR])
    result = ask_by("videoarm", tiny, model, cache)
    shown = [
        [view.grid.start_s for view in request.images if isinstance(view, View)] for request in asked(model, "videoarm")
    ]
    assert shown == [[], [0, 60], [0, 60], [20, 60], [20, 60]]
    first_note, _, second_note, _ = told(model, "videoarm")
    assert first_note.startswith("Sheet 1: clips 0–5.\nSheet 2: clips 6–11.\nClips 0–11 (0:00.0–2:00.0): ")
    assert second_note.startswith(
        "Sheet 1: clips 2.\nSheet 2: clips 6–7.\nClips 2 (0:20.0–0:30.0), 6–7 (1:00.0–1:20.0):"
    )
    decision = model.requests[-1]
    call = decision.facts
    assert isinstance(call, EvidenceCall) and [view.grid.start_s for view in call.views] == [20, 60]
    for text in (first_note, second_note, "thought: Turn 0.", "thought: Turn 3."):
        assert text in call.text
    spans = [event.intervals_s for event in result.trace.of("turn") if event.step == "snapshot"]
    assert spans == [((0, 120),), ((20, 30), (60, 80))]


def test_videoarm_says_what_a_tool_cannot_do(cache: Cache) -> None:
    ten = Ten("word " * 20)
    whole, little = ranges((0, 3599)), ranges((0, 99))
    actions = [
        {**HEAR, "ranges": whole},
        {**HEAR, "ranges": little},
        {**SNAP, "ranges": ranges((9, 1))},
        LOOK,
        {**SNAP, "ranges": whole},
    ]
    model = scripted(Babbler(), actions, fails=("inspect", "snapshot"))
    result = videoarm(ten, WHICH, vlm=model, cache=cache, size=32)
    texts = told(model, "videoarm")
    assert texts[0].startswith("Not possible: Clips 0–3599 (0:00.0–10:00:00.0) hold too many words.")
    assert texts[0].endswith("Name at most 5% of these clips.")
    assert texts[1].count("\n") == 100 and len(texts[1]) <= MOST_SUBTITLES + 200
    assert "ends before it begins" in texts[2]
    assert texts[3].endswith("could not be looked at this time.") and texts[4].endswith("No note was taken of them.")
    assert len(asked(model, "inspect")) == len(asked(model, "snapshot")) == 1, "an illegal range is no call"
    assert asked(model, "videoarm")[-1].images, "the controller sees the sheets all the same"
    assert result.prediction is not None and len(result.trace.of("failure")) == 2


def test_what_a_question_costs_at_most_and_in_ten_hours_too(tiny: World, cache: Cache) -> None:
    browse = [{"action": "global_browse", "query": f"Query {n}?"} for n in range(20)]
    assert ask_by("dvd", tiny, scripted(Oracle(tiny), browse), cache).total.calls == CLIPS + 29
    snaps = [{**SNAP, "frames": 32 + 16 * (number % 8)} for number in range(20)]
    assert ask_by("videoarm", tiny, scripted(Oracle(tiny), snaps), cache).total.calls == 19
    assert videoarm(Ten(), WHICH, vlm=scripted(Babbler(), snaps), cache=cache, size=32).total.calls == 19
