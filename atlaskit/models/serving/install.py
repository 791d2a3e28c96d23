"""`interpreter`: finds vLLM, or installs it into .venv-serve, in the GPU or the CPU build.

The environment is separate from the kit's since vLLM pins the versions of a hundred packages. It
holds what the lock lists under `serve-gpu` or `serve-cpu`.

The image processors of Qwen-VL, InternVL, Gemma, LLaVA and others import torchvision. The wheel of
the ordinary package index is built for CUDA. Beside a CPU build of PyTorch it cannot be imported,
but only because its C++ operators do not load and other modules of torchvision refer to them by
name. No image processor uses these operators. The wheel is therefore installed into a folder of its
own, and lines are added to its `extension.py` that declare the operators that did not load.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from atlaskit.caching.locks import locks_in
from atlaskit.errors import CacheError, reason
from atlaskit.models.protocol import ServerError
from atlaskit.models.serving.lock import NotInstalled, Progress, install_locked, locked, succeeds
from atlaskit.models.serving.plan import Build, fitting_build

MARK = "installed"
"""Name of the file in an environment that lists what was installed completely."""

IMAGES = "image-processing"
"""Name of the folder of torchvision in the server's environment. It is added to the path only for
some models, since others were trained on images that Pillow prepared (`Preset.torchvision`)."""
OPERATORS = (  # torchvision's operators in C++
    "nms", "qnms", "roi_align", "_roi_align_backward", "roi_pool", "_roi_pool_backward",
    "ps_roi_align", "_ps_roi_align_backward", "ps_roi_pool", "_ps_roi_pool_backward",
    "deform_conv2d", "_deform_conv2d_backward",
)  # fmt: skip
DECLARATIONS = f"""

# Added by atlaskit: where the operators cannot be loaded, their names.
if not _has_ops():
    _names = torch.library.Library("torchvision", "DEF")
    for _name in {OPERATORS!r}:
        _names.define(_name + "(Tensor a) -> Tensor")
"""
LOADS = "import torchvision.transforms.v2.functional"
"""The statement that must run for image processors to work."""


def interpreter(build: Build | None = None, folder: Path | None = None) -> str:
    """Return the path of a Python that has vLLM: this one, or one into which vLLM is installed.

    Args:
        build: Which build to install. None: the one that fits this machine.
        folder: The environment. None: one for each build, below `.venv-serve` in the checkout that
            the kit runs from, or else below ~/.cache/atlaskit.

    Raises:
        ServerError: If vLLM cannot be installed.
    """
    if _has_vllm():
        return sys.executable
    build = build or fitting_build()
    folder = folder or default_folder() / build
    if not _is_installed(folder, build):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with locks_in(folder.parent).hold([folder.name], _Wait(folder)):
                if not _is_installed(folder, build):
                    install(folder, build)
                    (folder / MARK).write_text(_digest(build))
        except (OSError, CacheError) as error:
            raise ServerError(
                f"The environment {folder} cannot be created ({_problem(error)})."
            ) from error
    return str(folder / "bin" / "python")


class _Wait:
    """Shows once that another process, such as that of a second notebook, is installing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._progress: Progress | None = None

    def __call__(self) -> bool:
        """Return False: the wait is never given up."""
        if self._progress is None:
            task = f"waiting for another process that installs into {self._folder}"
            self._progress = Progress(task)
        return False


def _problem(error: Exception) -> str:
    """Return the message of an error; for an OSError without its path."""
    return reason(error) if isinstance(error, OSError) else str(error)


def missing_in(build: Build) -> Path | None:
    """Return where `interpreter` would install vLLM; None if it is installed already."""
    folder = default_folder() / build
    if _has_vllm() or _is_installed(folder, build):
        return None
    return folder


def _has_vllm() -> bool:
    """Return whether this Python has vLLM itself, and not just a folder of that name."""
    spec = importlib.util.find_spec("vllm")
    return spec is not None and spec.origin is not None


def default_folder() -> Path:
    """Return the folder of all vLLM environments."""
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "pyproject.toml").exists():
        return checkout / ".venv-serve"
    return (
        Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "atlaskit" / "venv-serve"
    )


def install(folder: Path, build: Build) -> None:
    """Install a build into an environment, which is made anew.

    The environment gets this Python or, if vLLM and PyTorch have no builds for it, another one of
    the machine. Builds for a new Python come late, and an index may have them for few versions.

    Raises:
        ServerError: If no Python works. The message gives the reason for this Python.
    """
    problems: list[str] = []
    for python in pythons():
        progress = Progress(f"installing vLLM ({build}) into {folder} with {Path(python).name}")
        try:
            progress.update("creating the environment")
            command = [python, "-m", "venv", "--clear", str(folder)]
            process = subprocess.run(command, capture_output=True, text=True)
            if process.returncode:
                words = (process.stdout + process.stderr).strip()[-200:]
                raise NotInstalled(f"the environment cannot be created ({words})")
            install_locked(folder, (build,), progress)
            if build == "serve-cpu":
                add_image_processing(folder, progress)
            progress.done("installed")
            return
        except (OSError, NotInstalled) as error:
            problems.append(_problem(error))
            progress.show(f"not with {python}: {problems[-1]}")
    raise ServerError(
        f"vLLM cannot be installed into {folder}: {problems[0]}. A vLLM that you install beside "
        f"atlaskit, by `{sys.executable} -m pip install vllm`, is used as it is."
    )


def pythons() -> list[str]:
    """Return the Pythons of this machine that vLLM may run on: this one, then the newest first."""
    interpreters = [sys.executable]
    for minor in (14, 13, 12, 11):
        path = shutil.which(f"python3.{minor}")
        if path and minor != sys.version_info.minor and _starts(path):
            interpreters.append(path)
    return interpreters


def _starts(python: str) -> bool:
    """Return whether an interpreter starts; the shims of version managers may not."""
    return not subprocess.run([python, "-c", ""], capture_output=True).returncode


def _digest(build: Build) -> str:
    """Return a digest of what the lock lists for a build."""
    return hashlib.sha256(repr(locked(build, IMAGES)).encode()).hexdigest()


def _is_installed(folder: Path, build: Build) -> bool:
    """Return whether everything in the lock was installed, and the environment has a Python."""
    mark = folder / MARK
    is_complete = mark.exists() and mark.read_text() == _digest(build)
    return is_complete and os.access(folder / "bin" / "python", os.X_OK)


def image_processing(python: str) -> Path | None:
    """Return the folder of torchvision's Python part in an interpreter's environment, if any."""
    folder = Path(python).parents[1] / IMAGES
    return folder if folder.is_dir() else None


def add_image_processing(folder: Path, progress: Progress) -> None:
    """Install torchvision's Python part into an environment, beside its other packages.

    Models that do not need it can be served without it, so a failure is shown and not raised.

    Args:
        folder: The environment.
        progress: Where the stages are shown.
    """
    log = folder / "install.log"
    partial = Path(tempfile.mkdtemp(dir=folder, prefix=f".{IMAGES}-"))
    try:
        install_locked(folder, (IMAGES,), progress, ("--retries=1", f"--target={partial}"))
        for path in partial.glob("torchvision/extension.py"):
            path.write_text(path.read_text() + DECLARATIONS)
        trial = [
            str(folder / "bin" / "python"),
            "-c",
            f"import sys; sys.path.append({str(partial)!r}); {LOADS}",
        ]
        if succeeds(trial, log, progress, "checking the image processors"):
            partial.chmod(0o755)
            partial.replace(folder / IMAGES)
            return
        problem = f"it cannot be imported. The log is {log}"
    except NotInstalled as error:
        problem = str(error)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    progress.show(
        "without torchvision, so families whose image processors need it cannot be served: "
        f"{problem}"
    )
