"""The folder of the entries: private, and refused if it belongs to anyone else."""

import sqlite3
import stat
from pathlib import Path

import pytest

from atlaskit.caching.cache import Cache
from atlaskit.caching.folder import network_file_system
from atlaskit.errors import CacheError, CacheWarning


def test_the_folder_is_private_and_its_parent_unchanged(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    cache = Cache(tmp_path)
    cache.put("view:1", b"x" * 50_000)
    assert stat.S_IMODE((tmp_path / "entries").stat().st_mode) == 0o700
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    (tmp_path / "entries").chmod(0o777)
    assert Cache(tmp_path).get("view:1") is not None
    assert stat.S_IMODE((tmp_path / "entries").stat().st_mode) == 0o700


def test_the_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(tmp_path)
    monkeypatch.setattr("os.getuid", lambda: 12345)
    with pytest.raises(CacheError, match="belongs to another user"):
        Cache(tmp_path)


def test_a_folder_of_another_program_is_refused_and_unchanged(tmp_path: Path) -> None:
    for name in ("full", "linked"):
        (tmp_path / name).mkdir()
    (tmp_path / "full" / "entries").mkdir(mode=0o755)
    (tmp_path / "full" / "entries" / "diary.txt").write_text("Dear diary")
    (tmp_path / "elsewhere").mkdir(mode=0o755)
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
        ("disk / ext4 rw 0 0", None),
        ("disk / ext4 rw 0 0\nhost:/home HERE nfs4 rw 0 0", "nfs4"),
        ("host:/ / nfs rw 0 0\ndisk HERE xfs rw 0 0", None),
        ("disk HERE xfs rw 0 0\nshare HERE/my\\040cache cifs rw 0 0", "cifs"),
        ("disk / ext4 rw 0 0\nme@host:/ HERE/my\\040cache fuse.sshfs rw 0 0", "fuse.sshfs"),
        ("nonsense", None),
    ],
)
def test_a_network_file_system_is_recognized_by_its_mount(tmp_path: Path, mounts: str, kind: str | None) -> None:
    (tmp_path / "my cache").mkdir()
    table = tmp_path / "mounts"
    table.write_text(mounts.replace("HERE", str(tmp_path)))
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
