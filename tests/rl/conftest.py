"""Fixtures of the tests with TRL, verifiers and sb3-contrib, which `make test-rl` installs.

Where what a file needs is missing, as in the environment of `make test`, it is not collected.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT, TESTS

from atlaskit.models.serving.install import image_processing

NEEDS = {
    "test_policy.py": ("torch", "sb3_contrib"),
    "test_trl.py": ("torch", "trl", "verifiers"),
    "test_verifiers.py": ("torch", "trl", "verifiers"),
}
collect_ignore = [name for name, needs in NEEDS.items() if not all(map(find_spec, needs))]
IS_INSTALLED = "test_trl.py" not in collect_ignore

sys.path.insert(0, str(ROOT / "examples"))
sys.path.append(str(TESTS / "server"))  # `families`
if IS_INSTALLED and (folder := image_processing(sys.executable)):
    sys.path.append(str(folder))


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a Qwen3-VL of 4 layers with random weights."""
    from families.make import write_qwen3_vl

    folder = tmp_path_factory.mktemp("qwen3-vl")
    write_qwen3_vl(folder)
    return folder


@pytest.fixture
def tiny_qwen(tiny_folder: Path) -> tuple[Any, Any]:
    """Return that model in 32 bits, and its processor with the published template.

    The template is TRL's copy: TRL reads the tool calls of templates that it knows.
    """
    import torch
    import transformers
    import trl

    template = Path(trl.__file__).parent / "chat_templates" / "qwen3_vl.jinja"
    processor = transformers.Qwen3VLProcessor(
        transformers.Qwen2VLImageProcessor.from_pretrained(tiny_folder),
        transformers.AutoTokenizer.from_pretrained(tiny_folder, padding_side="left"),
        transformers.Qwen3VLVideoProcessor.from_pretrained(tiny_folder),
        chat_template=template.read_text(),
    )
    model = transformers.Qwen3VLForConditionalGeneration.from_pretrained(tiny_folder, dtype=torch.float32)
    return model, processor
