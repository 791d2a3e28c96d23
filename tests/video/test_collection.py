"""A collection: which film a second is in, what its first sheet shows, and what a folder opens."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.media import make_video
from support.stand_ins import Flat

import atlaskit as ak
from atlaskit.caching.cache import Cache
from atlaskit.environment.places import interval_in_words, moment_in_words, places_of
from atlaskit.environment.render import root_grid
from atlaskit.errors import DamagedVideo, InputError, VideoError
from atlaskit.video import folder
from atlaskit.video.collection import Collection
from atlaskit.video.folder import began_at, found_in
from atlaskit.video.opening import as_video, open_video
from atlaskit.video.records import remember_video
from atlasworld import World
from atlasworld.stretches import Stretch, films_of

LENGTHS = st.lists(st.floats(0.5, 4000.0), min_size=1, max_size=90)


def collection(lengths_s: list[float]) -> Collection:
    """Return films of one colour and of some lengths."""
    films = list[Flat]()
    for number, length_s in enumerate(lengths_s):
        film = Flat()
        film.duration_s, film.fingerprint = length_s, f"film-{number}"
        films.append(film)
    return Collection(films, [f"{number}.mp4" for number in range(len(films))])


@given(LENGTHS, st.integers(2, 8))
def test_each_film_has_cells_of_its_own_or_each_cell_as_many_films(lengths_s: list[float], k: int) -> None:
    films = collection(lengths_s)
    edges_s = films.cell_edges(0.0, films.duration_s, k)
    assert len(edges_s) == k * k + 1 and (edges_s[0], edges_s[-1]) == (0.0, films.duration_s)
    assert all(a < b for a, b in pairwise(edges_s))
    starts_s = [film.start_s for film in films.films]
    if len(starts_s) <= k * k:
        assert set(starts_s) <= set(edges_s), "no cell has parts of two films"
    else:
        assert set(edges_s[:-1]) <= set(starts_s)
        counts = [len(films.films_in(a, b)) for a, b in pairwise(edges_s)]
        assert max(counts) - min(counts) <= 1 and sum(counts) == len(starts_s)


@given(LENGTHS, st.floats(0, 1, exclude_max=True))
def test_a_second_is_in_one_film_and_says_so(lengths_s: list[float], share: float) -> None:
    films = collection(lengths_s)
    time_s = share * films.duration_s
    film = films.film_at(time_s)
    assert film.start_s - 1e-3 <= time_s < film.end_s + 1e-3
    (place,) = places_of(films, time_s, time_s)
    assert place.film == film.name and moment_in_words(films, time_s).startswith(f"{film.name} ")
    assert places_of(Flat(), 1.0, 1.0) == () and moment_in_words(Flat(), 1.0) == "0:01.0"


@given(LENGTHS, st.integers(2, 8), st.integers(0, 3), st.integers(0, 63))
def test_the_grids_below_the_first_sheet_tile_its_cells(lengths_s: list[float], k: int, steps: int, at: int) -> None:
    films = collection(lengths_s)
    grid = root_grid(films, 0.0, films.duration_s, k)
    assert grid.start_s == 0.0 and grid.end_s == films.duration_s
    for _ in range(steps):
        cell = grid.cells[at % grid.size]
        below = grid.expand(cell.index)
        assert (below.start_s, below.end_s) == (cell.start_s, cell.end_s)
        assert below.parent() == grid
        assert all(a.end_s == b.start_s for a, b in pairwise(below.cells))
        grid = below


@given(LENGTHS, st.lists(st.floats(0, 1), min_size=2, max_size=2, unique=True))
def test_the_frame_of_an_interval_lies_in_it(lengths_s: list[float], shares: list[float]) -> None:
    films = collection(lengths_s)
    start_s, end_s = sorted(share * films.duration_s for share in shares)
    if end_s - start_s < 0.01:
        return
    (moment_s,) = films.moments([(start_s, end_s)], "keyframe", Cache(None))
    assert start_s <= moment_s < end_s


def test_only_films_that_the_sheet_shows_are_read(cache: Cache) -> None:
    films = collection([20.0] * 300)
    ak.view(films, k=4, cell=32, cache=cache).jpeg()
    read = [part for part in films.parts if isinstance(part, Flat) and part.asked]
    assert len(read) == 16
    other = ak.view(films, k=4, cell=32, cache=cache)
    assert len(other.hidden_cuts[0]) >= 16, "where the next film starts is a cut"


def test_an_interval_over_films_names_both_ends_and_the_time_of_day() -> None:
    parts = [Flat(), Flat((320, 240))]
    began = datetime(2026, 11, 27, 18, 30)
    films = Collection(parts, ["a.mp4", "b.mp4"], [began, None])
    assert interval_in_words(films, 2.0, 5.0) == "a.mp4 0:02.0–0:05.0 (2026-11-27 18:30:02)"
    assert interval_in_words(films, 14.0, 18.0) == "a.mp4 0:14.0–0:16.0 (2026-11-27 18:30:14) to b.mp4 0:00.0–0:02.0"


# --- folders


@pytest.fixture
def footage(tmp_path: Path) -> Path:
    """A folder with three films, and with much that is none."""
    clip_path = make_video(tmp_path / "clip.mp4")
    home = tmp_path / "footage"
    (home / "night 2").mkdir(parents=True)
    (home / ".hidden").mkdir()
    for name in ("10.mp4", "2.MP4", "night 2/🦊 fox.mp4", ".hidden/a.mp4", "._10.mp4"):
        shutil.copyfile(clip_path, home / name)
        with (home / name).open("ab") as file:  # another content, and the same film
            file.write(name.encode())
    shutil.copyfile(home / "10.mp4", home / "copy.mp4")
    (home / "empty.mkv").touch()
    (home / "broken.webm").write_bytes(b"no film" * 100)
    (home / "notes.txt").write_text("x")
    return home


def test_a_folder_opens_in_the_order_of_numbers_and_tells_what_is_left_out(footage: Path, cache: Cache) -> None:
    with pytest.warns(DamagedVideo, match="3 of 6 files are left out"):
        films = ak.open_videos(footage, cache=cache)
    assert [film.name for film in films.films] == ["2.MP4", "10.mp4", str(Path("night 2", "🦊 fox.mp4"))]
    told = " ".join(films.left_out)
    assert "empty.mkv is empty" in told and "broken.webm is not a video" in told
    assert "copy.mp4 is a copy of 10.mp4" in told and "._10" not in told


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
def test_subtitles_beside_a_film_are_its_lines(footage: Path, cache: Cache) -> None:
    (footage / "10.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nhello\n")
    films = ak.open_videos(footage, cache=cache)
    (line,) = films.subtitles.lines
    assert line.text == "hello" and films.film_at(line.start_s).name == "10.mp4"


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
def test_a_folder_is_opened_once_and_each_film_again_when_it_is_read(
    footage: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[str]()
    open_reader = folder.VideoFile._open

    def counted(film: folder.VideoFile) -> object:
        opened.append(str(film.path and film.path.name))
        return open_reader(film)

    monkeypatch.setattr(folder.VideoFile, "_open", counted)
    first = ak.open_videos(footage, cache=cache)
    count = len(opened)
    again = ak.open_videos(footage, cache=cache)
    broken = [name for name in opened[count:] if name not in ("empty.mkv", "broken.webm")]
    assert broken == [] and again.fingerprint == first.fingerprint and again.films == first.films
    again.frame(1.0)
    assert opened[-1] == "2.MP4"


def test_a_pass_that_was_stopped_goes_on(footage: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    began = folder.began_at
    asked = list[str]()

    def stopping(path: Path) -> datetime | None:
        asked.append(path.name)
        if path.name == "10.mp4" and asked.count("10.mp4") == 1:
            raise KeyboardInterrupt
        return began(path)

    monkeypatch.setattr(folder, "began_at", stopping)
    monkeypatch.setattr(folder, "CORES", 1)
    with pytest.raises(KeyboardInterrupt):
        ak.open_videos(footage, cache=cache)
    with pytest.warns(DamagedVideo):
        ak.open_videos(footage, cache=cache)
    assert asked.count("2.MP4") == 1 and asked.count("10.mp4") == 2


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
def test_folders_patterns_and_tables_are_videos_wherever_one_is_given(footage: Path, cache: Cache) -> None:
    assert len(as_video(str(footage), cache).films) == 3  # type: ignore[attr-defined]
    assert [each.name for each in found_in(str(footage / "*.mp4"))] == ["10.mp4", "copy.mp4"]
    table = footage / "films.csv"
    table.write_text(
        "\ufeffFile;Name;Began\r\n10.mp4;the dock;2026-11-27 18:30:00\r\nnight 2/🦊 fox.mp4;;\r\n", "utf-8"
    )
    films = ak.open_videos(table, cache=cache)
    assert [film.name for film in films.films] == ["the dock", "night 2/🦊 fox.mp4"]
    assert films.films[0].began == datetime(2026, 11, 27, 18, 30)


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
def test_odd_names_links_and_pipes_break_nothing(tmp_path: Path, cache: Cache) -> None:
    home = tmp_path / "odd"
    (home / "folder.mp4").mkdir(parents=True)
    clip = make_video(tmp_path / "clip.mp4", frames=30)
    shutil.copyfile(clip, os.fsencode(home) + b"/caf\xe9.mp4")
    os.mkfifo(home / "pipe.mp4")
    (home / "loop").symlink_to(home)
    (home / "zero.mp4").symlink_to("/dev/zero")
    films = ak.open_videos(home, cache=cache)
    remember_video(films, cache)
    assert [film.name for film in films.films] == ["caf\ufffd.mp4"] and len(films.left_out) == 2
    recalled = open_video(fingerprint=films.fingerprint, cache=cache)
    assert isinstance(recalled, Collection) and recalled.films == films.films


@pytest.mark.parametrize(
    "text, told",
    [
        ("name\nx\n", r"has no column 'file'; its columns are name"),
        ("file,began\na.mp4,yesterday\n", r"row 2, column began: a date is as in .* got 'yesterday'"),
        ("file\n\n", "lists no file"),
    ],
)
def test_a_wrong_table_is_one_sentence(text: str, told: str, tmp_path: Path) -> None:
    table = tmp_path / "films.csv"
    table.write_text(text)
    with pytest.raises(InputError, match=told):
        ak.open_videos(table)


def test_a_folder_without_videos_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"It is empty\."):
        ak.open_videos(tmp_path)
    for name in ("a.jpg", "b.jpg", "README"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"2 with \.jpg, 1 with no ending"):
        ak.open_videos(tmp_path)
    (tmp_path / "a.mp4").touch()
    with pytest.raises(VideoError, match=r"None of 1 files can be opened\. .*a\.mp4 is empty"):
        ak.open_videos(tmp_path)


@pytest.mark.parametrize(
    "name, began",
    [
        ("VID_20261127_183000.mp4", datetime(2026, 11, 27, 18, 30)),
        ("2026-11-27 18.30.05 dock.mp4", datetime(2026, 11, 27, 18, 30, 5)),
        ("PXL_20261127_183000123.mp4", datetime(2026, 11, 27, 18, 30)),
        ("20260231_183000.mp4", None),
        ("clip_1080.mp4", None),
    ],
)
def test_names_tell_when_a_film_was_recorded(name: str, began: datetime | None, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert began_at(tmp_path / name) == began


@pytest.mark.parametrize("text, year", [("2026-11-27T18:30:00Z", 2026), ("1970-01-01T00:00:00Z", None)])
def test_containers_tell_when_a_film_was_recorded(text: str, year: int | None, tmp_path: Path) -> None:
    """Those of cameras whose clock was never set tell nothing."""
    made, dated = make_video(tmp_path / "made.mp4"), tmp_path / "dated.mp4"
    with av.open(made) as source, av.open(dated, "w") as target:
        target.metadata["creation_time"] = text
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                target.mux(packet)
    began = began_at(dated)
    assert (began and began.year) == year and (began is None or began.tzinfo == UTC)


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
def test_the_cache_recalls_a_collection_without_its_files(footage: Path, cache: Cache) -> None:
    films = ak.open_videos(footage, cache=cache)
    remember_video(films, cache)
    shutil.rmtree(footage)
    recalled = open_video(fingerprint=films.fingerprint, cache=cache)
    assert isinstance(recalled, Collection) and recalled.films == films.films
    assert root_grid(recalled, 0.0, recalled.duration_s, 4) == root_grid(films, 0.0, films.duration_s, 4)


def test_films_play_as_what_they_were_cut_from(world: World) -> None:
    films = films_of(world, [5.0, 20.0, 600.0])
    assert films.duration_s == 600.0 and isinstance(films.parts[1], Stretch)
    assert (films.frames([7.25]) == world.drawn.frames([7.25])).all()
