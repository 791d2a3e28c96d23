"""The kernel's side of the explorer: it shows the environment's images, only those requested."""

from __future__ import annotations

import gc
import io
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from support.asking import ask
from support.stand_ins import HOSTILE, Flat, HostileVideo, MissingVideo, Page, strings

from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.environment.actions import Action, Expand, Investigate, Zoom
from atlaskit.environment.atlas import Atlas
from atlaskit.environment.memory import DeadZones, Evidence, Scratchpad
from atlaskit.environment.render import View, with_look
from atlaskit.errors import FrameError, IllegalAction
from atlaskit.runs.result import Result
from atlaskit.video.readers import Pixels
from atlaskit.video.video import Video
from atlaskit.viz.widgets import GridExplorer, bridge
from atlaskit.viz.widgets.explorer.describe import MAX_SUBTITLE_CHARS
from atlaskit.viz.widgets.explorer.navigation import Location

ROOT: dict[str, Any] = {"path": [], "look": "grid", "cell": None}


class FakePage:
    """Replaces the page: it records the messages that it receives."""

    def __init__(self, explorer: GridExplorer) -> None:
        self.explorer, self.sent = explorer, list[tuple[dict[str, Any], bytes]]()
        self.drawing = 0
        vars(explorer)["widget"] = self

    def send(self, message: dict[str, Any], buffers: Sequence[bytes] = (b"",)) -> None:
        if message == {"is": "drawing"}:
            self.drawing += 1
        else:
            self.sent.append((message, buffers[0] if buffers else b""))

    def request(self, **message: Any) -> None:
        self.explorer._receive(message)

    def go(self, *path: int, look: str = "grid", cell: int | None = None) -> dict[str, Any]:
        """Request a location, and return the reply."""
        self.request(want="show", place={"path": list(path), "look": look, "cell": cell})
        return self.last()

    def last(self) -> dict[str, Any]:
        """Return the last message, once all requests are done."""
        for jobs in ("_jobs", "_prefetch_jobs", "_clip_jobs", "_file_jobs", "_lane_jobs"):
            assert getattr(self.explorer, jobs).wait(60)
        return self.sent[-1][0]

    @property
    def jpeg(self) -> bytes:
        return self.sent[-1][1]


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


def test_native_cells_are_explored(cache: Cache) -> None:
    """The page lays k rows of k cells over the image, whatever its shape."""
    page = explore(Flat((1920, 1080)), cache, cell=64, fit="native")
    page.request(want="here")
    shown = page.last()
    assert shown["size"] == [256, 144] and shown["k"] == 4 and len(shown["cells"]) == 16
    for look, size in (("frame", [1920, 1080]), ("after", [960, 540])):
        message = page.go(look=look, cell=3)
        assert message["size"] == size


def test_images_are_those_of_the_environment(world: World, shared_cache: Cache) -> None:
    page = explore(world.drawn, shared_cache)
    page.request(want="here")
    assert page.last()["place"] == ROOT and page.jpeg == environment_jpeg(world.drawn, shared_cache)
    visited: list[tuple[dict[str, Any], tuple[Action, ...]]] = [
        (page.go(5), (Expand(5),)),
        (page.go(5, 15), (Expand(5), Expand(15))),
        (page.go(5, look="before", cell=0), (Expand(5), Investigate(0, "before"))),
        (page.go(5, look="after", cell=3), (Expand(5), Investigate(3, "after"))),
        (page.go(5, look="frame", cell=3), (Expand(5), Zoom(3))),
        (page.go(), ()),
    ]
    for (message, jpeg), (_, actions) in zip(page.sent[1:], visited, strict=True):
        assert message["is"] == "picture" and jpeg == environment_jpeg(world.drawn, shared_cache, *actions)
        assert list(Image.open(io.BytesIO(jpeg)).size) == message["size"]


def test_a_location_is_described(world: World, shared_cache: Cache) -> None:
    page = explore(world.drawn, shared_cache)
    root, inner, scan, frame = (
        page.go(), page.go(5, 15), page.go(5, look="before", cell=0), page.go(5, look="frame", cell=3)
    )  # fmt: skip
    assert (root["depth"], root["resolution"], root["k"], len(root["cells"])) == (
        "depth 0 of at most 3",
        "Δt 37.5 s",
        4,
        16,
    )
    assert root["cells"][1]["span"] == "0:37.5–1:15.0" and all(cell["opens"] for cell in root["cells"])
    lines = world.drawn.subtitles.between(37.5, 75.0)
    assert (
        root["cells"][1]["said"].startswith(lines[0].text) and len(root["cells"][1]["said"]) <= MAX_SUBTITLE_CHARS + 1
    )
    assert [crumb["path"] for crumb in inner["crumbs"]] == [[], [5], [5, 15]] and inner["depth"].startswith("depth 2")
    assert inner["crumbs"][1]["words"] == "3:07.5–3:45.0" and not any(cell["opens"] for cell in inner["cells"])
    cell = page.explorer.atlas.root.expand(5).expand(15)
    assert inner["ruler"]["here"] == [cell.start_s / 600, cell.end_s / 600] and inner["ruler"]["ends"][1] == "10:00.0"
    assert scan["k"] == 3 and "just before cell 0" in scan["words"] and not any(c["opens"] for c in scan["cells"])
    assert scan["ruler"]["here"][1] == 187.5 / 600
    assert frame["about"].items() <= page.go(5)["cells"][3].items() and root["about"] is None
    assert (
        frame["k"] == 0
        and frame["cells"] == []
        and frame["size"] == [320, 180]
        and "at full resolution" in frame["words"]
    )


def test_python_moves_the_page(world: World, shared_cache: Cache) -> None:
    page = explore(world.drawn, shared_cache)
    explorer = page.explorer
    assert explorer.open(5, 2).back().open(2).place == Location((5, 2))
    assert page.last()["place"]["path"] == [5, 2] == list(explorer.view.grid.path)
    assert explorer.frame(3).back().place == Location((5, 2))
    assert explorer.before(3).place == Location((5, 2), "before", 3) and explorer.after(4).picture.size == (960, 540)
    assert page.last()["place"] == {"path": [5, 2], "look": "after", "cell": 4}
    assert explorer.back().back().back().back().place == Location()
    for wrong in (lambda: explorer.open(16), lambda: explorer.open(0, 0, 0, 0), lambda: explorer.before(0)):
        with pytest.raises(IllegalAction):
            wrong()
    page.go(7)
    assert explorer.place == Location((7,)), "and the page moves Python"


@pytest.mark.parametrize(
    "place",
    [
        None, 3, [], "root", {}, {"path": []}, {"path": "5", "look": "grid", "cell": None},
        {"path": [True], "look": "grid", "cell": None}, {"path": [16], "look": "grid", "cell": None},
        {"path": [-1], "look": "grid", "cell": None}, {"path": [0] * 500, "look": "grid", "cell": None},
        {"path": [], "look": "grid", "cell": 3}, {"path": [], "look": "frame", "cell": None},
        {"path": [], "look": "frame", "cell": 99}, {"path": [], "look": "<b>", "cell": 1},
        {"path": [], "look": "before", "cell": 0}, {"path": [], "look": ["grid"], "cell": None},
    ],
)  # fmt: skip
def test_an_invalid_location_is_reported(world: World, shared_cache: Cache, place: Any) -> None:
    page = explore(world.drawn, shared_cache)
    page.go(5)
    page.request(want="show", place=place)
    assert page.last()["is"] == "trouble" and page.last()["words"].startswith("This cannot be shown: ")
    page.request(want="here")
    assert page.last()["place"]["path"] == [5], "the location stays"
    page.request(want="ahead", place=place)
    assert page.last()["is"] in ("picture", "trouble")


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
    assert all(f"{label} in cell" in still.text for label in marked) and "Dead cells: " in still.text


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
        page.request(want="show", place={**ROOT, "path": [cell]})
        assert video.is_decoding.wait(60), "the first one is being drawn"
    video.release.set()
    assert page.last()["place"]["path"] == [9]
    assert page.drawing == 2 and len(page.sent) == 1, (
        "the first one was drawn too late to be sent; the others were never drawn"
    )
    assert video.asked == 2 * 16
    page.go(3)
    assert video.asked == 2 * 16, "the image that was too late is cached all the same"


def test_the_next_grid_is_prefetched_while_nothing_else_is_drawn(cache: Cache) -> None:
    video = Blocked()
    page = explore(video, cache, max_depth=2)
    page.request(want="show", place=ROOT)
    for cell in (1, 2, 3):
        page.request(want="ahead", place={**ROOT, "path": [cell]})
    assert video.is_decoding.wait(60) and video.asked == 0
    assert not page.explorer._prefetch_jobs.wait(0.05), "a prefetch waits for requests"
    video.release.set()
    page.last()
    assert video.asked == 2 * 16, "only the newest prefetch is drawn"
    page.go(3)
    assert video.asked == 2 * 16 and len(page.sent) == 2, "it comes from the cache, and was not sent before"
    page.request(want="ahead", place={**ROOT, "path": [99]})
    assert page.last()["place"]["path"] == [3], "a prefetch that fails is not reported"


def test_unreadable_frames_are_reported(cache: Cache) -> None:
    broken = explore(Flat(broken=(4.0, 6.0)), cache, max_depth=2)
    assert broken.go()["note"] == "2 cells cannot be decoded and are hatched: 4–5." and broken.go(12)["note"] == ""
    words = broken.go(look="frame", cell=4)["words"]
    assert words == "This cannot be shown: Cell 4 is unreadable: its frame cannot be decoded."
    gone = explore(MissingVideo(), Cache(None), max_depth=2)
    assert "This cannot be shown: gone: " in gone.go()["words"]
    assert "The image cannot be shown: gone" in Page(GridExplorer(MissingVideo(), cache=Cache(None))._repr_html_()).text


def test_a_file_that_was_emptied_is_reported(film: World, tmp_path: Path, cache: Cache) -> None:
    import atlaskit as ak

    path = tmp_path / "film.mp4"
    path.write_bytes(Path(film.video.path).read_bytes())  # type: ignore[attr-defined]
    page = explore(ak.open_video(path), cache)
    assert page.go()["note"] == ""
    path.write_bytes(b"")  # an open file that is only unlinked can still be read
    assert page.go(3)["note"] == "16 cells cannot be decoded and are hatched: 0–15."
    assert page.go()["note"] == "", "images that were drawn before are cached"


def test_hostile_text_stays_text(cache: Cache) -> None:
    video = HostileVideo()
    evidence = Scratchpad().add([Evidence(5.0, 4.0, 6.0, HOSTILE[0], 0.5, subtitle=HOSTILE[1])])
    page = explore(video, cache, max_depth=2)
    page.explorer.marks = replace(page.explorer.marks, evidence=evidence)
    for message in (page.go(), page.go(3), page.go(look="frame", cell=2), page.go(look="before", cell=9)):
        assert all(character.isprintable() for text in strings(message) for character in text)
        assert max(map(len, strings(message))) <= 1_001
    assert any("<script>alert(1)</script>" in text for text in strings(page.go())), "markup is shown as text"
    html = page.explorer._repr_html_()
    parsed = Page(html)
    assert {tag for tag, _ in parsed.found} <= {"div", "p", "img", "bdi", "wbr", "span"} and len(parsed.images) == 2
    assert "onerror" not in " ".join(name for _, attributes in parsed.found for name in attributes)


@pytest.mark.long
def test_clicks_do_not_leak_memory(world: World, cache: Cache) -> None:
    page = explore(world.drawn, cache)

    def click(number: int) -> None:
        page.go(number % 4, number % 3)
        page.go(number % 4, look="frame", cell=number % 5)
        page.sent.clear()

    def count_objects() -> tuple[int, int, int]:
        gc.collect()
        objects = sum(isinstance(each, View | Location | Image.Image) for each in gc.get_objects())
        return objects, threading.active_count(), page.explorer._jobs._pool._work_queue.qsize()

    for number in range(60):
        click(number)
    before = count_objects()
    for number in range(250):
        click(number)
    assert count_objects() == before


def test_the_widget_state_holds_no_content(world: World, shared_cache: Cache) -> None:
    explorer = GridExplorer(world.drawn, k=4, cell=32, cache=shared_cache)
    state = explorer.widget.get_state()
    page = sum(len(repr(part)) for part in bridge.page("explorer", has_panes=True))
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


@pytest.mark.long
def test_anywidget_is_imported_late_and_its_absence_is_one_sentence(tmp_path: Path) -> None:
    code = (
        "import sys, atlaskit as ak\n"
        "explorer = ak.widgets.GridExplorer(ak.benchmarks.atlasworld(1, 60, size=(114, 64), directory='.').drawn, "
        "cache=ak.Cache(None))\n"
        "assert not {'anywidget', 'ipywidgets'} & set(sys.modules)\n"
        "sys.modules['anywidget'] = None\n"
        "try: explorer.widget\n"
        "except ak.AtlasError as error: print(error)\n"
        "explorer._ipython_display_()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (
        done.stdout.startswith("An interactive widget needs anywidget, which this Python does not have. To install: ")
        and not done.stderr
    )
