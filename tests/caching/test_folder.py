"""Where the cache is if nobody names one; its folder is private, and refused if it is another's."""

import sqlite3
import stat
from pathlib import Path

import pytest

from atlaskit.__main__ import main
from atlaskit.caching.cache import Cache, default_cache
from atlaskit.caching.folder import VARIABLE, default_place, network_file_system
from atlaskit.errors import CacheError, CacheWarning
from atlaskit.video.file import copies_folder


def test_the_folder_is_private_and_its_parent_unchanged(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    cache = Cache(tmp_path)
    cache.put("view:1", b"x" * 50_000)
    assert stat.S_IMODE((tmp_path / "entries").stat().st_mode) == 0o700
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    (tmp_path / "streams").mkdir(mode=0o755)
    (tmp_path / "entries").chmod(0o777)
    assert Cache(tmp_path).get("view:1") is not None
    assert stat.S_IMODE((tmp_path / "streams").stat().st_mode) == 0o700, "as earlier versions left it"
    assert stat.S_IMODE((tmp_path / "entries").stat().st_mode) == 0o700


def test_the_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(tmp_path)
    monkeypatch.setattr("os.getuid", lambda: 12345)
    with pytest.raises(CacheError, match="belongs to another user"):
        Cache(tmp_path)


def test_a_folder_of_another_program_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "full" / "entries").mkdir(parents=True)
    (tmp_path / "full" / "entries" / "diary.txt").write_text("Dear diary")
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "entries").symlink_to(tmp_path / "elsewhere")
    for name in ("full", "linked"):
        with pytest.raises(CacheError, match="is not atlaskit's"):
            Cache(tmp_path / name)
    with pytest.raises(CacheError, match="a variable of the shell"):
        Cache(tmp_path / "a$HOME")
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o755


@pytest.mark.parametrize(
    ("mounts", "kind"),
    [
        ("host:/home HERE nfs4 rw 0 0", "nfs4"),
        ("host:/ / nfs rw 0 0\ndisk HERE xfs rw 0 0", None),
        ("disk HERE xfs rw 0 0\nshare HERE/my\\040cache cifs rw 0 0", "cifs"),
        ("nonsense", None),
    ],
)
def test_a_network_file_system_is_recognized_by_its_mount(tmp_path: Path, mounts: str, kind: str | None) -> None:
    (tmp_path / "my cache").mkdir()
    table = tmp_path / "mounts"
    table.write_text(f"disk / ext4 rw 0 0\n{mounts.replace('HERE', str(tmp_path))}")
    assert network_file_system(tmp_path / "my cache", table) == kind
    assert network_file_system(tmp_path, tmp_path / "none") is None


def test_each_host_has_a_folder_on_a_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlaskit.caching.folder.network_file_system", lambda directory: "nfs4")
    for host in ("ada", "bob"):
        monkeypatch.setattr("platform.node", lambda host=host: host)
        with pytest.warns(CacheWarning, match=f"nfs4.*entries-of-{host}/"):
            cache = Cache(tmp_path)
        assert cache.get("view:1") is None
        cache.put("view:1", host.encode())
        assert Cache(tmp_path).get("view:1") == host.encode()  # without another warning
        with sqlite3.connect(tmp_path / f"entries-of-{host}" / "cache.db") as database:
            assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


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
    monkeypatch.setattr("os.getuid", lambda: 12345)  # from here on, all folders above are another user's
    for folder in (home / "films" / "new", tmp_path / "elsewhere"):
        assert place_from(folder, monkeypatch) == folder / "cache"


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
    assert main(["cache", "--cache", "../other"]) == 0 and "--cache names it" in capsys.readouterr().out
    monkeypatch.setenv(VARIABLE, "~/paid")
    assert default_place().directory == home / "paid" == Cache().directory, "the variable comes first"
    monkeypatch.setenv(VARIABLE, "~nobody-here/paid")
    assert default_place().directory == Path("~nobody-here/paid").absolute()
