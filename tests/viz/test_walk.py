"""A run as one page: it loads nothing, text stays text, and every step can be reached."""

import base64
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from support import stand_ins
from support.asking import ask
from support.stand_ins import ALL_HOSTILE, strings

import atlaskit as ak
from atlaskit.environment.grid import Grid
from atlaskit.environment.render import View
from atlaskit.errors import InputError
from atlaskit.runs.events import Call, Event, Failure, Start
from atlaskit.viz.walk.pictures import Pictures
from atlaskit.viz.walk.places import FindingSteps, cells_over, cells_showing, truth_rows
from atlaskit.viz.walk.source import open_run
from atlaskit.viz.walk.steps import summarize
from atlasworld import Oracle, World

SVG_NAME = "http://www.w3.org/2000/svg"
"""The name of the namespace of drawings, which a browser does not load."""


class Page(stand_ins.Page):
    """A whole page, parsed as a browser parses it: its scripts, and its texts in one line."""

    def __init__(self, html: str) -> None:
        self.scripts: list[str] = []
        super().__init__(html)
        self.run = json.loads(self.scripts[0])

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)
        elif self.open[-1:] != ["style"]:
            super().handle_data(data)

    def handle_decl(self, decl: str) -> None:
        assert decl == "doctype html"

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", super().text)


def read(html: str) -> Page:
    """Parse a page, and check what holds for every page."""
    page = Page(html)
    tags = [tag for tag, _ in page.found]
    assert tags.count("script") == 2 and tags.count("style") == tags.count("noscript") == tags.count("title") == 1
    assert not {"link", "iframe", "object", "base", "form", "svg"} & set(tags)
    for _, attributes in page.found:
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("src") or "data:image/").startswith("data:image/")
        assert (attributes.get("href") or "#step=").startswith("#step=")
    plain = re.sub(r"data:image/[^\"]+", "", html).replace(ALL_HOSTILE, "").replace(SVG_NAME, "")
    assert not re.search(r"https?:|//[a-z]|@import|url\(", plain)
    for picture in filter(None, page.run["pictures"]):
        data = base64.b64decode(picture.removeprefix("data:image/jpeg;base64,"))
        assert Image.open(io.BytesIO(data)).format == "JPEG"
    texts = [page.text, *strings(page.run["steps"]), *strings(page.run["run"])]
    assert all(char.isprintable() for text in texts for char in text)
    return page


def image_keys(event: Event) -> list[str]:
    """Return the keys of the images that an event showed."""
    return [image.key for what in ("view", "shown", "sheet") if (image := getattr(event, what, None))]


def test_a_page_has_a_step_for_every_event(answered: ak.Result, tmp_path: Path) -> None:
    ak.walk.save(answered, tmp_path / "run.html")
    html = (tmp_path / "run.html").read_text(encoding="utf-8")
    decoded = answered.sheet.video.frames_decoded
    assert ak.walk.html(answered) == html and answered.sheet.video.frames_decoded == decoded, (
        "every image is drawn once"
    )
    page = read(html)
    images = page.run["pictures"]
    for step, event in zip(page.run["steps"], answered.trace, strict=True):
        assert len(step["saw"]) == len(image_keys(event))
        assert all(images[index] and text and size for index, text, size, _ in step["saw"])
        assert bool(step["cost"]) == isinstance(event, Call | Failure) and step["round"] == event.round
    keys = {key for event in answered.trace for key in image_keys(event)}
    assert len(images) == len(keys), "each image is in the page once"
    assert answered.question.text in page.text and f"Answer: {answered.answer_in_words}" in page.text
    assert "JavaScript is off" in page.text and "effective" in page.text, "without scripts it shows the result"


def test_every_item_of_evidence_links_to_the_step_that_found_it(answered: ak.Result, eventful: ak.Result) -> None:
    for result in (answered, eventful):
        run = read(ak.walk.html(result)).run
        in_time = sorted(result.evidence, key=lambda item: item.timestamp_s)
        assert in_time
        for item, (text, index) in zip(in_time, run["run"]["evidence"], strict=True):
            assert text.startswith(f"[{item.label}]") and f"[{item.label}]" in run["steps"][index]["touches"]
            assert item.timestamp_s in [found.timestamp_s for found in result.trace.events[index].found]
        rows = (row for step in run["steps"] for row in step["memory"])
        changes = [row for row in rows if row[0] in ("evidence added", "evidence erased")]
        assert changes and all(run["steps"][row[2]]["what"] for row in changes)


def test_hostile_text_stays_text(hostile: ak.Result) -> None:
    page = read(ak.walk.html(hostile))
    assert "<script>alert(1)</script>" in page.text and "<img" in page.text
    assert any("<script>alert(1)</script>" in words for words in strings(page.run["steps"]))
    assert not re.search("[<>&\u2028\u2029\u202e\x00]", page.scripts[0]), "nothing in it ends the script"


def test_a_result_without_evidence_answer_or_images(world: World, answered: ak.Result, shared_cache: ak.Cache) -> None:
    few: dict[str, Any] = {"workers": 2, "budget": ak.Budget(calls=12), "cache": shared_cache, "cell": 48}
    blind = read(ak.walk.html(ask(world.drawn, answered.question, vlm=Oracle(world, miss=1), **few))).run["run"]
    assert blind["evidence"] == []
    assert "Evidence: none: the answer names no frame that supports it." in blind["notes"]
    none = read(ak.walk.html(replace(answered, prediction=None, trace=ak.Trace())))
    assert "No answer" in none.text and not (none.run["steps"] or none.run["pictures"])
    assert "Images are missing: The trace of a run" in none.text
    uniform = ak.baselines.uniform(world.drawn, answered.question, vlm=Oracle(world), cache=shared_cache)
    assert len(read(ak.walk.html(uniform)).run["steps"]) == len(uniform.trace)


def test_a_path_that_cannot_be_written_is_an_error(answered: ak.Result, in_tmp: Path) -> None:
    for path in ("gone/run.html", "nul\0"):
        with pytest.raises(InputError, match=r"cannot be written: [^\n]+\.$"):
            ak.walk.save(answered, path)


@pytest.fixture(scope="module")
def wrong(world: World, shared_cache: ak.Cache) -> ak.Result:
    """A run that counts wrongly, because its workers overlook events."""
    question = next(question for question in world.questions if question.category == "COUNT")
    limits: dict[str, Any] = {"k": 4, "cell": 96, "workers": 3, "budget": ak.Budget(calls=60), "cache": shared_cache}
    result = ask(world.drawn, question, vlm=Oracle(world, miss=0.3, seed=2), **limits)
    assert result.is_right is False
    return result


def truth_of(result: ak.Result) -> list[tuple[str, int | None]]:
    """Return what is told of each moment that holds the answer, and the step that it is about."""
    run = open_run(result)
    return truth_rows(run, FindingSteps(run.trace))


@pytest.mark.parametrize("edges", [(), (0.0, 1.0, 2.0, 4.0, 10.0)], ids=["video", "collection"])
def test_a_moment_is_outlined_in_the_cells_that_it_overlaps(edges: tuple[float, ...]) -> None:
    grid = Grid(0, 10, 2, edges=edges)
    for moment in ((0.5, 1.5), (3.0, 3.5), (1.5, 8.0), (9.0, 10.0)):
        over = [cell.index for cell in grid.cells if cell.start_s < moment[1] and moment[0] < cell.end_s]
        shown = [cell.index for cell in grid.cells if moment[0] <= cell.midpoint_s < moment[1]]
        assert (list(cells_over(moment, grid)), list(cells_showing(moment, grid))) == (over, shown)
    settings = {"k": 2, "within": [0.0, 10.0], "edges_s": list(edges)}
    for video in (stand_ins.Flat(), None):
        run = open_run(ak.Trace((Start(settings=settings, question={}),)), video, ak.Cache(None))
        assert summarize(run, Pictures()).get("edges", []) == list(edges)


def test_each_moment_that_holds_the_answer_is_found_or_missed_where_it_was_shown(
    world: World, shared_cache: ak.Cache, wrong: ak.Result
) -> None:
    moments = sorted(wrong.question.positions_s)
    rows = truth_of(wrong)
    assert any("not reported" in text for text, _ in rows)
    views = {
        shown.place: shown.picture
        for shown in ak.replay.pictures(wrong.trace, wrong.sheet.video, wrong.sheet.cache)
        if isinstance(shown.picture, View)
    }
    for (start_s, end_s), (text, step) in zip(moments, rows, strict=True):
        kept = [f"[{item.label}]" for item in wrong.evidence if start_s <= item.timestamp_s < end_s]
        if kept:
            assert f"was found: {', '.join(kept)}" in text and step is not None
            continue
        told = re.search(r"at depth (\d+) in cell (\d+) at step (\d+), and not reported", text)
        assert told
        depth, cell, place = map(int, told.groups())
        assert place == step and views[place].grid.depth == depth
        assert start_s <= views[place].moments[cell] < end_s
    asked = replace(wrong.question, positions_s=((410.0, 410.001),)).to_json()
    start = replace(wrong.trace.of(Start)[0], question=asked)
    ((text, step),) = truth_of(replace(wrong, trace=ak.Trace((start, *wrong.trace.events[1:]))))
    deepest = max(event.depth for event in wrong.trace.of("step") if event.interval_s[0] <= 410 < event.interval_s[1])
    assert f"no frame of it was shown; the deepest grid over it is at depth {deepest} " in text and step is not None
    assert wrong.trace.events[step].depth == deepest
    uniform = ak.baselines.uniform(world.drawn, wrong.question, vlm=Oracle(world), cache=shared_cache)
    assert truth_of(uniform) == [], "a method without evidence and grids misses no moment"
