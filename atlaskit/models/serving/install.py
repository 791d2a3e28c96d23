"""`interpreter`: finds vLLM, or installs it into .venv-serve, in the GPU or the CPU build.

The environment is separate from the kit's since vLLM pins the versions of a hundred packages. What
is installed is the part `serve-gpu` or `serve-cpu` of the lock.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal

from atlaskit.caching.locks import locks_in
from atlaskit.errors import CacheError, reason
from atlaskit.models.errors import ServerError
from atlaskit.models.serving.hardware import has_nvidia_gpu
from atlaskit.models.serving.lock import NotInstalled, install_locked, locked
from atlaskit.models.serving.progress import Progress
from atlaskit.models.serving.vision import FOLDER, add_image_processing

Build = Literal["serve-gpu", "serve-cpu"]

MARK = "installed"
"""Name of the file in an environment that tells what was installed completely."""


def interpreter(build: Build | None = None, folder: Path | None = None) -> str:
    """Return the path of a Python that has vLLM: this one, or one into which vLLM is installed.

    Args:
        build: Which build to install. None: the one that fits this machine.
        folder: The environment. None: one for each build, below `.venv-serve` in the checkout that
            the kit runs from, or else below ~/.cache/atlaskit.

    Raises:
        ServerError: If vLLM cannot be installed.
    """
    own_vllm = importlib.util.find_spec("vllm")
    if own_vllm is not None and own_vllm.origin is not None:  # None: just a folder named vllm
        return sys.executable
    build = build or fitting_build()
    folder = folder or default_folder() / build
    if not _is_installed(folder, build):
        waits: list[Progress] = []

        def go_on() -> bool:  # never: another process installs it, such as that of a second notebook
            waits[:] = waits or [Progress(f"waiting for another process that installs into {folder}")]
            return False

        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with locks_in(folder.parent).hold([folder.name], go_on):
                if not _is_installed(folder, build):
                    install(folder, build)
                    (folder / MARK).write_text(_digest(build))
        except (OSError, CacheError) as error:
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise ServerError(f"The environment {folder} cannot be created ({why}).") from error
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


def install(folder: Path, build: Build) -> None:
    """Install a build into an environment, which is made anew.

    The environment gets this Python, or the next one on the machine that vLLM and PyTorch have
    builds for: they are late for a new Python, and an index may have builds for a few only.

    Raises:
        ServerError: If no Python will do, with pip's reason for this one and the path of its log.
    """
    problems: list[str] = []
    for python in pythons():
        progress = Progress(f"installing vLLM ({build}) into {folder} with {Path(python).name}")
        try:
            progress.update("creating the environment")
            made = subprocess.run([python, "-m", "venv", "--clear", folder], capture_output=True, text=True)
            if made.returncode:
                raise NotInstalled(f"the environment cannot be created ({(made.stdout + made.stderr).strip()[-200:]})")
            install_locked(folder, (build,), progress)
            if build == "serve-cpu":
                add_image_processing(folder, progress)
            progress.done("installed")
            return
        except (OSError, NotInstalled) as error:
            problems.append(reason(error) if isinstance(error, OSError) else str(error))
            progress.show(f"not with {python}: {problems[-1]}")
    raise ServerError(
        f"vLLM cannot be installed into {folder}: {problems[0]}. A vLLM that you install beside atlaskit, by "
        f"`{sys.executable} -m pip install vllm`, is used as it is."
    )


def pythons() -> list[str]:
    """Return the interpreters of this machine that vLLM may run on: this one, then newer first."""
    found = [sys.executable]
    for minor in (14, 13, 12, 11):
        path = shutil.which(f"python3.{minor}")
        if path and minor != sys.version_info.minor and _starts(path):
            found.append(path)
    return found


def _starts(python: str) -> bool:
    """Return whether an interpreter starts; the shims of version managers may not."""
    return not subprocess.run([python, "-c", ""], capture_output=True).returncode


def _digest(build: Build) -> str:
    """Return what tells one state of the lock from another, for a build."""
    return hashlib.sha256(repr(locked(build, FOLDER)).encode()).hexdigest()


def _is_installed(folder: Path, build: Build) -> bool:
    """Return whether all that the lock lists was installed, and the environment's Python works."""
    mark = folder / MARK
    is_complete = mark.exists() and mark.read_text() == _digest(build)
    return is_complete and os.access(folder / "bin" / "python", os.X_OK)
