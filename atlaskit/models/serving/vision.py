"""`add_image_processing`: torchvision's Python part, for a PyTorch that no torchvision fits.

The image processors of Qwen-VL, InternVL, Gemma, LLaVA and others import torchvision. The wheel of
the ordinary package index is built for CUDA. Beside a CPU build of PyTorch it cannot be imported,
but only because its C++ operators do not load and other modules of torchvision refer to them by
name. No image processor uses these operators. The wheel is therefore installed into a folder of its
own, and its `extension.py` declares the operators that did not load.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from atlaskit.models.serving.lock import NotInstalled, install_locked, succeeds
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


def image_processing(python: str) -> Path | None:
    """Return the folder of torchvision's Python part in an interpreter's environment, if any."""
    folder = Path(python).parents[1] / FOLDER
    return folder if folder.is_dir() else None


def add_image_processing(folder: Path, progress: Progress) -> None:
    """Install torchvision's Python part into an environment, beside its other packages.

    Models that do not need it can be served without it, so a failure is shown and not raised.

    Args:
        folder: The environment.
        progress: Where the stages are shown.
    """
    log = folder / "install.log"
    partial = Path(tempfile.mkdtemp(dir=folder, prefix=f".{FOLDER}-"))
    try:
        install_locked(folder, (FOLDER,), progress, more=("--retries=1", f"--target={partial}"))
        for path in partial.glob("torchvision/extension.py"):
            path.write_text(path.read_text() + DECLARATIONS)
        trial = [str(folder / "bin" / "python"), "-c", f"import sys; sys.path.append({str(partial)!r}); {LOADS}"]
        if succeeds(trial, log, progress, "checking the image processors"):
            partial.chmod(0o755)
            partial.replace(folder / FOLDER)
            return
        problem = f"it cannot be imported. The log is {log}"
    except NotInstalled as error:
        problem = str(error)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    progress.show(f"without torchvision, so families whose image processors need it cannot be served: {problem}")
