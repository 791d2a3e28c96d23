"""install_policy.py DIRECTORY: add what notebook 12 trains with, and PyTorch for CPUs."""

import sys
from pathlib import Path

from atlaskit.models.serving.install import TORCH_CPU_INDEX, install

install(Path(sys.argv[1]).absolute(), ["-e", ".[notebook,policy]"], (TORCH_CPU_INDEX,))
