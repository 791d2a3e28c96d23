"""The options of a command that name a model: `--model` and how its client talks to it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from atlaskit.errors import InputError
from atlaskit.guests import MODELS, registered
from atlaskit.models.protocol import Model
from atlaskit.models.serving.process import stop_command
from atlaskit.models.serving.server import Server
from atlaskit.models.spec import OPTIONS, ModelSpec, add_client_options, is_address, spec_of


def model_names() -> str:
    """Return what a model on this machine is named by: what packages bring, a hub id, a folder."""
    return ", ".join([*registered(MODELS), "a hub id", "a folder"])


def add_model_options(
    parser: argparse._ActionsContainer, default: str = "", among: argparse._ActionsContainer | None = None
) -> None:
    """Add `--model` and the options of its client.

    Args:
        parser: The parser, or a group of it.
        default: What is used without `--model`, for the help.
        among: The group that `--model` itself is added to, where it excludes other options.
    """
    told = (
        f"what vLLM serves on this machine ({model_names()}; it is started if it does not run), or the address of an "
        "OpenAI-compatible endpoint and the name of its model (without a name: the first that chats)"
    )
    if default:
        told += f" (default: {default})"
    (among or parser).add_argument("--model", nargs="+", metavar=("MODEL", "NAME"), help=told)
    add_client_options(parser)


def named_model(options: argparse.Namespace) -> ModelSpec | None:
    """Return the model that the options name; None without `--model`.

    One word may hold all of them, as `make` passes it: `--model "URL NAME --no-thinking"`.

    Raises:
        InputError: If the options name no model, or options of a client stand alone.
    """
    given = [option for option in OPTIONS if _value(options, option) is not None]
    if not options.model:
        if given:
            raise InputError(f"{given[0]} is an option of a model: name the model with --model.")
        return None
    if len(options.model) == 1 and not given:
        return ModelSpec.parse(options.model[0])
    return spec_of(options)


def add_yes_option(parser: argparse._ActionsContainer) -> None:
    """Add `--yes`."""
    told = "start a server on this machine without asking, also where that takes long or installs much"
    parser.add_argument("--yes", action="store_true", help=told)


def asking(vlm: Model, options: argparse.Namespace) -> Model:
    """Return a model that asks the user before it starts a server here, unless `--yes` is given."""
    if isinstance(vlm, Server) and not options.yes:
        vlm.agree = _agree
    return vlm


def _agree(told: Sequence[str]) -> None:
    """Tell the user what starting a server takes, and ask.

    Raises:
        InputError: If the answer is no, or nobody can be asked.
    """
    if not sys.stdin.isatty():
        raise InputError(f"{' '.join(told)} Pass --yes to go on without a question.")
    print(f"atlaskit: {' '.join(told)} Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("No server was started.")


@contextmanager
def told_of_kept(vlm: Model | None) -> Iterator[None]:
    """Say after a block, however it ends, which server it leaves running and how to stop that."""
    try:
        yield
    finally:
        if isinstance(vlm, Server) and (kept := vlm.kept) is not None and kept.is_listed:
            print(
                f"atlaskit: the server of {kept.name} stays for the next question, until {kept.idle_s / 60:g} minutes "
                f"after the last one; this stops it: {stop_command(vlm.spec.model)}",
                file=sys.stderr,
            )


def _value(options: argparse.Namespace, option: str) -> object:
    return getattr(options, OPTIONS[option].get("dest", option[2:].replace("-", "_")))


def joined_words(arguments: Sequence[str]) -> list[str]:
    """Return a command's arguments with `--model NAME` as one word, unless it is an address.

    Only an address is followed by a second word. So the command's other arguments may follow a
    model on this machine: `--model NAME match.mp4 "Who wins?"`.
    """
    joined, rest = list[str](), list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*joined, word, *rest]
        is_name = word == "--model" and rest and not rest[0].startswith("-") and not is_address(rest[0])
        joined.append(f"--model={rest.pop(0)}" if is_name else word)
    return joined
