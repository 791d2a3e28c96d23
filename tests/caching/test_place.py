"""Which cache is used if nobody names one."""

from pathlib import Path

import pytest

from atlaskit.__main__ import main
from atlaskit.caching import place
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.place import VARIABLE, default_place
from atlaskit.video.file import copies_folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, without the variable."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def place_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    return default_place().directory


@pytest.mark.parametrize("mark", ["pyproject.toml", ".git"])
def test_a_notebook_and_a_command_in_one_project_share_the_cache(
    home: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    root = home / "project"
    root.mkdir()
    (root / mark).touch()
    for folder in (root / "notebooks" / "deep", root):
        assert place_from(folder, monkeypatch) == root / "cache"
    Cache().put("reply:1:x", b"paid")
    assert (root / "cache" / "entries").is_dir()
    place_from(root / "notebooks", monkeypatch)
    assert Cache().get("reply:1:x") == b"paid" and default_cache().directory == root / "cache"
    assert copies_folder(None).parent == root / "cache"
    assert not (root / "notebooks" / "cache").exists()


def test_a_cache_that_is_there_is_used_as_before(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = home / "project"
    notebooks = root / "notebooks"
    notebooks.mkdir(parents=True)
    (root / ".git").mkdir()
    Cache(notebooks / "cache")
    assert place_from(notebooks / "deep", monkeypatch) == notebooks / "cache"
    (root / "other" / "cache" / "someone's").mkdir(parents=True)
    assert place_from(root / "other", monkeypatch) == root / "cache", "that folder is not a cache of atlaskit"
    assert Cache("cache").directory == root / "other" / "cache", "a name is a name"


def test_outside_a_project_it_is_the_nearest_below_home_or_here(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert place_from(home / "films" / "new", monkeypatch) == home / "films" / "new" / "cache"
    Cache(home / "cache")
    (home / ".git").mkdir()
    assert place_from(home / "films" / "new", monkeypatch) == home / "films" / "new" / "cache"
    Cache(home / "films" / "cache")
    assert place_from(home / "films" / "new", monkeypatch) == home / "films" / "cache"
    assert place_from(home, monkeypatch) == home / "cache"
    Cache(tmp_path / "cache")
    assert place_from(tmp_path / "elsewhere", monkeypatch) == tmp_path / "elsewhere" / "cache"


def test_a_folder_of_another_user_is_not_looked_into(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = home / "theirs"
    Cache(theirs / "cache")
    (theirs / "pyproject.toml").touch()
    mine = theirs / "mine"
    assert place_from(mine, monkeypatch) == theirs / "cache"
    monkeypatch.setattr(place, "_is_own", lambda folder: folder != theirs)
    assert place_from(mine, monkeypatch) == mine / "cache"


def test_the_variable_comes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "~/paid")
    assert place_from(home / "any", monkeypatch) == home / "paid" and Cache().directory == home / "paid"


def test_the_command_says_which_cache_and_why(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = home / "project"
    place_from(root / "notebooks", monkeypatch)
    (root / "pyproject.toml").touch()
    assert main(["cache"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == str(root / "cache") and "root of this project, which has pyproject.toml" in told[1]
    assert "there is none yet" in told[2] and not (root / "cache").exists()
    Cache().put("reply:1:x", b"paid")
    assert main(["cache"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == str(root / "cache") and "nearest that atlaskit made" in told[1]
    assert told[3].startswith("reply") and main(["cache", "stats"]) == 0
    Cache(root / "other").put("reply:1:x", b"paid")
    capsys.readouterr()
    for words in (["--cache", "../other", "stats"], ["stats", "--cache", "../other"]):
        assert main(["cache", *words]) == 0 and "reply" in capsys.readouterr().out
    assert main(["cache", "--cache", "../other"]) == 0 and "--cache names it" in capsys.readouterr().out
