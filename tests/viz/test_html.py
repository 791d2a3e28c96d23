"""What notebooks show of objects: text is text (promise 12), damage is a sentence, and nothing is decoded twice."""

from __future__ import annotations

import base64
import gc
import io
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support.stand_ins import ALL, HOSTILE, TAGS, Flat, Gone, Named, Page, shown

from atlaskit.agents.search import ask
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache, cache_in_use, default_cache
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.mdp import Expand, Investigate, Zoom
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.question import Question
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.errors import InputError
from atlaskit.models.usage import Usage
from atlaskit.runs.events import DATA_CLASSES, Event
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.playlist import Playlist
from atlaskit.viz import html
from atlaskit.viz.html import markup, timeline


def items(count: int, words: str = "a thing", span_s: float = 16.0) -> Scratchpad:
    times = [span_s * (n + 0.5) / count for n in range(count)]
    return Scratchpad().add(Evidence(t, t, t, words, 0.5, subtitle=words) for t in times)


@pytest.fixture
def atlas(cache: Cache) -> Atlas:
    return Atlas(Named(), k=4, cell=48, cache=cache)


@pytest.fixture
def run(world: World, shared_cache: Cache) -> Result:
    question = next(question for question in world.questions if question.category == "SSS")
    return ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, cell=48)


def test_a_video_shows_its_sheet_in_small_and_its_facts_and_decodes_it_once(tmp_path: Path, in_tmp: Path) -> None:
    cache, video = Cache(tmp_path / "mine"), Flat()
    page = shown(video)
    assert [image.size for image in page.images] == [(640, 640)]
    assert "flat" in page.text and "320×180" in page.text and "25 a second" in page.text and video.asked == 64
    assert shown(video).text == page.text and video.asked == 64
    assert cache.stats()["tile"]["entries"] == 64 and [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert repr(video) == "<flat: 16.0 s, 320×180, 25 fps, 0 lines>"
    assert "parts2" in shown(Playlist([Flat(), Flat((160, 90))])).text


def test_a_video_is_shown_from_the_cache_that_was_opened_last(in_tmp: Path) -> None:
    first, last = Cache("a"), Cache("b")
    assert cache_in_use() is last
    del first, last
    gc.collect()
    assert cache_in_use() is default_cache() and cache_in_use() is default_cache()


def test_a_view_shows_the_picture_and_says_what_it_is(cache: Cache) -> None:
    video = Flat()
    page = shown(View(video, Grid(0, 16, 4, (3,)), 64, dead=frozenset({0, 1, 2, 9}), cache=cache))
    (image,) = page.images
    assert image.size == (256, 256) and image.getpixel((5, 5)) == (0, 0, 0)
    assert "4×4 cells of 0.0625 s · 0:03.0–0:04.0 · depth 1 · ruled out, and black: 0–2, 9" in page.text
    assert video.asked == 12, "dead cells are not decoded"
    assert shown(Still(video, 3.0, cache)).images[0].size == (320, 180)


def test_a_large_picture_is_made_smaller_and_a_small_one_is_left_as_it_is(cache: Cache) -> None:
    small = View(Flat(), Grid(0, 16, 2), 64, cache=cache)
    assert base64.b64encode(small.jpeg()).decode() in small._repr_html_()
    noise = io.BytesIO()
    Image.effect_noise((2000, 2000), 90).convert("RGB").save(noise, "JPEG", quality=95)
    assert len(noise.getvalue()) > 2_000_000
    bounded = markup.bounded(noise.getvalue(), 960)
    assert len(bounded) <= markup.MOST_PICTURE_BYTES and Image.open(io.BytesIO(bounded)).width <= 960


def test_an_observation_shows_what_the_agent_sees_and_may_do(atlas: Atlas) -> None:
    page = shown(atlas.reset())
    assert len(page.images) == 1 and "Legal actions" in page.text and "cells 0–15" in page.text
    assert shown(atlas.step(Expand(3))).text.count("root → 3") == 1
    assert [image.size for image in shown(atlas.step(Zoom(2))).images] == [(320, 180), (192, 192)]
    scan = shown(atlas.step(Investigate(2, "after")))
    assert len(scan.images) == 2 and scan.text.count("depth 1 ·") == 0


def test_a_scratchpad_is_its_items_and_a_sheet_their_frames(cache: Cache) -> None:
    assert "0 frames" in shown(Scratchpad()).text
    page = shown(items(3))
    assert page.rows("Evidence") == 3 and not page.images and "50%" in page.text
    video = Flat()
    page = shown(Sheet(video, items(3), 64, cache=cache))
    assert page.images[0].size == (128, 128) and page.rows("Evidence") == 3 and video.asked == 3
    assert not shown(Sheet(video, Scratchpad(), 64, cache=cache)).images and video.asked == 3
    many = shown(Sheet(video, items(200), 32, cache=cache))
    assert many.rows("Evidence") == 64 and "136 frames more are not shown" in many.text and video.asked == 67


def test_dead_zones_are_a_timeline_and_a_table() -> None:
    assert "nothing is ruled out" in shown(DeadZones()).text
    zones = DeadZones().add_all([(0, 4), (8, 10)])
    page = shown(zones)
    (image,) = page.images
    rgb = image.convert("RGB")
    middle = rgb.height // 4
    assert rgb.getpixel((400, middle)) != (255, 255, 255) and rgb.getpixel((1000, middle)) == (255, 255, 255)
    assert page.rows("Ruled out") == 2 and "6 s in all" in page.text and "not known here" in page.text
    whole = html.kinds.dead_zones(zones, 16.0)
    assert "38% of the video" in Page(whole).text and "not known here" not in Page(whole).text
    many = shown(DeadZones(tuple((n * 2.0, n * 2.0 + 1) for n in range(5_000))))
    assert many.rows("Ruled out") == 40 and "4,960 intervals more" in many.text


def test_a_result_shows_answer_choices_evidence_path_and_cost(run: Result, world: World) -> None:
    page = shown(run)
    decoded = world.drawn.frames_decoded
    assert shown(run).text == page.text and world.drawn.frames_decoded == decoded
    grid, path = page.images
    assert grid.size == run.sheet.size and path.width == 2 * timeline.WIDTH_PX
    assert run.question.text in page.text and str(run.answer) in page.text and "right" in page.text
    for words in (*run.question.choices, "frames for it", "the answer, the truth", "as last weighed in", "effective"):
        assert words in page.text
    for item in run.evidence:
        assert item.label in page.text and item.description in page.text


def test_support_and_contradiction_are_those_that_were_last_named(run: Result) -> None:
    review = {"choice": 1, "supporting": ["R"], "contradicting": ["S"], "sufficient": False}
    decision = {"choice": 0, "supporting": [3], "contradicting": []}
    events = [
        Event("review", 1, data={"choices": [{**review, "supporting": ["OLD"]}]}),
        Event("review", 2, data={"choices": [review, {**review, "choice": 0}]}),
        Event("decision", 2, data={"answer": {"weighed": [decision], "answer": 0}}),
    ]
    weighed = html.kinds._weighed(Trace(tuple(events)))
    assert weighed == {1: ("R", "S", "the review of round 2"), 0: ("cell 3", "nothing", "the decision")}
    assert "the review of round 2" in shown(replace(run, trace=Trace(tuple(events)))).text


def test_a_result_without_evidence_answer_or_choices(world: World, shared_cache: Cache, run: Result) -> None:
    blind = ask(world.drawn, run.question, vlm=Oracle(world, miss=1), workers=2, cache=shared_cache, cell=48)
    page = shown(blind)
    assert blind.rounds > html.kinds.MOST_LANES and "No frame was kept" in page.text and len(page.images) == 1
    assert page.images[0].height <= 2 * 20 * (html.kinds.MOST_LANES + 4) + 8
    none = shown(replace(run, prediction=None, failure=ALL, trace=Trace(), usage={}))
    assert "none could be had" in none.text and "nowhere" in none.text
    when = next(question for question in world.questions if question.kind == "when")
    page = shown(ask(world.drawn, when, vlm=Oracle(world), cache=shared_cache, cell=48))
    assert "frames for it" not in page.text and "rests on" in page.text


def test_a_trace_shows_two_hundred_events_and_says_how_many_are_left_out(run: Result) -> None:
    assert "no events" in shown(Trace()).text
    page = shown(run.trace)
    assert page.rows("Events") == len(run.trace) and run.question.text in page.text
    assert "not in the form" not in page.text
    long = shown(Trace((run.trace.events * 1_000)[:1_000]))
    assert long.rows("Events") == 200 and "800 events more are not shown, between event 99 and event 900" in long.text


def test_every_kind_of_event_is_told_in_short() -> None:
    assert set(html.kinds.SHORT) == set(DATA_CLASSES)
    usage = Usage(calls=1, prompt_tokens=1_000, completion_tokens=234).to_json()
    row = html.kinds._event_row(0, Event("caption", data={"interval_s": [0, 4], "caption": "a sea", "usage": usage}))
    assert "0:00.0–0:04.0: a sea" in row[4] and row[5] == 1234  # type: ignore[operator]
    when = {"answer": {"start_s": 1.0, "end_s": 2.0, "reasoning": "so"}}
    assert "answered 0:01.0–0:02.0: so" in html.kinds._event_row(0, Event("decision", data=when))[4]  # type: ignore[operator]


def test_a_cache_shows_what_is_in_it(tmp_path: Path) -> None:
    assert "It is empty" in shown(Cache(None)).text
    cache = Cache(tmp_path / "<b>cache")
    cache.put("view:2:aa", b"x" * 2_000_000)
    cache.put("<script>:1:b", b"x")
    page = shown(cache)
    assert "2.00" in page.text and "<script>" in page.text and "<b>cache" in page.text
    assert page.rows("Hits") == 3 and repr(cache) == f"Cache({str(cache.directory)!r})"


def test_every_text_of_a_stranger_is_shown_as_text(atlas: Atlas, run: Result, in_tmp: Path) -> None:
    video, labelled = Named(), replace(items(1, ALL).items[0], label=HOSTILE[1])
    pad = Scratchpad((labelled, *(replace(labelled, description=each) for each in HOSTILE)), 12)
    asked = Question(ALL[:-1], (HOSTILE[0], HOSTILE[1], ALL[:-1]), answer=1)
    told = {"supporting": list(HOSTILE), "contradicting": [ALL], "sufficient": True}
    events = [Event(ALL, 1, data={ALL: ALL}), Event("failure", data={"step": ALL, "reason": ALL})]
    events.append(Event("review", 1, data={"choices": [{"choice": 0, **told}], "reasoning": ALL}))
    events.append(Event("task", data={"traversal": HOSTILE[0], "search_task": ALL}))
    hostile = Result(
        **{
            **vars(run),
            "question": asked,
            "prediction": 0,
            "reasoning": ALL,
            "failure": ALL,
            "stop": HOSTILE[3],
            "evidence": pad,
            "usage": {HOSTILE[1]: Usage(calls=1)},
            "trace": Trace(tuple(events)),
            "sheet": Sheet(video, pad, 48, cache=atlas.cache),
        }
    )
    for thing in (video, atlas.reset(), atlas.observe(atlas.start()).view, pad, hostile.sheet, hostile, hostile.trace):
        page = shown(thing)  # which refuses every element and attribute but ours, and every sign that is no letter
        assert "<script>alert(1)</script>" in page.text, type(thing)
    assert "�" in shown(hostile).text and "\u202e" not in hostile._repr_html_()


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_stays_text(words: str) -> None:
    page = Page(markup.card(markup.facts([(words, words)]), markup.paragraph(markup.strange(words))))
    assert {tag for tag, _ in page.found} <= TAGS and all(letter.isprintable() for letter in page.text)
    told = re.sub(r"\s+", " ", words)
    assert page.text == "".join(letter if letter.isprintable() else "�" for letter in told) * 3


def test_a_damaged_object_shows_what_it_can_and_nothing_raises(cache: Cache, in_tmp: Path, run: Result) -> None:
    gone = Gone()
    page = shown(gone)
    assert "The picture cannot be shown: gone: <script>" in page.text and "320×180" in page.text
    view = View(gone, Grid(0, 16, 2), 32, cache=cache)
    assert "cannot be shown" in shown(view).text and view._repr_jpeg_() is None
    assert "cannot be shown" in shown(Sheet(gone, items(2), 32, cache=cache)).text
    broken = replace(run, sheet=None, question=None)  # type: ignore[arg-type]
    assert "This Result cannot be shown" in shown(broken).text
    half = shown(replace(run, sheet=None))  # type: ignore[arg-type]
    assert run.question.text in half.text and "The path cannot be shown" in half.text and "effective" in half.text
    odd = Trace((Event("step", data={"action": 3}), Event("step"), Event("stop", data={"stop": object()})))
    assert shown(odd).text.count("not in the form") == 3
    assert "cannot be shown" in shown(DeadZones(((float("nan"), float("nan")),))).text
    assert "cannot be shown" in shown(Scratchpad((None,))).text  # type: ignore[arg-type]


def test_what_has_no_display_and_no_time_is_told_of() -> None:
    with pytest.raises(TypeError, match="no display of a int; there is one of Video, View"):
        html.html(3)
    with pytest.raises(InputError, match="needs a span of time"):
        timeline.draw([], 0.0)


def test_a_notebook_gets_the_display_and_the_text_and_nothing_is_imported_for_it(tmp_path: Path) -> None:
    code = (
        "import sys, atlaskit as ak\n"
        "assert ak.Trace()._repr_html_() and repr(ak.Trace()) == 'Trace(events=())'\n"
        "assert not {'IPython', 'matplotlib'} & set(sys.modules)\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "shell.display_formatter.active_types = shell.display_formatter.format_types\n"
        "data, _ = shell.display_formatter.format(ak.Trace())\n"
        "assert set(data) == {'text/plain', 'text/html'}, data\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, env={"PATH": "", "HOME": str(tmp_path)})
