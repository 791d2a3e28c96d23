"""`dvd`: what its controller can name, what it is told, and what it costs."""

import pytest
from methods.controllers import CLIPS, Scripted, ranges, told
from methods.every import ask_by
from support.searches import text_of

from atlaskit.caching.cache import Cache
from atlaskit.methods.controller import InspectCall
from atlaskit.methods.dvd import BrowseCall
from atlaskit.methods.run import EvidenceCall
from atlasworld import Oracle, World

SEARCH = {"action": "clip_search", "description": "red circle star square", "k": 4}


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_the_last_turn_can_only_finish_and_is_not_asked_for(tiny: World, cache: Cache, turns: int) -> None:
    model = Scripted(Oracle(tiny), [SEARCH] * 20)
    result = ask_by("dvd", tiny, model, cache, turns=turns)
    assert len(model.of("dvd")) == turns - 1 and result.prediction is not None


def test_a_record_is_told_once(tiny: World, cache: Cache) -> None:
    model = Scripted(Oracle(tiny), [SEARCH, {**SEARCH, "k": 6}])
    ask_by("dvd", tiny, model, cache)
    first, second = told(model, "dvd")
    rows = [row for row in first.split("\n") if row.startswith("Clip ")]
    assert len(rows) == 4 and first.startswith("4 clips, best first: ")
    assert second.startswith("6 clips, best first: ") and "You were given the records of clips" in second
    assert not [row for row in rows if row in second]
    decision = model.requests[-1].facts
    assert isinstance(decision, EvidenceCall) and all(row in decision.text for row in rows)
    assert not model.requests[-1].images, "it decides from words"


def test_what_a_tool_cannot_do_is_told(tiny: World, cache: Cache) -> None:
    look = {"action": "frame_inspect", "question": "What?"}
    actions = [
        {**look, "ranges": ranges((5, 2))},
        {**SEARCH, "description": "zzz"},
        {**look, "ranges": ranges((1, 2))},
        {"action": "global_browse", "query": "What?"},
    ]
    model = Scripted(Oracle(tiny), actions, fails=("inspect", "browse"))
    result = ask_by("dvd", tiny, model, cache)
    assert [text.split(":")[0].split(".")[0] for text in told(model, "dvd")] == [
        "Not possible",
        "No record shares a word with this description",
        "Clips 1–2 (0",
        "The archive could not be read this time",
    ]
    assert "could not be looked at this time" in told(model, "dvd")[2]
    assert len(model.of("inspect")) == 1, "an illegal range is no call"
    assert result.prediction is not None and len(result.trace.of("failure")) == 2


def test_a_close_look_shows_frames_of_the_named_clips_alone(tiny: World, cache: Cache) -> None:
    named = ranges((0, 1), (1, 3), (8, 8), (11, 11))
    model = Scripted(Oracle(tiny), [{"action": "frame_inspect", "question": "How many are red?", "ranges": named}])
    result = ask_by("dvd", tiny, model, cache)
    (request,) = model.of("inspect")
    call = request.facts
    assert isinstance(call, InspectCall) and "How many are red?" in text_of(request)
    assert tiny.questions[0].text not in text_of(request), "the worker gets the controller's question, not the user's"
    moments = [moment for view in call.views for moment in view.moments]
    assert moments == sorted(moments) and 40 <= len(moments) <= 50
    assert {int(moment // 10) for moment in moments} == {0, 1, 2, 3, 8, 11}
    turn = next(event for event in result.trace.of("turn") if event.step == "inspect")
    assert turn.intervals_s == ((0, 40), (80, 90), (110, 120))


def test_browsing_reads_the_best_captions_in_order_of_time(tiny: World, cache: Cache) -> None:
    browse = {"action": "global_browse", "query": "Who wins?"}
    for top, rows in ((300, CLIPS), (5, 5)):
        model = Scripted(Oracle(tiny), [browse])
        ask_by("dvd", tiny, model, cache, top=top)
        (request,) = model.of("browse")
        call = request.facts
        assert isinstance(call, BrowseCall) and call.query == "Who wins?" and not request.images
        numbers = [int(row.split()[1]) for row in call.captions.split("\n")]
        assert numbers == sorted(numbers) and len(numbers) == rows
        assert "circle (clips" in call.subjects or "square (clips" in call.subjects


def test_a_question_costs_at_most_twenty_nine_calls_beside_the_clips(tiny: World, cache: Cache) -> None:
    model = Scripted(Oracle(tiny), [{"action": "global_browse", "query": f"Query {n}?"} for n in range(20)])
    assert ask_by("dvd", tiny, model, cache).total.calls == CLIPS + 29
