"""`interpreter`: finds vLLM, or installs it into .venv-serve, in the GPU or the CPU build.

The environment is separate from the kit's since vLLM pins the versions of a hundred packages. What
is installed is listed in pyproject.toml, as the extras `serve-gpu` and `serve-cpu`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import venv as venvs
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from atlaskit.errors import reason
from atlaskit.models.errors import ServerError
from atlaskit.models.serving.hardware import has_nvidia_gpu
from atlaskit.models.serving.pip import pip_command, pip_reason, succeeds
from atlaskit.models.serving.progress import Progress
from atlaskit.models.serving.vision import add_image_processing, needs_image_processing

Build = Literal["serve-gpu", "serve-cpu"]

TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's index of CPU builds, for machines whose own package index lacks them."""
MARK = "installed"
"""Name of the file in an environment that lists what was installed completely."""
LOADS = "import importlib.util as u\nif u.find_spec('torchvision'): import torchvision"
BESIDE_TORCH = ("torchvision", "torchaudio", "torchcodec")


def interpreter(build: Build | None = None, folder: Path | None = None, *, is_quiet: bool = False) -> str:
    """Return the path of a Python that has vLLM: this one, or one into which vLLM is installed.

    Args:
        build: Which build to install. None: the one that fits this machine.
        folder: The environment. None: one for each build, below `.venv-serve` in the checkout that
            the kit runs from, or else below ~/.cache/atlaskit.
        is_quiet: Whether to print no progress.

    Raises:
        ServerError: If vLLM cannot be installed.
    """
    own_vllm = importlib.util.find_spec("vllm")
    if own_vllm is not None and own_vllm.origin is not None:  # None: just a folder named vllm
        return sys.executable
    build = build or fitting_build()
    folder = folder or default_folder() / build
    if not _is_installed(folder, build) or _lacks_torchvision(folder, build):
        indexes = (TORCH_CPU_INDEX,) if build == "serve-cpu" else ()
        with _locked(folder, is_quiet):
            if not _is_installed(folder, build):
                packages = requirements(build)
                install(folder, packages, indexes, is_quiet=is_quiet)
                (folder / MARK).write_text("\n".join(packages))
            if _lacks_torchvision(folder, build):
                add_image_processing(folder, indexes, is_quiet=is_quiet)
    return str(folder / "bin" / "python")


def fitting_build() -> Build:
    """Return the build for this machine: for GPUs if NVIDIA's driver lists one, else for CPUs."""
    return "serve-gpu" if has_nvidia_gpu() else "serve-cpu"


def default_folder() -> Path:
    """Return the folder of all vLLM environments."""
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "pyproject.toml").exists():
        return checkout / ".venv-serve"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "atlaskit" / "venv-serve"


def requirements(extra: str) -> list[str]:
    """Return the requirements that one of this package's extras lists; [] for an unknown extra."""
    of_extra = re.compile(rf"(.+?)\s*;.*\bextra == ['\"]{extra}['\"]")
    matches = [of_extra.fullmatch(line) for line in importlib.metadata.requires("atlaskit") or ()]
    return [match[1] for match in matches if match]


def install(folder: Path, packages: Sequence[str], more_indexes: Sequence[str] = (), *, is_quiet: bool = False) -> None:
    """Install packages into an environment, which is created if it does not work.

    Args:
        folder: The environment.
        packages: Requirements, as pip takes them.
        more_indexes: Package indexes to use beside the machine's own if that alone does not do.
        is_quiet: Whether to print no progress.

    Raises:
        ServerError: If it fails, with pip's reason and the path of pip's log.
    """
    progress = Progress(f"installing {' '.join(packages)} into {folder}", is_quiet)
    try:
        is_broken = not os.access(folder / "bin" / "python", os.X_OK)
        progress.update("creating the environment")
        venvs.create(folder, clear=is_broken, with_pip=True, symlinks=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise ServerError(f"The environment {folder} cannot be created ({reason(error)}).") from error
    log = folder / "install.log"
    pip = pip_command(folder)
    log.write_bytes(b"")
    if not succeeds([*pip, "install", *packages], log, progress, "downloading"):
        first_reason = pip_reason(log)
        retry = [*pip, "install", *(f"--extra-index-url={index}" for index in more_indexes), *packages]
        if not more_indexes or not succeeds(retry, log, progress, f"trying {more_indexes[0]} too"):
            raise ServerError(f"{' '.join(packages)} cannot be installed: {first_reason}. pip's log is {log}.")
    # The torchvision of the ordinary index cannot be imported beside a CPU build of torch, and then
    # importing transformers fails too.
    if not succeeds([pip[0], "-c", LOADS], log, progress, "checking that torchvision can be imported"):
        succeeds([*pip, "uninstall", "-y", *BESIDE_TORCH], log, progress, "removing a torchvision that does not load")
    progress.done("installed")


def _is_installed(folder: Path, build: Build) -> bool:
    """Return whether everything was installed, and the Python of the environment still works."""
    mark = folder / MARK
    is_complete = mark.exists() and mark.read_text() == "\n".join(requirements(build))
    return is_complete and os.access(folder / "bin" / "python", os.X_OK)


def _lacks_torchvision(folder: Path, build: Build) -> bool:
    """Return whether only torchvision is missing, as in what an older version of the kit made."""
    return build == "serve-cpu" and needs_image_processing(folder)


@contextmanager
def _locked(folder: Path, is_quiet: bool) -> Iterator[None]:
    """Hold an environment against other processes, such as a second notebook."""
    import fcntl  # here: Windows has neither fcntl nor vLLM

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f"{folder.name}.lock").open("w")
    except OSError as error:
        raise ServerError(f"The environment {folder} cannot be created ({reason(error)}).") from error
    with lock:  # closing the file releases the lock
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            progress = Progress(f"waiting for another process that installs into {folder}", is_quiet)
            fcntl.flock(lock, fcntl.LOCK_EX)
            progress.done("the other process is done")
        yield
