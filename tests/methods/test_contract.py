"""What every method promises, whichever it is: one test each, over all of METHODS."""

import json
from pathlib import Path
from typing import Any

import pytest
from methods.every import SMALL, ask_by
from support.invariants import check_books
from support.model_doubles import Babbler, Counting, Failing, Flaky, Slow, Spiteful
from support.stand_ins import checked_html

from atlaskit.agents.budget import Budget
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError
from atlaskit.evaluation.baselines import METHODS, settings_of
from atlaskit.models.cached import PER_VIDEO_STEPS, Call
from atlaskit.models.names import Preset
from atlaskit.models.protocol import MOST_IMAGES, Refused, Unreachable
from atlaskit.runs.archive import export, import_
from atlaskit.runs.trace import Trace
from atlaskit.video.opening import open_video
from atlasworld import Oracle, World

ALL = sorted(METHODS)
STEPS: dict[str, tuple[str, ...]] = {
    "blind": (),
    "captions": ("caption",),
    "dvd": ("clip", "dvd", "browse", "inspect"),
    "mapreduce": ("clip", "continues", "scene", "characters", "map", "reduce", "goal", "look", "overview"),
    "mapreduce-clips": ("clip", "characters", "map", "reduce", "goal", "look", "overview"),
    "native": (),
    "retrieval": ("clip",),
    "subtitles": (),
    "uniform": (),
    "videoagent": ("frame", "videoagent", "pick"),
    "videoarm": ("videoarm", "snapshot", "inspect"),
    "videotree": ("frame", "relevance"),
    "worldmm": ("clip", "summary", "facts", "worldmm"),
}
"""The steps before the decision that a method's calls have."""
FREE_WORDS = tuple(sorted(STEPS.keys() - {"blind", "captions", "subtitles", "uniform"}))
"""The methods that need a model which writes free text."""
WATCHING = sorted(set(METHODS) - {"blind", "subtitles"})
"""The methods that show the model frames."""


def various(world: World) -> list[int]:
    """Return the numbers of questions about all of the video, what is said, and what is rare."""
    categories = {question.category: number for number, question in enumerate(world.questions)}
    return [categories[each] for each in ("SSS", "T2O", "S2O")]


def check_spans(result: Any, duration_s: float) -> None:
    """Check that whatever a result's turns name lies inside the video."""
    spans = [span for turn in result.trace.of("turn") for span in turn.intervals_s]
    assert all(0 <= start_s < end_s <= duration_s for start_s, end_s in spans)


@pytest.mark.family
@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"video-rlm", "composite"}))
def test_every_call_is_an_event_of_the_trace(name: str, tiny: World, cache: Cache) -> None:
    taken, oracle = set[str](), Counting(Oracle(tiny))
    for number in various(tiny):
        result = ask_by(name, tiny, oracle, cache, number)
        assert len(result.trace.of("turn")) + 1 == result.total.calls, "and one is the decision"
        check_books(result, Budget())
        check_spans(result, tiny.drawn.duration_s)
        taken.update(call.step for call in result.calls)
    assert taken == {*STEPS[name], "decision"}
    assert all(len(request.images) <= MOST_IMAGES for request in oracle.requests)


@pytest.mark.parametrize("name", ALL)
def test_a_replay_elsewhere_makes_no_call_and_needs_no_file(name: str, tiny: World, tmp_path: Path) -> None:
    cache, other = Cache(tmp_path / "one"), Cache(tmp_path / "other")
    first = ask_by(name, tiny, Oracle(tiny), cache)
    assert first.spent.calls > 0 and first.prediction is not None
    assert first.settings["model"].startswith("oracle:")
    assert Trace.of_rows("it", first.trace.to_json()) == first.trace
    export(tmp_path / "run.jsonl.xz", first, cache=cache)
    import_(tmp_path / "run.jsonl.xz", cache=other)
    without_file = open_video(fingerprint=tiny.drawn.fingerprint, cache=other)
    again = METHODS[name](without_file, tiny.questions[0], vlm=Oracle(tiny), replay=True, cache=other, **SMALL[name])
    assert again.to_json() == first.to_json() and again.spent.calls == again.spent.frames_decoded == 0


@pytest.mark.family
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("budget", [Budget(calls=20), Budget(tokens=8_000), Budget()], ids=str)
@pytest.mark.parametrize("model_of", [lambda world: Babbler(3), Oracle], ids=["babbler", "oracle"])
def test_neither_threads_nor_timing_change_anything(name: str, model_of: Any, budget: Budget, tiny: World) -> None:
    one = ask_by(name, tiny, model_of(tiny), Cache(None), threads=1, budget=budget)
    many = ask_by(name, tiny, Slow(model_of(tiny), 7), Cache(None), threads=8, budget=budget)
    assert one.to_json() == many.to_json()


@pytest.mark.family
@pytest.mark.parametrize(("name", "step"), [(name, step) for name, each in STEPS.items() for step in each])
def test_a_failed_step_costs_the_step_and_not_the_answer(name: str, step: str, tiny: World) -> None:
    failed = 0
    for number in various(tiny):
        flaky = Flaky(Oracle(tiny), 1, steps=(step,))
        result = ask_by(name, tiny, flaky, Cache(None), number)
        assert result.prediction is not None and result.stop == "answered"
        assert result.failure == ("the network is down" if flaky.failed else "")
        failed += flaky.failed
        if failed:
            break
    assert failed


@pytest.mark.parametrize("name", STEPS)
def test_a_failed_decision_costs_the_answer_and_a_missing_server_ends_the_run(name: str, tiny: World) -> None:
    result = ask_by(name, tiny, Flaky(Oracle(tiny), 1, steps=("decision",)), Cache(None))
    assert result.prediction is None and result.stop == "model" and result.failure == "the network is down"
    model = Failing(Babbler(), lambda *_: Refused("wrong key", is_final=True))
    result = ask_by(name, tiny, model, Cache(None), threads=2)
    assert result.prediction is None and result.stop == "model" and result.failure == "wrong key"
    assert len(model.calls) <= 2, "as many as are in flight"
    with pytest.raises(Unreachable):
        ask_by(name, tiny, Failing(Babbler(), lambda *_: Unreachable("nobody is there")), Cache(None))


@pytest.mark.family
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("calls", [1, 3, 13])
def test_a_budget_is_hard_and_an_answer_is_given(name: str, calls: int, tiny: World) -> None:
    budget = Budget(calls=calls)
    result = ask_by(name, tiny, Oracle(tiny), Cache(None), budget=budget, threads=3)
    check_books(result, budget)
    assert result.prediction is not None and result.stop in ("answered", "calls")
    unlimited = ask_by(name, tiny, Oracle(tiny), Cache(None))
    assert unlimited.stop != "calls" and (result.total.calls < unlimited.total.calls) == (result.stop == "calls")


@pytest.mark.family
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", [Babbler, Spiteful])
def test_any_reply_is_only_text(name: str, seed: int, kind: type[Babbler], tiny: World) -> None:
    result = ask_by(name, tiny, kind(seed), Cache(None), number=seed, budget=Budget(calls=60))
    assert result.prediction is not None and not result.failure
    check_spans(result, tiny.drawn.duration_s)
    assert Trace.of_rows("it", result.trace.to_json()) == result.trace
    assert json.loads(result.to_json())["stop"] == result.stop
    if kind is Spiteful and seed == 0:
        checked_html(result)


@pytest.mark.family
@pytest.mark.parametrize("name", sorted({*WATCHING} - {"video-rlm", "composite", "uniform"}))
def test_the_oracle_knows_only_what_it_reads_and_sees(name: str, tiny: World, cache: Cache) -> None:
    blind = Oracle(tiny, miss=1)
    for number in various(tiny):
        assert ask_by(name, tiny, blind, cache, number, subtitles=False).reasoning.startswith("0 of ")


@pytest.mark.parametrize("name", FREE_WORDS)
def test_a_model_of_fixed_forms_is_refused_before_any_call(name: str, tiny: World) -> None:
    model = Counting(Babbler())
    model.name = "taught@1f0c"
    model.preset = Preset(words=lambda call: call.request())
    with pytest.raises(InputError, match=f"^{name} needs a model that writes free text, and taught@1f0c"):
        ask_by(name, tiny, model, Cache(None))
    assert model.calls == []


@pytest.mark.parametrize(
    ("names", "wrong", "told"),
    [
        (ALL, {"threads": 0}, "is a whole number"),
        (ALL, {"clip_s": float("nan")}, "clip_s must be a positive number of seconds"),
        (ALL, {"size": 4}, "at least 16 pixels"),
        (ALL, {"size": 9_000}, "A view is at most 8192 pixels wide"),
        (ALL, {"fit": "crop"}, "fit is"),
        (["captions"], {"per_clip": 5}, "per_clip must be a square number"),
        (["dvd", "videoarm"], {"frames": 257}, "frames"),
        (["native"], {"tokens": 3}, "tokens must be at least"),
        (["native"], {"fps": 0.0}, "fps"),
        (["uniform"], {"per_image": 3}, "per_image"),
        (["videotree"], {"clusters": 40}, "most_clusters must be at least clusters, 40; got 32"),
        (["worldmm"], {"rounds": 6}, "rounds may be at most 5"),
    ],
)
def test_a_wrong_setting_costs_no_call(names: list[str], wrong: dict[str, Any], told: str, tiny: World) -> None:
    model = Counting(Oracle(tiny))
    having = [name for name in names if wrong.keys() <= set(settings_of(METHODS[name]) or ())]
    assert having and (having == names or names is ALL)
    for name in having:
        with pytest.raises(InputError, match=told) as caught:
            ask_by(name, tiny, model, Cache(None), **wrong)
        assert model.calls == [] and "\n" not in str(caught.value), name


@pytest.mark.family
@pytest.mark.parametrize("name", sorted({*WATCHING} - {"video-rlm", "composite"}))
def test_it_answers_more_than_the_question_alone(name: str, tiny: World, cache: Cache) -> None:
    def right(method: str, **errors: float) -> int:
        oracle = Oracle(tiny, **errors)  # type: ignore[arg-type]
        choices = [number for number, each in enumerate(tiny.questions) if each.kind == "choice"]
        return sum(bool(ask_by(method, tiny, oracle, cache, number).is_right) for number in choices)

    assert right(name) > max(right("blind"), right(name, miss=0.9), right(name, confuse=0.9))


@pytest.mark.family
@pytest.mark.parametrize("name", STEPS)
def test_the_second_question_pays_nothing_again_for_the_video(name: str, tiny: World, cache: Cache) -> None:
    """The question decides which frames `videoagent` and `videotree` describe."""
    first, second = (
        [call.views for call in ask_by(name, tiny, Oracle(tiny), cache, number).calls if is_paid_per_video(call)]
        for number in (0, 1)
    )
    assert bool(first) == (name not in ("blind", "native", "subtitles", "uniform", "videoarm"))
    assert not {views for views in second if views} & set(first)
    assert second == [] or name in ("videoagent", "videotree")


def is_paid_per_video(call: Call) -> bool:
    return call.live and call.step in PER_VIDEO_STEPS


def test_the_second_method_pays_nothing_for_clips(tiny: World, cache: Cache) -> None:
    for number, name in enumerate(("retrieval", "mapreduce", "mapreduce-clips", "worldmm", "dvd")):
        clips = [call for call in ask_by(name, tiny, Oracle(tiny), cache).calls if call.step == "clip"]
        assert clips and {call.live for call in clips} == {number == 0}, name
