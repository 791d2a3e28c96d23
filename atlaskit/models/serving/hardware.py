"""Detects GPU, processor features, C++ compiler and memory; chooses number format and cache
size.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tempfile
from functools import lru_cache
from pathlib import Path

PROBE = b'#include <Python.h>\n#include <omp.h>\nextern "C" int tried() { return omp_get_max_threads(); }\n'
"""A program that a working compiler can build."""


def has_nvidia_gpu() -> bool:
    """Return whether NVIDIA's driver lists a GPU."""
    if shutil.which("nvidia-smi") is None:
        return False
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=30)
    except subprocess.TimeoutExpired:
        return False
    return listing.returncode == 0 and "GPU" in listing.stdout


def cpuinfo(path: Path = Path("/proc/cpuinfo")) -> str:
    """Return Linux's description of the processor; "" on other systems."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def fast_dtype(path: Path = Path("/proc/cpuinfo")) -> str:
    """Return the number type in which this processor computes fastest.

    On an x86 processor without AVX-512, a call takes twice as long in bfloat16 as in float32.
    """
    flags = set(cpuinfo(path).split())
    return "float32" if "sse2" in flags and "avx512f" not in flags else "bfloat16"


@lru_cache(maxsize=1)
def can_compile() -> bool:
    """Return whether PyTorch can compile a model for the CPU.

    It needs a C++ compiler (CXX, or g++) with OpenMP, and Python's headers. All are tried out.
    """
    compiler = [os.environ.get("CXX", "g++"), "-x", "c++", "-fopenmp", f"-I{sysconfig.get_path('include')}"]
    try:
        with tempfile.TemporaryDirectory() as folder:
            command = [*compiler, "-shared", "-fPIC", "-o", f"{folder}/probe.so", "-"]
            return subprocess.run(command, input=PROBE, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def kv_cache_gib() -> int:
    """Return the GiB for the key-value cache of a CPU server: a sixth of the memory, 1 to 4."""
    return max(1, min(4, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**30 // 6))
