"""`add_image_processing`: torchvision's Python part, for a PyTorch that no torchvision fits.

The image processors of Qwen-VL, InternVL, Gemma, LLaVA and others import torchvision. The wheel of
the ordinary package index is built for CUDA. Beside a CPU build of PyTorch it cannot be imported,
but only because its C++ operators do not load and other modules of torchvision refer to them by
name. No image processor uses these operators. The wheel is therefore installed into a folder of its
own, without what it requires, and its `extension.py` declares the operators that did not load.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from atlaskit.models.serving.pip import pip_command, succeeds
from atlaskit.models.serving.progress import Progress

FOLDER = "image-processing"
"""Name of the folder in the server's environment. It is not on the path of every program there: the
weights of nano are trained on images that Pillow prepared."""
OPERATORS = (
    "nms", "qnms", "roi_align", "_roi_align_backward", "roi_pool", "_roi_pool_backward", "ps_roi_align",
    "_ps_roi_align_backward", "ps_roi_pool", "_ps_roi_pool_backward", "deform_conv2d", "_deform_conv2d_backward",
)  # fmt: skip
DECLARATIONS = f"""

# Added by atlaskit: where the operators cannot be loaded, their names.
if not _has_ops():
    _names = torch.library.Library("torchvision", "DEF")
    for _name in {OPERATORS!r}:
        _names.define(_name + "(Tensor a) -> Tensor")
"""
LOADS = "import torchvision.transforms.v2.functional"
VERSION_OF_TORCH_2 = 15
"""torchvision 0.(15 + n) belongs to PyTorch 2.n."""


def image_processing(python: str) -> Path | None:
    """Return the folder of torchvision's Python part in an interpreter's environment, if any."""
    folder = Path(python).parents[1] / FOLDER
    return folder if folder.is_dir() else None


def needs_image_processing(folder: Path) -> bool:
    """Return whether an environment lacks torchvision, and its Python part was not added."""
    packages = list(folder.glob("lib/python*/site-packages"))
    return not any((path / "torchvision").is_dir() for path in packages) and not (folder / FOLDER).is_dir()


def add_image_processing(folder: Path, more_indexes: Sequence[str] = (), *, is_quiet: bool = False) -> bool:
    """Install torchvision's Python part into an environment, beside its other packages.

    Models that do not need it can be served without it, so a failure is shown and not raised.

    Args:
        folder: The environment.
        more_indexes: Package indexes to use if the machine's own does not have the version.
        is_quiet: Whether to print no progress.

    Returns:
        Whether it was installed and can be imported.
    """
    progress = Progress("installing the Python part of torchvision for image processors", is_quiet)
    log = folder / "install.log"
    partial = Path(tempfile.mkdtemp(dir=folder, prefix=f".{FOLDER}-"))
    install = [*pip_command(folder), "install", "--retries=1", "--no-deps", f"--target={partial}", _requirement(folder)]
    with_more = [*install, *(f"--extra-index-url={index}" for index in more_indexes)]
    try:
        if succeeds(install, log, progress, "downloading") or succeeds(
            with_more, log, progress, "trying other indexes"
        ):
            for path in partial.glob("torchvision/extension.py"):
                path.write_text(path.read_text() + DECLARATIONS)
            trial = [str(folder / "bin" / "python"), "-c", f"import sys; sys.path.append({str(partial)!r}); {LOADS}"]
            if succeeds(trial, log, progress, "checking that it can be imported"):
                partial.chmod(0o755)
                partial.replace(folder / FOLDER)
                progress.done("installed")
                return True
        progress.done(f"not installed; families whose image processors need it cannot be served. pip's log is {log}")
        return False
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _requirement(folder: Path) -> str:
    """Return the torchvision that belongs to an environment's PyTorch; any if that is not known."""
    names = [path.name for path in folder.glob("lib/python*/site-packages/torch-2.*.dist-info")]
    minor = names[0].split(".")[1] if names else ""
    return f"torchvision==0.{VERSION_OF_TORCH_2 + int(minor)}.*" if minor.isdecimal() else "torchvision"
