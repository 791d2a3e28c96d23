"""Which frame represents a cell: that at the midpoint (paper §3.1), a keyframe, a shot."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.media import frame_number, make_video
from support.stand_ins import Flat

import atlaskit as ak
from atlaskit.agents.verbalize import cuts_text, seconds
from atlaskit.caching.cache import Cache
from atlaskit.caching.keys import kind_of
from atlaskit.environment.grid import Grid
from atlaskit.environment.render import with_look
from atlaskit.errors import FrameError
from atlaskit.video.opening import open_video
from atlaskit.video.readers import Pixels
from atlaskit.video.shots import FEWEST_LOOKS, Marks, Shots, find_shots
from atlaskit.video.subtitles import Subtitles
from atlaskit.video.video import SAMPLINGS, Sampling, Video

GOP = 10


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Video:
    """A video of 20 s with a keyframe every 0.4 s."""
    return open_video(make_video(tmp_path_factory.mktemp("video") / "v.mp4", frames=500, gop=GOP, sc_threshold="0"))


@pytest.mark.parametrize("cell", [(0.0, 5.0), (0.3, 0.9), (12.1, 12.9), (19.0, 20.0)])
def test_the_keyframe_nearest_to_the_midpoint_is_taken(video: Video, cell: tuple[float, float]) -> None:
    start_s, end_s = cell
    middle_s = (start_s + end_s) / 2
    keyframes = [index / 25 for index in range(0, 500, GOP) if start_s <= index / 25 < end_s]
    sampled_s = video.moment(start_s, end_s, "keyframe")
    assert abs(sampled_s - middle_s) == pytest.approx(min(abs(time_s - middle_s) for time_s in keyframes), abs=1e-6)
    assert frame_number(np.asarray(video.frame(sampled_s))) % GOP == 0
    assert video.moment(start_s, end_s) == middle_s
    assert video.moment(0.41, 0.79, "keyframe") == pytest.approx(0.6), "a cell without one shows its midpoint"


def test_finding_keyframes_decodes_nothing(cache: Cache, video: Video) -> None:
    before = video.frames_decoded
    view = ak.view(video, k=4, cell=64, sampling="keyframe", cache=cache)
    assert all(round(time_s * 25) % GOP == 0 for time_s in view.moments)
    assert video.frames_decoded == before
    view.jpeg()
    assert video.frames_decoded == before + 16, "a keyframe needs no other frames"


def test_sampling_is_part_of_the_key_and_its_times_are_cached(cache: Cache, video: Video) -> None:
    view = ak.view(video, k=4, cell=64, cache=cache)
    views = [with_look(view, sampling=rule) for rule in SAMPLINGS]
    assert len({view.key for view in views}) == 3
    assert views[1].expand(3).look.sampling == "keyframe"
    gone = Flat()  # a video whose file cannot be read any more
    gone.fingerprint, gone.duration_s = video.fingerprint, video.duration_s
    for each in views[1:]:
        found = each.moments
        assert dataclasses.replace(each, video=gone).moments == found
    assert gone.asked == 0


@pytest.mark.parametrize("sampling", ["keyframe", "shots"])
def test_evidence_has_the_time_of_the_sampled_frame(cache: Cache, video: Video, sampling: Sampling) -> None:
    """Promise 4, with another sampling than that of midpoints."""
    atlas = ak.Atlas(video, k=4, cell=64, sampling=sampling, cache=cache)
    view = atlas.reset().view
    after = atlas.step(ak.AddToScratchpad((ak.Claim(5, "it", timestamp_s=19.0),)))
    (item,) = after.state.scratchpad
    assert item.timestamp_s == view.moments[5] != view.cells[5].midpoint_s
    zoomed = atlas.step(ak.Zoom(5)).looking_at
    assert frame_number(np.asarray(zoomed.image)) == round(item.timestamp_s * 25)  # type: ignore[union-attr]


Look = Callable[[float], int | FrameError]
"""What a video shows at a time: the number of a picture, or why there is none."""
BLACK = -1


class Painted(Video):
    """A video of noise, brighter by the number of the picture; its container may tell marks.

    Attributes:
        asked: The times of all frames that were requested.
    """

    def __init__(
        self, look: Look, duration_s: float = 100.0, size: tuple[int, int] = (64, 36), marks: Marks | None = None
    ) -> None:
        self.name = self.fingerprint = "painted"
        self.duration_s = duration_s
        self.fps = 25.0
        self.size = size
        self.subtitles = Subtitles()
        self._look = look
        self._marks = marks
        self.asked: list[float] = []

    def marks(self) -> Marks:
        return self._marks or super().marks()

    def try_frames(self, times_s: Sequence[float], size: tuple[int, int] | None = None) -> list[Pixels | FrameError]:
        width, height = size or self.size
        noise = np.random.default_rng(0).integers(60, 160, (height, width, 3))
        frames: list[Pixels | FrameError] = []
        for time_s in times_s:
            self.check_time(time_s)
            self.asked.append(time_s)
            shown = self._look(time_s)
            if isinstance(shown, FrameError):
                frames.append(shown)
            else:
                frames.append(((noise + shown) * (shown != BLACK)).astype(np.uint8))
        return frames


def numbered(*spans: tuple[float, float, int]) -> Look:
    """Return a look with picture 0 at all times except in some spans."""

    def look(time_s: float) -> int:
        shown = [number for start_s, end_s, number in spans if start_s <= time_s < end_s]
        return shown[0] if shown else 0

    return look


def test_the_shot_that_differs_represents_the_cell() -> None:
    shots = find_shots(Painted(numbered((21.0, 22.5, 60))))
    assert 21.0 <= shots.moment(20.0, 30.0) < 22.5  # type: ignore[operator]
    assert shots.moment(30.0, 40.0) is None, "nothing differs"
    assert any(20.5 < cut_s < 21.5 for cut_s in shots.cuts_s)


def test_what_is_blank_or_comes_often_ranks_behind_what_is_rare() -> None:
    often = tuple((at + 0.0, at + 2.0, 80) for at in range(3, 100, 10))
    shots = find_shots(Painted(numbered((26.0, 28.0, 40), (20.0, 22.0, BLACK), *often)))
    assert 26.0 <= shots.moment(20.0, 30.0) < 28.0  # type: ignore[operator]
    assert find_shots(Painted(lambda _: BLACK)) == Shots(()), "a static camera has one shot"


def test_an_undecodable_frame_is_passed_over() -> None:
    lost = FrameError("lost")
    insert = numbered((27.0, 28.0, 50))
    video = Painted(lambda at: lost if 20.0 <= at < 23.0 else insert(at))
    assert 27.0 <= video.moments([(20.0, 30.0)], "shots", Cache(None))[0] < 28.0
    view = ak.view(Painted(lambda _: lost), k=2, cell=64, sampling="shots", cache=Cache(None))
    assert view.moments == (12.5, 37.5, 62.5, 87.5) and view.unreadable == {0, 1, 2, 3}


def test_a_frame_that_cannot_be_read_this_time_leaves_nothing_in_the_cache() -> None:
    broken, cache = Painted(lambda _: FrameError("busy", is_lasting=False)), Cache(None)
    with pytest.raises(FrameError, match="busy"):
        broken.moments([(20.0, 30.0)], "shots", cache)
    view = ak.view(broken, k=2, cell=64, sampling="shots", cache=cache)
    assert view.moments == (12.5, 37.5, 62.5, 87.5)
    assert not {kind_of(entry.key) for entry in cache.entries()} & {"moments", "shots"}
    mended = dataclasses.replace(view, video=Painted(numbered((1.0, 2.0, 60))))
    assert mended.moments[0] < 10


LOOKS = st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(0.1, 20.0), st.integers(1, 90)), max_size=8)
PLACES = st.dictionaries(st.floats(0.0, 99.9), st.floats(0.0, 255.0), max_size=40)


FEW_LOOKS = 64
"""As many frames show the law as MOST_LOOKS do, in a hundredth of the time."""


@settings(max_examples=30)
@given(LOOKS, st.lists(st.floats(0.0, 99.0), min_size=1, max_size=4))
def test_a_moment_lies_in_its_cell_whatever_else_is_asked(
    spans: list[tuple[float, float, int]], starts_s: list[float]
) -> None:
    look = numbered(*((start_s, start_s + span_s, number) for start_s, span_s, number in spans))
    intervals = [(start_s, start_s + 1.0) for start_s in starts_s]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("atlaskit.video.shots.MOST_LOOKS", FEW_LOOKS)
        video = Painted(look)
        together = video.moments(intervals, "shots", Cache(None))
        assert len(set(video.asked)) == len(video.asked) <= FEW_LOOKS, "no frame is asked for twice"
        for (start_s, end_s), moment_s in zip(intervals, together, strict=True):
            assert start_s <= moment_s < end_s
            assert Painted(look).moments([(start_s, end_s)], "shots", Cache(None)) == [moment_s]


def test_an_insert_of_which_only_the_end_is_marked_is_shown() -> None:
    """An encoder places no two keyframes within a second: then packets alone tell of the start."""
    keyframes_s = [0.0, 10.0, 19.5, 24.0, 34.0, 44.0, 54.0, 64.0, 74.0, 84.0, 94.0]
    marks = Marks([19.5, 24.0], keyframes_s, True, [(20.0, 1.2)])
    shots = find_shots(Painted(numbered((20.0, 24.0, 60)), size=(640, 360), marks=marks))
    assert 20.0 <= shots.moment(12.5, 25.0) < 24.0  # type: ignore[operator]


@pytest.mark.parametrize(("size", "most"), [((1920, 1080), FEWEST_LOOKS), ((640, 360), 576)])
def test_where_a_container_tells_few_large_frames_are_looked_at(size: tuple[int, int], most: int) -> None:
    """Of so many cuts, the shortest shot of each part of the film is looked at."""
    cuts_s = sorted({*map(float, range(4, 8000, 4)), 4001.0})
    video = Painted(numbered((4000.0, 4001.0, 60)), 8000.0, size, Marks(cuts_s, cuts_s, True))
    shots = find_shots(video)
    assert most / 2 < len(video.asked) <= most
    assert shots.moment(3990.0, 4010.0) == pytest.approx(4000.5, abs=0.5)


@given(PLACES, st.integers(2, 8), st.integers(2, 4))
def test_finer_cells_lose_no_place_that_coarser_ones_show(places: dict[float, float], k: int, times: int) -> None:
    """Law of the rule: whatever the ranks, dividing each cell keeps what it showed."""
    in_order = tuple(sorted(places))
    shots = Shots((), in_order, tuple(places[place_s] for place_s in in_order))

    def shown(side: int) -> set[float]:
        found = [shots.moment(cell.start_s, cell.end_s) for cell in Grid(0.0, 100.0, side).cells]
        return {moment_s for moment_s in found if moment_s is not None}

    assert shown(k) <= shown(k * times) <= {*places}


@given(st.sets(st.floats(0.1, 99.9), max_size=30), st.floats(0.0, 99.0), st.floats(0.5, 60.0), st.floats(0.0, 1.0))
def test_hidden_cuts_are_those_of_the_cell_but_the_edges_of_the_shown_shot(
    cuts_s: set[float], start_s: float, span_s: float, share: float
) -> None:
    end_s = start_s + span_s
    shown_s = min(start_s + share * span_s, float(np.nextafter(end_s, 0)))
    inside_s = {cut_s for cut_s in cuts_s if start_s <= cut_s < end_s}
    before_s = {cut_s for cut_s in inside_s if cut_s <= shown_s}
    edges_s = {max(before_s, default=-1.0), min(inside_s - before_s, default=-1.0)}
    assert {*Shots(tuple(sorted(cuts_s))).hidden(start_s, end_s, shown_s)} == inside_s - edges_s


def test_a_sheet_tells_the_shots_that_a_cell_shows_and_hides(cache: Cache) -> None:
    """Three shots in one cell: the strip counts the cut that the shown one does not explain."""
    film = Painted(numbered((5.0, 7.0, 60), (15.0, 17.0, 30)))
    view = with_look(ak.view(film, k=2, cell=160, sampling="shots", cache=cache), ruled=True)
    text = cuts_text(view)
    assert view.short_shots[0] == pytest.approx((5.0, 7.0), abs=0.2) and view.moments[0] == pytest.approx(6, abs=1)
    (hidden,) = [span_s for span_s in view.hidden_shots[0] if span_s[1] - span_s[0] < 3]
    assert hidden == pytest.approx((15.0, 17.0), abs=0.2)
    for start_s, end_s in (view.short_shots[0], hidden):
        assert f"{seconds(start_s)}–{seconds(end_s)}" in text
    assert view.hidden_cuts.keys() == {0} and len(view.hidden_cuts[0]) == 2
    assert all(seconds(cut_s) in text for cut_s in view.hidden_cuts[0])
    plain = with_look(view, sampling="midpoint")
    assert plain.hidden_cuts == plain.hidden_shots == plain.short_shots == {} and cuts_text(plain) == ""
    assert 0 not in dataclasses.replace(view, dead=frozenset({0})).hidden_cuts


def test_a_list_of_cuts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    many = Shots(tuple(0.01 * number for number in range(1, 9_000)), (50.0,), (99.0,))
    monkeypatch.setattr("atlaskit.video.video.shots_of", lambda video, cache: many)
    view = ak.view(Painted(lambda _: 0), k=8, cell=64, sampling="shots", cache=Cache(None))
    assert len(view.hidden_cuts) > 50
    assert len(cuts_text(view)) < 4_000
