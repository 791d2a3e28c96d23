"""The kernel side of the explorer: images of the environment, frames, times, clips, files."""

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
from atlaskit.cli.outputs import seconds_of
from atlaskit.environment.actions import Action, Expand, Investigate, Zoom
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.render import View, with_look
from atlaskit.errors import FrameError, IllegalAction, InputError
from atlaskit.runs.exporting.clips import SHORTEST_S, Clip, make_clip
from atlaskit.video.readers import Pixels
from atlaskit.video.video import Video
from atlaskit.viz.widgets import GridExplorer, bridge
from atlaskit.viz.widgets.explorer.describe import MARKS, lane
from atlasworld import Oracle, World


def place(*path: Any, look: Any = "grid", cell: Any = None) -> dict[str, Any]:
    """Return a location as a page names it."""
    return {"path": [*path], "look": look, "cell": cell}


ROOT = place()


def explore(video: Video, cache: ak.Cache, **options: Any) -> FakePage:
    return FakePage(GridExplorer(video, **{"k": 4, "cell": 32, "max_depth": 3, **options}, cache=cache))


def environment_jpeg(video: Video, cache: ak.Cache, *actions: Action) -> bytes:
    """Return the image that the environment shows after some actions."""
    looks: dict[str, Any] = {"fit": "native", "labels": "time", "sampling": "keyframe", "patch": 1}
    atlas = ak.Atlas(video, k=4, cell=32, max_depth=3, cache=cache, **looks)
    observation = atlas.reset()
    for action in actions:
        observation = atlas.step(action)
    picture = observation.looking_at or observation.view
    is_scan = isinstance(observation.looking_at, View)
    return (with_look(picture, cell=320) if is_scan else picture).jpeg()  # type: ignore[type-var]


def test_images_are_those_of_the_environment(world: World, shared_cache: ak.Cache) -> None:
    page = explore(world.drawn, shared_cache)
    visited: list[tuple[dict[str, Any], tuple[Action, ...]]] = [
        (ROOT, ()),
        (place(5), (Expand(5),)),
        (place(5, 15), (Expand(5), Expand(15))),
        (place(5, look="before", cell=0), (Expand(5), Investigate(0, "before"))),
        (place(5, look="after", cell=3), (Expand(5), Investigate(3, "after"))),
        (place(5, look="frame", cell=3), (Expand(5), Zoom(3))),
    ]
    for there, actions in visited:
        message, (jpeg,) = page.ask(want="show", place=there)
        assert message["is"] == "picture" and jpeg == environment_jpeg(world.drawn, shared_cache, *actions)
        assert list(Image.open(io.BytesIO(jpeg)).size) == message["size"] and message["place"] == there


def test_evidence_and_dead_zones_are_marked(world: World, answered: ak.Result, shared_cache: ak.Cache) -> None:
    result = replace(answered, dead_zones=DeadZones(((0.0, 37.5), (40.0, 60.0))))
    page = explore(world.drawn, shared_cache, result=result)
    message = page.go()
    marked = {label: index for index, cell in enumerate(message["cells"]) for label in cell["found"]}
    assert marked == {item.label: int(item.timestamp_s // 37.5) for item in result.evidence} and marked
    assert [cell["dead"] for cell in message["cells"][:3]] == [1.0, round(20 / 37.5, 3), 0.0]
    assert message["cells"][1]["span_s"] == [37.5, 75.0]
    assert message["ruler"]["dead"] == [[0.0, 37.5 / 600], [40 / 600, 60 / 600]]
    assert [label for _, label in message["ruler"]["found"]] == list(result.evidence.labels)
    still = Page(page.widget._repr_html_())
    assert all(f"{label} at " in still.text for label in marked) and "Dead zones: 0" in still.text


def test_a_page_gets_tiles_as_sharp_as_its_screen_without_text_in_them(world: World, shared_cache: ak.Cache) -> None:
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


def test_a_newer_click_replaces_older_ones(cache: ak.Cache) -> None:
    video = Blocked()
    page = explore(video, cache, max_depth=2)
    for cell in (3, 5, 7, 9):
        page.receive({"want": "show", "place": place(cell)})
        assert video.is_decoding.wait(60), "the first one is being drawn"
    video.release.set()
    assert page.widget._jobs.wait(60)
    kinds = [message["is"] for message, _ in page.sent]
    assert page.sent[-1][0]["place"]["path"] == [9]
    assert kinds == ["drawing", "drawing", "picture"], "the first one was drawn too late; the others were never drawn"
    page.go(3)
    assert video.asked == 2 * 16, "the image that was too late is cached all the same"


def test_unreadable_frames_are_reported(cache: ak.Cache) -> None:
    broken = explore(Flat(broken=(4.0, 6.0)), cache, max_depth=2)
    assert broken.go()["note"] == "Cells that cannot be decoded are hatched: 4–5." and broken.go(12)["note"] == ""
    words = broken.go(look="frame", cell=4)["words"]
    assert words == "This cannot be shown: Cell 4 is unreadable: its frame cannot be decoded."
    gone = explore(MissingVideo(), ak.Cache(None), max_depth=2)
    assert "This cannot be shown: gone: " in gone.go()["words"]
    assert "The image cannot be shown: gone" in Page(gone.widget._repr_html_()).text


def test_hostile_text_stays_text(cache: ak.Cache) -> None:
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


def test_the_widget_state_holds_no_content(world: World, shared_cache: ak.Cache) -> None:
    explorer = GridExplorer(world.drawn, k=4, cell=32, cache=shared_cache)
    state = explorer.widget.get_state()
    page = sum(len(repr(part)) for part in bridge.page("explorer"))
    assert len(repr(state)) < page + 1_000 and "drawn world" not in repr(state)
    sent = list[Any]()
    explorer.widget.send = lambda message, buffers=(): sent.append(message)
    explorer.widget._handle_custom_msg("no message", [])
    explorer.widget._handle_custom_msg({"want": "show", "place": place(3)}, [])
    assert explorer._jobs.wait(60) and [message.get("place", {}).get("path") for message in sent] == [None, [3]]
    script = state["_esm"].replace("http://www.w3.org/2000/svg", "")  # the name of a vocabulary, not an address
    makes_html = r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval|Function\("
    assert not re.search(rf"{makes_html}|fetch|import|https?:", script)
    assert not re.search(r"@import|url\(|https?:", state["_css"])


FRAMES, FPS = 250, 25


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Video:
    """Ten seconds in which each frame shows its number."""
    path = make_video(tmp_path_factory.mktemp("numbered") / "numbered.mp4", frames=FRAMES, fps=FPS)
    return ak.open_video(path)


@pytest.mark.long
def test_cells_open_down_to_single_frames(numbered: Video, cache: ak.Cache) -> None:
    explorer = GridExplorer(numbered, k=4, cell=48, cache=cache)
    reached = set[int]()
    for first in range(16):
        view = explorer.open(first).view  # 0.625 s, which touch 16 or 17 frames
        assert view.grid.k in (4, 5) and all(abs(cell.span_s - 1 / FPS) < 1e-9 for cell in view.cells)
        with pytest.raises(IllegalAction):
            explorer.open(0)
        for cell in range(view.grid.size):
            reached.add(frame_number(np.asarray(explorer.frame(cell).picture.image)))
        explorer.back().back()
    assert reached == set(range(FRAMES)), "every frame of the video has a cell"


def test_a_typed_time_shows_its_frame_and_the_way_to_it(world: World, shared_cache: ak.Cache) -> None:
    explorer = GridExplorer(world.drawn, cache=shared_cache)
    message, _ = FakePage(explorer).ask(want="time", text="1:15.5")
    assert message["time_s"] == 75.5 and message["place"]["look"] == "frame"
    start_s, end_s = message["span_s"]
    assert start_s <= 75.5 < end_s and end_s - start_s == pytest.approx(1 / 12)
    depths = [crumb["path"] for crumb in message["crumbs"]]
    assert depths == [message["place"]["path"][:depth] for depth in range(len(depths))] and len(depths) == 3
    assert explorer.back().view.grid.cell_at(75.5) and explorer.place.look == "grid"
    assert seconds_of(message["about"]["at"]) == 75.5, "what is copied can be typed again"


def test_a_result_shows_the_frames_that_the_model_saw(world: World, shared_cache: ak.Cache) -> None:
    question = world.questions[0]
    settings: dict[str, Any] = {"k": 4, "cell": 64, "max_depth": 1, "fit": "stretch", "sampling": "midpoint"}
    result = ask(world.drawn, question, vlm=Oracle(world), cache=shared_cache, **settings)
    explorer = GridExplorer(world.drawn, result=result, cache=shared_cache)
    seen = next(ak.replay.pictures(result.trace, world.drawn, shared_cache)).picture
    assert isinstance(seen, View) and replace(explorer.view, look=seen.look, dead=seen.dead).key == seen.key
    assert explorer.view.moments == seen.moments and explorer.atlas.rules.max_depth == 1
    with pytest.raises(InputError, match="another video"):
        GridExplorer(Flat(), result=result, cache=shared_cache)


def test_a_clip_plays_the_cell(numbered: Video, cache: ak.Cache) -> None:
    page = FakePage(GridExplorer(numbered, k=2, cell=48, cache=cache))
    message, (webm,) = page.ask(want="clip", place=place(look="frame", cell=2))
    assert message == {"is": "clip", "words": "Plays 0:05.0–0:07.5, without sound."}
    with av.open(io.BytesIO(webm)) as film:
        numbers = [frame_number(frame.to_ndarray(format="rgb24")) for frame in film.decode(video=0)]
    assert numbers == [125 + int(index * 2.5 / 38 * FPS + 1e-6) for index in range(38)]
    decoded = numbered.frames_decoded
    assert page.ask(want="clip", place=place(look="frame", cell=2))[1] == [webm]
    assert numbered.frames_decoded == decoded and cache.stats()["clip"]["entries"] == 1, "it is cached"


def test_the_frame_below_the_pointer_is_no_larger_than_its_place(numbered: Video, cache: ak.Cache) -> None:
    page = FakePage(GridExplorer(numbered, cache=cache))
    for side, size in ((160, (160, 90)), (5_000, SIZE), ("x", (240, 135))):
        sent, (jpeg,) = page.ask(want="peek", time_s=2.03, side=side)
        picture = Image.open(io.BytesIO(jpeg))
        assert sent == {"is": "glance", "time_s": 2.03, "place": "cell"} and picture.size == size
        assert frame_number(np.asarray(picture.resize(SIZE))) == int(2.03 * FPS)


def test_an_address_leads_to_where_it_was_copied(world: World, shared_cache: ak.Cache) -> None:
    page = explore(world.drawn, shared_cache)
    for path in ((), (5,), (5, 2)):
        time_s = page.go(*path)["cells"][3]["time_s"]
        for look, cell in (("grid", None), ("before", 3), ("after", 3), ("frame", 3)):
            sent, _ = page.ask(want="address", t=time_s, depth=len(path), look=look)
            assert {**sent["place"], "time_s": None} == {**place(*path, look=look, cell=cell), "time_s": None}
    assert page.ask(want="address", t=1e9, depth=0)[0]["place"]["path"] == [], "of a longer film: its end"
    for wrong in ({"t": "x", "depth": 0}, {"t": 1, "depth": None}, {"t": float("nan"), "depth": 1}):
        assert page.ask(want="address", **wrong)[0]["is"] == "picture"


def test_other_cells_show_the_same_stretch(world: World, shared_cache: ak.Cache) -> None:
    page = FakePage(GridExplorer(world.drawn, cell=32, cache=shared_cache))
    middle_s = sum(page.go(12)["span_s"]) / 2
    after, _ = page.ask(want="look", k=4)
    start_s, end_s = after["span_s"]
    assert (after["looks"], after["k"]) == ({"k": 4, "pick": "keyframe"}, 4)
    assert start_s <= middle_s < end_s
    assert end_s - start_s in (37.5, 2.34375), "the nearest length of grids of 4×4 cells"
    sent, _ = page.ask(want="look", pick="midpoint")
    assert sent["looks"] == {"k": 4, "pick": "midpoint"} and sent["place"] == after["place"]
    assert sent["cells"][0]["time_s"] == pytest.approx(start_s + (end_s - start_s) / 32)
    for wrong in ({"k": 1_000}, {"pick": "none"}, {"k": True}):
        assert page.ask(want="look", **wrong)[0]["looks"] == {"k": 4, "pick": "midpoint"}


def test_shots_take_the_place_of_keyframes_unless_something_else_was_chosen(cache: ak.Cache) -> None:
    page, chosen = explore(Flat(), cache), explore(Flat(), cache)
    assert page.go()["looks"]["pick"] == "keyframe"
    page.request(want="shots")
    shown = page.go()
    assert shown["looks"]["pick"] == "shots" and all("cuts" in cell for cell in shown["cells"])
    chosen.request(want="look", pick="midpoint")
    assert chosen.request(want="shots") == [] and chosen.go()["looks"]["pick"] == "midpoint"


def test_the_ruler_tells_what_was_seen_how_finely_and_leads_there(answered: ak.Result, shared_cache: ak.Cache) -> None:
    page = FakePage(GridExplorer(answered.sheet.video, result=answered, cache=shared_cache))
    seen = page.go()["ruler"]["seen"]
    assert seen["words"] == f"Seen: {answered.coverage}." and seen["spans"]
    assert all(0 <= start < end <= 1 and 0.3 <= shade <= 1 for start, end, shade in seen["spans"])
    start_s, end_s, _ = min(answered.coverage.seen.parts, key=lambda part: part[2])
    shown, _ = page.ask(want="seen", time_s=(start_s + end_s) / 2)
    assert shown["span_s"][0] <= (start_s + end_s) / 2 < shown["span_s"][1]


def test_no_saved_clip_is_lost_to_the_next_one(cache: ak.Cache) -> None:
    page = FakePage(GridExplorer(Flat(), cache=cache))
    for second in range(3):
        page.receive({"want": "clip", "form": "mp4", "span_s": [second, second + 2]})
    assert page.widget._order_jobs.wait(60)
    names = [message["name"] for message, _ in page.sent if message["is"] == "file"]
    assert names == [f"flat 0-0{n}.000 to 0-0{n + 2}.000.mp4" for n in range(3)]


@pytest.mark.parametrize("form", ["webm", "mp4"])
def test_a_clip_has_the_sound_of_its_time(cache: ak.Cache, tmp_path: Path, form: str) -> None:
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


def test_a_clip_is_bounded_and_says_so(cache: ak.Cache) -> None:
    video = Flat()
    video.duration_s = 3600.0
    clip, words = make_clip(video, (600.0, 1200.0), 601.0, cache)
    assert (clip.start_s, clip.end_s) == (600.0, 610.0) and words == "10:00.0–10:10.0; it has at most 10 s"
    saved, words = make_clip(video, (600.0, 1200.0), 900.0, cache, "mp4")
    assert (saved.start_s, saved.end_s, words) == (840.0, 960.0, "14:00.0–16:00.0; it has at most 120 s")
    short, _ = make_clip(video, (3599.96, 3600.0), 3599.98, cache)
    assert (short.start_s, short.end_s) == (3600.0 - SHORTEST_S, 3600.0)
    assert max(Clip(Flat((4000, 3000)), 0.0, 10.0, cache).size) <= 640
    assert Clip(Flat((3, 5000)), 0.0, 10.0, cache).size == (16, 640) and clip.fps == 15


def test_a_frame_is_saved_without_loss(numbered: Video, cache: ak.Cache) -> None:
    page = FakePage(GridExplorer(numbered, k=4, cell=48, cache=cache))
    message, (png,) = page.ask(want="png", time_s=5.0)
    assert message == {"is": "file", "type": "image/png", "name": "numbered 0-05.000.png"}
    assert np.array_equal(Image.open(io.BytesIO(png), formats=["PNG"]), numbered.frames([5.0])[0])


PLACES: list[Any] = [
    *(None, 3, [], "root", {}, {"path": []}, {**ROOT, "path": "5"}, place(True), place(16), place(-1)),
    *(place(*[0] * 500), place(cell=3), place(look="frame"), place(look="frame", cell=99)),
    *(place(look="<b>", cell=1), place(look="before", cell=0), place(look=["grid"])),
]
MESSAGES: list[dict[str, Any]] = [
    *({"want": want, "place": wrong} for want in ("show", "ahead") for wrong in PLACES),
    *({"want": "step", **step} for step in ({"frames": 10**400}, {"seconds": float("nan")}, {"frames": "1"})),
    *({"want": "time", "text": text} for text in (3, "9" * 400)),
    *({"want": "glance", "time_s": time_s} for time_s in (-1, float("nan"), None)),
    *({"want": "clip", "span_s": span_s} for span_s in ([3, 2], 3, [0, True], [10**400, 0])),
    *({"want": "clip", "time_s": -1}, {"want": "clip", "place": None}, {"want": "clip", "form": "exe"}),
    *({"want": "png", "place": place(99)}, {"want": ["time"]}, {}, {"panel": "ask"}),
    *({"panel": "notes", "want": "add"}, {"panel": "notes", "want": "export", "form": "exe"}),
    *({"panel": "ask", "want": want} for want in (3, "stop", "line")),
    *({"panel": "steps", "want": "run"}, {"panel": "steps", "want": "run", "run": -1}),
    {"panel": "search", "want": "find", "words": 3},
]


@pytest.mark.parametrize("message", MESSAGES)
def test_no_message_of_a_page_harms_anything(world: World, shared_cache: ak.Cache, message: dict[str, Any]) -> None:
    page = explore(world.drawn, shared_cache)
    page.go(5)
    replies = page.request(**message)
    if message.get("want") == "show":
        assert replies[-1]["is"] == "trouble" and replies[-1]["words"].startswith("This cannot be shown: ")
    assert all(reply.get("is") != "picture" or reply["place"]["path"] == [5] for reply in replies), "the location stays"
    assert page.ask(want="here")[0]["place"]["path"] == [5]


DURATION_S = 36_000.0
SECONDS = st.floats(0, DURATION_S, allow_nan=False)


@given(st.lists(st.tuples(SECONDS, SECONDS).map(sorted), max_size=30))
def test_a_lane_has_the_parts_that_spans_overlap_and_no_others(spans_s: list[list[float]]) -> None:
    parts = lane(spans_s, DURATION_S)
    assert all(end < start for (_, end), (start, _) in pairwise(parts))
    wide = [(start / DURATION_S, end / DURATION_S) for start, end in spans_s]
    near = 1 / MARKS + 1e-9
    for start, end in wide:
        middle = (start + end) / 2
        assert any(low - 1e-9 <= middle <= high + 1e-9 for low, high in parts)
    for low, high in parts:
        assert 0 <= low < high <= 1
        for tick in range(round(low * MARKS), round(high * MARKS)):
            assert any(start - near < (tick + 0.5) / MARKS < end + near for start, end in wide)
