"""Detects GPUs, cores, memory nodes, processor features, C++ compiler and memory; chooses number
format, cache size and number of engines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
import tempfile
from functools import lru_cache
from pathlib import Path

MOST_ENGINES = 8
"""Engines beyond this number starve: one API server feeds them all, and takes a twentieth of a
second of processor time for each call."""
GIB_PER_ENGINE = 4
"""Memory of the machine for each engine of a small model on a CPU. It takes about half of that."""
PROBE = b'#include <Python.h>\n#include <omp.h>\nextern "C" int tried() { return omp_get_max_threads(); }\n'
"""A program that a working compiler can build."""
CORE = re.compile(r"^(processor|physical id|core id)\s*: (\d+)$", re.MULTILINE)
"""A line of Linux's description of the processor."""


def has_nvidia_gpu() -> bool:
    """Return whether NVIDIA's driver lists a GPU."""
    return bool(_gpus_mib())


def gpus() -> int:
    """Return how many GPUs a server may use: those of CUDA_VISIBLE_DEVICES, or all."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return len(_gpus_mib()) if visible is None else len(list(filter(None, visible.split(","))))


def gpu_gib() -> float:
    """Return the memory of the smallest NVIDIA GPU in GiB; 0 if there is none."""
    return min(_gpus_mib(), default=0) / 1024


def _gpus_mib() -> list[int]:
    """Return the memory of each GPU that NVIDIA's driver lists, in MiB."""
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        listing = subprocess.run(query, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    # A driver that does not tell the memory, as for one that shares the machine's, tells "[N/A]".
    lines = listing.stdout.splitlines() if not listing.returncode else []
    return [int(line) if line.isdecimal() else 0 for line in lines if line.isdecimal() or line == "[N/A]"]


def cores(cpuinfo_path: Path = Path("/proc/cpuinfo"), quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return how many processor cores this process may use; at least 1.

    Two hyper-threads of one core count once, and a container's quota is obeyed.

    Args:
        cpuinfo_path: Linux's description of the processor.
        quota: The quota of the control group: microseconds of processor time, and in how many.
    """
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    physical = set[tuple[str, ...]]()
    for record in cpuinfo(cpuinfo_path).split("\n\n"):
        values: dict[str, str] = dict(CORE.findall(record))
        if int(values.get("processor", -1)) in usable:
            physical.add(tuple(values.get(name, values["processor"]) for name in ("physical id", "core id")))
    granted, _, period = cpuinfo(quota).partition(" ")
    most = int(granted) // int(period) if granted.isdigit() and int(period) else len(usable)
    return max(1, min(len(physical) or len(usable), most))


def memory_nodes(folder: Path = Path("/sys/devices/system/node")) -> int:
    """Return how many memory (NUMA) nodes the machine has; 1 on a system that does not tell."""
    return max(1, sum(1 for _ in folder.glob("node[0-9]*")))


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


def engines() -> int:
    """Return how many engines of a small model serve best on the CPU: one a core, if they fit."""
    return max(1, min(cores(), MOST_ENGINES, _memory_gib() // GIB_PER_ENGINE))


def kv_cache_gib(engines: int = 1) -> int:
    """Return the GiB for the key-value cache of each engine of a CPU server, 1 to 4.

    Together they take a sixth of the memory.
    """
    return max(1, min(4, _memory_gib() // 6 // engines))


def _memory_gib() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**30
