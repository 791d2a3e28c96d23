"""The command line and environment variables with which vLLM is started."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from atlaskit.errors import InputError, check_whole
from atlaskit.models.attempts import DEFAULT_LIMIT
from atlaskit.models.names import Preset, has_linear_attention, served_family
from atlaskit.models.protocol import MOST_IMAGES
from atlaskit.models.serving import plan
from atlaskit.models.serving.install import image_processing
from atlaskit.models.serving.plan import OVERHEAD, USED, Build, sequences

RESERVED = frozenset({"--model", "--served-model-name", "--host", "--port", "--api-key"})
"""Arguments that only atlaskit sets."""
SPLITS = ("--tensor-parallel-size", "-tp", "--pipeline-parallel-size", "-pp")
"""Arguments of the user that split a model into parts, each of which needs a process."""

Copies = int | Literal["auto"]
"""How many copies of a model a server runs; "auto" for the number that suits many questions."""


@dataclass(frozen=True)
class ServerFlags:
    """The options of a server that the user may set, beside its model and port.

    Raises:
        InputError: If a number is below 1, or an argument is one that only atlaskit sets.
    """

    tensor_parallel: int = 1
    """GPUs that share one copy of the model."""
    data_parallel: Copies = 1
    """Copies of the model, each in an engine of its own. `resolved` replaces "auto"."""
    arguments: tuple[str, ...] = ()
    """More arguments of vLLM. They override those of atlaskit."""

    def __post_init__(self) -> None:
        check_whole("tensor_parallel", self.tensor_parallel)
        if self.data_parallel != "auto":
            check_whole("data_parallel", self.data_parallel)
        for argument in self.arguments:
            if argument.partition("=")[0] in RESERVED:
                raise InputError(
                    f"{argument} must not be passed: atlaskit sets it, to reach the server."
                )

    def resolved(self, preset: Preset, build: Build) -> ServerFlags:
        """Return the flags with a number in place of `data_parallel="auto"`.

        On GPUs, there is a copy for every `tensor_parallel` GPUs. On a CPU, there is a copy for
        each core if the model is so small that a core computes a step faster than vLLM schedules it
        (`Preset.copy_per_core`), and one copy of any other model.

        Args:
            preset: The model's preset.
            build: vLLM's build, for GPUs or for CPUs.
        """
        if self.data_parallel != "auto":
            return self
        copies = 1
        if build == "serve-gpu":
            copies = max(1, plan.gpus() // self.tensor_parallel)
        elif preset.copy_per_core and self.tensor_parallel == 1:
            copies = plan.engines()
        return replace(self, data_parallel=copies)

    def has_no_worker_process(self, build: Build) -> bool:
        """Return whether vLLM's worker runs in its engine's process (decision 71).

        On a CPU this saves an import of vLLM. A worker process of its own is bound to the cores of
        one memory node. A single engine needs that on a machine with several memory nodes, but the
        workers of several engines would all be bound to the same cores.

        Args:
            build: vLLM's build. The flags must be `resolved`.
        """
        if build != "serve-cpu" or self.tensor_parallel > 1:
            return False
        if any(each.replace("_", "-").startswith(SPLITS) for each in self.arguments):
            return False
        return self.data_parallel != 1 or plan.memory_nodes() == 1

    @property
    def is_fp8(self) -> bool:
        """Whether vLLM stores the weights in FP8; a cache in FP8 alone does not count."""
        pairs = pairwise(self.arguments)
        return ("--quantization", "fp8") in pairs or "--quantization=fp8" in self.arguments

    def most_sequences(self, model: str, build: Build, in_flight: int) -> int:
        """Return how many requests the server may run at once.

        vLLM's default of 1,024 reserves graphs and caches for requests that never come. With linear
        attention, each request also needs a state, and memory limits the number of states.
        """
        if not has_linear_attention(model):
            return in_flight
        if build == "serve-gpu" and not plan.gpu_gib():  # the memory of the GPU is not known
            return in_flight
        if build == "serve-cpu":
            most = sequences(model, plan.kv_cache_gib(int(self.data_parallel)) * 2**30)
        else:
            memory = self.tensor_parallel * (USED * plan.gpu_gib() * 2**30 - OVERHEAD)
            share = 0.5 if self.is_fp8 else 1.0  # FP8 takes half of the bytes of the files
            most = sequences(model, memory, weights=share)
        return min(in_flight, most or in_flight)

    def command(
        self,
        python: str,
        model: str,
        name: str,
        port: int,
        build: Build,
        *,
        preset: Preset,
        in_flight: int = DEFAULT_LIMIT,
    ) -> list[str]:
        """Return the command that starts the server. The flags must be `resolved`.

        Args:
            python: An interpreter that has vLLM.
            model: A folder, or a model on the Hugging Face hub.
            name: The name to serve the model under.
            port: Port on 127.0.0.1.
            build: vLLM's build.
            preset: The model's preset.
            in_flight: Most requests that a run has in flight.
        """
        # If a JSON grammar allows any whitespace, a weak model may emit it forever.
        grammar = {"backend": "guidance", "disable_any_whitespace": True}
        flags: dict[str, object] = {
            "model": model,
            "served-model-name": name,
            "host": "127.0.0.1",
            "port": port,
            "seed": 0,
            # The longest context that fits into memory. By default, vLLM does not start if the
            # model's full context does not fit.
            "max-model-len": "auto",
            "limit-mm-per-prompt": json.dumps({"image": MOST_IMAGES, "video": 0}),
            "max-num-seqs": self.most_sequences(model, build, in_flight),
            "structured-outputs-config": json.dumps(grammar),
            "tensor-parallel-size": self.tensor_parallel,
            "data-parallel-size": self.data_parallel,
            "uvicorn-log-level": "warning",
        }
        parser = served_family(model).reasoning_parser
        if parser:  # vLLM then applies the schema after the thought, and returns the thought apart
            flags["reasoning-parser"] = parser
        if build == "serve-cpu":
            flags["dtype"] = plan.fast_dtype()
        if build == "serve-cpu" and has_linear_attention(model):
            flags["dtype"] = "bfloat16"
        options = list[str]()
        for flag, value in flags.items():
            options += [f"--{flag}", str(value)]
        options.append("--enable-prompt-tokens-details")
        if preset.prefix_caching:
            options.append("--enable-prefix-caching")
        else:
            options.append("--no-enable-prefix-caching")
        if build == "serve-gpu" and self.tensor_parallel > 1:  # each GPU encodes images of its own
            options += ["--mm-encoder-tp-mode", "data"]
        if self.has_no_worker_process(build):
            options += ["--distributed-executor-backend", "uni"]
        # Compiling takes half a minute for a small model, once, and saves a quarter of each call
        # (decision 42). For a large model it takes long and saves little.
        if build == "serve-cpu" and not (preset.compile_on_cpu and plan.can_compile()):
            options.append("--enforce-eager")
        # `vllm serve` of the CPU wheel fails to look up its own version; the module works.
        program = [python, "-m", "vllm.entrypoints.openai.api_server"]
        return [*program, *options, *self.arguments]


def environment(build: Build, python: str, preset: Preset, flags: ServerFlags) -> dict[str, str]:
    """Return the environment variables of the server's process.

    Args:
        build: vLLM's build.
        python: The interpreter that runs it.
        preset: The model's preset.
        flags: The `resolved` flags.
    """
    variables = dict(os.environ)
    # The server listens on the loopback address only; a key would lock out our own client.
    variables.pop("VLLM_API_KEY", None)
    variables["VLLM_NO_USAGE_STATS"] = "1"
    # A queue.py in the working directory must not hide the module of the standard library.
    variables["PYTHONSAFEPATH"] = "1"
    if build == "serve-cpu":
        copies = int(flags.data_parallel)
        variables.setdefault("VLLM_CPU_KVCACHE_SPACE", str(plan.kv_cache_gib(copies)))
        if flags.has_no_worker_process(build):
            # Otherwise vLLM puts its workers into processes of their own.
            variables["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
            variables.setdefault("OMP_NUM_THREADS", str(max(1, plan.cores() // copies)))
    folder = image_processing(python) if preset.torchvision else None
    if folder:
        path = [variables.get("PYTHONPATH"), str(folder)]
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    return variables
