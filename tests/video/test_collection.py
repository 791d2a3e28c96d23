"""A collection: which film a second is in, what its first sheet shows, and what a folder opens."""

from __future__ import annotations

import os
import shutil
import struct
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

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
from atlaskit.video.file import VideoFile
from atlaskit.video.folder import began_at, found_in
from atlaskit.video.opening import as_video, open_video
from atlaskit.video.records import remember_video

SECONDS_FROM_1904 = 2_082_844_800
"""From there to 1970: the clocks of an MP4 and of Python."""
LENGTHS = st.lists(st.floats(0.5, 4000.0), min_size=1, max_size=90)


def collection(lengths_s: list[float]) -> Collection:
    """Return films of one colour and of some lengths."""
    films = [Flat() for _ in lengths_s]
    for number, (film, length_s) in enumerate(zip(films, lengths_s, strict=True)):
        film.duration_s = length_s
        film.fingerprint = f"film-{number}"
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
    if film.end_s - time_s > 0.01:
        (moment_s,) = films.moments([(time_s, film.end_s)], "keyframe", Cache(None))
        assert time_s <= moment_s < film.end_s


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


def test_only_films_that_the_sheet_shows_are_read(cache: Cache) -> None:
    films = collection([20.0] * 300)
    view = ak.view(films, k=4, cell=32, cache=cache)
    view.jpeg()
    assert sum(part.asked > 0 for part in films.parts) == 16  # type: ignore[attr-defined]
    assert len(view.hidden_cuts[0]) >= 16, "where the next film starts is a cut"


def test_an_interval_over_films_names_both_ends_and_the_time_of_day() -> None:
    films = Collection([Flat(), Flat((320, 240))], ["a.mp4", "b.mp4"], [datetime(2026, 11, 27, 18, 30), None])
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
    (footage / "10.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nhello\n")
    with pytest.warns(DamagedVideo, match="3 of 6 files are left out"):
        films = ak.open_videos(footage, cache=cache)
    assert [film.name for film in films.films] == ["2.MP4", "10.mp4", str(Path("night 2", "🦊 fox.mp4"))]
    told = " ".join(films.left_out)
    assert "empty.mkv is empty" in told and "broken.webm is not a video" in told
    assert "copy.mp4 is a copy of 10.mp4" in told and "._10" not in told
    (line,) = films.subtitles.lines
    assert line.text == "hello" and films.film_at(line.start_s).name == "10.mp4", "subtitles beside a film are read"


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
def test_a_folder_is_opened_once_and_each_film_again_when_it_is_read(
    footage: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[str]()
    open_reader = VideoFile._open

    def noted(film: VideoFile) -> object:
        opened.append(film.path.name)
        return open_reader(film)

    monkeypatch.setattr(VideoFile, "_open", noted)
    first = ak.open_videos(footage, cache=cache)
    opened.clear()
    again = ak.open_videos(footage, cache=cache)
    assert {*opened} <= {"empty.mkv", "broken.webm"}, "only what could not be opened is tried again"
    assert again.fingerprint == first.fingerprint and again.films == first.films
    again.frame(1.0)
    assert opened[-1] == "2.MP4"


def test_a_pass_that_was_stopped_goes_on(footage: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    def stopping(path: Path) -> None:
        asked.append(path.name)
        if asked.count("10.mp4") == 1 and path.name == "10.mp4":
            raise KeyboardInterrupt

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
    rows = ["File;Name;Began", "10.mp4;the dock;2026-11-27 18:30:00", "night 2/🦊 fox.mp4;;"]
    table.write_text("\r\n".join(rows), "utf-8-sig")
    films = ak.open_videos(table, cache=cache)
    assert [film.name for film in films.films] == ["the dock", "night 2/🦊 fox.mp4"]
    assert films.films[0].began == datetime(2026, 11, 27, 18, 30)


def test_names_that_files_share_or_spell_otherwise_find_their_film(tmp_path: Path, cache: Cache) -> None:
    clip = make_video(tmp_path / "clip.mp4", frames=5).read_bytes()
    for number, name in enumerate(("a/cam.mp4", "b/cam.mp4", "b/cam.2.mp4", "b/1①2.mp4", "b/Ane\u0301.mp4")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(clip + bytes(number))
    for name in ("cam.2", "An\u00e9"):
        (tmp_path / f"b/{name}.srt").write_text("1\n00:00:00,000 --> 00:00:00,100\nhello\n")
    assert [each.name for each in found_in(str(tmp_path / "*/cam.mp4"))] == ["a/cam.mp4", "b/cam.mp4"]
    lines = {film.name: len(film.subtitles) for film in ak.open_videos(tmp_path / "b", cache=cache).parts}
    assert lines == {"1①2.mp4": 0, "Ane\u0301.mp4": 1, "cam.2.mp4": 1, "cam.mp4": 0}
    (tmp_path / "b/films.csv").write_text(f"file,name\nAn\u00e9.mp4,{'x' * 2000}\n")
    films = ak.open_videos(tmp_path / "b/films.csv", cache=cache)
    remember_video(films, cache)
    assert open_video(fingerprint=films.fingerprint, cache=cache).name == films.name


@pytest.mark.filterwarnings("ignore::atlaskit.errors.DamagedVideo")
def test_odd_names_links_and_pipes_break_nothing_and_the_cache_recalls_what_is_gone(
    tmp_path: Path, cache: Cache
) -> None:
    home = tmp_path / "odd"
    (home / "folder.mp4").mkdir(parents=True)
    shutil.copyfile(make_video(tmp_path / "clip.mp4", frames=30), os.fsencode(home) + b"/caf\xe9.mp4")
    os.mkfifo(home / "pipe.mp4")
    (home / "loop").symlink_to(home)
    (home / "zero.mp4").symlink_to("/dev/zero")
    films = ak.open_videos(home, cache=cache)
    assert [film.name for film in films.films] == ["caf\ufffd.mp4"] and len(films.left_out) == 2
    remember_video(films, cache)
    shutil.rmtree(home)
    recalled = open_video(fingerprint=films.fingerprint, cache=cache)
    assert isinstance(recalled, Collection) and recalled.films == films.films
    assert root_grid(recalled, 0.0, recalled.duration_s, 4) == root_grid(films, 0.0, films.duration_s, 4)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name\nx\n", r"has no column 'file'; its columns are name"),
        ("file,began\na.mp4,yesterday\n", r"row 2, column began: a date is as in .* got 'yesterday'"),
        ("file\n\n", "lists no file"),
        ("x" * 200_000, "row 1 has a cell of more than 131,072 characters"),
        (f"file,name\na.mp4,{'x' * 20_000}\n", "row 2, column name: a name has at most 10,000 characters"),
    ],
)
def test_a_wrong_table_is_one_sentence(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text(text)
    with pytest.raises(InputError, match=told):
        ak.open_videos(tmp_path / "films.csv")


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
    ("name", "began"),
    [
        ("VID_20261127_183000.mp4", datetime(2026, 11, 27, 18, 30)),
        ("2026-11-27 18.30.05 dock.mp4", datetime(2026, 11, 27, 18, 30, 5)),
        ("20260231_183000.mp4", None),
        ("clip_1080.mp4", None),
    ],
)
def test_names_tell_when_a_film_was_recorded(name: str, began: datetime | None, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    assert began_at(tmp_path / name) == began


@pytest.mark.parametrize(
    "began",
    [datetime(2026, 11, 27, 18, 30, tzinfo=UTC), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)],
    ids=["set", "never set"],
)
def test_containers_tell_when_a_film_was_recorded(began: datetime, tmp_path: Path) -> None:
    """Those of cameras whose clock was never set tell nothing."""
    path = make_video(tmp_path / "clip.mp4", frames=5)
    movie = bytearray(path.read_bytes())
    struct.pack_into(">I", movie, movie.index(b"mvhd") + 8, int(began.timestamp()) + SECONDS_FROM_1904)
    path.write_bytes(movie)
    assert began_at(path) == (began if began.year > 1990 else None)
