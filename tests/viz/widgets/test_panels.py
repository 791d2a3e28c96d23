"""The kernel's side of the explorer's panels: words are found, questions asked, runs followed."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack
from unittest.mock import create_autospec

import pytest
from support.asking import ask
from support.media import make_video
from support.model_doubles import ATTACK, Counting, Spiteful
from support.stand_ins import Flat

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.errors import InputError, SubtitleError
from atlaskit.models.errors import ModelError
from atlaskit.models.protocol import CallControl, Reply, Request, Usage
from atlaskit.runs.result import Result
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video
from atlaskit.viz.live import thread
from atlaskit.viz.widgets import GridExplorer
from atlaskit.viz.widgets.explorer import search_panel
from atlaskit.viz.widgets.explorer.ask_panel import AskPanel
from atlaskit.viz.widgets.explorer.search_panel import LANE_MARKS, NO_SUBTITLES, SearchPanel


class FakePage:
    """Replaces the page: it records the messages that it receives."""

    def __init__(self, explorer: GridExplorer) -> None:
        self.explorer, self.sent = explorer, list[tuple[dict[str, Any], Sequence[bytes]]]()
        self.receive = explorer.attach(lambda message, buffers=(): self.sent.append((message, buffers)))

    def of(self, panel: str) -> list[dict[str, Any]]:
        """Return the messages of a panel, in order."""
        return [message for message, _ in list(self.sent) if message.get("panel") == panel]

    def panel(self, kind: type) -> Any:
        return next(panel for panel in self.explorer._panels if isinstance(panel, kind))

    def find(self, words: str) -> dict[str, Any]:
        """Search for words; return what was found."""
        self.receive({"panel": "search", "want": "find", "words": words})
        assert self.panel(SearchPanel)._jobs.wait(60)
        return self.of("search")[-1]

    def request(self, want: str, **message: Any) -> dict[str, Any]:
        """Send a message to the panel that asks; return the last reply."""
        self.receive({"panel": "ask", "want": want, **message})
        return self.of("ask")[-1]

    def ask(self, question: str, choices: Sequence[str] = (), within: Any = None) -> dict[str, Any]:
        """Ask a question; return the state at the end of the run."""
        self.request("ask", question=question, choices=[*choices], within=within)
        self.panel(AskPanel).wait(120)
        assert self.explorer._mark_jobs.wait(60)
        return self.of("ask")[-1]


def page_of(video: Video, cache: Cache, **options: Any) -> FakePage:
    return FakePage(GridExplorer(video, k=4, cell=32, cache=cache, **options))


def spoken(*texts: str) -> Video:
    """Return a video of 16 s with a line each second."""
    video = Flat()
    video.subtitles = Subtitles(tuple(Line(float(second), second + 1.0, text) for second, text in enumerate(texts)))
    return video


@pytest.fixture
def draws_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are drawn after each event, not a few times a second."""
    monkeypatch.setattr(thread, "FIRST_S", 0.0)
    monkeypatch.setattr(thread, "INTERVAL_S", 0.0)


# --- search


def test_words_are_found_and_marked(cache: Cache) -> None:
    found = page_of(spoken("A goal!", "no", "What a Goal, what goals"), cache).find("goal")
    assert (found["count"], found["note"], found["words"]) == (2, "", "goal")
    assert [(hit["time_s"], hit["time"]) for hit in found["hits"]] == [(0.0, "0:00.0"), (2.0, "0:02.0")]
    assert found["hits"][1]["parts"] == [
        ["What a ", False],
        ["Goal", True],
        [", what ", False],
        ["goal", True],
        ["s", False],
    ]
    assert found["spans"] == [[0.0, 1.0], [2.0, 3.0]]
    assert found["lane"] == [[0.0, 1 / LANE_MARKS], [50 / LANE_MARKS, 51 / LANE_MARKS]]


def test_only_the_words_typed_last_are_answered(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    find = search_panel.find_words

    def slow(lines: Sequence[Line], query: str) -> Any:
        begun.set()
        assert query != "a" or go_on.wait(30)
        return find(lines, query)

    monkeypatch.setattr(search_panel, "find_words", slow)
    page = page_of(spoken("a goal"), cache)
    page.receive({"panel": "search", "want": "find", "words": "a"})
    assert begun.wait(30)
    page.receive({"panel": "search", "want": "find", "words": "goal"})
    go_on.set()
    assert page.panel(SearchPanel)._jobs.wait(30)
    assert [message["words"] for message in page.of("search")] == ["goal"]


def test_hostile_lines_are_sent_as_printable_text(cache: Cache) -> None:
    (hit,) = page_of(spoken(ATTACK), cache).find("onerror")["hits"]
    text = "".join(text for text, _ in hit["parts"])
    assert text.isprintable() and "<img src=x" in text and ["onerror", True] in hit["parts"]


def test_the_advice_for_a_video_without_subtitles_works(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code that the sentence names runs, and then words are found."""
    page = page_of(Flat(), cache)
    assert page.find("goal")["note"] == NO_SUBTITLES and page.find("goal")["count"] == 0
    make_video(tmp_path / "film.mp4", frames=60)
    lines = Subtitles((Line(1.0, 2.0, "What a goal"),))
    lines.save(tmp_path / "film.srt")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ak, "transcribe", create_autospec(ak.transcribe, return_value=lines))
    statement, explored = re.search(r"video = .*?\)(?=\.)", NO_SUBTITLES), re.search(r"ak.widgets.*\)", NO_SUBTITLES)
    others = re.findall(r'subtitles=("embedded"|ak.transcribe\(.*?\))', NO_SUBTITLES)
    assert statement and explored and len(others) == 2
    for other in ('"film.srt"', *others):
        scope: dict[str, Any] = {"ak": ak, "asr": object()}
        code = statement[0].replace('"film.srt"', other)
        if "embedded" in other:
            with pytest.raises(SubtitleError, match="no subtitle"):  # this file has no track inside
                exec(code, scope)
        else:
            exec(code, scope)
            assert FakePage(eval(explored[0], scope)).find("goal")["count"] == 1


# --- the line of code


@pytest.mark.parametrize(
    ("question", "choices", "within"),
    [
        ("Who wins?", (), None),
        ('Who\'s "first" \\ last?\nSay it.', ("it's A", 'a "B"'), (3.0, 4.5)),
        ("été \u202e \x1b[31m", (), (0.0, 16.0)),
    ],
)
def test_the_line_is_code_that_asks_just_that(
    cache: Cache, question: str, choices: tuple[str, ...], within: tuple[float, float] | None
) -> None:
    sent = page_of(Flat(), cache).request(
        "line", question=question, choices=[*choices], within=None if within is None else [*within]
    )
    assert sent["is"] == "line" and sent["line"].isprintable()
    given: dict[str, Any] = {}

    class Recorder:
        @staticmethod
        def ask(*arguments: Any, **named: Any) -> str:
            given.update(named, arguments=arguments)
            return "answered"

    scope = {"ak": Recorder, "video": "V", "vlm": "M"}
    exec(sent["line"], scope)
    expected = {"arguments": ("V", question), "vlm": "M", "show": True}
    expected |= {"choices": [*choices]} if choices else {}
    expected |= {"within": within} if within else {}
    assert scope["result"] == "answered" and given == expected


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"question": "", "choices": [], "within": None}, "The question is empty"),
        ({"question": "Who?", "choices": ["one"], "within": None}, "at least two choices"),
        ({"question": "Who?", "choices": [], "within": [4.0, 3.0]}, "a start before its end"),
        ({"question": "Who?", "choices": [], "within": [float("nan"), 3.0]}, "a start before its end"),
        ({"question": "Who?", "choices": [], "within": ["a", 3.0]}, "a start before its end"),
        ({"question": "Who?", "choices": [], "within": [99.0, 100.0]}, "both in the video"),
        ({"question": 3, "choices": [], "within": None}, "needs a text"),
        ({"question": "Who?", "choices": [3], "within": None}, "needs a text"),
    ],
)
def test_a_wrong_question_gets_a_sentence_and_starts_no_run(cache: Cache, message: dict[str, Any], words: str) -> None:
    page = page_of(Flat(), cache, vlm=Counting(Spiteful()))
    reply = page.request("ask", **message)
    assert reply["is"] == "problem" and words in reply["words"]
    assert page.request("here")["phase"] == "idle" and page.explorer.results == []


def test_the_questions_of_a_world_are_offered_where_no_others_can_be_answered(world: World, cache: Cache) -> None:
    page = FakePage(GridExplorer(world.drawn, vlm=Oracle(world), cache=cache))
    page.request("here")
    (offered,) = [message["questions"] for message in page.of("ask") if message["is"] == "questions"]
    askable = [question for question in world.questions if question.kind in ("choice", "open")]
    assert [(each["question"], tuple(each["choices"])) for each in offered] == [(q.text, q.choices) for q in askable]
    assert 0 < len(offered) < len(world.questions), "the page cannot ask for an interval"
    assert page.ask(offered[-1]["question"], offered[-1]["choices"])["phase"] == "answered"
    for vlm in (None, "nano", Spiteful()):
        page.explorer.vlm = vlm
        page.request("here")
        assert [message for message in page.of("ask") if message["is"] == "questions"][-1]["questions"] == []


# --- a run


def test_a_question_is_asked_and_its_evidence_is_marked(world: World, cache: Cache, draws_often: None) -> None:
    asked = next(question for question in world.questions if question.category == "SSS")
    page = FakePage(GridExplorer(world.drawn, vlm=Oracle(world), cache=cache))
    state = page.ask(asked.text, asked.choices)
    result = page.explorer.result
    assert result is not None and page.explorer.results == [result] and len(result.evidence)
    assert (state["phase"], state["run"], state["question"]) == ("answered", 0, asked.text)
    assert state["words"] == f"Answer: {result.answer_in_words}."
    assert [item["label"] for item in state["evidence"]] == [*result.evidence.labels]
    assert [item["time_s"] for item in state["evidence"]] == [item.timestamp_s for item in result.evidence]
    assert page.explorer.marks.evidence == result.evidence and page.explorer.marks.dead_zones == result.dead_zones
    marked = [message for message, _ in page.sent if message.get("is") == "marks"]
    assert len(marked) > 1, "evidence is marked as it arrives"
    assert {label for cell in marked[-1]["cells"] for label in cell["found"]} == set(result.evidence.labels)
    running = [message for message in page.of("ask") if message["phase"] == "running"]
    assert running and any("calls" in message["counts"] for message in running)


def test_the_steps_of_a_run_are_sent_by_a_channel_of_their_own(world: World, shared_cache: Cache) -> None:
    asked = next(question for question in world.questions if question.category == "SSS")
    page = FakePage(GridExplorer(world.drawn, vlm=Oracle(world), cache=shared_cache))
    page.ask(asked.text, asked.choices)
    page.receive({"panel": "steps", "want": "run", "run": 0})
    assert page.panel(AskPanel)._channel._step_jobs[0].wait(60)
    steps = page.of("steps")
    assert steps[0]["is"] == "head" and steps[-1]["is"] == "steps" and steps[-1]["last"]
    assert page.explorer.result is not None
    assert sum(len(each.get("steps", [])) for each in steps) == len(page.explorer.result.trace)
    page.receive({"panel": "steps", "want": "run", "run": 7})
    assert page.panel(AskPanel)._channel._step_jobs[7].wait(60)
    assert "There is no run 7" in page.of("steps")[-1]["words"]


def test_a_given_result_is_shown_with_the_truth(world: World, shared_cache: Cache) -> None:
    asked = next(question for question in world.questions if question.category == "SSS")
    result = ask(world.drawn, asked, vlm=Oracle(world), cache=shared_cache, cell=48)
    page = FakePage(GridExplorer(world.drawn, result=result, cache=shared_cache))
    state = page.request("here")
    assert state["phase"] == "answered" and state["words"] == f"Answer: {result.answer_in_words}, which is right."
    assert page.explorer.result is result
    wrong = replace(result, prediction=(result.prediction + 1) % len(asked.choices))  # type: ignore[operator]
    words = FakePage(GridExplorer(world.drawn, result=wrong, cache=shared_cache)).request("here")["words"]
    assert words == f"Answer: {wrong.answer_in_words}, which is wrong (truth: {wrong.truth_in_words})."


def test_without_a_model_nothing_is_asked(cache: Cache) -> None:
    page = page_of(Flat(), cache)
    reply = page.request("ask", question="Who?", choices=[], within=None)
    assert "give the explorer a model: ak.widgets.GridExplorer(video, vlm=vlm)" in reply["words"]
    assert page.request("here")["hint"] == reply["words"]


class Waiting:
    """A model that answers no call before it is cancelled."""

    name, parameters = "waiting", {"seed": 0}

    def __init__(self) -> None:
        self.begun, self.calls = threading.Event(), 0

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.calls += 1
        self.begun.set()
        flag = control["cancel"]
        assert flag is not None and flag.wait(60), "the call in flight is cancelled"
        raise ModelError("cancelled", Usage(calls=1))


def test_a_run_can_be_stopped_at_once_and_another_asked(cache: Cache) -> None:
    model = Waiting()
    page = page_of(Flat(), cache, vlm=model)
    assert page.request("ask", question="Who?", choices=[], within=None)["phase"] == "running"
    assert model.begun.wait(60)
    assert page.request("ask", question="And who else?", choices=[], within=None)["question"] == "Who?"
    page.request("stop")
    page.panel(AskPanel).wait(60)
    state = page.of("ask")[-1]
    assert state["phase"] == "stopped" and "You stopped the run" in state["words"]
    assert model.calls == 1 and page.explorer.result is None
    page.explorer.vlm = Spiteful()
    assert page.ask("Who?")["phase"] == "answered"


def test_a_failed_run_says_why(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Result:
        raise InputError("The rule is broken; do this.")

    page = page_of(Flat(), cache, vlm=Spiteful())
    monkeypatch.setattr(AskPanel, "ask", staticmethod(fail))
    state = page.ask("Who?")
    assert (state["phase"], state["words"]) == ("failed", "The run failed: The rule is broken; do this.")
    page.explorer.vlm = "http://127.0.0.1:9/v1"
    assert page.ask("Who?")["phase"] == "failed" and page.explorer.results == []


def test_hostile_replies_are_sent_as_printable_text(cache: Cache, draws_often: None) -> None:
    page = page_of(Flat(), cache, vlm=Spiteful())
    state = page.ask(ATTACK)

    def check(value: Any) -> None:
        if isinstance(value, str):
            assert value.isprintable(), value
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            check(each)

    for message in page.of("ask"):
        check(message)
    assert "<script>" in state["question"]


@pytest.mark.parametrize(
    "message",
    [
        {"panel": "ask"},
        {"panel": "ask", "want": 3},
        {"panel": "ask", "want": "stop"},
        {"panel": "ask", "want": "line"},
        {"panel": "search", "want": "find", "words": 3},
        {"panel": "steps", "want": "run"},
        {"panel": "steps", "want": "run", "run": -1},
    ],
)
def test_malformed_messages_harm_nothing(cache: Cache, message: dict[str, Any]) -> None:
    page = page_of(Flat(), cache)
    page.receive(message)
    assert page.request("here")["phase"] == "idle"
