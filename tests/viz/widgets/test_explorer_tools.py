"""What one does with the explorer: frames, times, clips, files, the ruler's lanes, other pages."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image
from support.asking import ask
from support.media import frame_number, make_video
from support.stand_ins import Flat

import atlaskit as ak
from atlaskit.benchmarks.atlasworld import Oracle, World
from atlaskit.caching.cache import Cache
from atlaskit.cli.view import seconds_of
from atlaskit.environment.render import View
from atlaskit.errors import IllegalAction, InputError
from atlaskit.viz.widgets import GridExplorer
from atlaskit.viz.widgets.explorer import clips
from atlaskit.viz.widgets.explorer.clips import LONGEST_S, SHORTEST_S, Clip, make_clip
from atlaskit.viz.widgets.explorer.navigation import Location, frame_at, moved

FRAMES, FPS = 250, 25


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> ak.Video:
    """Ten seconds in which each frame shows its number."""
    path = make_video(tmp_path_factory.mktemp("numbered") / "numbered.mp4", frames=FRAMES, fps=FPS)
    return ak.open_video(path)


class Sent:
    """A page on a transport of its own: what it received, and its requests."""

    def __init__(self, explorer: GridExplorer) -> None:
        self.explorer, self.messages = explorer, list[tuple[dict[str, Any], Sequence[bytes]]]()
        self._receive = explorer.attach(lambda message, buffers=(): self.messages.append((message, buffers)))

    def ask(self, **message: Any) -> tuple[dict[str, Any], Sequence[bytes]]:
        """Send a request and return the last message that follows it."""
        self._receive(message)
        for name, jobs in vars(self.explorer).items():
            if name.endswith("_jobs"):
                assert jobs.wait(60)
        return self.messages[-1]


def shown_number(explorer: GridExplorer) -> int:
    """Return the number of the frame that is shown."""
    return frame_number(np.asarray(explorer.picture.image))


# --- down to single frames


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
    page = Sent(explorer)
    message, _ = page.ask(want="show", place={"path": [3], "look": "grid", "cell": None})
    assert [crumb["words"] for crumb in message["crumbs"]] == ["whole video", "0:01.875–0:02.500"]
    assert message["depth"] == "depth 1 of at most 2" and message["k"] == 5


@pytest.mark.parametrize("by", [1, -1])
def test_frames_are_passed_one_by_one_across_all_borders(numbered: ak.Video, cache: Cache, by: int) -> None:
    explorer = GridExplorer(numbered, k=4, cell=48, cache=cache)
    place = frame_at(explorer.atlas, 4.98, depth=1)
    numbers, paths = list[int](), set[tuple[int, ...]]()
    for _ in range(40):
        numbers.append(shown_number(explorer._go(place)))
        paths.add(place.path)
        place = moved(explorer.atlas, place, frames=by)
    assert numbers == list(range(124, 124 + by * 40, by)) and len(paths) > 2, "in three grids"
    last = moved(explorer.atlas, place, frames=by * 10_000)
    assert shown_number(explorer._go(last)) == (FRAMES - 1 if by > 0 else 0)
    assert moved(explorer.atlas, last, frames=by) == last, "the first and the last frame are the ends"


def test_a_second_is_a_second(numbered: ak.Video, cache: Cache) -> None:
    page = Sent(GridExplorer(numbered, k=4, cell=48, cache=cache))
    page.ask(want="show", place={"path": [], "look": "frame", "cell": 3})
    start_s = page.messages[-1][0]["time_s"]
    message, _ = page.ask(want="step", seconds=1)
    assert message["time_s"] == pytest.approx(start_s + 1) and message["place"]["path"] == []
    message, _ = page.ask(want="step", seconds=-100)
    assert message["time_s"] == 0 and message["words"].endswith("at 0:00.000, frame 1 of 250.")
    page.ask(want="show", place={"path": [], "look": "grid", "cell": None})
    assert "Only from a frame" in page.ask(want="step", frames=1)[0]["words"]


def test_a_playlist_counts_the_frames_of_its_parts(numbered: ak.Video, cache: Cache) -> None:
    explorer = GridExplorer([numbered, numbered], k=4, cell=48, cache=cache)
    page = Sent(explorer)
    message, _ = page.ask(want="time", text="9.97")
    assert message["words"].endswith("frame 250 of 250 of numbered.mp4.") and shown_number(explorer) == 249
    message, _ = page.ask(want="step", frames=1)
    assert message["words"].endswith("frame 1 of 250 of numbered.mp4.") and shown_number(explorer) == 0


# --- times


@pytest.mark.parametrize("text", ["1:15.5", "75.5", "1m15.5s"])
def test_a_typed_time_shows_its_frame_and_the_way_to_it(world: World, shared_cache: Cache, text: str) -> None:
    explorer = GridExplorer(world.drawn, cache=shared_cache)
    message, _ = Sent(explorer).ask(want="time", text=text)
    assert message["time_s"] == 75.5 and message["place"]["look"] == "frame"
    start_s, end_s = message["span_s"]
    assert start_s <= 75.5 < end_s and end_s - start_s == pytest.approx(1 / 12)
    depths = [crumb["path"] for crumb in message["crumbs"]]
    assert depths == [message["place"]["path"][:depth] for depth in range(len(depths))] and len(depths) == 3
    assert explorer.back().view.grid.cell_at(75.5) and explorer.place.look == "grid"
    assert seconds_of(message["about"]["at"]) == 75.5, "what is copied can be typed again"


@pytest.mark.parametrize("text", ["1:75", "soon", "", "<b>1</b>"])
def test_a_wrong_time_gets_the_sentence_of_the_command_line(world: World, shared_cache: Cache, text: str) -> None:
    page = Sent(GridExplorer(world.drawn, cache=shared_cache))
    message, _ = page.ask(want="time", text=text)
    with pytest.raises(Exception, match="is not a time") as caught:
        seconds_of(text)
    assert message == {"is": "trouble", "words": f"This cannot be shown: {caught.value}"}


@pytest.mark.parametrize("time_s", [-1, 600.0, float("nan"), float("inf"), 1e300])
def test_a_time_outside_the_video_is_refused(world: World, shared_cache: Cache, time_s: float) -> None:
    explorer = GridExplorer(world.drawn, cache=shared_cache)
    page = Sent(explorer)
    assert page.ask(want="time", time_s=time_s)[0]["is"] == "trouble"
    with pytest.raises(InputError):
        explorer.show_time(time_s)
    place = {"path": [], "look": "frame", "cell": 0, "time_s": time_s}
    assert page.ask(want="show", place=place)[0]["is"] == "trouble"
    assert explorer.place == Location() and page.ask(want="here")[0]["is"] == "picture"


def test_a_frame_that_cannot_be_decoded_is_said_so(cache: Cache) -> None:
    explorer = GridExplorer(Flat(broken=(4.0, 6.0)), k=4, cell=48, cache=cache)
    assert Sent(explorer).ask(want="time", time_s=5.0)[0]["words"].endswith("The frame at 5.000 s cannot be decoded.")
    with pytest.raises(IllegalAction):
        explorer.show_time(5.0)


# --- with a result


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


# --- clips


def frames_of(webm: bytes) -> list[np.ndarray]:
    with av.open(io.BytesIO(webm)) as container:
        assert not container.streams.audio and len(container.streams.video) == 1
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_a_clip_plays_the_cell(numbered: ak.Video, cache: Cache) -> None:
    page = Sent(GridExplorer(numbered, k=2, cell=48, cache=cache))
    message, (webm,) = page.ask(want="clip", place={"path": [], "look": "frame", "cell": 2})
    assert message == {"is": "clip", "words": "Plays 0:05.0–0:07.5, without sound."}
    numbers = [frame_number(frame) for frame in frames_of(webm)]
    assert numbers == [125 + int(index * 2.5 / 38 * FPS + 1e-6) for index in range(38)]
    decoded = numbered.frames_decoded
    assert page.ask(want="clip", place={"path": [], "look": "frame", "cell": 2})[1] == [webm]
    assert numbered.frames_decoded == decoded and cache.stats()["clip"]["entries"] == 1, "it is cached"


def test_a_clip_is_bounded_and_says_so(cache: Cache) -> None:
    video = Flat()
    video.duration_s = 3600.0
    clip, words = make_clip(video, (600.0, 1200.0), 601.0, cache)
    assert (clip.start_s, clip.end_s) == (600.0, 600.0 + LONGEST_S)
    assert words == (
        "Plays 10:00.0–10:10.0, without sound: 10 s around the frame shown, since a clip has at most 10 s "
        "and this takes 10:00.0."
    )
    middle, _ = make_clip(video, (600.0, 1200.0), 900.0, cache)
    assert (middle.start_s, middle.end_s) == (895.0, 905.0)
    short, words = make_clip(video, (3599.96, 3600.0), 3599.98, cache)
    assert (short.start_s, short.end_s) == (3600.0 - SHORTEST_S, 3600.0) and "2 s around" in words
    assert max(Clip(Flat((4000, 3000)), 0.0, 10.0, cache).size) <= 480
    assert Clip(Flat((3, 5000)), 0.0, 10.0, cache).size == (16, 480) and clip.fps == 15


def test_a_frame_of_a_clip_that_cannot_be_decoded_is_hatched(cache: Cache) -> None:
    clip, _ = make_clip(Flat(broken=(4.0, 5.0)), (3.0, 6.0), 4.5, cache)
    frames = frames_of(clip.webm())
    flat, hatched = frames[2], frames[len(frames) // 2]
    assert abs(flat.astype(int) - (200, 60, 60)).mean() < 8 < 30 < abs(hatched.astype(int) - (200, 60, 60)).mean()


def test_a_clip_without_an_encoder_is_one_sentence(
    numbered: ak.Video, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clips, "CODECS", ("none-such", "libvpx-vp9"))
    assert len(frames_of(make_clip(numbered, (0.0, 2.0), 1.0, Cache(None))[0].webm())) == 30, "VP9 does it too"
    monkeypatch.setattr(clips, "CODECS", ("none-such",))
    page = Sent(GridExplorer(numbered, cache=cache))
    message, _ = page.ask(want="clip", time_s=1.0)
    assert message["is"] == "no clip" and "needs the encoder none-such" in message["words"]
    monkeypatch.undo()
    monkeypatch.setattr(clips, "MAX_BYTES", 100)
    assert "at most 100 bytes" in page.ask(want="clip", time_s=1.0)[0]["words"]


# --- files


def test_a_frame_is_saved_without_loss(numbered: ak.Video, cache: Cache) -> None:
    page = Sent(GridExplorer(numbered, k=4, cell=48, cache=cache))
    message, (png,) = page.ask(want="png", time_s=5.0)
    saved = Image.open(io.BytesIO(png))
    assert saved.format == "PNG" and np.array_equal(np.asarray(saved), numbered.frames([5.0])[0])
    assert message == {"is": "png", "name": "numbered 0-05.000.png"}
    message, (png,) = page.ask(want="png", place={"path": [], "look": "grid", "cell": None})
    sheet = page.explorer.picture.image
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(png))), np.asarray(sheet))
    assert message["name"] == "numbered 0-00.000 to 0-10.000.png"


# --- the ruler


def test_a_video_whose_packets_cannot_be_read_has_a_sentence(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    video = Flat()
    monkeypatch.setattr(video, "activity", lambda cache: (_ for _ in ()).throw(ak.AtlasError("it is gone")), False)
    page = Sent(GridExplorer(video, cache=cache))
    assert page.ask(want="lanes")[0] == {"is": "no lanes", "words": "The ruler lacks activity and cuts: it is gone"}


# --- what panels and other pages use


@pytest.mark.parametrize(
    "message",
    [
        {"want": "step", "frames": 10**400}, {"want": "step", "seconds": float("nan")}, {"want": "step", "frames": "1"},
        {"want": "time", "text": 3}, {"want": "time", "text": "9" * 400}, {"want": "clip", "time_s": -1},
        {"want": "png", "place": {"path": [99], "look": "grid", "cell": None}}, {"want": "clip", "place": None},
        {"want": ["time"]}, {},
    ],
)  # fmt: skip
def test_no_message_of_a_page_raises(world: World, shared_cache: Cache, message: dict[str, Any]) -> None:
    page = Sent(GridExplorer(world.drawn, cache=shared_cache))
    page.ask(want="show", place={"path": [], "look": "frame", "cell": 3})
    reply, _ = page.ask(**message)
    assert reply["is"] in ("trouble", "picture", "no clip", "no png")
