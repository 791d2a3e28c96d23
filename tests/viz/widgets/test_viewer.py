"""The kernel's side of trace viewer and run table: steps, requested images, hostile text."""

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
from support.asking import ask, evaluate
from support.model_doubles import Babbler
from support.stand_ins import ALL_HOSTILE, HOSTILE, Flat, checked_html, run, strings, with_hostile_text

from atlaskit.agents.budget import Budget
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.errors import FrameError, InputError
from atlaskit.evaluation import baselines
from atlaskit.evaluation.statistics import accuracy
from atlaskit.runs.events import Start
from atlaskit.runs.replay import pictures
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.readers import Pixels
from atlaskit.viz import walk
from atlaskit.viz.html.markup import MAX_WIDTH_PX, shrink_jpeg
from atlaskit.viz.walk.regions import regions
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.widgets import RunTable, TraceViewer
from atlaskit.viz.widgets.channel import MAX_REQUESTED, MAX_RUNS

TEXT = ALL_HOSTILE[:-1]
"""Without the lone surrogate, which pandas does not store."""


class FakePage:
    """Replaces the page: it records the messages that it receives."""

    def __init__(self, widget: TraceViewer | RunTable) -> None:
        self.widget, self.sent, self.jpegs = widget, list[dict[str, Any]](), dict[tuple[int, int], bytes]()
        vars(widget)["widget"] = self

    def send(self, message: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
        self.sent.append(json.loads(json.dumps(message)))
        if message["is"] == "picture":
            self.jpegs[message["run"], message["picture"]] = buffers[0]

    def request(self, **message: Any) -> list[dict[str, Any]]:
        """Send a request, and return all messages that it causes."""
        before = len(self.sent)
        self.widget._receive(message)
        channel = self.widget._channel
        for jobs in (*channel._step_jobs.values(), channel._image_jobs):
            assert jobs.wait(60)
        return self.sent[before:]

    def steps(self, number: int = 0) -> list[dict[str, Any]]:
        """Request a run, and return its steps, joined from batches as a page joins them."""
        steps: list[dict[str, Any]] = []
        for message in self.request(want="run", run=number):
            if message["is"] == "steps":
                assert message["first"] == len(steps)
                steps += message["steps"]
        assert self.sent[-1]["last"]
        return steps

    def head(self) -> dict[str, Any]:
        return next(message["head"] for message in reversed(self.sent) if message["is"] == "head")


def test_a_page_receives_all_steps_and_only_requested_images(eventful: Result) -> None:
    empty = Cache(None)
    page = FakePage(TraceViewer(eventful, cache=empty))
    assert page.request(want="runs") == [{"is": "runs", "runs": [0]}]
    decoded = eventful.sheet.video.frames_decoded
    steps, head = page.steps(), page.head()
    assert eventful.sheet.video.frames_decoded == decoded and empty.stats() == {}, "nothing is drawn yet"
    exported = json.loads(re.findall(r'id="run">(.*?)</script>', walk.html(eventful))[0])
    assert [{**step, "saw": []} for step in steps] == [{**step, "saw": []} for step in exported["steps"]]
    shown = {"map": 0, "sheet": None}  # a page numbers its images anew
    assert {**head, **shown} == {**exported["run"], **shown} and head["count"] == len(steps) == len(eventful.trace)

    drawn = list(pictures(eventful.trace, eventful.sheet.video, eventful.sheet.cache))
    listed = [(index, image) for index, step in enumerate(steps) for image, _, _ in step["saw"]]
    assert len(listed) == len(drawn) > 10
    for (index, image), each in list(zip(listed, drawn, strict=True))[:6]:
        (reply,) = [
            message for message in page.request(want="pictures", wanted=[[0, image]]) if message["is"] == "picture"
        ]
        assert reply == {"is": "picture", "run": 0, "picture": image} and index == each.place
        assert page.jpegs[0, image] == shrink_jpeg(each.picture.jpeg(), MAX_WIDTH_PX, 500_000)


def test_a_missing_image_is_reported(answered: Result) -> None:
    page = FakePage(TraceViewer(answered.trace, cache=Cache(None)))
    image = next(step["saw"][0][0] for step in page.steps() if step["saw"])
    (missing,) = page.request(want="pictures", wanted=[[0, image]])
    assert missing["is"] == "missing" and "pass `video` to draw it again" in missing["words"]
    page = FakePage(TraceViewer(answered.trace, video=answered.sheet.video, cache=Cache(None)))
    page.steps()
    page.request(want="pictures", wanted=[[0, image]])
    assert Image.open(io.BytesIO(page.jpegs[0, image])).format == "JPEG"
    page = FakePage(TraceViewer(answered.trace, video=Flat()))
    assert len(page.steps()) == len(answered.trace)
    assert "Images are missing: The trace is of another video" in page.head()["notes"][0]


def test_a_trace_cannot_make_the_viewer_read_other_cache_entries(answered: Result) -> None:
    cache = Cache(None)
    cache.put("reply:5:" + "0" * 64, b'"secret"')
    cache.put("view:2:" + "1" * 64, b"no jpeg")
    for key in ("reply:5:" + "0" * 64, "view:2:" + "1" * 64, "no key", ""):
        events = [replace(step, view=replace(step.view, key=key)) for step in answered.trace.of("step")]
        page = FakePage(TraceViewer(Trace(tuple(events)), cache=cache))
        assert len(page.steps()) == len(events)
        (missing,) = page.request(want="pictures", wanted=[[0, 0]])
        assert missing["is"] == "missing" and "secret" not in missing["words"]


class Blocked(Flat):
    """A video whose frames are decoded once `release` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.is_decoding, self.release = threading.Event(), threading.Event()

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        self.is_decoding.set()
        assert self.release.wait(60)
        return super().try_frames(times_s, size)


def test_images_of_a_step_that_was_left_are_not_drawn(cache: Cache) -> None:
    video = Blocked()
    video.release.set()
    result = run(video, Babbler(1), cache, workers=3, steps=5, budget=Budget(calls=30))
    page = FakePage(TraceViewer(result, cache=Cache(None)))
    different = sorted({each[0] for step in page.steps() for each in step["saw"]})
    video.release.clear()
    video.is_decoding.clear()
    page.widget._receive({"want": "pictures", "wanted": [[0, different[0]], [0, different[1]]]})
    assert video.is_decoding.wait(60)
    for image in different[2:5]:
        page.widget._receive({"want": "pictures", "wanted": [[0, image]]})
    video.release.set()
    page.request(want="nothing")
    assert [message["picture"] for message in page.sent if message["is"] == "picture"] == [different[0], different[4]]
    many = [[0, different[0]]] * (MAX_REQUESTED + 5)
    assert len(page.request(want="pictures", wanted=many)) == MAX_REQUESTED


def test_invalid_messages_are_ignored(answered: Result) -> None:
    page = FakePage(TraceViewer(answered))
    count = len(page.steps())
    for message in (
        {},
        {"want": "run"},
        {"want": "run", "run": 1},
        {"want": "run", "run": -1},
        {"want": "run", "run": "0"},
        {"want": "pictures", "wanted": "all"},
        {"want": "pictures", "wanted": [[0], [0, 10_000], [7, 0], [0, -1], ["0", 0], [0, 0.5], None]},
        {"want": ALL_HOSTILE},
    ):
        assert page.request(**message) == []
    assert len(page.steps()) == count, "its threads still run"


INVALID_RUNS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "nothing": (lambda path: path / "gone.json", "cannot be read: No such file"),
    "folder": (lambda path: path, "cannot be read: Is a directory"),
    "nul": (lambda path: "run\0.json", "cannot be read"),
    "picture": (lambda path: write_run(path, b"\xff\xd8\xff\xe0"), "is not valid JSON"),
    "empty": (lambda path: write_run(path, b""), "is not valid JSON"),
    "page": (lambda path: write_run(path, b"<!doctype html>"), "is not valid JSON"),
    "version": (lambda path: write_run(path, b'{"atlaskit_trace":99}\n'), "of version 99"),
    "result": (lambda path: write_run(path, b'{"atlaskit_result":4,"trace":7}'), "has no valid trace"),
    "event": (
        lambda path: write_run(path, b'{"atlaskit_trace":3}\n{"kind":"<b>"}\n'),
        "is no event that this atlaskit knows",
    ),
    "number": (lambda path: 7, "A run must be a Result, a Trace, or the path"),
    "table": (lambda path: pd.DataFrame(), "A run must be a Result, a Trace, or the path"),
}


def write_run(folder: Path, data: bytes) -> Path:
    (folder / "run.json").write_bytes(data)
    return folder / "run.json"


@pytest.mark.parametrize("case", INVALID_RUNS)
def test_an_invalid_run_raises_one_sentence(case: str, tmp_path: Path) -> None:
    make, message = INVALID_RUNS[case]
    with pytest.raises(InputError, match=message) as raised:
        TraceViewer(make(tmp_path))
    assert "\n" not in str(raised.value) and str(raised.value).endswith(".")


def test_two_runs_of_one_question_are_shown_side_by_side(world: World, answered: Result, shared_cache: Cache) -> None:
    uniform = baselines.uniform(world.drawn, answered.question, vlm=Oracle(world), cache=shared_cache)
    page = FakePage(TraceViewer(answered, uniform))
    assert page.request(want="runs") == [{"is": "runs", "runs": [0, 1]}]
    assert [len(page.steps(number)) for number in (0, 1)] == [len(answered.trace), len(uniform.trace)]
    names = [message["head"]["name"] for message in page.sent if message["is"] == "head"]
    assert names[0].startswith("video-rlm · oracle") and names[1].startswith("uniform · oracle")
    assert checked_html(page.widget).text.count(answered.question.text) == 2
    other = ask(world.drawn, world.questions[0], vlm=Oracle(world), cache=shared_cache, cell=48)
    with pytest.raises(InputError, match="Two runs must have the same question; got"):
        TraceViewer(answered, other)


def test_regions_are_those_of_the_steps_with_what_they_hold(eventful: Result) -> None:
    tree, steps = regions(open_run(eventful)), FakePage(TraceViewer(eventful)).steps()
    paths = [tuple(region["path"]) for region in tree]
    assert paths == sorted(set(paths)) and paths[0] == ()
    assert {tuple(step["path"]) for step in steps if step["path"] is not None} <= set(paths)
    assert all(path[:-1] in paths for path in paths if path)
    assert tree[0]["holds"].startswith(f"{len(eventful.evidence)} frame") and len(eventful.evidence)
    holds = {region["holds"] for region in tree}
    assert "dead zone" in holds and max(map(len, paths)) >= 2
    unknown = regions(open_run(Trace(eventful.trace.of("step"))))
    assert {region["told"] for region in unknown} <= {
        "whole video",
        *(f"cell {path[-1]}" for path in paths if path),
    }


def test_steps_name_the_evidence_that_they_are_about(answered: Result) -> None:
    steps = FakePage(TraceViewer(answered)).steps()
    for item in answered.evidence:
        about = [index for index, step in enumerate(steps) if f"[{item.label}]" in step["touches"]]
        kinds = {answered.trace.events[index].kind for index in about}
        assert {"step", "report"} <= kinds and min(about) == min(
            index
            for index, event in enumerate(answered.trace)
            if event.kind == "step" and item.timestamp_s in [found.timestamp_s for found in event.found]
        )
    assert [step["does"] for step in steps if step["does"] in ("Expand", "AddToScratchpad")] == [
        event.action.name for event in answered.trace.of("step") if event.action.name in ("Expand", "AddToScratchpad")
    ]
    decision = next(step for step in steps if step["what"] == "the question is answered")
    assert decision["touches"] and set(decision["touches"]) <= {f"[{item.label}]" for item in answered.evidence}


@pytest.fixture
def hostile(eventful: Result, tmp_path: Path) -> Result:
    """A run whose texts are all hostile."""
    events = [with_hostile_text(event) for event in eventful.trace]
    question = replace(eventful.question, text=ALL_HOSTILE[:-1], choices=(HOSTILE[0], HOSTILE[1], ALL_HOSTILE[:-1]))
    settings = {**eventful.settings, "model": ALL_HOSTILE, "parameters": {ALL_HOSTILE: ALL_HOSTILE}}
    events[0] = Start(question=question.to_json(), settings=settings)
    return replace(
        eventful,
        question=question,
        reasoning=ALL_HOSTILE,
        failure=ALL_HOSTILE,
        stop=ALL_HOSTILE,
        trace=Trace(tuple(events)),
    )


def test_hostile_text_stays_text(hostile: Result) -> None:
    for given in (hostile, hostile.trace):
        page = FakePage(TraceViewer(given, cache=hostile.sheet.cache))
        steps = page.steps()
        assert all(character.isprintable() for text in strings(page.sent) for character in text)
        assert any("<script>alert(1)</script>" in text for text in strings(steps)), "markup is shown as text"
        assert "<script>alert(1)</script>" in checked_html(page.widget).text


# --- the table


@pytest.fixture(scope="module")
def rows(world: World, shared_cache: Cache, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Rows of two methods on the same four questions; one run failed."""
    cases, folder = world.cases(drawn=True)[:4], tmp_path_factory.mktemp("traces")
    given: dict[str, Any] = {"cache": shared_cache, "progress": False, "traces": folder}
    searched = evaluate(cases, vlm=partial(Oracle, miss=0.4), cell=48, budget=Budget(calls=30), **given)
    uniform = evaluate(cases, "uniform", vlm=Oracle, **given)
    joined = pd.concat([searched, uniform], ignore_index=True)
    joined.loc[7, ["stop", "trace", "failure", "right"]] = ["failed", "", "It <b>fell</b> down.", False]
    return joined


def sent_table(table: RunTable) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the first message to the page, and the rows of the others."""
    head, *batches = FakePage(table).request(want="rows")
    values = [row for batch in batches for row in batch["rows"]]
    return head, pd.DataFrame(values, columns=head["columns"])


def test_a_table_sends_its_rows_unchanged(rows: pd.DataFrame) -> None:
    head, sent = sent_table(RunTable(rows, columns=["seconds"]))
    assert head["count"] == len(sent) == 8 and "seconds" in sent and "trace" not in sent
    for name in ("question", "id", "method", "category", "stop", "tokens", "score"):
        assert sent[name].tolist() == rows[name].tolist(), name
    outcomes = [("failed" if n == 7 else "right" if right else "wrong") for n, right in enumerate(rows["right"])]
    assert sent["outcome"].tolist() == outcomes
    assert head["filters"] == ["outcome", "stop", "category", "method"]
    head, sent = sent_table(RunTable(rows[rows["method"] == "uniform"][["id", "right", "stop", "method"]]))
    assert head["columns"] == head["shown"] == ["outcome", "id", "method", "stop"] and "method" not in head["filters"]


def means(table: RunTable, numbers: list[Any]) -> str:
    page = FakePage(table)
    table._receive({"want": "means", "ask": 3, "rows": numbers})
    assert table._means_jobs.wait(60)
    (message,) = page.sent
    assert message["is"] == "means" and message["ask"] == 3
    return str(message["words"])


def test_the_line_of_means_is_that_of_the_statistics(rows: pd.DataFrame) -> None:
    videos = rows.assign(video=[f"v{n % 4}" for n in range(8)], score=[1.0, 0, 1, 1, 0, 0, 1, 0])
    table, everything = RunTable(videos), [*range(8)]
    uniform = accuracy(videos[4:]).iloc[0]
    expected = (
        f"accuracy {100 * uniform['mean']:.1f} % (95 % interval {100 * uniform['low']:.1f}–"
        f"{100 * uniform['high']:.1f} %) of 4 questions about 4 videos"
    )
    assert means(table, [4, 5, 6, 7]) == expected and "25.0 %" in expected
    assert means(table, everything).startswith("video-rlm: accuracy 75.0 %")
    assert means(table, everything).endswith(f"; uniform: {expected}")
    assert f"All rows: {means(table, everything)}." in checked_html(table).text
    assert means(table, [0]) == "accuracy 100.0 % of 1 question, no interval: it takes several videos"
    assert means(table, []) == "no rows, so no accuracy"
    assert means(table, [99, -1, True, "0", None, 1.0]) == "no rows, so no accuracy", "no such index"
    assert means(RunTable(videos.assign(score=0.3)), [4, 5]).startswith("mean score 30.0 % (95 % interval")
    assert means(RunTable(videos[["id", "right", "stop"]]), [4]).endswith("of 1 question, no interval: no column video")
    assert means(RunTable(videos.assign(score="<b>")), [4]).startswith("no accuracy: ")
    many = videos.assign(method=[f"m{n}" for n in range(8)])
    assert means(RunTable(many), everything).endswith("; and 2 more methods")


def test_the_csv_is_what_is_shown_and_safe_in_a_spreadsheet(rows: pd.DataFrame) -> None:
    attack = '=HYPERLINK("http://x","a")'
    texts = [attack, "+1", "-2 and more", "@sum", "\t=1", "  =1", "＝1", 'a "quoted", cell\nof two lines']
    hostile = rows.assign(question=texts, tokens=[-1.5, *rows["tokens"][1:]], **{"=1+1": "x" * 900})
    table, sent = RunTable(hostile), list[bytes]()
    FakePage(table).send = lambda message, buffers=(): sent.extend(buffers)  # type: ignore[method-assign]
    columns = ["tokens", "question", "=1+1", "trace", "none", 3]
    table._receive({"want": "csv", "rows": [7, 0, 1, 2, 3, 4, 5, 6, 99], "columns": columns})
    read = pd.read_csv(io.BytesIO(sent[0]))
    assert list(read.columns) == ["run", "tokens", "question", "'=1+1"] and read["'=1+1"][0] == "x" * 900, "whole texts"
    assert read["run"].tolist() == [7, 0, 1, 2, 3, 4, 5, 6], "the numbers by which the page names the runs"
    assert read["tokens"].tolist() == [hostile["tokens"][n] for n in (7, 0, 1, 2, 3, 4, 5, 6)], "numbers as they are"
    assert read["question"].tolist() == [texts[7], *(f"'{text}" for text in texts[:7])]
    assert sent[0].startswith(b"\xef\xbb\xbf"), "spreadsheets know UTF-8 by this mark"


def test_a_row_opens_its_run(world: World, rows: pd.DataFrame, shared_cache: Cache) -> None:
    page = FakePage(RunTable(rows, cache=shared_cache))
    for number, path in enumerate(rows["trace"][:7]):
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
        assert len(page.steps(number)) == len(saved["trace"]) and page.head()["question"] == rows["question"][number]
    assert len(page.widget._channel._pictures) == MAX_RUNS, "the images of the oldest run are released"
    table = RunTable(rows, cases=world.cases(drawn=True), cache=Cache(None))
    page = FakePage(table)
    image = next(step["saw"][0][0] for step in page.steps(0) if step["saw"])
    assert page.request(want="pictures", wanted=[[0, image]])[0]["is"] == "picture", "drawn from the case's video"
    assert [run.question.text for run in table.open(0, 4).runs] == [rows["question"][0]] * 2  # type: ignore[union-attr]
    with pytest.raises(InputError, match="Two runs must have the same question"):
        table.open(0, 1)
    with pytest.raises(InputError, match="A row must have an index from 0 to 7; got 8"):
        table.open(8)


def test_a_row_without_a_trace_is_reported(rows: pd.DataFrame) -> None:
    for given, number, words in (
        (rows, 7, "because its run failed: It <b>fell</b> down."),
        (rows.drop(columns="trace"), 0, 'Evaluate again with traces="FOLDER"'),
        (rows.assign(trace="gone.json"), 0, "gone.json cannot be read: No such file"),
        (rows, 99, "from 0 to 7; got 99"),
    ):
        (trouble,) = FakePage(RunTable(given)).request(want="run", run=number)
        assert trouble["is"] == "trouble" and trouble["run"] == number and words in trouble["words"]


def test_hostile_values_of_a_table_stay_text(rows: pd.DataFrame) -> None:
    predictions = [None, 1.5, float("nan"), float("inf"), (1.0, 2.0), "w", True, -3]
    texts = dict.fromkeys(("question", "id", "failure"), TEXT)
    hostile = rows.assign(**texts, stop=[*HOSTILE[:8]], prediction=predictions)
    head, sent = sent_table(RunTable(hostile))
    assert all(character.isprintable() for text in strings(sent.to_numpy().tolist()) for character in text)
    assert sent["prediction"].iloc[2] is None or pd.isna(sent["prediction"].iloc[2])
    assert "<script>alert(1)</script>" in sent["question"][0] and len(head["columns"]) == len(sent.columns)
    assert "<script>alert(1)</script>" in checked_html(RunTable(hostile)).text
