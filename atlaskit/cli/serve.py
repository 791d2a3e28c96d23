"""`atlaskit serve`: run a local vLLM server until Ctrl-C."""

from __future__ import annotations

import argparse
import shlex

from atlaskit.errors import InputError
from atlaskit.models.serving.server import USUAL_PORT, serve


def add_serve_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `serve` to the commands."""
    serving = commands.add_parser("serve", help="serve a model by vLLM on this machine, until Ctrl-C")
    serving.set_defaults(run=_serve)
    serving.add_argument("model", help="a name on the Hugging Face hub, or a folder")
    serving.add_argument("--port", type=int, default=USUAL_PORT, help=f"on 127.0.0.1 ({USUAL_PORT})")
    serving.add_argument("--tensor-parallel", type=int, default=1, metavar="N", help="GPUs that share one copy (1)")
    serving.add_argument("--data-parallel", type=int, default=1, metavar="N", help="copies of the model (1)")
    serving.add_argument("--vllm", default="", metavar="ARGUMENTS", help='of vLLM itself: --vllm="--max-num-seqs 8"')


def _serve(options: argparse.Namespace) -> int:
    try:
        arguments = shlex.split(options.vllm)
    except ValueError as error:
        raise InputError(f"The arguments of vLLM cannot be read ({error}): {options.vllm}") from error
    server = serve(
        options.model,
        port=options.port,
        tensor_parallel=options.tensor_parallel,
        data_parallel=options.data_parallel,
        arguments=arguments,
    )
    try:
        with server as vlm:
            if not server.is_ours:
                print(f"{vlm.name} answers at {vlm.base_url} already; it was not started here, nor is it stopped here.")
                return 0
            print(f"{vlm.name} answers at {vlm.base_url}; Ctrl-C stops it. Its log is {server.log}.", flush=True)
            server.wait()
    except KeyboardInterrupt:
        print("The server is stopped.")
    return 0
