"""`atlaskit serve`: run a local vLLM server until Ctrl-C, or stop those that `ask` keeps."""

from __future__ import annotations

import argparse
import shlex

from atlaskit.cli.model import add_yes_option, model_names, with_consent
from atlaskit.cli.outputs import count, positive
from atlaskit.environment.tiles import sheet_size
from atlaskit.errors import InputError, printable
from atlaskit.models.names import resolve_model
from atlaskit.models.serving.flags import Copies
from atlaskit.models.serving.plan import gpu_gib, plan
from atlaskit.models.serving.process import all_kept
from atlaskit.models.serving.server import USUAL_PORT, serve
from atlaskit.models.spec import EXAMPLE, is_address

PAPER = (
    "atlaskit serve Qwen/Qwen3.5-35B-A3B --tensor-parallel 2 --data-parallel 2 "
    '--vllm="--max-model-len 131072"'
)
"""Serves the paper's model on four GPUs of 80 GB; docs/models.md explains the options."""


def add_serve_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the `serve` subcommand to the parser."""
    parser = commands.add_parser(
        "serve",
        epilog=f"examples:\n  atlaskit serve Qwen/Qwen3-VL-8B-Instruct --port 8001\n\n"
        f"The paper's model, on four GPUs of 80 GB:\n  {PAPER}",
    )
    parser.set_defaults(run=_serve)
    parser.add_argument(
        "model", nargs="?", help=f"the model, by its name or its weights: {model_names()}"
    )
    parser.add_argument(
        "--stop",
        action="store_true",
        help=(
            "stop the server that an earlier command, such as ask, left running for this model; "
            "without a model, stop all of them"
        ),
    )
    parser.add_argument(
        "--plan",
        type=positive,
        nargs="?",
        const=0.0,  # the memory of this machine's GPU
        metavar="GB",
        help=(
            "print how the model fits the memory of a GPU of so many GB (without a number: of this "
            "machine's GPU), and start nothing"
        ),
    )
    parser.add_argument(
        "--port", type=int, default=USUAL_PORT, help=f"port on 127.0.0.1 (default {USUAL_PORT})"
    )
    parser.add_argument(
        "--tensor-parallel",
        type=count,
        default=1,
        metavar="N",
        help="GPUs that share one copy of the model (default 1)",
    )
    parser.add_argument(
        "--data-parallel",
        type=_copies,
        default=1,
        metavar="N",
        help="copies of the model, or auto: as many as serve many questions best (default 1)",
    )
    add_yes_option(parser)
    parser.add_argument(
        "--vllm",
        default="",
        metavar="ARGUMENTS",
        help='further arguments of vLLM, the server of models: --vllm="--max-num-seqs 8"',
    )


def _copies(word: str) -> Copies:
    return "auto" if word == "auto" else count(word)


def _stop(model: str | None) -> int:
    """Stop the servers that earlier commands left running, of one model or of all."""
    running = list(all_kept())
    whose = ""
    if model is not None:
        wanted = resolve_model(model)
        running = [server for server in running if server.model == wanted]
        whose = f" of {printable(model, 200)}"
    for server in running:
        server.stop()
        print(f"The server of {server.name} at {server.url} has stopped.")
    if not running:
        print(f"No server{whose} was left running.")
    return 0


def _serve(options: argparse.Namespace) -> int:
    if (options.stop or options.plan is not None) and is_address(options.model or ""):
        raise InputError(
            "--plan and --stop are for a model on this machine; "
            f"{printable(options.model, 200)!r} is an address."
        )
    if options.stop:
        return _stop(options.model)
    if options.model is None:
        raise InputError(
            f"atlaskit serve needs a model, such as {EXAMPLE}; or --stop, to stop the servers "
            "that earlier commands left running."
        )
    if options.plan is not None:
        print(plan(options.model, options.plan or gpu_gib(), sheet_size))
        return 0
    try:
        arguments = shlex.split(options.vllm)
    except ValueError as error:
        raise InputError(
            f"--vllm cannot be split into arguments ({error}); got {options.vllm}"
        ) from error
    server = serve(
        options.model,
        port=options.port,
        tensor_parallel=options.tensor_parallel,
        data_parallel=options.data_parallel,
        arguments=arguments,
    )
    with_consent(server, options)
    try:
        with server as vlm:
            if not server.is_ours:
                print(
                    f"{vlm.name} is already served at {vlm.base_url}; this command neither "
                    "started nor stops it."
                )
                return 0
            print(
                f"{vlm.name} is served at {vlm.base_url}; Ctrl-C stops it. Its log is "
                f"{server.log}.",
                flush=True,
            )
            server.wait()
    except KeyboardInterrupt:
        print("The server has stopped.")
    return 0
