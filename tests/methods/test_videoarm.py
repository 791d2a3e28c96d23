"""`videoarm`: what its controller can name, sees and is told, and what it costs."""

from methods.controllers import CLIPS, Scripted, ranges, told
from methods.every import ask_by
from support.model_doubles import Babbler
from support.stand_ins import Flat

from atlaskit.agents.verbalize import MOST_SUBTITLES
from atlaskit.caching.cache import Cache
from atlaskit.environment.question import Question
from atlaskit.environment.render import View
from atlaskit.evaluation.baselines import videoarm
from atlaskit.methods.run import EvidenceCall
from atlaskit.methods.videoarm import MOST_FRAMES, SnapshotCall
from atlaskit.video.subtitles import Line, Subtitles
from atlasworld import Oracle, World

WHICH = Question("What is it?", ("a circle", "a square"))
WHOLE = {"action": "scene_snapper", "ranges": ranges((0, CLIPS - 1)), "frames": 32}
HEAR = {"action": "transcript", "ranges": ranges((0, CLIPS - 1))}
LOOK = {"action": "clip_analyzer", "range": {"first": 3, "last": 4}, "question": "How many are red?"}


class Ten(Flat):
    """Ten hours of one colour, with a line every ten seconds."""

    def __init__(self, words: str = "So it goes.") -> None:
        super().__init__()
        self.duration_s, self.fingerprint = 36_000.0, f"ten-{words}"
        self.subtitles = Subtitles(tuple(Line(10.0 * n + 1, 10.0 * n + 3, f"{words} {n}") for n in range(3600)))


def test_a_snapshot_can_cover_ten_hours(cache: Cache) -> None:
    whole = {"action": "scene_snapper", "ranges": ranges((0, 3599)), "frames": MOST_FRAMES}
    model = Scripted(Babbler(), [whole])
    videoarm(Ten(), WHICH, vlm=model, cache=cache, size=32)
    (request,) = model.of("snapshot")
    call = request.facts
    assert isinstance(call, SnapshotCall) and len(call.views) == 9
    assert call.views[0].grid.start_s == 0 and call.views[-1].grid.end_s == 36_000
    assert sum(view.grid.size for view in call.views) == MOST_FRAMES
    assert "Sheet 9: clips 3200–3599." in told(model, "videoarm")[0]


def test_only_the_latest_snapshot_is_shown_and_its_sentence_outlasts_it(tiny: World, cache: Cache) -> None:
    second = {**WHOLE, "ranges": ranges((6, 7), (2, 2)), "frames": 40}
    model = Scripted(Oracle(tiny), [WHOLE, LOOK, second, HEAR])
    result = ask_by("videoarm", tiny, model, cache)
    asked = [[view for view in request.images if isinstance(view, View)] for request in model.of("videoarm")]
    shown = [[view.grid.start_s for view in views] for views in asked]
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


def test_what_a_tool_cannot_do_is_told(cache: Cache) -> None:
    ten = Ten("word " * 20)
    whole, little = ranges((0, 3599)), ranges((0, 99))
    actions = [
        {**HEAR, "ranges": whole},
        {**HEAR, "ranges": little},
        {**HEAR, "ranges": ranges((9, 1))},
        {**WHOLE, "ranges": ranges((9, 1))},
        {**LOOK, "range": {"first": 9, "last": 1}},
        LOOK,
        {**WHOLE, "ranges": whole},
    ]
    model = Scripted(Babbler(), actions, fails=("inspect", "snapshot"))
    result = videoarm(ten, WHICH, vlm=model, cache=cache, size=32)
    texts = told(model, "videoarm")
    assert texts[0].startswith("Not possible: Clips 0–3599 (0:00.0–10:00:00.0) hold too many words.")
    assert texts[0].endswith("Name at most 5% of these clips.")
    assert texts[1].count("\n") == 100 and len(texts[1]) <= MOST_SUBTITLES + 200
    assert all("ends before it begins" in text for text in texts[2:5])
    assert texts[5].endswith("could not be looked at this time.") and texts[6].endswith("No note was taken of them.")
    assert len(model.of("inspect")) == len(model.of("snapshot")) == 1, "an illegal range is no call"
    assert model.of("videoarm")[-1].images, "the controller sees the sheets all the same"
    assert result.prediction is not None and len(result.trace.of("failure")) == 2


def test_a_question_costs_at_most_nineteen_calls_in_ten_hours_too(tiny: World, cache: Cache) -> None:
    snaps = [{**WHOLE, "frames": 32 + 16 * (number % 8)} for number in range(20)]
    assert ask_by("videoarm", tiny, Scripted(Oracle(tiny), snaps), cache).total.calls == 19
    assert videoarm(Ten(), WHICH, vlm=Scripted(Babbler(), snaps), cache=cache, size=32).total.calls == 19
