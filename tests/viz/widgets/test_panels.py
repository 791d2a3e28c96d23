"""The kernel's side of the explorer's panels: words are found, questions asked, runs followed."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack
from unittest.mock import Mock, call

import numpy as np
import pytest
from numpy.typing import NDArray
from support.model_doubles import ATTACK, Counting, Spiteful
from support.stand_ins import Flat, strings
from viz.widget_pages import FakePage

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.models.protocol import CallControl, ModelError, Reply, Request, Usage
from atlaskit.models.serving.flags import ServerFlags
from atlaskit.models.serving.server import Server
from atlaskit.video.subtitles import Line, Subtitles
from atlaskit.video.video import Video
from atlaskit.viz import live
from atlaskit.viz.widgets import GridExplorer
from atlaskit.viz.widgets.explorer import asking
from atlaskit.viz.widgets.explorer.asking import AskPanel
from atlaskit.viz.widgets.explorer.searching import find_words
from atlasworld import Oracle, World


class PanelPage(FakePage):
    """A page of the explorer that uses its panels."""

    @property
    def panel(self) -> AskPanel:
        """The panel that asks."""
        return next(panel for panel in self.widget._panels if isinstance(panel, AskPanel))

    def find(self, words: str) -> dict[str, Any]:
        """Search for words; return what was found."""
        self.request(panel="search", want="find", words=words)
        return self.of("search")[-1]

    def tell(self, want: str, **message: Any) -> dict[str, Any]:
        """Send a message to the panel that asks; return its last reply."""
        self.receive({"panel": "ask", "want": want, **message})
        return self.of("ask")[-1]

    def model(self) -> dict[str, Any]:
        """Return what the page is told of the model that answers."""
        self.tell("here")
        return [message for message in self.of("ask") if message["is"] == "model"][-1]

    def ask(self, question: str = "Who?", choices: Sequence[str] = (), **more: Any) -> dict[str, Any]:  # type: ignore[override]
        """Ask a question; return the first reply."""
        return self.tell("ask", **{"question": question, "choices": [*choices], "within": None, **more})

    def answered(self, *question: Any, **more: Any) -> dict[str, Any]:
        """Ask a question, or go on with one; return the state at the end of the run."""
        if question or more:
            self.ask(*question, **more)
        self.panel.wait(120)
        assert self.widget._mark_jobs.wait(60)
        return self.of("ask")[-1]


def page_of(video: Video, cache: Cache, **options: Any) -> PanelPage:
    return PanelPage(GridExplorer(video, k=4, cell=32, cache=cache, **options))


def spoken(*texts: str) -> Video:
    """Return a video of 16 s with a line each second."""
    video = Flat()
    video.subtitles = Subtitles(tuple(Line(float(second), second + 1.0, text) for second, text in enumerate(texts)))
    return video


@pytest.fixture
def draws_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are drawn after each event, not a few times a second."""
    monkeypatch.setattr(live, "FIRST_S", 0.0)
    monkeypatch.setattr(live, "INTERVAL_S", 0.0)


def test_words_are_found_and_marked(cache: Cache) -> None:
    found = page_of(spoken("A goal!", "no", "What a Goal, what goals"), cache).find("goal")
    assert (found["count"], found["note"], found["words"]) == (2, "", "goal")
    assert [(hit["time_s"], hit["time"]) for hit in found["hits"]] == [(0.0, "0:00.0"), (2.0, "0:02.0")]
    marked = [text for text, is_marked in found["hits"][1]["parts"] if is_marked]
    assert marked == ["Goal", "goal"]
    assert "".join(text for text, _ in found["hits"][1]["parts"]) == "What a Goal, what goals"
    assert found["spans"] == [[0.0, 1.0], [2.0, 3.0]]
    assert found["lane"] == [[0.0, 1 / 16], [2 / 16, 3 / 16]]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Two Goals, one own goal", "goal", ["Goal", "goal"]),  # case, and words that begin alike
        ("Two Goals, one own goal", '"own goal"', ["own goal"]),
        ("Two Goals, one own goal", "own missing", None),  # all words, not some
        ("Début de l’été", "ETE debut", ["Début", "été"]),  # accents
        ("Cafe\u0301 au lait", "café", ["Cafe"]),  # an accent of its own stands outside
        ("Straße", "STRASSE", ["Straße"]),  # one letter is two
        ("start of art", "art", ["art"]),  # a word begins where it is found
        ("No, wait for it", "“no wait”", ["No, wait"]),  # signs between, typographic quotes
        ("Don’t go!", "don't go", ["Don’t", "go"]),
        ("日本語の字幕", "字幕", ["字幕"]),  # a script without spaces
        ("ガール", "カ", None),  # another letter, no accent
        ("カ\u3099ール", "ガ", ["カ\u3099"]),  # the same letter in two signs
        ("대한민국", "\u1103\u1162\u1112\u1161\u11ab", ["대한"]),  # and a syllable in three
        ("goal", "goal goa", ["goal"]),  # spans do not overlap
        ("a.b (c) [d] \\w+", r"\w+ (c", ["c", r"\w+"]),  # no pattern, but text
        ("anything", ' "" " ', None),
    ],
)
def test_words_are_found_as_people_type_them(text: str, query: str, expected: list[str] | None) -> None:
    found = find_words([Line(0.0, 1.0, text)], query)
    marked = [text[start:end] for start, end in found[0].spans] if found else None
    assert marked == expected


class Embedder(ak.Embedder):
    """Knows what is about animals, and what about weather."""

    def embed(self, texts: Sequence[str], **_: Any) -> NDArray[np.float32]:
        """Return how much of each a text is about."""
        if any("broken" in text for text in texts):
            raise ModelError("The model is gone.")
        about = ("dog", "puppy"), ("rain", "wet", "dog")
        return np.array([[sum(word in text for word in each) for each in about] for text in texts], np.float32)


def test_lines_near_in_meaning_follow_those_with_the_words(cache: Cache) -> None:
    embedder = Embedder("http://127.0.0.1:9/v1", "animals")
    page = page_of(spoken("It rains", "A dog in rain", "A puppy sleeps"), cache, embedder=embedder)
    found = page.find("dog")
    assert (found["count"], found["near"], len(found["lane"])) == (1, 2, 1)
    assert [hit["time_s"] for hit in found["hits"]] == [1.0, 0.0, 2.0]
    assert page.find("puppy")["hits"][0]["time_s"] == 2.0 and page.find(" ")["hits"] == []
    assert "The subtitles cannot be searched: The model is gone." in page.find("broken")["note"]


def test_the_line_is_code_that_asks_just_that(cache: Cache) -> None:
    question, choices = 'Who\'s "été" \\ last?\nSay \u202e \x1b[31m it.', ["it's A", 'a "B"']
    sent = page_of(Flat(), cache).tell("line", question=question, choices=choices, within=[3.0, 4.5])
    assert sent["is"] == "line" and sent["line"].isprintable()
    recorder = Mock(ask=Mock(return_value="answered"))
    scope = {"ak": recorder, "video": "V", "vlm": "M"}
    exec(sent["line"], scope)
    asked = call.ask("V", question, choices=choices, within=(3.0, 4.5), vlm="M", show=True)
    assert scope["result"] == "answered" and recorder.mock_calls == [asked]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"question": ""}, "The question is empty"),
        ({"choices": ["one"]}, "at least two choices"),
        ({"within": [float("nan"), 3.0]}, "a start before its end"),
        ({"within": [10**400, 10**401]}, "both in the video"),
    ],
)
def test_a_wrong_question_gets_a_sentence_and_starts_no_run(cache: Cache, message: dict[str, Any], words: str) -> None:
    page = page_of(Flat(), cache, vlm=Counting(Spiteful()))
    reply = page.ask(**message)
    assert reply["is"] == "problem" and words in reply["words"]
    assert page.tell("here")["phase"] == "idle" and page.widget.results == []


def test_the_questions_of_a_world_are_offered_where_no_others_can_be_answered(world: World, cache: Cache) -> None:
    page = PanelPage(GridExplorer(world.drawn, vlm=Oracle(world), cache=cache))
    offered = page.model()["questions"]
    askable = [question for question in world.questions if question.kind in ("choice", "open")]
    assert [(each["question"], tuple(each["choices"])) for each in offered] == [(q.text, q.choices) for q in askable]
    assert 0 < len(offered) < len(world.questions), "the page cannot ask for an interval"
    assert page.answered(**offered[-1])["phase"] == "answered"
    page.widget.vlm = "nano"
    assert page.model()["questions"] == []


def test_a_model_is_named_in_the_page(film: World, film_file: Path, cache: Cache) -> None:
    """The oracle answers on the films that it knows."""
    page = PanelPage(GridExplorer(film_file, cache=cache))
    assert "Name a model" in page.answered("Who?")["words"]
    model = page.model()
    assert (model["model"], model["models"]) == ("", ["oracle", "nano"])
    page.tell("model", model=" oracle ")
    assert page.answered(**page.model()["questions"][0])["phase"] == "answered"
    assert page.widget.result is not None and page.widget.result.settings["model"] == f"oracle:{film.name}"


def test_a_follow_up_may_use_what_was_found_before(world: World, cache: Cache) -> None:
    first, second = world.questions[:2]
    page = PanelPage(GridExplorer(world.drawn, vlm=Oracle(world), cache=cache))
    page.answered(first.text, first.choices)
    page.answered(second.text, second.choices, follows=True)
    page.answered(second.text, second.choices)
    told = [result.settings.get("after", "") for result in page.widget.results]
    assert told[0] == told[2] == "" and first.text in told[1]
    line = page.tell("line", question="And then?", choices=[], within=None, follows=True)
    assert "after=result" in line["line"]


@pytest.mark.parametrize("words", ["oracle", "gpt-4o --key-env sk-secret", "http://127.0.0.1:9/v1 a b c"])
def test_words_that_name_no_model_are_told_and_change_nothing(cache: Cache, words: str) -> None:
    vlm = Spiteful()
    page = page_of(Flat(), cache, vlm=vlm)
    told = page.tell("model", model=words)
    assert told["is"] == "problem" and "sk-secret" not in told["words"]
    assert page.ask(model=words) == told and page.widget.results == [], "no other model is asked in its place"
    assert page.widget.vlm is vlm and page.model()["model"] == vlm.name


def test_a_server_that_takes_long_is_started_only_once_a_person_goes_on(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it takes is told in the page, and nothing is downloaded before "go on" is pressed."""
    begun = list[str]()

    class Heavy(Server):
        def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
            assert self.agree is not None
            self.agree(["vLLM is installed first: 9 GB."])
            begun.append(self.model)
            return Spiteful().complete(request, **control)

    monkeypatch.setattr(asking, "as_model", lambda words, cache: Heavy(words, ServerFlags()))
    page = page_of(Flat(), cache)
    page.tell("model", model="an/own-model")
    for _ in range(2):  # to ask again is no answer
        state = page.answered("Who?")
        assert (state["phase"], begun) == ("failed", [])
        assert state["words"] == 'vLLM is installed first: 9 GB. Press "go on" to start it.'
    page.tell("again")
    assert page.answered()["phase"] == "answered" and begun


def test_a_question_is_asked_and_its_evidence_is_marked(world: World, cache: Cache, draws_often: None) -> None:
    asked = next(question for question in world.questions if question.category == "SSS")
    page = PanelPage(GridExplorer(world.drawn, vlm=Oracle(world), cache=cache))
    state = page.answered(asked.text, asked.choices)
    result = page.widget.result
    assert result is not None and page.widget.results == [result] and len(result.evidence)
    assert (state["phase"], state["run"], state["question"]) == ("answered", 0, asked.text)
    assert state["words"] == f"Answer: {result.answer_in_words}; stopped by: {result.stop}"
    listed = [(item["label"], item["time_s"]) for item in state["evidence"]]
    assert listed == [(item.label, item.timestamp_s) for item in result.evidence]
    assert page.widget.marks.evidence == result.evidence and page.widget.marks.dead_zones == result.dead_zones
    marked = [message for message, _ in page.sent if message.get("is") == "marks"]
    assert {label for cell in marked[-1]["cells"] for label in cell["found"]} == set(result.evidence.labels)
    running = [message for message in page.of("ask") if message["phase"] == "running"]
    assert running and any("calls" in message["counts"] for message in running)


class Waiting:
    """A model that answers no call before it is cancelled."""

    name, parameters = "waiting", {"seed": 0}

    def __init__(self) -> None:
        self.begun = threading.Event()

    def complete(self, request: Request, **control: Unpack[CallControl]) -> Reply:
        self.begun.set()
        flag = control["cancel"]
        assert flag is not None and flag.wait(60), "the call in flight is cancelled"
        raise ModelError("cancelled", Usage(calls=1))


def test_a_run_can_be_stopped_at_once_and_another_asked(cache: Cache) -> None:
    model = Waiting()
    page = page_of(Flat(), cache, vlm=model)
    assert page.ask()["phase"] == "running"
    assert model.begun.wait(60)
    assert page.ask("And who else?")["question"] == "Who?", "one run at a time"
    page.tell("stop")
    state = page.answered()
    assert state["phase"] == "stopped" and "You stopped the run" in state["words"]
    assert page.widget.result is None
    page.widget.vlm = Spiteful()
    assert page.answered("Who?")["phase"] == "answered"


@pytest.mark.parametrize("decided", ["", "here", "go on"])
def test_a_question_belongs_to_its_page(cache: Cache, monkeypatch: pytest.MonkeyPatch, decided: str) -> None:
    """It stops soon after its page is gone, unless another takes it up or it was told to go on."""
    monkeypatch.setattr(asking, "LEFT_S", 0.2)
    model = Waiting()
    page = page_of(Flat(), cache, vlm=model)
    page.ask()
    assert model.begun.wait(60)
    if decided == "go on":
        page.tell("go on", goes_on=True)
        assert page.tell("here")["goes_on"] is True
    assert page.widget.leave() and page.widget.leave(), "another page can take it up"
    if decided == "here":
        assert page.tell("here")["phase"] == "running", "a page that is loaded again shows it"
    page.panel.wait(1.0)
    assert page.panel.is_asking is bool(decided)
    page.tell("stop")
    state = page.answered()
    assert state["phase"] == "stopped" and ("The page was closed" in state["words"]) is not bool(decided)


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_page_that_is_silent_is_gone(cache: Cache, monkeypatch: pytest.MonkeyPatch, is_heard: bool) -> None:
    """Only a subshell hears what a page says: a cell that runs would make it silent."""
    monkeypatch.setattr(asking, "LEFT_S", 0.1)
    monkeypatch.setattr(asking, "SILENT_S", 0.3)
    page = page_of(Flat(), cache, vlm=Waiting())
    page.ask()
    for _ in range(4):
        beat = threading.Thread(target=page.receive, args=({"panel": "ask", "want": "alive"},))
        beat.start() if is_heard else page.receive({"panel": "ask", "want": "alive"})
        time.sleep(0.2)
        assert page.tell("line", question="", choices=[], within=None)["is"] == "line"
    assert page.panel.is_asking, "a page that is there keeps it"
    page.panel.wait(2.0)
    assert page.panel.is_asking is not is_heard
    page.tell("stop")
    page.answered()


def test_a_stop_that_comes_after_a_failure_does_not_hide_it(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Waiting, "complete", Mock(side_effect=OSError("the disk is full")))
    page = page_of(Flat(), cache, vlm=Waiting())
    page.answered("Who?")
    for state in (page.tell("here"), page.tell("stop")):
        assert state["phase"] == "failed" and "the disk is full" in state["words"]


def test_hostile_lines_and_replies_are_sent_as_printable_text(cache: Cache, draws_often: None) -> None:
    page = page_of(spoken(ATTACK), cache, vlm=Spiteful())
    assert ["onerror", True] in page.find("onerror")["hits"][0]["parts"]
    assert "<script>" in page.answered(ATTACK)["question"]
    texts = strings([message for message, _ in page.sent])
    assert all(text.isprintable() for text in texts) and any("<img src=x" in text for text in texts)
