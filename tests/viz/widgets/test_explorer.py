"""The kernel side of the explorer: images of the environment, frames, times, clips, files."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support.asking import ask
from support.media import SIZE, frame_number, make_video
from support.speaking import RATE, heard, speaking_video
from support.stand_ins import HOSTILE, Flat, HostileVideo, MissingVideo, Page, strings
from viz.widget_pages import FakePage

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.cli.outputs import seconds_of
from atlaskit.environment.actions import Action, Expand, Investigate, Zoom
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.render import View, with_look
from atlaskit.errors import FrameError, IllegalAction, InputError
from atlaskit.runs.exporting.clips import SHORTEST_S, Clip, make_clip
from atlaskit.runs.result import Result
from atlaskit.video.readers import Pixels
from atlaskit.video.video import Video
from atlaskit.viz.widgets import GridExplorer, bridge
from atlaskit.viz.widgets.explorer.describe import MARKS, lane
from atlasworld import Oracle, World

ROOT: dict[str, Any] = {"path": [], "look": "grid", "cell": None}


def explore(video: Video, cache: Cache, **options: Any) -> FakePage:
    return FakePage(GridExplorer(video, **{"k": 4, "cell": 32, "max_depth": 3, **options}, cache=cache))


def environment_jpeg(video: Video, cache: Cache, *actions: Action) -> bytes:
    """Return the image that the environment shows after some actions."""
    atlas = Atlas(
        video, k=4, cell=32, max_depth=3, fit="native", labels="time", sampling="keyframe", cache=cache, patch=1
    )
    observation = atlas.reset()
    for action in actions:
        observation = atlas.step(action)
    picture = observation.looking_at or observation.view
    is_scan = isinstance(observation.looking_at, View)
    return (with_look(picture, cell=320) if is_scan else picture).jpeg()  # type: ignore[type-var]


@pytest.fixture(scope="module")
def searched(world: World, shared_cache: Cache) -> Result:
    question = next(question for question in world.questions if question.category == "SSS")
    return ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, cell=48)


def test_images_are_those_of_the_environment(world: World, shared_cache: Cache) -> None:
    page = explore(world.drawn, shared_cache)
    visited: list[tuple[dict[str, Any], tuple[Action, ...]]] = [
        (ROOT, ()),
        ({**ROOT, "path": [5]}, (Expand(5),)),
        ({**ROOT, "path": [5, 15]}, (Expand(5), Expand(15))),
        ({"path": [5], "look": "before", "cell": 0}, (Expand(5), Investigate(0, "before"))),
        ({"path": [5], "look": "after", "cell": 3}, (Expand(5), Investigate(3, "after"))),
        ({"path": [5], "look": "frame", "cell": 3}, (Expand(5), Zoom(3))),
    ]
    for place, actions in visited:
        message, (jpeg,) = page.ask(want="show", place=place)
        assert message["is"] == "picture" and jpeg == environment_jpeg(world.drawn, shared_cache, *actions)
        assert list(Image.open(io.BytesIO(jpeg)).size) == message["size"] and message["place"] == place


def test_evidence_and_dead_zones_are_marked(world: World, searched: Result, shared_cache: Cache) -> None:
    zones = DeadZones(((0.0, 37.5), (40.0, 60.0)))
    result = replace(searched, dead_zones=zones)
    message = explore(world.drawn, shared_cache, result=result).go()
    marked = {label: index for index, cell in enumerate(message["cells"]) for label in cell["found"]}
    assert marked == {item.label: int(item.timestamp_s // 37.5) for item in result.evidence} and marked
    assert [cell["dead"] for cell in message["cells"][:3]] == [1.0, round(20 / 37.5, 3), 0.0]
    assert message["ruler"]["dead"] == [[0.0, 37.5 / 600], [40 / 600, 60 / 600]]
    assert [label for _, label in message["ruler"]["found"]] == list(result.evidence.labels)
    plain = explore(world.drawn, shared_cache)
    assert not any(cell["found"] or cell["dead"] for cell in plain.go()["cells"])
    still = Page(GridExplorer(world.drawn, result=result, cache=shared_cache)._repr_html_())
    assert all(f"{label} at " in still.text for label in marked) and "Dead zones: 0" in still.text


def test_a_page_gets_tiles_as_sharp_as_its_screen_without_text_in_them(world: World, shared_cache: Cache) -> None:
    page = FakePage(GridExplorer(world.drawn, k=4, cache=shared_cache))
    for asked, width in ((0, 480), (400, 480), (640, 640), (99_999, 1280)):  # of a video that is 320 pixels wide
        message, (jpeg,) = page.ask(want="show", place=ROOT, px=asked)
        assert message["size"][0] == Image.open(io.BytesIO(jpeg)).width == width and message["px"] == min(asked, 8192)
    look = page.widget.picture.look
    assert (look.labels, page.widget.view.moments) == ("none", tuple(cell["time_s"] for cell in message["cells"]))
    _, (png,) = page.ask(want="png", place=ROOT)
    assert np.array_equal(Image.open(io.BytesIO(png)), with_look(page.widget.picture, labels="time").image)


class Blocked(Flat):
    """A video whose frames are decoded once `release` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.release, self.is_decoding = threading.Event(), threading.Event()

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        self.is_decoding.set()
        assert self.release.wait(60)
        return super().try_frames(times_s, size)


def test_a_newer_click_replaces_older_ones(cache: Cache) -> None:
    video = Blocked()
    page = explore(video, cache, max_depth=2)
    for cell in (3, 5, 7, 9):
        page.receive({"want": "show", "place": {**ROOT, "path": [cell]}})
        assert video.is_decoding.wait(60), "the first one is being drawn"
    video.release.set()
    assert page.widget._jobs.wait(60)
    kinds = [message["is"] for message, _ in page.sent]
    assert page.sent[-1][0]["place"]["path"] == [9]
    assert kinds == ["drawing", "drawing", "picture"], "the first one was drawn too late; the others were never drawn"
    assert video.asked == 2 * 16
    page.go(3)
    assert video.asked == 2 * 16, "the image that was too late is cached all the same"


def test_unreadable_frames_are_reported(cache: Cache) -> None:
    broken = explore(Flat(broken=(4.0, 6.0)), cache, max_depth=2)
    assert broken.go()["note"] == "Cells that cannot be decoded are hatched: 4–5." and broken.go(12)["note"] == ""
    words = broken.go(look="frame", cell=4)["words"]
    assert words == "This cannot be shown: Cell 4 is unreadable: its frame cannot be decoded."
    gone = explore(MissingVideo(), Cache(None), max_depth=2)
    assert "This cannot be shown: gone: " in gone.go()["words"]
    assert "The image cannot be shown: gone" in Page(GridExplorer(MissingVideo(), cache=Cache(None))._repr_html_()).text


def test_hostile_text_stays_text(cache: Cache) -> None:
    video = HostileVideo()
    evidence = Scratchpad().add([Evidence(5.0, 4.0, 6.0, HOSTILE[0], 0.5, subtitle=HOSTILE[1])])
    page = explore(video, cache, max_depth=2)
    page.widget.marks = replace(page.widget.marks, evidence=evidence)
    for message in (page.go(), page.go(3), page.go(look="frame", cell=2), page.go(look="before", cell=9)):
        assert all(character.isprintable() for text in strings(message) for character in text)
        assert max(map(len, strings(message))) <= 1_001
    assert any("<script>alert(1)</script>" in text for text in strings(page.go())), "markup is shown as text"
    parsed = Page(page.widget._repr_html_())
    assert {tag for tag, _ in parsed.found} <= {"div", "p", "img", "bdi", "wbr", "span"} and len(parsed.images) == 1
    assert "onerror" not in " ".join(name for _, attributes in parsed.found for name in attributes)


def test_the_widget_state_holds_no_content(world: World, shared_cache: Cache) -> None:
    explorer = GridExplorer(world.drawn, k=4, cell=32, cache=shared_cache)
    state = explorer.widget.get_state()
    page = sum(len(repr(part)) for part in bridge.page("explorer"))
    assert len(repr(state)) < page + 1_000 and "drawn world" not in repr(state)
    sent = list[Any]()
    explorer.widget.send = lambda message, buffers=(): sent.append(message)
    explorer.widget._handle_custom_msg("no message", [])
    explorer.widget._handle_custom_msg({"want": "show", "place": {**ROOT, "path": [3]}}, [])
    assert explorer._jobs.wait(60) and [message.get("place", {}).get("path") for message in sent] == [None, [3]]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval|Function\(|fetch|import|https?:",
        state["_esm"].replace("http://www.w3.org/2000/svg", ""),  # the name of a vocabulary, not an address
    )
    assert not re.search(r"@import|url\(|https?:", state["_css"])


FRAMES, FPS = 250, 25


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> ak.Video:
    """Ten seconds in which each frame shows its number."""
    path = make_video(tmp_path_factory.mktemp("numbered") / "numbered.mp4", frames=FRAMES, fps=FPS)
    return ak.open_video(path)


def shown_number(explorer: GridExplorer) -> int:
    """Return the number of the frame that is shown."""
    return frame_number(np.asarray(explorer.picture.image))


@pytest.mark.long
def test_cells_open_down_to_single_frames(numbered: ak.Video, cache: Cache) -> None:
    explorer = GridExplorer(numbered, k=4, cell=48, cache=cache)
    reached = list[int]()
    for first in range(16):
        view = explorer.open(first).view  # 0.625 s, which touch 16 or 17 frames
        assert view.grid.k in (4, 5) and all(abs(cell.span_s - 1 / FPS) < 1e-9 for cell in view.cells)
        with pytest.raises(IllegalAction):
            explorer.open(0)
        reached += [shown_number(explorer.frame(cell)) for cell in range(view.grid.size)]
        explorer.back().back()
    assert set(reached) == set(range(FRAMES)), "every frame of the video has a cell"
    page = FakePage(explorer)
    message, _ = page.ask(want="show", place={"path": [3], "look": "grid", "cell": None})
    assert [crumb["words"] for crumb in message["crumbs"]] == ["whole video", "0:01.875–0:02.500"]
    assert message["depth"] == "depth 1 of at most 2" and message["k"] == 5


@pytest.mark.parametrize("text", ["1:15.5", "75.5", "1m15.5s"])
def test_a_typed_time_shows_its_frame_and_the_way_to_it(world: World, shared_cache: Cache, text: str) -> None:
    explorer = GridExplorer(world.drawn, cache=shared_cache)
    message, _ = FakePage(explorer).ask(want="time", text=text)
    assert message["time_s"] == 75.5 and message["place"]["look"] == "frame"
    start_s, end_s = message["span_s"]
    assert start_s <= 75.5 < end_s and end_s - start_s == pytest.approx(1 / 12)
    depths = [crumb["path"] for crumb in message["crumbs"]]
    assert depths == [message["place"]["path"][:depth] for depth in range(len(depths))] and len(depths) == 3
    assert explorer.back().view.grid.cell_at(75.5) and explorer.place.look == "grid"
    assert seconds_of(message["about"]["at"]) == 75.5, "what is copied can be typed again"


def test_a_result_shows_the_frames_that_the_model_saw(world: World, shared_cache: Cache) -> None:
    question = world.questions[0]
    settings: dict[str, Any] = {"k": 4, "cell": 64, "max_depth": 1, "fit": "stretch", "sampling": "midpoint"}
    result = ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, **settings)
    explorer = GridExplorer(world.drawn, result=result, cache=shared_cache)
    seen = next(ak.replay.pictures(result.trace, world.drawn, shared_cache)).picture
    assert isinstance(seen, View) and replace(explorer.view, look=seen.look, dead=seen.dead).key == seen.key
    assert explorer.view.moments == seen.moments and explorer.atlas.rules.max_depth == 1
    own = GridExplorer(world.drawn, result=result, k=8, sampling="keyframe", cache=shared_cache)
    assert (own.atlas.k, own.view.look.sampling, own.atlas.cell) == (8, "keyframe", 64)
    with pytest.raises(InputError, match="another video"):
        GridExplorer(Flat(), result=result, cache=shared_cache)


def frames_of(webm: bytes) -> list[np.ndarray]:
    with av.open(io.BytesIO(webm)) as container:
        assert len(container.streams.video) == 1
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_a_clip_plays_the_cell(numbered: ak.Video, cache: Cache) -> None:
    page = FakePage(GridExplorer(numbered, k=2, cell=48, cache=cache))
    message, (webm,) = page.ask(want="clip", place={"path": [], "look": "frame", "cell": 2})
    assert message == {"is": "clip", "words": "Plays 0:05.0–0:07.5, without sound."}
    numbers = [frame_number(frame) for frame in frames_of(webm)]
    assert numbers == [125 + int(index * 2.5 / 38 * FPS + 1e-6) for index in range(38)]
    decoded = numbered.frames_decoded
    assert page.ask(want="clip", place={"path": [], "look": "frame", "cell": 2})[1] == [webm]
    assert numbered.frames_decoded == decoded and cache.stats()["clip"]["entries"] == 1, "it is cached"


def test_the_ruler_shows_the_frame_below_the_pointer(numbered: ak.Video, cache: Cache) -> None:
    page = FakePage(GridExplorer(numbered, cache=cache))
    page.receive({"want": "glance", "time_s": 2.03})
    assert page.widget._glance_jobs.wait(60)
    message, (jpeg,) = page.sent[-1]
    picture = Image.open(io.BytesIO(jpeg))
    assert message == {"is": "glance", "time_s": 2.03, "place": "ruler"} and picture.size == (240, 135)
    assert frame_number(np.asarray(picture.resize(SIZE))) == int(2.03 * FPS)


def test_the_frame_of_a_cell_is_no_larger_than_it_is(cache: Cache) -> None:
    page = FakePage(GridExplorer(Flat((320, 180)), cache=cache))
    for side, size in ((160, (160, 90)), (5_000, (320, 180)), ("x", (240, 135))):
        message, (jpeg,) = page.ask(want="peek", time_s=2.03, side=side)
        assert message["place"] == "cell" and Image.open(io.BytesIO(jpeg)).size == size


def test_an_address_leads_to_where_it_was_copied(world: World, shared_cache: Cache) -> None:
    page = explore(world.drawn, shared_cache)
    for path in ((), (5,), (5, 2)):
        there = page.go(*path)
        time_s = there["cells"][3]["time_s"]
        sent, _ = page.ask(want="address", t=time_s, depth=len(path), look="grid")
        assert sent["place"] == there["place"]
    for look in ("before", "after", "frame"):
        sent, _ = page.ask(want="address", t=time_s, depth=2, look=look)
        assert (sent["place"]["path"], sent["place"]["look"], sent["place"]["cell"]) == ([5, 2], look, 3)
    assert page.ask(want="address", t=1e9, depth=0)[0]["place"]["path"] == [], "of a longer film: its end"
    for wrong in ({"t": "x", "depth": 0}, {"t": 1, "depth": None}, {"t": float("nan"), "depth": 1}):
        assert page.ask(want="address", **wrong)[0]["is"] == "picture"
    assert page.ask(want="address", t=5, depth=1, look="elsewhere")[0]["is"] == "trouble"


def test_other_cells_show_the_same_stretch(world: World, shared_cache: Cache) -> None:
    page = FakePage(GridExplorer(world.drawn, cell=32, cache=shared_cache))
    before = page.go(12)
    after, _ = page.ask(want="look", k=4)
    assert (after["looks"], after["k"]) == ({"k": 4, "pick": "keyframe"}, 4)
    middle_s = sum(before["span_s"]) / 2
    assert after["span_s"][0] <= middle_s < after["span_s"][1]
    assert after["span_s"][1] - after["span_s"][0] in (37.5, 2.34375), "the nearest length of grids of 4×4 cells"
    sent, _ = page.ask(want="look", pick="midpoint")
    assert sent["looks"] == {"k": 4, "pick": "midpoint"} and sent["place"] == after["place"]
    first = sent["cells"][0]["time_s"]
    assert first == pytest.approx(sent["span_s"][0] + (sent["span_s"][1] - sent["span_s"][0]) / 32)
    for wrong in ({"k": 1_000}, {"k": [4]}, {"pick": "none"}, {"k": True}):
        assert page.ask(want="look", **wrong)[0]["looks"] == {"k": 4, "pick": "midpoint"}
    run = explore(world.drawn, shared_cache, max_depth=1)
    run.go(5)
    assert run.ask(want="look", k=16)[0]["looks"]["k"] == 16, "also where depth is that of a run"


def test_shots_take_the_place_of_keyframes_unless_something_else_was_chosen(cache: Cache) -> None:
    page = FakePage(GridExplorer(Flat(), k=4, cell=32, cache=cache))
    assert page.go()["looks"]["pick"] == "keyframe"
    page.request(want="shots")
    shown = page.go()
    assert shown["looks"]["pick"] == "shots" and all("cuts" in cell for cell in shown["cells"])
    assert page.request(want="shots") == [], "once"
    chosen = FakePage(GridExplorer(Flat(), k=4, cell=32, cache=cache))
    chosen.request(want="look", pick="midpoint")
    assert chosen.request(want="shots") == [] and chosen.go()["looks"]["pick"] == "midpoint"
    given = FakePage(GridExplorer(Flat(), k=4, cell=32, sampling="keyframe", cache=cache))
    assert given.request(want="shots") == []


def test_the_ruler_tells_what_was_seen_how_finely_and_leads_there(answered: Result, shared_cache: Cache) -> None:
    page = FakePage(GridExplorer(answered.sheet.video, result=answered, cache=shared_cache))
    seen = page.go()["ruler"]["seen"]
    assert seen["words"] == f"Seen: {answered.coverage}." and seen["spans"]
    assert all(0 <= start < end <= 1 and 0.3 <= shade <= 1 for start, end, shade in seen["spans"])
    start_s, end_s, step_s = min(answered.coverage.seen.parts, key=lambda part: part[2])
    shown, _ = page.ask(want="seen", time_s=(start_s + end_s) / 2)
    span_s = shown["span_s"][1] - shown["span_s"][0]
    assert shown["span_s"][0] <= (start_s + end_s) / 2 < shown["span_s"][1]
    assert span_s / page.widget.atlas.root.size == pytest.approx(step_s, rel=9), "the nearest grain that there is"
    assert explore(answered.sheet.video, shared_cache).go()["ruler"]["seen"] is None


def test_no_saved_clip_is_lost_to_the_next_one(cache: Cache) -> None:
    page = FakePage(GridExplorer(Flat(), cache=cache))
    for second in range(3):
        page.receive({"want": "clip", "form": "mp4", "span_s": [second, second + 2]})
    assert page.widget._order_jobs.wait(60)
    names = [message["name"] for message, _ in page.sent if message["is"] == "file"]
    assert names == [f"flat 0-0{n}.000 to 0-0{n + 2}.000.mp4" for n in range(3)]


@pytest.mark.parametrize("form", ["webm", "mp4"])
def test_a_clip_has_the_sound_of_its_time(cache: Cache, tmp_path: Path, form: str) -> None:
    """The picture of the first file begins a second after its sound; a second file follows."""
    late = speaking_video(tmp_path / "late.mkv", [(1.5, "two"), (3.0, "three")], 5, picture_from_s=1.0)
    more = speaking_video(tmp_path / "more.mkv", [(0.5, "five"), (2.5, "six")], 4)
    page = FakePage(GridExplorer([late, more], cache=cache))
    message, (film,) = page.ask(want="clip", form=form, span_s=[1.0, 5.5], place=ROOT)
    assert message["is"] == {"webm": "clip", "mp4": "file"}[form] and "without sound" not in message["words"]
    with av.open(io.BytesIO(film)) as container:
        resampler = av.AudioResampler("s16", "mono", RATE)
        parts = [part for frame in container.decode(audio=0) for part in resampler.resample(frame)]
    words = heard(np.concatenate([part.to_ndarray()[0] for part in parts]))
    assert [word for _, _, word in words] == ["three", "five"]
    assert [start for start, _, _ in words] == pytest.approx([1.0, 3.5], abs=0.06)


def test_a_clip_is_bounded_and_says_so(cache: Cache) -> None:
    video = Flat()
    video.duration_s = 3600.0
    clip, words = make_clip(video, (600.0, 1200.0), 601.0, cache)
    assert (clip.start_s, clip.end_s) == (600.0, 610.0) and words == "10:00.0–10:10.0; it has at most 10 s"
    saved, words = make_clip(video, (600.0, 1200.0), 900.0, cache, "mp4")
    assert (saved.start_s, saved.end_s, words) == (840.0, 960.0, "14:00.0–16:00.0; it has at most 120 s")
    middle, _ = make_clip(video, (600.0, 1200.0), 900.0, cache)
    assert (middle.start_s, middle.end_s) == (895.0, 905.0)
    short, _ = make_clip(video, (3599.96, 3600.0), 3599.98, cache)
    assert (short.start_s, short.end_s) == (3600.0 - SHORTEST_S, 3600.0)
    assert max(Clip(Flat((4000, 3000)), 0.0, 10.0, cache).size) <= 640
    assert Clip(Flat((3, 5000)), 0.0, 10.0, cache).size == (16, 640) and clip.fps == 15


def test_a_frame_is_saved_without_loss(numbered: ak.Video, cache: Cache) -> None:
    page = FakePage(GridExplorer(numbered, k=4, cell=48, cache=cache))
    message, (png,) = page.ask(want="png", time_s=5.0)
    saved = Image.open(io.BytesIO(png))
    assert saved.format == "PNG" and np.array_equal(np.asarray(saved), numbered.frames([5.0])[0])
    assert message == {"is": "file", "type": "image/png", "name": "numbered 0-05.000.png"}
    message, (png,) = page.ask(want="png", place={"path": [], "look": "grid", "cell": None})
    sheet = page.widget.picture.image
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png))), np.asarray(sheet))
    assert message["name"] == "numbered 0-00.000 to 0-10.000.png"


PLACES: list[Any] = [
    None, 3, [], "root", {}, {"path": []}, {"path": "5", "look": "grid", "cell": None},
    {"path": [True], "look": "grid", "cell": None}, {"path": [16], "look": "grid", "cell": None},
    {"path": [-1], "look": "grid", "cell": None}, {"path": [0] * 500, "look": "grid", "cell": None},
    {"path": [], "look": "grid", "cell": 3}, {"path": [], "look": "frame", "cell": None},
    {"path": [], "look": "frame", "cell": 99}, {"path": [], "look": "<b>", "cell": 1},
    {"path": [], "look": "before", "cell": 0}, {"path": [], "look": ["grid"], "cell": None},
]  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        *({"want": want, "place": place} for want in ("show", "ahead") for place in PLACES),
        {"want": "step", "frames": 10**400}, {"want": "step", "seconds": float("nan")}, {"want": "step", "frames": "1"},
        {"want": "time", "text": 3}, {"want": "time", "text": "9" * 400}, {"want": "clip", "time_s": -1},
        {"want": "glance", "time_s": -1}, {"want": "glance", "time_s": float("nan")}, {"want": "glance"},
        {"want": "png", "place": {"path": [99], "look": "grid", "cell": None}}, {"want": "clip", "place": None},
        {"want": "clip", "form": "exe"}, {"want": "clip", "span_s": [3, 2]}, {"want": "clip", "span_s": 3},
        {"want": "clip", "span_s": [0, True]}, {"want": "clip", "span_s": [10**400, 0]},
        {"panel": "notes", "want": "add"}, {"panel": "notes", "want": "export", "form": "exe"},
        {"want": ["time"]}, {}, {"panel": "ask"}, {"panel": "ask", "want": 3}, {"panel": "ask", "want": "stop"},
        {"panel": "ask", "want": "line"}, {"panel": "search", "want": "find", "words": 3},
        {"panel": "steps", "want": "run"}, {"panel": "steps", "want": "run", "run": -1},
    ],
)  # fmt: skip
def test_no_message_of_a_page_harms_anything(world: World, shared_cache: Cache, message: dict[str, Any]) -> None:
    page = explore(world.drawn, shared_cache)
    page.go(5)
    replies = page.request(**message)
    if message.get("want") == "show":
        assert replies[-1]["is"] == "trouble" and replies[-1]["words"].startswith("This cannot be shown: ")
    assert all(reply.get("is") != "picture" or reply["place"]["path"] == [5] for reply in replies), "the location stays"
    assert page.ask(want="here")[0]["place"]["path"] == [5]


DURATION_S = 36_000.0
SECONDS = st.floats(0, DURATION_S, allow_nan=False)


@given(st.lists(st.tuples(SECONDS, SECONDS).map(lambda pair: (min(pair), max(pair))), max_size=30))
def test_a_lane_has_the_parts_that_spans_overlap_and_no_others(spans_s: list[tuple[float, float]]) -> None:
    parts = lane(spans_s, DURATION_S)
    assert all(end < start for (_, end), (start, _) in pairwise(parts))
    wide, near = [(start / DURATION_S, end / DURATION_S) for start, end in spans_s], 1 / MARKS + 1e-9
    for start, end in wide:
        middle = (start + end) / 2
        assert any(low - 1e-9 <= middle <= high + 1e-9 for low, high in parts)
    for low, high in parts:
        assert 0 <= low < high <= 1
        for tick in range(round(low * MARKS), round(high * MARKS)):
            assert any(start - near < (tick + 0.5) / MARKS < end + near for start, end in wide)
