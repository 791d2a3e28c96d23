"""Viewer and table, from the kernel's side: they tell what the run did, draw what is looked at, and text is text."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image
from support.model_doubles import Babbler
from support.stand_ins import ALL, HOSTILE, Flat, run, shown, spoiled, strings

from atlaskit.agents import baselines
from atlaskit.agents.budget import Budget
from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError, InputError
from atlaskit.evaluation.runner import evaluate
from atlaskit.runs.events import Event
from atlaskit.runs.replay import pictures
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.readers import Pixels
from atlaskit.viz import walk
from atlaskit.viz.html.markup import MAX_WIDTH_PX, shrink_jpeg
from atlaskit.viz.walk.regions import regions
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.widgets import RunTable, TraceViewer, runtable
from atlaskit.viz.widgets.channel import BATCH, FIRST_BATCH, MOST_RUNS, MOST_WANTED

WORDS = ALL[:-1]
"""Without half a letter, which pandas does not take."""


class Pages:
    """Stands for the page: it keeps what was sent to it."""

    def __init__(self, shown: TraceViewer | RunTable) -> None:
        self.shown, self.sent, self.jpegs = shown, list[dict[str, Any]](), dict[tuple[int, int], bytes]()
        vars(shown)["widget"] = self

    def send(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        self.sent.append(json.loads(json.dumps(message)))
        if message["is"] == "picture":
            self.jpegs[message["run"], message["picture"]] = buffers[0]

    def say(self, **message: Any) -> list[dict[str, Any]]:
        """Say something, and return what was sent upon it, once all of it is."""
        before = len(self.sent)
        self.shown._hear(message)
        for thread in (*self.shown._feed._telling.values(), self.shown._feed._drawing):
            assert thread.rest(60)
        return self.sent[before:]

    def steps(self, number: int = 0) -> list[dict[str, Any]]:
        """Ask for a run, and return its steps, put together as a page does."""
        steps: list[dict[str, Any]] = []
        for message in self.say(want="run", run=number):
            if message["is"] == "steps":
                assert message["first"] == len(steps)
                steps += message["steps"]
        assert self.sent[-1]["last"]
        return steps

    def head(self) -> dict[str, Any]:
        return next(message["head"] for message in reversed(self.sent) if message["is"] == "head")


def test_the_page_is_told_every_step_and_no_picture_that_it_does_not_look_at(eventful: Result) -> None:
    elsewhere = Cache(None)
    page = Pages(TraceViewer(eventful, cache=elsewhere))
    assert page.say(want="runs") == [{"is": "runs", "runs": [0]}]
    decoded = eventful.sheet.video.frames_decoded
    steps, head = page.steps(), page.head()
    assert eventful.sheet.video.frames_decoded == decoded and elsewhere.stats() == {}, "nothing is drawn yet"
    exported = json.loads(re.findall(r'id="run">(.*?)</script>', walk.html(eventful))[0])
    assert [{**step, "saw": []} for step in steps] == [{**step, "saw": []} for step in exported["steps"]]
    assert head == exported["run"] and head["count"] == len(steps) == len(eventful.trace)

    drawn = list(pictures(eventful.trace, eventful.sheet.video, eventful.sheet.cache))
    shows = [(place, which) for place, step in enumerate(steps) for which, _, _ in step["saw"]]
    assert len(shows) == len(drawn) > 10
    for (place, which), each in list(zip(shows, drawn, strict=True))[:6]:
        (said,) = [message for message in page.say(want="pictures", wanted=[[0, which]]) if message["is"] == "picture"]
        assert said == {"is": "picture", "run": 0, "picture": which} and place == each.place
        assert page.jpegs[0, which] == shrink_jpeg(each.picture.jpeg(), MAX_WIDTH_PX, 500_000)


def test_a_saved_run_is_the_run(eventful: Result, tmp_path: Path) -> None:
    eventful.save(tmp_path / "run.json")
    eventful.trace.save(tmp_path / "run.jsonl")
    own = Pages(TraceViewer(eventful))
    steps, head = own.steps()[1:], own.head()  # the first tells the settings, which a file sorts by name
    for saved in (str(tmp_path / "run.json"), tmp_path / "run.jsonl", eventful.trace):
        page = Pages(TraceViewer(saved, cache=eventful.sheet.cache))
        unseen = [{**step, "saw": [each[0] for each in step["saw"]]} for step in page.steps()[1:]]
        assert unseen == [{**step, "saw": [each[0] for each in step["saw"]]} for step in steps]
        assert page.head() == head
        wanted = [[0, step["saw"][0][0]] for step in steps if step["saw"]][:3]
        assert {message["is"] for message in page.say(want="pictures", wanted=wanted)} == {"picture"}
        for key in page.jpegs:
            own.say(want="pictures", wanted=[list(key)])
            assert page.jpegs[key] == own.jpegs[key]


def test_a_picture_that_cannot_be_had_is_a_sentence(answered: Result) -> None:
    page = Pages(TraceViewer(answered.trace, cache=Cache(None)))
    which = next(step["saw"][0][0] for step in page.steps() if step["saw"])
    (missing,) = page.say(want="pictures", wanted=[[0, which]])
    assert missing["is"] == "missing" and "pass `video` to draw it again" in missing["words"]
    page = Pages(TraceViewer(answered.trace, video=answered.sheet.video, cache=Cache(None)))
    page.steps()
    page.say(want="pictures", wanted=[[0, which]])
    assert Image.open(io.BytesIO(page.jpegs[0, which])).format == "JPEG"
    page = Pages(TraceViewer(answered.trace, video=Flat()))
    assert len(page.steps()) == len(answered.trace)
    assert "Images are missing: The trace is of another video" in page.head()["notes"][0]


def test_a_trace_that_names_what_is_no_picture_shows_none(answered: Result) -> None:
    cache = Cache(None)
    cache.put("reply:4:" + "0" * 64, b'"secret"')
    cache.put("view:2:" + "1" * 64, b"no jpeg")
    for key in ("reply:4:" + "0" * 64, "view:2:" + "1" * 64, "no key", ""):
        events = [
            Event(e.kind, e.round, e.worker, {**(e.data or {}), "view": {**e["view"], "key": key}})
            for e in answered.trace.of("step")
        ]
        page = Pages(TraceViewer(Trace(tuple(events)), cache=cache))
        assert len(page.steps()) == len(events)
        (missing,) = page.say(want="pictures", wanted=[[0, 0]])
        assert missing["is"] == "missing" and "secret" not in missing["words"]


class Waiting(Flat):
    """A video whose frames come when they are let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_for, self.let = threading.Event(), threading.Event()

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        self.asked_for.set()
        assert self.let.wait(60)
        return super().try_frames(times_s, size)


def test_pictures_that_are_not_looked_at_any_more_are_not_drawn(cache: Cache) -> None:
    video = Waiting()
    video.let.set()
    result = run(video, Babbler(1), cache, workers=3, steps=5, budget=Budget(calls=30))
    page = Pages(TraceViewer(result, cache=Cache(None)))
    different = sorted({each[0] for step in page.steps() for each in step["saw"]})
    video.let.clear()
    video.asked_for.clear()
    page.shown._hear({"want": "pictures", "wanted": [[0, different[0]], [0, different[1]]]})
    assert video.asked_for.wait(60)
    for which in different[2:5]:
        page.shown._hear({"want": "pictures", "wanted": [[0, which]]})
    video.let.set()
    page.say(want="nothing")
    assert [message["picture"] for message in page.sent if message["is"] == "picture"] == [different[0], different[4]]
    many = [[0, different[0]]] * (MOST_WANTED + 5)
    assert len(page.say(want="pictures", wanted=many)) == MOST_WANTED


def test_a_run_of_thousands_of_events_comes_in_batches(answered: Result) -> None:
    long = replace(answered, trace=Trace((answered.trace.events * 1_000)[:3_000]))
    page = Pages(TraceViewer(long))
    assert len(page.steps()) == 3_000 == page.head()["count"]
    batches = [len(message["steps"]) for message in page.sent if message["is"] == "steps"]
    assert batches[0] == FIRST_BATCH and max(batches) == BATCH and len(json.dumps(page.sent)) < 12_000_000


def test_a_page_that_says_anything_is_no_harm(answered: Result) -> None:
    page = Pages(TraceViewer(answered))
    count = len(page.steps())
    for message in (
        {},
        {"want": "run"},
        {"want": "run", "run": 1},
        {"want": "run", "run": -1},
        {"want": "run", "run": "0"},
        {"want": "pictures", "wanted": "all"},
        {"want": "pictures", "wanted": [[0], [0, 10_000], [7, 0], [0, -1], ["0", 0], [0, 0.5], None]},
        {"want": ALL},
    ):
        assert page.say(**message) == []
    assert len(page.steps()) == count, "its threads are alive"


WRONG: dict[str, tuple[Callable[[Path], Any], str]] = {
    "nothing": (lambda path: path / "gone.json", "cannot be read: No such file"),
    "folder": (lambda path: path, "cannot be read: Is a directory"),
    "nul": (lambda path: "run\0.json", "cannot be read"),
    "picture": (lambda path: written(path, b"\xff\xd8\xff\xe0"), "is not valid JSON"),
    "empty": (lambda path: written(path, b""), "is not valid JSON"),
    "page": (lambda path: written(path, b"<!doctype html>"), "is not valid JSON"),
    "version": (lambda path: written(path, b'{"atlaskit_trace":99}\n'), "of version 99"),
    "result": (lambda path: written(path, b'{"atlaskit_result":3,"trace":7}'), "has no valid trace"),
    "event": (lambda path: written(path, b'{"atlaskit_trace":2}\n{"kind":"<b>"}\n'), "is not an event of atlaskit"),
    "number": (lambda path: 7, "A run must be a Result, a Trace, or the path"),
    "table": (lambda path: pd.DataFrame(), "A run must be a Result, a Trace, or the path"),
}


def written(folder: Path, data: bytes) -> Path:
    (folder / "run.json").write_bytes(data)
    return folder / "run.json"


@pytest.mark.parametrize("which", WRONG)
def test_what_is_no_run_is_told_in_a_sentence(which: str, tmp_path: Path) -> None:
    make, words = WRONG[which]
    with pytest.raises(InputError, match=words) as told:
        TraceViewer(make(tmp_path))
    assert "\n" not in str(told.value) and str(told.value).endswith(".")


def test_two_runs_of_one_question_stand_side_by_side(world: World, answered: Result, shared_cache: Cache) -> None:
    uniform = baselines.uniform(world.drawn, answered.question, vlm=Oracle(world), cache=shared_cache)
    page = Pages(TraceViewer(answered, uniform))
    assert page.say(want="runs") == [{"is": "runs", "runs": [0, 1]}]
    assert [len(page.steps(number)) for number in (0, 1)] == [len(answered.trace), len(uniform.trace)]
    names = [message["head"]["name"] for message in page.sent if message["is"] == "head"]
    assert names[0].startswith("video-rlm · oracle") and names[1].startswith("uniform · oracle")
    assert shown(page.shown).text.count(answered.question.text) == 2
    other = ask(world.drawn, world.questions[0], vlm=Oracle(world), cache=shared_cache, cell=48)
    with pytest.raises(InputError, match="two runs of one question, not of"):
        TraceViewer(answered, other)


def test_the_regions_are_those_of_the_steps_and_tell_what_became_of_them(eventful: Result) -> None:
    told, steps = regions(open_run(eventful)), Pages(TraceViewer(eventful)).steps()
    paths = [tuple(region["path"]) for region in told]
    assert paths == sorted(set(paths)) and paths[0] == ()
    assert {tuple(step["path"]) for step in steps if step["path"] is not None} <= set(paths)
    assert all(path[:-1] in paths for path in paths if path)
    assert told[0]["holds"].startswith(f"{len(eventful.evidence)} frame") and len(eventful.evidence)
    holds = {region["holds"] for region in told}
    assert "dead zone" in holds and max(map(len, paths)) >= 2
    unknown = regions(open_run(Trace(eventful.trace.of("step"))))
    assert {region["told"] for region in unknown} <= {
        "whole video",
        *(f"cell {path[-1]}" for path in paths if path),
    }
    strange = replace(eventful.trace.events[-2], kind="report")
    assert regions(open_run(Trace((strange,)))) == [], "what is in no form of ours has no place"


def test_steps_can_be_picked_by_the_evidence_that_they_are_about(answered: Result) -> None:
    steps = Pages(TraceViewer(answered)).steps()
    for item in answered.evidence:
        about = [place for place, step in enumerate(steps) if f"[{item.label}]" in step["touches"]]
        kinds_of = {answered.trace.events[place].kind for place in about}
        assert {"step", "report"} <= kinds_of and min(about) == min(
            place
            for place, event in enumerate(answered.trace)
            if event.kind == "step" and item.timestamp_s in [found["timestamp_s"] for found in event["found"]]
        )
    assert [step["does"] for step in steps if step["does"] in ("Expand", "AddToScratchpad")] == [
        event["action"]["name"]
        for event in answered.trace.of("step")
        if event["action"]["name"] in ("Expand", "AddToScratchpad")
    ]
    decided = next(step for step in steps if step["what"] == "the question is answered")
    assert decided["touches"] and set(decided["touches"]) <= {f"[{item.label}]" for item in answered.evidence}


@pytest.fixture
def hostile(eventful: Result, tmp_path: Path) -> Result:
    """A run in which everyone said nothing but what would run, if it could."""
    events = [Event(e.kind, e.round, e.worker, spoiled(json.loads(json.dumps(e.data)))) for e in eventful.trace]
    question = replace(eventful.question, text=ALL[:-1], choices=(HOSTILE[0], HOSTILE[1], ALL[:-1]))
    settings = {**eventful.settings, "model": ALL, "parameters": {ALL: ALL}}
    events[0] = Event("start", data={"question": question.to_json(), "settings": settings})
    return replace(eventful, question=question, reasoning=ALL, failure=ALL, stop=ALL, trace=Trace(tuple(events)))


def test_text_is_text(hostile: Result) -> None:
    for given in (hostile, hostile.trace):
        page = Pages(TraceViewer(given, cache=hostile.sheet.cache))
        steps = page.steps()
        assert all(letter.isprintable() for said in strings(page.sent) for letter in said)
        assert any("<script>alert(1)</script>" in said for said in strings(steps)), "as it was said"
        assert "<script>alert(1)</script>" in shown(page.shown).text


def test_a_viewer_says_what_it_is(answered: Result) -> None:
    assert repr(TraceViewer(answered)) == f"TraceViewer(<a run of {len(answered.trace)} events>)"
    assert shown(TraceViewer(answered)).text.count(answered.question.text) == 1
    assert answered.question.text in shown(TraceViewer(answered.trace)).text


# --- the table


@pytest.fixture(scope="module")
def rows(world: World, shared_cache: Cache, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Two methods over the same four questions, one of which failed in one of them."""
    cases, folder = world.cases(drawn=True)[:4], tmp_path_factory.mktemp("traces")
    given: dict[str, Any] = {"cache": shared_cache, "progress": False, "traces": folder}
    searched = evaluate(cases, vlm=partial(Oracle, miss=0.4), cell=48, budget=Budget(calls=30), **given)
    uniform = evaluate(cases, "uniform", vlm=Oracle, **given)
    both = pd.concat([searched, uniform], ignore_index=True)
    both.loc[7, ["stop", "trace", "failure", "right"]] = ["failed", "", "It <b>fell</b> down.", False]
    return both


def table_of(table: RunTable) -> tuple[dict[str, Any], pd.DataFrame]:
    about, *batches = Pages(table).say(want="rows")
    told = [row for batch in batches for row in batch["rows"]]
    return about, pd.DataFrame(told, columns=about["columns"])


def test_the_table_tells_its_rows_as_they_are(rows: pd.DataFrame) -> None:
    about, told = table_of(RunTable(rows, columns=["seconds"]))
    assert about["count"] == len(told) == 8 and "seconds" in told and "trace" not in told
    for name in ("question", "id", "method", "category", "stop", "tokens", "score"):
        assert told[name].tolist() == rows[name].tolist(), name
    outcomes = [("failed" if n == 7 else "right" if right else "wrong") for n, right in enumerate(rows["right"])]
    assert told["outcome"].tolist() == outcomes
    assert about["filters"] == ["outcome", "stop", "category", "method"]
    about, told = table_of(RunTable(rows[rows["method"] == "uniform"][["id", "right", "stop", "method"]]))
    assert about["columns"] == ["outcome", "method", "stop", "id"] and "method" not in about["filters"]


def test_a_row_opens_its_run(world: World, rows: pd.DataFrame, shared_cache: Cache) -> None:
    page = Pages(RunTable(rows, cache=shared_cache))
    for number, path in enumerate(rows["trace"][:7]):
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
        assert len(page.steps(number)) == len(saved["trace"]) and page.head()["question"] == rows["question"][number]
    assert len(page.shown._feed._found) == MOST_RUNS, "those that were opened long ago are let go of"
    table = RunTable(rows, cases=world.cases(drawn=True), cache=Cache(None))
    page = Pages(table)
    which = next(step["saw"][0][0] for step in page.steps(0) if step["saw"])
    assert page.say(want="pictures", wanted=[[0, which]])[0]["is"] == "picture", "drawn from the case's video"
    assert [run.question.text for run in table.open(0, 4).runs] == [rows["question"][0]] * 2  # type: ignore[union-attr]
    with pytest.raises(InputError, match="two runs of one question"):
        table.open(0, 1)
    with pytest.raises(InputError, match="There is no row 8: rows are 0 to 7"):
        table.open(8)


def test_a_row_without_a_run_says_why(rows: pd.DataFrame) -> None:
    for given, number, words in (
        (rows, 7, "the question failed: It <b>fell</b> down."),
        (rows.drop(columns="trace"), 0, 'evaluate again with traces="FOLDER"'),
        (rows.assign(trace="gone.json"), 0, "gone.json cannot be read: No such file"),
        (rows, 99, "There is no row 99"),
    ):
        (trouble,) = Pages(RunTable(given)).say(want="run", run=number)
        assert trouble["is"] == "trouble" and trouble["run"] == number and words in trouble["words"]


def test_a_table_of_a_stranger_is_shown_as_text(rows: pd.DataFrame) -> None:
    predictions = [None, 1.5, float("nan"), float("inf"), (1.0, 2.0), "w", True, -3]
    said = dict.fromkeys(("question", "id", "failure"), WORDS)
    strange = rows.assign(**said, stop=[*HOSTILE[:8]], prediction=predictions)
    about, told = table_of(RunTable(strange))
    assert all(letter.isprintable() for said in strings(told.to_numpy().tolist()) for letter in said)
    assert told["prediction"].iloc[2] is None or pd.isna(told["prediction"].iloc[2])
    assert "<script>alert(1)</script>" in told["question"][0] and len(about["columns"]) == len(told.columns)
    assert "<script>alert(1)</script>" in shown(RunTable(strange)).text


def test_the_static_table_shows_the_first_rows(rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    many = pd.concat([rows] * 5, ignore_index=True)
    page = shown(RunTable(many))
    assert page.rows("40 questions") == 20 and "20 more rows are not shown" in page.text and "5 failed" in page.text
    assert repr(RunTable(many)) == "RunTable(<40 rows>)"
    monkeypatch.setattr(runtable, "MOST_ROWS", 25)
    monkeypatch.setattr(runtable, "BATCH", 10)
    about, told = table_of(RunTable(many))
    assert len(told) == 25 and about["note"] == "The last 15 rows are not shown."


def test_what_is_no_evaluation_is_refused(rows: pd.DataFrame) -> None:
    for wrong in (pd.DataFrame({"a": [1]}), [1, 2], rows.drop(columns="stop"), None):
        with pytest.raises(InputError, match=r"no rows of ak.evaluate: they have no column"):
            RunTable(wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"no column '<b>'; they have id, "):
        RunTable(rows, columns=["<b>"])
