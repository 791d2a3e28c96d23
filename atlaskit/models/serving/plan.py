"""How a model fits this machine, known before anything starts.

Contents:
    This machine: its GPUs, cores, memory nodes, C++ compiler and memory, and the build of vLLM,
        number format, cache size and number of engines that suit them.
    `plan`: weights, keys and values, and the largest grid that a card holds. A conversation holds
        up to 16 images, and each image token keeps keys and values in every layer with full
        attention. So the memory for conversations, not that for the weights, decides what a card
        can do. The size of the weights is that of their files, and the rest follows from the
        model's `config.json`. What vLLM itself needs is an estimate.
    `concerns`: warnings for a user before a server starts.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from atlaskit.caching.files import expanded
from atlaskit.errors import InputError, reason
from atlaskit.models.http import object_of
from atlaskit.models.names import Preset, family_of, preset_named, resolve_model
from atlaskit.models.protocol import MOST_IMAGES

Build = Literal["serve-gpu", "serve-cpu"]

MOST_ENGINES = 8
"""Engines beyond this number starve: one API server feeds them all, and takes a twentieth of a
second of processor time for each call."""
GIB_PER_ENGINE = 4
"""GiB of the machine's memory for each engine of a small model, which takes about half of them."""
PROBE = b"""\
#include <Python.h>
#include <omp.h>
extern "C" int tried() { return omp_get_max_threads(); }
"""
"""A program in C++ that a working compiler can build."""
CORE = re.compile(r"^(processor|physical id|core id)\s*: (\d+)$", re.MULTILINE)
"""A line of Linux's description of the processor."""


def fitting_build() -> Build:
    """Return the build for this machine: for GPUs if NVIDIA's driver lists one, else for CPUs."""
    return "serve-gpu" if _gpus_mib() else "serve-cpu"


def gpus() -> int:
    """Return how many GPUs a server may use: those of CUDA_VISIBLE_DEVICES, or all."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return len(_gpus_mib())
    return len([name for name in visible.split(",") if name])


def gpu_gib() -> float:
    """Return the memory of the smallest NVIDIA GPU in GiB.

    It is 0 if there is no GPU, or one that shares the machine's memory.
    """
    return min(_gpus_mib(), default=0) / 1024


def _gpus_mib() -> list[int]:
    """Return the MiB of each GPU that NVIDIA's driver lists; 0 for one without its own memory."""
    query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        listing = subprocess.run(query, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if listing.returncode:
        return []
    numbers = list[int]()
    for line in listing.stdout.splitlines():
        if line.isdecimal():
            numbers.append(int(line))
        elif line == "[N/A]":  # a GPU that shares the machine's memory
            numbers.append(0)
    return numbers


def cores(
    cpuinfo_path: Path = Path("/proc/cpuinfo"), quota: Path = Path("/sys/fs/cgroup/cpu.max")
) -> int:
    """Return how many processor cores this process may use; at least 1.

    Two hyper-threads of one core count once, and a container's quota is obeyed.

    Args:
        cpuinfo_path: Linux's description of the processor.
        quota: File with the quota of the control group: the microseconds of processor time that
            are granted, and the length of the period for which they are.
    """
    usable = set(range(os.cpu_count() or 1))
    if hasattr(os, "sched_getaffinity"):
        usable = os.sched_getaffinity(0)
    physical = set[tuple[str, str]]()
    for record in cpuinfo(cpuinfo_path).split("\n\n"):
        values: dict[str, str] = dict(CORE.findall(record))
        number = values.get("processor", "-1")
        if int(number) in usable:
            physical.add((values.get("physical id", number), values.get("core id", number)))
    most = len(physical) or len(usable)
    granted, _, period = _text_of(quota).partition(" ")
    if granted.isdigit() and int(period):
        most = min(most, int(granted) // int(period))
    return max(1, most)


def memory_nodes(folder: Path = Path("/sys/devices/system/node")) -> int:
    """Return how many memory (NUMA) nodes the machine has; 1 on a system that does not tell."""
    return max(1, sum(1 for _ in folder.glob("node[0-9]*")))


def cpuinfo(path: Path = Path("/proc/cpuinfo")) -> str:
    """Return Linux's description of the processor; "" on other systems."""
    return _text_of(path)


def _text_of(path: Path) -> str:
    """Return the text of a file; "" if it cannot be read."""
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

    It needs a C++ compiler (CXX, or g++) with OpenMP, and Python's headers. One small program
    tries them all.
    """
    compiler = [os.environ.get("CXX", "g++"), "-x", "c++", "-fopenmp"]
    compiler += [f"-I{sysconfig.get_path('include')}", "-shared", "-fPIC", "-o"]
    try:
        with tempfile.TemporaryDirectory() as folder:
            command = [*compiler, f"{folder}/probe.so", "-"]
            process = subprocess.run(command, input=PROBE, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return process.returncode == 0


def engines() -> int:
    """Return how many engines of a small model serve best on the CPU: one a core, if they fit."""
    return max(1, min(cores(), MOST_ENGINES, _memory_gib() // GIB_PER_ENGINE))


def kv_cache_gib(engines: int = 1) -> int:
    """Return the GiB for the key-value cache of each engine of a CPU server, 1 to 4.

    All caches together take a sixth of the machine's memory at most, unless that leaves less than
    1 GiB for each.
    """
    return max(1, min(4, _memory_gib() // 6 // engines))


def _memory_gib() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**30


PUBLISHED = Path(__file__).with_name("published.json")
"""The models of the docs' table, smallest first: parameters of the published weights (from Qwen3.5
on without the layers that predict further tokens), and the sizes in their `config.json`."""
CARDS_GB = (12, 24, 48, 80, 141)
"""Memory of the cards of the docs' table. In all names with `gb` here, a GB counts 2^30 bytes."""
USED = 0.9
"""The share of a card that vLLM takes."""
OVERHEAD = 3 * 2**30
"""Bytes of that share that activations, the encoder and graphs take."""
ENOUGH = 4
"""Weights stay in 16 bits if so many conversations fit at once, such as those of four workers."""
WORDS = 8192
"""Tokens of a conversation beside its images: words, thoughts and the answer."""
GRIDS = ((8, 320), (8, 256), (6, 320), (8, 192), (6, 256), (6, 192), (4, 320), (4, 256), (4, 192))
"""K and cell (the longer side, in pixels) in the order in which they are tried."""
Sheets = Callable[[int, int, int], tuple[int, int]]
"""Takes K, cell and patch; returns the (width, height) in pixels of a 16:9 video's grid image."""


@dataclass(frozen=True)
class Sizes:
    """The memory that a model takes, by its weights and its configuration."""

    weights: int
    """Bytes of the weights as they are published."""
    is_quantized: bool
    """Whether the published weights are already in 8 bits or less."""
    cache_per_token: int
    """Bytes of keys and values that each token of a conversation keeps, in 16 bits."""
    state: int
    """Bytes that a conversation keeps in layers of linear attention, whatever its length: vLLM
    holds two states for each such layer, since it caches prefixes."""
    longest: int
    """Most tokens of a conversation."""
    patch: int
    """Side, in pixels, of the square of an image that one token stands for."""


@dataclass(frozen=True)
class Plan:
    """How a model can be served on a card."""

    model: str
    gb: float
    """Memory of the card in GiB."""
    is_fp8: bool
    """Whether the weights must be in 8 bits."""
    weights: int
    """Bytes of the weights."""
    k: int
    cell: int
    context: int
    """Tokens of a conversation with as many images as a request may have."""
    per_conversation: int
    """Bytes that such a conversation keeps."""
    conversations: int
    """How many of them fit at once."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments with which vLLM serves the model as planned."""
        length = ("--max-model-len", str(self.context))
        return (*length, "--quantization", "fp8") if self.is_fp8 else length

    def __str__(self) -> str:
        gib = 2**30
        form = " in FP8" if self.is_fp8 else ""
        plural = "s" if self.conversations > 1 else ""
        command = f'atlaskit serve {shlex.quote(self.model)} --vllm="{" ".join(self.arguments)}"'
        return (
            f"{self.model} on {self.gb:g} GB: weights {self.weights / gib:.1f} GB{form}; "
            f"{self.conversations} conversation{plural} at once of {self.context:,} tokens ("
            f"{MOST_IMAGES} images at K = {self.k}, {self.cell} px a cell), "
            f"{self.per_conversation / gib:.1f} GB each.\n"
            f"{command}   # and k={self.k}, cell={self.cell}"
        )


def plan(model: str, gb: float, sheets: Sheets) -> Plan:
    """Return how a model is best served on a card: the largest grid that fits.

    Args:
        model: A folder, or the name of a model on the hub.
        gb: Memory of the card in GiB.
        sheets: Gives the size of a grid image.

    Raises:
        InputError: If `gb` is not above 0, the model's configuration is not here, or not even
            the smallest grid fits.
    """
    if gb <= 0:
        raise InputError(
            "This machine has no NVIDIA GPU: name the memory of a card, such as --plan 24."
        )
    preset = preset_named(model)
    sizes = sizes_of(resolve_model(model))
    # A model with a preset of its own is used with the grid of the preset.
    grids = GRIDS if preset == Preset() else ((preset.k, preset.cell),)
    for k, cell in grids:
        candidate = _plan_of_grid(model, sizes, gb=gb, k=k, cell=cell, sheets=sheets)
        if candidate.conversations:
            return candidate
    advice = "Share it among cards with --tensor-parallel."
    for each in best_of_cards(sheets):
        if each.gb <= gb:
            advice = f"Serve {each.model}, or share it among cards with --tensor-parallel."
            break
    form = " in FP8" if candidate.is_fp8 else ""
    raise InputError(
        f"{model} does not fit a card of {gb:g} GB: its weights alone are "
        f"{candidate.weights / 2**30:.1f} GB{form}. {advice}"
    )


def best_of_cards(sheets: Sheets) -> Iterator[Plan]:
    """Yield the best plan for each of `CARDS_GB` that a model fits, the largest card first.

    Of all plans, the one with the largest grid is best; of those, the one of the largest model.
    """
    models = [(name, sizes_of(name)) for name in reversed(published())]
    for gb in reversed(CARDS_GB):
        best = _best_of(models, gb, sheets)
        if best is not None:
            yield best


def _best_of(models: Sequence[tuple[str, Sizes]], gb: float, sheets: Sheets) -> Plan | None:
    """Return the plan of the largest grid that fits a card with any of some models, or None."""
    for k, cell in GRIDS:
        for name, sizes in models:
            candidate = _plan_of_grid(name, sizes, gb=gb, k=k, cell=cell, sheets=sheets)
            if candidate.conversations:
                return candidate
    return None


def _plan_of_grid(
    model: str, sizes: Sizes, *, gb: float, k: int, cell: int, sheets: Sheets
) -> Plan:
    """Return the plan of one grid. If the grid does not fit, the plan has 0 conversations.

    The weights are converted to 8 bits if fewer than `ENOUGH` conversations fit beside weights in
    16 bits and more would fit beside weights in 8 bits, or if none fits in either case.
    """
    width, height = sheets(k, cell, sizes.patch)
    image_tokens = math.ceil(width / sizes.patch) * math.ceil(height / sizes.patch)
    context = min(sizes.longest, MOST_IMAGES * image_tokens + WORDS)
    per_conversation = context * sizes.cache_per_token + sizes.state
    room = USED * gb * 2**30 - OVERHEAD
    weights = sizes.weights
    conversations = max(0, int((room - weights) // per_conversation))
    in_8_bits = max(0, int((room - weights // 2) // per_conversation))
    is_fp8 = not sizes.is_quantized and (not in_8_bits or conversations < min(ENOUGH, in_8_bits))
    if is_fp8:
        weights = weights // 2
        conversations = in_8_bits
    return Plan(
        model=model,
        gb=gb,
        is_fp8=is_fp8,
        weights=weights,
        k=k,
        cell=cell,
        context=context,
        per_conversation=per_conversation,
        conversations=conversations,
    )


def sequences(model: str, cache: float, weights: float = 0.0) -> int | None:
    """Return for how many conversations at once there is memory for the linear-attention states.

    By reports, vLLM 0.33 fails after minutes of loading if it may run more than that. The result
    is None for a model without such states, or one whose configuration is not known.

    Args:
        model: A folder, or the name of a model on the hub.
        cache: Bytes of memory for the weights, and for keys, values and states.
        weights: The share of the published weights that lies in this memory; 0 on a CPU.
    """
    try:
        sizes = sizes_of(model)
    except InputError:
        return None
    if not sizes.state:
        return None
    return max(1, int((cache - weights * sizes.weights) // sizes.state))


def concerns(model: str, build: Build, missing: Path | None) -> list[str]:
    """Return what a user should know before a server starts, as sentences; [] for nothing.

    Args:
        model: A folder, or the name of a model on the hub.
        build: vLLM's build.
        missing: Where vLLM will be installed, if it is missing.
    """
    sentences = list[str]()
    if missing is not None:
        sentences.append(
            "vLLM is not here yet: it and PyTorch, some gigabytes, will be installed into "
            f"{missing}."
        )
    download = download_of(model)
    if download:
        sentences.append(download)
    if build == "serve-cpu" and not Path(model).is_dir():
        try:
            size = f"{sizes_of(model).weights / 2**30:.0f} GB of "
        except InputError:
            size = ""
        sentences.append(
            f"This machine has no NVIDIA GPU: {model} ({size}weights) will run on its processor, "
            "where each call is slow, and a search makes dozens. A small model is made for a "
            "processor."
        )
    return sentences


def published() -> dict[str, Any]:
    """Return the sizes of published models (see `PUBLISHED`), by their names."""
    return dict(json.loads(PUBLISHED.read_text(encoding="utf-8")))


def sizes_of(model: str) -> Sizes:
    """Return the memory that a model takes.

    Args:
        model: A folder, or the name of a model that is on this machine or is one of `published`.

    Raises:
        InputError: If the model is none of these, or its configuration lacks a size.
    """
    config, weights = _config_of(model)
    text = config.get("text_config", config)
    try:
        layers = text["num_hidden_layers"]
        heads = text["num_attention_heads"]
        head_size = text.get("head_dim") or text["hidden_size"] // heads
        interval = 1  # one in so many layers has full attention
        if "linear_num_value_heads" in text:
            interval = text.get("full_attention_interval", 4)
        kinds = text.get("layer_types") or ["linear_attention"] * (layers - layers // interval)
        linear = kinds.count("linear_attention")
        # A key and a value of 2 bytes for each of a head's numbers, in layers with full attention.
        key_value_heads = text.get("num_key_value_heads") or heads
        cache_per_token = 2 * 2 * key_value_heads * head_size * (layers - linear)
        key_head = text.get("linear_key_head_dim", 0)
        keys = text.get("linear_num_key_heads", 0) * key_head
        values = text.get("linear_num_value_heads", 0) * text.get("linear_value_head_dim", 0)
        # Two states a layer: each a matrix in 32 bits and three inputs of a convolution in 16 bits.
        state = 2 * linear * (4 * values * key_head + 2 * 3 * (2 * keys + values))
        longest = int(text.get("max_position_embeddings") or 2**17)
        if min(longest, cache_per_token + state) < 1:
            raise ValueError("a size above 0")
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        raise InputError(
            f"The config.json of {model} lacks {error}, so that it cannot be planned."
        ) from error
    return Sizes(
        weights=weights,
        is_quantized="quantization_config" in config,
        cache_per_token=cache_per_token,
        state=state,
        longest=longest,
        patch=family_of(model).patch,
    )


def download_of(model: str) -> str:
    """Return a sentence about the download that a model needs; "" if its weights are here."""
    if any(any(folder.glob("*.safetensors")) for folder in _folders_of(model)):
        return ""
    if Path(model).is_dir():  # whatever it holds, nothing is downloaded
        return ""
    try:
        size = f"{sizes_of(model).weights / 2**30:.0f} GB"
    except InputError:
        size = "of a size that is not known here"
    return f"The weights of {model}, {size}, are not on this machine: they will be downloaded."


def _folders_of(model: str) -> list[Path]:
    """Return where a model may lie on this machine."""
    hub = expanded(os.environ.get("HF_HOME", "~/.cache/huggingface")) / "hub"
    return [Path(model), *hub.glob(f"models--{model.replace('/', '--')}/snapshots/*")]


def _config_of(model: str) -> tuple[dict[str, Any], int]:
    """Return the configuration of a model, and the bytes of its weights.

    Raises:
        InputError: If one of them is not known.
    """
    for folder in _folders_of(model):
        path = folder / "config.json"
        if path.is_file():
            weights = sum(each.stat().st_size for each in folder.glob("*.safetensors"))
            if not weights:
                raise InputError(
                    f"The folder of {model} has a config.json and no weights (*.safetensors): "
                    "download them."
                )
            try:
                return object_of(json.loads(path.read_text(encoding="utf-8"))), weights
            except (OSError, ValueError, RecursionError) as error:
                raise InputError(
                    f"The config.json of {model} cannot be read ({reason(error)}), so that it "
                    "cannot be planned."
                ) from error
    config: dict[str, Any] | None = published().get(model)
    if config is None:
        raise InputError(
            f"The config.json of {model} is not on this machine: pass the folder of its weights."
        )
    return config, 2 * config["parameters"]
