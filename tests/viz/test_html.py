"""HTML displays: text stays text (promise 12), damage is a sentence, nothing is decoded twice."""

import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from support.asking import ask
from support.stand_ins import ALL_HOSTILE, HOSTILE, TAGS, Flat, HostileVideo, MissingVideo, Page, checked_html

from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import recipe_key
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.grid import Grid
from atlaskit.environment.memory import Evidence, Scratchpad
from atlaskit.environment.render import Sheet, Still, View
from atlaskit.environment.tiles import Look
from atlaskit.models.protocol import Usage
from atlaskit.runs.events import Review
from atlaskit.runs.result import Result
from atlaskit.runs.trace import Trace
from atlaskit.video.playlist import Playlist
from atlaskit.viz.html import markup
from atlasworld import Oracle, World


def items(count: int, text: str = "a thing", span_s: float = 16.0) -> Scratchpad:
    times = [span_s * (n + 0.5) / count for n in range(count)]
    return Scratchpad().add(Evidence(t, t, t, text, 0.5, subtitle=text) for t in times)


def test_a_video_shows_an_overview_and_its_facts_and_decodes_it_once(tmp_path: Path, in_tmp: Path) -> None:
    cache = Cache(tmp_path / "own")
    video = Flat()
    video._cache = cache  # as `open_video(…, cache=cache)` sets it
    page = checked_html(video)
    assert [image.size for image in page.images] == [(1280, 736)]  # shown half as wide
    assert "flat" in page.text and "320×180" in page.text and "25 fps" in page.text and video.asked == 64
    assert checked_html(video).text == page.text and video.asked == 64
    assert cache.stats()["tile"]["entries"] == 64 and [path.name for path in tmp_path.iterdir()] == ["own"]
    assert repr(video) == "<flat: 16.0 s, 320×180, 25 fps, 0 lines>"
    assert "parts2" in checked_html(Playlist([Flat(), Flat((160, 90))])).text


def test_a_cache_and_a_trace_say_what_they_hold(answered: Result, tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(recipe_key("reply", 1, a=1), b"{}")
    text = checked_html(cache).text
    assert str(tmp_path) in text and "reply" in text and "again" in text and "0.0 kB" in text
    text = checked_html(answered.trace).text
    assert f"{len(answered.trace):,}" in text and answered.stop in text and answered.question.text in text


def test_a_view_shows_its_image_and_describes_its_grid(cache: Cache) -> None:
    video = Flat()
    page = checked_html(View(video, Grid(0, 16, 4, (3,)), Look(64), dead=frozenset({0, 1, 2, 9}), cache=cache))
    (image,) = page.images
    assert image.size == (256, 256) and image.getpixel((5, 5)) == (0, 0, 0)
    assert "4×4 cells of 0.0625 s · 0:03.0–0:04.0 · depth 1 · dead cells (black): 0–2, 9" in page.text
    assert video.asked == 12, "dead cells are not decoded"
    assert checked_html(Still(video, 3.0, cache)).images[0].size == (320, 180)


def test_a_scratchpad_shows_a_table_and_a_sheet_also_the_frames(cache: Cache) -> None:
    assert "0 frames" in checked_html(Scratchpad()).text
    page = checked_html(items(3))
    assert page.rows("Evidence") == 3 and not page.images and "50 %" in page.text
    video = Flat()
    page = checked_html(Sheet(video, items(3), Look(64), cache=cache))
    assert page.images[0].size == (128, 128) and page.rows("Evidence") == 3 and video.asked == 3
    assert not checked_html(Sheet(video, Scratchpad(), Look(64), cache=cache)).images and video.asked == 3
    many = checked_html(Sheet(video, items(200), Look(32), cache=cache))
    assert many.rows("Evidence") == 64 and "136 more frames are not shown" in many.text and video.asked == 67


def test_a_result_shows_answer_choices_evidence_path_and_cost(answered: Result) -> None:
    page = checked_html(answered)
    decoded = answered.sheet.video.frames_decoded
    assert checked_html(answered).text == page.text and answered.sheet.video.frames_decoded == decoded
    (grid,) = page.images
    assert grid.size == answered.sheet.size and "visits by workers" in page.text and "Dead zones cover" in page.text
    verdict = f"answer{answered.answer_in_words}correctyestruth{answered.truth_in_words}"
    known = (answered.question.text, *answered.question.choices, verdict)
    for text in (*known, "supporting frames", "answer, correct", "judged in", "effective"):
        assert text in page.text
    for item in answered.evidence:
        assert item.label in page.text and item.description in page.text


def test_a_result_without_evidence_answer_or_choices(world: World, shared_cache: Cache, answered: Result) -> None:
    blind = ask(world.drawn, answered.question, vlm=Oracle(world, miss=1), workers=2, cache=shared_cache, cell=48)
    page = checked_html(blind)
    assert "names no frame that supports it" in page.text and not page.images
    none = checked_html(replace(answered, prediction=None, failure=ALL_HOSTILE, trace=Trace(), usage={}))
    assert "answerno answer" in none.text and "not judged" in none.text


def test_hostile_text_stays_text(cache: Cache, hostile: Result, in_tmp: Path) -> None:
    video = HostileVideo()
    atlas = Atlas(video, k=4, cell=48, cache=cache)
    labelled = replace(items(1, ALL_HOSTILE).items[0], label=HOSTILE[1])
    pad = Scratchpad((labelled, *(replace(labelled, description=each) for each in HOSTILE)), 12)
    cited = {"choice": 0, "supporting": [*HOSTILE], "contradicting": [ALL_HOSTILE], "sufficient": True}
    result = replace(
        hostile,
        prediction=0,
        evidence=pad,
        usage={HOSTILE[1]: Usage(calls=1)},
        trace=Trace((*hostile.trace, replace(hostile.trace.of(Review)[0], choices=[cited]))),
        sheet=Sheet(video, pad, Look(48), cache=cache),
    )
    for thing in (video, atlas.reset(), atlas.observe(atlas.start()).view, pad, result.sheet, result):
        page = checked_html(thing)  # `checked_html` rejects other elements and attributes, and unprintable characters
        assert "<script>alert(1)</script>" in page.text, type(thing)
    assert "�" in checked_html(result).text and "\u202e" not in result._repr_html_()


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_stays_text(text: str) -> None:
    page = Page(markup.card(markup.fact_table([(text, text)]), markup.paragraph(markup.untrusted(text))))
    assert {tag for tag, _ in page.found} <= TAGS and all(char.isprintable() for char in page.text)
    line = re.sub(r"\s+", " ", text)
    assert page.text == "".join(char if char.isprintable() else "�" for char in line) * 3


def test_a_damaged_object_shows_what_it_can_and_does_not_raise(cache: Cache, in_tmp: Path, answered: Result) -> None:
    gone = MissingVideo()
    page = checked_html(gone)
    assert "The image cannot be shown: gone: <script>" in page.text and "320×180" in page.text
    view = View(gone, Grid(0, 16, 2), Look(32), cache=cache)
    assert view._repr_jpeg_() is None
    for broken in (view, Sheet(gone, items(2), Look(32), cache=cache), Scratchpad((None,))):  # type: ignore[arg-type]
        assert "cannot be shown" in checked_html(broken).text
    without_question = replace(answered, sheet=None, question=None)  # type: ignore[arg-type]
    assert "This Result cannot be shown" in checked_html(without_question).text
    half = checked_html(replace(answered, sheet=None))  # type: ignore[arg-type]
    assert answered.question.text in half.text and "The path cannot be shown" in half.text and "effective" in half.text
