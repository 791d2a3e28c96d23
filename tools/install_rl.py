"""install_rl.py DIRECTORY: make the environment of `make test-rl`, with PyTorch for CPUs."""

import sys
from pathlib import Path

from atlaskit.models.serving.install import TORCH_CPU_INDEX, install
from atlaskit.models.serving.vision import add_image_processing

folder = Path(sys.argv[1]).absolute()
install(folder, ["-e", ".[test-rl]"], (TORCH_CPU_INDEX,))
if not (folder / "image-processing").is_dir():  # Qwen's image processor needs the Python part of torchvision
    add_image_processing(folder, (TORCH_CPU_INDEX,))
