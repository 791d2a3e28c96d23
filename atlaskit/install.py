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
import venv as venvs
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tqdm import tqdm

from atlaskit.errors import ServerError, reason

Build = Literal["serve-gpu", "serve-cpu"]

TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of builds for CPUs, for where the machine's package index does not carry them."""
BESIDE_TORCH = ("torchvision", "torchaudio", "torchcodec")


def interpreter(build: Build | None = None, folder: Path | None = None, progress: bool = True) -> str:
    """Return a Python that has vLLM: this one, or that of `folder`, into which vLLM is installed where it is not yet.

    The folder is `.venv-serve` in the checkout that the kit runs from, or below ~/.cache/atlaskit. Raises ServerError
    where it cannot be installed.
    """
    if importlib.util.find_spec("vllm") is not None:
        return sys.executable
    build = build or fitting_build()
    folder = folder or default_folder()
    python, mark = folder / "bin" / "python", folder / build
    wanted = requirements(build)
    if not (mark.exists() and mark.read_text() == "\n".join(wanted)):
        install(folder, wanted, (TORCH_CPU_INDEX,) if build == "serve-cpu" else (), progress)
        mark.write_text("\n".join(wanted))
    return str(python)


def fitting_build() -> Build:
    """Return the build for this machine: that for GPUs where NVIDIA's driver answers."""
    if shutil.which("nvidia-smi") is None:
        return "serve-cpu"
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return "serve-gpu" if listed.returncode == 0 and "GPU" in listed.stdout else "serve-cpu"


def default_folder() -> Path:
    """Return where vLLM is kept."""
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").exists():
        return checkout / ".venv-serve"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "atlaskit" / "venv-serve"


def requirements(extra: str) -> list[str]:
    """Return what an extra of this package lists."""
    marked = re.compile(rf"(.+?)\s*;.*\bextra == ['\"]{extra}['\"]")
    found = [marked.fullmatch(line) for line in importlib.metadata.requires("atlaskit") or ()]
    return [line[1] for line in found if line]


def install(folder: Path, wanted: Sequence[str], more_indexes: Sequence[str] = (), progress: bool = True) -> None:
    """Install packages into a new environment: from the machine's own index, else with others beside it.

    Raises ServerError with pip's own reason, and the path of its log.
    """
    with tqdm(bar_format="▸ {desc} {elapsed}", disable=not progress, file=sys.stderr) as bar:
        bar.set_description_str(f"installing {wanted[0]} into {folder}")
        try:
            venvs.create(folder, with_pip=True, symlinks=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ServerError(f"The environment {folder} cannot be made ({reason(error)}).") from error
        log = folder / "install.log"
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--no-input", "--disable-pip-version-check"]
        attempts = [[], [f"--extra-index-url={index}" for index in more_indexes]] if more_indexes else [[]]
        for options in attempts:
            with log.open("ab") as out:
                status = _watched([*pip, "install", *options, *wanted], out, bar)
            if status == 0:
                break
        else:
            raise ServerError(f"{wanted[0]} cannot be installed: {_complaint(log)}. pip's log is {log}.")
        # The ordinary index's torchvision cannot load beside a CPU torch, and takes transformers down with it.
        if subprocess.run([pip[0], "-c", "import torchvision"], capture_output=True).returncode != 0:
            subprocess.run([*pip, "uninstall", "-q", "-y", *BESIDE_TORCH], capture_output=True)


def _watched(command: list[str], out: object, bar: tqdm[None]) -> int:
    """Run a command to its end while the bar's clock runs."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)  # type: ignore[call-overload]
    try:
        while True:
            try:
                return int(process.wait(0.5))
            except subprocess.TimeoutExpired:
                bar.refresh()
    finally:
        process.kill()


def _complaint(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["pip said nothing"])[-1].rstrip(". ")
