"""The kernel's side of trace viewer and run table: steps, requested images, hostile text."""

import io
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.asking import ask, evaluate
from support.bounded import check_takes
from support.stand_ins import ALL_HOSTILE, checked_html
from viz.widget_pages import FakePage

import atlaskit as ak
from atlaskit.errors import InputError
from atlaskit.models.protocol import Usage
from atlaskit.runs.events import Look, Report, Start, ViewRecord
from atlaskit.runs.replay import pictures
from atlaskit.viz.html.markup import MAX_WIDTH_PX, shrink_jpeg
from atlaskit.viz.widgets import RunTable, TraceViewer
from atlaskit.viz.widgets.viewer import MAX_RUNS
from atlasworld import Oracle, World


class RunPage(FakePage):
    """A page that shows runs."""

    def steps(self, number: int = 0) -> list[dict[str, Any]]:
        """Request a run, and return its steps, joined from batches as a page joins them."""
        steps: list[dict[str, Any]] = []
        for message in self.request(want="run", run=number):
            if message["is"] == "steps":
                assert message["first"] == len(steps)
                steps += message["steps"]
        assert self.sent[-1][0]["last"]
        return steps

    def head(self) -> dict[str, Any]:
        return next(message["head"] for message, _ in reversed(self.sent) if message["is"] == "head")


def test_a_page_receives_all_steps_and_only_requested_images(eventful: ak.Result) -> None:
    empty = ak.Cache(None)
    video = eventful.sheet.video
    page = RunPage(TraceViewer(eventful, cache=empty))
    assert page.request(want="runs") == [{"is": "runs", "runs": [0]}]
    decoded = video.frames_decoded
    steps, head = page.steps(), page.head()
    assert video.frames_decoded == decoded and empty.stats() == {}, "nothing is drawn yet"
    exported = json.loads(re.findall(r'id="run">(.*?)</script>', ak.walk.html(eventful))[0])
    assert steps == exported["steps"]
    shown = {"map": 0, "sheet": None}  # a page numbers its images anew
    assert {**head, **shown} == {**exported["run"], **shown} and head["count"] == len(steps) == len(eventful.trace)

    drawn = list(pictures(eventful.trace, video, eventful.sheet.cache))
    listed = [(index, image) for index, step in enumerate(steps) for image, *_ in step["saw"]]
    assert [index for index, _ in listed] == [each.place for each in drawn] and len(listed) > 10
    for (_, image), each in list(zip(listed, drawn, strict=True))[:6]:
        reply, (jpeg,) = page.ask(want="pictures", wanted=[[0, image]])
        assert reply == {"is": "picture", "run": 0, "picture": image}
        assert jpeg == shrink_jpeg(each.picture.jpeg(), MAX_WIDTH_PX, 500_000)


def test_a_trace_cannot_make_the_viewer_read_other_cache_entries(answered: ak.Result) -> None:
    cache = ak.Cache(None)
    cache.put("reply:5:" + "0" * 64, b'"secret"')
    cache.put("view:2:" + "1" * 64, b"no jpeg")
    for key in ("reply:5:" + "0" * 64, "view:2:" + "1" * 64, "no key", ""):
        events = [replace(step, view=replace(step.view, key=key)) for step in answered.trace.of("step")]
        page = RunPage(TraceViewer(ak.Trace(tuple(events)), cache=cache))
        assert len(page.steps()) == len(events)
        (missing,) = page.request(want="pictures", wanted=[[0, 0]])
        assert missing["is"] == "missing" and "secret" not in missing["words"]


def test_invalid_messages_are_ignored(answered: ak.Result) -> None:
    page = RunPage(TraceViewer(answered))
    wanted = [[0], [0, 10_000], [7, 0], [0, -1], ["0", 0], [0, 0.5], None]
    runs = [{"want": "run", "run": number} for number in (1, -1, "0")]
    for message in ({}, {"want": "run"}, *runs, {"want": "pictures", "wanted": wanted}, {"want": ALL_HOSTILE}):
        assert page.request(**message) == []
    assert len(page.steps()) == len(answered.trace), "its threads still run"


def test_absurd_numbers_in_a_trace_are_told_and_keep_nobody_waiting(answered: ak.Result) -> None:
    """A thread that died of them left the page waiting in silence."""
    start, *others = answered.trace
    assert isinstance(start, Start)
    for absurd in ({"k": 1e308}, {"within": [0, 10**300]}, {"max_depth": -(10**300)}):
        strange = replace(start, settings={**start.settings, **absurd})
        page = FakePage(TraceViewer(ak.Trace((strange, *others)), cache=ak.Cache(None)))
        last, _ = page.ask(want="run", run=0)
        assert last["is"] == "trouble" or last.get("last") is True, absurd


def test_a_trace_of_absurd_grids_or_many_dead_zones_is_shown_at_once(eventful: ak.Result) -> None:
    """A look of a million cells took all memory, and 3,000 dead zones took minutes."""
    start, report = eventful.trace.of(Start)[0], eventful.trace.of(Report)[0]
    whole = replace(start, question={**start.question, "positions_s": [[0.0, 16.0], [0.0, 5e-324]]})
    sheet = ViewRecord(key="view:2:" + "0" * 64, path=(), dead=(), k=8192)
    views = tuple(replace(sheet, stretch_s=(0.0, end_s)) for end_s in (16.0, 5e-324))
    nothing: dict[str, Any] = {"usage": Usage(), "reasoning_text": "", "note": "", "found": (), "wanted_s": ()}
    look = Look(views=views, intervals_s=((0.0, 16.0), (-1.0, 1e19)), **nothing)
    zones = [
        replace(report, path=(n % 64, n // 64), kept=(), dead_s=((n / 100, n / 100 + 0.005),)) for n in range(3000)
    ]
    for events in ((whole, look), (start, *zones)):
        page = RunPage(TraceViewer(ak.Trace(events), cache=ak.Cache(None)))
        check_takes(4.0, page.steps)
        assert len(page.steps()) == len(events)


def test_two_runs_of_one_question_are_shown_side_by_side(
    world: World, answered: ak.Result, shared_cache: ak.Cache
) -> None:
    uniform = ak.baselines.uniform(world.drawn, answered.question, vlm=Oracle(world), cache=shared_cache)
    page = RunPage(TraceViewer(answered, uniform))
    assert page.request(want="runs") == [{"is": "runs", "runs": [0, 1]}]
    assert [len(page.steps(number)) for number in (0, 1)] == [len(answered.trace), len(uniform.trace)]
    names = [message["head"]["name"] for message, _ in page.sent if message["is"] == "head"]
    assert names[0].startswith("video-rlm · oracle") and names[1].startswith("uniform · oracle")
    assert checked_html(page.widget).text.count(answered.question.text) == 2
    other = ask(world.drawn, world.questions[0], vlm=Oracle(world), cache=shared_cache, cell=48)
    with pytest.raises(InputError, match="Two runs must have the same question; got"):
        TraceViewer(answered, other)


@pytest.fixture(scope="module")
def rows(world: World, shared_cache: ak.Cache, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Rows of two methods on the same four questions; one run failed."""
    cases = world.cases(drawn=True)[:4]
    folder = tmp_path_factory.mktemp("traces")
    given: dict[str, Any] = {"cache": shared_cache, "progress": False, "traces": folder}
    searched = evaluate(cases, vlm=partial(Oracle, miss=0.4), cell=48, budget=ak.Budget(calls=30), **given)
    uniform = evaluate(cases, "uniform", vlm=Oracle, **given)
    joined = pd.concat([searched, uniform], ignore_index=True)
    joined.loc[7, ["stop", "trace", "failure", "right"]] = ["failed", "", "It <b>fell</b> down.", False]
    return joined


def test_a_table_sends_its_rows_unchanged(rows: pd.DataFrame) -> None:
    head, *batches = RunPage(RunTable(rows)).request(want="rows")
    sent = pd.DataFrame([row for batch in batches for row in batch["rows"]], columns=head["columns"])
    assert head["count"] == len(sent) == 8 and "seconds" in sent and "trace" not in sent
    for name in ("question", "id", "method", "category", "stop", "tokens", "score"):
        assert sent[name].tolist() == rows[name].tolist(), name
    outcomes = [("failed" if n == 7 else "right" if right else "wrong") for n, right in enumerate(rows["right"])]
    assert sent["outcome"].tolist() == outcomes
    assert head["filters"] == ["outcome", "stop", "category", "method"]
    unknown = rows.assign(score=[None, *rows["score"][1:]], evidence=[None, *rows["evidence"][1:]], own=[np.eye(2)] * 8)
    nullable = RunPage(RunTable(unknown.convert_dtypes())).request(want="rows")
    assert nullable[1]["rows"][0][:2] == ["answered", None], "a missing value of pandas is neither right nor wrong"


def test_the_csv_is_what_is_shown_and_safe_in_a_spreadsheet(rows: pd.DataFrame) -> None:
    attack = '=HYPERLINK("http://x","a")'
    texts = [attack, "+1", "-2 and more", "@sum", "\t=1", "  =1", "＝1", 'a "quoted", cell\nof two lines']
    hostile = rows.assign(question=texts, tokens=[-1.5, *rows["tokens"][1:]], **{"=1+1": "x" * 900})
    order = [7, 0, 1, 2, 3, 4, 5, 6]
    columns = ["tokens", "question", "=1+1", "trace", "none", 3]
    _, (csv,) = RunPage(RunTable(hostile)).ask(want="csv", rows=[*order, 99], columns=columns)
    read = pd.read_csv(io.BytesIO(csv))
    assert list(read.columns) == ["run", "tokens", "question", "'=1+1"] and read["'=1+1"][0] == "x" * 900, "whole texts"
    assert read["run"].tolist() == order, "the numbers by which the page names the runs"
    assert read["tokens"].tolist() == [hostile["tokens"][n] for n in order], "numbers as they are"
    assert read["question"].tolist() == [texts[7], *(f"'{text}" for text in texts[:7])]
    assert csv.startswith(b"\xef\xbb\xbf"), "spreadsheets know UTF-8 by this mark"


def test_a_row_opens_its_run(world: World, rows: pd.DataFrame, shared_cache: ak.Cache) -> None:
    page = RunPage(RunTable(rows, cache=shared_cache))
    for number, path in enumerate(rows["trace"][:7]):
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
        assert len(page.steps(number)) == len(saved["trace"]) and page.head()["question"] == rows["question"][number]
    assert len(page.widget._channel._pictures) == MAX_RUNS, "the images of the oldest run are released"
    assert len(page.widget._channel._step_jobs) == MAX_RUNS, "and so are the threads that sent them"
    table = RunTable(rows, cases=world.cases(drawn=True), cache=ak.Cache(None))
    page = RunPage(table)
    image = next(step["saw"][0][0] for step in page.steps(0) if step["saw"])
    assert page.request(want="pictures", wanted=[[0, image]])[0]["is"] == "picture", "drawn from the case's video"
    assert [run.question.text for run in table.open(0, 4).runs] == [rows["question"][0]] * 2  # type: ignore[union-attr]
    with pytest.raises(InputError, match="Two runs must have the same question"):
        table.open(0, 1)
