"""vLLM in an environment of its own: found, or installed in the build that fits this machine.

It is kept apart from the kit since it pins versions of a hundred packages. What is installed is listed once, as the
extras `serve-gpu` and `serve-cpu` of pyproject.toml.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv as venvs
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Literal

from atlaskit.errors import reason
from atlaskit.models.errors import ServerError
from atlaskit.models.serving.progress import Progress

Build = Literal["serve-gpu", "serve-cpu"]

TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of builds for CPUs, for where the machine's package index does not carry them."""
TRIED = b'#include <Python.h>\n#include <omp.h>\nextern "C" int tried() { return omp_get_max_threads(); }\n'
"""A program that a compiler is tried on."""
LOOK_S = 0.5
MARK = "installed"
LOADS = "import importlib.util as u\nif u.find_spec('torchvision'): import torchvision"
BESIDE_TORCH = ("torchvision", "torchaudio", "torchcodec")


def interpreter(build: Build | None = None, folder: Path | None = None, *, is_quiet: bool = False) -> str:
    """Return a Python that has vLLM: this one, or that of `folder`, into which vLLM is installed where it is not yet.

    The folder is below `.venv-serve` in the checkout that the kit runs from, or below ~/.cache/atlaskit, one for each
    build. Raises ServerError where it cannot be installed.
    """
    here = importlib.util.find_spec("vllm")
    if here is not None and here.origin is not None:  # a mere folder of that name has none
        return sys.executable
    build = build or fitting_build()
    folder = folder or default_folder() / build
    if not _is_installed(folder, build):
        with _alone(folder, is_quiet):
            if not _is_installed(folder, build):
                wanted = requirements(build)
                install(folder, wanted, (TORCH_CPU_INDEX,) if build == "serve-cpu" else (), is_quiet=is_quiet)
                (folder / MARK).write_text("\n".join(wanted))
    return str(folder / "bin" / "python")


def _is_installed(folder: Path, build: Build) -> bool:
    """Tell whether all that is wanted was installed, by a Python that is still there."""
    mark = folder / MARK
    is_whole = mark.exists() and mark.read_text() == "\n".join(requirements(build))
    return is_whole and os.access(folder / "bin" / "python", os.X_OK)


@contextmanager
def _alone(folder: Path, is_quiet: bool) -> Iterator[None]:
    """Hold a folder against all other processes, two notebooks of one person's for example."""
    import fcntl  # here, since Windows has none, and no vLLM either

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f"{folder.name}.lock").open("w")
    except OSError as error:
        raise ServerError(f"The environment {folder} cannot be made ({reason(error)}).") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            progress = Progress(f"waiting for another process that installs into {folder}", is_quiet)
            fcntl.flock(lock, fcntl.LOCK_EX)  # let go of when the file is closed
            progress.done("it is done")
        yield


def fitting_build() -> Build:
    """Return the build for this machine: that for GPUs where NVIDIA's driver answers."""
    if shutil.which("nvidia-smi") is None:
        return "serve-cpu"
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30)
    except subprocess.TimeoutExpired:
        return "serve-cpu"
    return "serve-gpu" if listed.returncode == 0 and "GPU" in listed.stdout else "serve-cpu"


def cpuinfo(told: Path = Path("/proc/cpuinfo")) -> str:
    """Return what Linux tells of this machine's processor; nothing on other systems."""
    try:
        return told.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def quick_dtype(told: Path = Path("/proc/cpuinfo")) -> str:
    """Return the numbers that a processor reckons with at its quickest: one of Intel's or AMD's without AVX-512 takes
    twice as long for a call in bfloat16 as in 32 bits."""
    traits = set(cpuinfo(told).split())
    return "float32" if "sse2" in traits and "avx512f" not in traits else "bfloat16"


@lru_cache(maxsize=1)
def compiles() -> bool:
    """Tell whether this machine has what PyTorch compiles a model for a processor with: a C++ compiler with OpenMP, and
    Python's headers."""
    compiler = [os.environ.get("CXX", "g++"), "-x", "c++", "-fopenmp", f"-I{sysconfig.get_path('include')}"]
    try:
        with tempfile.TemporaryDirectory() as folder:
            made = [*compiler, "-shared", "-fPIC", "-o", f"{folder}/tried.so", "-"]
            return subprocess.run(made, input=TRIED, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def default_folder() -> Path:
    """Return where environments of vLLM are kept."""
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "pyproject.toml").exists():
        return checkout / ".venv-serve"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "atlaskit" / "venv-serve"


def requirements(extra: str) -> list[str]:
    """Return what an extra of this package lists."""
    marked = re.compile(rf"(.+?)\s*;.*\bextra == ['\"]{extra}['\"]")
    found = [marked.fullmatch(line) for line in importlib.metadata.requires("atlaskit") or ()]
    return [line[1] for line in found if line]


def install(folder: Path, wanted: Sequence[str], more_indexes: Sequence[str] = (), *, is_quiet: bool = False) -> None:
    """Install packages into an environment: from the machine's own index, and if that fails with others beside it.

    Raises ServerError with pip's own reason, and the path of its log.
    """
    progress = Progress(f"installing {' '.join(wanted)} into {folder}", is_quiet)
    try:
        is_broken = not os.access(folder / "bin" / "python", os.X_OK)
        venvs.create(folder, clear=is_broken, with_pip=True, symlinks=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise ServerError(f"The environment {folder} cannot be made ({reason(error)}).") from error
    log = folder / "install.log"
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--no-input", "--disable-pip-version-check"]
    log.write_bytes(b"")
    if not _ran([*pip, "install", *wanted], log, progress, "downloading"):
        beside = [f"--extra-index-url={index}" for index in more_indexes]
        why = _pips_reason(log)
        if not beside or not _ran([*pip, "install", *beside, *wanted], log, progress, f"trying {more_indexes[0]} too"):
            raise ServerError(f"{' '.join(wanted)} cannot be installed: {why}. pip's log is {log}.")
    # The ordinary index's torchvision cannot load beside a CPU torch, and takes transformers down with it.
    if not _ran([pip[0], "-c", LOADS], log, progress, "looking whether torchvision loads"):
        _ran([*pip, "uninstall", "-y", *BESIDE_TORCH], log, progress, "removing a torchvision that does not load")
    progress.done("installed")


def _ran(command: list[str], log: Path, progress: Progress, stage: str) -> bool:
    """Run a command to its end, and tell of it meanwhile; return whether it went well."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        while process.poll() is None:
            progress.at(stage)
            time.sleep(LOOK_S)
        return process.returncode == 0
    finally:
        process.kill()


def _pips_reason(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip said nothing"])[-1].rstrip(". ")
