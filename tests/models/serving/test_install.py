"""Installing vLLM, with small packages on package indexes of the tests."""

import hashlib
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.loopback import running

from atlaskit.models.protocol import ServerError
from atlaskit.models.serving import install, lock
from atlaskit.models.serving.lock import locked


def wheel(index: Path, name: str, version: str, code: str = "") -> str:
    """Add a package to an index, and return its entry in a lock."""
    (index / name).mkdir(parents=True, exist_ok=True)
    meta = f"{name}-{version}.dist-info"
    content = {
        f"{name}.py": code,
        f"{meta}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{meta}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    path = index / name / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in content.items():
            archive.writestr(file, text)
        archive.writestr(f"{meta}/RECORD", "".join(f"{file},,\n" for file in [*content, f"{meta}/RECORD"]))
    return f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@contextmanager
def served(index: Path) -> Iterator[str]:
    """Serve a folder as a package index."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(index)))
    with running(server):
        yield f"http://127.0.0.1:{server.server_address[1]}/"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine's index without CPU builds, PyTorch's with them, and a lock; return the first."""
    ordinary, cpu = tmp_path / "ordinary", tmp_path / "cpu"
    engine, other = wheel(ordinary, "engine", "1.0"), wheel(ordinary, "other", "3.0")
    wheel(cpu, "tensors", "2.0+cpu")
    path = tmp_path / "requirements.lock"
    path.write_text(
        f"# A comment.\n{engine}    # serve-cpu serve-gpu\n{other}    # notebook\ntensors==2.0+cpu\n    # serve-cpu\n"
    )
    monkeypatch.setattr(lock.locked, "__kwdefaults__", {"lock": path})
    with served(ordinary) as here, served(cpu) as there:
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", here)
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(lock, "TORCH_CPU_INDEX", there)
        monkeypatch.setattr(install, "pythons", lambda: [sys.executable])
        yield ordinary


def packages(folder: Path) -> set[str]:
    return {path.name.partition("-")[0] for path in folder.glob("lib/python*/site-packages/*.dist-info")} - {"pip"}


def test_the_lock_of_a_build_is_installed_once_and_again_if_it_changes(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "venv"
    tried = tmp_path / "python3.14"
    tried.write_text("#!/bin/sh\nexit 1\n")
    tried.chmod(0o755)
    monkeypatch.setattr(install, "pythons", lambda: [str(tried), sys.executable])
    python = install.interpreter("serve-cpu", folder)
    assert {"engine", "tensors"} <= packages(folder) and "other" not in packages(folder)
    printed = capsys.readouterr().err
    assert f"not with {tried}" in printed, "it has no build"
    assert "too" in printed and "✓ installed" in printed, "the second index has the CPU build"
    monkeypatch.setattr(install, "install", lambda *_, **__: pytest.fail("it is installed already"))
    assert install.interpreter("serve-cpu", folder) == python == str(folder / "bin" / "python")
    path = locked.__kwdefaults__["lock"]
    path.write_text(path.read_text().replace("# serve-cpu serve-gpu", "# serve-gpu"))
    with pytest.raises(pytest.fail.Exception):
        install.interpreter("serve-cpu", folder)


@pytest.mark.long
def test_a_package_that_was_changed_on_its_way_is_not_installed(index: Path, tmp_path: Path) -> None:
    """It is one sentence, with the way round."""
    wheel(index, "engine", "1.0", "print('not what was tested')")
    with pytest.raises(ServerError, match="vLLM cannot be installed into .*(HASHES|sha256)") as caught:
        install.interpreter("serve-gpu", tmp_path / "venv")
    assert "\n" not in str(caught.value) and str(tmp_path / "venv" / "install.log") in str(caught.value)
    assert str(caught.value).endswith("-m pip install vllm`, is used as it is.")
